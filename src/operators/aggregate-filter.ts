import type { ComputedCall } from './analytic.ts'
import { asRowError, inClause } from './condition.ts'
import type { Operator } from './contract.ts'

/**
 * Aggregates used in WHERE (spec/sql.md 5.4, D13): computed over the un-filtered collection, or over the one row of an
 * un-windowed rule, and left on every row for the filter above.
 */
export function aggregateFilterOperator(calls: readonly ComputedCall[]): Operator {
  return {
    name: 'agg_func',
    push(batch, out) {
      if (batch.kind === 'groups') throw new Error('aggregates in WHERE stand below grouping')
      const units = batch.kind === 'rows' ? batch.rows.map((row) => [row]) : [batch.rows]
      const window = batch.kind === 'collection' ? batch.window : null
      try {
        for (const rows of units) {
          const [first] = rows
          if (!first) continue
          const values = calls.map((call) => call.evaluate(first, { window, group: rows }))
          for (const row of rows) {
            row.computed ??= new Map()
            calls.forEach((call, i) => void row.computed?.set(call.name, values[i] ?? null))
          }
        }
      } catch (error) {
        out.fail(asRowError(inClause('Where', error)), batch.events)
        return
      }
      out.batch(batch)
    },
  }
}
