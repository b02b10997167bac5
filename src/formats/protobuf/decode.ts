/** Protobuf wire bytes -> a row, by the plan of its message (spec/connectors.md 12.5). */
import { decodeBase64 } from '../../core/base64.ts'
import { RowError } from '../../core/errors.ts'
import { decodeUtf8, encodeUtf8 } from '../../core/utf8.ts'
import { getField, setField, type Value, type ValueObject } from '../../core/values.ts'
import type { FieldPlan, MessagePlan, ScalarKind } from './schema.ts'

/** Values a payload may give, defaults included, as two bytes can announce a message of a hundred defaults: some, and more by size. */
const SPARE_VALUES = 100_000
const VALUES_PER_BYTE = 4

interface Reader {
  readonly bytes: Uint8Array
  readonly view: DataView
  at: number
  end: number
  readonly name: string
  /** How many more values may come. */
  values: number
}

function fail(reader: Reader, problem: string): RowError {
  return new RowError(`cannot parse protobuf ${reader.name}: ${problem} at byte ${reader.at}`, 'DECODE')
}

/** `wanted`: names of the fields to keep, null = all. Throws RowError DECODE or LIMIT. */
export function decodeMessage(
  plan: MessagePlan,
  bytes: Uint8Array,
  wanted: ReadonlySet<string> | null,
  maxDepth: number,
): ValueObject {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const reader: Reader = {
    bytes,
    view,
    at: 0,
    end: bytes.length,
    name: plan.name,
    values: SPARE_VALUES + VALUES_PER_BYTE * bytes.length,
  }
  const row: ValueObject = {}
  readFields(plan, reader, row, wanted, maxDepth, 0)
  return row
}

function readVarint(reader: Reader): bigint {
  let low = 0
  for (let shift = 0; shift < 28; shift += 7) {
    const byte = readByte(reader)
    low |= (byte & 0x7f) << shift
    if (byte < 0x80) return BigInt(low)
  }
  let value = BigInt(low)
  for (let shift = 28n; shift < 70n; shift += 7n) {
    const byte = readByte(reader)
    value |= BigInt(byte & 0x7f) << shift
    if (byte < 0x80) return BigInt.asUintN(64, value)
  }
  throw fail(reader, 'varint longer than 10 bytes')
}

function readByte(reader: Reader): number {
  if (reader.at >= reader.end) throw fail(reader, 'payload ends too early')
  return reader.bytes[reader.at++] as number
}

function take(reader: Reader, length: number): number {
  const from = reader.at
  if (!(length <= reader.end - from)) throw fail(reader, 'payload ends too early')
  reader.at += length
  return from
}

function readLength(reader: Reader): number {
  return Number(readVarint(reader))
}

const signed = (value: bigint): bigint => (value >> 1n) ^ -(value & 1n)

function readScalar(kind: ScalarKind, reader: Reader): Value {
  switch (kind) {
    case 'double':
      return reader.view.getFloat64(take(reader, 8), true)
    case 'float':
      return reader.view.getFloat32(take(reader, 4), true)
    case 'fixed32':
      return BigInt(reader.view.getUint32(take(reader, 4), true))
    case 'sfixed32':
      return BigInt(reader.view.getInt32(take(reader, 4), true))
    case 'fixed64':
      return reader.view.getBigUint64(take(reader, 8), true)
    case 'sfixed64':
      return reader.view.getBigInt64(take(reader, 8), true)
    case 'int32':
    case 'enum':
      return BigInt.asIntN(32, readVarint(reader))
    case 'uint32':
      return BigInt.asUintN(32, readVarint(reader))
    case 'sint32':
      return signed(BigInt.asUintN(32, readVarint(reader)))
    case 'int64':
      return BigInt.asIntN(64, readVarint(reader))
    case 'uint64':
      return readVarint(reader)
    case 'sint64':
      return signed(readVarint(reader))
    case 'bool':
      return readVarint(reader) !== 0n
    case 'string': {
      const length = readLength(reader)
      const from = take(reader, length)
      return decodeUtf8(reader.bytes.subarray(from, from + length))
    }
    case 'bytes': {
      const length = readLength(reader)
      const from = take(reader, length)
      // Not slice: on a Buffer that is a view of the payload, which its owner may reuse.
      return new Uint8Array(reader.bytes.subarray(from, from + length))
    }
  }
}

