/**
 * The running aggregates behind the reference's incremental windows (spec/functions.json category internal). Windows here
 * use the accumulators of aggregate.ts; these names stay callable and keep their own rules: float sums, and a null argument
 * answers null without being counted.
 */
import { toFloat64 } from '../core/cast.ts'
import { RowError } from '../core/errors.ts'
import { copyFields, isObject, type Value, type ValueObject } from '../core/values.ts'
import type { AnalyticFunction } from './contract.ts'
import { extreme } from './elements.ts'
import { any, checkArguments, isNullOrEmpty, num, type Parameter } from './helpers.ts'

type State = { value: Value; count: bigint }

interface Options {
  readonly name: string
  readonly args?: readonly Parameter[]
  readonly docs: string
  readonly example: readonly [rows: readonly ValueObject[], result: readonly Value[]]
  readonly step: (state: State, value: Value, second: Value) => Value
}

function define({ name, args = [num('value')], docs, example, step }: Options): AnalyticFunction<State> {
  const columns = ['a', 'b'].slice(0, args.length).join(', ')
  return {
    name,
    kind: 'analytic',
    family: 'internal',
    deterministic: true,
    args,
    docs: `${docs} Null, [] and {} give null and change nothing.`,
    examples: [{ expression: `${name}(${columns})`, rows: example[0], result: [...example[1]] }],
    validate: (given) => checkArguments(args, given),
    create: () => ({ value: null, count: 0n }),
    step: (state, given, when) => {
      if (!when || given.some(isNullOrEmpty)) return null
      return step(state, given[0] as Value, given[1] ?? null)
    },
    save: copy,
    load: (saved) => copy(saved as State),
  }
}

function copy({ value, count }: State): State {
  return { value: Array.isArray(value) ? [...value] : isObject(value) ? copyFields({}, value) : value, count }
}

/** The best of value and state; the value fixes the kind. What cannot be compared gives null. */
function best(state: State, value: Value, largest: boolean): Value {
  try {
    state.value = extreme(extreme(null, value, largest), state.value, largest)
    return state.value
  } catch {
    return null
  }
}

export const incrementalFunctions: readonly AnalyticFunction[] = [
  define({
    name: 'inc_count',
    args: [any('value')],
    docs: 'Running count.',
    example: [
      [{ a: 1n }, { a: null }, { a: 'x' }],
      [1n, null, 2n],
    ],
    step: (state) => ++state.count,
  }),
  define({
    name: 'inc_sum',
    docs: 'Running sum as a float; text is read as a number.',
    example: [
      [{ a: 1n }, { a: '2' }],
      [1, 3],
    ],
    step: (state, value) => {
      state.value = ((state.value ?? 0) as number) + toFloat64(value, 'all')
      return state.value
    },
  }),
  define({
    name: 'inc_avg',
    docs: 'Running mean as a float; text is read as a number.',
    example: [
      [{ a: 1n }, { a: 2n }],
      [1, 1.5],
    ],
    step: (state, value) => {
      state.value = ((state.value ?? 0) as number) + toFloat64(value, 'all')
      state.count++
      return (state.value as number) / Number(state.count)
    },
  }),
  define({
    name: 'inc_max',
    docs: 'Running maximum.',
    example: [
      [{ a: 1n }, { a: 3n }, { a: 2n }],
      [1n, 3n, 3n],
    ],
    step: (state, value) => best(state, value, true),
  }),
  define({
    name: 'inc_min',
    docs: 'Running minimum.',
    example: [
      [{ a: 3n }, { a: 1n }, { a: 2n }],
      [3n, 1n, 1n],
    ],
    step: (state, value) => best(state, value, false),
  }),
  define({
    name: 'inc_merge_agg',
    docs: 'Running shallow merge of objects; later keys win.',
    example: [
      [{ a: { x: 1n } }, { a: { y: 2n } }],
      [{ x: 1n }, { x: 1n, y: 2n }],
    ],
    step: (state, value) => {
      if (!isObject(value)) throw new RowError('argument is not a map[string]interface{}')
      const merged = copyFields(copyFields({}, (state.value ?? {}) as ValueObject), value)
      state.value = merged
      return merged
    },
  }),
  define({
    name: 'inc_collect',
    docs: 'Running list of the values.',
    example: [
      [{ a: 1n }, { a: 'x' }],
      [[1n], [1n, 'x']],
    ],
    step: (state, value) => {
      const collected = [...((state.value ?? []) as Value[]), value]
      state.value = collected
      return collected
    },
  }),
  define({
    name: 'inc_last_value',
    args: [num('value'), num('ignoreNull')],
    docs: 'The last value.',
    example: [
      [
        { a: 1n, b: true },
        { a: null, b: true },
      ],
      [1n, null],
    ],
    step: (state, value, ignoreNull) => {
      if (typeof ignoreNull !== 'boolean') throw new RowError('second argument is not a bool')
      state.value = value
      return value
    },
  }),
]
