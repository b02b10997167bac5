/**
 * Joins of streams and scan tables (spec/sql.md 4.4). All joins of a statement run here in text order over one collection: the
 * first pairs rows of two emitters, each further one the rows joined so far with those of its emitter.
 */
import { RowError } from '../core/errors.ts'
import { makeJoinedRow, type Row, type WindowRange } from '../core/row.ts'
import type { Value } from '../core/values.ts'
import { asRowError, nullIsError, type Predicate } from './condition.ts'
import type { Evaluate, EvaluationScope, Operator } from './contract.ts'

export interface JoinStep {
  readonly kind: 'inner' | 'left' | 'right' | 'full' | 'cross'
  /** Emitter of the left side; only the first join looks at it. */
  readonly left: string
  readonly right: string
  /** Null = always true. */
  readonly on: Evaluate | null
  /** Set when ON has an equality by which rows may be found instead of tried. */
  readonly equality: JoinEquality | null
}

/**
 * `left = right` is one of the conditions AND-ed in ON, each side reading one side of the join only. `before` are the conditions
 * in front of it, by the side they read: none of them may fail on any row, or the pairs are tried one by one.
 */
export interface JoinEquality {
  readonly left: Evaluate
  readonly right: Evaluate
  readonly before: readonly { readonly side: 'left' | 'right'; readonly condition: Evaluate }[]
}

export interface JoinOptions {
  readonly joins: readonly JoinStep[]
  /** Joined rows one collection may have; more fail it. */
  readonly maxRows: number
}

export function joinOperator({ joins, maxRows }: JoinOptions): Operator {
  const scope: { window: WindowRange | null; group: null } = { window: null, group: null }
  const steps = joins.map((step) => ({
    ...step,
    holds: step.on && nullIsError('Join', 'invalid join condition that returns non-bool value', step.on),
  }))
  return {
    name: 'join',
    push(batch, out) {
      if (batch.kind !== 'collection') throw new Error('a join takes collections')
      scope.window = batch.window
      const byEmitter = new Map<string, Row[]>()
      for (const row of batch.rows) {
        const rows = byEmitter.get(row.emitter)
        if (rows) rows.push(row)
        else byEmitter.set(row.emitter, [row])
      }
      let joined: readonly Row[] | null = null
      try {
        for (const step of steps) {
          const left: readonly Row[] = joined ?? byEmitter.get(step.left) ?? []
          joined = pair(step, step.holds, left, byEmitter.get(step.right) ?? [], scope, maxRows)
        }
      } catch (error) {
        out.fail(asRowError(error), batch.events)
        return
      }
      if (joined?.length) out.batch({ kind: 'collection', rows: joined, window: batch.window, events: batch.events })
      else if (batch.events) out.discard('filtered', batch.events)
    },
  }
}

function pair(
  step: JoinStep,
  holds: Predicate | null,
  left: readonly Row[],
  right: readonly Row[],
  scope: EvaluationScope,
  maxRows: number,
): Row[] {
  const result: Row[] = []
  const add = (row: Row): void => {
    if (result.length >= maxRows) {
      throw new RowError(`run Join error: the join gives more than ${maxRows} rows, the limit of the window`, 'LIMIT')
    }
    result.push(row)
  }
  const outer = step.kind === 'right' ? right : left
  const inner = step.kind === 'right' ? left : right
  const keepsOuter = step.kind === 'left' || step.kind === 'right' || step.kind === 'full'
  const candidates = step.kind === 'cross' ? null : indexOf(step, outer, inner, scope)
  const matched = step.kind === 'full' ? new Set<Row>() : null
  for (const [i, o] of outer.entries()) {
    let found = false
    for (const n of candidates ? candidates(i) : inner) {
      const row = makeJoinedRow([...partsOf(o), ...partsOf(n)], o.timestamp)
      if (step.kind !== 'cross' && holds && !holds(row, scope)) continue
      found = true
      matched?.add(n)
      add(row)
    }
    if (!found && keepsOuter) add(o.parts ? o : makeJoinedRow([o], o.timestamp))
  }
  if (matched) for (const r of right) if (!matched.has(r)) add(makeJoinedRow([r], r.timestamp))
  return result
}

function partsOf(row: Row): readonly Row[] {
  return row.parts ?? [row]
}

const none: readonly Row[] = []

/**
 * For each outer row the inner rows its equality can hold for, in order; null where only trying every pair gives the same result:
 * keys of kinds whose comparison fails, or a condition before the equality that fails.
 */
function indexOf(
  step: JoinStep,
  outer: readonly Row[],
  inner: readonly Row[],
  scope: EvaluationScope,
): ((outer: number) => readonly Row[]) | null {
  const { equality } = step
  if (!equality || outer.length * inner.length < 64) return null
  const outerSide = step.kind === 'right' ? 'right' : 'left'
  const [outerKey, innerKey] = outerSide === 'left' ? [equality.left, equality.right] : [equality.right, equality.left]
  const outerKeys: (Value | undefined)[] = []
  const innerKeys: (Value | undefined)[] = []
  try {
    for (const { side, condition } of equality.before) {
      for (const row of side === outerSide ? outer : inner) {
        const value = condition(row, scope)
        if (value !== null && typeof value !== 'boolean') return null
      }
    }
    for (const row of outer) outerKeys.push(outerKey(row, scope))
    for (const row of inner) innerKeys.push(innerKey(row, scope))
  } catch (error) {
    if (error instanceof RowError) return null
    throw error
  }
  const kind = commonKind(outerKeys, innerKeys)
  if (kind === null) return null
  const text = (key: Value | undefined): Value | undefined => (kind === 'number' ? Number(key) : key)
  const buckets = new Map<Value | undefined, Row[]>()
  innerKeys.forEach((key, i) => {
    if (key === null || Number.isNaN(key)) return
    const row = inner[i] as Row
    const bucket = buckets.get(text(key))
    if (bucket) bucket.push(row)
    else buckets.set(text(key), [row])
  })
  return (i) => {
    const key = outerKeys[i]
    return key === null || Number.isNaN(key) ? none : (buckets.get(text(key)) ?? none)
  }
}

/** The kind all keys share, null when two of them cannot be compared (or only in ways a hash does not see, as times). */
function commonKind(...sides: readonly (readonly (Value | undefined)[])[]): 'number' | 'string' | 'boolean' | null {
  let kind: 'number' | 'string' | 'boolean' | undefined
  for (const keys of sides) {
    for (const key of keys) {
      if (key === null) continue
      const own = typeof key === 'bigint' ? 'number' : typeof key
      if (own !== 'number' && own !== 'string' && own !== 'boolean') return null
      if (kind !== undefined && own !== kind) return null
      kind = own
    }
  }
  return kind ?? 'string'
}
