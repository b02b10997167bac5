/**
 * The general evaluator: a resolved expression becomes a closure over a Row. It is the reference the columnar lane is
 * tested against, and what runs wherever rows are objects. Semantics: spec/sql.md 2.
 */
import { type BinaryOperation, operations } from '../core/arithmetic.ts'
import { messageOf, RowError } from '../core/errors.ts'
import { goText } from '../core/go-text.ts'
import { qualifiedColumn, type Row, unboundColumn } from '../core/row.ts'
import {
  copyFields,
  getField,
  goTypeName,
  Instant,
  isObject,
  isPlainKey,
  kindOf,
  type Value,
  type ValueObject,
} from '../core/values.ts'
import type { CallContext, FunctionLookup } from '../functions/contract.ts'
import type { Evaluate, EvaluateOrMissing, EvaluationScope } from '../operators/contract.ts'
import { expandedSize } from '../plan/expression-text.ts'
import { walk } from '../plan/tree.ts'
import type {
  AliasReference,
  BetweenExpression,
  BinaryExpression,
  CaseExpression,
  ColumnReference,
  Expression,
  InExpression,
  LikeExpression,
  MetaReference,
  SliceExpression,
  Wildcard,
} from '../sql/ast.ts'
import { compileCall } from './call.ts'
import { foldConstants } from './fold-constants.ts'
import { likeMatcher } from './like.ts'

/** What the closures of one rule share. Row and window of `call` are set per evaluation. */
export interface ExpressionContext {
  readonly functions: FunctionLookup
  readonly call: CallContext
  /** Function state kept by call sites of this rule, for checkpoints; filled while compiling. */
  readonly states: Map<string, StatefulSite>
  /** `last_hit_count` and friends read these; the operator that owns the condition updates them. One per operator. */
  readonly hits: HitCounter
  /** Called when an expression reads `hits`. */
  readonly hitsUsed?: () => void
  /** Of HAVING; SELECT and HAVING read it. */
  readonly aggregateHits: HitCounter
  /** Partitions one call of an analytic function may have; rows of further ones fail. Default: no limit. */
  readonly maxPartitions?: number
  /** LIKE with regular-expression characters unescaped, as the reference does (D10). */
  readonly rawLike?: boolean
  /** Columns of other case count as the column when it is not there itself (`basic.ignoreCase`). */
  readonly ignoreCase?: boolean
}

export interface HitCounter {
  count: bigint
  /** Epoch ms of the previous hit, 0 before the first. */
  time: bigint
}

export interface StatefulSite {
  save(): Value
  load(state: Value): void
}

export function newHitCounter(): HitCounter {
  return { count: 0n, time: 0n }
}

/** Rows are evaluated outside windows with this. */
export const rowScope: EvaluationScope = { window: null, group: null }

type Compilers = {
  readonly [K in Expression['kind']]: (e: Extract<Expression, { kind: K }>, c: ExpressionContext) => Evaluate
}

const compilers: Compilers = {
  integer: (e) => constant(e.value),
  float: (e) => constant(e.value),
  string: (e) => constant(e.value),
  boolean: (e) => constant(e.value),
  null: () => constant(null),
  timeUnit: (e) => constant(e.unit),
  column: (e, c) => orNull(columnAccess(e, c)),
  alias: compileAlias,
  computed: (e) => orNull(computedAccess(e.name)),
  wildcard: (e) => (row) => wildcardObject(row, e),
  meta: compileMeta,
  binary: compileBinary,
  member: (e, c) => orNull(memberAccess(e.key, compileExpression(e.object, c))),
  index: (e, c) => compileIndex(compileExpression(e.object, c), compileExpression(e.index, c)),
  slice: compileSlice,
  parenthesis: (e, c) => compileExpression(e.expression, c),
  in: compileIn,
  between: compileBetween,
  like: compileLike,
  isNull: (e, c) => {
    const operand = compileExpression(e.operand, c)
    return (row, scope) => (operand(row, scope) === null) !== e.negated
  },
  case: compileCase,
  call: compileCall,
}

export function compileExpression(e: Expression, c: ExpressionContext): Evaluate {
  return (compilers[e.kind] as (e: Expression, c: ExpressionContext) => Evaluate)(e, c)
}

