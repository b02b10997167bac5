/**
 * Tumbling and hopping windows (spec/sql.md 3.3, 3.4, 3.11): [end - length, end), an end every hop from the first aligned one.
 * A tumbling window is a hopping window whose hop is its length.
 */
import type { Emit, Operator, OperatorContext, State } from '../contract.ts'
import { alignedEnd, firstEndAfter, nextEnd, unitMs } from './align.ts'
import type { WindowSpec } from './contract.ts'
import { rowsOf, type WindowContent } from './support.ts'

/** Firings that were missed (a suspended machine) beyond this many are skipped while the window is empty. */
const MAX_CATCH_UP = 1000

/** Where the next window ends and when the last one did. Shared by the buffered and the incremental form. */
export class WindowEnds {
  readonly #spec: WindowSpec
  readonly #hop: number
  #zone = 'UTC'
  next: number | null = null
  /** End of the last window, or the start of the rule (processing time) or first row (event time). */
  previous = 0

  constructor(spec: WindowSpec) {
    this.#spec = spec
    this.#hop = spec.kind === 'tumbling' ? spec.length : spec.interval
  }

  /** `from`: the start of the rule, or the earliest row in event time. */
  begin(from: number, zone: string): void {
    this.#zone = zone
    this.previous = from
    this.next = alignedEnd(from, this.#hop, this.#spec.unit, zone)
  }

  setZone(zone: string): void {
    this.#zone = zone
  }

  /** Left edge of the window that ends at `end`. Days keep to local midnight. */
  left(end: number): number {
    const { unit, length } = this.#spec
    return unit === 'dd' ? nextEnd(end, -length, unit, this.#zone) : end - length * unitMs[unit]
  }

  /** What window_start() shows: a tumbling window's first one starts with the rule (or its first row). */
  start(end: number): number {
    return this.#spec.kind === 'tumbling' ? this.previous : this.left(end)
  }

  /** Ends of the windows a row at `time` is in, oldest first, of those that have not fired. */
  covering(time: number): number[] {
    const { kind, unit } = this.#spec
    let end = firstEndAfter(time, this.next as number, this.#hop, unit, this.#zone)
    if (kind === 'tumbling') return [end]
    const covering: number[] = []
    for (; this.left(end) <= time; end = nextEnd(end, this.#hop, unit, this.#zone)) covering.push(end)
    return covering
  }

  /** Up to when later rows are in the same windows as one at `time`, which is in those that end at `covering`. */
  unchangedUntil(time: number, covering: readonly number[]): number {
    const [first = Number.POSITIVE_INFINITY] = covering
    const { kind, unit } = this.#spec
    if (kind === 'tumbling') return first
    const last = covering[covering.length - 1]
    const next =
      last === undefined
        ? firstEndAfter(time, this.next as number, this.#hop, unit, this.#zone)
        : nextEnd(last, this.#hop, unit, this.#zone)
    return Math.min(first, this.left(next))
  }

  advance(): void {
    const end = this.next as number
    this.previous = end
    this.next = nextEnd(end, this.#hop, this.#spec.unit, this.#zone)
  }

  save(): State {
    return [this.next, this.previous]
  }

  load(state: State): void {
    const [next, previous] = state as [number | null, number]
    this.next = next === null ? null : Number(next)
    this.previous = Number(previous)
  }

  /**
   * Jumps over windows that would all be empty, when they are very many: to the last one at or before `time`, or to the first
   * that has rows; `firstFilled` tells the end of that one, from an end on.
   */
  skipTo(time: number, firstFilled: (from: number) => number): void {
    const { unit } = this.#spec
    const { next } = this
    if (next === null || time - next < this.#hop * unitMs[unit] * MAX_CATCH_UP) return
    const after = firstEndAfter(Math.min(time, firstFilled(next)), next, this.#hop, unit, this.#zone)
    const last = nextEnd(after, -this.#hop, unit, this.#zone)
    if (last <= next) return
    this.next = last
    this.previous = nextEnd(last, -this.#hop, unit, this.#zone)
  }
}

/** For {@link WindowEnds.skipTo}, while windows only leave: the earliest of the open ones, by their ends. */
export function firstFilledOf(open: ReadonlyMap<number, unknown>): (from: number) => number {
  let ends: number[] | null = null
  return (from) => {
    ends ??= [...open.keys()].sort((a, b) => b - a)
    while (ends.length > 0 && (ends[ends.length - 1] as number) < from) ends.pop()
    return ends[ends.length - 1] ?? Number.POSITIVE_INFINITY
  }
}

export function tumblingOrHopping(spec: WindowSpec, name: string, content: WindowContent): Operator {
  const ends = new WindowEnds(spec)
  let context: OperatorContext

  const fire = (out: Emit): void => {
    const end = ends.next as number
    const from = spec.kind === 'tumbling' ? 0 : content.lowerBound(ends.left(end))
    const to = content.lowerBound(end)
    content.fire(from, to, { start: ends.start(end), end, trigger: end }, out)
    ends.advance()
    content.release(spec.kind === 'tumbling' ? to : content.lowerBound(ends.left(ends.next as number)), out)
  }
  const fireDue = (time: number, out: Emit): void => {
    /** The end of the first window that the oldest row is in. */
    const firstFilled = (): number =>
      content.length === 0 ? Number.POSITIVE_INFINITY : (ends.covering(content.timestampAt(0))[0] ?? 0)
    for (;;) {
      ends.skipTo(time, firstFilled)
      if (ends.next === null || ends.next > time) return
      fire(out)
    }
  }

  return {
    name,
    get held() {
      return content.length
    },
    open(c) {
      context = c
      ends.setZone(c.timezone)
      if (spec.eventTime) return
      if (ends.next === null) ends.begin(c.now(), c.timezone)
      c.wakeAt(ends.next)
    },
    push(batch, out) {
      for (const row of rowsOf(batch)) content.add(row, out)
    },
    tick(now, out) {
      fireDue(now, out)
      context.wakeAt(ends.next)
    },
    watermark(time, out) {
      if (spec.eventTime) {
        if (ends.next === null && content.length > 0 && content.lowerBound(time + 1) > 0) {
          ends.begin(content.timestampAt(0), context.timezone)
        }
        fireDue(time, out)
      }
      out.watermark(time)
    },
    save: () => ({ content: content.save(), ends: ends.save() }),
    load(state) {
      const s = state as { content: State; ends: State }
      content.load(s.content)
      ends.load(s.ends)
    },
  }
}
