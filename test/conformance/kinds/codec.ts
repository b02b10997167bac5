/**
 * codec.jsonl through the formats. Two shapes of the reference have no counterpart here and are translated: positional rows
 * (`mode: "slice"`, rows here have names), and the header of a single delimited row, which the reference puts in front as
 * delimiter, length and header, and Ixion as a line.
 */

import { messageOf } from '../../../src/core/errors.ts'
import type { Value, ValueObject } from '../../../src/core/values.ts'
import type { ColumnType, DecodeOptions, EncodeOptions, SchemaSource } from '../../../src/formats/contract.ts'
import { loadFormat } from '../../../src/formats/index.ts'
import { joinWriter } from '../../../src/formats/join-writer.ts'
import { decodeField } from '../../../src/formats/json.ts'
import { type Case, type CaseRunner, fail, type Outcome, pass } from '../contract.ts'
import { fromTagged, sameValue, show } from '../values.ts'

interface JsonField {
  readonly type?: string
  readonly items?: JsonField
  readonly properties?: Record<string, JsonField>
  readonly index?: number
}

function columnType(field: JsonField | null | undefined): ColumnType {
  switch (field?.type) {
    case undefined:
      return { kind: 'any' }
    case 'array':
      return { kind: 'array', element: columnType(field?.items) }
    case 'struct':
      return {
        kind: 'struct',
        fields: Object.fromEntries(Object.entries(field?.properties ?? {}).map(([name, f]) => [name, columnType(f)])),
      }
    default:
      return { kind: field?.type } as ColumnType
  }
}

const bytesOf = (bytes: { utf8?: string; base64?: string }): Uint8Array =>
  new Uint8Array(Buffer.from(bytes.utf8 ?? bytes.base64 ?? '', bytes.utf8 === undefined ? 'base64' : 'utf8'))

/** Names by position of a positional row. */
function positions(c: Case, width: number): string[] {
  const names = Array.from({ length: width }, (_, i) => `col${i}`)
  for (const [name, field] of Object.entries((c.schema ?? {}) as Record<string, JsonField>))
    names[field.index ?? 0] = name
  return names
}

/** A positional row by names; the reference leaves nulls of such rows out. */
function named(c: Case, row: Value[]): ValueObject {
  const names = positions(c, row.length)
  return Object.fromEntries(row.flatMap((value, i) => (value === null ? [] : [[names[i], value]])))
}

function inputOf(c: Case): Value {
  const value = fromTagged(c.value)
  if (c.mode !== 'slice') return value
  const rows = value as Value[]
  return Array.isArray(rows[0]) ? rows.map((row) => named(c, row as Value[])) : named(c, rows)
}

function options(c: Case): { decode: DecodeOptions; encode: EncodeOptions; schemas: SchemaSource } {
  const given = (c.options ?? {}) as Record<string, never>
  const schema = c.schema as Record<string, JsonField> | null | undefined
  const shared = { ...given, ...(c.proto !== undefined && { schemaId: `test.${c.message}` }) }
  return {
    decode: {
      ...shared,
      columns: schema ? new Map(Object.entries(schema).map(([name, f]) => [name, columnType(f)])) : null,
      wholeNumbersAsInt64: given.useInt64ForWholeNumber ?? false,
      maxPayloadBytes: 1 << 24,
      maxDepth: 300,
      maxRows: 100_000,
    },
    encode: shared,
    schemas: { schemaText: (_, name) => (name === 'test' ? c.proto : undefined) },
  }
}

/** A JSON integer of the cases is a Go int; rows here hold int64. */
const sameMessage = (actual: string, expected: string): boolean =>
  actual === expected || actual === expected.replaceAll(/\bint\((?=-?\d)/g, 'int64(')

async function perform(c: Case): Promise<Value | Uint8Array> {
  const format = await loadFormat(c.format)
  const { decode, encode, schemas } = options(c)
  switch (c.direction) {
    case 'decode': {
      const rows = format.decoder(decode, schemas).decode(bytesOf(c.bytes))
      if (c.mode === 'slice') {
        const names = positions(c, Object.keys(c.schema ?? {}).length)
        return names.map((name) => rows[0]?.[name] ?? null)
      }
      return Array.isArray(c.value) ? rows : (rows[0] as Value)
    }
    case 'decodeField':
      return decodeField(bytesOf(c.bytes), c.field, decode)
    case 'encode': {
      const encoder = format.encoder(encode, schemas)
      const bytes = encoder.encode(inputOf(c))
      if (!encode.hasHeader || Array.isArray(c.value)) return bytes
      const line = bytes.indexOf(10)
      const length = Buffer.alloc(4)
      length.writeUInt32BE(line)
      const parts = [Buffer.from(encode.delimiter ?? ','), length, bytes.subarray(0, line), bytes.subarray(line + 1)]
      return new Uint8Array(Buffer.concat(parts))
    }
    case 'encodeBatch': {
      const writer =
        c.writer === 'stack' ? joinWriter(format.encoder(encode, schemas)) : format.batchWriter(encode, schemas)
      for (const row of inputOf(c) as Value[]) writer.write(row)
      return writer.flush()
    }
    default:
      throw new Error(`unknown direction ${c.direction}`)
  }
}

export const run: CaseRunner = async (c): Promise<Outcome> => {
  let actual: Value | Uint8Array
  try {
    actual = await perform(c)
  } catch (error) {
    const message = messageOf(error)
    if (c.error === true) return pass
    if (c.error === undefined) return fail(`failed: ${message}`)
    return sameMessage(message, c.error) ? pass : fail(`message ${message}, expected ${c.error}`)
  }
  if (c.error !== undefined) return fail(`gave ${show(actual)}, expected error ${c.error}`)
  const expected = c.direction.startsWith('encode') ? bytesOf(c.bytes) : fromTagged(c.value)
  if (sameValue(actual, expected)) return pass
  const text = (value: Value): string => (value instanceof Uint8Array ? Buffer.from(value).toString() : show(value))
  return fail(`gave ${text(actual)}, expected ${text(expected)}`)
}