/** Like {@link compileExpression}, but a plain column, alias of one, or computed value keeps missing apart from null. */
export function compileOrMissing(e: Expression, c: ExpressionContext): EvaluateOrMissing {
  switch (e.kind) {
    case 'column':
      return columnAccess(e, c)
    case 'computed':
      return computedAccess(e.name)
    default:
      return compileExpression(e, c)
  }
}

const constant =
  (value: Value): Evaluate =>
  () =>
    value

const orNull =
  (evaluate: EvaluateOrMissing): Evaluate =>
  (row, scope) => {
    const value = evaluate(row, scope)
    return value === undefined ? null : value
  }

function columnAccess(e: ColumnReference, c: ExpressionContext): EvaluateOrMissing {
  const { name, stream } = e
  if (c.ignoreCase) return foldedColumn(e)
  const plain = isPlainKey(name)
  const joined: (row: Row) => Value | undefined =
    stream === null ? (row) => unboundColumn(row, name) : (row) => qualifiedColumn(row, stream, name)
  if (plain) return (row) => (row.parts === null ? row.message[name] : joined(row))
  return (row) => (row.parts === null ? getField(row.message, name) : joined(row))
}

/** The exact name first, then the first column whose name differs in case alone. */
function foldedColumn({ name, stream }: ColumnReference): EvaluateOrMissing {
  const wanted = name.toLowerCase()
  return (row) => {
    const exact = stream === null ? unboundColumn(row, name) : qualifiedColumn(row, stream, name)
    if (exact !== undefined) return exact
    for (const part of row.parts ?? [row]) {
      if (row.parts !== null && stream !== null && part.emitter !== stream) continue
      const key = Object.keys(part.message).find((k) => k.toLowerCase() === wanted)
      if (key !== undefined) return part.message[key]
    }
    return undefined
  }
}

function computedAccess(name: string): EvaluateOrMissing {
  return (row) => {
    const own = row.computed?.get(name)
    if (own !== undefined || row.parts === null) return own
    for (const part of row.parts) {
      const value = part.computed?.get(name)
      if (value !== undefined) return value
    }
    return undefined
  }
}

/** Compiled definitions of aliases: one for all uses, so that aliases of aliases stay linear. */
const compiledAliases = new WeakMap<ExpressionContext, Map<Expression, Evaluate>>()

/**
 * An alias is evaluated once per row where that can be observed or saves work, and its value stays on the row for every
 * later operator (2.7). In a group the value belongs to the group, not to its first row, so it is evaluated afresh.
 */
function compileAlias(e: AliasReference, c: ExpressionContext): Evaluate {
  const known = compiledAliases.get(c) ?? new Map<Expression, Evaluate>()
  compiledAliases.set(c, known)
  const shared = known.get(e.expression)
  const evaluate = shared ?? compileExpression(e.expression, c)
  known.set(e.expression, evaluate)
  if (!worthCaching(e.expression)) return evaluate
  const key = `$$alias.${e.name}`
  return (row, scope) => {
    if (scope.group !== null) return evaluate(row, scope)
    const cached = row.computed?.get(key)
    if (cached !== undefined) return cached
    const value = evaluate(row, scope)
    row.computed ??= new Map()
    row.computed.set(key, value)
    return value
  }
}

const windowDependent = new Set(['window_start', 'window_end', 'window_trigger', 'event_time', 'row_number'])
/** An alias of so many parts, with those of its aliases, is cached whatever it is made of. */
const LARGE = 200

/** Calls are cached unless their value depends on the window the row is seen in. */
function worthCaching(e: Expression): boolean {
  let calls = false
  let windowed = false
  walk(
    e,
    (x) => {
      if (x.kind !== 'call') return
      calls = true
      if (windowDependent.has(x.name)) windowed = true
    },
    { stopAtComputed: true },
  )
  return !windowed && (calls || expandedSize()(e) > LARGE)
}

/** The row as one object for `*` inside a call: with several components the last one wins a clash (4.7). */
export function wildcardObject(row: Row, e: Wildcard): ValueObject {
  let object: ValueObject = {}
  if (row.parts === null) object = copyFields(object, row.message)
  else
    for (const part of row.parts) if (e.stream === null || part.emitter === e.stream) copyFields(object, part.message)
  for (const name of e.except) delete object[name]
  return object
}

