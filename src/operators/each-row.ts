import { type Row, rowsBatch } from '../core/row.ts'
import { asRowError } from './condition.ts'
import type { Emit } from './contract.ts'

/**
 * Passes independent rows through `map` one by one: a row goes on, `null` leaves as filtered, a RowError leaves as a
 * failure. Order is kept between rows and failures, since with sendError both reach the sinks.
 */
export function eachRow(rows: readonly Row[], out: Emit, map: (row: Row) => Row | null): void {
  let passed: Row[] = []
  let filtered = 0
  for (const row of rows) {
    try {
      const result = map(row)
      if (result === null) filtered++
      else passed.push(result)
    } catch (error) {
      if (passed.length) out.batch(rowsBatch(passed))
      passed = []
      out.fail(asRowError(error), 1)
    }
  }
  if (passed.length) out.batch(rowsBatch(passed))
  if (filtered) out.discard('filtered', filtered)
}
