import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseGoFloat, parseGoInt, parseGoUint, truncateToInt64 } from './go-number.ts'

test.each([
  ['0x1F', 31n],
  ['010', 8n],
  ['0o17', 15n],
  ['0b11', 3n],
  ['1_000', 1000n],
  ['0x_1', 1n],
  ['-9223372036854775808', -(2n ** 63n)],
  ['9223372036854775808', 'range'],
  ['08', 'syntax'],
  ['1__0', 'syntax'],
  ['1_', 'syntax'],
  ['', 'syntax'],
  [' 1', 'syntax'],
  ['0x', 'syntax'],
])('the integer of %j with base prefix is %s', (text, value) => {
  expect(parseGoInt(text, 0)).toBe(value)
})

test('decimal integers read as BigInt reads them', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (n) => {
      expect(parseGoInt(String(n), 10)).toBe(n)
    }),
  )
})

test('unsigned numbers read back in every base', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), fc.integer({ min: 2, max: 36 }), (n, base) => {
      expect(parseGoUint(n.toString(base), base)).toBe(n)
    }),
  )
})

test('decimal floats read as JavaScript reads them', () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (n) => {
      expect(parseGoFloat(Object.is(n, -0) ? '-0' : String(n))).toBe(n)
    }),
  )
})

test.each([
  ['inf', Infinity],
  ['-Infinity', -Infinity],
  ['0x1p-2', 0.25],
  ['0x1.8p1', 3],
  ['0x1p-1074', 5e-324],
  ['0x1p-1075', 0],
  ['0x1.1p-1075', 5e-324],
  ['1_0.5', 10.5],
  ['1e400', 'range'],
  ['1e-400', 0],
  ['0x1', 'syntax'],
  ['1._5', 'syntax'],
  ['1e', 'syntax'],
])('the float of %j is %s', (text, value) => {
  expect(parseGoFloat(text)).toBe(value)
})

test('floats become integers towards zero, and the lowest one when they do not fit', () => {
  expect(truncateToInt64(-1.9)).toBe(-1n)
  expect(truncateToInt64(1e300)).toBe(-(2n ** 63n))
  expect(truncateToInt64(Number.NaN)).toBe(-(2n ** 63n))
})
