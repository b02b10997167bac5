/**
 * Time, timers and randomness, injected everywhere (DESIGN.md, "Time is injected").
 * `Date.now`, `setTimeout` and `Math.random` outside this file fail `npm run check`.
 */

export interface Timer {
  cancel(): void
}

export interface Clock {
  /** Wall clock, epoch milliseconds (integer). */
  now(): number
  /** Monotonic milliseconds with fraction, for measuring durations. */
  monotonic(): number
  /** Calls `run` once, at or after wall-clock time `at` (epoch ms). A time in the past fires as soon as possible. */
  at(at: number, run: () => void): Timer
  /** Calls `run` once after `delay` ms. */
  after(delay: number, run: () => void): Timer
  /** Uniform in [0, 1). Seeded under a manual clock. */
  random(): number
}

/** Longest delay setTimeout accepts; longer waits are chained. */
const MAX_DELAY = 2 ** 31 - 1

class SystemTimer implements Timer {
  #handle: NodeJS.Timeout | undefined
  constructor(clock: Clock, at: number, run: () => void) {
    const arm = (): void => {
      const delay = Math.max(0, at - clock.now())
      this.#handle = setTimeout(delay > MAX_DELAY ? arm : run, Math.min(delay, MAX_DELAY))
    }
    arm()
  }
  cancel(): void {
    clearTimeout(this.#handle)
  }
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  at: (at, run) => new SystemTimer(systemClock, at, run),
  after: (delay, run) => new SystemTimer(systemClock, systemClock.now() + delay, run),
  random: () => Math.random(),
}

export interface ManualClock extends Clock {
  /** Moves time to `time` (epoch ms), firing each due timer at its exact time and letting promises settle between. */
  advanceTo(time: number): Promise<void>
  advance(ms: number): Promise<void>
  /** The same without yielding to promises: for synchronous operators under test. */
  advanceSync(ms: number): void
  readonly pendingTimers: number
}

interface Pending {
  at: number
  order: number
  run: () => void
}

/** A clock moved by hand: the same inputs give the same run, twice. `seed` drives {@link Clock.random} (mulberry32). */
export function manualClock(options: { start?: number; seed?: number } = {}): ManualClock {
  let now = options.start ?? 0
  let order = 0
  let state = (options.seed ?? 1) >>> 0
  const timers = new Set<Pending>()

  const add = (at: number, run: () => void): Timer => {
    const pending: Pending = { at: Math.max(at, now), order: order++, run }
    timers.add(pending)
    return { cancel: () => void timers.delete(pending) }
  }
  const takeDue = (limit: number): Pending | undefined => {
    let first: Pending | undefined
    for (const t of timers) {
      if (t.at <= limit && (!first || t.at < first.at || (t.at === first.at && t.order < first.order))) first = t
    }
    if (first) timers.delete(first)
    return first
  }
  const fire = (due: Pending): void => {
    now = Math.max(now, due.at)
    due.run()
  }
  const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

  const clock: ManualClock = {
    now: () => now,
    monotonic: () => now,
    at: add,
    after: (delay, run) => add(now + delay, run),
    random: () => {
      state = (state + 0x6d2b79f5) >>> 0
      let t = state
      t = Math.imul(t ^ (t >>> 15), t | 1)
      t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
      return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
    },
    advanceTo: async (time) => {
      await settle()
      for (let due = takeDue(time); due; due = takeDue(time)) {
        fire(due)
        await settle()
      }
      now = Math.max(now, time)
      await settle()
    },
    advance: (ms) => clock.advanceTo(now + ms),
    advanceSync: (ms) => {
      const end = now + ms
      for (let due = takeDue(end); due; due = takeDue(end)) fire(due)
      now = Math.max(now, end)
    },
    get pendingTimers() {
      return timers.size
    },
  }
  return clock
}
