import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decodeUtf8, encodeUtf8 } from '../core/utf8.ts'
import type { Value, ValueObject } from '../core/values.ts'
import { binaryFormat } from './binary.ts'
import type { DecodeOptions, EncodeOptions } from './contract.ts'
import { delimitedFormat } from './delimited.ts'
import { decodeOptions, noSchemas, survivesHostileInput } from './format.suite.ts'
import { escapeQuery, urlencodedFormat } from './urlencoded.ts'

const utf8 = (bytes: Uint8Array | null | undefined): string | null => (bytes ? decodeUtf8(bytes) : null)

describe('delimited', () => {
  const decode = (text: string, options: Partial<DecodeOptions> = {}) =>
    delimitedFormat.decoder({ ...decodeOptions, ...options }, noSchemas).decode(encodeUtf8(text))
  const encode = (value: Value, options: EncodeOptions = {}) =>
    utf8(delimitedFormat.encoder(options, noSchemas).encode(value))

  test('cells are strings named by fields, else col0, col1; surplus cells are dropped', () => {
    expect(decode('1,x,')).toEqual([{ col0: '1', col1: 'x', col2: '' }])
    expect(decode('1;x;y', { delimiter: ';', fields: ['a', 'b'] })).toEqual([{ a: '1', b: 'x' }])
    expect(decode('1', { fields: ['__proto__', 'b'] })).toEqual([JSON.parse('{"__proto__":"1"}')])
  })

  test('quotes are ordinary characters unless quoting is asked for', () => {
    expect(decode('a,"b,c"')).toEqual([{ col0: 'a', col1: '"b', col2: 'c"' }])
    expect(encode({ a: 'x,y' })).toBe('x,y')
  })

  test('RFC 4180 records', () => {
    const quoting = { quoting: 'rfc4180' } as const
    expect(decode('a,"b ""x"", c"\r\n"1\n2",\n', quoting)).toEqual([
      { col0: 'a', col1: 'b "x", c' },
      { col0: '1\n2', col1: '' },
    ])
    expect(decode('aaa,bbb,ccc\nzzz,yyy,xxx', quoting)).toEqual([
      { col0: 'aaa', col1: 'bbb', col2: 'ccc' },
      { col0: 'zzz', col1: 'yyy', col2: 'xxx' },
    ])
    expect(decode('"",""', quoting)).toEqual([{ col0: '', col1: '' }])
    expect(() => decode('a,"b', quoting)).toThrow('quoted cell 2 of record 1 has no end')
    expect(() => decode('a\nb', { ...quoting, maxRows: 1 })).toThrow('limit of 1 rows')
  })

  test('RFC 4180 text reads back as written', () => {
    const cell = fc.string({ unit: fc.constantFrom('a', ',', '"', '\n', '\r', 'é', ' ') })
    fc.assert(
      fc.property(fc.array(fc.array(cell, { minLength: 2, maxLength: 2 }), { minLength: 1, maxLength: 5 }), (cells) => {
        const rows = cells.map(([a, b]) => ({ col0: a, col1: b }) as ValueObject)
        expect(decode(encode(rows, { quoting: 'rfc4180' }) as string, { quoting: 'rfc4180' })).toEqual(rows)
      }),
    )
  })

  test('columns are sorted unless fields order them; values become text', () => {
    expect(encode({ b: 2.5, a: 1n, c: true, d: null, e: { x: [1n] }, f: 1e21 })).toBe(
      '1,2.5,true,,map[x:[1]],1000000000000000000000',
    )
    expect(encode({ a: 1n, b: 2n }, { fields: ['b', 'missing', 'a'], delimiter: ':' })).toBe('2::1')
    expect(encode([{ b: 1n }, { a: 9n, b: 2n }])).toBe('1\n2')
    expect(encode([{ b: 1n, a: 'x' }], { hasHeader: true })).toBe('a,b\nx,1')
    expect(encode([])).toBe('')
    expect(() => encode(null)).toThrow('unsupported type <nil>, must be a map')
  })

  test('a stream fixes its columns with the first row; each payload says them', () => {
    const encoder = delimitedFormat.encoder({ stream: true, hasHeader: true }, noSchemas)
    expect(utf8(encoder.encode({ humidity: 20n, temperature: 1n }))).toBe('humidity,temperature\n20,1')
    expect(utf8(encoder.encode([{ temperature: 30n, extra: 1n }]))).toBe('humidity,temperature\n,30')
  })

  test('a batch is a header and the rows of its items', () => {
    const writer = delimitedFormat.batchWriter({ delimiter: ';' }, noSchemas)
    writer.write({ b: 12n, a: 1n })
    writer.write([{ a: 'a', b: 20n, c: 'hello' }])
    expect(utf8(writer.flush())).toBe('a;b\n1;12\na;20')
    writer.write({ z: 1n })
    expect(utf8(writer.flush())).toBe('z\n1')
  })

  survivesHostileInput(
    'delimited',
    delimitedFormat.decoder({ ...decodeOptions, quoting: 'rfc4180' }, noSchemas),
    encodeUtf8('a,"b ""x"", c"\r\n"1\n2",'),
  )
})

