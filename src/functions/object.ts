/** Object functions (spec/functions.json, category object). Members keep the order in which the object has them. */
import { toText } from '../core/cast.ts'
import { RowError } from '../core/errors.ts'
import { goText } from '../core/go-text.ts'
import { copyFields, getField, isObject, setField, type Value, type ValueObject } from '../core/values.ts'
import type { ArgumentInfo, ScalarFunction } from './contract.ts'
import { any, defineScalar, expectType, type Parameter, type ScalarOptions } from './helpers.ts'

const object = (name = 'object', options: Partial<Parameter> = {}): Parameter => ({ name, type: 'object', ...options })

const define = (options: Omit<ScalarOptions, 'family'>): ScalarFunction =>
  defineScalar({ family: 'object', ...options })

function objectOf(value: Value | undefined, message: string): ValueObject {
  if (isObject(value)) return value
  throw new RowError(message)
}

const onlyObject = 'the argument should be map[string]interface{}'

const entries = (value: ValueObject): [string, Value][] =>
  Object.keys(value).map((key) => [key, getField(value, key) as Value])

function checkPairs(args: readonly ArgumentInfo[]): string | null {
  if (args.length % 2 !== 0) return 'the args must be key value pairs'
  const bad = args.findIndex(({ literal }, i) => i % 2 === 0 && literal !== null && literal !== 'string')
  return bad < 0 ? null : expectType(bad, 'string')
}

/** Copies what `path` (`a` or `a.b.c`) leads to into `picked`, with the objects on the way. */
function pick(picked: ValueObject, source: ValueObject, path: string): void {
  const keys = path.split('.')
  const last = keys.pop() as string
  let from = source
  for (const key of keys) {
    const next = getField(from, key)
    if (!isObject(next)) return
    from = next
  }
  const value = getField(from, last)
  if (value === undefined) return
  // As in the reference, only objects made for this path are entered: a second path through the same parent ends above it.
  let to = picked
  for (const key of keys) {
    if (getField(to, key) != null) continue
    const made: ValueObject = {}
    setField(to, key, made)
    to = made
  }
  setField(to, last, value)
}