function compileMeta(e: MetaReference, _c: ExpressionContext): Evaluate {
  const { key, stream } = e
  return (row) => {
    let source: Row = row
    if (row.parts !== null) {
      const part = row.parts.find((p) =>
        stream === null ? p.meta !== null && getField(p.meta, key) !== undefined : p.emitter === stream,
      )
      if (!part) return null
      source = part
    }
    if (source.meta === null) return null
    if (key === '*') return source.meta
    return getField(source.meta, key) ?? null
  }
}

function compileBinary(e: BinaryExpression, c: ExpressionContext): Evaluate {
  const folded = foldConstants(e)
  if (folded !== e) return compileExpression(folded, c)
  const left = compileExpression(e.left, c)
  const right = compileExpression(e.right, c)
  const operate = operations[e.operator] as BinaryOperation
  if (e.operator === 'AND' || e.operator === 'OR') {
    const decided = e.operator === 'OR'
    return (row, scope) => {
      const l = left(row, scope)
      return l === decided ? decided : operate(l, right(row, scope))
    }
  }
  return (row, scope) => operate(left(row, scope), right(row, scope))
}

function memberAccess(key: string, object: Evaluate): EvaluateOrMissing {
  return (row, scope) => {
    const value = object(row, scope)
    return isObject(value) ? getField(value, key) : null
  }
}

function wholeIndex(value: Value): number {
  if (typeof value === 'bigint') return Number(value)
  if (typeof value === 'number' && Number.isInteger(value)) return value
  throw new RowError(`index ${goText(value)} is not int: ${goTypeName(value)}(${goText(value)})`)
}

/** The reference's message shows its own pair of bounds; an open end is its smallest integer. */
function arrayOperand(value: Value, start: number, end: number | null): Value[] {
  if (Array.isArray(value)) return value
  const kind = kindOf(value)
  if (kind === 'object' || kind === 'bytes') throw new RowError(`[] is an invalid operation for ${goTypeName(value)}`)
  const bounds = `&{${start} ${end ?? '-9223372036854775808'}}`
  throw new RowError(`invalid operation ${goTypeName(value)}(${goText(value)}) [] *xsql.BracketEvalResult(${bounds})`)
}

function compileIndex(object: Evaluate, index: Evaluate): Evaluate {
  return (row, scope) => {
    const value = object(row, scope)
    if (value === null) return null
    const i = wholeIndex(index(row, scope))
    const array = arrayOperand(value, i, i)
    return elementAt(array, i)
  }
}

function elementAt(array: Value[], i: number): Value {
  const at = i < 0 ? array.length + i : i
  if (at < 0 || at >= array.length) throw new RowError(`out of index: ${i} of ${array.length}`)
  return array[at] as Value
}

/** Half open; equal computed bounds behave as an index (quirk of 2.6); a negative end before the start is an error (D25). */
function compileSlice(e: SliceExpression, c: ExpressionContext): Evaluate {
  const object = compileExpression(e.object, c)
  const startOf = e.start && compileExpression(e.start, c)
  const endOf = e.end && compileExpression(e.end, c)
  return (row, scope) => {
    const value = object(row, scope)
    if (value === null) return null
    const givenStart = startOf ? wholeIndex(startOf(row, scope)) : 0
    const givenEnd = endOf ? wholeIndex(endOf(row, scope)) : null
    const array = arrayOperand(value, givenStart, givenEnd)
    const size = array.length
    if (givenEnd !== null && givenStart === givenEnd && startOf) return elementAt(array, givenStart)
    const start = givenStart < 0 ? givenStart + size : givenStart
    const end = givenEnd === null ? size : givenEnd < 0 ? givenEnd + size : givenEnd
    if (start < 0 || start > size) throw new RowError(`start value is out of index: ${givenStart} of ${size}`)
    if (end < 0 || end > size) throw new RowError(`end value is out of index: ${givenEnd} of ${size}`)
    if (start > end) throw new RowError(`start cannot be greater than end. start:${start}  end:${end}`)
    return array.slice(start, end)
  }
}

const equals = operations['=']

