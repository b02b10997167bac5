import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decodeJsonText } from './json-decode.ts'
import { decodeState, encodeState } from './state.ts'
import { deepEqual, Instant, type Value } from './values.ts'

const value: fc.Arbitrary<Value> = fc.letrec<{ value: Value }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constant(null),
    fc.boolean(),
    fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
    // Integers of JSON text are kept whole.
    fc.bigInt({ min: -(10n ** 308n), max: 10n ** 308n }),
    fc.double(),
    fc.string({ unit: 'binary' }),
    fc.uint8Array({ maxLength: 9 }),
    fc
      .tuple(fc.integer(), fc.nat(999_999), fc.constantFrom('UTC', '+08:00'))
      .map(([ms, nanos, zone]) => new Instant(ms, nanos, zone)),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.oneof(fc.string(), fc.constantFrom('$i', '$o', '$f', '__proto__', 'constructor')), tie('value'), {
      maxKeys: 4,
      noNullPrototype: true,
    }),
  ),
})).value

/** deepEqual, but NaN equals itself and -0 differs from 0. */
function same(a: Value, b: Value): boolean {
  if (typeof a === 'number' || typeof b === 'number') return Object.is(a, b)
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((v, i) => same(v, b[i] as Value))
  const plain = (v: Value): v is Record<string, Value> => v !== null && Object.getPrototypeOf(v) === Object.prototype
  if (plain(a) && plain(b)) {
    const keys = Object.keys(a)
    return (
      keys.length === Object.keys(b).length &&
      keys.every((k) => Object.hasOwn(b, k) && same(a[k] as Value, b[k] as Value))
    )
  }
  return deepEqual(a, b)
}

test('every value survives a checkpoint', () => {
  fc.assert(
    fc.property(value, (v) => {
      expect(same(decodeState(encodeState(v)), v)).toBe(true)
    }),
  )
})

test('a time keeps its zone', () => {
  expect(decodeState(encodeState(new Instant(1, 2, 'Asia/Shanghai')))).toEqual(new Instant(1, 2, 'Asia/Shanghai'))
})

test.each(['', '{}', '[1]', '[99, null]', '[1, {"$i": 5}]', '[1, {"$t": [1]}]', '[1, {"$x": 1}]'])(
  'foreign text %j is refused',
  (text) => {
    expect(() => decodeState(text)).toThrow(/stored state/)
  },
)

test('a row with the deepest value that can be decoded survives in the state of an operator', () => {
  const value = decodeJsonText('['.repeat(2000) + ']'.repeat(2000), { maxDepth: 2000 })
  const state = { r: { waiting: [{ message: { value } }] } }
  expect(encodeState(decodeState(encodeState(state)))).toBe(encodeState(state))
})
