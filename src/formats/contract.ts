/**
 * The format contract: payload -> rows and rows -> payload, each described once as data (spec/connectors.md, formats).
 * The columnar JSON lane bypasses this for eligible rules (src/compile); results are the same by differential test.
 */
import type { Value, ValueObject } from '../core/values.ts'

/** Declared or pruned columns a decoder is asked for. Mirrors the stream definition, without SQL types leaking in. */
export type ColumnType =
  | { readonly kind: 'bigint' | 'float' | 'string' | 'bytea' | 'datetime' | 'boolean' | 'any' }
  | { readonly kind: 'array'; readonly element: ColumnType }
  | { readonly kind: 'struct'; readonly fields: Readonly<Record<string, ColumnType>> }

export interface DecodeOptions {
  /**
   * Wanted columns and types; null = take everything, untyped. A column with kind 'any' is taken untyped (schemaless).
   */
  readonly columns: ReadonlyMap<string, ColumnType> | null
  /** json: members match `columns` without regard to case (`basic.ignoreCase`), and get the name of the column. */
  readonly ignoreCase?: boolean
  /** Integers without fraction become int64 (`useInt64ForWholeNumber`); default false = float64. */
  readonly wholeNumbersAsInt64: boolean
  readonly delimiter?: string
  /** delimited: column names in order. */
  readonly fields?: readonly string[]
  readonly hasHeader?: boolean
  /** delimited: `rfc4180` reads quoted cells and several records a payload; default `none` splits plainly. */
  readonly quoting?: 'none' | 'rfc4180'
  readonly schemaId?: string
  /** Limits; a payload beyond them is a LIMIT error. */
  readonly maxPayloadBytes: number
  readonly maxDepth: number
  readonly maxRows: number
}

export interface Decoder {
  /** One payload -> its rows, in order. Throws RowError('...', 'DECODE'): then the payload gives no row at all. */
  decode(payload: Uint8Array): ValueObject[]
}

export interface EncodeOptions {
  readonly delimiter?: string
  readonly hasHeader?: boolean
  /** Column order and selection (`fields`). */
  readonly fields?: readonly string[]
  /** delimited: `rfc4180` quotes cells that need it; default `none`. */
  readonly quoting?: 'none' | 'rfc4180'
  /** delimited: the payloads go to one stream (file sink), so the first row fixes the columns of all. */
  readonly stream?: boolean
  readonly schemaId?: string
}

export interface Encoder {
  /** An object (sendSingle) or a list of objects -> payload. Throws RowError('...', 'ENCODE'). */
  encode(value: Value): Uint8Array
}

/** Collects results for batchSize / lingerInterval (spec/sql.md 8.6). */
export interface BatchWriter {
  write(value: Value): void
  /** The batch so far as one payload; starts a new batch. */
  flush(): Uint8Array
  readonly count: number
}

/** Finds schemas by id for protobuf and custom formats. Implemented by the catalog's schema registry. */
export interface SchemaSource {
  /** Text of the schema file behind `schemaId` (`file.message` or registry id), or undefined. */
  schemaText(type: string, name: string): string | undefined
}

export interface FormatDefinition {
  readonly name: string
  readonly docs: string
  /** False when decoding needs a schemaId. */
  readonly schemaless: boolean
  /** Loads a heavy library; awaited (see loadFormat of index.ts) before the first decoder, encoder or batch writer. */
  load?(): Promise<void>
  decoder(options: DecodeOptions, schemas: SchemaSource): Decoder
  encoder(options: EncodeOptions, schemas: SchemaSource): Encoder
  batchWriter(options: EncodeOptions, schemas: SchemaSource): BatchWriter
}

/** What a custom module exports. Both functions are synchronous and may throw; the error's text becomes the row error's. */
export interface CustomCodec {
  /** One payload -> one row or several. `message` is the part of the schema id after the first dot, '' when none. */
  decode?: (payload: Uint8Array, message: string) => ValueObject | ValueObject[]
  /** An object, or a list of objects without sendSingle -> the payload, as bytes or as text sent in UTF-8. */
  encode?: (value: Value, message: string) => Uint8Array | string
}

/** Runs the module text of schema `name`; throws when it cannot. Called once per decoder or encoder. */
export type CustomLoader = (name: string, text: string) => CustomCodec
