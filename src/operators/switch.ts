/** The switch of graph rules (spec/sql.md 6.10): sends an item to the output of each case that holds, or of the first. */
import { RowError } from '../core/errors.ts'
import { goText } from '../core/go-text.ts'
import { type Batch, type Row, rowsBatch } from '../core/row.ts'
import { goTypeName } from '../core/values.ts'
import { asRowError } from './condition.ts'
import type { Evaluate, EvaluationScope, Operator } from './contract.ts'

export interface SwitchOptions {
  /** Name of the node, for messages. */
  readonly node: string
  /** Condition of each output; `text` names it in messages. */
  readonly cases: readonly { readonly condition: Evaluate; readonly text: string }[]
  readonly stopAtFirstMatch: boolean
}

/** An item that no case takes is filtered; one that goes to more than one output becomes as many events. */
export function switchOperator({ node, cases, stopAtFirstMatch }: SwitchOptions): Operator {
  let send: (output: number, batch: Batch) => void
  let copied: (events: number) => void
  const scope: { window: EvaluationScope['window']; group: readonly Row[] | null } = { window: null, group: null }

  /** Outputs that take the item; null is false, any other non-boolean an error. */
  const outputsOf = (row: Row): number[] => {
    const outputs: number[] = []
    for (const [i, { condition, text }] of cases.entries()) {
      let value: ReturnType<Evaluate>
      try {
        value = condition(row, scope)
      } catch (error) {
        throw new RowError(`run switch node ${node}, case ${text} error: ${asRowError(error).message}`)
      }
      if (value === null || value === false) continue
      if (value !== true) {
        throw new RowError(
          `run switch node ${node}, case ${text} error: invalid condition that returns non-bool value ${goTypeName(value)}(${goText(value)})`,
        )
      }
      outputs.push(i)
      if (stopAtFirstMatch) break
    }
    return outputs
  }

  return {
    name: 'switch',
    connect(outputs, told) {
      send = (i, batch) => outputs[i]?.(batch)
      copied = told
    },
    push(batch, out) {
      if (batch.kind === 'rows') {
        scope.window = null
        scope.group = null
        for (const row of batch.rows) {
          try {
            const outputs = outputsOf(row)
            if (outputs.length === 0) out.discard('filtered', 1)
            if (outputs.length > 1) copied(outputs.length - 1)
            for (const i of outputs) send(i, rowsBatch([row]))
          } catch (error) {
            out.fail(asRowError(error), 1)
          }
        }
        return
      }
      // A collection is one item, seen as the group of its rows.
      const rows = batch.kind === 'collection' ? batch.rows : (batch.groups[0] ?? [])
      const [first] = rows
      scope.window = batch.window
      scope.group = rows
      try {
        const outputs = first ? outputsOf(first) : []
        if (outputs.length === 0 && batch.events) out.discard('filtered', batch.events)
        if (outputs.length > 1) copied((outputs.length - 1) * batch.events)
        for (const i of outputs) send(i, batch)
      } catch (error) {
        out.fail(asRowError(error), batch.events)
      }
    },
  }
}