describe('binary', () => {
  test('passes bytes through in self', () => {
    const bytes = new Uint8Array([0, 255, 127])
    const rows = binaryFormat.decoder(decodeOptions, noSchemas).decode(bytes)
    expect(rows).toEqual([{ self: bytes }])
    const encoder = binaryFormat.encoder({}, noSchemas)
    expect(encoder.encode(rows[0] as Value)).toEqual(bytes)
    expect(encoder.encode({ self: 'AP9/' })).toEqual(bytes)
    expect(() => encoder.encode({ a: 1n })).toThrow('field self not exist')
    expect(() => encoder.encode({ self: 23n })).toThrow('cannot convert int64(23) to bytea')
    expect(() => encoder.encode([{ self: bytes }])).toThrow('must be a map')
  })

  test('a batch is the bytes one after the other', () => {
    const writer = binaryFormat.batchWriter({}, noSchemas)
    writer.write({ self: 'AQ==' })
    writer.write({ self: 'AgM=' })
    expect([writer.count, [...writer.flush()], writer.count]).toEqual([2, [1, 2, 3], 0])
  })
})

describe('urlencoded', () => {
  const decoder = urlencodedFormat.decoder(decodeOptions, noSchemas)
  const decode = (text: string) => decoder.decode(encodeUtf8(text))[0]
  const encode = (value: Value) => utf8(urlencodedFormat.encoder({}, noSchemas).encode(value))

  test('reads single and repeated keys', () => {
    expect(decode('a=1&b=x+y%C3%A9&a=2&c&&=e')).toEqual({ a: ['1', '2'], b: 'x yé', c: '', '': 'e' })
    expect(decode('')).toEqual({})
    expect(Object.keys(decode('__proto__=1&constructor=2') ?? {})).toEqual(['__proto__', 'constructor'])
    expect(() => decode('a=%zz')).toThrow('fail to parse url encoded value a=%zz')
    expect(() => decode('a=1;b=2')).toThrow('fail to parse url encoded value')
  })

  test('writes sorted keys with the escaping of Go', () => {
    expect(encode({ b: '*~ é', a: [1n, 2.5, null] })).toBe('a=1&a=2.5&a=&b=%2A~+%C3%A9')
    expect(() => encode([{ a: 1n }])).toThrow('unsupported type [map[a:1]], must be a map')
  })

  test('reads back what it writes', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), { noNullPrototype: true }),
        (row) => {
          expect(decode(encode(row) as string)).toEqual(row)
        },
      ),
    )
    expect(escapeQuery('\ud800')).toBe('%EF%BF%BD')
  })

  survivesHostileInput('urlencoded', decoder, encodeUtf8('a=1&b=%C3%A9&a=2'))
})
