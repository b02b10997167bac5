/** operators.jsonl: one operator over given rows, and expressions evaluated on a row. */
import { compileField, compileKeys } from '../../../src/compile/chain.ts'
import { compileExpression, type ExpressionContext, newHitCounter, rowScope } from '../../../src/compile/expression.ts'
import { manualClock } from '../../../src/core/clock.ts'
import { messageOf, RowError } from '../../../src/core/errors.ts'
import { type Batch, makeJoinedRow, makeRow, type Row, type WindowRange } from '../../../src/core/row.ts'
import type { Value, ValueObject } from '../../../src/core/values.ts'
import { builtinFunctions } from '../../../src/functions/index.ts'
import { aggregateFilterOperator } from '../../../src/operators/aggregate-filter.ts'
import { analyticOperator } from '../../../src/operators/analytic.ts'
import type { Emit, Operator } from '../../../src/operators/contract.ts'
import { filterOperator } from '../../../src/operators/filter.ts'
import { groupOperator } from '../../../src/operators/group.ts'
import { havingOperator } from '../../../src/operators/having.ts'
import { orderOperator } from '../../../src/operators/order.ts'
import { projectOperator } from '../../../src/operators/project.ts'
import { rowNumberOperator } from '../../../src/operators/row-number.ts'
import { functionKinds, type PlanEnvironment } from '../../../src/plan/environment.ts'
import { type ExtractedStatement, extractCalls } from '../../../src/plan/extract-calls.ts'
import { type ResolvedStatement, resolveNames } from '../../../src/plan/resolve-names.ts'
import { resolveSources } from '../../../src/plan/sources.ts'
import { rewriter } from '../../../src/plan/tree.ts'
import type { SelectStatement } from '../../../src/sql/ast.ts'
import { parseSelect } from '../../../src/sql/index.ts'
import { type Case, fail, type Outcome, pass } from '../contract.ts'
import { fromTagged, sameValue, show } from '../values.ts'

const kinds = functionKinds(builtinFunctions)

interface Prepared {
  readonly statement: SelectStatement
  readonly resolved: ResolvedStatement
  readonly context: ExpressionContext
}

/** Parses and binds names; every source is schemaless, as in the recorded set-ups. */
export function prepare(c: Case): Prepared {
  const statement = parseSelect(c['sql'], { functions: builtinFunctions })
  const env: PlanEnvironment = {
    stream: (name) => ({ kind: 'createStream', streamType: 'stream', name, fields: null, options: {} }),
    functions: builtinFunctions,
  }
  const resolved = resolveNames(statement, resolveSources(statement, env), env)
  return { statement, resolved: statement.joins.length ? resolved : unbound(resolved), context: expressionContext(c) }
}

/** The recorded set-ups of a single source skip the planner: its columns stay unbound, as messages show. */
function unbound(resolved: ResolvedStatement): ResolvedStatement {
  const loose = rewriter((e) => (e.kind === 'column' ? { ...e, stream: null } : e))
  return {
    ...resolved,
    fields: resolved.fields.map((f) => ({ ...f, expression: loose(f.expression) })),
    where: resolved.where && loose(resolved.where),
    having: resolved.having && loose(resolved.having),
  }
}

export function expressionContext(c: Case): ExpressionContext {
  const start = typeof c['ruleStart'] === 'number' ? c['ruleStart'] : 0
  return {
    functions: builtinFunctions,
    call: {
      clock: manualClock({ start: 1_600_000_000_000 }),
      timezone: c['timezone'] ?? 'UTC',
      ruleId: c['ruleId'] ?? 'rule',
      ruleStart: start,
      row: null,
      window: null,
      keyedState: new Map<string, Value>(),
      props: {},
    },
    states: new Map(),
    hits: newHitCounter(),
    aggregateHits: newHitCounter(),
  }
}

// Recorded rows and collections <-> batches.

export interface RecordedRow {
  readonly emitter?: string
  readonly data?: unknown
  readonly ts?: number
  readonly meta?: unknown
  readonly tuples?: readonly RecordedRow[]
}

export function rowOf(r: RecordedRow): Row {
  if (r.tuples) return makeJoinedRow(r.tuples.map(rowOf), 0)
  return makeRow(
    r.emitter ?? '',
    (fromTagged(r.data ?? {}) ?? {}) as ValueObject,
    r.ts ?? 0,
    r.meta === undefined ? null : (fromTagged(r.meta) as ValueObject),
  )
}

interface RecordedItem extends RecordedRow {
  readonly kind: 'row' | 'window' | 'join' | 'groups'
  readonly rows?: readonly RecordedRow[]
  readonly groups?: readonly { readonly rows: readonly RecordedRow[]; readonly window?: WindowRange }[]
  readonly window?: WindowRange
}

export function batchOf(item: RecordedItem): Batch {
  if (item.kind === 'row') return { kind: 'rows', rows: [rowOf(item)], events: 1 }
  if (item.kind === 'groups') {
    const groups = (item.groups ?? []).map((g) => g.rows.map(rowOf))
    return { kind: 'groups', groups, window: item.groups?.[0]?.window ?? item.window ?? null, events: 0 }
  }
  return { kind: 'collection', rows: (item.rows ?? []).map(rowOf), window: item.window ?? null, events: 0 }
}

