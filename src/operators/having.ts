import type { Row } from '../core/row.ts'
import { asRowError, nullIsError } from './condition.ts'
import type { Evaluate, Operator } from './contract.ts'

/**
 * HAVING over a collection as one group, or over each group; the value is that of the first row (spec/sql.md 5.2).
 * `onHit` runs once when at least one group passed, after the window has gone on: the SELECT list still shows the counters as the
 * condition saw them (5.8).
 */
export function havingOperator(condition: Evaluate, onHit?: (trigger: number) => void): Operator {
  const holds = nullIsError('Having', 'invalid condition that returns non-bool value', condition)
  return {
    name: 'having',
    push(batch, out) {
      if (batch.kind === 'rows') {
        for (const row of batch.rows) {
          try {
            if (holds(row, { window: null, group: [row] })) out.batch({ kind: 'rows', rows: [row], events: 1 })
            else out.discard('filtered', 1)
          } catch (error) {
            out.fail(asRowError(error), 1)
          }
        }
        return
      }
      const { window } = batch
      const passes = (rows: readonly Row[]): boolean =>
        rows.length > 0 && holds(rows[0] as Row, { window, group: rows })
      try {
        if (batch.kind === 'collection') {
          if (passes(batch.rows)) {
            out.batch(batch)
            onHit?.(window?.trigger ?? 0)
            return
          }
        } else {
          const groups = batch.groups.filter(passes)
          if (groups.length) {
            out.batch({ ...batch, groups })
            onHit?.(window?.trigger ?? 0)
            return
          }
        }
      } catch (error) {
        out.fail(asRowError(error), batch.events)
        return
      }
      if (batch.events) out.discard('filtered', batch.events)
    },
  }
}
