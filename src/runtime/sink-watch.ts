/** Tells when the results a rule has given so far have left its sinks, sent or counted: what at-least-once rests on. */
import type { Clock, Timer } from '../core/clock.ts'
import type { SinkRunner } from './sink-runner.ts'

/** How often sinks that have something left are looked at, ms. */
const LOOK = 10

export class SinkWatch {
  readonly #sinks: readonly SinkRunner[]
  readonly #clock: Clock
  /** In order of asking, so targets only grow. */
  #waiting: { readonly targets: readonly number[]; readonly done: (delivered: boolean) => void }[] = []
  #timer: Timer | null = null
  #stopped = false

  constructor(sinks: readonly SinkRunner[], clock: Clock) {
    this.#sinks = sinks
    this.#clock = clock
  }

  /** True when everything a sink has been given until now has left it; false when the rule stopped before. */
  delivered(): Promise<boolean> {
    const targets = this.#sinks.map((sink) => sink.ledger.received)
    if (this.#reached(targets)) return Promise.resolve(true)
    if (this.#stopped) return Promise.resolve(false)
    return new Promise((done) => {
      this.#waiting.push({ targets, done })
      this.#timer ??= this.#clock.after(LOOK, () => this.#look())
    })
  }

  #reached(targets: readonly number[]): boolean {
    return this.#sinks.every(({ ledger }, i) => ledger.received - ledger.open >= (targets[i] as number))
  }

  #look(): void {
    this.#timer = null
    while (this.#waiting[0] && this.#reached(this.#waiting[0].targets)) this.#waiting.shift()?.done(true)
    if (this.#waiting.length) this.#timer = this.#clock.after(LOOK, () => this.#look())
  }

  stop(): void {
    this.#stopped = true
    this.#timer?.cancel()
    this.#timer = null
    for (const waiting of this.#waiting.splice(0)) waiting.done(false)
  }
}
