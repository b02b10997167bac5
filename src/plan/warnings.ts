/** Things that plan but are probably not meant. */
import type { Expression, FieldType, SelectStatement } from '../sql/ast.ts'
import { printExpression } from '../sql/printer.ts'
import { containsAggregate, setReturningCall } from './check-statement.ts'
import { type FunctionKinds, functionKinds, type PlanEnvironment } from './environment.ts'
import { nearest } from './errors.ts'
import type { LogicalPlan } from './logical.ts'
import type { ResolvedStatement } from './resolve-names.ts'
import { meansNothing, NULL_TEST, type SourceSet } from './sources.ts'
import { walk } from './tree.ts'

export type Warning = LogicalPlan['warnings'][number]

export function findWarnings(
  written: SelectStatement,
  s: ResolvedStatement,
  sources: SourceSet,
  env: PlanEnvironment,
): readonly Warning[] {
  const kinds = functionKinds(env.functions)
  return [
    ...unusedTimestamps(sources, env),
    ...unusedKeys(sources, env),
    ...unopenedWindows(s, sources, env),
    ...repeatedAliases(s),
    ...hiddenByField(s),
    ...withoutEffect(s, written, kinds),
    ...besideAggregates(s, kinds),
    ...comparisonsInVain(s, sources),
    ...probableTypos(written, s, sources),
  ]
}

function unusedTimestamps(sources: SourceSet, env: PlanEnvironment): Warning[] {
  if (env.options?.isEventTime) return []
  return sources.list
    .filter((x) => x.role === 'stream' && x.definition.options.timestamp)
    .map((x) => ({
      message: `stream ${x.definition.name} declares TIMESTAMP ${x.definition.options.timestamp}, but the rule runs on processing time`,
      line: x.reference.at.line,
      column: x.reference.at.column,
      hint: 'Set the rule option isEventTime to true, or ignore this when arrival time is what you want.',
    }))
}

/** A scan table keeps its newest rows whatever its KEY, as in the reference, unless the rule asks for one row a key. */
function unusedKeys(sources: SourceSet, env: PlanEnvironment): Warning[] {
  if (env.options?.keyedTables) return []
  return sources.list
    .filter((x) => x.role === 'scanTable' && x.definition.options.key)
    .map((x) => ({
      message: `KEY of the table ${x.definition.name} has no effect: the newest rows are kept, whatever their ${x.definition.options.key}`,
      line: x.reference.at.line,
      column: x.reference.at.column,
      hint: 'Set the rule option keyedTables to true to keep the newest row of each key.',
    }))
}

/** A window that has fired stays as it is. */
function unopenedWindows(s: ResolvedStatement, sources: SourceSet, env: PlanEnvironment): Warning[] {
  if (!s.window || !env.options?.isEventTime) return []
  return sources.list
    .filter((x) => String(x.definition.options.extensions?.['late_policy'] ?? '').toLowerCase() === 'reopen')
    .map((x) => ({
      message: `LATE_POLICY reopen of stream ${x.definition.name} has no effect in a rule with a window: late rows are dropped and counted`,
      line: x.reference.at.line,
      column: x.reference.at.column,
      hint: 'Use LATE_POLICY="side" to have late rows published, or a larger lateTolerance.',
    }))
}

function repeatedAliases(s: ResolvedStatement): Warning[] {
  return s.replaced.map((field) => ({
    message: `alias ${field.alias} is defined more than once; the last definition is used`,
    line: field.expression.at.line,
    column: field.expression.at.column,
  }))
}

/** `*` beside a field of a declared column's name: the field wins. */
function hiddenByField(s: ResolvedStatement): Warning[] {
  if (!s.fields.some((f) => f.expression.kind === 'wildcard')) return []
  const columns = new Set<string>()
  for (const field of s.fields) {
    const name = field.alias ?? field.name
    if (!field.invisible && field.expression.kind === 'column') columns.add(name)
  }
  return [...columns].map((name) => ({ message: `${name} is also part of *; the field wins` }))
}

/** Clauses the reference accepts and ignores (spec/sql.md 3.8, 3.9, 5.1, 5.12). */
function withoutEffect(s: ResolvedStatement, written: SelectStatement, kinds: FunctionKinds): Warning[] {
  const warnings: Warning[] = []
  const warn = (message: string, at: { readonly line: number; readonly column: number }, hint?: string): void => {
    warnings.push({ message, line: at.line, column: at.column, ...(hint !== undefined && { hint }) })
  }
  const { window, dimensions, having } = s
  const single = !window && written.joins.length === 0
  if (window?.when && window.kind !== 'sliding') {
    warn(
      `OVER(WHEN ...) has no effect on a ${window.kind} window`,
      window.when.at,
      'Use FILTER(WHERE ...) to choose rows.',
    )
  }
  const [partition] = window?.partition ?? []
  if (window && partition && window.kind !== 'state') {
    warn(`OVER(PARTITION BY ...) has no effect on a ${window.kind} window`, partition.at, 'Add the column to GROUP BY.')
  }
  const [dimension] = dimensions
  if (window?.kind === 'state' && dimension) {
    warn('a state window does not group its rows', dimension.at, 'Use OVER(PARTITION BY ...) on the window.')
  }
  if (having && single) warn('HAVING needs a window; without one every row fails', having.at, 'Use WHERE.')
  if (single && (written.limit ?? 0) > 0 && !s.fields.some((f) => setReturningCall(f, kinds))) {
    warnings.push({ message: 'LIMIT has no effect on single rows; it needs a window' })
  }
  return warnings
}