const rowKey = (row: Row): Value =>
  row.parts ? row.parts.map(rowKey) : [row.emitter, row.message as Value, row.meta as Value]

/** What an operator gave: the batches, or the first error. */
export function collect(operator: Operator, input: Batch): { batches: Batch[]; error: string | null } {
  const batches: Batch[] = []
  let error: string | null = null
  const out: Emit = {
    batch: (b) => void batches.push(b),
    fail: (e) => {
      error ??= e.message
    },
    discard: () => {},
    consumed: () => {},
    watermark: () => {},
  }
  operator.push(input, out)
  return { batches, error }
}

function compareBatch(
  got: { batches: Batch[]; error: string | null },
  expect: Case | null,
  anyGroupOrder: boolean,
): Outcome {
  if (expect?.$error !== undefined) {
    return got.error === expect.$error ? pass : fail(`error ${got.error}, expected ${expect.$error}`)
  }
  if (got.error !== null) return fail(`error ${got.error}`)
  if (expect === null) return got.batches.length === 0 ? pass : fail('emitted, expected nothing')
  const [batch] = got.batches
  if (!batch) return fail('nothing emitted')
  const want = batchOf(expect as unknown as RecordedItem)
  if (want.kind === 'groups') {
    if (batch.kind !== 'groups') return fail(`emitted ${batch.kind}`)
    const keys = (b: Batch & { kind: 'groups' }): string[] => {
      const list = b.groups.map((g) => show(g.map(rowKey)))
      return anyGroupOrder ? list.sort() : list
    }
    const a = keys(batch).join('\n')
    const b = keys(want).join('\n')
    return a === b ? pass : fail(`groups ${a}, expected ${b}`)
  }
  if (batch.kind === 'groups') return fail('emitted groups')
  const a = batch.rows.map(rowKey)
  const b = want.rows.map(rowKey)
  return sameValue(a, b) ? pass : fail(`rows ${show(a)}, expected ${show(b)}`)
}

// The operators.

function clauseOperator(c: Case, p: Prepared): Operator | null {
  const { statement, resolved, context } = p
  switch (c['op']) {
    case 'filter':
      return resolved.where && filterOperator(compileExpression(resolved.where, context))
    case 'having':
      return resolved.having && havingOperator(compileExpression(resolved.having, context))
    case 'order':
      return resolved.orderBy.length ? orderOperator(compileKeys(resolved.orderBy, context)) : passThrough
    case 'aggregate':
      return groupOperator({
        dimensions: resolved.dimensions.map((d) => compileExpression(d, context)),
        maxGroups: 1e6,
      })
    default:
      void statement
      return null
  }
}

const passThrough: Operator = { name: 'pass', push: (batch, out) => out.batch(batch) }

function runClause(c: Case): Outcome {
  // A row that already failed passes every operator untouched; here it never enters one.
  if (c['input'].$error !== undefined)
    return compareBatch({ batches: [], error: c['input'].$error }, c['expect'], false)
  const operator = clauseOperator(c, prepare(c))
  if (!operator) return fail(`no ${c['op']} clause`)
  return compareBatch(collect(operator, batchOf(c['input'])), c['expect'], c['groupOrder'] === 'any')
}

function projection(c: Case, p: Prepared, resolved: ResolvedStatement = p.resolved): Operator {
  const aggregate =
    resolved.dimensions.length > 0 ||
    resolved.fields.some((f) => containsAggregate(f.expression)) ||
    c['input']?.kind === 'groups'
  return projectOperator({
    fields: resolved.fields.map((f) => compileField(f, p.context)),
    aggregate,
    limit: p.statement.limit,
    sendNil: c['sendNil'] === true,
    sendMeta: c.id.startsWith('operator/TestProjectPlan_'),
  })
}

function containsAggregate(e: unknown): boolean {
  if (e === null || typeof e !== 'object') return false
  const node = e as { kind?: string; name?: string }
  if (node.kind === 'call' && kinds.isAggregate(node.name ?? '')) return true
  return Object.values(node).some((child) =>
    Array.isArray(child) ? child.some(containsAggregate) : containsAggregate(child),
  )
}

function messages(got: { batches: Batch[] }): ValueObject[] {
  return got.batches.flatMap((b) => (b.kind === 'groups' ? [] : b.rows.map((r) => r.message)))
}

function compareRows(got: { batches: Batch[]; error: string | null }, expect: Case): Outcome {
  if (expect?.$error !== undefined) {
    return got.error === expect.$error ? pass : fail(`error ${got.error}, expected ${expect.$error}`)
  }
  if (expect?.$anyError || expect?.error === true) return got.error !== null ? pass : fail('no error')
  if (got.error !== null) return fail(`error ${got.error}`)
  const actual = messages(got) as Value
  const wanted = fromTagged(expect.rows)
  return sameValue(actual, wanted, 1e-12) ? pass : fail(`${show(actual)}, expected ${show(wanted)}`)
}

