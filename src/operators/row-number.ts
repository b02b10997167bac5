import { RowError } from '../core/errors.ts'
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

/** Partitions by the values they are of, ascending; as they came where those do not compare. */
function inOrder<T extends { readonly values: readonly Value[] }>(partitions: readonly T[]): readonly T[] {
  const ascending = partitions[0]?.values.map(() => ({ ascending: true })) ?? []
  try {
    return partitions.toSorted((a, b) => compareKeys(a.values, b.values, ascending))
  } catch (error) {
    if (error instanceof RowError) return partitions
    throw error
  }
}

/** Numbers the rows and returns them partition by partition, each in sort order. */
function numberRows(call: RowNumberCall, rows: readonly Row[], scope: EvaluationScope): readonly Row[] {
  const partitions = new Map<string, { values: Value[]; members: { row: Row; keys: Value[] }[] }>()
  for (const row of rows) {
    const values = call.partition.map((p) => p(row, scope))
    const name = groupKey(values)
    const partition = partitions.get(name) ?? { values, members: [] }
    partition.members.push({ row, keys: call.order.map((k) => k.evaluate(row, scope)) })
    partitions.set(name, partition)
  }
  const numbered: Row[] = []
  for (const { members } of inOrder([...partitions.values()])) {
    members.sort((a, b) => compareKeys(a.keys, b.keys, call.order))
    members.forEach(({ row }, i) => {
      row.computed ??= new Map()
      row.computed.set(call.name, BigInt(i + 1))
      numbered.push(row)
    })
  }
  return numbered
}
