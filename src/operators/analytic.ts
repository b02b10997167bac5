import type { Row } from '../core/row.ts'
import type { Evaluate, EvaluationScope, Operator } from './contract.ts'
import { eachRow } from './each-row.ts'

/** A call evaluated ahead of the rest of the statement, its value left on the row under `name`. */
export interface ComputedCall {
  readonly name: string
  readonly evaluate: Evaluate
}

const scope: EvaluationScope = { window: null, group: null }

/** Analytic functions: once per event, before WHERE and windows; an error drops the row (spec/sql.md 5.7). */
export function analyticOperator(calls: readonly ComputedCall[]): Operator {
  const evaluateCalls = (row: Row): Row => {
    row.computed ??= new Map()
    for (const call of calls) row.computed.set(call.name, call.evaluate(row, scope))
    return row
  }
  return {
    name: 'analytic',
    push(batch, out) {
      if (batch.kind !== 'rows') throw new Error('analytic functions stand above the source')
      eachRow(batch.rows, out, evaluateCalls)
    },
  }
}
