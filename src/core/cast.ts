/**
 * Conversions between kinds (spec/sql.md 2.9, spec/functions.md "Engine rules" 7), with the reference's messages.
 * Every function throws RowError and nothing else.
 */
import { decodeBase64 } from './base64.ts'
import { RowError } from './errors.ts'
import { parseGoBool, parseGoFloat, parseGoInt, parseGoUint, truncateToInt64 } from './go-number.ts'
import { floatPlain, goQuote, goText } from './go-text.ts'
import { parseTime, type TimeContext } from './time-parse.ts'
import { decodeUtf8, encodeUtf8 } from './utf8.ts'
import { goTypeName, Instant, type Value } from './values.ts'

/**
 * How far a conversion may go. strict: the same kind, or a float that is integral as an integer. sameKind: also between
 * number kinds (floats are truncated) and between text and bytes. all: also from text, booleans and null.
 */
export type CastMode = 'strict' | 'sameKind' | 'all'

function cannot(value: Value, target: string, note = ''): RowError {
  return new RowError(`cannot convert ${goTypeName(value)}(${goText(value)}) to ${target}${note}`)
}

/** To int64. `target` is the word in the message: the SQL functions say `int` where the decoder says `int64`. */
export function toInt64(value: Value, mode: CastMode, target: 'int64' | 'int' = 'int64'): bigint {
  switch (typeof value) {
    case 'bigint':
      return value
    case 'number':
      if (mode !== 'strict') return truncateToInt64(value)
      if (value === Math.trunc(value) && value >= -(2 ** 63) && value < 2 ** 63) return BigInt(value)
      break
    case 'string':
      if (mode === 'all') {
        const parsed = parseGoInt(value, 0)
        if (typeof parsed === 'bigint') return parsed
      }
      break
    case 'boolean':
      if (mode === 'all') return value ? 1n : 0n
      break
    default:
      if (value === null && mode === 'all') return 0n
  }
  throw cannot(value, target)
}

/** The same with `to int` in the message (function arguments, cast to bigint). */
export function toInt(value: Value, mode: CastMode): bigint {
  return toInt64(value, mode, 'int')
}

/** To an unsigned 64-bit integer: negative numbers are refused. */
export function toUint64(value: Value, mode: CastMode): bigint {
  if (typeof value === 'string') {
    const parsed = mode === 'all' ? parseGoUint(value, 0) : 'syntax'
    if (typeof parsed === 'bigint') return parsed
    throw cannot(value, 'uint')
  }
  if ((typeof value === 'bigint' || typeof value === 'number') && value < 0) {
    throw cannot(value, 'uint', ', negative not allowed')
  }
  try {
    return BigInt.asUintN(64, toInt64(value, mode))
  } catch {
    throw cannot(value, 'uint')
  }
}

export function toFloat64(value: Value, mode: CastMode): number {
  switch (typeof value) {
    case 'number':
      return value
    case 'bigint':
      if (mode !== 'strict') return Number(value)
      break
    case 'string':
      if (mode === 'all') {
        const parsed = parseGoFloat(value)
        if (typeof parsed === 'number') return parsed
      }
      break
    case 'boolean':
      if (mode === 'all') return value ? 1 : 0
      break
    default:
      if (value === null && mode === 'all') return 0
  }
  throw cannot(value, 'float64')
}

/** To text. strict and sameKind accept text and bytes; all accepts everything, floats in plain decimal, null as ''. */
export function toText(value: Value, mode: CastMode): string {
  if (typeof value === 'string') return value
  if (value instanceof Uint8Array) return decodeUtf8(value)
  if (mode !== 'all') throw cannot(value, 'string')
  if (typeof value === 'number') return floatPlain(value)
  return value === null ? '' : goText(value)
}

export function toBool(value: Value, mode: CastMode): boolean {
  if (typeof value === 'boolean') return value
  if (mode === 'all') {
    if (value === null) return false
    if (typeof value === 'number') return value !== 0
    if (typeof value === 'bigint') return value !== 0n
    if (typeof value === 'string') {
      const parsed = parseGoBool(value)
      if (parsed !== undefined) return parsed
      throw new RowError(`strconv.ParseBool: parsing ${goQuote(value)}: invalid syntax`)
    }
  }
  throw cannot(value, 'bool')
}

/** The bytes of bytes or, unless strict, of text as UTF-8. */
export function toBytes(value: Value, mode: CastMode): Uint8Array {
  if (value instanceof Uint8Array) return value
  if (typeof value === 'string' && mode !== 'strict') return encodeUtf8(value)
  throw cannot(value, 'bytes')
}

/** BYTEA: base64 text, or (unless strict) any other text as UTF-8. */
export function toBytea(value: Value, mode: CastMode): Uint8Array {
  if (value instanceof Uint8Array) return value
  if (typeof value === 'string') {
    const decoded = decodeBase64(value)
    if (typeof decoded !== 'number') return decoded
    if (mode !== 'strict') return encodeUtf8(value)
    throw new RowError(`illegal string ${value}, must be base64 encoded string`)
  }
  throw cannot(value, 'bytea')
}

/** To a time: numbers are epoch milliseconds (fraction dropped) in the configured zone, text is parsed. */
export function toInstant(value: Value, context: TimeContext = {}, pattern = ''): Instant {
  if (value instanceof Instant) return value
  switch (typeof value) {
    case 'bigint':
      return new Instant(Number(value), 0, context.zone ?? 'UTC')
    case 'number':
      return new Instant(Number(truncateToInt64(value)), 0, context.zone ?? 'UTC')
    case 'string':
      return parseTime(value, pattern, context)
    default:
      throw new RowError(`unsupported type to convert to timestamp ${goText(value)}`)
  }
}

/** To epoch milliseconds, as {@link toInstant} (times are floored to the millisecond). */
export function toEpochMs(value: Value, context: TimeContext = {}, pattern = ''): bigint {
  if (typeof value === 'bigint') return value
  if (typeof value === 'number') return truncateToInt64(value)
  return BigInt(toInstant(value, context, pattern).epochMs)
}

/** An array with every element converted; `target` is the word in the message (`int`, `float`, `string` ...). */
export function toSlice<T extends Value>(value: Value, target: string, convert: (element: Value) => T): T[] {
  if (!Array.isArray(value)) throw cannot(value, `${target} slice)`)
  return value.map((element, i) => {
    try {
      return convert(element)
    } catch (error) {
      throw cannot(value, `${target} slice for the ${i} element: ${(error as Error).message}`)
    }
  })
}

/** The type names of cast() and of get_keyed_state(). */
export const castTypes = ['bigint', 'float', 'string', 'boolean', 'datetime', 'bytea'] as const

/** cast(value, type) of SQL, mode all. */
export function castTo(value: Value, type: Value, context: TimeContext): Value {
  const wrap = (convert: () => Value): Value => {
    try {
      return convert()
    } catch (error) {
      throw new RowError(`not supported type conversion, got error ${(error as Error).message}`)
    }
  }
  if (typeof type !== 'string') throw new RowError('expect string type for type parameter')
  switch (type) {
    case 'bigint':
      return wrap(() => toInt(value, 'all'))
    case 'float':
      return wrap(() => toFloat64(value, 'all'))
    case 'string':
      return wrap(() => toText(value, 'all'))
    case 'boolean':
      return wrap(() => toBool(value, 'all'))
    case 'datetime':
      return toInstant(value, context)
    case 'bytea':
      return toBytea(value, 'all')
    default:
      throw new RowError('unknow type, only support bigint, float, string, boolean and datetime')
  }
}
