/** What a statement may not contain (spec/sql.md 4.1, 5.1, 6.8), with the reference's messages. */
import type { CallExpression, Expression, SelectField, SelectStatement } from '../sql/ast.ts'
import { clauseExpressions } from '../sql/walk.ts'
import type { FunctionKinds, PlanOptions } from './environment.ts'
import { planError } from './errors.ts'
import { expandedSize, expressionText } from './expression-text.ts'
import type { ResolvedStatement } from './resolve-names.ts'
import type { SourceSet } from './sources.ts'
import { some, walk } from './tree.ts'

/** Checks that need no names resolved. */
export function checkWritten(statement: SelectStatement, options: PlanOptions): void {
  for (const root of [...statement.fields.map((f) => f.expression), ...clauseExpressions(statement)]) {
    walk(root, (e) => {
      if (e.kind !== 'slice' || e.start?.kind !== 'integer' || e.end?.kind !== 'integer') return
      if (e.start.value >= 0n && e.end.value >= 0n && e.start.value >= e.end.value) {
        throw planError("colon start value can't be greater than end value", e.at)
      }
    })
  }
  const grouped = statement.window !== null || statement.dimensions.length > 0
  if (options.sendMetaToSink && (statement.joins.length > 0 || grouped)) {
    throw planError('Invalid option sendMetaToSink, it can not be applied to window')
  }
}

/** True when the expression contains an aggregate call, also behind an alias. */
export function containsAggregate(e: Expression | null, kinds: FunctionKinds): boolean {
  return some(e, (x) => x.kind === 'call' && kinds.isAggregate(x.name))
}

/** In a group aliases are evaluated anew at each use: one of more parts than this would take too long. */
const MAX_GROUP_PARTS = 50_000

function checkExpansion(roots: readonly (Expression | null)[]): void {
  const sizeOf = expandedSize()
  const large = roots.find((root) => root !== null && sizeOf(root) > MAX_GROUP_PARTS)
  if (!large) return
  throw planError(
    `an expression has more than ${MAX_GROUP_PARTS} parts when its aliases are written out`,
    large.at,
    'Use an alias less often in the aliases that follow it, or compute in two rules.',
  )
}

/** Checks on the resolved statement, in the reference's order. */
export function checkResolved(s: ResolvedStatement, statement: SelectStatement, kinds: FunctionKinds): void {
  if (s.having !== null && !havingIsAggregate(s.having, kinds)) {
    throw planError(
      `Not allowed to call non-aggregate functions in HAVING clause: ${expressionText(s.having)}.`,
      s.having.at,
      'Use WHERE for conditions on single rows.',
    )
  }
  for (const dimension of s.dimensions) {
    if (containsAggregate(dimension, kinds)) {
      throw planError(
        `Not allowed to call aggregate functions in GROUP BY clause: ${expressionText(dimension)}.`,
        dimension.at,
      )
    }
  }
  const grouped = s.dimensions.length > 0 || s.window !== null || statement.joins.length > 0
  const roots = [...s.fields.map((f) => f.expression), ...s.joins, s.where, ...s.dimensions, s.having].concat(
    s.orderBy.map((k) => k.expression),
  )
  if (grouped) checkExpansion(roots)
  for (const root of roots) {
    walk(
      root,
      (e) => {
        if (e.kind !== 'call') return
        if (kinds.isAggregate(e.name) && e.args.some((a) => containsAggregate(a, kinds))) {
          throw planError(`invalid argument for func ${e.name}: aggregate argument is not allowed`, e.at)
        }
        if (grouped && kinds.isHitState(e.name)) {
          throw planError(`function ${e.name} is not allowed in an aggregate query`, e.at)
        }
      },
      { stopAtAlias: true },
    )
  }
  if (s.dimensions.length > 0 && s.window === null) {
    throw planError('select stmt group by should be used with window', s.dimensions[0]?.at)
  }
}

/** HAVING: every leaf call or column must be aggregate. Paths, parentheses, CASE and constants pass, as in the reference. */
function havingIsAggregate(e: Expression, kinds: FunctionKinds): boolean {
  switch (e.kind) {
    case 'binary':
      return havingIsAggregate(e.left, kinds) && havingIsAggregate(e.right, kinds)
    case 'in':
    case 'like':
      return havingIsAggregate(e.left, kinds)
    case 'between':
      return havingIsAggregate(e.value, kinds)
    case 'isNull':
      return havingIsAggregate(e.operand, kinds)
    case 'call':
    case 'column':
    case 'alias':
      return containsAggregate(e, kinds)
    default:
      return true
  }
}

/** Slice tuple mode refuses what its positional rows cannot carry (spec/sql.md 6.8). */
export function checkSliceTuple(
  s: ResolvedStatement,
  statement: SelectStatement,
  sources: SourceSet,
  options: PlanOptions,
  kinds: FunctionKinds,
): void {
  if (!options.experiment?.useSliceTuple) return
  const refuse = (what: string): never => {
    throw planError(`slice tuple mode do not support ${what} yet`)
  }
  for (const source of sources.list) {
    if (source.role === 'lookupTable') {
      throw planError(`slice tuple mode do not support table yet ${source.definition.name}`, source.reference.at)
    }
  }
  if (options.isEventTime) refuse('event time')
  if (statement.joins.length > 0) refuse('join')
  if (s.having !== null) refuse('having')
  if (s.orderBy.length > 0) refuse('sort')
  if (s.fields.some((f) => setReturningCall(f, kinds) !== null)) refuse('project set')
  for (const source of sources.list) {
    if (source.definition.options.type?.toLowerCase() === 'memory') {
      throw planError('slice tuple mode does not support memory source', source.reference.at)
    }
  }
}

/** The set-returning call a select field consists of, or null. */
export function setReturningCall(field: SelectField, kinds: FunctionKinds): CallExpression | null {
  const e = field.expression
  return e.kind === 'call' && kinds.isSetReturning(e.name) ? e : null
}

/** Output names of a statement; a repeated visible one is an error (spec/sql.md 1.10). */
export function checkOutputNames(fields: readonly SelectField[]): void {
  const names = new Set<string>()
  for (const field of fields) {
    if (field.invisible || field.expression.kind === 'wildcard') continue
    const name = field.alias ?? field.name
    if (names.has(name)) {
      throw planError(
        `duplicate field definition ${name}`,
        field.expression.at,
        'Give one of the fields another name with AS.',
      )
    }
    names.add(name)
  }
}
