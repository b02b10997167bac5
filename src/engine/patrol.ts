/** Looks at every scheduled rule at an interval (spec/rest-api.md 6.3). Without such rules it does not run. */
import type { Clock, Timer } from '../core/clock.ts'

/** A rule as the patrol sees it. */
export interface Patrolled {
  patrol(): void
}

/** ms; `basic.rulePatrolInterval`. */
const defaultPatrolInterval = 10_000

export class Patrol {
  readonly #clock: Clock
  readonly #interval: number
  readonly #rules = new Set<Patrolled>()
  #timer: Timer | null = null

  /** Intervals below a second are taken for the default. */
  constructor(clock: Clock, interval = defaultPatrolInterval) {
    this.#clock = clock
    this.#interval = interval < 1000 ? defaultPatrolInterval : interval
  }

  watch(rule: Patrolled): void {
    this.#rules.add(rule)
    this.#timer ??= this.#clock.after(this.#interval, () => this.#round())
  }

  forget(rule: Patrolled): void {
    this.#rules.delete(rule)
    if (this.#rules.size > 0) return
    this.#timer?.cancel()
    this.#timer = null
  }

  #round(): void {
    this.#timer = this.#clock.after(this.#interval, () => this.#round())
    for (const rule of [...this.#rules]) rule.patrol()
  }
}
