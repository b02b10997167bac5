import { makeJoinedRow, makeRow, type Row } from '../core/row.ts'
import { copyFields, setField, type Value } from '../core/values.ts'
import { asRowError } from './condition.ts'
import type { Evaluate, EvaluationScope, Operator } from './contract.ts'
import { eachRow } from './each-row.ts'

export interface AssignOptions {
  /** Column the value is kept in; one of that name is covered. */
  readonly name: string
  readonly evaluate: Evaluate
  /** Once per group, the value kept on its first row; a collection that is not grouped becomes one group. */
  readonly aggregate: boolean
}

/** Function and aggfunc nodes of graph rules (spec/rest-api.md 5.2): the result of a call becomes a column. */
export function assignOperator({ name, evaluate, aggregate }: AssignOptions): Operator {
  const scope: { window: EvaluationScope['window']; group: readonly Row[] | null } = { window: null, group: null }
  const assign = (row: Row): Row => withColumn(row, name, evaluate(row, scope))

  const assignGroup = (rows: readonly Row[], timestamp: number): readonly Row[] => {
    scope.group = rows.length === 1 && rows[0]?.emitter === NOBODY ? [] : rows
    return [assign(rows[0] ?? makeRow(NOBODY, {}, timestamp)), ...rows.slice(1)]
  }

  return {
    name: aggregate ? 'aggfunc' : 'function',
    push(batch, out) {
      scope.group = null
      scope.window = batch.kind === 'rows' ? null : batch.window
      if (batch.kind === 'rows') {
        eachRow(batch.rows, out, assign)
        return
      }
      try {
        if (batch.kind === 'groups' || aggregate) {
          const groups = batch.kind === 'groups' ? batch.groups : [batch.rows]
          const assigned = groups.map((rows) => assignGroup(rows, batch.window?.trigger ?? 0))
          out.batch({ kind: 'groups', groups: assigned, window: batch.window, events: batch.events })
        } else out.batch({ ...batch, rows: batch.rows.map(assign) })
      } catch (error) {
        out.fail(asRowError(error), batch.events)
      }
    },
  }
}

/** Emitter of the row that stands for a group without rows, so that further calls see the group as empty. */
const NOBODY = '$$nobody'

/** Rows are shared between rules and branches: the column is put on a copy. */
function withColumn(row: Row, name: string, value: Value): Row {
  if (row.parts === null) {
    const message = copyFields({}, row.message)
    setField(message, name, value)
    const copy = makeRow(row.emitter, message, row.timestamp, row.meta)
    copy.computed = row.computed
    return copy
  }
  // Of joined rows the first component that has a column wins.
  const copy = makeJoinedRow(
    [makeRow('', copyFields({}, { [name]: value }), row.timestamp), ...row.parts],
    row.timestamp,
  )
  copy.computed = row.computed
  return copy
}
