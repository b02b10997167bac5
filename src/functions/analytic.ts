/**
 * Analytic functions (spec/sql.md 5.6, spec/functions.json category analytic): what a row's value is depends on the rows
 * before it. One state per call and partition; changes are judged with the kind, so 1 and 1.0 differ.
 */
import { toInt } from '../core/cast.ts'
import { RowError } from '../core/errors.ts'
import { goText } from '../core/go-text.ts'
import { deepEqual, type Value, type ValueObject } from '../core/values.ts'
import type { AnalyticFunction, ArgumentInfo } from './contract.ts'
import { any, expectCount, expectType, type Parameter } from './helpers.ts'

/** Most rows lag() looks back. */
const MAX_LAG = 1_000_000

interface Options<S> extends Pick<AnalyticFunction<S>, 'name' | 'docs' | 'examples' | 'returns'> {
  readonly args: readonly Parameter[]
  readonly validate: AnalyticFunction['validate']
  readonly create: () => S
  readonly step: AnalyticFunction<S>['step']
}

/** States are flat objects of values: saving and loading is copying. */
function define<S extends ValueObject>(options: Options<S>): AnalyticFunction<S> {
  return {
    ...options,
    kind: 'analytic',
    family: 'analytic',
    deterministic: true,
    save: (state) => copyState(state),
    load: (saved) => copyState(saved as S),
  }
}

function copyState<S extends ValueObject>(state: S): S {
  const copy: ValueObject = {}
  for (const [key, value] of Object.entries(state)) copy[key] = Array.isArray(value) ? [...value] : value
  return copy as S
}

function boolAt(args: readonly Value[], index: number, ordinal: string): boolean {
  const value = args[index]
  if (typeof value === 'boolean') return value
  throw new RowError(`${ordinal} arg is not a bool but got ${goText(value)}`)
}

/** Refuses literals that are no booleans. */
function checkBool(args: readonly ArgumentInfo[], index: number, word = 'bool'): string | null {
  const literal = args[index]?.literal ?? null
  return literal === null || literal === 'boolean' ? null : expectType(index, word)
}

const bool = (name: string, optional = false): Parameter => ({ name, type: 'bool', optional })

type Lag = {
  /** 0 until the first row, which fixes size and default. */
  size: bigint
  started: boolean
  fallback: Value
  /** The last `size` recorded values as a ring; `head` is the oldest. */
  values: Value[]
  head: bigint
}

function startLag(state: Lag, args: readonly Value[]): void {
  let size = 1n
  if (args.length >= 2) {
    try {
      size = toInt(args[1] as Value, 'strict')
    } catch (error) {
      throw new RowError(`error converting second arg ${goText(args[1])} to int: ${(error as RowError).message}`)
    }
  }
  if (size < 0n) throw new RowError('the index should not be a nagtive integer')
  if (size > MAX_LAG) throw new RowError(`lag cannot look back more than ${MAX_LAG} rows`, 'LIMIT')
  state.size = size
  state.fallback = args[2] ?? null
  state.started = true
}

function checkLag(args: readonly ArgumentInfo[]): string | null {
  if (args.length < 1 || args.length > 4) return `expect one two or three args but got ${args.length}`
  const offset = args[1]
  if (offset) {
    if ((offset.literal !== null && offset.literal !== 'int') || offset.column !== null) return expectType(1, 'int')
    if (typeof offset.value === 'bigint' && offset.value < 0n) return 'the index should not be a nagtive integer'
  }
  return checkBool(args, 3)
}