/** A plain column beside aggregates that is no GROUP BY item: the first row of the group gives it. */
function besideAggregates(s: ResolvedStatement, kinds: FunctionKinds): Warning[] {
  if (!s.window || !s.fields.some((f) => containsAggregate(f.expression, kinds))) return []
  const grouped = new Set(s.dimensions.flatMap((d) => (d.kind === 'column' ? [`${d.stream}.${d.name}`] : [])))
  const behindAliases = new Set(s.dimensions.flatMap((d) => (d.kind === 'alias' ? [d.name] : [])))
  const warnings: Warning[] = []
  for (const { expression: e, alias } of s.fields) {
    if (e.kind !== 'column' || grouped.has(`${e.stream}.${e.name}`) || behindAliases.has(alias ?? '')) continue
    warnings.push({
      message: `column ${e.name} stands beside aggregates: its value is that of the first row of the group`,
      line: e.at.line,
      column: e.at.column,
      hint: `Add it to GROUP BY, or use last_value(${e.name}, true) for the newest.`,
    })
  }
  return warnings
}

const comparisons = new Set<string>(['=', '!=', '<', '<=', '>', '>='])

/**
 * `a != null`: false whatever `a` is. So is a comparison with a bare `nil` that a schemaless stream takes for a column. Columns
 * declared as a number and as text never compare: an error of the row, and no match in a lookup.
 */
function comparisonsInVain(s: ResolvedStatement, sources: SourceSet): Warning[] {
  const declared = new Set(sources.list.flatMap((x) => x.fields?.map((f) => f.name) ?? []))
  const wordOf = (e: Expression): string | null => {
    if (e.kind === 'null') return e.written ?? 'null'
    return e.kind === 'column' && meansNothing(e.name) && !declared.has(e.name) ? e.name : null
  }
  const typeOf = (e: Expression): FieldType['kind'] | undefined =>
    e.kind === 'column' && e.stream !== null
      ? sources.byQualifier(e.stream)?.fields?.find((f) => f.name === e.name)?.type.kind
      : undefined
  const warnings: Warning[] = []
  const visit = (e: Expression): void => {
    if (e.kind !== 'binary' || !comparisons.has(e.operator)) return
    const warn = (message: string, hint: string): void =>
      void warnings.push({ message, line: e.at.line, column: e.at.column, hint })
    const word = wordOf(e.right) ?? wordOf(e.left)
    if (word !== null) warn(`a comparison with ${word} never holds`, NULL_TEST)
    const [left, right] = [typeOf(e.left), typeOf(e.right)]
    if (left === undefined || right === undefined || !apart(left, right)) return
    const [one, other] = [printExpression(e.left), printExpression(e.right)]
    warn(
      `${one} is declared ${left} and ${other} ${right}: they never compare`,
      `Convert one of them with cast(${one}, "${right}").`,
    )
  }
  const { window } = s
  const roots = [
    ...s.fields.map((f) => f.expression),
    ...[...s.joins, s.where, ...s.dimensions, s.having],
    ...(window ? [window.filter, window.when, window.begin, window.emit] : []),
  ]
  const seen = new Set<Expression>()
  for (const root of roots) walk(root, visit, {}, seen)
  return warnings
}

const families: { readonly [kind in FieldType['kind']]?: string } = {
  bigint: 'number',
  float: 'number',
  string: 'text',
  boolean: 'truth',
}

function apart(left: FieldType['kind'], right: FieldType['kind']): boolean {
  const [one, other] = [families[left], families[right]]
  return one !== undefined && other !== undefined && one !== other
}

/**
 * A schemaless stream takes any name, so a misspelt alias silently becomes a column: names used once that nearly equal an
 * alias or a declared column are pointed out.
 */
function probableTypos(written: SelectStatement, s: ResolvedStatement, sources: SourceSet): Warning[] {
  if (!sources.schemaless) return []
  const known = new Set<string>(sources.list.flatMap((x) => x.fields?.map((f) => f.name) ?? []))
  for (const field of written.fields) if (field.alias !== null) known.add(field.alias)
  const warnings: Warning[] = []
  const reported = new Set<string>()
  const selected = new Set(s.fields.flatMap((f) => (f.expression.kind === 'column' ? [f.expression.name] : [])))
  const roots = [...s.joins, s.where, s.having, ...s.dimensions, ...s.orderBy.map((k) => k.expression)]
  for (const root of roots) {
    walk(
      root,
      (e) => {
        if (e.kind !== 'column' || known.has(e.name) || selected.has(e.name) || reported.has(e.name)) return
        const near = nearest(e.name, known)
        if (near === null) return
        reported.add(e.name)
        warnings.push({
          message: `column ${e.name} is not declared anywhere`,
          line: e.at.line,
          column: e.at.column,
          hint: `Did you mean ${near}?`,
        })
      },
      { stopAtAlias: true },
    )
  }
  return warnings
}
