/**
 * Scan tables beside a stream (spec/sql.md 4.3): keeps the newest rows of each table; every stream row, and every window, goes on
 * as a collection with all kept table rows behind it. Table rows never trigger output.
 */
import { RowError } from '../core/errors.ts'
import { goText } from '../core/go-text.ts'
import type { Batch, Row, WindowRange } from '../core/row.ts'
import { goTypeName, type Value } from '../core/values.ts'
import type { Emit, Evaluate, Operator } from './contract.ts'
import { groupKey } from './group.ts'
import { loadRow, saveRow } from './window/row-buffer.ts'

export interface AlignedTable {
  readonly emitter: string
  /** Rows kept, RETAIN_SIZE. */
  readonly size: number
  /**
   * Upsert: one row per key, the newest; `size` then bounds the keys and the longest untouched key leaves first. Null = every
   * row is kept, as the reference does.
   */
  readonly key: Evaluate | null
}

interface Kept {
  readonly row: Row
  /** Its place in the order of arrival at the table. */
  readonly number: number
}

interface Table extends AlignedTable {
  readonly entries: Map<string | number, Kept>
  count: number
  /** Rows with a number below it have been part of a collection. */
  seen: number
  /** The kept rows as one array, null after a change. */
  rows: readonly Row[] | null
}

const scope = { window: null, group: null }

export function joinAlignOperator(options: readonly AlignedTable[]): Operator {
  const tables = new Map<string, Table>(
    options.map((t) => [t.emitter, { ...t, entries: new Map(), count: 0, seen: 0, rows: null }]),
  )

  const leave = (table: Table, entry: Kept, out: Emit): void => {
    if (entry.number < table.seen) out.consumed(1)
    else out.discard('filtered', 1)
  }
  const add = (table: Table, row: Row, out: Emit): void => {
    const number = table.count++
    const key = table.key ? groupKey([table.key(row, scope)]) : number
    table.rows = null
    const replaced = table.entries.get(key)
    if (replaced) {
      table.entries.delete(key)
      leave(table, replaced, out)
    }
    table.entries.set(key, { row, number })
    while (table.entries.size > table.size) {
      const [oldest, entry] = table.entries.entries().next().value as [string | number, Kept]
      table.entries.delete(oldest)
      leave(table, entry, out)
    }
  }
  /** `rows` followed by every table's, which count as seen. Put together only for who asks. */
  const withTables = (rows: readonly Row[], batch: { window: WindowRange | null; events: number }): Batch => {
    const contents = new Map<string, readonly Row[]>()
    for (const table of tables.values()) {
      table.rows ??= [...table.entries.values()].map((k) => k.row)
      table.seen = table.count
      contents.set(table.emitter, table.rows)
    }
    return {
      kind: 'collection',
      window: batch.window,
      events: batch.events,
      apart: { rows, tables: contents },
      get rows() {
        return [...rows, ...[...contents.values()].flat()]
      },
    }
  }

  return {
    name: 'join_aligner',
    get held() {
      let held = 0
      for (const table of tables.values()) held += table.entries.size
      return held
    },
    push(batch, out) {
      if (batch.kind !== 'rows' && batch.kind !== 'collection') {
        const given = batch as unknown as Value
        const text = `run JoinAlignNode error: invalid input type but got ${goTypeName(given)}(${goText(given)})`
        out.fail(new RowError(text), 0)
        return
      }
      if (batch.kind === 'collection') {
        out.batch(withTables(batch.rows, batch))
        return
      }
      for (const row of batch.rows) {
        const table = tables.get(row.emitter)
        if (table) add(table, row, out)
        else out.batch(withTables([row], { window: null, events: 1 }))
      }
    },
    save: () =>
      [...tables.values()].map((t) => [
        t.emitter,
        [...t.entries.values()].map((k) => [saveRow(k.row), k.number < t.seen]),
      ]),
    load(state) {
      for (const [emitter, rows] of state as [string, [Value, boolean][]][]) {
        const table = tables.get(emitter)
        if (!table) continue
        table.entries.clear()
        table.rows = null
        for (const [saved, seen] of rows) {
          const row = loadRow(saved)
          const number = table.count++
          table.entries.set(table.key ? groupKey([table.key(row, scope)]) : number, { row, number })
          if (seen) table.seen = table.count
        }
      }
    },
  }
}
