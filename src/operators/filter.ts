import type { Row } from '../core/row.ts'
import { asRowError, nullIsFalse } from './condition.ts'
import type { Evaluate, EvaluationScope, Operator } from './contract.ts'
import { eachRow } from './each-row.ts'

export interface FilterOptions {
  /** `filter`, or `windowFilter` for FILTER(WHERE ...) and predicates pushed to a window. */
  readonly name?: string
  /** Called for a row that passed, where the condition reads hit counters (spec/sql.md 5.8). */
  readonly onHit?: (row: Row) => void
}

/** WHERE: null is false, an error drops the row, and in a collection the whole unit (spec/sql.md 2.10). */
export function filterOperator(condition: Evaluate, options: FilterOptions = {}): Operator {
  const holds = nullIsFalse('Where', condition)
  const { onHit } = options
  const keep = (row: Row, scope: EvaluationScope): boolean => {
    const passed = holds(row, scope)
    if (passed) onHit?.(row)
    return passed
  }
  const scope: { window: EvaluationScope['window']; group: null } = { window: null, group: null }
  const passOrDrop = (row: Row): Row | null => (keep(row, scope) ? row : null)
  return {
    name: options.name ?? 'filter',
    push(batch, out) {
      if (batch.kind === 'groups') throw new Error('a filter stands below grouping')
      if (batch.kind === 'rows') {
        scope.window = null
        eachRow(batch.rows, out, passOrDrop)
        return
      }
      scope.window = batch.window
      let passed: Row[]
      try {
        passed = batch.rows.filter((row) => keep(row, scope))
      } catch (error) {
        out.fail(asRowError(error), batch.events)
        return
      }
      if (passed.length) out.batch({ ...batch, rows: passed })
      else if (batch.events) out.discard('filtered', batch.events)
    },
  }
}
