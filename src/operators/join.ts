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
  const steps = joins.map(
    (step): Step => ({
      ...step,
      holds: step.on && nullIsError('Join', 'invalid join condition that returns non-bool value', step.on),
      index: null,
    }),
  )
  return {
    name: 'join',
    push(batch, out) {
      if (batch.kind !== 'collection') throw new Error('a join takes collections')
      scope.window = batch.window
      const byEmitter = new Map<string, readonly Row[]>(batch.apart?.tables)
      for (const row of batch.apart?.rows ?? batch.rows) {
        const rows = byEmitter.get(row.emitter) as Row[] | undefined
        if (rows) rows.push(row)
        else byEmitter.set(row.emitter, [row])
      }
      let joined: readonly Row[] | null = null
      try {
        for (const step of steps) {
          const left: readonly Row[] = joined ?? byEmitter.get(step.left) ?? []
          joined = pair(step, left, byEmitter.get(step.right) ?? [], scope, maxRows, batch.apart !== undefined)
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

interface Step extends JoinStep {
  readonly holds: Predicate | null
  /** Of the inner rows met last, where they may come again (a table). */
  index: { readonly of: readonly Row[]; readonly index: InnerIndex | null } | null
}

/** Inner rows by key. Null instead of one: only trying every pair gives the right result, or the right error. */
interface InnerIndex {
  /** What kind all keys are of; null = there is none but null. */
  readonly kind: KeyKind | null
  readonly buckets: ReadonlyMap<Value, readonly Row[]>
}

type KeyKind = 'number' | 'string' | 'boolean'

function pair(
  step: Step,
  left: readonly Row[],
  right: readonly Row[],
  scope: EvaluationScope,
  maxRows: number,
  keep: boolean,
): Row[] {
  const { holds } = step
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
  const candidates = step.kind === 'cross' ? null : candidatesOf(step, outer, inner, scope, keep)
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
/** Fewer pairs than this are tried. */
const FEW = 64

/** For each outer row the inner rows its equality can hold for, in order; null = all pairs are to be tried. */
function candidatesOf(
  step: Step,
  outer: readonly Row[],
  inner: readonly Row[],
  scope: EvaluationScope,
  keep: boolean,
): ((outer: number) => readonly Row[]) | null {
  const { equality } = step
  if (!equality || outer.length * inner.length < FEW) return null
  const outerSide = step.kind === 'right' ? 'right' : 'left'
  if (step.index?.of !== inner) {
    const index = indexOf(equality, outerSide === 'left' ? 'right' : 'left', inner, scope)
    if (!keep) return index && probe(equality, outerSide, outer, index, scope)
    step.index = { of: inner, index }
  }
  const { index } = step.index
  return index && probe(equality, outerSide, outer, index, scope)
}

function indexOf(
  equality: JoinEquality,
  side: 'left' | 'right',
  rows: readonly Row[],
  scope: EvaluationScope,
): InnerIndex | null {
  const keys = keysOf(equality, side, rows, scope)
  if (!keys) return null
  let kind: KeyKind | null = null
  for (const key of keys) {
    if (key === null) continue
    const own = kindOfKey(key)
    if (own === null || (kind !== null && own !== kind)) return null
    kind = own
  }
  const buckets = new Map<Value, Row[]>()
  keys.forEach((key, i) => {
    if (key === null || Number.isNaN(key)) return
    const bucket = buckets.get(bucketOf(key))
    if (bucket) bucket.push(rows[i] as Row)
    else buckets.set(bucketOf(key), [rows[i] as Row])
  })
  return { kind, buckets }
}

function probe(
  equality: JoinEquality,
  side: 'left' | 'right',
  rows: readonly Row[],
  { kind, buckets }: InnerIndex,
  scope: EvaluationScope,
): ((outer: number) => readonly Row[]) | null {
  const keys = keysOf(equality, side, rows, scope)
  if (!keys) return null
  // A key of another kind cannot be compared: the error is that of the first such pair.
  if (kind !== null && keys.some((key) => key !== null && kindOfKey(key) !== kind)) return null
  return (i) => {
    const key = keys[i] as Value
    return key === null || Number.isNaN(key) ? none : (buckets.get(bucketOf(key)) ?? none)
  }
}

/** The keys of one side; null when one fails, or a condition in front of the equality does. */
function keysOf(
  equality: JoinEquality,
  side: 'left' | 'right',
  rows: readonly Row[],
  scope: EvaluationScope,
): Value[] | null {
  const before = equality.before.filter((b) => b.side === side)
  const keys: Value[] = []
  try {
    for (const row of rows) {
      for (const { condition } of before) {
        const value = condition(row, scope)
        if (value !== null && typeof value !== 'boolean') return null
      }
      keys.push(equality[side](row, scope))
    }
  } catch (error) {
    if (error instanceof RowError) return null
    throw error
  }
  return keys
}

/** Null for kinds whose equality a hash does not see (times) or that cannot be compared. */
function kindOfKey(key: Value): KeyKind | null {
  const kind = typeof key === 'bigint' ? 'number' : typeof key
  return kind === 'number' || kind === 'string' || kind === 'boolean' ? kind : null
}

/** int64 and float64 compare as float64, so they share buckets; ON decides. */
function bucketOf(key: Value): Value {
  return typeof key === 'bigint' ? Number(key) : key
}
