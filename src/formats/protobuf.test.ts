import fc from 'fast-check'
import protobuf from 'protobufjs'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Value, ValueObject } from '../core/values.ts'
import type { SchemaSource } from './contract.ts'
import { decodeOptions, survivesHostileInput } from './format.suite.ts'
import { inferColumns, loadMessage, loadProtobuf, protobufFormat } from './protobuf.ts'

const schemaSource = (files: Record<string, string>): SchemaSource => ({
  schemaText: (type, name) => (type === 'protobuf' && Object.hasOwn(files, name) ? files[name] : undefined),
})

const hex = (text: string): Uint8Array => new Uint8Array(Buffer.from(text.replaceAll(' ', ''), 'hex'))
const toHex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

beforeAll(loadProtobuf)

const files = {
  all: `syntax = "proto3";
    package demo;
    import "google/protobuf/wrappers.proto";
    import "google/protobuf/timestamp.proto";
    import "common.proto";
    enum Color { RED = 0; BLUE = 5; }
    message All {
      double d = 1; float f = 2; int32 i32 = 3; int64 i64 = 4; uint32 u32 = 5; uint64 u64 = 6; sint32 s32 = 7;
      sint64 s64 = 8; fixed32 f32 = 9; fixed64 f64 = 10; sfixed32 sf32 = 11; sfixed64 sf64 = 12; bool b = 13;
      string s = 14; bytes y = 15; Color color = 16; repeated int32 list = 17; repeated string names = 18;
      map<string, int32> counts = 19; optional int32 maybe = 20; oneof choice { string left = 21; Inner right = 22; }
      Inner inner = 23; google.protobuf.StringValue wrapped = 24; google.protobuf.Timestamp ts = 25; shared.Point point = 26;
      map<int32, Inner> byId = 27; repeated Inner inners = 28; repeated int32 loose = 29 [packed = false];
      message Inner { int32 x = 1; Inner next = 2; }
    }`,
  common: 'syntax = "proto3"; package shared; message Point { double lat = 1; double lon = 2; }',
  old: `message Old { required string name = 1; optional int32 n = 2 [default = 7]; optional string t = 3 [default = "hi"];
    optional group Part = 4 { optional int32 p = 1; } optional bool yes = 5 [default = true]; optional float inf = 6 [default = inf]; }`,
}
const schemas = schemaSource(files)
const decoder = (id: string, columns: string[] | null = null) =>
  protobufFormat.decoder(
    { ...decodeOptions, schemaId: id, columns: columns && new Map(columns.map((c) => [c, { kind: 'any' } as const])) },
    schemas,
  )
const decode = (id: string, bytes: Uint8Array): ValueObject => decoder(id).decode(bytes)[0] as ValueObject
const encode = (id: string, value: Value): Uint8Array => protobufFormat.encoder({ schemaId: id }, schemas).encode(value)

const root = new protobuf.Root()
for (const file of ['google/protobuf/wrappers.proto', 'google/protobuf/timestamp.proto']) {
  root.addJSON(protobuf.common.get(file)?.nested ?? {})
}
protobuf.parse(files.common, root, { keepCase: true })
protobuf.parse(files.all, root, { keepCase: true })
const reference = root.lookupType('demo.All')

/** Rows as this codec sees them, and the same as the other implementation takes them. */
const int = (bits: number) => fc.bigInt({ min: -(2n ** BigInt(bits - 1)), max: 2n ** BigInt(bits - 1) - 1n })
const uint = (bits: number) => fc.bigInt({ min: 0n, max: 2n ** BigInt(bits) - 1n })
const number = fc.double({ noNaN: true }).filter((n) => !Object.is(n, -0))
const text = fc.string({ unit: 'binary' })
const row = fc.record({
  d: number,
  f: fc.float({ noNaN: true }).filter((n) => !Object.is(n, -0)),
  i32: int(32),
  i64: int(64),
  u32: uint(32),
  u64: uint(64),
  s32: int(32),
  s64: int(64),
  f32: uint(32),
  f64: uint(64),
  sf32: int(32),
  sf64: int(64),
  b: fc.boolean(),
  s: text,
  y: fc.uint8Array(),
  color: fc.constantFrom(0n, 5n),
  list: fc.array(int(32), { maxLength: 4 }),
  names: fc.array(text, { maxLength: 3 }),
  counts: fc.dictionary(fc.string(), int(32), { maxKeys: 3, noNullPrototype: true }),
  inner: fc.record({ x: int(32), next: fc.constant(null) }),
  point: fc.record({ lat: number, lon: number }),
  loose: fc.array(int(32), { maxLength: 3 }),
})

/** bigint -> what protobufjs takes: numbers, or Long-like text through fromObject. */
function foreign(value: Value): unknown {
  if (typeof value === 'bigint') return String(value)
  if (value instanceof Uint8Array || value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) return value.map(foreign)
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, v]) => v !== null)
      .map(([k, v]) => [k, foreign(v)]),
  )
}

const runs = { numRuns: 30 }

