/** Runs one operator on a hand-moved clock and keeps what it gives out, in order. */
import type { ManualClock, Timer } from '../../src/core/clock.ts'
import type { Batch } from '../../src/core/row.ts'
import type { DiscardReason, Emit, Operator, State } from '../../src/operators/contract.ts'

export interface Driven {
  readonly operator: Operator
  readonly batches: Batch[]
  readonly errors: string[]
  readonly watermarks: number[]
  /** Batches and watermarks in the order they came. */
  readonly events: (Batch | { readonly watermark: number })[]
  readonly discarded: Map<DiscardReason, number>
  consumed: number
  /** Events that failed. */
  failed: number
  push(batch: Batch): void
  watermark(time: number): void
  end(): void
}

/** `state`: loaded before the operator opens. */
export function drive(operator: Operator, clock: ManualClock, timezone = 'UTC', state?: State): Driven {
  let timer: Timer | null = null
  const out: Emit = {
    batch: (b) => {
      driven.batches.push(b)
      driven.events.push(b)
    },
    fail: (e, events) => {
      driven.errors.push(e.message)
      driven.failed += events
    },
    discard: (reason, n) => void driven.discarded.set(reason, (driven.discarded.get(reason) ?? 0) + n),
    consumed: (n) => {
      driven.consumed += n
    },
    watermark: (time) => {
      driven.watermarks.push(time)
      driven.events.push({ watermark: time })
    },
  }
  const driven: Driven = {
    operator,
    batches: [],
    errors: [],
    watermarks: [],
    events: [],
    discarded: new Map(),
    consumed: 0,
    failed: 0,
    push: (batch) => operator.push(batch, out),
    watermark: (time) => (operator.watermark ? operator.watermark(time, out) : out.watermark(time)),
    end: () => operator.end?.(out),
  }
  if (state !== undefined) operator.load?.(state)
  operator.open?.({
    now: () => clock.now(),
    timezone,
    room: () => {},
    wakeAt: (time) => {
      timer?.cancel()
      timer =
        time === null
          ? null
          : clock.at(time, () => {
              timer = null
              operator.tick?.(clock.now(), out)
            })
    },
  })
  return driven
}