export const objectFunctions: readonly ScalarFunction[] = [
  define({
    name: 'keys',
    args: [object()],
    docs: 'The keys of an object.',
    examples: [{ expression: 'keys(o)', row: { o: { a: 1n, b: 2n } }, result: ['a', 'b'] }],
    returns: 'array',
    run: ([value]) => Object.keys(objectOf(value, onlyObject)),
  }),
  define({
    name: 'values',
    args: [object()],
    docs: 'The values of an object, in the order of its keys.',
    examples: [{ expression: 'values(o)', row: { o: { a: 1n, b: 'x' } }, result: [1n, 'x'] }],
    returns: 'array',
    run: ([value]) => entries(objectOf(value, onlyObject)).map(([, member]) => member),
  }),
  define({
    name: 'items',
    args: [object()],
    docs: 'The members of an object, each as an array of key and value.',
    examples: [{ expression: 'items(o)', row: { o: { a: 1n } }, result: [['a', 1n]] }],
    returns: 'array',
    run: ([value]) => entries(objectOf(value, 'first argument should be map[string]interface{}')),
  }),
  define({
    name: 'obj_to_kvpair_array',
    args: [object()],
    docs: 'The members of an object, each as an object with the members `key` and `value`.',
    examples: [{ expression: 'obj_to_kvpair_array(o)', row: { o: { a: 1n } }, result: [{ key: 'a', value: 1n }] }],
    returns: 'array',
    run: ([value]) => {
      const message = `the first argument should be map[string]interface{}, got ${goText(value)}`
      return entries(objectOf(value, message)).map(([key, member]) => ({ key, value: member }))
    },
  }),
  define({
    name: 'object_size',
    args: [object()],
    docs: 'The number of members of an object; 0 for null.',
    examples: [{ expression: 'object_size(o)', row: { o: { a: 1n, b: null } }, result: 2n }],
    nulls: 'custom',
    returns: 'int64',
    run: ([value]) => {
      if (value === null) return 0n
      const message = `the first argument should be map[string]any, got ${goText(value)}`
      return BigInt(Object.keys(objectOf(value, message)).length)
    },
  }),
  define({
    name: 'object',
    args: [
      { name: 'keys', type: 'array of string' },
      { name: 'values', type: 'array' },
    ],
    docs: 'An object made of an array of keys and an array of as many values. Of equal keys the last wins.',
    examples: [{ expression: 'object(k, v)', row: { k: ['a', 'b'], v: [1n, 2n] }, result: { a: 1n, b: 2n } }],
    returns: 'object',
    run: ([keys, values]) => {
      if (!Array.isArray(keys)) throw new RowError('first argument should be []string')
      if (!Array.isArray(values)) throw new RowError('second argument should be []interface{}')
      if (keys.length !== values.length) throw new RowError('the length of the arguments should be same')
      const made: ValueObject = {}
      for (const [i, key] of keys.entries()) {
        if (typeof key !== 'string') throw new RowError('first argument should be []string')
        setField(made, key, values[i] as Value)
      }
      return made
    },
  }),
  define({
    name: 'zip',
    args: [{ name: 'entries', type: 'array of [key, value]' }],
    docs: 'An object made of arrays of a key and a value; null entries are passed over. Of equal keys the last wins.',
    examples: [{ expression: 'zip(a)', row: { a: [['k', 1n], null] }, result: { k: 1n } }],
    returns: 'object',
    run: ([list]) => {
      const malformed = 'each argument should be [][2]interface{}'
      if (!Array.isArray(list)) throw new RowError(malformed)
      const made: ValueObject = {}
      for (const entry of list) {
        if (entry === null) continue
        if (!Array.isArray(entry) || entry.length !== 2) throw new RowError(malformed)
        const [key, value] = entry as [Value, Value]
        if (typeof key !== 'string') throw new RowError('the first element in the list item should be string')
        setField(made, key, value)
      }
      return made
    },
  }),
  define({
    name: 'object_concat',
    args: [object('first'), object('second'), object('more', { variadic: true })],
    docs: 'The members of all objects in one; of equal keys the last wins, nested objects are not merged. Nulls are skipped.',
    examples: [
      { expression: 'object_concat(a, b)', row: { a: { x: 1n, y: 1n }, b: { y: 2n } }, result: { x: 1n, y: 2n } },
    ],
    nulls: 'custom',
    returns: 'object',
    run: (args) => {
      const made: ValueObject = {}
      for (const arg of args) {
        if (arg !== null) copyFields(made, objectOf(arg, `${onlyObject}, got ${goText(arg)}`))
      }
      return made
    },
  }),
  define({
    name: 'object_construct',
    args: [{ name: 'key', type: 'string' }, any('value'), any('more', { variadic: true })],
    docs: 'An object made of keys and values by turns. A null key is left out with its value; null values stay.',
    examples: [
      { expression: 'object_construct("a", x, "b", 2)', row: { x: null }, result: { a: null, b: 2n } },
      {
        expression: 'object_construct(x, 1)',
        row: { x: 1.5 },
        error: 'call func object_construct error: key 1.5 is not a string',
      },
    ],
    nulls: 'custom',
    returns: 'object',
    validate: checkPairs,
    run: (args) => {
      const made: ValueObject = {}
      for (let i = 0; i < args.length; i += 2) {
        const key = args[i] as Value
        if (key === null) continue
        if (typeof key !== 'string' && !(key instanceof Uint8Array)) {
          throw new RowError(`key ${goText(key)} is not a string`)
        }
        setField(made, toText(key, 'sameKind'), args[i + 1] ?? null)
      }
      return made
    },
  }),
  define({
    name: 'erase',
    args: [object(), { name: 'keys', type: 'string|array' }, any('more', { variadic: true })],
    docs: 'The object without a member, or without the members an array names. Only members of the object itself.',
    examples: [
      { expression: 'erase(o, "a")', row: { o: { a: 1n, b: 2n } }, result: { b: 2n } },
      { expression: 'erase(o, k)', row: { o: { a: 1n, b: 2n, c: 3n }, k: ['a', 'b'] }, result: { c: 3n } },
    ],
    returns: 'object',
    run: (args) => {
      if (args.length !== 2) throw new RowError(`the argument number should be 2, got ${args.length}`)
      const [value, keys] = args as [Value, Value]
      const source = objectOf(value, `the first argument should be map[string]interface{}, got ${goText(value)}`)
      if (typeof keys !== 'string' && !Array.isArray(keys)) {
        throw new RowError('the argument should be slice or string')
      }
      const erased = new Set(typeof keys === 'string' ? [keys] : keys.map((key) => toText(key, 'all')))
      const made: ValueObject = {}
      for (const [key, member] of entries(source)) if (!erased.has(key)) setField(made, key, member)
      return made
    },
  }),
  define({
    name: 'object_pick',
    args: [object(), { name: 'key', type: 'string|array' }, { name: 'more', type: 'string', variadic: true }],
    docs:
      'An object with the members named, by texts or by one array of texts. `a.b` picks a nested member together with its ' +
      'parent. Absent members and keys that are no text are passed over.',
    examples: [
      {
        expression: 'object_pick(o, "a", "c.d")',
        row: { o: { a: 1n, b: 2n, c: { d: 3n, e: 4n } } },
        result: { a: 1n, c: { d: 3n } },
      },
    ],
    nulls: 'custom',
    returns: 'object',
    run: ([value, first, ...more]) => {
      if (value === null) return null
      const source = objectOf(value, `the first argument should be a map, got ${goText(value)}`)
      const picked: ValueObject = {}
      const paths = Array.isArray(first) ? first : typeof first === 'string' ? [first, ...more] : []
      for (const path of paths) if (typeof path === 'string') pick(picked, source, path)
      return picked
    },
  }),
]