describe('protobuf against another implementation', () => {
  test('decodes what it encodes', () => {
    fc.assert(
      fc.property(row, (given) => {
        const bytes = reference
          .encode(
            reference.fromObject({ ...(foreign(given as unknown as Value) as object), color: Number(given.color) }),
          )
          .finish()
        expect(decode('all.demo.All', bytes)).toEqual({ ...given, byId: {}, inners: [], ts: null, wrapped: null })
      }),
      runs,
    )
  })

  test('encodes what it decodes', () => {
    fc.assert(
      fc.property(row, (given) => {
        const read = reference.toObject(reference.decode(encode('all.All', given as unknown as Value)), {
          longs: String,
          defaults: true,
          arrays: true,
          objects: true,
        })
        for (const [key, value] of Object.entries(foreign(given as unknown as Value) as object)) {
          const found = read[key]
          if (value instanceof Uint8Array) expect([...found]).toEqual([...value])
          else if (key === 'inner') expect(String(found.x)).toBe(value.x)
          else if (typeof value === 'string') expect(String(found)).toBe(value)
          else if (Array.isArray(value)) expect(found.map(String)).toEqual(value)
          else if (key === 'counts')
            expect(Object.fromEntries(Object.entries(found).map(([k, v]) => [k, String(v)]))).toEqual(value)
          else expect(found).toEqual(value)
        }
      }),
      runs,
    )
  })

  test('reads back its own rows, integers exact', () => {
    fc.assert(
      fc.property(row, (given) => {
        expect(decode('all.All', encode('all.All', given as unknown as Value))).toMatchObject(given)
      }),
      runs,
    )
  })
})

describe('protobuf by hand-made bytes', () => {
  test('absent members: proto3 defaults, null messages, no oneof or optional', () => {
    const empty = decode('all.All', new Uint8Array())
    expect(empty).toMatchObject({ d: 0, i64: 0n, b: false, s: '', color: 0n, list: [], counts: {}, inner: null })
    expect(Object.keys(empty)).not.toEqual(expect.arrayContaining(['maybe']))
    for (const name of ['maybe', 'left', 'right']) expect(Object.hasOwn(empty, name)).toBe(false)
  })

  test('proto2 defaults, groups and required fields', () => {
    expect(decode('old.Old', hex('0a0178 23 0805 24'))).toEqual({
      name: 'x',
      n: 7n,
      t: 'hi',
      part: { p: 5n },
      yes: true,
      inf: Infinity,
    })
    expect(() => decode('old.Old', hex(''))).toThrow('some required fields missing: Old.name')
    expect(() => encode('old.Old', { n: 1n })).toThrow('field name not found')
    expect(toHex(encode('old.Old', { name: 'x', n: 0n, part: { p: 5n } }))).toBe('0a017810002308 0524'.replace(' ', ''))
  })

  test('the last member of a oneof wins', () => {
    expect(decode('all.All', hex('aa01 01 61 b201 02 0803'))).toMatchObject({ right: { x: 3n } })
    expect(Object.hasOwn(decode('all.All', hex('aa01 01 61 b201 02 0803')), 'left')).toBe(false)
    expect(toHex(encode('all.All', { left: 'a', right: { x: 3n } }))).toBe('b201020803')
  })

  test('wrappers are bare values, maps objects, repeated fields packed or not', () => {
    expect(decode('all.All', hex('c201 03 0a0161'))).toMatchObject({ wrapped: 'a' })
    expect(toHex(encode('all.All', { wrapped: 'a' }))).toBe('c201030a0161')
    expect(decode('all.All', hex('8a01 02 0102 8801 03'))).toMatchObject({ list: [1n, 2n, 3n] })
    expect(decode('all.All', hex('da01 08 08ffffffff0f 1200'))).toMatchObject({ byId: { '-1': { x: 0n, next: null } } })
    expect(encode('all.All', { byId: { '-1': {} } }).length).toBeGreaterThan(0)
    expect(decode('all.All', encode('all.All', { byId: { '-1': { x: 2n } } }))).toMatchObject({
      byId: { '-1': { x: 2n } },
    })
    expect(toHex(encode('all.All', { list: [1n, 2n] }))).toBe('8a01020102')
    expect(toHex(encode('all.All', { loose: [1n, 2n] }))).toBe('e80101e80102')
  })

  test('unknown fields and foreign wire types are skipped; a message given twice is merged', () => {
    expect(decode('all.All', hex('f806 01 0a 00 ba01 02 0803 ba01 04 1202 0804'))).toMatchObject({
      d: 0,
      inner: { x: 3n, next: { x: 4n } },
    })
  })

  test('uint64 keeps all its values', () => {
    expect(decode('all.All', hex('30 ffffffffffffffffff01'))).toMatchObject({ u64: 18446744073709551615n })
  })

  test('keys of Object.prototype are data in maps', () => {
    const value = decode('all.All', hex('9a01 0d 0a09 5f5f70726f746f5f5f 1005'))
    expect(Object.entries(value.counts as object)).toEqual([['__proto__', 5n]])
  })

  test('only wanted columns are decoded', () => {
    const bytes = hex('1803 7201 61 ba01 02 0803')
    expect(decoder('all.All', ['s', 'inner']).decode(bytes)).toEqual([{ s: 'a', inner: { x: 3n, next: null } }])
  })

  test('a row that does not fit says which field', () => {
    expect(() => encode('all.All', [])).toThrow('unsupported type [], must be a map')
    expect(() => encode('all.All', { i32: 'x' })).toThrow(
      "invalid type for int type field 'i32': cannot convert string(x) to int",
    )
    expect(() => encode('all.All', { i32: 2n ** 31n })).toThrow("value 2147483648 of field 'i32' is out of int32 range")
    expect(() => encode('all.All', { inner: 1n })).toThrow(
      "invalid type for map type field 'inner': cannot convert int64(1) to map",
    )
    expect(() => encode('all.All', { byId: { x: {} } })).toThrow("invalid key 'x' in map field 'byId'")
    expect(toHex(encode('all.All', { i32: 3.9, s: null, unknown: 1n, color: 'BLUE', y: 'é' }))).toBe(
      '18037a02c3a9800105',
    )
  })

  test('deep nesting and floods of defaults end in a LIMIT error', () => {
    let bytes = new Uint8Array()
    for (let i = 0; i < 2000; i++) {
      const size: number[] = []
      for (let n = bytes.length; ; n >>= 7) {
        size.push(n > 127 ? (n & 127) | 128 : n)
        if (n <= 127) break
      }
      bytes = Uint8Array.from([0x12, ...size, ...bytes])
    }
    const payload = Uint8Array.from([0xba, 0x01, ...varint(bytes.length), ...bytes])
    expect(() => decode('all.All', payload)).toThrow('nested too deep')
    const flood = new Uint8Array(60_000)
    for (let i = 0; i < flood.length; i += 3) flood.set([0xe2, 0x01, 0x00], i)
    expect(() => decode('all.All', flood)).not.toThrow()
    const wide = schemaSource({
      w: `syntax = "proto3"; message W { repeated W w = 1; ${Array.from({ length: 200 }, (_, i) => `int32 f${i} = ${i + 2};`).join('')} }`,
    })
    const lots = new Uint8Array(20_000)
    for (let i = 0; i < lots.length; i += 2) lots.set([0x0a, 0x00], i)
    expect(() => protobufFormat.decoder({ ...decodeOptions, schemaId: 'w.W' }, wide).decode(lots)).toThrow(
      'too many values for 20000 bytes',
    )
  })
})

