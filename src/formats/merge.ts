/**
 * Payloads inside payloads (spec/connectors.md 3.4): a column of a decoded row, or of each object in a list, holds bytes that
 * another format decodes; and merging rows into one.
 */
import { toBytea } from '../core/cast.ts'
import { IxionError, messageOf, RowError } from '../core/errors.ts'
import { goText } from '../core/go-text.ts'
import { copyFields, getField, isObject, setField, type Value, type ValueObject } from '../core/values.ts'
import type { DecodeOptions, Decoder, SchemaSource } from './contract.ts'
import { loadFormat } from './index.ts'
import { decodeField } from './json.ts'

export interface PayloadOptions {
  /** Format of the inner payload (`payloadFormat`). */
  readonly format: string
  readonly payloadField: string
  /** Column with a list of objects, each with `payloadField`; '' = the row itself has it. */
  readonly payloadBatchField?: string
  readonly payloadSchemaId?: string
  readonly payloadDelimiter?: string
}

/** Called for what is skipped without failing the row: an element without payload, a payload that does not decode. */
export type SkipReport = (problem: string) => void

/**
 * The step from a row with an encoded payload to the rows it gives; `options` are those of the inner format. The returned
 * function gives no row when the payload is absent (reported), and throws RowError when it does not decode.
 * Throws IxionError INVALID_PROPERTY `payloadFormat is missing` and what the format throws.
 */
export async function createPayloadDecoder(
  payload: PayloadOptions,
  options: DecodeOptions,
  schemas: SchemaSource,
  skipped: SkipReport = () => {},
): Promise<(row: ValueObject) => ValueObject[]> {
  if (!payload.format) throw new IxionError('INVALID_PROPERTY', 'payloadFormat is missing', { path: 'payloadFormat' })
  const { delimiter: _, schemaId: __, ...outer } = options
  const format = await loadFormat(payload.format)
  const decoder = format.decoder(
    {
      ...outer,
      ...(payload.payloadDelimiter && { delimiter: payload.payloadDelimiter }),
      ...(payload.payloadSchemaId && { schemaId: payload.payloadSchemaId }),
    },
    schemas,
  )
  const { payloadField, payloadBatchField } = payload
  return payloadBatchField
    ? (row) => decodeBatch(row, payloadBatchField, payloadField, decoder, skipped)
    : (row) => decodeOne(row, payloadField, decoder, skipped)
}

/** A new row without one member. */
function without(row: ValueObject, name: string): ValueObject {
  const rest: ValueObject = {}
  for (const key of Object.keys(row)) if (key !== name) setField(rest, key, row[key] as Value)
  return rest
}

/** Bytes, or text: base64 if it decodes, else the text itself. */
function payloadBytes(value: Value): Uint8Array {
  try {
    return toBytea(value, 'sameKind')
  } catch (error) {
    throw new RowError(`payload is not bytes: ${messageOf(error)}`, 'DECODE')
  }
}

/** One row per decoded row: the outer members, overlaid with the payload's. */
function decodeOne(row: ValueObject, field: string, decoder: Decoder, skipped: SkipReport): ValueObject[] {
  const value = getField(row, field)
  if (value === undefined) {
    skipped(`payload field ${field} not found, ignore it`)
    return []
  }
  const rest = without(row, field)
  return decoder.decode(payloadBytes(value)).map((inner) => copyFields(copyFields({}, rest), inner))
}

/** One row in all: the outer members, then for each element its other members and its payload's, later ones win. */
function decodeBatch(
  row: ValueObject,
  batchField: string,
  field: string,
  decoder: Decoder,
  skipped: SkipReport,
): ValueObject[] {
  const batch = getField(row, batchField)
  if (batch === undefined) {
    skipped(`payload batch field ${batchField} not found, ignore it`)
    return []
  }
  if (!Array.isArray(batch)) throw new RowError(`payload batch field is not array: ${goText(batch)}`, 'DECODE')
  const merged = without(row, batchField)
  for (const element of batch) {
    if (!isObject(element)) {
      throw new RowError(`unsupported payload received, must be a slice of maps: ${goText(batch)}`, 'DECODE')
    }
    const value = getField(element, field)
    if (value === undefined) {
      skipped(`payload field ${field} not found, ignore it`)
      continue
    }
    try {
      const rows = decoder.decode(payloadBytes(value))
      mergeRows([without(element, field), ...rows], merged)
    } catch (error) {
      skipped(`cannot decode payload: ${messageOf(error)}`)
    }
  }
  return [merged]
}

/** All members of the rows in one object; of equal names the last row's stays. */
function mergeRows(rows: readonly ValueObject[], into: ValueObject = {}): ValueObject {
  for (const row of rows) copyFields(into, row)
  return into
}

/** The newest payload per value of one member, between two ticks of a rate limit (`mergeField`, spec/connectors.md 3.3). */
export interface FieldMerger {
  /** Throws RowError DECODE for a payload that is not JSON, LIMIT beyond `maxRows` different values. */
  add(payload: Uint8Array): void
  /** How many different values are waiting. */
  readonly count: number
  /** One row of all waiting payloads, in the order their values were first seen; null when there are none. */
  flush(): ValueObject | null
}

/**
 * Throws IxionError INVALID_PROPERTY `format X does not support partial decode`: only json does. `options` are those of the
 * stream's format and wanted columns.
 */
export async function createFieldMerger(
  format: string,
  field: string,
  options: DecodeOptions,
  schemas: SchemaSource,
  skipped: SkipReport = () => {},
): Promise<FieldMerger> {
  const { name, decoder: make } = await loadFormat(format)
  if (name !== 'json') throw new IxionError('INVALID_PROPERTY', `format ${format} does not support partial decode`)
  const decoder = make(options, schemas)
  /** Values in the order they were first seen, also in earlier intervals; null = nothing new of it. */
  const newest = new Map<Value, Uint8Array | null>()
  let count = 0
  const forgetIdle = (): void => {
    for (const [key, payload] of newest) if (payload === null) newest.delete(key)
  }
  return {
    add: (payload) => {
      const key = decodeField(payload, field, options)
      const known = newest.get(key)
      if (known === undefined && newest.size >= options.maxRows) forgetIdle()
      if (known === undefined && newest.size >= options.maxRows) {
        throw new RowError(`more than ${options.maxRows} values of ${field} in one interval`, 'LIMIT')
      }
      if (!known) count++
      newest.set(key, payload)
    },
    get count() {
      return count
    },
    flush: () => {
      if (count === 0) return null
      count = 0
      const merged: ValueObject = {}
      for (const [key, frame] of newest) {
        if (frame === null) continue
        newest.set(key, null)
        try {
          mergeRows(decoder.decode(frame), merged)
        } catch (error) {
          skipped(`cannot decode payload: ${messageOf(error)}`)
        }
      }
      return merged
    },
  }
}
