/**
 * The delimited format (spec/connectors.md 12.2, spec/sql.md 2.1, 8.3, 8.6, D31): cells between delimiters, every decoded
 * cell a string. Without `quoting` a payload is one row, split plainly; with it, the records of RFC 4180.
 */
import { toText } from '../core/cast.ts'
import { RowError } from '../core/errors.ts'
import { goText } from '../core/go-text.ts'
import { compareText } from '../core/text-order.ts'
import { decodeUtf8, encodeUtf8 } from '../core/utf8.ts'
import { getField, isObject, setField, type Value, type ValueObject } from '../core/values.ts'
import type { BatchWriter, DecodeOptions, Decoder, EncodeOptions, Encoder, FormatDefinition } from './contract.ts'
import { checkRows, checkSize } from './limits.ts'

const DEFAULT_DELIMITER = ','

function toRow(cells: readonly string[], fields: readonly string[]): ValueObject {
  const row: ValueObject = {}
  // Cells beyond the named ones are dropped.
  const count = fields.length > 0 ? Math.min(cells.length, fields.length) : cells.length
  for (let i = 0; i < count; i++) setField(row, fields[i] ?? `col${i}`, cells[i] as string)
  return row
}

function decoder(options: DecodeOptions): Decoder {
  const delimiter = options.delimiter || DEFAULT_DELIMITER
  const fields = options.fields ?? []
  return {
    decode: (payload) => {
      checkSize(payload, options)
      const text = decodeUtf8(payload)
      if (options.quoting !== 'rfc4180') return [toRow(text.split(delimiter), fields)]
      const records = readRecords(text, delimiter)
      checkRows(records.length, options)
      return records.map((cells) => toRow(cells, fields))
    },
  }
}

/** The records of RFC 4180 text; CRLF, LF or CR end a record, `""` inside quotes is a quote. Throws RowError DECODE. */
function readRecords(text: string, delimiter: string): string[][] {
  const records: string[][] = []
  let cells: string[] = []
  let at = 0
  while (at < text.length) {
    let cell = ''
    if (text[at] === '"') {
      let from = ++at
      for (;;) {
        const end = text.indexOf('"', at)
        if (end < 0)
          throw new RowError(`quoted cell ${cells.length + 1} of record ${records.length + 1} has no end`, 'DECODE')
        at = end + 1
        if (text[at] !== '"') {
          cell += text.slice(from, end)
          break
        }
        cell += text.slice(from, at)
        from = ++at
      }
    }
    const rest = at
    while (at < text.length && text[at] !== '\r' && text[at] !== '\n' && !text.startsWith(delimiter, at)) at++
    cells.push(cell + text.slice(rest, at))
    if (text.startsWith(delimiter, at)) {
      at += delimiter.length
      if (at < text.length) continue
      // A delimiter at the very end opens one last empty cell.
      cells.push('')
    }
    records.push(cells)
    cells = []
    if (text[at] === '\r') at++
    if (text[at] === '\n') at++
  }
  return records
}

/** Rows as lines of cells; one function per option set, so that the loop below stays plain. */
function lineWriter(options: EncodeOptions): {
  join(cells: readonly string[]): string
  line(row: ValueObject, columns: readonly string[]): string
} {
  const delimiter = options.delimiter || DEFAULT_DELIMITER
  const quote = (cell: string): string =>
    cell.includes(delimiter) || /["\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell
  const join = (cells: readonly string[]): string =>
    (options.quoting === 'rfc4180' ? cells.map(quote) : cells).join(delimiter)
  return {
    join,
    line: (row, columns) => join(columns.map((name) => toText(getField(row, name) ?? null, 'all'))),
  }
}

/** The value as rows; a value of another shape is an ENCODE error. */
function rowsOf(value: Value): ValueObject[] {
  const rows = Array.isArray(value) ? value : [value]
  if (rows.every(isObject)) return rows as ValueObject[]
  throw new RowError(`unsupported type ${goText(value)}, must be a map`, 'ENCODE')
}

const sortedColumns = (rows: readonly ValueObject[]): string[] =>
  Object.keys(rows.find((row) => Object.keys(row).length > 0) ?? {}).sort(compareText)

function encoder(options: EncodeOptions): Encoder {
  const { join, line } = lineWriter(options)
  let columns = options.fields && options.fields.length > 0 ? options.fields : null
  return {
    encode: (value) => {
      const rows = rowsOf(value)
      const own = columns ?? sortedColumns(rows)
      if (options.stream && own.length > 0) columns = own
      const lines = rows.map((row) => line(row, own))
      // Every payload says its columns; a sink that appends payloads to a file keeps the first header only.
      if (options.hasHeader && own.length > 0) lines.unshift(join(own))
      return encodeUtf8(lines.join('\n'))
    },
  }
}

/** A header line and the rows of the batch, each batch with the columns of its own first row. */
function batchWriter(options: EncodeOptions): BatchWriter {
  const { join, line } = lineWriter(options)
  let items: ValueObject[][] = []
  return {
    write: (value) => void items.push(rowsOf(value)),
    flush: () => {
      const rows = items.flat()
      items = []
      const columns = options.fields && options.fields.length > 0 ? options.fields : sortedColumns(rows)
      return encodeUtf8([join(columns), ...rows.map((row) => line(row, columns))].join('\n'))
    },
    get count() {
      return items.length
    },
  }
}

export const delimitedFormat: FormatDefinition = {
  name: 'delimited',
  docs: 'Text cells between delimiters (CSV and its kin): one row a payload, every cell a string.',
  schemaless: true,
  decoder,
  encoder,
  batchWriter,
}
