/**
 * Aggregates (spec/sql.md 5.3, spec/functions.json category aggregate). Each is written once, as an accumulator; `run` feeds
 * the columns through it, so the incremental form gives the same by construction. What cannot be computed bit by bit
 * (median, percentiles, variances in two passes) keeps the argument columns.
 */
import { toFloat64, toInt64 } from '../core/cast.ts'
import { RowError } from '../core/errors.ts'
import { goText } from '../core/go-text.ts'
import { copyFields, isObject, type Value, type ValueObject, wrapInt64 } from '../core/values.ts'
import type { Accumulator, AggregateFunction, ArgumentInfo } from './contract.ts'
import { extreme, typed } from './elements.ts'
import { any, checkArguments, num, type Parameter } from './helpers.ts'

type Columns = readonly (readonly Value[])[]

interface Options<S> extends Pick<AggregateFunction, 'name' | 'docs' | 'examples' | 'returns'> {
  readonly args: readonly Parameter[]
  readonly validate?: AggregateFunction['validate']
  readonly accumulator: Accumulator<S>
}

const number = num('value')

/** A literal true or false; columns are refused as well. */
const flag = (name: string): Parameter => ({
  name,
  type: 'bool',
  rejects: ['int', 'float', 'string', 'timeunit'],
  literalOnly: true,
})

function define<S>({ accumulator, ...options }: Options<S>): AggregateFunction {
  return {
    validate: (args: readonly ArgumentInfo[]) => checkArguments(options.args, args),
    ...options,
    kind: 'aggregate',
    family: 'aggregate',
    deterministic: true,
    accumulator,
    run: (columns) => {
      const state = accumulator.create()
      const rows = columns[0]?.length ?? 0
      const args = new Array<Value>(columns.length)
      for (let row = 0; row < rows; row++) {
        for (let i = 0; i < args.length; i++) args[i] = columns[i]?.[row] ?? null
        accumulator.add(state, args)
      }
      return accumulator.result(state)
    },
  }
}

/** For states that are one flat object of values: saving and loading is copying. */
function flat<S extends ValueObject>(parts: Pick<Accumulator<S>, 'create' | 'add' | 'result'>): Accumulator<S> {
  return { ...parts, save: (state) => ({ ...state }), load: (saved) => ({ ...(saved as S) }) }
}

/** Keeps every argument; `result` sees them as columns, at least one row long. No row at all gives null. */
function columnar(width: number, result: (columns: Columns) => Value): Accumulator<Value[][]> {
  const copy = (columns: readonly (readonly Value[])[]): Value[][] => columns.map((column) => [...column])
  return {
    create: () => Array.from({ length: width }, () => []),
    add: (columns, args) => {
      for (let i = 0; i < width; i++) (columns[i] as Value[]).push(args[i] ?? null)
    },
    result: (columns) => (columns[0]?.length === 0 ? null : result(columns)),
    save: copy,
    load: (saved) => copy(saved as Value[][]),
  }
}

const firstValue = (column: readonly Value[] | undefined): Value => column?.find((value) => value !== null) ?? null

type Total = {
  /** Null until a value is seen; its kind is that of the first one. */
  total: bigint | number | null
  count: number
  /** Of the first value that did not fit; reported with the result, later values change nothing. */
  error: string | null
}

function totalling(name: string, result: (total: bigint | number, count: number) => Value): Accumulator<Total> {
  return flat<Total>({
    create: () => ({ total: null, count: 0, error: null }),
    add: (state, args) => {
      const value = args[0] ?? null
      if (value === null || state.error !== null) return
      const kind = typeof (state.total ?? value)
      if (kind === 'bigint' && (typeof value === 'bigint' || typeof value === 'number')) {
        state.total = wrapInt64(((state.total ?? 0n) as bigint) + toInt64(value, 'sameKind'))
      } else if (kind === 'number' && typeof value === 'number') {
        state.total = ((state.total ?? 0) as number) + value
      } else if (state.total === null) {
        state.error = `run ${name} function error: found invalid arg ${typed(value)}`
      } else {
        state.error = `requires ${kind === 'bigint' ? 'int' : 'float64'} but found ${typed(value)}`
      }
      state.count++
    },
    result: ({ total, count, error }) => {
      if (error !== null) throw new RowError(error)
      return total === null ? null : result(total, count)
    },
  })
}

type Best = { best: Value; error: string | null }

