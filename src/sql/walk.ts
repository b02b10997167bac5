/** Generic passes over expressions. The tables are exhaustive: a new expression kind does not compile until both know it. */
import type { Expression, SelectField, SelectStatement, SortKey } from './ast.ts'

type OfKind<K extends Expression['kind']> = Extract<Expression, { kind: K }>
/** One function per expression kind. */
export type ExpressionTable<R, A extends unknown[] = []> = {
  readonly [K in Expression['kind']]: (expression: OfKind<K>, ...rest: A) => R
}

/** Calls the entry of `table` for the expression's kind. */
export function dispatch<R, A extends unknown[]>(table: ExpressionTable<R, A>, e: Expression, ...rest: A): R {
  return (table[e.kind] as (e: Expression, ...rest: A) => R)(e, ...rest)
}

const none = (): Expression[] => []
const some = (...list: (Expression | null)[]): Expression[] => list.filter((e) => e !== null)

const childTable: ExpressionTable<readonly Expression[]> = {
  integer: none,
  float: none,
  string: none,
  boolean: none,
  null: none,
  timeUnit: none,
  column: none,
  meta: none,
  alias: none,
  computed: none,
  wildcard: (e) => e.replace.map((r) => r.expression),
  binary: (e) => [e.left, e.right],
  member: (e) => [e.object],
  index: (e) => [e.object, e.index],
  slice: (e) => some(e.object, e.start, e.end),
  parenthesis: (e) => [e.expression],
  in: (e) => some(e.left, ...(e.list ?? []), e.array),
  between: (e) => [e.value, e.low, e.high],
  like: (e) => [e.left, e.pattern],
  isNull: (e) => [e.operand],
  case: (e) => some(e.value, ...e.branches.flatMap((b) => [b.when, b.then]), e.otherwise),
  call: (e) => some(...e.args, ...e.partition, ...e.order.map((k) => k.expression), e.when),
}

/**
 * The direct parts, in text order. An alias or computed reference has none: what it stands for is `expression` / `origin`,
 * to be entered by whoever wants to see through it.
 */
export function childrenOf(e: Expression): readonly Expression[] {
  return dispatch(childTable, e)
}

/**
 * Visits `e` and its parts, parents first. `visit` returning false leaves the parts of that node out. No recursion, so the
 * depth of the tree does not matter.
 */
export function forEachExpression(e: Expression, visit: (e: Expression) => unknown): void {
  const stack = [e]
  for (let next = stack.pop(); next; next = stack.pop()) {
    if (visit(next) === false) continue
    const children = childrenOf(next)
    for (let i = children.length - 1; i >= 0; i--) stack.push(children[i] as Expression)
  }
}

/** True when `test` holds for `e` or any part of it. */
export function someExpression(e: Expression, test: (e: Expression) => boolean): boolean {
  let found = false
  forEachExpression(e, (part) => {
    found ||= test(part)
    return !found
  })
  return found
}

type Change = (e: Expression) => Expression
const same = <E extends Expression>(e: E): E => e
const optional = (e: Expression | null, change: Change) => e && change(e)

const mapTable: ExpressionTable<Expression, [Change]> = {
  integer: same,
  float: same,
  string: same,
  boolean: same,
  null: same,
  timeUnit: same,
  column: same,
  meta: same,
  alias: same,
  computed: same,
  wildcard: (e, change) =>
    e.replace.length === 0 ? e : { ...e, replace: e.replace.map((r) => ({ ...r, expression: change(r.expression) })) },
  binary: (e, change) => ({ ...e, left: change(e.left), right: change(e.right) }),
  member: (e, change) => ({ ...e, object: change(e.object) }),
  index: (e, change) => ({ ...e, object: change(e.object), index: change(e.index) }),
  slice: (e, change) => ({
    ...e,
    object: change(e.object),
    start: optional(e.start, change),
    end: optional(e.end, change),
  }),
  parenthesis: (e, change) => ({ ...e, expression: change(e.expression) }),
  in: (e, change) => ({
    ...e,
    left: change(e.left),
    list: e.list?.map(change) ?? null,
    array: optional(e.array, change),
  }),
  between: (e, change) => ({ ...e, value: change(e.value), low: change(e.low), high: change(e.high) }),
  like: (e, change) => ({ ...e, left: change(e.left), pattern: change(e.pattern) }),
  isNull: (e, change) => ({ ...e, operand: change(e.operand) }),
  case: (e, change) => ({
    ...e,
    value: optional(e.value, change),
    branches: e.branches.map((b) => ({ when: change(b.when), then: change(b.then) })),
    otherwise: optional(e.otherwise, change),
  }),
  call: (e, change) => ({
    ...e,
    args: e.args.map(change),
    partition: e.partition.map(change),
    when: optional(e.when, change),
    order: e.order.map((k) => mapSortKey(k, change)),
  }),
}

/** A copy whose direct parts went through `change`; leaves are returned as they are. */
export function mapChildren(e: Expression, change: Change): Expression {
  return dispatch(mapTable, e, change)
}

/** A copy with every node replaced, parts first: `change` sees a node whose parts are already the new ones. */
export function mapExpression(e: Expression, change: Change): Expression {
  return change(mapChildren(e, (part) => mapExpression(part, change)))
}

function mapSortKey(key: SortKey, change: Change): SortKey {
  return { ...key, expression: change(key.expression) }
}

/** A copy of the statement with `change` applied to the expression at the top of every clause. */
export function mapStatement(s: SelectStatement, change: Change): SelectStatement {
  const window = s.window
  return {
    ...s,
    fields: s.fields.map((f): SelectField => ({ ...f, expression: change(f.expression) })),
    joins: s.joins.map((j) => ({ ...j, on: optional(j.on, change) })),
    where: optional(s.where, change),
    dimensions: s.dimensions.map(change),
    window: window && {
      ...window,
      begin: optional(window.begin, change),
      emit: optional(window.emit, change),
      filter: optional(window.filter, change),
      when: optional(window.when, change),
      partition: window.partition.map(change),
    },
    having: optional(s.having, change),
    orderBy: s.orderBy.map((k) => mapSortKey(k, change)),
  }
}

/** The expressions of every clause but the field list, in text order. */
export function clauseExpressions(s: SelectStatement): Expression[] {
  const window = s.window
  return some(
    ...s.joins.map((j) => j.on),
    s.where,
    ...s.dimensions,
    ...(window ? [window.begin, window.emit, window.filter, window.when, ...window.partition] : []),
    s.having,
    ...s.orderBy.map((k) => k.expression),
  )
}
