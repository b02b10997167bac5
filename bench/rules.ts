/** Streams and rules of the benches, as documents. */
import { basename, dirname } from 'node:path'

/** A stream of JSON lines in a file; it ends with the file. */
export function fileStream(name: string, file: string, options: Readonly<Record<string, string>> = {}): string {
  const extra = JSON.stringify({ path: dirname(file), fileType: 'lines' })
  return stream(name, { TYPE: 'file', DATASOURCE: basename(file), EXTRA: extra, ...options })
}

export function stream(name: string, options: Readonly<Record<string, string>>): string {
  const list = Object.entries({ FORMAT: 'json', ...options }).map(([key, value]) => `${key}=${JSON.stringify(value)}`)
  return `CREATE STREAM ${name} () WITH (${list.join(', ')})`
}

/** JSON lines into one file that never rolls. */
export const fileSink = (path: string): object => ({
  file: { path, fileType: 'lines', sendSingle: true, rollingCount: 1_000_000_000 },
})

export const nopSink = (more: object = {}): object => ({ nop: { log: false, ...more } })

export const rule = (
  sql: string,
  action: object,
  options: object = {},
): { readonly id: string; readonly sql: string; readonly actions: readonly object[]; readonly options: object } => ({
  id: 'bench',
  sql,
  actions: [action],
  options,
})

/** What `SELECT id, temp * 1.8 + 32 AS temp_f FROM s WHERE temp > 20` makes of a reading; undefined = filtered. */
export const seedSql = 'SELECT id, temp * 1.8 + 32 AS temp_f FROM s WHERE temp > 20'
export function seedResult(reading: { readonly id: string; readonly temp: number }): string | undefined {
  return reading.temp > 20 ? `{"id":"${reading.id}","temp_f":${reading.temp * 1.8 + 32}}` : undefined
}
