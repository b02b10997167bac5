/** Array functions (spec/functions.json, category array). Elements are compared with their kind: 1 is not 1.0. */
import { toInt, toText } from '../core/cast.ts'
import { RowError } from '../core/errors.ts'
import { goText } from '../core/go-text.ts'
import { compareText } from '../core/text-order.ts'
import { getField, isObject, setField, type Value, type ValueObject } from '../core/values.ts'
import type { ArgumentInfo, CallContext, FunctionDefinition, FunctionLookup, ScalarFunction } from './contract.ts'
import { ElementSet, extreme, sameElement } from './elements.ts'
import { any, defineScalar, type Parameter, type ScalarOptions } from './helpers.ts'

/** Most elements repeat() and sequence() make. */
const MAX_ELEMENTS = 1_000_000

const array = (name = 'array'): Parameter => ({ name, type: 'array' })

const define = (options: Omit<ScalarOptions, 'family'>): ScalarFunction => defineScalar({ family: 'array', ...options })

const ordinals = ['first', 'second', 'third']

function arrayAt(args: readonly Value[], index: number): readonly Value[] {
  const value = args[index]
  if (Array.isArray(value)) return value
  throw new RowError(`${ordinals[index]} argument should be array of interface{}`)
}

function intAt(args: readonly Value[], index: number): bigint {
  const value = args[index]
  if (typeof value === 'bigint') return value
  throw new RowError(`${ordinals[index]} argument should be int`)
}

function textAt(args: readonly Value[], index: number): string {
  const value = args[index]
  if (typeof value === 'string') return value
  throw new RowError(`${ordinals[index]} argument should be string`)
}

/** Length of an array to be made. */
function lengthOf(size: bigint): number {
  if (size < 0n) throw new RowError('runtime error: makeslice: len out of range')
  if (size > MAX_ELEMENTS) throw new RowError(`the array would have more than ${MAX_ELEMENTS} elements`, 'LIMIT')
  return Number(size)
}

const twoOrThree = (args: readonly ArgumentInfo[]): string | null =>
  args.length === 2 || args.length === 3 ? null : `Expect two or three arguments but found ${args.length}.`

const extremeOf =
  (largest: boolean) =>
  (args: readonly Value[]): Value => {
    let best: Value = null
    for (const element of arrayAt(args, 0)) best = extreme(best, element, largest)
    return best
  }