const comparing: readonly AnalyticFunction[] = [
  define<Lag>({
    name: 'lag',
    args: [
      any('value'),
      { name: 'offset', type: 'int', optional: true },
      any('default', { optional: true }),
      bool('ignoreNull', true),
    ],
    docs:
      'The value of some rows earlier (1 unless an offset is given), or the default until there are as many. Null values are ' +
      'not recorded unless ignoreNull is false. Where WHEN does not hold the pending value is given and nothing recorded.',
    examples: [
      { expression: 'lag(a)', rows: [{ a: 1n }, { a: 2n }, { a: null }, { a: 3n }], result: [null, 1n, 2n, 2n] },
      { expression: 'lag(a, 2, 0)', rows: [{ a: 5n }, { a: 6n }, { a: 7n }], result: [0n, 0n, 5n] },
    ],
    validate: checkLag,
    create: () => ({ size: 0n, started: false, fallback: null, values: [], head: 0n }),
    step: (state, args, when) => {
      const ignoreNull = args.length < 4 || ignoreNullOf(args)
      if (!state.started) startLag(state, args)
      const { size, values } = state
      if (size === 0n) return null
      const value = args[0] ?? null
      const full = BigInt(values.length) === size
      const answer = full ? (values[Number(state.head)] as Value) : state.fallback
      if (when && (value !== null || !ignoreNull)) {
        if (full) {
          values[Number(state.head)] = value
          state.head = (state.head + 1n) % size
        } else values.push(value)
      }
      return answer
    },
  }),
  define<{ value: Value }>({
    name: 'latest',
    args: [any('value'), any('default', { optional: true })],
    docs: 'The value, or when it is null the last one that was not; the default until there was one.',
    examples: [
      { expression: 'latest(a, 0)', rows: [{ a: null }, { a: 1n }, { a: null }, { a: 2n }], result: [0n, 1n, 1n, 2n] },
    ],
    validate: ({ length }) => (length === 1 || length === 2 ? null : `expect one or two args but got ${length}`),
    create: () => ({ value: null }),
    step: (state, [value = null, fallback = null], when) => {
      if (when && value !== null) state.value = value
      return state.value ?? fallback
    },
  }),
  define<{ value: Value }>({
    name: 'changed_col',
    args: [bool('ignoreNull'), any('value')],
    docs: 'The value when it differs from the last one recorded, else null. With ignoreNull nulls are not recorded.',
    examples: [
      {
        expression: 'changed_col(true, a)',
        rows: [{ a: 1n }, { a: 1n }, { a: 2n }, { a: 2 }],
        result: [1n, null, 2n, 2],
      },
    ],
    validate: (args) => expectCount(2, args.length) ?? checkBool(args, 0, 'boolean'),
    create: () => ({ value: null }),
    step: (state, args, when) => {
      const ignoreNull = boolAt(args, 0, 'first')
      const value = args[1] ?? null
      if (!when || (value === null && ignoreNull) || deepEqual(value, state.value)) return null
      state.value = value
      return value
    },
  }),
  define<{ values: Value[] }>({
    name: 'had_changed',
    args: [bool('ignoreNull'), any('value'), any('more', { variadic: true })],
    docs: 'Whether a value differs from the one recorded for it; each is recorded on its own. With ignoreNull nulls are passed over.',
    examples: [
      {
        expression: 'had_changed(true, a, b)',
        rows: [
          { a: 1n, b: 1n },
          { a: 1n, b: 1n },
          { a: 1n, b: 2n },
        ],
        result: [true, false, true],
      },
    ],
    returns: 'bool',
    validate: (args) => (args.length > 1 ? checkBool(args, 0) : `expect more than one arg but got ${args.length}`),
    create: () => ({ values: [] }),
    step: (state, args, when) => {
      if (!when) return false
      const ignoreNull = boolAt(args, 0, 'first')
      let changed = false
      for (let i = 1; i < args.length; i++) {
        const value = args[i] ?? null
        if ((value === null && ignoreNull) || deepEqual(value, state.values[i - 1])) continue
        while (state.values.length < i) state.values.push(null)
        state.values[i - 1] = value
        changed = true
      }
      return changed
    },
  }),
]

function ignoreNullOf(args: readonly Value[]): boolean {
  if (typeof args[3] === 'boolean') return args[3]
  // The reference shows the first argument here.
  throw new RowError(`The fourth arg is not a bool but got ${goText(args[0])}`)
}

type Accumulation = { total: Value; count: bigint; begun: boolean }

interface AccumulationOptions {
  readonly name: string
  readonly docs: string
  readonly example: readonly [rows: readonly ValueObject[], result: readonly Value[]]
  readonly initial: Value
  readonly type?: string
  readonly add: (state: Accumulation, value: Value) => void
  readonly result: (state: Accumulation) => Value
}

