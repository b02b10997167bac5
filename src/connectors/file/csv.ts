/**
 * CSV as the reference reads it (spec/connectors.md 9.6): RFC 4180 quoting, leading white space of a field trimmed, records of
 * any length, empty lines left out. A record with a stray quote ends the reading of its file.
 */
import { RowError } from '../../core/errors.ts'

export interface CsvReader {
  /** Complete records of the text so far. Throws RowError after the good records were taken with {@link CsvReader.take}. */
  push(text: string): void
  /** The file is over: the last record may lack its line end. */
  end(): void
  /** Records read since the last call. */
  take(): string[][]
}

/** `delimiter` one character; a record beyond `maxRecord` characters is an error. */
export function csvReader(delimiter: string, maxRecord: number): CsvReader {
  let records: string[][] = []
  let rest = ''
  /** Where an unclosed quote makes it useless to look again before this length is reached. */
  let wait = 0

  /** The record at `start` and where it ends; null when it is not complete. */
  const record = (text: string, start: number, last: boolean): { fields: string[]; next: number } | null => {
    const fields: string[] = []
    let at = start
    for (;;) {
      while (text[at] === ' ' || (text[at] === '\t' && delimiter !== '\t')) at++
      if (text[at] === '"') {
        let value = ''
        at++
        for (;;) {
          const quote = text.indexOf('"', at)
          if (quote < 0) {
            if (last) throw new RowError('parse error: a quoted field is not closed', 'DECODE')
            return null
          }
          value += text.slice(at, quote)
          at = quote + 1
          if (text[at] === '"') {
            value += '"'
            at++
            continue
          }
          if (at >= text.length && !last) return null
          break
        }
        fields.push(value)
        if (text[at] === '\r' && text[at + 1] === '\n') at++
        if (at >= text.length) return { fields, next: at }
        if (text[at] === '\n') return { fields, next: at + 1 }
        if (text[at] !== delimiter) throw new RowError('parse error: extraneous or missing " in quoted-field', 'DECODE')
        at++
        continue
      }
      const feed = text.indexOf('\n', at)
      const end = feed < 0 ? text.length : feed
      if (feed < 0 && !last) return null
      const comma = text.indexOf(delimiter, at)
      const stop = comma >= 0 && comma < end ? comma : end
      let value = text.slice(at, stop)
      if (stop === end && value.endsWith('\r')) value = value.slice(0, -1)
      if (value.includes('"')) throw new RowError('parse error: bare " in non-quoted field', 'DECODE')
      fields.push(value)
      if (stop === end) return { fields, next: feed < 0 ? end : end + 1 }
      at = stop + 1
    }
  }

  const read = (last: boolean): void => {
    let at = 0
    try {
      while (at < rest.length) {
        if (rest[at] === '\n') {
          at++
          continue
        }
        if (rest[at] === '\r' && rest[at + 1] === '\n') {
          at += 2
          continue
        }
        const found = record(rest, at, last)
        if (!found) break
        records.push(found.fields)
        at = found.next
      }
    } finally {
      rest = at > 0 ? rest.slice(at) : rest
    }
    if (rest.length > maxRecord) throw new RowError(`a csv record is longer than ${maxRecord} characters`, 'LIMIT')
    wait = rest.length === 0 ? 0 : Math.min(maxRecord, rest.length * 2)
  }

  return {
    push(text) {
      // Looking again only when the open record has doubled keeps the work linear.
      const open = rest.length > 65_536
      rest += text
      if (!open || rest.length >= wait) read(false)
    },
    end() {
      read(true)
    },
    take() {
      const taken = records
      records = []
      return taken
    },
  }
}
