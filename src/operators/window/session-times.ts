import type { WindowRange } from '../../core/row.ts'
import type { Value } from '../../core/values.ts'
import { alignedEnd, nextEnd, unitMs } from './align.ts'
import type { WindowSpec } from './contract.ts'

export interface EndedSession {
  readonly session: number
  readonly window: WindowRange
}

/** The session of a row that depends on what comes after it. */
export const UNDECIDED = -1

/**
 * Sessions in event time (spec/sql.md 3.11) by the times of their rows alone: rows closer together than the timeout are one
 * session; an aligned tick cuts one that began more than the maximum before it. Sessions are numbered as they begin. Times are
 * epoch ms, and come in order.
 */
export class SessionTimes {
  /** In order of their ends; taken by the caller. */
  readonly ended: EndedSession[] = []
  readonly #spec: WindowSpec
  readonly #timeout: number
  readonly #maximum: number
  #zone = 'UTC'
  /** Number of the open session, or of the next one. */
  #session = 0
  /** Time of the first row of the open session; null = none is open. */
  #first: number | null = null
  #previous = 0
  #tick = 0
  /** A tick has cut the session before: the next one starts there, not with its first row. */
  #cut: number | null = null
  /** Rows at the tick: they are cut off with what comes after them, and stay when nothing does. */
  #aside = false
  #decided = UNDECIDED

  constructor(spec: WindowSpec) {
    this.#spec = spec
    this.#timeout = spec.interval * unitMs[spec.unit]
    this.#maximum = spec.length * unitMs[spec.unit]
  }

  setZone(zone: string): void {
    this.#zone = zone
  }

  /** The session of the next row, or {@link UNDECIDED}. */
  place(time: number): number {
    if (this.#first === null) this.#begin(time)
    else this.#endBefore(time)
    this.#previous = time
    if (time !== this.#tick || !this.#lasts(this.#tick)) return this.#session
    this.#aside = true
    return UNDECIDED
  }

  /** All rows up to `watermark` have been placed: a session that no later one can be of has ended. */
  pass(watermark: number): void {
    if (this.#first === null || watermark - this.#previous <= this.#timeout) return
    this.#decide()
    this.#end(this.#previous + this.#timeout, false)
  }

  /** Of the rows undecided so far, once they are decided; asked once. */
  takeDecided(): number {
    const decided = this.#decided
    this.#decided = UNDECIDED
    return decided
  }

  #begin(time: number): void {
    this.#first = time
    this.#previous = time
    this.#tick = alignedEnd(time, this.#spec.length, this.#spec.unit, this.#zone)
  }

  #lasts(tick: number): boolean {
    return tick - this.#maximum > (this.#first as number)
  }

  #decide(): void {
    if (this.#aside) this.#decided = this.#session
    this.#aside = false
  }

  #end(end: number, byTick: boolean): void {
    const start = this.#cut ?? (this.#first as number)
    this.ended.push({ session: this.#session++, window: { start, end, trigger: end } })
    this.#cut = byTick ? end : null
    this.#first = null
  }

  /** Ends the sessions that a row at `time` is not of, and opens its own. */
  #endBefore(time: number): void {
    for (;;) {
      const pause = time - this.#previous > this.#timeout ? this.#previous + this.#timeout : null
      const tick = this.#cutBefore(time, pause)
      if (tick === null) {
        if (pause === null) return
        this.#end(pause, false)
        this.#begin(time)
        return
      }
      const aside = this.#aside
      this.#end(tick, true)
      this.#begin(aside ? tick : time)
      if (!aside) return
      this.#decide()
    }
  }

  /** The first tick before `time` and before the pause that cuts the session; later ticks are the next session's. */
  #cutBefore(time: number, pause: number | null): number | null {
    while (time > this.#tick) {
      const tick = this.#tick
      if (this.#lasts(tick) && (pause === null || tick <= pause)) return tick
      this.#tick = nextEnd(tick, this.#spec.length, this.#spec.unit, this.#zone)
      if (pause !== null) return null
    }
    return null
  }

  /** Rows that are not decided are placed again after {@link load}. */
  save(): Value {
    return [this.#session, this.#first, this.#previous, this.#tick, this.#cut]
  }

  load(saved: Value): void {
    const [session, first, previous, tick, cut] = saved as [number, number | null, number, number, number | null]
    this.#session = Number(session)
    this.#first = first === null ? null : Number(first)
    this.#previous = Number(previous)
    this.#tick = Number(tick)
    this.#cut = cut === null ? null : Number(cut)
    this.#aside = false
  }
}