const basics: readonly ScalarFunction[] = [
  define({
    name: 'cardinality',
    args: [array()],
    docs: 'Counts the elements of an array, nulls included. Bytes count their length; anything else counts 0.',
    examples: [
      { expression: 'cardinality(a)', row: { a: [1n, null, 3n] }, result: 3n },
      { expression: 'cardinality(a)', row: { a: 'text' }, result: 0n },
    ],
    nulls: 'zeroIfAny',
    returns: 'int64',
    run: ([value]) => (Array.isArray(value) || value instanceof Uint8Array ? BigInt(value.length) : 0n),
  }),
  define({
    name: 'array_cardinality',
    args: [array()],
    docs: 'Counts the elements of an array that are not null.',
    examples: [{ expression: 'array_cardinality(a)', row: { a: [1n, null, 3n] }, result: 2n }],
    nulls: 'zeroIfAny',
    returns: 'int64',
    run: (args) => BigInt(arrayAt(args, 0).filter((element) => element !== null).length),
  }),
  define({
    name: 'array_create',
    args: [{ name: 'value', type: 'any', variadic: true }],
    docs: 'Puts its arguments into an array and leaves nulls out. Null when nothing is left.',
    examples: [
      { expression: 'array_create(1, a, 3)', row: { a: null }, result: [1n, 3n] },
      { expression: 'array_create(a)', row: { a: null }, result: null },
    ],
    nulls: 'custom',
    run: (args) => {
      const elements = args.filter((value) => value !== null)
      return elements.length > 0 ? elements : null
    },
  }),
  define({
    name: 'array_position',
    args: [array(), any('value')],
    docs: 'Index, from 0, of the first element equal to the value; -1 when there is none.',
    examples: [{ expression: 'array_position(a, 2)', row: { a: [1n, 2n, 2n] }, result: 1n }],
    nulls: 'custom',
    returns: 'int64',
    run: (args) => {
      if (args[0] === null) return -1n
      return BigInt(arrayAt(args, 0).findIndex((element) => sameElement(element, args[1] as Value)))
    },
  }),
  define({
    name: 'array_last_position',
    args: [array(), any('value')],
    docs: 'Index, from 0, of the last element equal to the value; -1 when there is none.',
    examples: [{ expression: 'array_last_position(a, 2)', row: { a: [1n, 2n, 2n] }, result: 2n }],
    nulls: 'custom',
    returns: 'int64',
    run: (args) => {
      if (args[0] === null) return -1n
      return BigInt(arrayAt(args, 0).findLastIndex((element) => sameElement(element, args[1] as Value)))
    },
  }),
  define({
    name: 'element_at',
    args: [
      { name: 'container', type: 'array|object' },
      { name: 'key', type: 'int|string' },
    ],
    docs: 'The element of an array by index (from 0; negative counts from the end), or the member of an object by key.',
    examples: [
      { expression: 'element_at(a, -1)', row: { a: [1n, 2n, 3n] }, result: 3n },
      { expression: 'element_at(o, "k")', row: { o: { k: 'v' } }, result: 'v' },
      {
        expression: 'element_at(a, 3)',
        row: { a: [1n, 2n, 3n] },
        error: 'call func element_at error: index out of range',
      },
    ],
    run: ([container, key]) => {
      if (Array.isArray(container)) {
        const index = Number(toInt(key as Value, 'strict'))
        if (index >= container.length || -index > container.length) throw new RowError('index out of range')
        return container.at(index) as Value
      }
      if (!isObject(container)) {
        throw new RowError('first argument should be []interface{} or map[string]interface{}')
      }
      if (typeof key !== 'string') throw new RowError('second argument should be string')
      return getField(container, key) ?? null
    },
  }),
  define({
    name: 'array_max',
    args: [array()],
    docs:
      'The largest element that is not null. The first one fixes the kind: with an integer floats are truncated, with a ' +
      'float an integer is an error, text compares byte by byte.',
    examples: [{ expression: 'array_max(a)', row: { a: [1n, null, 3n] }, result: 3n }],
    run: extremeOf(true),
  }),
  define({
    name: 'array_min',
    args: [array()],
    docs: 'The smallest element that is not null; kinds as in array_max.',
    examples: [{ expression: 'array_min(a)', row: { a: ['b', 'a'] }, result: 'a' }],
    run: extremeOf(false),
  }),
]

const membership: readonly ScalarFunction[] = [
  define({
    name: 'array_contains',
    args: [array(), any('value')],
    docs: 'Whether an element equals the value.',
    examples: [
      { expression: 'array_contains(a, 2)', row: { a: [1n, 2n] }, result: true },
      { expression: 'array_contains(a, 2)', row: { a: [1, 2] }, result: false },
    ],
    nulls: 'custom',
    returns: 'bool',
    run: (args) => args[0] !== null && arrayAt(args, 0).some((element) => sameElement(element, args[1] as Value)),
  }),
  define({
    name: 'array_contains_any',
    args: [array('first'), array('second')],
    docs: 'Whether the arrays have an element in common.',
    examples: [{ expression: 'array_contains_any(a, b)', row: { a: [1n, 2n], b: [2n, 3n] }, result: true }],
    nulls: 'custom',
    returns: 'bool',
    run: (args) => {
      if (args[0] === null) return false
      const first = arrayAt(args, 0)
      const second = arrayAt(args, 1)
      return first.some((a) => second.some((b) => sameElement(a, b)))
    },
  }),
  define({
    name: 'array_remove',
    args: [array(), any('value')],
    docs: 'The array without the elements that equal the value.',
    examples: [{ expression: 'array_remove(a, 1)', row: { a: [3n, 1n, 2n] }, result: [3n, 2n] }],
    nulls: 'custom',
    run: (args) =>
      args[0] === null ? null : arrayAt(args, 0).filter((element) => !sameElement(element, args[1] as Value)),
  }),
  define({
    name: 'array_intersect',
    args: [array('first'), array('second')],
    docs: 'The distinct elements that both arrays have, in the order of the second.',
    examples: [{ expression: 'array_intersect(a, b)', row: { a: [1n, 2n, 3n], b: [3n, 2n, 2n] }, result: [3n, 2n] }],
    run: (args) => {
      const first = new ElementSet(arrayAt(args, 0))
      const taken = new ElementSet()
      return arrayAt(args, 1).filter((element) => first.has(element) && taken.add(element))
    },
  }),
  define({
    name: 'array_union',
    args: [array('first'), array('second')],
    docs: 'The distinct elements of both arrays, in the order they are first seen. Null counts as an empty array.',
    examples: [{ expression: 'array_union(a, b)', row: { a: [1n, null], b: [2n, 1n] }, result: [1n, null, 2n] }],
    nulls: 'custom',
    run: (args) => {
      const taken = new ElementSet()
      const elements = [0, 1].flatMap((i) => (args[i] === null ? [] : arrayAt(args, i)))
      return elements.filter((element) => taken.add(element))
    },
  }),
  define({
    name: 'array_except',
    args: [array('first'), array('second')],
    docs: 'The distinct elements of the first array that the second does not have, in the order of the first.',
    examples: [{ expression: 'array_except(a, b)', row: { a: [1n, 2n, 2n], b: [1n] }, result: [2n] }],
    nulls: 'custom',
    run: (args) => {
      if (args[0] === null) return null
      const first = arrayAt(args, 0)
      const taken = new ElementSet(args[1] === null ? [] : arrayAt(args, 1))
      return first.filter((element) => taken.add(element))
    },
  }),
  define({
    name: 'array_distinct',
    args: [array()],
    docs: 'The array without repeated numbers, texts, booleans and nulls. Nested arrays and objects all stay.',
    examples: [{ expression: 'array_distinct(a)', row: { a: [1n, 2n, 1n, '1'] }, result: [1n, 2n, '1'] }],
    run: (args) => {
      const taken = new ElementSet()
      return arrayAt(args, 0).filter(
        (element) => (typeof element === 'object' && element !== null) || taken.add(element),
      )
    },
  }),
]