function picking(largest: boolean): Accumulator<Best> {
  return flat<Best>({
    create: () => ({ best: null, error: null }),
    add: (state, args) => {
      if (state.error !== null) return
      const value = args[0] ?? null
      try {
        state.best = extreme(state.best, value, largest)
      } catch (error) {
        state.error = (error as RowError).message
      }
    },
    result: ({ best, error }) => {
      if (error !== null) throw new RowError(error)
      return best
    },
  })
}

/** The numbers of a column as floats, nulls left out. */
function floatsOf(column: readonly Value[]): number[] {
  try {
    return column.filter((value) => value !== null).map((value) => toFloat64(value, 'sameKind'))
  } catch {
    throw new RowError(`requires float64 slice but found ${typed(column as Value[])}`)
  }
}

const ascending = (a: number, b: number): number =>
  Number.isNaN(a) || Number.isNaN(b) ? Number(Number.isNaN(b)) - Number(Number.isNaN(a)) : a - b

/** Two passes: the mean, then the squared distances. Fewer than two values have no sample variance: null. */
function variance(column: readonly Value[] | undefined, sample: boolean): number | null {
  const values = floatsOf(column ?? [])
  const divisor = values.length - (sample ? 1 : 0)
  if (divisor <= 0) return null
  let sum = 0
  for (const value of values) sum += value
  const mean = sum / values.length
  let squares = 0
  for (const value of values) squares += (value - mean) * (value - mean)
  return squares / divisor
}

function root(value: number | null): number | null {
  return value === null ? null : Math.sqrt(value)
}

function median([column = []]: Columns): Value {
  const first = column[0] as Value
  if (typeof first === 'number') {
    const values = converted(column, 'float', true, (value) => toFloat64(value, 'sameKind')).sort(ascending)
    const middle = values.length >> 1
    if (values.length % 2 === 1) return values[middle] as number
    return ((values[middle - 1] as number) + (values[middle] as number)) / 2
  }
  if (typeof first === 'bigint') {
    const values = converted(column, 'int', false, (value) => toInt64(value, 'sameKind'))
    values.sort((a, b) => (a < b ? -1 : a > b ? 1 : 0))
    const middle = values.length >> 1
    if (values.length % 2 === 1) return values[middle] as bigint
    return Number(wrapInt64((values[middle - 1] as bigint) + (values[middle] as bigint))) / 2
  }
  throw new RowError(`${goText(first)} should be number`)
}

function converted<T>(column: readonly Value[], name: string, skipNulls: boolean, convert: (value: Value) => T): T[] {
  const values: T[] = []
  for (const [i, value] of column.entries()) {
    if (skipNulls && value === null) continue
    try {
      values.push(convert(value))
    } catch (error) {
      const { message } = error as RowError
      throw new RowError(`cannot convert ${typed(column as Value[])} to ${name} slice for the ${i} element: ${message}`)
    }
  }
  return values
}

/** The share (0 to 1) asked of a percentile function: the first value of its column that is not null. */
function shareOf(column: readonly Value[] = []): number {
  const value = firstValue(column)
  if (typeof value === 'number' || typeof value === 'bigint') return Number(value)
  throw new RowError(`the second parameter requires float64 but found ${typed(column as Value[])}`)
}

function percentileContinuous([column = [], shares]: Columns): Value {
  const percent = shareOf(shares) * 100
  const values = floatsOf(column).sort(ascending)
  if (values.length <= 1) return values[0] ?? null
  const outOfRange = new RowError('percentile exec with error: Input is outside of range.')
  if (!(percent > 0 && percent <= 100)) throw outOfRange
  const index = (percent / 100) * values.length
  if (Number.isInteger(index)) return values[index - 1] as number
  if (index < 1) throw outOfRange
  const below = Math.floor(index)
  return ((values[below - 1] as number) + (values[below] as number)) / 2
}

function percentileDiscrete([column = [], shares]: Columns): Value {
  const percent = shareOf(shares) * 100
  const values = floatsOf(column).sort(ascending)
  if (values.length === 0) return null
  // The message names another function in the reference too.
  if (!(percent >= 0 && percent <= 100)) {
    throw new RowError('PopulationVariance exec with error: Input is outside of range.')
  }
  if (percent === 100) return values.at(-1) as number
  const rank = Math.ceil((values.length * percent) / 100)
  return values[Math.max(rank, 1) - 1] as number
}

function deduplicate([rows = [], keys = [], flags]: Columns): Value {
  const all = firstValue(flags)
  if (typeof all !== 'boolean') throw new RowError('Invalid argument type found.')
  const seen = new Set<string>()
  const firsts: Value[] = []
  let lastIsNew = false
  for (const [i, key] of keys.entries()) {
    const text = goText(key)
    lastIsNew = !seen.has(text)
    if (!lastIsNew) continue
    seen.add(text)
    firsts.push(rows[i] as Value)
  }
  if (all) return firsts
  return lastIsNew ? (firsts.at(-1) as Value) : null
}