function varint(n: number): number[] {
  return n > 127 ? [(n & 127) | 128, ...varint(n >>> 7)] : [n]
}

describe('protobuf schemas', () => {
  test('errors name what is missing', () => {
    expect(() => loadMessage('none.X', schemas)).toThrow('schema type protobuf id none not found in registry')
    expect(() => loadMessage('all.X', schemas)).toThrow('message type X not found in schema path all')
    expect(() => loadMessage('bad.X', schemaSource({ bad: 'message {' }))).toThrow('parse schema file(s) bad failed')
    expect(() => loadMessage('a.X', schemaSource({ a: 'import "b.proto"; message X {}' }))).toThrow(
      'import b.proto is not a registered schema',
    )
  })

  test('imports may form a circle and lie in the folder of the schema', () => {
    const circle = schemaSource({
      a: 'syntax="proto3"; import "b.proto"; message X { Y y = 1; }',
      b: 'syntax="proto3"; import "a.proto"; message Y { int32 n = 1; }',
      m: 'syntax="proto3"; import "part.proto"; message M { P p = 1; }',
      'm/part': 'syntax="proto3"; message P { int32 n = 1; }',
    })
    expect(loadMessage('a.X', circle).fields[0]?.message?.name).toBe('Y')
    expect(loadMessage('m.M', circle).fields[0]?.message?.name).toBe('P')
  })

  test('hostile schema text ends in an error', () => {
    expect(() => loadMessage('d.X', schemaSource({ d: 'message X {'.repeat(20_000) }))).toThrow()
    expect(() => loadMessage('d.X', schemaSource({ d: `message X { int32 __proto__ = 1; }` }))).not.toThrow(TypeError)
  })

  test('columns are inferred', () => {
    const columns = inferColumns(loadMessage('all.All', schemas))
    expect(columns.get('u64')).toEqual({ kind: 'bigint' })
    expect(columns.get('names')).toEqual({ kind: 'array', element: { kind: 'string' } })
    expect(columns.get('point')).toEqual({ kind: 'struct', fields: { lat: { kind: 'float' }, lon: { kind: 'float' } } })
    expect(columns.get('wrapped')).toEqual({ kind: 'string' })
    expect(columns.get('counts')).toEqual({ kind: 'any' })
  })
})

describe('protobuf hostile payloads', () => {
  survivesHostileInput(
    'protobuf',
    { decode: (payload) => decoder('all.All').decode(payload) },
    hex('090000000000000840 1803 7201 61 ba01 02 0803 8a01 02 0102 9a01 05 0a0161 1005 c201 03 0a0161'),
  )
})
