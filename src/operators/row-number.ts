import type { Row } from '../core/row.ts'
import type { Value } from '../core/values.ts'
import { asRowError, inClause } from './condition.ts'
import type { Evaluate, EvaluationScope, Operator } from './contract.ts'
import { groupKey } from './group.ts'
import { compareKeys, type SortKeyEvaluator } from './order.ts'

export interface RowNumberCall {
  /** Name the number is left on the row under. */
  readonly name: string
  readonly partition: readonly Evaluate[]
  readonly order: readonly SortKeyEvaluator[]
}

/**
 * row_number(): 1 for a row on its own, 1..n over a collection, over all groups' rows when grouped. With OVER the numbering
 * is by partition and sort order, and a collection's rows leave in that order (spec/sql.md 5.11, D12).
 */
export function rowNumberOperator(calls: readonly RowNumberCall[]): Operator {
  return {
    name: 'windowFunc',
    push(batch, out) {
      try {
        if (batch.kind === 'rows') {
          for (const row of batch.rows) for (const call of calls) numberRows(call, [row], { window: null, group: null })
          out.batch(batch)
          return
        }
        const scope: EvaluationScope = { window: batch.window, group: null }
        if (batch.kind === 'groups') {
          const rows = batch.groups.flat()
          for (const call of calls) numberRows(call, rows, scope)
          out.batch(batch)
          return
        }
        let { rows } = batch
        for (const call of calls) rows = numberRows(call, rows, scope)
        out.batch({ ...batch, rows })
      } catch (error) {
        out.fail(asRowError(inClause('Select', error)), batch.events)
      }
    },
  }
}

/** Numbers the rows and returns them partition by partition, each in sort order. */
function numberRows(call: RowNumberCall, rows: readonly Row[], scope: EvaluationScope): readonly Row[] {
  const partitions = new Map<string, { row: Row; keys: Value[] }[]>()
  for (const row of rows) {
    const name = call.partition.length ? groupKey(call.partition.map((p) => p(row, scope))) : ''
    const partition = partitions.get(name) ?? []
    partition.push({ row, keys: call.order.map((k) => k.evaluate(row, scope)) })
    partitions.set(name, partition)
  }
  const numbered: Row[] = []
  for (const partition of partitions.values()) {
    partition.sort((a, b) => compareKeys(a.keys, b.keys, call.order))
    partition.forEach(({ row }, i) => {
      row.computed ??= new Map()
      row.computed.set(call.name, BigInt(i + 1))
      numbered.push(row)
    })
  }
  return numbered
}