/**
 * acc_*(x) runs for the life of the rule. acc_*(x, begin, reset) starts where begin holds and ends after the row where reset
 * holds; in between the initial value is given.
 */
function accumulating(options: AccumulationOptions): AnalyticFunction<Accumulation> {
  const { name, initial, add, result, example } = options
  const restart = (state: Accumulation): void => {
    state.total = initial
    state.count = 0n
  }
  return define<Accumulation>({
    name,
    docs: `${options.docs} With begin and reset it starts over where begin holds and ends after the row where reset holds.`,
    args: [{ name: 'value', type: options.type ?? 'number' }, bool('begin', true), bool('reset', true)],
    examples: [{ expression: `${name}(a)`, rows: example[0], result: [...example[1]] }],
    returns: typeof initial === 'bigint' ? 'int64' : 'float64',
    validate: ({ length }) => (length === 1 || length === 3 ? null : `Expect 1/3 arguments but found ${length}.`),
    create: () => ({ total: initial, count: 0n, begun: false }),
    step: (state, args, when) => {
      const value = args[0] ?? null
      if (args.length < 3) {
        if (when) add(state, value)
        return result(state)
      }
      const [, begin, reset] = args
      if (typeof begin !== 'boolean') throw new RowError('onBegin should be boolean')
      if (typeof reset !== 'boolean') throw new RowError('onReset should be boolean')
      if (!state.begun) restart(state)
      if (begin) state.begun = true
      if (state.begun && when) add(state, value)
      if (reset) state.begun = false
      return result(state)
    },
  })
}

function numberOf(value: Value): number {
  if (typeof value === 'number') return value
  if (typeof value === 'bigint') return Number(value)
  throw new RowError('the value should be number')
}

/** Before any value: the bounds of int64, as in the reference, which floats beyond them do not pass. */
const LOWEST = -(2 ** 63)
const HIGHEST = 2 ** 63

const running: readonly AnalyticFunction[] = [
  accumulating({
    name: 'acc_sum',
    docs: 'The sum of the values so far, as a float. Nulls change nothing.',
    example: [
      [{ a: 1n }, { a: null }, { a: 2n }],
      [1, 1, 3],
    ],
    initial: 0,
    add: (state, value) => {
      if (value !== null) state.total = (state.total as number) + numberOf(value)
    },
    result: ({ total }) => total,
  }),
  accumulating({
    name: 'acc_count',
    docs: 'How many values so far were not null.',
    example: [
      [{ a: 1n }, { a: null }, { a: 'x' }],
      [1n, 1n, 2n],
    ],
    initial: 0n,
    type: 'any',
    add: (state, value) => {
      if (value !== null) state.count++
    },
    result: ({ count }) => count,
  }),
  accumulating({
    name: 'acc_avg',
    docs: 'The mean of the values so far, as a float; 0 before the first.',
    example: [
      [{ a: 1n }, { a: 2n }],
      [1, 1.5],
    ],
    initial: 0,
    add: (state, value) => {
      state.total = (state.total as number) + numberOf(value)
      state.count++
    },
    result: ({ total, count }) => (count === 0n ? 0 : (total as number) / Number(count)),
  }),
  accumulating({
    name: 'acc_max',
    docs: 'The largest value so far, as a float; 0 before the first.',
    example: [
      [{ a: 1n }, { a: 3n }, { a: 2n }],
      [1, 3, 3],
    ],
    initial: LOWEST,
    add: (state, value) => {
      const next = numberOf(value)
      if (!((state.total as number) > next)) state.total = next
      state.count++
    },
    result: ({ total, count }) => (count === 0n ? 0 : total),
  }),
  accumulating({
    name: 'acc_min',
    docs: 'The smallest value so far, as a float; 0 before the first.',
    example: [
      [{ a: 2n }, { a: 1n }, { a: 3n }],
      [2, 1, 1],
    ],
    initial: HIGHEST,
    add: (state, value) => {
      const next = numberOf(value)
      if (!((state.total as number) < next)) state.total = next
      state.count++
    },
    result: ({ total, count }) => (count === 0n ? 0 : total),
  }),
]

export const analyticFunctions: readonly AnalyticFunction[] = [...comparing, ...running]
