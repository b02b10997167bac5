/**
 * Joins of streams and scan tables (spec/sql.md 4.4). All joins of a statement run here in text order over one collection: the
 * first pairs rows of two emitters, each further one the rows joined so far with those of its emitter.
 */
import { RowError } from '../core/errors.ts'
import { type Batch, collectionOf, makeJoinedRow, type Row, type RowSource, type WindowRange } from '../core/row.ts'
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
      let joined: RowList | null = null
      try {
        const byEmitter = rowsByEmitter(batch)
        for (const step of steps) {
          const left: RowList = joined ?? byEmitter.get(step.left) ?? noRows
          joined = pair(step, left, byEmitter.get(step.right) ?? noRows, scope, maxRows)
        }
      } catch (error) {
        out.fail(asRowError(error), batch.events)
        return
      }
      if (joined?.length) out.batch(collectionOf(joined, batch.window, batch.events))
      else if (batch.events) out.discard('filtered', batch.events)
    },
  }
}

/** Rows by number. */
type RowList = RowSource & {
  /** The array behind them, when it may come again (a table). */
  readonly kept?: readonly Row[]
}

const listOf = (rows: readonly Row[], kept?: readonly Row[]): RowList => ({
  length: rows.length,
  at: (i) => rows[i] as Row,
  emitterAt: (i) => (rows[i] as Row).emitter,
  ...(kept && { kept }),
})
const noRows = listOf([])

function rowsByEmitter(batch: Extract<Batch, { kind: 'collection' }>): Map<string, RowList> {
  const lists = new Map<string, RowList>()
  for (const [emitter, rows] of batch.apart?.tables ?? []) lists.set(emitter, listOf(rows, rows))
  const source = batch.source ?? listOf(batch.apart?.rows ?? batch.rows)
  const places = new Map<string, number[]>()
  for (let i = 0; i < source.length; i++) {
    const emitter = source.emitterAt(i)
    const own = places.get(emitter)
    if (own) own.push(i)
    else places.set(emitter, [i])
  }
  for (const [emitter, own] of places) {
    const length = own.length
    lists.set(emitter, { length, at: (i) => source.at(own[i] as number), emitterAt: () => emitter })
  }
  return lists
}

/** Joined rows as pairs of row numbers; -1 = that side is missing. */
class Pairs implements RowSource {
  readonly #outer: RowSource
  readonly #inner: RowSource
  readonly #outers: number[] = []
  readonly #inners: number[] = []

  constructor(outer: RowSource, inner: RowSource) {
    this.#outer = outer
    this.#inner = inner
  }

  get length(): number {
    return this.#outers.length
  }

  add(outer: number, inner: number): void {
    this.#outers.push(outer)
    this.#inners.push(inner)
  }

  at(i: number): Row {
    const outer = this.#outers[i] as number
    const inner = this.#inners[i] as number
    if (outer < 0) return alone(this.#inner.at(inner))
    return inner < 0 ? alone(this.#outer.at(outer)) : together(this.#outer.at(outer), this.#inner.at(inner))
  }

  emitterAt(): string {
    return ''
  }
}

function together(o: Row, n: Row): Row {
  return makeJoinedRow(o.parts || n.parts ? [...partsOf(o), ...partsOf(n)] : [o, n], o.timestamp)
}

function alone(row: Row): Row {
  return row.parts ? row : makeJoinedRow([row], row.timestamp)
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

function pair(step: Step, left: RowList, right: RowList, scope: EvaluationScope, maxRows: number): RowList {
  const outer = step.kind === 'right' ? right : left
  const inner = step.kind === 'right' ? left : right
  const keepsOuter = step.kind === 'left' || step.kind === 'right' || step.kind === 'full'
  const candidates = (step.kind === 'cross' ? null : candidatesOf(step, outer, inner, scope)) ?? all(inner.length)
  const asks = step.kind === 'cross' || candidates.certain ? null : step.holds
  const matched = step.kind === 'full' ? new Uint8Array(inner.length) : null
  const pairs = new Pairs(outer, inner)
  /** What ON has been asked about: its aliases stay on the row. */
  const asked: Row[] | null = asks && []
  const add = (o: number, n: number, row?: Row): void => {
    if (pairs.length >= maxRows) {
      throw new RowError(`run Join error: the join gives more than ${maxRows} rows, the limit of the window`, 'LIMIT')
    }
    pairs.add(o, n)
    asked?.push(row ?? pairs.at(pairs.length - 1))
  }
  for (let o = 0; o < outer.length; o++) {
    let found = false
    for (let n = candidates.first(o); n >= 0; n = candidates.next(n)) {
      const row = asks ? together(outer.at(o), inner.at(n)) : undefined
      if (asks && !asks(row as Row, scope)) continue
      found = true
      if (matched) matched[n] = 1
      add(o, n, row)
    }
    if (!found && keepsOuter) add(o, -1)
  }
  if (matched) for (let n = 0; n < inner.length; n++) if (matched[n] === 0) add(-1, n)
  return asked ? listOf(asked) : pairs
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
function candidatesOf(step: Step, outer: RowList, inner: RowList, scope: EvaluationScope): Candidates | null {
  const { equality } = step
  if (!equality || outer.length * inner.length < FEW) return null
  const [outerSide, innerSide] = step.kind === 'right' ? (['right', 'left'] as const) : (['left', 'right'] as const)
  if (!inner.kept || step.index?.of !== inner.kept) {
    const index = indexOf(equality, innerSide, inner, scope)
    if (!inner.kept) return index && probe(equality, outerSide, outer, index, scope)
    step.index = { of: inner.kept, index }
  }
  const index = step.index?.index ?? null
  return index && probe(equality, outerSide, outer, index, scope)
}

function indexOf(
  equality: JoinEquality,
  side: 'left' | 'right',
  rows: RowList,
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
  rows: RowList,
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
function keysOf(equality: JoinEquality, side: 'left' | 'right', rows: RowList, scope: EvaluationScope): Keys | null {
  const before = equality.before.filter((b) => b.side === side)
  const key = equality[side]
  const values: Value[] = []
  let kind: KeyKind | null = null
  let big = false
  try {
    for (let i = 0; i < rows.length; i++) {
      const row = rows.at(i)
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
