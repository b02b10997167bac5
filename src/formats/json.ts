/** The json format (spec/connectors.md 12.1, spec/sql.md 2.1, 2.2, 8.6, 8.7). */
import { toBytea } from '../core/cast.ts'
import { RowError } from '../core/errors.ts'
import { parseGoBool } from '../core/go-number.ts'
import { floatText, goQuote } from '../core/go-text.ts'
import { decodeJsonText } from '../core/json-decode.ts'
import { encodeJsonText } from '../core/json-encode.ts'
import { decodeUtf8, encodeUtf8 } from '../core/utf8.ts'
import { copyFields, getField, isObject, setField, type Value, type ValueObject } from '../core/values.ts'
import type { BatchWriter, ColumnType, DecodeOptions, Decoder, FormatDefinition } from './contract.ts'
import { checkRows, checkSize } from './limits.ts'

export { decodeJsonText, encodeJsonText }

/** {@link encodeJsonText} as UTF-8. Throws RowError ENCODE or LIMIT. */
export function encodeJson(value: Value): Uint8Array {
  return encodeUtf8(encodeJsonText(value))
}

/** A member's value as its column declares it; throws RowError DECODE. `name` is for messages. */
type Convert = (value: Value, name: string) => Value

const untyped: Convert = (value) => value

const jsonTypes: Record<string, string> = { string: 'string', number: 'number', bigint: 'number' }

function jsonTypeOf(value: Value): string {
  if (value === null || typeof value === 'boolean') return String(value)
  return jsonTypes[typeof value] ?? (Array.isArray(value) ? 'array' : 'object')
}

function wrongType(value: Value, name: string, expected: string): RowError {
  return new RowError(`${name} has wrong type:${jsonTypeOf(value)}, expect:${expected}`, 'DECODE')
}

function toInt64(value: number | bigint): bigint {
  if (typeof value === 'number' && !Number.isInteger(value)) {
    throw new RowError(`cannot parse ${value} as bigint: it has a fraction`, 'DECODE')
  }
  const whole = BigInt(value)
  if (BigInt.asIntN(64, whole) !== whole) throw new RowError(`cannot parse ${whole} as bigint: out of range`, 'DECODE')
  return whole
}

const isNumber = (value: Value): value is number | bigint => typeof value === 'number' || typeof value === 'bigint'

/** The conversions of spec/sql.md 2.2; null passes before they are asked. */
function converterOf(type: ColumnType): Convert {
  switch (type.kind) {
    case 'any':
      return untyped
    case 'bigint':
      return (value, name) => {
        if (isNumber(value)) return toInt64(value)
        throw wrongType(value, name, 'bigint')
      }
    case 'float':
      return (value, name) => {
        if (isNumber(value)) return Number(value)
        throw wrongType(value, name, 'float')
      }
    case 'datetime':
      return (value, name) => {
        if (isNumber(value)) return Number(value)
        if (typeof value === 'string') return value
        throw wrongType(value, name, 'datetime')
      }
    case 'string':
      return (value, name) => {
        if (typeof value === 'string') return value
        if (typeof value === 'number') return floatText(value)
        // Beyond a double's digits the text stays exact, where the reference rounds.
        if (typeof value === 'bigint') return String(value)
        throw wrongType(value, name, 'string')
      }
    case 'boolean':
      return (value, name) => {
        if (typeof value === 'boolean') return value
        if (isNumber(value)) return Number(value) !== 0
        if (typeof value !== 'string') throw wrongType(value, name, 'boolean')
        const word = parseGoBool(value)
        if (word !== undefined) return word
        throw new RowError(`strconv.ParseBool: parsing ${goQuote(value)}: invalid syntax`, 'DECODE')
      }
    case 'bytea':
      return (value, name) => {
        if (typeof value !== 'string') throw wrongType(value, name, 'bytea')
        return toBytea(value, 'sameKind')
      }
    case 'array': {
      const element = converterOf(type.element)
      return (value, name) => {
        if (!Array.isArray(value)) throw wrongType(value, name, 'array')
        if (element === untyped) return value
        return value.map((item) => (item === null ? null : element(item, 'array')))
      }
    }
    case 'struct': {
      const names = Object.keys(type.fields)
      if (names.length === 0) {
        return (value, name) => {
          if (isObject(value)) return value
          throw wrongType(value, name, 'struct')
        }
      }
      const members = new Map(names.map((n) => [n, converterOf(type.fields[n] as ColumnType)]))
      return (value, name) => {
        if (isObject(value)) return pick(value, members)
        throw wrongType(value, name, 'struct')
      }
    }
  }
}