const making: readonly ScalarFunction[] = [
  define({
    name: 'repeat',
    args: [any('value'), { name: 'count', type: 'int' }],
    docs: `An array of the value, count times over (at most ${MAX_ELEMENTS}).`,
    examples: [{ expression: 'repeat("x", 3)', result: ['x', 'x', 'x'] }],
    run: (args) => new Array<Value>(lengthOf(intAt(args, 1))).fill(args[0] as Value),
  }),
  define({
    name: 'sequence',
    args: [
      { name: 'start', type: 'int' },
      { name: 'stop', type: 'int' },
      { name: 'step', type: 'int', optional: true },
    ],
    docs:
      'The integers from start to stop, both included. Without a step they go up or down by one, whichever leads to stop. ' +
      `At most ${MAX_ELEMENTS} elements.`,
    examples: [
      { expression: 'sequence(1, 4)', result: [1n, 2n, 3n, 4n] },
      { expression: 'sequence(7, 1, -3)', result: [7n, 4n, 1n] },
    ],
    validate: twoOrThree,
    run: (args) => {
      const start = intAt(args, 0)
      const stop = intAt(args, 1)
      const step = args.length === 3 ? intAt(args, 2) : start < stop ? 1n : -1n
      if (step === 0n) throw new RowError('invalid step: should not be zero')
      const size = lengthOf((stop - start) / step + 1n)
      return Array.from({ length: size }, (_, i) => start + BigInt(i) * step)
    },
  }),
  define({
    name: 'array_concat',
    args: [array(), { name: 'more', type: 'array', variadic: true }],
    docs: 'The arrays one after the other; nulls are passed over. Null when there are no elements.',
    examples: [{ expression: 'array_concat(a, b)', row: { a: [1n], b: ['2', null] }, result: [1n, '2', null] }],
    nulls: 'custom',
    run: (args) => {
      const elements: Value[] = []
      for (const arg of args) {
        if (arg === null) continue
        if (!Array.isArray(arg)) throw new RowError('array elements should be array')
        for (const element of arg) elements.push(element)
      }
      return elements.length > 0 ? elements : null
    },
  }),
  define({
    name: 'array_flatten',
    args: [array()],
    docs: 'The array with the elements of nested arrays in their place, one level deep. Null when nothing is left.',
    examples: [{ expression: 'array_flatten(a)', row: { a: [[1n, 2n], 3n, [[4n]]] }, result: [1n, 2n, 3n, [4n]] }],
    run: (args) => {
      const elements = arrayAt(args, 0).flat()
      return elements.length > 0 ? (elements as Value[]) : null
    },
  }),
  define({
    name: 'array_join',
    args: [array(), { name: 'delimiter', type: 'string' }, { name: 'nullReplacement', type: 'string', optional: true }],
    docs: 'The elements as text (as by cast), with the delimiter between them. Nulls are left out unless a replacement is given.',
    examples: [
      { expression: 'array_join(a, ":")', row: { a: [1n, null, 'x'] }, result: '1:x' },
      { expression: 'array_join(a, ":", "-")', row: { a: [1n, null, 'x'] }, result: '1:-:x' },
    ],
    validate: twoOrThree,
    returns: 'string',
    run: (args) => {
      const elements = arrayAt(args, 0)
      const delimiter = textAt(args, 1)
      const replacement = args.length === 3 ? textAt(args, 2) : ''
      const texts: string[] = []
      for (const element of elements) {
        if (element !== null) texts.push(toText(element, 'all'))
        else if (replacement !== '') texts.push(replacement)
      }
      return texts.join(delimiter)
    },
  }),
  define({
    name: 'array_shuffle',
    args: [array()],
    docs: 'The elements in random order.',
    examples: [{ expression: 'array_shuffle(a)', row: { a: [1n] }, result: [1n] }],
    deterministic: false,
    run: (args, { clock }) => {
      const elements = [...arrayAt(args, 0)]
      for (let i = elements.length - 1; i > 0; i--) {
        const j = Math.floor(clock.random() * (i + 1))
        const moved = elements[i] as Value
        elements[i] = elements[j] as Value
        elements[j] = moved
      }
      return elements
    },
  }),
  define({
    name: 'array_sort',
    args: [array()],
    docs: 'The elements sorted by their text, so that 10 comes before 9 and null sorts as "<nil>".',
    examples: [{ expression: 'array_sort(a)', row: { a: [10n, 9n, 1n] }, result: [1n, 10n, 9n] }],
    run: ([value]) => {
      if (!Array.isArray(value)) throw new RowError('array elements should be array')
      return value
        .map((element) => ({ element, text: goText(element) }))
        .sort((a, b) => compareText(a.text, b.text))
        .map(({ element }) => element)
    },
  }),
  define({
    name: 'kvpair_array_to_obj',
    args: [{ name: 'pairs', type: 'array of {key, value}' }],
    docs: 'An object made of items that have a text member `key` and a member `value`, and no other. Later keys win.',
    examples: [
      { expression: 'kvpair_array_to_obj(a)', row: { a: [{ key: 'k', value: 1n }] }, result: { k: 1n } },
      {
        expression: 'kvpair_array_to_obj(a)',
        row: { a: [{ key: 'k' }] },
        error: 'call func kvpair_array_to_obj error: array item should be key-value pair',
      },
    ],
    returns: 'object',
    run: (args) => {
      const object: ValueObject = {}
      for (const item of arrayAt(args, 0)) {
        if (!isObject(item)) throw new RowError('array item should be map[string]interface{}')
        const key = getField(item, 'key')
        const value = getField(item, 'value')
        if (Object.keys(item).length !== 2 || typeof key !== 'string' || value === undefined) {
          throw new RowError('array item should be key-value pair')
        }
        setField(object, key, value)
      }
      return object
    },
  }),
]