function compileIn(e: InExpression, c: ExpressionContext): Evaluate {
  const left = compileExpression(e.left, c)
  const list = e.list?.map((x) => compileExpression(x, c))
  const array = e.array && compileExpression(e.array, c)
  const found = !e.negated
  const word = e.negated ? 'NOT IN' : 'IN'
  return (row, scope) => {
    const value = left(row, scope)
    if (value === null) return false
    if (typeof value === 'object' && !(value instanceof Instant)) {
      throw new RowError(`${word} is an invalid operation for ${goTypeName(value)}`)
    }
    let candidates: readonly Value[]
    if (list) candidates = list.map((item) => item(row, scope))
    else {
      const right = (array as Evaluate)(row, scope)
      if (right === null) return e.negated
      if (!Array.isArray(right)) {
        throw new RowError(
          `invalid operation ${goTypeName(value)}(${goText(value)}) IN ${goTypeName(right)}(${goText(right)})`,
        )
      }
      candidates = right
    }
    for (const candidate of candidates) {
      try {
        if (equals(value, candidate) === true) return found
      } catch (error) {
        throw new RowError(`evaluate in expression error: ${messageOf(error)}`)
      }
    }
    return e.negated
  }
}

const atLeast = operations['>=']
const atMost = operations['<=']

function compileBetween(e: BetweenExpression, c: ExpressionContext): Evaluate {
  const subjectOf = compileExpression(e.value, c)
  const lowOf = compileExpression(e.low, c)
  const highOf = compileExpression(e.high, c)
  const word = e.negated ? 'NOT BETWEEN' : 'BETWEEN'
  const compare = (operation: BinaryOperation, value: Value, bound: Value): boolean => {
    try {
      return operation(value, bound) === true
    } catch {
      throw new RowError(
        `between operator cannot compare ${goTypeName(value)}(${goText(value)}) and ${goTypeName(bound)}(${goText(bound)})`,
      )
    }
  }
  return (row, scope) => {
    const value = subjectOf(row, scope)
    const low = lowOf(row, scope)
    const high = highOf(row, scope)
    if (value === null || low === null || high === null) return false
    const kind = kindOf(value)
    if (kind === 'array' || kind === 'object' || kind === 'bytes') {
      throw new RowError(`${word} is an invalid operation for ${goTypeName(value)}`)
    }
    const inside = compare(atLeast, value, low) && compare(atMost, value, high)
    return inside !== e.negated
  }
}

function compileLike(e: LikeExpression, c: ExpressionContext): Evaluate {
  const left = compileExpression(e.left, c)
  const raw = c.rawLike ?? false
  const fixed = e.pattern.kind === 'string' ? likeMatcher(e.pattern.value, raw) : null
  const patternOf = fixed ? null : compileExpression(e.pattern, c)
  let lastText: string | null = null
  let lastMatcher: (text: string) => boolean = () => false
  return (row, scope) => {
    const value = left(row, scope)
    if (typeof value !== 'string')
      throw new RowError(`LIKE operator left operand expects string, but found ${goText(value)}`)
    if (fixed) return fixed(value) !== e.negated
    const pattern = (patternOf as Evaluate)(row, scope)
    if (typeof pattern !== 'string')
      throw new RowError(`invalid LIKE pattern, must be a string but got ${goText(pattern)}`)
    if (pattern !== lastText) {
      lastMatcher = likeMatcher(pattern, raw)
      lastText = pattern
    }
    return lastMatcher(value) !== e.negated
  }
}

function compileCase(e: CaseExpression, c: ExpressionContext): Evaluate {
  const value = e.value && compileExpression(e.value, c)
  const branches = e.branches.map((b) => ({ when: compileExpression(b.when, c), then: compileExpression(b.then, c) }))
  const otherwise = e.otherwise ? compileExpression(e.otherwise, c) : constant(null)
  return (row, scope) => {
    const subject = value ? value(row, scope) : null
    for (const branch of branches) {
      let hit: Value
      try {
        const when = branch.when(row, scope)
        hit = value ? equals(subject, when) : when
      } catch (error) {
        throw new RowError(`evaluate case expression error: ${messageOf(error)}`)
      }
      if (hit === true) return branch.then(row, scope)
      if (!value && hit !== false && hit !== null) {
        throw new RowError(
          `evaluate case expression error: condition returns non-bool value ${goTypeName(hit)}(${goText(hit)})`,
        )
      }
    }
    return otherwise(row, scope)
  }
}
