/** Aggregates of a window kept as values instead of rows: what they are, and their computation over a range (spec/sql.md 5.5). */
import { groupsOf, makeRow, NamedValues, type Row, type RowSource, type WindowRange } from '../../core/row.ts'
import type { Value } from '../../core/values.ts'
import { asRowError, inClause, type Predicate } from '../condition.ts'
import type { Emit, Evaluate, EvaluationScope, State } from '../contract.ts'
import { groupKey, keyOf, tooManyGroups } from '../group.ts'
import type { WindowLimits } from './contract.ts'
import { aggregateGroups } from './grouped-aggregates.ts'
import { movingAggregate } from './moving-aggregates.ts'
import { RowBuffer } from './row-buffer.ts'
import { enforce, release, type WindowContent } from './support.ts'

/** One aggregate call: its arguments per row and how it accumulates. */
export interface AggregateCall {
  /** Name its value is left on the group's row under. */
  readonly name: string
  readonly args: readonly Evaluate[]
  /** The function's name, for messages and for plain loops over numbers. */
  readonly functionName: string
  readonly accumulator: {
    // biome-ignore lint/suspicious/noExplicitAny: each accumulator owns its state type
    create(): any
    // biome-ignore lint/suspicious/noExplicitAny: as above
    add(state: any, args: readonly Value[]): void
    // biome-ignore lint/suspicious/noExplicitAny: as above
    result(state: any): Value
    // biome-ignore lint/suspicious/noExplicitAny: as above
    save(state: any): Value
    // biome-ignore lint/suspicious/noExplicitAny: as above
    load(state: Value): any
  }
}

export interface Aggregation {
  readonly dimensions: readonly Evaluate[]
  readonly calls: readonly AggregateCall[]
  /**
   * WHERE of windows that see every row: a row that fails it counts for the window but is not aggregated, and a window without
   * a passing row emits nothing. Null = all rows are aggregated.
   */
  readonly where: Predicate | null
  readonly maxGroups: number
}

/** The argument of count(*): there is nothing to keep of it. */
export const everyRow: Evaluate = () => true

export const rowScope: EvaluationScope = { window: null, group: null }

/** The key of a row's group; an error names the clause. */
export function rowKeyOf(dimensions: readonly Evaluate[], row: Row): string {
  try {
    if (dimensions.length === 1) return keyOf((dimensions[0] as Evaluate)(row, rowScope))
    return groupKey(dimensions.map((d) => d(row, rowScope)))
  } catch (error) {
    throw inClause('Group By', error)
  }
}

export function emitGroups(
  groups: readonly (readonly Row[])[] | RowSource,
  window: WindowRange,
  aggregation: Aggregation,
  out: Emit,
): void {
  if (groups.length)
    out.batch('emitterAt' in groups ? groupsOf(groups, window) : { kind: 'groups', groups, window, events: 0 })
  // An un-grouped aggregate over an empty window still gives one row (D29), unless WHERE emptied it.
  else if (aggregation.dimensions.length === 0 && aggregation.where === null) {
    out.batch({ kind: 'groups', groups: [emptyGroup(window, aggregation.calls)], window, events: 0 })
  }
}

/** Most aggregates have no value without rows; those that have one (collect gives an empty list) need a row to carry it. */
function emptyGroup(window: WindowRange, calls: readonly AggregateCall[]): readonly Row[] {
  const results = calls.map(({ accumulator }) => accumulator.result(accumulator.create()))
  return results.every((result) => result === null) ? [] : [resultRow(makeRow('', {}, window.trigger), calls, results)]
}

/** The group's row: its first one, with the results of the aggregates. */
export function resultRow(first: Row, calls: readonly AggregateCall[], results: Value[]): Row {
  const { emitter, message, meta, timestamp, parts } = first
  const computed = first.computed ? new Map(first.computed) : new NamedValues(namesOf(calls), results)
  if (first.computed) calls.forEach((call, i) => void computed.set(call.name, results[i] ?? null))
  return { emitter, message, meta, timestamp, computed, parts }
}

