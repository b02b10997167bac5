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
  /** ON is nothing but the equality. */
  readonly alone: boolean
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
  readonly keys: Keys
  /** The first row of each key, and after each row the next one of its key; -1 = none. */
  readonly first: ReadonlyMap<Value, number>
  readonly next: Int32Array
}

interface Keys {
  readonly values: readonly Value[]
  /** What kind all are of; null = there is none but null. */
  readonly kind: KeyKind | null
  /** One is an int64: a bucket may hold others than its equals. */
  readonly big: boolean
}

/** The inner rows that can match an outer row. */
interface Candidates {
  /** -1 = none. */
  first(outer: number): number
  next(inner: number): number
  /** They do match: ON need not be asked. */
  readonly certain: boolean
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
  const candidates = (step.kind === 'cross' ? null : candidatesOf(step, outer, inner, scope, keep)) ?? all(inner.length)
  const asks = step.kind === 'cross' || candidates.certain ? null : holds
  const matched = step.kind === 'full' ? new Uint8Array(inner.length) : null
  for (let i = 0; i < outer.length; i++) {
    const o = outer[i] as Row
    let found = false
    for (let k = candidates.first(i); k >= 0; k = candidates.next(k)) {
      const n = inner[k] as Row
      const row = makeJoinedRow(o.parts || n.parts ? [...partsOf(o), ...partsOf(n)] : [o, n], o.timestamp)
      if (asks && !asks(row, scope)) continue
      found = true
      if (matched) matched[k] = 1
      add(row)
    }
    if (!found && keepsOuter) add(o.parts ? o : makeJoinedRow([o], o.timestamp))
  }
  if (matched) {
    for (let k = 0; k < right.length; k++) {
      const r = right[k] as Row
      if (matched[k] === 0) add(makeJoinedRow([r], r.timestamp))
    }
  }
  return result
}

function partsOf(row: Row): readonly Row[] {
  return row.parts ?? [row]
}

/** Every pair. */
function all(inner: number): Candidates {
  return { first: () => (inner > 0 ? 0 : -1), next: (k) => (k + 1 < inner ? k + 1 : -1), certain: false }
}

/** Fewer pairs than this are tried. */
const FEW = 64

/** For each outer row the inner rows its equality can hold for, in order; null = all pairs are to be tried. */
function candidatesOf(
  step: Step,
  outer: readonly Row[],
  inner: readonly Row[],
  scope: EvaluationScope,
  keep: boolean,
): Candidates | null {
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
  const first = new Map<Value, number>()
  const next = new Int32Array(rows.length)
  for (let i = rows.length - 1; i >= 0; i--) {
    const key = keys.values[i] as Value
    if (key === null || Number.isNaN(key)) continue
    const bucket = bucketOf(key)
    next[i] = first.get(bucket) ?? -1
    first.set(bucket, i)
  }
  return { keys, first, next }
}

function probe(
  equality: JoinEquality,
  side: 'left' | 'right',
  rows: readonly Row[],
  index: InnerIndex,
  scope: EvaluationScope,
): Candidates | null {
  const keys = keysOf(equality, side, rows, scope)
  if (!keys) return null
  // A key of another kind cannot be compared: the error is that of the first such pair.
  if (index.keys.kind !== null && keys.kind !== null && keys.kind !== index.keys.kind) return null
  const { first, next } = index
  const { values } = keys
  return {
    first: (i) => {
      const key = values[i] as Value
      return key === null || Number.isNaN(key) ? -1 : (first.get(bucketOf(key)) ?? -1)
    },
    next: (k) => next[k] as number,
    certain: equality.alone && !keys.big && !index.keys.big,
  }
}

/** The keys of one side; null when one fails or is of a kind of its own, or a condition in front of the equality fails. */
function keysOf(
  equality: JoinEquality,
  side: 'left' | 'right',
  rows: readonly Row[],
  scope: EvaluationScope,
): Keys | null {
  const before = equality.before.filter((b) => b.side === side)
  const key = equality[side]
  const values: Value[] = []
  let kind: KeyKind | null = null
  let big = false
  try {
    for (const row of rows) {
      for (const { condition } of before) {
        const value = condition(row, scope)
        if (value !== null && typeof value !== 'boolean') return null
      }
      const value = key(row, scope)
      values.push(value)
      if (value === null) continue
      const own = kindOfKey(value)
      if (own === null || (kind !== null && own !== kind)) return null
      kind = own
      if (typeof value === 'bigint') big = true
    }
  } catch (error) {
    if (error instanceof RowError) return null
    throw error
  }
  return { values, kind, big }
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
