import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { castTo, castTypes, toBool, toBytea, toFloat64, toInt, toInt64, toText, toUint64 } from './cast.ts'
import { RowError } from './errors.ts'
import { Instant, type Value } from './values.ts'

const scalar: fc.Arbitrary<Value> = fc.oneof(
  fc.constant(null),
  fc.boolean(),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc.double(),
  fc.string({ unit: 'binary' }),
  fc.uint8Array({ maxLength: 8 }),
  fc.tuple(fc.integer(), fc.nat(999_999)).map(([ms, nanos]) => new Instant(ms, nanos)),
)
const value: fc.Arbitrary<Value> = fc.oneof(
  scalar,
  fc.array(scalar, { maxLength: 3 }),
  fc.dictionary(fc.string(), scalar),
)

test('cast gives a value or throws RowError, whatever the value and the type', () => {
  fc.assert(
    fc.property(value, fc.oneof(fc.constantFrom(...castTypes), fc.string(), scalar), (v, type) => {
      try {
        castTo(v, type as Value, { zone: 'UTC', now: 0 })
      } catch (error) {
        expect(error).toBeInstanceOf(RowError)
      }
    }),
    { numRuns: 500 },
  )
})

test('text of an integer or a finite float casts back to it', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), fc.double({ noNaN: true }), (int, float) => {
      expect(castTo(castTo(int, 'string', {}), 'bigint', {})).toBe(int)
      expect(castTo(castTo(float, 'string', {}), 'float', {})).toBe(float)
    }),
  )
})

describe('modes', () => {
  test('strict takes integral floats as integers, sameKind cuts, all reads text', () => {
    expect(toInt64(3, 'strict')).toBe(3n)
    expect(() => toInt64(3.5, 'strict')).toThrow('cannot convert float64(3.5) to int64')
    expect(toInt64(3.9, 'sameKind')).toBe(3n)
    expect(() => toInt64('3', 'sameKind')).toThrow('cannot convert string(3) to int64')
    expect(toInt64('0x10', 'all')).toBe(16n)
    expect(toInt64(null, 'all')).toBe(0n)
    expect(() => toInt([1n], 'all')).toThrow('cannot convert []interface {}([1]) to int')
  })

  test('an integer is a float only beyond strict', () => {
    expect(() => toFloat64(1n, 'strict')).toThrow('cannot convert int64(1) to float64')
    expect(toFloat64(1n, 'sameKind')).toBe(1)
  })

  test('negative numbers are no unsigned integers', () => {
    expect(() => toUint64(-1n, 'all')).toThrow('cannot convert int64(-1) to uint, negative not allowed')
    expect(toUint64('18446744073709551615', 'all')).toBe(2n ** 64n - 1n)
  })

  test('text of floats is plain decimal', () => {
    expect(toText(1e6, 'all')).toBe('1000000')
    expect(() => toText(1, 'sameKind')).toThrow('cannot convert float64(1) to string')
  })

  test('booleans are read by twelve words', () => {
    expect(toBool('T', 'all')).toBe(true)
    expect(() => toBool('yes', 'all')).toThrow('strconv.ParseBool: parsing "yes": invalid syntax')
  })

  test('bytea is base64, else the text itself', () => {
    expect(toBytea('Zm9v', 'sameKind')).toEqual(new TextEncoder().encode('foo'))
    expect(new TextDecoder().decode(toBytea('no base64!', 'sameKind'))).toBe('no base64!')
    expect(() => toBytea('no base64!', 'strict')).toThrow('must be base64')
  })
})