const knownNames = new WeakMap<readonly AggregateCall[], readonly string[]>()

function namesOf(calls: readonly AggregateCall[]): readonly string[] {
  let names = knownNames.get(calls)
  if (!names) {
    names = calls.map((call) => call.name)
    knownNames.set(calls, names)
  }
  return names
}

/** Not in any group: the row failed WHERE. Below it, -2 - n: evaluating the row gave error n. */
const NOT_AGGREGATED = -1
/** With more known keys than this, and than twice those of the largest window, the keys of no row are forgotten. */
const MANY_KEYS = 1024

/**
 * Keeps the arguments of the aggregates beside the rows' columns and computes each window over a range of them: exact for every
 * kind of window, and without work per row where the values are plain numbers.
 */
export function valueContent(limits: WindowLimits, aggregation: Aggregation): WindowContent {
  const { calls, dimensions, where, maxGroups } = aggregation
  /** Beside each row: its group, then the arguments of the calls in order. */
  const kept = calls.map(({ args }) => (args[0] === everyRow ? [] : args))
  const argumentCount = kept.flat().length
  const buffer = new RowBuffer(1 + argumentCount)
  const columnsOf = (call: number): Value[][] => {
    const first = 1 + kept.slice(0, call).flat().length
    return (kept[call] as readonly Evaluate[]).map((_, i) => buffer.beside(first + i))
  }
  const moving = calls.map(({ args, functionName }) => (args.length === 1 ? movingAggregate(functionName) : null))
  /** Numbers of the groups. */
  let ids = new Map<string, number>()
  /** Groups of the largest window since the keys were last looked through. */
  let windowGroups = 0
  /** By number: the group's place in the window at hand, else -1. */
  let places = new Int32Array(0)
  /** A row that cannot be aggregated fails every window it is in, as a window of rows would. */
  let errors: Error[] = []

  const groupOf = (row: Row): number => {
    if (where && !where(row, rowScope)) return NOT_AGGREGATED
    if (dimensions.length === 0) return 0
    const key = rowKeyOf(dimensions, row)
    let id = ids.get(key)
    if (id === undefined) {
      id = ids.size
      ids.set(key, id)
    }
    return id
  }
  const evaluate = (row: Row): void => {
    let group: number
    let list = 1
    try {
      group = groupOf(row)
      if (group >= 0) {
        for (const args of kept) {
          for (const arg of args) {
            const value = arg(row, rowScope)
            buffer.beside(list++).push(value)
          }
        }
      }
    } catch (error) {
      group = NOT_AGGREGATED - errors.push(asRowError(error))
    }
    // Never read.
    if (group < 0) while (list <= argumentCount) buffer.beside(list++).push(0)
    buffer.beside(0).push(group)
  }

  let numbering = buffer.renumbered
  /** The rows have moved: what is known by position is void, and groups without rows may be forgotten. */
  const settle = (): void => {
    if (buffer.renumbered === numbering) return
    numbering = buffer.renumbered
    for (const m of moving) m?.forget()
    const groups = buffer.beside(0) as number[]
    const known = errors
    errors = []
    const manyKeys = ids.size > MANY_KEYS && ids.size > 2 * windowGroups
    windowGroups = 0
    if (known.length === 0 && !manyKeys) return
    const keys = manyKeys ? [...ids.keys()] : []
    if (manyKeys) ids = new Map()
    for (let i = buffer.head; i < groups.length; i++) {
      const group = groups[i] as number
      if (group < NOT_AGGREGATED) groups[i] = NOT_AGGREGATED - errors.push(known[NOT_AGGREGATED - 1 - group] as Error)
      else if (group >= 0 && manyKeys && dimensions.length > 0) {
        const key = keys[group] as string
        const id = ids.get(key) ?? ids.size
        ids.set(key, id)
        groups[i] = id
      }
    }
  }
  const errorIn = (from: number, to: number): Error | undefined => {
    if (errors.length === 0) return undefined
    const groups = buffer.beside(0) as number[]
    for (let i = from; i < to; i++) {
      const group = groups[i] as number
      if (group < NOT_AGGREGATED) return errors[NOT_AGGREGATED - 1 - group]
    }
    return undefined
  }

  /** The whole window as one group. */
  const overAll = (from: number, to: number): Row[][] => {
    if (to === from) return []
    const results = calls.map((call, i) => {
      if (call.args[0] === everyRow) return BigInt(to - from)
      const columns = columnsOf(i)
      const value = moving[i]?.over(columns[0] as Value[], from, to)
      return value === undefined ? accumulated(call, columns, from, to) : value
    })
    return [[resultRow(buffer.row(from - buffer.head), calls, results)]]
  }
  /** The groups of the window, in first-seen order. */
  const overGroups = (from: number, to: number): Row[][] | RowSource => {
    const groups = buffer.beside(0) as number[]
    const firsts: number[] = []
    const placeOf = new Int32Array(to - from)
    if (places.length <= ids.size) places = new Int32Array(2 * ids.size + 1).fill(-1)
    try {
      for (let i = from; i < to; i++) {
        const id = groups[i] as number
        let place = id < 0 ? NOT_AGGREGATED : (places[id] as number)
        if (id >= 0 && place < 0) {
          if (firsts.length >= maxGroups) throw tooManyGroups(maxGroups, limits.policy)
          place = firsts.push(i) - 1
          places[id] = place
        }
        placeOf[i - from] = place
      }
    } finally {
      for (const first of firsts) places[groups[first] as number] = -1
    }
    windowGroups = Math.max(windowGroups, firsts.length)
    const rows = { from, to, groups: placeOf, count: firsts.length }
    const results = calls.map((call, i) => aggregateGroups(call, columnsOf(i), rows))
    const { head } = buffer
    const rowOf = (group: number): Row => {
      const values = results.map((result) => result.of(group))
      return resultRow(buffer.row((firsts[group] as number) - head), calls, values)
    }
    if (results.some((result) => result.fallible)) return firsts.map((_, group) => [rowOf(group)])
    return {
      length: firsts.length,
      at: rowOf,
      emitterAt: (group) => buffer.row((firsts[group] as number) - head).emitter,
    }
  }

  return {
    get length() {
      return buffer.length
    },
    add(row, out) {
      buffer.push(row)
      evaluate(row)
      enforce(buffer, limits, out)
      settle()
    },
    timestampAt: (i) => buffer.timestampAt(i),
    lowerBound: (time) => buffer.lowerBound(time),
    fire(from, to, window, out) {
      buffer.see(to)
      settle()
      const [first, last] = [buffer.head + from, buffer.head + to]
      const failure = errorIn(first, last)
      if (failure) {
        out.fail(failure, 0)
        return
      }
      try {
        const rows = dimensions.length === 0 && where === null ? overAll(first, last) : overGroups(first, last)
        emitGroups(rows, window, aggregation, out)
      } catch (error) {
        out.fail(asRowError(error), 0)
      }
    },
    release(count, out) {
      release(buffer, count, out)
      settle()
    },
    save: () => buffer.save(),
    load(state: State) {
      buffer.load(state)
      settle()
      for (let i = 0; i < buffer.length; i++) evaluate(buffer.row(i))
    },
  }
}

function accumulated(
  { accumulator }: AggregateCall,
  columns: readonly (readonly Value[])[],
  from: number,
  to: number,
): Value {
  const state = accumulator.create()
  const args: Value[] = columns.map(() => null)
  for (let i = from; i < to; i++) {
    for (let k = 0; k < args.length; k++) args[k] = columns[k]?.[i] as Value
    accumulator.add(state, args)
  }
  return accumulator.result(state)
}
