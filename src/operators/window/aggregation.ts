/** Aggregates of a window kept as values instead of rows: what they are, and their computation over a range (spec/sql.md 5.5). */
import { makeRow, type Row, type WindowRange } from '../../core/row.ts'
import type { Value } from '../../core/values.ts'
import { asRowError, inClause, type Predicate } from '../condition.ts'
import type { Emit, Evaluate, EvaluationScope, State } from '../contract.ts'
import { groupKey, tooManyGroups } from '../group.ts'
import type { WindowLimits } from './contract.ts'
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

export const rowScope: EvaluationScope = { window: null, group: null }

export function emitGroups(
  groups: readonly (readonly Row[])[],
  window: WindowRange,
  aggregation: Aggregation,
  out: Emit,
): void {
  if (groups.length) out.batch({ kind: 'groups', groups, window, events: 0 })
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
export function resultRow(first: Row, calls: readonly AggregateCall[], results: readonly Value[]): Row {
  const computed = new Map(first.computed ?? [])
  calls.forEach((call, i) => void computed.set(call.name, results[i] ?? null))
  return { ...first, computed }
}

/** Not in any group: the row failed WHERE, or an argument or dimension failed on it. */
const NOT_AGGREGATED = -1

/**
 * Keeps the arguments of the aggregates beside the rows' columns and computes each window over a range of them: exact for every
 * kind of window, in a tight loop where the values are plain numbers.
 */
export function valueContent(limits: WindowLimits, aggregation: Aggregation): WindowContent {
  const { calls, dimensions, where } = aggregation
  const buffer = new RowBuffer()
  /** By call and argument, aligned with the buffer's rows. */
  let values: Value[][] = []
  let groups: number[] = []
  const ids = new Map<string, number>()
  let head = 0
  /** A row that cannot be aggregated fails every window it is in, as a window of rows would. */
  let errors = new Map<number, Error>()
  const argumentCount = calls.reduce((n, call) => n + call.args.length, 0)
  const clear = (): void => {
    values = Array.from({ length: argumentCount }, () => [])
    groups = []
    head = 0
    errors = new Map()
    ids.clear()
  }
  clear()

  const evaluate = (row: Row): void => {
    let group = 0
    const position = groups.length
    let column = 0
    try {
      if (where && !where(row, rowScope)) group = NOT_AGGREGATED
      else {
        if (dimensions.length) {
          const key = groupKey(dimensions.map((d) => evaluateIn('Group By', d, row)))
          let id = ids.get(key)
          if (id === undefined) {
            id = ids.size
            ids.set(key, id)
          }
          group = id
        }
        for (const call of calls) for (const arg of call.args) (values[column++] as Value[]).push(arg(row, rowScope))
      }
    } catch (error) {
      errors.set(position, asRowError(error))
      group = NOT_AGGREGATED
    }
    for (const list of values) {
      while (list.length > position + 1) list.pop()
      if (list.length <= position) list.push(null)
    }
    groups.push(group)
  }

  /** Positions of each group in [from, to), in first-seen order. */
  const split = (from: number, to: number): Map<number, number[]> => {
    const positions = new Map<number, number[]>()
    for (let i = head + from; i < head + to; i++) {
      const group = groups[i] as number
      if (group === NOT_AGGREGATED) continue
      const list = positions.get(group)
      if (list) list.push(i)
      else if (positions.size < aggregation.maxGroups) positions.set(group, [i])
      else throw tooManyGroups(aggregation.maxGroups, limits.policy)
    }
    return positions
  }

  return {
    get length() {
      return buffer.length
    },
    add(row, out) {
      buffer.push(row)
      evaluate(row)
      const before = buffer.length
      enforce(buffer, limits, out)
      head += before - buffer.length
    },
    timestampAt: (i) => buffer.timestampAt(i),
    lowerBound: (time) => buffer.lowerBound(time),
    fire(from, to, window, out) {
      buffer.see(to)
      for (const [position, error] of errors) {
        if (position >= head + from && position < head + to) {
          out.fail(error, 0)
          return
        }
      }
      try {
        const rows: Row[][] = []
        if (dimensions.length === 0 && where === null) {
          if (to > from) {
            const results = calls.map((call, i) => overRange(call, columnsOf(values, calls, i), head + from, head + to))
            rows.push([resultRow(buffer.row(from), calls, results)])
          }
        } else {
          for (const positions of split(from, to).values()) {
            const results = calls.map((call, i) => overPositions(call, columnsOf(values, calls, i), positions))
            rows.push([resultRow(buffer.row((positions[0] as number) - head), calls, results)])
          }
        }
        emitGroups(rows, window, aggregation, out)
      } catch (error) {
        out.fail(asRowError(error), 0)
      }
    },
    release(count, out) {
      release(buffer, count, out)
      head += count
      if (buffer.length === 0) clear()
      else if (head > 4096 && head * 2 > groups.length) {
        values = values.map((list) => list.slice(head))
        groups = groups.slice(head)
        errors = new Map([...errors].filter(([p]) => p >= head).map(([p, e]) => [p - head, e]))
        head = 0
      }
    },
    save: () => buffer.save(),
    load(state: State) {
      clear()
      buffer.load(state)
      for (let i = 0; i < buffer.length; i++) evaluate(buffer.row(i))
    },
  }
}

function evaluateIn(clause: string, expression: Evaluate, row: Row): Value {
  try {
    return expression(row, rowScope)
  } catch (error) {
    throw inClause(clause, error)
  }
}

function columnsOf(values: readonly Value[][], calls: readonly AggregateCall[], index: number): readonly Value[][] {
  let start = 0
  for (let i = 0; i < index; i++) start += (calls[i] as AggregateCall).args.length
  return values.slice(start, start + (calls[index] as AggregateCall).args.length)
}

function overRange(call: AggregateCall, columns: readonly Value[][], from: number, to: number): Value {
  const plain = columns.length === 1 ? numberLoops[call.functionName] : undefined
  if (plain) {
    const result = plain(columns[0] as Value[], from, to)
    if (result !== undefined) return result
  }
  const state = call.accumulator.create()
  for (let i = from; i < to; i++) addTo(call, state, columns, i)
  return call.accumulator.result(state)
}

function overPositions(call: AggregateCall, columns: readonly Value[][], positions: readonly number[]): Value {
  const state = call.accumulator.create()
  for (const i of positions) addTo(call, state, columns, i)
  return call.accumulator.result(state)
}

function addTo(call: AggregateCall, state: unknown, columns: readonly Value[][], i: number): void {
  call.accumulator.add(
    state,
    columns.map((c) => c[i] as Value),
  )
}

/** Aggregates over values that are all float64; undefined = some value is not, use the accumulator. Same order, same result. */
const numberLoops: Record<
  string,
  ((column: readonly Value[], from: number, to: number) => Value | undefined) | undefined
> = {
  count: (column, from, to) => {
    let count = 0
    for (let i = from; i < to; i++) if (column[i] !== null) count++
    return to > from ? BigInt(count) : undefined
  },
  sum: (column, from, to) => sumOf(column, from, to),
  avg: (column, from, to) => {
    const sum = sumOf(column, from, to)
    return sum === undefined ? undefined : sum / (to - from)
  },
  max: (column, from, to) => {
    let max = column[from]
    for (let i = from; i < to; i++) {
      const value = column[i]
      if (typeof value !== 'number' || Number.isNaN(value)) return undefined
      if (value > (max as number)) max = value
    }
    return max
  },
  min: (column, from, to) => {
    let min = column[from]
    for (let i = from; i < to; i++) {
      const value = column[i]
      if (typeof value !== 'number' || Number.isNaN(value)) return undefined
      if (value < (min as number)) min = value
    }
    return min
  },
}

function sumOf(column: readonly Value[], from: number, to: number): number | undefined {
  let sum = 0
  for (let i = from; i < to; i++) {
    const value = column[i]
    if (typeof value !== 'number') return undefined
    sum += value
  }
  return to > from ? sum : undefined
}
