import { describe, expect, test } from 'vitest'
import { Instant, type ValueObject } from '../core/values.ts'
import type { ColumnType } from './contract.ts'
import { type CheckedStream, createTimestampReader, createValidator, type DeclaredColumn } from './schema-check.ts'

const strict = (fields: DeclaredColumn[], more: Partial<CheckedStream['options']> = {}): CheckedStream => ({
  fields,
  options: { strictValidation: true, ...more },
})
const check = (fields: DeclaredColumn[], row: ValueObject, more: Partial<CheckedStream['options']> = {}) =>
  createValidator(strict(fields, more), null)?.(row)
const bigint: DeclaredColumn = { name: 'a', type: { kind: 'bigint' } }

describe('createValidator', () => {
  test('is absent where nothing is to be checked', () => {
    expect(createValidator({ fields: [bigint], options: {} }, null)).toBe(null)
    expect(createValidator(strict([]), null)).toBe(null)
    expect(createValidator({ fields: null, options: { strictValidation: true } }, null)).toBe(null)
  })

  test('converts what is declared, keeps the rest, leaves the row itself alone', () => {
    const fields: DeclaredColumn[] = [
      bigint,
      { name: 'f', type: { kind: 'float' } },
      { name: 's', type: { kind: 'string' } },
      { name: 'y', type: { kind: 'bytea' } },
      { name: 't', type: { kind: 'datetime' } },
      { name: 'l', type: { kind: 'array', element: { kind: 'bigint' } } },
      { name: 'o', type: { kind: 'struct', fields: [bigint] } },
    ]
    const row = { a: 3.9, f: 2n, s: 'x', y: 'AQID', t: 1000, l: [1.5], o: '{"a":7,"b":1}', more: 1 }
    expect(check(fields, row)).toEqual({
      a: 3n,
      f: 2,
      s: 'x',
      y: new Uint8Array([1, 2, 3]),
      t: new Instant(1000),
      l: [1n],
      o: { a: 7n, b: 1 },
      more: 1,
    })
    expect(row.a).toBe(3.9)
  })

  test('arrays and structs may be null, other columns not', () => {
    expect(check([{ name: 'l', type: { kind: 'array', element: bigint.type } }], { l: null })).toEqual({ l: null })
    expect(check([{ name: 'o', type: { kind: 'struct', fields: [bigint] } }], { o: null })).toEqual({ o: null })
    expect(() => check([bigint], { a: null })).toThrow('field a type mismatch: cannot convert <nil>(<nil>) to int64')
  })

  test('names the column and what is wrong with it', () => {
    const struct: DeclaredColumn = { name: 'o', type: { kind: 'struct', fields: [bigint] } }
    const list: DeclaredColumn = { name: 'l', type: { kind: 'array', element: { kind: 'float' } } }
    const cases: [DeclaredColumn, ValueObject, string][] = [
      [bigint, {}, 'field a is not found'],
      [bigint, { a: 'red' }, 'field a type mismatch: cannot convert string(red) to int64'],
      [struct, { o: { b: 1 } }, 'field o type mismatch: field a is not found'],
      [struct, { o: 5n }, 'field o type mismatch: expect struct but found int64(5)'],
      [struct, { o: '[' }, 'field o type mismatch: invalid data type for [, expect map but found string([)'],
      [list, { l: '[1]' }, 'field l type mismatch: expect array but got [1]'],
      [list, { l: ['x'] }, 'field l type mismatch: array element type mismatch: cannot convert string(x) to float64'],
    ]
    for (const [field, row, message] of cases)
      expect(() => check([field], row)).toThrow(`error in preprocessor: ${message}`)
  })

  test('a default stands in for an absent column, not for null', () => {
    const fields: DeclaredColumn[] = [{ ...bigint, default: 22n }]
    expect(check(fields, {})).toEqual({ a: 22n })
    expect(() => check(fields, { a: null })).toThrow('type mismatch')
  })

  test('only used columns are checked, by the type they are decoded with', () => {
    const columns = new Map<string, ColumnType>([['o', { kind: 'struct', fields: { a: { kind: 'bigint' } } }]])
    const wide: DeclaredColumn = {
      name: 'o',
      type: { kind: 'struct', fields: [bigint, { name: 'b', type: { kind: 'string' } }] },
    }
    expect(createValidator(strict([bigint, wide]), columns)?.({ o: { a: 1 } })).toEqual({ o: { a: 1n } })
  })

  test('ignoreCase looks further; times follow the pattern and zone', () => {
    expect(createValidator(strict([bigint]), null, { ignoreCase: true })?.({ A: 1 })).toEqual({ A: 1, a: 1n })
    const time = createValidator(
      strict([{ name: 't', type: { kind: 'datetime' } }], { timestampFormat: 'yyyy/MM/dd' }),
      null,
      { zone: '+08:00' },
    )
    expect(time?.({ t: '2020/01/02' })).toEqual({ t: new Instant(Date.UTC(2020, 0, 1, 16), 0, '+08:00') })
  })

  test('a binary payload gets the name of its column', () => {
    const stream = {
      fields: [{ name: 'image', type: { kind: 'bytea' } }] as DeclaredColumn[],
      options: { format: 'BINARY' },
    }
    expect(createValidator(stream, null)?.({ self: 'x' })).toEqual({ image: 'x' })
  })

  test('keys of Object.prototype are data', () => {
    const row = createValidator(
      strict([{ name: '__proto__', type: { kind: 'bigint' } }]),
      null,
    )?.(JSON.parse('{"__proto__":1}'))
    expect(Object.entries(row ?? {})).toEqual([['__proto__', 1n]])
    expect(() => createValidator(strict([{ name: 'constructor', type: { kind: 'bigint' } }]), null)?.({})).toThrow(
      'field constructor is not found',
    )
  })
})

describe('createTimestampReader', () => {
  test('refuses times beyond the range of dates, which are in another unit', () => {
    const read = createTimestampReader(stream('ts'))
    expect(read({ ts: 8.64e15 })).toBe(8.64e15)
    for (const ts of [8.64e15 + 1, -8.65e15, 1_700_000_000_000_000_000n, 1e300]) {
      expect(() => read({ ts })).toThrow('ms is beyond the range of dates')
    }
  })
  const stream = (timestamp?: string, timestampFormat?: string): CheckedStream => ({
    fields: null,
    options: { timestamp, timestampFormat },
  })

  test('reads numbers, times and text', () => {
    const read = createTimestampReader(stream('ts'))
    expect([
      read({ ts: 5 }),
      read({ ts: 5.9 }),
      read({ ts: 7n }),
      read({ ts: new Instant(9) }),
      read({ ts: '1970-01-01T00:00:01Z' }),
    ]).toEqual([5, 5, 7, 9, 1000])
    expect(createTimestampReader(stream('ts', "yyyy-MM-dd'AT'HH:mm:ss"))({ ts: '2019-09-23AT02:47:29' })).toBe(
      1569206849000,
    )
  })

  test('says what is missing', () => {
    expect(() => createTimestampReader(stream())).toThrow(
      'preprocessor is set to be event time but stream option TIMESTAMP not found',
    )
    const read = createTimestampReader(stream('ts'))
    expect(() => read({ a: 1n })).toThrow('cannot find timestamp field ts in tuple map[a:1]')
    expect(() => read({ ts: true })).toThrow(
      'cannot convert timestamp field ts to timestamp with error unsupported type to convert to timestamp true',
    )
  })
})
