import type { Clock } from '../core/clock.ts'
import { pause } from '../core/waiting.ts'

/** Waits that grow from 100 ms to 10 s, as connectors reconnect (spec/rest-api.md 6.5). A wait ends early on abort. */
export interface Backoff {
  /** Without `ms`, the next step of the series. */
  wait(ms?: number): Promise<void>
  reset(): void
}

const FIRST_MS = 100
const LONGEST_MS = 10_000

export function backoff(clock: Clock, signal: AbortSignal): Backoff {
  let next = FIRST_MS
  return {
    wait: (ms) => {
      const delay = ms ?? next
      if (ms === undefined) next = Math.min(next * 2, LONGEST_MS)
      return pause(clock, delay, signal)
    },
    reset: () => {
      next = FIRST_MS
    },
  }
}
