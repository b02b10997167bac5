/** The general lane of the same plan: what every row that the columnar code leaves undecided goes through. */
import { encodeJsonText } from '../../core/json-encode.ts'
import { makeRow } from '../../core/row.ts'
import type { ValueObject } from '../../core/values.ts'
import { nullIsFalse } from '../../operators/condition.ts'
import { compileProjection } from '../../operators/project.ts'
import { compileField } from '../chain.ts'
import { compileExpression, rowScope } from '../expression.ts'
import type { ColumnarEnvironment } from './contract.ts'
import type { SelectedPlan } from './select-plan.ts'

/** The result's text with its line feed; null = filtered. Throws RowError. */
export type GeneralLane = (message: ValueObject, timestamp: number) => string | null

export function generalLane(plan: SelectedPlan, environment: ColumnarEnvironment): GeneralLane {
  const c = environment.expressions
  const holds = plan.filter && nullIsFalse('Where', compileExpression(plan.filter.condition, c))
  const project = compileProjection({ ...plan.project, fields: plan.project.fields.map((f) => compileField(f, c)) })
  const { emitter } = plan.source
  return (message, timestamp) => {
    const row = makeRow(emitter, message, timestamp)
    if (holds && !holds(row, rowScope)) return null
    const object = project(row, rowScope)
    return `${encodeJsonText(environment.sendSingle ? object : [object])}\n`
  }
}
