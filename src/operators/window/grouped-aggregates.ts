/**
 * Aggregates of many groups in one pass over the rows of a window: by dense group number, count, sum, avg, max and min of plain
 * numbers in typed arrays, everything else in accumulators. Values reach each group in the order of the rows.
 */
import type { Value } from '../../core/values.ts'
import type { AggregateCall } from './aggregation.ts'

/** The result of one group, by its number. */
export type GroupResult = (group: number) => Value

export interface GroupResults {
  readonly of: GroupResult
  /** Asking for a result may fail. */
  readonly fallible: boolean
}

/** Of row i of [from, to): `groups[i - from]`, a number below `count`, or below 0 for none. */
export interface GroupedRows {
  readonly from: number
  readonly to: number
  readonly groups: Int32Array
  readonly count: number
}

/** `columns`: of the arguments; a count without one counts all rows. */
export function aggregateGroups(
  call: AggregateCall,
  columns: readonly (readonly Value[])[],
  rows: GroupedRows,
): GroupResults {
  const [column] = columns
  if (!column && call.functionName === 'count') return { of: rowCounts(rows), fallible: false }
  const plain = columns.length === 1 ? plainLoops[call.functionName]?.(column as readonly Value[], rows) : null
  return plain ? { of: plain, fallible: false } : { of: accumulated(call, columns, rows), fallible: true }
}

function rowCounts({ groups, count }: GroupedRows): GroupResult {
  const counts = new Float64Array(count)
  for (let i = 0; i < groups.length; i++) {
    const group = groups[i] as number
    if (group >= 0) (counts[group] as number)++
  }
  return (group) => BigInt(counts[group] as number)
}

function accumulated(
  { accumulator }: AggregateCall,
  columns: readonly (readonly Value[])[],
  { from, to, groups, count }: GroupedRows,
): GroupResult {
  const states: unknown[] = Array.from({ length: count }, () => accumulator.create())
  const args: Value[] = columns.map(() => null)
  for (let i = from; i < to; i++) {
    const group = groups[i - from] as number
    if (group < 0) continue
    for (let k = 0; k < args.length; k++) args[k] = columns[k]?.[i] as Value
    accumulator.add(states[group], args)
  }
  return (group) => accumulator.result(states[group])
}

/** Null when a value is of another kind than the loop is for. */
type PlainLoop = (column: readonly Value[], rows: GroupedRows) => GroupResult | null

const plainLoops: Readonly<Record<string, PlainLoop | undefined>> = {
  count: (column, { from, to, groups, count }) => {
    const counts = new Float64Array(count)
    for (let i = from; i < to; i++) {
      const group = groups[i - from] as number
      if (group >= 0 && column[i] !== null) (counts[group] as number)++
    }
    return (group) => BigInt(counts[group] as number)
  },
  sum: (column, rows) => totals(column, rows, (total) => total),
  avg: (column, rows) => totals(column, rows, (total, count) => total / count),
  max: (column, rows) => extremes(column, rows, true),
  min: (column, rows) => extremes(column, rows, false),
}

function totals(
  column: readonly Value[],
  { from, to, groups, count }: GroupedRows,
  result: (total: number, count: number) => number,
): GroupResult | null {
  const sums = new Float64Array(count)
  const counts = new Float64Array(count)
  for (let i = from; i < to; i++) {
    const group = groups[i - from] as number
    if (group < 0) continue
    const value = column[i]
    if (typeof value === 'number') {
      ;(sums[group] as number) += value
      ;(counts[group] as number)++
    } else if (value !== null) return null
  }
  return (group) => (counts[group] === 0 ? null : result(sums[group] as number, counts[group] as number))
}

function extremes(
  column: readonly Value[],
  { from, to, groups, count }: GroupedRows,
  largest: boolean,
): GroupResult | null {
  // NaN = none yet; a NaN among the values is not for this loop.
  const best = new Float64Array(count).fill(Number.NaN)
  for (let i = from; i < to; i++) {
    const group = groups[i - from] as number
    if (group < 0) continue
    const value = column[i]
    if (typeof value === 'number' && !Number.isNaN(value)) {
      const now = best[group] as number
      if (Number.isNaN(now) || (largest ? value > now : value < now)) best[group] = value
    } else if (value !== null) return null
  }
  return (group) => (Number.isNaN(best[group] as number) ? null : (best[group] as number))
}