/** The wanted members, converted; others are dropped, but a null stays (spec/sql.md 2.2). */
function pick(object: ValueObject, wanted: ReadonlyMap<string, Convert>): ValueObject {
  const result: ValueObject = {}
  for (const key of Object.keys(object)) {
    const value = object[key] as Value
    if (value === null) {
      setField(result, key, null)
      continue
    }
    const convert = wanted.get(key)
    if (convert !== undefined) setField(result, key, convert(value, key))
  }
  return result
}

/** Lower-case name -> the columns of that name. */
function foldedNames(columns: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const named = new Map<string, string[]>()
  for (const column of columns) {
    const key = column.toLowerCase()
    named.set(key, [...(named.get(key) ?? []), column])
  }
  return named
}

/** Members under the names of their columns; a member that has the very name of a column is that column. */
function renamed(object: ValueObject, named: ReadonlyMap<string, readonly string[]>): ValueObject {
  const result = copyFields({}, object)
  for (const key of Object.keys(object)) {
    for (const column of named.get(key.toLowerCase()) ?? []) {
      if (getField(result, column) === undefined) setField(result, column, object[key] as Value)
    }
  }
  return result
}

function decoder(options: DecodeOptions): Decoder {
  const wanted = options.columns && new Map([...options.columns].map(([name, type]) => [name, converterOf(type)]))
  const named = wanted && options.ignoreCase ? foldedNames([...wanted.keys()]) : null
  const row = (value: ValueObject): ValueObject =>
    wanted ? pick(named ? renamed(value, named) : value, wanted) : value
  return {
    decode: (payload) => {
      checkSize(payload, options)
      const value = decodeJsonText(decodeUtf8(payload), options)
      if (Array.isArray(value)) {
        checkRows(value.length, options)
        return value.map((item) => {
          if (isObject(item)) return row(item)
          throw new RowError(`value doesn't contain object; it contains ${jsonTypeOf(item)}`, 'DECODE')
        })
      }
      if (isObject(value)) return [row(value)]
      throw new RowError('only map[string]interface{} and []map[string]interface{} is supported', 'DECODE')
    },
  }
}

/**
 * One member of a payload without decoding the rest into a row, for merging by key: a number, a boolean, or text with its
 * JSON quotes (as eKuiper: spec/connectors.md 12.1); null when the payload is not an object, the member is absent or nested.
 */
export function decodeField(payload: Uint8Array, field: string, options: DecodeOptions): Value {
  checkSize(payload, options)
  const value = decodeJsonText(decodeUtf8(payload), options)
  const member = isObject(value) ? getField(value, field) : undefined
  if (typeof member === 'string') return encodeJsonText(member)
  return member === undefined || (member !== null && typeof member === 'object') ? null : member
}

/** Items as the elements of one JSON array. */
function batchWriter(): BatchWriter {
  let items: string[] = []
  return {
    write: (value) => void items.push(encodeJsonText(value)),
    flush: () => {
      const batch = encodeUtf8(`[${items.join(',')}]`)
      items = []
      return batch
    },
    get count() {
      return items.length
    },
  }
}

export const jsonFormat: FormatDefinition = {
  name: 'json',
  docs: 'JSON text (RFC 8259): one object, or an array of objects that gives one row each.',
  schemaless: true,
  decoder,
  encoder: () => ({ encode: encodeJson }),
  batchWriter,
}
