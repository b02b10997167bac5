import { compareText } from '../core/arithmetic.ts'
import { RowError } from '../core/errors.ts'
import type { Row } from '../core/row.ts'
import { goTypeName, Instant, type Value } from '../core/values.ts'
import { asRowError, inClause } from './condition.ts'
import type { Evaluate, EvaluationScope, Operator } from './contract.ts'

export interface SortKeyEvaluator {
  readonly evaluate: Evaluate
  readonly ascending: boolean
}

/** ORDER BY over rows or groups: stable, nulls last both ways, numbers compare across kinds (spec/sql.md 5.12). */
export function orderOperator(keys: readonly SortKeyEvaluator[]): Operator {
  const sorted = <T>(units: readonly T[], first: (unit: T) => Row, scopeOf: (unit: T) => EvaluationScope): T[] => {
    const keyed = units.map((unit, index) => {
      const scope = scopeOf(unit)
      return { unit, index, values: keys.map((k) => k.evaluate(first(unit), scope)) }
    })
    // Always asked in order of arrival, so that a message about two incomparable values names them in that order.
    keyed.sort((a, b) =>
      a.index < b.index ? compareKeys(a.values, b.values, keys) : -compareKeys(b.values, a.values, keys),
    )
    return keyed.map((k) => k.unit)
  }
  return {
    name: 'order',
    push(batch, out) {
      if (batch.kind === 'rows') {
        out.batch(batch)
        return
      }
      const { window } = batch
      try {
        if (batch.kind === 'collection') {
          const scope: EvaluationScope = { window, group: null }
          const rows = sorted(
            batch.rows,
            (row) => row,
            () => scope,
          )
          out.batch({ ...batch, rows })
        } else {
          const groups = sorted(
            batch.groups,
            (group) => group[0] as Row,
            (group) => ({ window, group }),
          )
          out.batch({ ...batch, groups })
        }
      } catch (error) {
        out.fail(asRowError(inClause('Order By', error)), batch.events)
      }
    },
  }
}

export function compareKeys(
  a: readonly Value[],
  b: readonly Value[],
  keys: readonly { readonly ascending: boolean }[],
): number {
  for (let i = 0; i < keys.length; i++) {
    const x = a[i] as Value
    const y = b[i] as Value
    if (x === null || y === null) {
      if (x !== y) return x === null ? 1 : -1
      continue
    }
    const order = compareValues(x, y)
    if (order !== 0) return keys[i]?.ascending ? order : -order
  }
  return 0
}

function compareValues(x: Value, y: Value): number {
  const numberX = typeof x === 'number' || typeof x === 'bigint'
  const numberY = typeof y === 'number' || typeof y === 'bigint'
  if (numberX && numberY) return x < y ? -1 : x > y ? 1 : 0
  if (typeof x === 'string' && typeof y === 'string') return compareText(x, y)
  if (x instanceof Instant && y instanceof Instant) return x.epochMs - y.epochMs || x.nanos - y.nanos
  const name = (v: Value): string => (typeof v === 'bigint' ? 'int' : goTypeName(v))
  throw new RowError(`incompatible types for comparison: ${name(x)} and ${name(y)}`)
}
