/**
 * Calls that an operator below the projection computes once per row or window are taken out of the expressions; a
 * ComputedReference under an internal name stays in their place (spec/sql.md 5.4, 5.7, 5.11).
 */
import type { CallExpression, Expression, SelectField } from '../sql/ast.ts'
import type { FunctionKinds } from './environment.ts'
import { AGGREGATE_IN_WHERE_PREFIX, ANALYTIC_PREFIX, WINDOW_FUNCTION_PREFIX } from './expression-text.ts'
import type { AnalyticNode } from './logical.ts'
import { mapWindow } from './nodes.ts'
import type { ResolvedStatement } from './resolve-names.ts'
import { type Rewriter, rewriter, walk } from './tree.ts'

export interface NamedCall {
  readonly name: string
  readonly call: CallExpression
}

export interface ExtractedStatement {
  readonly statement: ResolvedStatement
  readonly analytic: AnalyticNode['calls']
  readonly windowFunctions: readonly NamedCall[]
  readonly aggregatesInWhere: readonly NamedCall[]
  readonly triggers: readonly NamedCall[]
}

export function extractCalls(resolved: ResolvedStatement, kinds: FunctionKinds): ExtractedStatement {
  const windowFunctions: NamedCall[] = []
  const triggers: NamedCall[] = []
  const analyticNames = new Map<string, CallExpression>()
  const analyticOrder = orderAnalytic(resolved, kinds)

  const take = rewriter((e) => {
    if (e.kind !== 'call') return e
    if (kinds.isAnalytic(e.name)) {
      const name = analyticName(e)
      analyticNames.set(name, e)
      return computed(name, e)
    }
    if (kinds.isWindowFunction(e.name)) {
      const name = `${WINDOW_FUNCTION_PREFIX}${e.name}_${windowFunctions.length + 1}`
      windowFunctions.push({ name, call: e })
      return computed(name, e)
    }
    return e
  })
  const fields = resolved.fields.map((field): SelectField => {
    const expression = take(field.expression)
    if (expression.kind === 'call' && kinds.isTrigger(expression.name)) {
      const name = field.alias ?? field.name
      triggers.push({ name, call: expression })
      return { ...field, expression: computed(name, expression) }
    }
    return expression === field.expression ? field : { ...field, expression }
  })
  const statement = mapClauses(resolved, fields, take)
  const { where, aggregates } = aggregatesIn(statement.where, kinds)
  return {
    statement: { ...statement, where },
    analytic: analyticOrder.map(({ name, fromField }) => ({
      name,
      call: analyticNames.get(name) as CallExpression,
      fromField,
    })),
    windowFunctions,
    aggregatesInWhere: aggregates,
    triggers,
  }
}

function computed(name: string, origin: Expression): Expression {
  return { kind: 'computed', name, origin, at: origin.at }
}

function analyticName(call: CallExpression): string {
  return `${ANALYTIC_PREFIX}${call.name}_${call.id}`
}

function mapClauses(s: ResolvedStatement, fields: readonly SelectField[], take: Rewriter): ResolvedStatement {
  const maybe = (e: Expression | null): Expression | null => e && take(e)
  return {
    ...s,
    fields,
    joins: s.joins.map(maybe),
    where: maybe(s.where),
    window: s.window && mapWindow(s.window, take),
    dimensions: s.dimensions.map(take),
    having: maybe(s.having),
    orderBy: s.orderBy.map((k) => ({ ...k, expression: take(k.expression) })),
  }
}

/**
 * Evaluation order: calls of select fields field by field, innermost first; then those of the other clauses, last clause
 * first. A call reached twice (through an alias) is one call with one state.
 */
function orderAnalytic(
  s: ResolvedStatement,
  kinds: FunctionKinds,
): readonly { readonly name: string; readonly fromField: boolean }[] {
  const order: { name: string; fromField: boolean }[] = []
  const known = new Set<string>()
  const add = (roots: readonly (Expression | null)[], fromField: boolean): void => {
    const calls: CallExpression[] = []
    for (const root of roots) {
      walk(
        root,
        (e) => {
          if (e.kind === 'call' && kinds.isAnalytic(e.name)) calls.unshift(e)
        },
        { stopAtAlias: true },
      )
    }
    for (const call of calls) {
      const name = analyticName(call)
      if (known.has(name)) continue
      known.add(name)
      order.push({ name, fromField })
    }
  }
  for (const field of s.fields) add([field.expression], true)
  const w = s.window
  add(
    [
      ...s.joins,
      s.where,
      ...(w ? [w.filter, w.when, w.begin, w.emit, ...w.partition] : []),
      ...s.dimensions,
      s.having,
      ...s.orderBy.map((k) => k.expression),
    ],
    false,
  )
  return order
}

/** Aggregates in WHERE get one column each (D13); an alias that hides one is written out. */
function aggregatesIn(
  where: Expression | null,
  kinds: FunctionKinds,
): { readonly where: Expression | null; readonly aggregates: readonly NamedCall[] } {
  const aggregates: NamedCall[] = []
  if (where === null) return { where, aggregates }
  const take = rewriter((e) => {
    if (e.kind === 'call' && kinds.isAggregate(e.name)) {
      const name = `${AGGREGATE_IN_WHERE_PREFIX}${aggregates.length}`
      aggregates.push({ name, call: e })
      return computed(name, e)
    }
    if (e.kind !== 'alias') return e
    let hides = false
    walk(
      e.expression,
      (x) => {
        hides ||= x.kind === 'computed' && x.name.startsWith(AGGREGATE_IN_WHERE_PREFIX)
      },
      { stopAtComputed: true },
    )
    return hides ? e.expression : e
  })
  return { where: take(where), aggregates }
}
