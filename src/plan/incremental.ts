/**
 * Incremental windows (spec/sql.md 5.5, D15): the window keeps one accumulator per aggregate and group instead of rows.
 * Here it is a rewrite that never changes results; the compiler applies it by default, the option
 * enableIncrementalWindow makes the plan show it.
 *
 *   SELECT count(*), b FROM s GROUP BY tumblingwindow(ss, 10), b
 *   before: project <- aggregate(b) <- window <- source
 *   after:  project(inc_agg_col_1, b) <- window(b; count(*) -> inc_agg_col_1) <- source
 */
import type { AggregateFunction, FunctionLookup } from '../functions/contract.ts'
import type { CallExpression, Expression, WindowKind } from '../sql/ast.ts'
import { isHitCounter } from './environment.ts'
import { INCREMENTAL_PREFIX } from './expression-text.ts'
import type { AggregateNode, FilterNode, IncrementalAggregation, LogicalPlan, PlanNode, WindowNode } from './logical.ts'
import { expressionsOf, mapExpressions, walkPlan } from './nodes.ts'
import { and, rewriter, some } from './tree.ts'

export type IncrementalVerdict = { readonly possible: true } | { readonly possible: false; readonly reason: string }

/** Windows whose content can be aggregated row by row. The state window groups differently (spec/sql.md 3.8). */
const incrementalWindows: ReadonlySet<WindowKind> = new Set(['tumbling', 'hopping', 'sliding', 'count', 'session'])

/** What the reference aggregates incrementally under enableIncrementalWindow. */
const referenceAggregates = new Set(['count', 'avg', 'max', 'min', 'sum', 'merge_agg', 'collect', 'last_value'])
const referenceWindows: ReadonlySet<WindowKind> = new Set(['tumbling', 'hopping', 'sliding', 'count'])

/** May the plan's window keep accumulators instead of rows, with identical results? Pure. */
export function canAggregateIncrementally(plan: LogicalPlan, functions: FunctionLookup): IncrementalVerdict {
  const found = analyse(plan.root, functions)
  return 'reason' in found ? { possible: false, reason: found.reason } : { possible: true }
}

/** The plan with an incremental window, or null where that could change results. Already incremental: the same plan. */
export function toIncremental(plan: LogicalPlan, functions: FunctionLookup): LogicalPlan | null {
  const found = analyse(plan.root, functions)
  if ('reason' in found) return null
  return found.window.incremental ? plan : { ...plan, root: convert(plan.root, found, functions) }
}

/** The option enableIncrementalWindow: converts under the reference's conditions. */
export function convertOnRequest(root: PlanNode, functions: FunctionLookup): PlanNode {
  const found = analyse(root, functions)
  if ('reason' in found || !referenceWindows.has(found.window.window.kind)) return root
  if (found.aggregates.some((call) => !referenceAggregates.has(call.name))) return root
  return convert(root, found, functions)
}

interface Analysis {
  readonly window: WindowNode
  readonly filter: FilterNode | null
  readonly aggregate: AggregateNode | null
  readonly aggregates: readonly CallExpression[]
}

function analyse(root: PlanNode, functions: FunctionLookup): Analysis | { readonly reason: string } {
  const no = (reason: string): { readonly reason: string } => ({ reason })
  const isAggregate = (e: Expression): e is CallExpression =>
    e.kind === 'call' && functions(e.name)?.kind === 'aggregate' && !isHitCounter(e.name)

  let filter: FilterNode | null = null
  let aggregate: AggregateNode | null = null
  let ordered = false
  let grouped = false
  let node = root
  while (node.kind !== 'window') {
    switch (node.kind) {
      case 'project':
        if (!node.aggregate && !hasIncremental(node)) return no('the statement does not aggregate')
        break
      case 'projectSet':
      case 'having':
        break
      case 'order':
        ordered = true
        break
      case 'aggregate':
        aggregate = node
        break
      case 'filter':
        filter = node
        break
      default:
        return no(node.kind === 'source' ? 'there is no window' : `the ${node.kind} operator needs the window's rows`)
    }
    node = node.input
  }
  const window = node
  if (window.incremental) return { window, filter, aggregate, aggregates: [] }
  if (!incrementalWindows.has(window.window.kind)) return no(`a ${window.window.kind} window keeps its rows`)
  if (window.window.kind === 'count' && window.window.interval > 0 && window.window.interval !== window.window.length) {
    return no('a count window with an interval keeps its rows')
  }
  grouped = aggregate !== null
  if (ordered && !grouped) return no('ORDER BY chooses the first row of the whole window')

  const aggregates: CallExpression[] = []
  let without: string | null = null
  walkPlan(root, (n) => {
    if (n.kind !== 'project' && n.kind !== 'having' && n.kind !== 'order') return
    for (const e of expressionsOf(n)) {
      some(e, (x) => {
        if (!isAggregate(x)) return false
        aggregates.push(x)
        if (!(functions(x.name) as AggregateFunction).accumulator) without = x.name
        return false
      })
    }
  })
  if (without !== null) return no(`${without} needs all rows of its group`)
  if (aggregates.length === 0) return no('the statement has no aggregate function')
  return { window, filter, aggregate, aggregates }
}

function hasIncremental(node: PlanNode): boolean {
  return expressionsOf(node).some((e) => some(e, (x) => x.kind === 'computed' && x.name.startsWith(INCREMENTAL_PREFIX)))
}

function convert(root: PlanNode, found: Analysis, functions: FunctionLookup): PlanNode {
  const calls: { name: string; call: CallExpression }[] = []
  const take = rewriter((e) => {
    if (e.kind !== 'call' || functions(e.name)?.kind !== 'aggregate' || isHitCounter(e.name)) return e
    const name = `${INCREMENTAL_PREFIX}${calls.length + 1}`
    calls.push({ name, call: e })
    return { kind: 'computed', name, origin: e, at: e.at }
  })
  // The projection names its aggregates first, then HAVING, then ORDER BY.
  const changed = new Map<PlanNode, PlanNode>()
  for (const kind of ['project', 'having', 'order'] as const) {
    walkPlan(root, (n) => {
      if (n.kind !== kind) return
      const next = mapExpressions(n, take)
      changed.set(n, next.kind === 'project' ? { ...next, aggregate: false } : next)
    })
  }
  const incremental = (): IncrementalAggregation => ({
    dimensions: found.aggregate?.dimensions ?? [],
    calls,
    where: found.filter ? and(found.filter.condition, null) : null,
  })
  const rebuild = (node: PlanNode): PlanNode => {
    if (node === found.window) return { ...found.window, incremental: incremental() }
    if (node === found.filter || node === found.aggregate) return rebuild(node.input)
    const next = changed.get(node) ?? node
    return 'input' in next ? ({ ...next, input: rebuild((node as { input: PlanNode }).input) } as PlanNode) : next
  }
  return rebuild(root)
}