const basics: readonly AggregateFunction[] = [
  define({
    name: 'count',
    args: [any('value')],
    docs: 'How many values are not null; count(*) counts rows.',
    examples: [{ expression: 'count(a)', rows: [{ a: 1n }, { a: null }, { a: 'x' }], result: 2n }],
    returns: 'int64',
    accumulator: flat({
      create: () => ({ rows: 0, count: 0 }),
      add: (state, args) => {
        state.rows++
        if (args[0] != null) state.count++
      },
      result: ({ rows, count }) => (rows === 0 ? null : BigInt(count)),
    }),
  }),
  define({
    name: 'sum',
    args: [number],
    docs:
      'The sum of the values that are not null. The first one fixes the kind: with an integer floats are truncated, with a ' +
      'float an integer is an error. Null when there is none.',
    examples: [
      { expression: 'sum(a)', rows: [{ a: 1n }, { a: null }, { a: 2n }], result: 3n },
      { expression: 'sum(a)', rows: [{ a: 1.5 }, { a: 2.5 }], result: 4 },
    ],
    accumulator: totalling('sum', (total) => total),
  }),
  define({
    name: 'avg',
    args: [number],
    docs: 'The mean of the values that are not null, with the kinds of sum: the mean of integers is an integer, truncated.',
    examples: [
      { expression: 'avg(a)', rows: [{ a: 1n }, { a: 2n }], result: 1n },
      { expression: 'avg(a)', rows: [{ a: 1 }, { a: 2 }], result: 1.5 },
    ],
    accumulator: totalling('avg', (total, count) =>
      typeof total === 'bigint' ? wrapInt64(total / BigInt(count)) : total / count,
    ),
  }),
  define({
    name: 'max',
    args: [number],
    docs: 'The largest value that is not null: numbers with the kinds of sum, or text byte by byte.',
    examples: [{ expression: 'max(a)', rows: [{ a: 1n }, { a: 3n }, { a: null }], result: 3n }],
    accumulator: picking(true),
  }),
  define({
    name: 'min',
    args: [number],
    docs: 'The smallest value that is not null; see max.',
    examples: [{ expression: 'min(a)', rows: [{ a: 'b' }, { a: 'a' }], result: 'a' }],
    accumulator: picking(false),
  }),
  define<Value[]>({
    name: 'collect',
    args: [any('value')],
    docs: 'All values of the group in an array, nulls included; collect(*) gives whole rows.',
    examples: [{ expression: 'collect(a)', rows: [{ a: 1n }, { a: null }], result: [1n, null] }],
    returns: 'array',
    accumulator: {
      create: () => [],
      add: (state, args) => void state.push(args[0] ?? null),
      result: (state) => [...state],
      save: (state) => [...state],
      load: (saved) => [...(saved as Value[])],
    },
  }),
  define<ValueObject>({
    name: 'merge_agg',
    args: [{ name: 'value', type: 'object' }],
    docs: 'The members of all objects in one; of equal keys the last wins. Null when there are none; what is no object is skipped.',
    examples: [
      {
        expression: 'merge_agg(a)',
        rows: [{ a: { x: 1n, y: 1n } }, { a: 5n }, { a: { y: 2n } }],
        result: { x: 1n, y: 2n },
      },
    ],
    accumulator: {
      create: () => ({}),
      add: (state, [value]) => {
        if (isObject(value)) copyFields(state, value)
      },
      result: (state) => (Object.keys(state).length > 0 ? copyFields({}, state) : null),
      save: (state) => copyFields({}, state),
      load: (saved) => copyFields({}, saved as ValueObject),
    },
  }),
  define({
    name: 'last_value',
    args: [any('value'), flag('ignoreNull')],
    docs: 'The last value of the group, or with true the last one that is not null. last_value(*, ...) gives the row.',
    examples: [
      { expression: 'last_value(a, true)', rows: [{ a: 1n }, { a: 2n }, { a: null }], result: 2n },
      { expression: 'last_value(a, false)', rows: [{ a: 1n }, { a: null }], result: null },
    ],
    accumulator: flat({
      create: (): { rows: number; last: Value; lastKnown: Value; ignoreNull: Value } => ({
        rows: 0,
        last: null,
        lastKnown: null,
        ignoreNull: null,
      }),
      add: (state, args) => {
        const value = args[0] ?? null
        state.rows++
        state.last = value
        if (value !== null) state.lastKnown = value
        state.ignoreNull ??= args[1] ?? null
      },
      result: ({ rows, last, lastKnown, ignoreNull }) => {
        if (rows === 0) return null
        if (typeof ignoreNull !== 'boolean') {
          throw new RowError(`the second parameter requires bool but found ${typed(ignoreNull)}`)
        }
        return ignoreNull ? lastKnown : last
      },
    }),
  }),
  define({
    name: 'deduplicate',
    // The parser puts the whole row before the arguments of the statement; only these are checked.
    args: [any('key'), flag('all')],
    docs:
      'With true, the rows of the group whose key (by its text, so that 1 and "1" are the same) comes for the first time. ' +
      'With false, the last row when its key is new, else null.',
    examples: [
      {
        expression: 'deduplicate(a, true)',
        rows: [{ a: 1n }, { a: '1' }, { a: 2n }],
        result: [{ a: 1n }, { a: 2n }],
      },
    ],
    accumulator: columnar(3, deduplicate),
  }),
]

