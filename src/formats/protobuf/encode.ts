/** A row -> protobuf wire bytes, by the plan of its message (spec/connectors.md 12.5). */
import { toBool, toBytes, toFloat64, toInt64, toText, toUint64 } from '../../core/cast.ts'
import { messageOf, RowError } from '../../core/errors.ts'
import { goText } from '../../core/go-text.ts'
import { compareText } from '../../core/text-order.ts'
import { getField, goTypeName, isObject, type Value, type ValueObject } from '../../core/values.ts'
import { concatBytes } from '../join-writer.ts'
import type { FieldPlan, MessagePlan, ScalarKind } from './schema.ts'

/** Deepest nesting of messages. */
const MAX_DEPTH = 200

/**
 * Members without a field are ignored; absent and null ones are left out, unless required. Throws RowError ENCODE.
 */
export function encodeMessage(plan: MessagePlan, row: ValueObject, depth = MAX_DEPTH): Uint8Array {
  if (depth === 0) throw new RowError(`message ${plan.name} is nested deeper than ${MAX_DEPTH} levels`, 'LIMIT')
  const parts: Uint8Array[] = []
  const chosen = new Map<number, Uint8Array[]>()
  for (const field of plan.fields) {
    const value = getField(row, field.name)
    if (value === undefined || value === null) {
      if (field.required) throw new RowError(`field ${field.name} not found`, 'ENCODE')
      continue
    }
    // The last member of a oneof wins.
    if (field.rivals) for (const other of plan.fields) if (field.rivals.includes(other.name)) chosen.delete(other.id)
    chosen.set(field.id, encodeField(field, value, depth))
  }
  for (const id of [...chosen.keys()].sort((a, b) => a - b)) parts.push(...(chosen.get(id) as Uint8Array[]))
  return concatBytes(parts)
}

function encodeField(field: FieldPlan, value: Value, depth: number): Uint8Array[] {
  if (field.mapKey) return encodeMap(field, value, depth)
  if (!field.repeated) {
    const bytes = encodeItem(field, value, depth)
    return field.presence || bytes.some((byte) => byte !== 0) || !isZeroForm(field.kind, bytes)
      ? framed(field, bytes)
      : []
  }
  if (!Array.isArray(value)) {
    throw new RowError(`failed to encode field '${field.name}':cannot convert ${typedText(value)} to slice`, 'ENCODE')
  }
  const items = value.map((item) => encodeItem(field, item, depth))
  if (!field.packed) return items.flatMap((item) => framed(field, item))
  if (items.length === 0) return []
  const body = concatBytes(items)
  return [tag(field.id, 2), varint(BigInt(body.length)), body]
}

/** An implicit-presence field is left out at zero: text and bytes when empty, numbers when all bits are zero. */
const isZeroForm = (kind: FieldPlan['kind'], bytes: Uint8Array): boolean =>
  kind === 'string' || kind === 'bytes' ? bytes.length === 0 : kind !== 'message'

const typedText = (value: Value): string => `${goTypeName(value)}(${goText(value)})`

function encodeItem(field: FieldPlan, value: Value, depth: number): Uint8Array {
  if (field.kind !== 'message') return encodeScalar(field, field.kind, value)
  const plan = field.message as MessagePlan
  if (isObject(value)) return encodeMessage(plan, value, depth - 1)
  // A wrapper message also takes its bare value, as it is decoded.
  if (plan.wrapper) return encodeMessage(plan, { value }, depth - 1)
  throw new RowError(
    `invalid type for map type field '${field.name}': cannot convert ${typedText(value)} to map`,
    'ENCODE',
  )
}

/** Tag, length where the wire type has one, and the bytes. */
function framed(field: FieldPlan, bytes: Uint8Array): Uint8Array[] {
  switch (field.kind) {
    case 'message':
      if (field.group) return [tag(field.id, 3), bytes, tag(field.id, 4)]
      return [tag(field.id, 2), varint(BigInt(bytes.length)), bytes]
    case 'string':
    case 'bytes':
      return [tag(field.id, 2), varint(BigInt(bytes.length)), bytes]
    default:
      return [tag(field.id, wireType(field.kind)), bytes]
  }
}

function wireType(kind: ScalarKind): number {
  switch (kind) {
    case 'double':
    case 'fixed64':
    case 'sfixed64':
      return 1
    case 'float':
    case 'fixed32':
    case 'sfixed32':
      return 5
    case 'string':
    case 'bytes':
      return 2
    default:
      return 0
  }
}