const someArgument: ArgumentInfo = { literal: null, value: null, column: null, wildcard: false, aggregate: false }

/** Functions that array_map() does not reach: they keep a state, or are not part of the core set. */
const isOutOfReach = ({ name, family }: FunctionDefinition): boolean =>
  name === 'compress' || name === 'decompress' || family === 'geohash'

function arrayMap(lookup: FunctionLookup): ScalarFunction {
  const scalarNamed = (name: string): ScalarFunction => {
    const definition = lookup(name)
    if (definition === undefined || name !== name.toLowerCase() || isOutOfReach(definition)) {
      throw new RowError(`unknown built-in function: ${name}.`)
    }
    if (definition.kind !== 'scalar') throw new RowError('first argument should be a scalar function.')
    if (definition.validate([someArgument]) !== null) throw new RowError(`validate ${name} arguments failed`)
    return definition
  }
  return define({
    name: 'array_map',
    args: [{ name: 'function', type: 'string' }, array()],
    docs:
      'Applies a scalar function of one argument, given by its lower-case name, to every element. The null rule of that ' +
      'function does not apply: a null element reaches its code.',
    examples: [{ expression: 'array_map("abs", a)', row: { a: [-1n, 2n] }, result: [1n, 2n] }],
    run: (args, call: CallContext) => {
      const name = textAt(args, 0)
      const elements = arrayAt(args, 1)
      const { run } = scalarNamed(name)
      return elements.map((element) => run([element], call))
    },
  })
}

/** `lookup` finds the functions array_map() applies. */
export function arrayFunctions(lookup: FunctionLookup): readonly ScalarFunction[] {
  return [...basics, ...membership, ...making, arrayMap(lookup)]
}
