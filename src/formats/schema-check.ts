/**
 * What happens to a decoded row before a rule sees it: STRICT_VALIDATION against the declared columns (spec/sql.md 2.8), the
 * column of a binary payload, and the event time (spec/sql.md 3.10). Rows are never changed in place: they are shared.
 */
import { toBool, toBytea, toEpochMs, toFloat64, toInstant, toInt64, toText } from '../core/cast.ts'
import { IxionError, messageOf, RowError } from '../core/errors.ts'
import { goText } from '../core/go-text.ts'
import { decodeJsonText } from '../core/json-decode.ts'
import type { TimeContext } from '../core/time-parse.ts'
import { copyFields, getField, goTypeName, isObject, setField, type Value, type ValueObject } from '../core/values.ts'
import { binaryColumn } from './binary.ts'
import type { ColumnType } from './contract.ts'

/** The part of a stream definition that matters here; an SQL definition fits. */
export interface CheckedStream {
  readonly fields: readonly DeclaredColumn[] | null
  readonly options: {
    readonly format?: string | undefined
    readonly strictValidation?: boolean | undefined
    readonly timestamp?: string | undefined
    readonly timestampFormat?: string | undefined
  }
}

export interface DeclaredColumn {
  readonly name: string
  readonly type: DeclaredType
  readonly default?: bigint | number | string | boolean | undefined
}

export type DeclaredType =
  | { readonly kind: 'bigint' | 'float' | 'string' | 'bytea' | 'datetime' | 'boolean' }
  | { readonly kind: 'array'; readonly element: DeclaredType }
  | { readonly kind: 'struct'; readonly fields: readonly DeclaredColumn[] }

export interface CheckContext extends TimeContext {
  /** `basic.ignoreCase`: a missing column is also looked for in other case. */
  readonly ignoreCase?: boolean
}

type Check = (value: Value) => Value

/**
 * The check of one stream's rows, or null when none is needed. `columns`: the columns a rule uses, as they are decoded
 * (null = all declared); only they are checked, everything else in the row stays. The check returns a new row, or throws
 * RowError `error in preprocessor: field X ...`.
 */
export function createValidator(
  stream: CheckedStream,
  columns: ReadonlyMap<string, ColumnType> | null,
  context: CheckContext = {},
): ((row: ValueObject) => ValueObject) | null {
  const { fields, options } = stream
  if (!fields || fields.length === 0) return null
  if ((options.format ?? '').toLowerCase() === 'binary') return renamed(fields[0]?.name ?? binaryColumn)
  if (!options.strictValidation) return null
  const used = columns ? fields.filter((field) => columns.has(field.name)) : fields
  const members = used.map(
    (field): Member => ({
      name: field.name,
      check: checkOf(columns?.get(field.name) ?? columnType(field.type), options.timestampFormat ?? '', context),
      fallback: field.default,
    }),
  )
  return (row) => {
    try {
      return checkMembers(row, members, context)
    } catch (error) {
      throw new RowError(`error in preprocessor: ${messageOf(error)}`, 'DECODE')
    }
  }
}

/** A binary payload under the name of the one column the stream declares. */
function renamed(name: string): ((row: ValueObject) => ValueObject) | null {
  if (name === binaryColumn) return null
  return (row) => {
    const result: ValueObject = {}
    for (const key of Object.keys(row)) setField(result, key === binaryColumn ? name : key, row[key] as Value)
    return result
  }
}

/** What decoders are asked for a declared type. */
export function columnType(type: DeclaredType): ColumnType {
  switch (type.kind) {
    case 'array':
      return { kind: 'array', element: columnType(type.element) }
    case 'struct':
      return { kind: 'struct', fields: Object.fromEntries(type.fields.map((f) => [f.name, columnType(f.type)])) }
    default:
      return type
  }
}

interface Member {
  readonly name: string
  readonly check: Check
  readonly fallback: Value | undefined
}