function encodeMap(field: FieldPlan, value: Value, depth: number): Uint8Array[] {
  if (!isObject(value)) {
    throw new RowError(
      `invalid type for map type field '${field.name}': cannot convert ${typedText(value)} to map`,
      'ENCODE',
    )
  }
  const key: FieldPlan = { ...field, id: 1, kind: field.mapKey as ScalarKind, mapKey: null, message: null }
  const item: FieldPlan = { ...field, id: 2, mapKey: null }
  return Object.keys(value)
    .sort(compareText)
    .flatMap((name) => {
      const member = value[name] as Value
      const parts = framed(key, encodeScalar(field, key.kind as ScalarKind, mapKey(field, name)))
      if (member !== null) parts.push(...framed(item, encodeItem(item, member, depth)))
      const body = concatBytes(parts)
      return [tag(field.id, 2), varint(BigInt(body.length)), body]
    })
}

/** A member's name as the map's key kind. */
function mapKey(field: FieldPlan, name: string): Value {
  if (field.mapKey === 'string') return name
  if (field.mapKey === 'bool' && (name === 'true' || name === 'false')) return name === 'true'
  if (field.mapKey !== 'bool' && /^-?\d{1,20}$/.test(name)) return BigInt(name)
  throw new RowError(`invalid key '${name}' in map field '${field.name}': expected ${field.mapKey}`, 'ENCODE')
}

function encodeScalar(field: FieldPlan, kind: ScalarKind, value: Value): Uint8Array {
  const convert = <T>(word: string, cast: () => T): T => {
    try {
      return cast()
    } catch (error) {
      const text = `invalid type for ${word} type field '${field.name}': ${messageOf(error)}`
      throw new RowError(field.repeated ? `failed to encode field '${field.name}':${messageOf(error)}` : text, 'ENCODE')
    }
  }
  const integer = (bits: 32 | 64, word: 'int' | 'uint'): bigint => {
    const whole = convert(word, () =>
      word === 'uint' ? toUint64(value, 'sameKind') : toInt64(value, 'sameKind', bits === 32 ? 'int' : 'int64'),
    )
    const fits = word === 'uint' ? BigInt.asUintN(bits, whole) : BigInt.asIntN(bits, whole)
    if (fits === whole) return whole
    throw new RowError(`value ${whole} of field '${field.name}' is out of ${word}${bits} range`, 'ENCODE')
  }
  const fixed = (size: 4 | 8, write: (view: DataView) => void): Uint8Array => {
    const bytes = new Uint8Array(size)
    write(new DataView(bytes.buffer))
    return bytes
  }
  switch (kind) {
    case 'double': {
      const number = convert('float', () => toFloat64(value, 'sameKind'))
      return fixed(8, (view) => view.setFloat64(0, number, true))
    }
    case 'float': {
      const number = convert('float', () => toFloat64(value, 'sameKind'))
      return fixed(4, (view) => view.setFloat32(0, number, true))
    }
    case 'fixed32': {
      const number = Number(integer(32, 'uint'))
      return fixed(4, (view) => view.setUint32(0, number, true))
    }
    case 'sfixed32': {
      const number = Number(integer(32, 'int'))
      return fixed(4, (view) => view.setInt32(0, number, true))
    }
    case 'fixed64': {
      const number = integer(64, 'uint')
      return fixed(8, (view) => view.setBigUint64(0, number, true))
    }
    case 'sfixed64': {
      const number = integer(64, 'int')
      return fixed(8, (view) => view.setBigInt64(0, number, true))
    }
    case 'enum': {
      const number = typeof value === 'string' ? field.numbers?.get(value) : undefined
      return varint(number === undefined ? integer(32, 'int') : BigInt(number))
    }
    case 'int32':
      return varint(integer(32, 'int'))
    case 'int64':
      return varint(integer(64, 'int'))
    case 'uint32':
      return varint(integer(32, 'uint'))
    case 'uint64':
      return varint(integer(64, 'uint'))
    case 'sint32':
    case 'sint64': {
      const number = integer(kind === 'sint32' ? 32 : 64, 'int')
      return varint((number << 1n) ^ (number >> 63n))
    }
    case 'bool':
      return varint(convert('bool', () => toBool(value, 'sameKind')) ? 1n : 0n)
    case 'string':
      return toBytes(
        convert('string', () => toText(value, 'sameKind')),
        'sameKind',
      )
    case 'bytes':
      return convert('bytes', () => toBytes(value, 'sameKind'))
  }
}

function varint(value: bigint): Uint8Array {
  let rest = BigInt.asUintN(64, value)
  const out: number[] = []
  while (rest > 0x7fn) {
    out.push(Number(rest & 0x7fn) | 0x80)
    rest >>= 7n
  }
  out.push(Number(rest))
  return Uint8Array.from(out)
}

const tag = (id: number, wire: number): Uint8Array => varint(BigInt(id) * 8n + BigInt(wire))