const wireTypes: Readonly<Record<ScalarKind, number>> = {
  double: 1,
  fixed64: 1,
  sfixed64: 1,
  float: 5,
  fixed32: 5,
  sfixed32: 5,
  string: 2,
  bytes: 2,
  int32: 0,
  uint32: 0,
  sint32: 0,
  int64: 0,
  uint64: 0,
  sint64: 0,
  bool: 0,
  enum: 0,
}

function skip(wire: number, id: number, reader: Reader, depth: number): void {
  switch (wire) {
    case 0:
      readVarint(reader)
      return
    case 1:
      take(reader, 8)
      return
    case 2:
      take(reader, readLength(reader))
      return
    case 5:
      take(reader, 4)
      return
    case 3:
      if (depth === 0) throw new RowError(`cannot parse protobuf ${reader.name}: nested too deep`, 'LIMIT')
      for (;;) {
        const tag = readLength(reader)
        if ((tag & 7) === 4) {
          if (Math.floor(tag / 8) !== id) throw fail(reader, 'group ends that was not opened')
          return
        }
        skip(tag & 7, Math.floor(tag / 8), reader, depth - 1)
      }
    default:
      throw fail(reader, `unknown wire type ${wire}`)
  }
}

/** Reads fields into `row` up to the reader's end, or up to the end of group `group`; then fills in what is unset. */
function readFields(
  plan: MessagePlan,
  reader: Reader,
  row: ValueObject,
  wanted: ReadonlySet<string> | null,
  depth: number,
  group: number,
): void {
  if (depth === 0) throw new RowError(`cannot parse protobuf ${reader.name}: nested too deep`, 'LIMIT')
  const missing = plan.required.length > 0 ? new Set(plan.required) : null
  let closed = group === 0
  while (reader.at < reader.end) {
    const tag = readLength(reader)
    const id = Math.floor(tag / 8)
    const wire = tag & 7
    if (id === 0 || id > 0x1fff_ffff) throw fail(reader, `field number ${id} is invalid`)
    if (wire === 4 && id === group) {
      closed = true
      break
    }
    const field = plan.byId.get(id)
    if (field) missing?.delete(field)
    if (!field || (wanted && !wanted.has(field.name)) || !readField(field, wire, reader, row, depth)) {
      skip(wire, id, reader, depth)
    }
  }
  if (!closed) throw fail(reader, 'payload ends too early')
  if (missing && missing.size > 0) {
    const names = [...missing].map((f) => `${plan.name}.${f.name}`).join(', ')
    throw new RowError(`some required fields missing: ${names}`, 'DECODE')
  }
  for (const field of plan.fields) {
    if (wanted && !wanted.has(field.name)) continue
    count(reader)
    if (field.rivals === null && getField(row, field.name) === undefined) setField(row, field.name, unset(field))
  }
}

function count(reader: Reader): void {
  if (--reader.values < 0) {
    throw new RowError(
      `cannot parse protobuf ${reader.name}: too many values for ${reader.bytes.length} bytes`,
      'LIMIT',
    )
  }
}