const statistics: readonly AggregateFunction[] = [
  define({
    name: 'median',
    args: [number],
    docs:
      'The value in the middle of the sorted values; of an even number the mean of the middle two, as a float. The first ' +
      'value fixes the kind and must not be null; among integers no null is allowed.',
    examples: [
      { expression: 'median(a)', rows: [{ a: 5n }, { a: 1n }, { a: 3n }], result: 3n },
      { expression: 'median(a)', rows: [{ a: 1n }, { a: 2n }], result: 1.5 },
    ],
    accumulator: columnar(1, median),
  }),
  define({
    name: 'stddev',
    args: [number],
    docs: 'The standard deviation of the population. Nulls are left out; null when nothing is left.',
    examples: [{ expression: 'stddev(a)', rows: [{ a: 1n }, { a: null }, { a: 3n }], result: 1 }],
    returns: 'float64',
    accumulator: columnar(1, ([column]) => root(variance(column, false))),
  }),
  define({
    name: 'stddevs',
    args: [number],
    docs: 'The standard deviation of a sample (n-1). Nulls are left out; null for fewer than two values.',
    examples: [{ expression: 'stddevs(a)', rows: [{ a: 100n }, { a: 150n }, { a: 200n }], result: 50 }],
    returns: 'float64',
    accumulator: columnar(1, ([column]) => root(variance(column, true))),
  }),
  define({
    name: 'var',
    args: [number],
    docs: 'The variance of the population. Nulls are left out; null when nothing is left.',
    examples: [{ expression: 'var(a)', rows: [{ a: 1n }, { a: 2n }], result: 0.25 }],
    returns: 'float64',
    accumulator: columnar(1, ([column]) => variance(column, false)),
  }),
  define({
    name: 'vars',
    args: [number],
    docs: 'The variance of a sample (n-1). Nulls are left out; null for fewer than two values.',
    examples: [
      { expression: 'vars(a)', rows: [{ a: 1n }, { a: 2n }], result: 0.5 },
      { expression: 'vars(a)', rows: [{ a: 1n }], result: null },
    ],
    returns: 'float64',
    accumulator: columnar(1, ([column]) => variance(column, true)),
  }),
  define({
    name: 'percentile_cont',
    args: [number, num('share')],
    docs:
      'Of n sorted values, with i = share x n: the i-th when i is whole, else the mean of the two around it. The share lies ' +
      'above 0 and up to 1, and i must not be below 1. A single value is given for any share.',
    examples: [
      { expression: 'percentile_cont(a, 0.5)', rows: [{ a: 1n }, { a: 2n }, { a: 3n }], result: 1.5 },
      {
        expression: 'percentile_cont(a, 2)',
        rows: [{ a: 1n }, { a: 2n }],
        error: 'percentile exec with error: Input is outside of range.',
      },
    ],
    returns: 'float64',
    accumulator: columnar(2, percentileContinuous),
  }),
  define({
    name: 'percentile_disc',
    args: [number, num('share')],
    docs: 'The nearest rank: of n sorted values the one at ceil(share x n), counted from 1. The share lies between 0 and 1.',
    examples: [{ expression: 'percentile_disc(a, 0.5)', rows: [{ a: 1n }, { a: 2n }, { a: 3n }], result: 2 }],
    returns: 'float64',
    accumulator: columnar(2, percentileDiscrete),
  }),
]

export const aggregateFunctions: readonly AggregateFunction[] = [...basics, ...statistics]
