/** The general lane of the same plan: what every row that the columnar code leaves undecided goes through. */
import { RowError } from '../../core/errors.ts'
import { encodeJsonText } from '../../core/json-encode.ts'
import { makeRow } from '../../core/row.ts'
import type { ValueObject } from '../../core/values.ts'
import { nullIsFalse } from '../../operators/condition.ts'
import { compileProjection } from '../../operators/project.ts'
import { compileField } from '../chain.ts'
import { compileExpression, rowScope } from '../expression.ts'
import type { ColumnarEnvironment } from './contract.ts'
import type { SelectedPlan } from './select-plan.ts'

/** The message's text with its line feed; null = filtered; an error = the row failed. */
export type GeneralLane = (message: ValueObject, timestamp: number) => string | null | RowError

export function generalLane(plan: SelectedPlan, environment: ColumnarEnvironment): GeneralLane {
  const c = environment.expressions
  const holds = plan.filter && nullIsFalse('Where', compileExpression(plan.filter.condition, c))
  const project = compileProjection({ ...plan.project, fields: plan.project.fields.map((f) => compileField(f, c)) })
  const { emitter } = plan.source
  return (message, timestamp) => {
    try {
      const row = makeRow(emitter, message, timestamp)
      if (holds && !holds(row, rowScope)) return null
      const object = project(row, rowScope)
      return `${encodeJsonText(environment.sendSingle ? object : [object])}\n`
    } catch (error) {
      if (error instanceof RowError) return error
      throw error
    }
  }
}
