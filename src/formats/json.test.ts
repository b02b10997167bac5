import { describe, expect, test } from 'vitest'
import { encodeUtf8 } from '../core/utf8.ts'
import type { ColumnType, DecodeOptions } from './contract.ts'
import { decodeOptions, noSchemas, survivesHostileInput } from './format.suite.ts'
import { decodeField, encodeJson, jsonFormat } from './json.ts'

const decode = (text: string, columns?: Record<string, ColumnType>, more: Partial<DecodeOptions> = {}) =>
  jsonFormat
    .decoder({ ...decodeOptions, columns: columns ? new Map(Object.entries(columns)) : null, ...more }, noSchemas)
    .decode(encodeUtf8(text))

describe('json decode', () => {
  test('one object gives a row, an array of objects one row each', () => {
    expect(decode('{"a":1}')).toEqual([{ a: 1 }])
    expect(decode('[{"a":1},{"b":"x"}]')).toEqual([{ a: 1 }, { b: 'x' }])
    expect(decode('[]')).toEqual([])
  })

  test('anything else is refused', () => {
    expect(() => decode('3')).toThrow('only map[string]interface{} and []map[string]interface{} is supported')
    expect(() => decode('[1]')).toThrow("value doesn't contain object; it contains number")
    expect(() => decode('')).toThrow('cannot parse JSON')
  })

  test('only wanted columns are taken, though a null stays', () => {
    expect(decode('{"a":1,"b":2,"c":null,"d":{"x":1}}', { a: { kind: 'any' }, d: { kind: 'any' } })).toEqual([
      { a: 1, c: null, d: { x: 1 } },
    ])
  })

  test('columns convert as declared', () => {
    const columns: Record<string, ColumnType> = {
      big: { kind: 'bigint' },
      f: { kind: 'float' },
      s: { kind: 'string' },
      b: { kind: 'boolean' },
      t: { kind: 'datetime' },
      y: { kind: 'bytea' },
      l: { kind: 'array', element: { kind: 'bigint' } },
      o: { kind: 'struct', fields: { x: { kind: 'string' } } },
    }
    expect(
      decode(
        '{"big":1795292668348461056,"f":3,"s":1234567,"b":"T","t":5,"y":"AQID","l":[1,null],"o":{"x":3,"y":4}}',
        columns,
      ),
    ).toEqual([
      {
        big: 1795292668348461056n,
        f: 3,
        s: '1.234567e+06',
        b: true,
        t: 5,
        y: new Uint8Array([1, 2, 3]),
        l: [1n, null],
        o: { x: '3' },
      },
    ])
    expect(decode('{"y":"not base64","b":0,"t":"now"}', columns)).toEqual([
      { y: new TextEncoder().encode('not base64'), b: false, t: 'now' },
    ])
  })

  test('a value of the wrong kind names column, found and expected kind', () => {
    const cases: [string, ColumnType, string][] = [
      ['{"a":"1"}', { kind: 'bigint' }, 'a has wrong type:string, expect:bigint'],
      ['{"a":true}', { kind: 'float' }, 'a has wrong type:true, expect:float'],
      ['{"a":[]}', { kind: 'string' }, 'a has wrong type:array, expect:string'],
      ['{"a":["x"]}', { kind: 'array', element: { kind: 'float' } }, 'array has wrong type:string, expect:float'],
      [
        '{"a":{"b":false}}',
        { kind: 'struct', fields: { b: { kind: 'string' } } },
        'b has wrong type:false, expect:string',
      ],
      ['{"a":1.5}', { kind: 'bigint' }, 'has a fraction'],
      ['{"a":9223372036854775808}', { kind: 'bigint' }, 'out of range'],
      ['{"a":"maybe"}', { kind: 'boolean' }, 'strconv.ParseBool: parsing "maybe": invalid syntax'],
    ]
    for (const [text, type, message] of cases) expect(() => decode(text, { a: type })).toThrow(message)
  })

  test('keys of Object.prototype are columns like others', () => {
    const [row] = decode('{"__proto__":{"x":1},"constructor":2}', {
      ['__proto__']: { kind: 'any' },
      constructor: { kind: 'any' },
    } as never)
    expect(Object.getPrototypeOf(row)).toBe(Object.prototype)
    expect(Object.hasOwn(row as object, 'constructor')).toBe(true)
  })

  test('invalid UTF-8 becomes U+FFFD, a byte order mark is skipped', () => {
    const bytes = new Uint8Array([0xef, 0xbb, 0xbf, ...encodeUtf8('{"a":"'), 0xff, ...encodeUtf8('"}')])
    expect(jsonFormat.decoder(decodeOptions, noSchemas).decode(bytes)).toEqual([{ a: '\ufffd' }])
  })

  test('limits of bytes, rows and depth end in a LIMIT error', () => {
    expect(() => decode('{"a":1}', undefined, { maxPayloadBytes: 6 })).toThrow('exceeds the limit of 6 bytes')
    expect(() => decode('[{},{}]', undefined, { maxRows: 1 })).toThrow('exceeds the limit of 1 rows')
    expect(() => decode(`{"a":${'['.repeat(50)}${']'.repeat(50)}}`, undefined, { maxDepth: 10 })).toThrow(
      'nested deeper than 10',
    )
  })
})

survivesHostileInput(
  'json',
  jsonFormat.decoder(decodeOptions, noSchemas),
  encodeUtf8('{"a":[1.5,"é\\n"],"b":{"c":null}}'),
)

test('decodeField reads one scalar', () => {
  const field = (text: string) => decodeField(encodeUtf8(text), 'id', decodeOptions)
  expect([
    field('{"id":1}'),
    field('{"id":"x"}'),
    field('{"id":true}'),
    field('{"id":[1]}'),
    field('{}'),
    field('[{"id":1}]'),
  ]).toEqual([1, '"x"', true, null, null, null])
})

test('batches are one array', () => {
  const writer = jsonFormat.batchWriter({}, noSchemas)
  writer.write({ b: 1, a: 2n })
  writer.write([{ c: 1 }])
  expect(writer.count).toBe(2)
  expect(writer.flush()).toEqual(encodeJson([{ a: 2, b: 1 }, [{ c: 1 }]]))
  expect(writer.count).toBe(0)
})