/** False when the wire type does not fit the field, which is then skipped like an unknown one. */
function readField(field: FieldPlan, wire: number, reader: Reader, row: ValueObject, depth: number): boolean {
  count(reader)
  if (field.mapKey) {
    if (wire !== 2) return false
    readMapEntry(field, reader, row, depth)
    return true
  }
  if (field.kind === 'message') {
    if (wire !== (field.group ? 3 : 2)) return false
    const old = field.repeated ? undefined : getField(row, field.name)
    store(field, row, readMessage(field, reader, old, depth))
    return true
  }
  const expected = wireTypes[field.kind]
  if (wire === expected) {
    store(field, row, readScalar(field.kind, reader))
    return true
  }
  if (wire !== 2 || !field.repeated) return false
  within(reader, readLength(reader), () => {
    while (reader.at < reader.end) {
      count(reader)
      store(field, row, readScalar(field.kind as ScalarKind, reader))
    }
  })
  return true
}

/** Runs `read` with the reader ending after `length` bytes. */
function within(reader: Reader, length: number, read: () => void): void {
  const { end } = reader
  const from = take(reader, length)
  reader.at = from
  reader.end = from + length
  read()
  reader.at = reader.end
  reader.end = end
}

/** A message given twice is merged into the first. */
function readMessage(field: FieldPlan, reader: Reader, old: Value | undefined, depth: number): Value {
  const plan = field.message as MessagePlan
  const target: ValueObject = old && typeof old === 'object' && !plan.wrapper ? (old as ValueObject) : {}
  if (field.group) readFields(plan, reader, target, null, depth - 1, field.id)
  else within(reader, readLength(reader), () => readFields(plan, reader, target, null, depth - 1, 0))
  return plan.wrapper ? (getField(target, 'value') ?? null) : target
}

function readMapEntry(field: FieldPlan, reader: Reader, row: ValueObject, depth: number): void {
  let map = getField(row, field.name) as ValueObject | undefined
  if (!map) {
    map = {}
    setField(row, field.name, map)
  }
  const target = map
  within(reader, readLength(reader), () => {
    let key = zero(field.mapKey as ScalarKind)
    let value: Value | undefined
    while (reader.at < reader.end) {
      const tag = readLength(reader)
      const wire = tag & 7
      const id = Math.floor(tag / 8)
      if (id === 1 && wire === wireTypes[field.mapKey as ScalarKind])
        key = readScalar(field.mapKey as ScalarKind, reader)
      else if (id === 2 && field.kind === 'message' && wire === 2)
        value = readMessage(field, reader, undefined, depth - 1)
      else if (id === 2 && field.kind !== 'message' && wire === wireTypes[field.kind])
        value = readScalar(field.kind, reader)
      else skip(wire, id, reader, depth)
    }
    setField(target, String(key), value ?? (field.kind === 'message' ? null : zero(field.kind)))
  })
}

function store(field: FieldPlan, row: ValueObject, value: Value): void {
  if (field.repeated) {
    const list = getField(row, field.name) as Value[] | undefined
    if (list) list.push(value)
    else setField(row, field.name, [value])
    return
  }
  if (field.rivals) for (const rival of field.rivals) delete row[rival]
  setField(row, field.name, value)
}

function zero(kind: ScalarKind): Value {
  switch (kind) {
    case 'double':
    case 'float':
      return 0
    case 'bool':
      return false
    case 'string':
      return ''
    case 'bytes':
      return new Uint8Array()
    default:
      return 0n
  }
}

/** What an unset field reads as: an empty list or map, null for a message, else the declared or zero default. */
function unset(field: FieldPlan): Value {
  if (field.mapKey) return {}
  if (field.repeated) return []
  if (field.kind === 'message') return null
  const given = field.defaultValue
  if (given === null) return zero(field.kind)
  switch (field.kind) {
    case 'double':
    case 'float':
      return given === 'inf' ? Infinity : given === '-inf' ? -Infinity : Number(given)
    case 'bool':
      return given === true || given === 'true'
    case 'string':
      return String(given)
    case 'bytes': {
      const bytes = decodeBase64(String(given))
      return typeof bytes === 'number' ? encodeUtf8(String(given)) : bytes
    }
    default:
      return BigInt(given)
  }
}
