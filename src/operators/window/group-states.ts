/**
 * Running aggregates of the groups of a window, by dense group number: count, sum, avg, max and min of plain numbers in typed
 * arrays. A group that meets another value goes on in the function's own accumulator, so that results, errors and the saved form
 * are always the function's.
 */
import type { Value } from '../../core/values.ts'
import type { AggregateCall } from './aggregation.ts'

export interface GroupStates {
  add(group: number, args: readonly Value[]): void
  result(group: number): Value
  /** Asking for a result may fail. */
  readonly fallible: boolean
  save(group: number): Value
  load(group: number, saved: Value): void
}

export function groupStates(call: AggregateCall): GroupStates {
  if (call.args.length !== 1) return new Accumulators(call)
  switch (call.functionName) {
    case 'count':
      return new Counts(call)
    case 'sum':
    case 'avg':
      return new Totals(call)
    case 'max':
    case 'min':
      return new Extremes(call)
    default:
      return new Accumulators(call)
  }
}

class Accumulators implements GroupStates {
  readonly #accumulator: AggregateCall['accumulator']
  readonly #states: unknown[] = []
  readonly fallible = true

  constructor({ accumulator }: AggregateCall) {
    this.#accumulator = accumulator
  }

  add(group: number, args: readonly Value[]): void {
    this.#states[group] ??= this.#accumulator.create()
    this.#accumulator.add(this.#states[group], args)
  }

  result(group: number): Value {
    return this.#accumulator.result(this.#states[group])
  }

  save(group: number): Value {
    return this.#accumulator.save(this.#states[group])
  }

  load(group: number, saved: Value): void {
    this.#states[group] = this.#accumulator.load(saved)
  }
}

/** A number and a count a group; the state they stand for is made when it is asked for. */
abstract class Numbers implements GroupStates {
  protected readonly call: AggregateCall
  protected numbers = new Float64Array(16)
  protected counts = new Float64Array(16)
  /** Groups that go on in the accumulator. */
  readonly #moved = new Map<number, unknown>()

  constructor(call: AggregateCall) {
    this.call = call
  }

  /** False when the value is not for these numbers. */
  protected abstract take(group: number, value: Value): boolean
  /** The accumulator's state, in its saved form. */
  protected abstract stateOf(number: number, count: number): Value
  protected abstract resultOf(number: number, count: number): Value

  get fallible(): boolean {
    return this.#moved.size > 0
  }

  add(group: number, args: readonly Value[]): void {
    if (group >= this.numbers.length) this.#grow(group)
    const moved = this.#moved.size > 0 && this.#moved.has(group)
    if (!moved && this.take(group, args[0] as Value)) return
    if (!moved) this.#moved.set(group, this.call.accumulator.load(this.#state(group)))
    this.call.accumulator.add(this.#moved.get(group), args)
  }

  result(group: number): Value {
    if (this.#moved.has(group)) return this.call.accumulator.result(this.#moved.get(group))
    return this.resultOf(this.numbers[group] as number, this.counts[group] as number)
  }

  save(group: number): Value {
    return this.#moved.has(group) ? this.call.accumulator.save(this.#moved.get(group)) : this.#state(group)
  }

  load(group: number, saved: Value): void {
    this.#moved.set(group, this.call.accumulator.load(saved))
  }

  #state(group: number): Value {
    return this.stateOf(this.numbers[group] ?? 0, this.counts[group] ?? 0)
  }

  #grow(group: number): void {
    const { numbers, counts } = this
    this.numbers = new Float64Array(2 * group)
    this.counts = new Float64Array(2 * group)
    this.numbers.set(numbers)
    this.counts.set(counts)
  }
}

class Counts extends Numbers {
  take(group: number, value: Value): boolean {
    ;(this.numbers[group] as number)++
    if (value !== null) (this.counts[group] as number)++
    return true
  }

  stateOf(rows: number, count: number): Value {
    return { rows, count }
  }

  resultOf(_rows: number, count: number): Value {
    return BigInt(count)
  }
}

class Totals extends Numbers {
  take(group: number, value: Value): boolean {
    if (typeof value !== 'number') return value === null
    ;(this.numbers[group] as number) += value
    ;(this.counts[group] as number)++
    return true
  }

  stateOf(total: number, count: number): Value {
    return { total: count > 0 ? total : null, count, error: null }
  }

  resultOf(total: number, count: number): Value {
    if (count === 0) return null
    return this.call.functionName === 'avg' ? total / count : total
  }
}

class Extremes extends Numbers {
  take(group: number, value: Value): boolean {
    if (typeof value !== 'number' || Number.isNaN(value)) return value === null
    const best = this.numbers[group] as number
    if (this.counts[group] === 0) {
      this.numbers[group] = value
      this.counts[group] = 1
    } else if (this.call.functionName === 'max' ? value > best : value < best) this.numbers[group] = value
    return true
  }

  stateOf(best: number, count: number): Value {
    return { best: count > 0 ? best : null, error: null }
  }

  resultOf(best: number, count: number): Value {
    return count > 0 ? best : null
  }
}
