/**
 * Scan tables beside a stream (spec/sql.md 4.3): keeps the newest rows of each table; every stream row, and every window, goes on
 * as a collection with all kept table rows behind it. Table rows never trigger output.
 */
import type { Row } from '../core/row.ts'
import type { Value } from '../core/values.ts'
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
  /** Has been part of a collection. */
  seen: boolean
}

const scope = { window: null, group: null }

export function joinAlignOperator(tables: readonly AlignedTable[]): Operator {
  const kept = new Map(tables.map((t) => [t.emitter, { ...t, rows: new Map<string | number, Kept>(), count: 0 }]))
  type Table = NonNullable<ReturnType<typeof kept.get>>

  const leave = (entry: Kept, out: Emit): void => {
    if (entry.seen) out.consumed(1)
    else out.discard('filtered', 1)
  }
  const add = (table: Table, row: Row, out: Emit): void => {
    const key = table.key ? groupKey([table.key(row, scope)]) : table.count++
    const replaced = table.rows.get(key)
    if (replaced) {
      table.rows.delete(key)
      leave(replaced, out)
    }
    table.rows.set(key, { row, seen: false })
    while (table.rows.size > table.size) {
      const [oldest, entry] = table.rows.entries().next().value as [string | number, Kept]
      table.rows.delete(oldest)
      leave(entry, out)
    }
  }
  /** `rows` followed by every table's, which count as seen. */
  const withTables = (rows: readonly Row[]): Row[] => {
    const all = [...rows]
    for (const table of kept.values()) {
      for (const entry of table.rows.values()) {
        entry.seen = true
        all.push(entry.row)
      }
    }
    return all
  }

  return {
    name: 'join_aligner',
    get held() {
      let held = 0
      for (const table of kept.values()) held += table.rows.size
      return held
    },
    push(batch, out) {
      if (batch.kind === 'groups') throw new Error('tables stand below grouping')
      if (batch.kind === 'collection') {
        out.batch({ ...batch, rows: withTables(batch.rows) })
        return
      }
      for (const row of batch.rows) {
        const table = kept.get(row.emitter)
        if (table) add(table, row, out)
        else out.batch({ kind: 'collection', rows: withTables([row]), window: null, events: 1 })
      }
    },
    save: () => [...kept.values()].map((t) => [t.emitter, [...t.rows.values()].map((k) => [saveRow(k.row), k.seen])]),
    load(state) {
      for (const [emitter, rows] of state as [string, [Value, boolean][]][]) {
        const table = kept.get(emitter)
        if (!table) continue
        table.rows.clear()
        for (const [saved, seen] of rows) {
          const row = loadRow(saved)
          table.rows.set(table.key ? groupKey([table.key(row, scope)]) : table.count++, { row, seen })
        }
      }
    },
  }
}