function runProject(c: Case): Outcome {
  const p = prepare(c)
  return compareRows(collect(projection(c, p), batchOf(c['input'])), c['expect'])
}

/** Analytic functions run in their own operator below the projection, as planned rules do. */
function runSequence(c: Case): Outcome {
  const p = prepare(c)
  const extracted: ExtractedStatement = extractCalls(p.resolved, kinds)
  const analytic = analyticOperator(
    extracted.analytic.map(({ name, call }) => ({ name, evaluate: compileExpression(call, p.context) })),
  )
  const sequence = c['op'] === 'analytic-seq' ? { ...c, sendNil: true } : c
  const project = projection({ ...sequence, id: c.id }, p, extracted.statement)
  for (const [i, item] of (c['input'] as RecordedItem[]).entries()) {
    const first = collect(analytic, batchOf(item))
    const got = first.error ? first : collect(project, first.batches[0] as Batch)
    const outcome = compareRows(got, c['expect'][i])
    if (!outcome.ok) return fail(`input ${i}: ${outcome.detail}`)
  }
  return pass
}

function runPositional(c: Case): Outcome {
  const p = prepare(c)
  const got = collect(projection({ ...c, id: c.id, sendNil: true }, p), batchOf(c['input']))
  if (got.error !== null) return fail(`error ${got.error}`)
  const names = p.statement.fields.filter((f) => !f.invisible).map((f) => f.alias ?? f.name)
  const actual = messages(got).map((row) => names.map((n) => row[n] ?? null)) as Value
  const wanted = fromTagged(c['expect'].values)
  return sameValue(actual, wanted) ? pass : fail(`${show(actual)}, expected ${show(wanted)}`)
}

function runWindowFunction(c: Case): Outcome {
  const p = prepare(c)
  const extracted = extractCalls(p.resolved, kinds)
  const numbers = rowNumberOperator(
    extracted.windowFunctions.map(({ name, call }) => ({
      name,
      partition: call.partition.map((e) => compileExpression(e, p.context)),
      order: compileKeys(call.order, p.context),
    })),
  )
  const first = collect(numbers, batchOf(c['input']))
  if (first.error) return fail(first.error)
  return compareRows(
    collect(projection({ ...c, id: c.id }, p, extracted.statement), first.batches[0] as Batch),
    c['expect'],
  )
}

function runAggregateInWhere(c: Case): Outcome {
  const p = prepare(c)
  const extracted = extractCalls(p.resolved, kinds)
  const operator = aggregateFilterOperator(
    extracted.aggregatesInWhere.map(({ name, call }) => ({ name, evaluate: compileExpression(call, p.context) })),
  )
  const got = collect(operator, batchOf(c['input']))
  if (got.error) return fail(got.error)
  const rows = got.batches.flatMap((b) => (b.kind === 'groups' ? [] : b.rows))
  const actual = rows.map((row) => ({
    ...row.message,
    ...Object.fromEntries([...(row.computed ?? [])].map(([k, v]) => [k.replace(/^\$\$/, ''), v])),
  })) as Value
  const wanted = fromTagged(c['expect'].rows)
  return sameValue(actual, wanted) ? pass : fail(`${show(actual)}, expected ${show(wanted)}`)
}

function runExpression(c: Case): Outcome {
  const { resolved, context } = prepare(c)
  const e = c['evaluate'] === 'WHERE condition' ? resolved.where : resolved.fields[0]?.expression
  if (!e) return fail('no expression')
  const [row] = (batchOf(c['input']) as Batch & { kind: 'rows' }).rows
  const wanted = c['expect'].value
  let actual: Value
  try {
    actual = compileExpression(e, context)(row as Row, rowScope)
  } catch (error) {
    if (!(error instanceof RowError)) throw error
    if (wanted?.$anyError) return pass
    return messageOf(error) === wanted?.$error
      ? pass
      : fail(`error ${messageOf(error)}, expected ${JSON.stringify(wanted)}`)
  }
  if (wanted?.$error !== undefined) return fail(`${show(actual)}, expected error ${wanted.$error}`)
  return sameValue(actual, fromTagged(wanted)) ? pass : fail(`${show(actual)}, expected ${show(fromTagged(wanted))}`)
}

const byOp: Record<string, (c: Case) => Outcome | Promise<Outcome>> = {
  filter: runClause,
  having: runClause,
  order: runClause,
  aggregate: runClause,
  project: runProject,
  'project-seq': runSequence,
  'analytic-seq': runSequence,
  'project-positional': runPositional,
  windowfunc: runWindowFunction,
  'agg-in-where': runAggregateInWhere,
  expr: runExpression,
  preprocess: async (c) => (await import('./operators-preprocess.ts')).runPreprocess(c),
  join: async (c) => (await import('./operators-join.ts')).runJoin(c),
}

export function run(c: Case): Outcome | Promise<Outcome> {
  const runner = byOp[c['op']]
  return runner ? runner(c) : fail(`not built: ${c['op']}`)
}