function lookUp(row: ValueObject, name: string, ignoreCase: boolean): Value | undefined {
  const value = getField(row, name)
  if (value !== undefined || !ignoreCase) return value
  const wanted = name.toLowerCase()
  const key = Object.keys(row).find((k) => k.toLowerCase() === wanted)
  return key === undefined ? undefined : row[key]
}

function checkMembers(row: ValueObject, members: readonly Member[], context: CheckContext): ValueObject {
  const result = copyFields({}, row)
  for (const { name, check, fallback } of members) {
    const value = lookUp(row, name, context.ignoreCase ?? false)
    if (value === undefined) {
      if (fallback === undefined) throw new RowError(`field ${name} is not found`)
      setField(result, name, fallback)
      continue
    }
    try {
      setField(result, name, check(value))
    } catch (error) {
      throw new RowError(`field ${name} type mismatch: ${messageOf(error)}`)
    }
  }
  return result
}

function checkOf(type: ColumnType, timestampFormat: string, context: CheckContext): Check {
  switch (type.kind) {
    case 'any':
      return (value) => value
    case 'bigint':
      return (value) => toInt64(value, 'sameKind')
    case 'float':
      return (value) => toFloat64(value, 'sameKind')
    case 'boolean':
      return (value) => toBool(value, 'sameKind')
    case 'string':
      return (value) => toText(value, 'sameKind')
    case 'bytea':
      return (value) => toBytea(value, 'sameKind')
    case 'datetime':
      return (value) => toInstant(value, context, timestampFormat)
    case 'array': {
      const element = checkOf(type.element, timestampFormat, context)
      return (value) => {
        if (value === null) return null
        if (!Array.isArray(value)) throw new RowError(`expect array but got ${goText(value)}`)
        return value.map((item) => {
          try {
            return element(item)
          } catch (error) {
            throw new RowError(`array element type mismatch: ${messageOf(error)}`)
          }
        })
      }
    }
    case 'struct': {
      const members = Object.entries(type.fields).map(
        ([name, field]): Member => ({ name, check: checkOf(field, timestampFormat, context), fallback: undefined }),
      )
      return (value) => (value === null ? null : checkMembers(structOf(value), members, context))
    }
  }
}

/** An object, or text that holds one as JSON. */
function structOf(value: Value): ValueObject {
  if (isObject(value)) return value
  const found = `${goTypeName(value)}(${goText(value)})`
  if (typeof value !== 'string') throw new RowError(`expect struct but found ${found}`)
  let parsed: Value = null
  try {
    parsed = decodeJsonText(value)
  } catch {
    // Reported below with the text itself.
  }
  if (isObject(parsed)) return parsed
  throw new RowError(`invalid data type for ${value}, expect map but found ${found}`)
}

/** Farther from 1970 than this there are no dates: the unit is another one. ms */
const DATE_LIMIT = 8.64e15

export function isEventTime(time: number): boolean {
  return time <= DATE_LIMIT && time >= -DATE_LIMIT
}

/**
 * Reads a row's event time, epoch ms, from the stream's TIMESTAMP column; throws RowError when the row has none.
 * Throws IxionError SQL_PLAN when the stream names no such column.
 */
export function createTimestampReader(stream: CheckedStream, context: TimeContext = {}): (row: ValueObject) => number {
  const { timestamp, timestampFormat = '' } = stream.options
  if (!timestamp) {
    throw new IxionError('SQL_PLAN', 'preprocessor is set to be event time but stream option TIMESTAMP not found')
  }
  return (row) => {
    const value = getField(row, timestamp)
    if (value === undefined) {
      throw new RowError(`cannot find timestamp field ${timestamp} in tuple ${goText(row)}`, 'DECODE')
    }
    try {
      const time = Number(toEpochMs(value, context, timestampFormat))
      if (!isEventTime(time)) throw new RowError(`${time} ms is beyond the range of dates`)
      return time
    } catch (error) {
      throw new RowError(
        `cannot convert timestamp field ${timestamp} to timestamp with error ${messageOf(error)}`,
        'DECODE',
      )
    }
  }
}
