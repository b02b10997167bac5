/** Logical plan -> operators in their places, from the sources to the sinks. */
import type { Row } from '../core/row.ts'
import { aggregateFilterOperator } from '../operators/aggregate-filter.ts'
import { analyticOperator } from '../operators/analytic.ts'
import { assignOperator } from '../operators/assign.ts'
import type { Operator } from '../operators/contract.ts'
import { filterOperator } from '../operators/filter.ts'
import { groupOperator } from '../operators/group.ts'
import { havingOperator } from '../operators/having.ts'
import type { LookupCacheOptions, LookupTable } from '../operators/lookup.ts'
import { orderOperator } from '../operators/order.ts'
import { type ProjectField, projectOperator } from '../operators/project.ts'
import { projectSetOperator } from '../operators/project-set.ts'
import { rowNumberOperator } from '../operators/row-number.ts'
import { switchOperator } from '../operators/switch.ts'
import type { WatermarkOptions } from '../operators/watermark.ts'
import { boundedText } from '../plan/expression-text.ts'
import type { LookupNode, PlanNode, SourceNode, SwitchOutputNode, UnionNode } from '../plan/logical.ts'
import { inputsOf, walkPlan } from '../plan/nodes.ts'
import type { CallExpression, SelectField, SortKey } from '../sql/ast.ts'
import { explainExpression } from '../sql/explain.ts'
import { aggregateHitNames, usesHits } from './call.ts'
import type { ColumnarWindowOptions } from './columnar/window.ts'
import { compileExpression, compileOrMissing, type ExpressionContext } from './expression.ts'
import { countHit, hitState, withOwnHits } from './hits.ts'
import { compileStatefulNode } from './stateful.ts'

export interface CompiledStage {
  readonly operator: Operator
  /** `3_filter`; a lookup is named after its table. */
  readonly name: string
  /** False for operators that a graph rule needs but its document does not name: no status, no topology. */
  readonly shown: boolean
  /** Indexes of the stages fed by this one; below 0, output -1 - n of the plan: -1 is the sinks of an SQL rule. */
  readonly next: number[]
  /** A switch: what each of its outputs feeds, as in `next`, which then is empty. */
  readonly outputs: readonly number[][] | null
  /** How many stages and streams feed this one; tables do not count. */
  inputs: number
}

export interface CompiledSource {
  readonly node: SourceNode
  /** What its rows enter, as in {@link CompiledStage.next}. */
  readonly next: number[]
  /** Names of the source chain in order: `2_decoder`, `3_preprocessor`. */
  readonly chain: readonly string[]
  /** A scan table: its rows are kept beside the stream, not passed through it. */
  readonly table: boolean
}

export interface CompiledChain {
  /** From the sources to the sinks; every stage's successor stands behind it. */
  readonly stages: readonly CompiledStage[]
  readonly sources: readonly CompiledSource[]
}

export interface ChainOptions {
  readonly expressions: ExpressionContext
  /** Names of the runtime nodes of a plan node, in order (src/plan/topology.ts): an operator's, or a source chain's. */
  readonly namesOf: (node: PlanNode) => readonly string[]
  readonly limits: OperatorLimits
  /** What statefully kept rows depend on beside the statement. Absent = the defaults of rule options. */
  readonly stateful?: StatefulOptions
  /** Another operator for the plan's watermark, or null. */
  readonly watermark?: (options: WatermarkOptions) => Operator | null
  /** Another operator for the plan's incremental window, or null. */
  readonly incrementalWindow?: (options: ColumnarWindowOptions) => Operator | null
  /** Set by {@link compileChain}: every window is of a kind that does not care how often the watermark moves. */
  readonly coalesceWatermarks?: boolean
}

/** Rule options and surroundings of windows, watermarks, joins and lookups. */
export interface StatefulOptions {
  /** ms, default 1000. */
  readonly lateTolerance?: number
  /** windowVersion v2: half-open sliding windows. */
  readonly halfOpenSliding?: boolean
  /** enableSendSlidingWindowTwice. */
  readonly sendSlidingTwice?: boolean
  readonly limitPolicy?: 'dropOldest' | 'fail'
  /** KEY of a scan table makes it an upsert table. Default false, as in the reference. */
  readonly keyedTables?: boolean
  /** Late rows of streams with LATE_POLICY="side". */
  readonly onLate?: (row: Row) => void
  /** The running table behind a lookup join. */
  readonly lookup?: (node: LookupNode) => LookupAccess
}

export interface LookupAccess {
  readonly table: LookupTable
  readonly cache: LookupCacheOptions | null
  /** Questions on their way at a time. */
  readonly maxInFlight: number
}

/** Bounds of operator state (DESIGN.md, promise 2). */
export interface OperatorLimits {
  readonly windowRows: number
  readonly windowBytes: number
  readonly groups: number
  readonly partitions: number
}

export const defaultLimits: OperatorLimits = {
  windowRows: 1_000_000,
  windowBytes: 256 * 1024 * 1024,
  groups: 1_000_000,
  partitions: 1_000_000,
}

/** Something that feeds stages or sinks: a stage, a source, or one output of a switch. */
interface Feeder {
  readonly next: number[]
  /** A scan table: never ends a rule. */
  readonly table: boolean
}

/** `outputs` of a graph rule's plan are its sinks' inputs; an SQL rule has one, its root. */
export function compileChain(
  root: PlanNode,
  given: ChainOptions,
  outputs: readonly PlanNode[] = [root],
): CompiledChain {
  const options: ChainOptions = { ...given, coalesceWatermarks: outputs.every(onlyAlignedWindows) }
  const stages: CompiledStage[] = []
  const sources: CompiledSource[] = []
  const built = new Map<PlanNode, readonly Feeder[]>()
  const switches = new Map<PlanNode, CompiledStage>()

  /** Compiles what is below `node`, then node itself; returns what feeds the next stage. A node is compiled once. */
  const build = (node: PlanNode, table: boolean): readonly Feeder[] => {
    let feeders = built.get(node)
    if (!feeders) {
      feeders = compile(node, table)
      built.set(node, feeders)
    }
    return feeders
  }
  const compile = (node: PlanNode, table: boolean): readonly Feeder[] => {
    const names = options.namesOf(node)
    if (node.kind === 'source') {
      const source: CompiledSource = { node, next: [], chain: names, table }
      sources.push(source)
      return [source]
    }
    let feeders = inputsOf(node).flatMap((input) => build(input, node.kind === 'joinAlign' && input !== node.input))
    if (node.kind === 'union') return feeders
    if (node.kind === 'switchOutput') {
      const next = switches.get(node.input)?.outputs?.[node.output] as number[]
      return [{ next, table: false }]
    }
    compileNode(node, options).forEach((operator, i) => {
      const stage: CompiledStage = {
        operator,
        name: names[i] ?? `${operator.name}_${stages.length}`,
        shown: names[i] !== undefined,
        next: [],
        outputs: node.kind === 'switch' ? node.cases.map(() => []) : null,
        // Tables never end a rule: their stage ends with its other inputs.
        inputs: feeders.filter((f) => !f.table).length,
      }
      const index = stages.push(stage) - 1
      for (const feeder of feeders) feeder.next.push(index)
      if (node.kind === 'switch') switches.set(node, stage)
      feeders = [{ next: stage.next, table: false }]
    })
    return feeders
  }
  outputs.forEach((node, i) => {
    for (const feeder of build(node, false)) feeder.next.push(-1 - i)
  })
  return { stages, sources }
}

/** Tumbling and hopping windows fire by where the watermark is, not by how often it moved there. */
function onlyAlignedWindows(root: PlanNode): boolean {
  let aligned = true
  walkPlan(root, (node) => {
    if (node.kind === 'window') aligned &&= node.window.kind === 'tumbling' || node.window.kind === 'hopping'
  })
  return aligned
}

/** The operators of one plan node, in order; most have one, a window with a FILTER has two. */
function compileNode(
  node: Exclude<PlanNode, SourceNode | UnionNode | SwitchOutputNode>,
  rule: ChainOptions,
): Operator[] {
  const c = withOwnHits(rule.expressions, node.kind)
  const options = { ...rule, expressions: c }
  switch (node.kind) {
    case 'analytic':
      return [analyticOperator(compileCalls(node.calls, c))]
    case 'aggFunc':
      return [aggregateFilterOperator(compileCalls(node.calls, c))]
    case 'filter': {
      const onHit = usesHits(node.condition) ? countHit(c) : undefined
      return [filterOperator(compileExpression(node.condition, c), onHit && { onHit })]
    }
    case 'aggregate':
      return [
        groupOperator({
          dimensions: node.dimensions.map((d) => compileExpression(d, c)),
          maxGroups: options.limits.groups,
          policy: options.stateful?.limitPolicy ?? 'dropOldest',
        }),
      ]
    case 'having': {
      const onHit = (trigger: number): void => {
        c.aggregateHits.count++
        c.aggregateHits.time = BigInt(trigger)
      }
      const counts = usesHits(node.condition, aggregateHitNames)
      if (counts) c.states.set('$$agg_hits', hitState(c.aggregateHits))
      return [havingOperator(compileExpression(node.condition, c), counts ? onHit : undefined)]
    }
    case 'windowFunction':
      return [
        rowNumberOperator(
          node.calls.map(({ name, call }) => ({
            name,
            partition: call.partition.map((p) => compileExpression(p, c)),
            order: compileKeys(call.order, c),
          })),
        ),
      ]
    case 'order':
      return [orderOperator(compileKeys(node.keys, c))]
    case 'project':
      return [
        projectOperator({
          ...node,
          fields: node.fields.map((f) => compileField(f, c)),
          onRow: node.fields.some((f) => usesHits(f.expression)) ? countHit(c) : undefined,
        }),
      ]
    case 'projectSet':
      return [projectSetOperator({ name: node.name, functionName: node.call.name, limit: node.limit })]
    case 'assign':
      return [assignOperator({ ...node, evaluate: compileExpression(node.call, c) })]
    case 'switch': {
      const cases = node.cases.map((e) => ({ condition: compileExpression(e, c), text: explainExpression(e) }))
      return [switchOperator({ node: node.name, cases, stopAtFirstMatch: node.stopAtFirstMatch })]
    }
    default:
      return compileStatefulNode(node, options)
  }
}

export function compileKeys(keys: readonly SortKey[], c: ExpressionContext) {
  return keys.map((k) => ({ evaluate: compileExpression(k.expression, c), ascending: k.ascending }))
}

function compileCalls(
  calls: readonly { readonly name: string; readonly call: CallExpression }[],
  c: ExpressionContext,
) {
  return calls.map(({ name, call }) => ({ name, evaluate: compileExpression(call, c) }))
}

export function compileField(field: SelectField, c: ExpressionContext): ProjectField {
  const { expression: e, alias } = field
  if (e.kind === 'wildcard') {
    return {
      kind: 'wildcard',
      stream: e.stream,
      except: e.except,
      replace: e.replace.map((r) => ({
        name: r.name,
        evaluate: compileExpression(r.expression, c),
        label: labelOf(r.name, r.expression),
      })),
    }
  }
  const label = labelOf(alias, e)
  if (e.kind === 'call' && alias === null && c.functions(e.name)?.kind === 'multiColumn') {
    return { kind: 'columns', evaluate: compileExpression(e, c), label }
  }
  // Evaluated as the alias it defines, so that WHERE and the field share one value per row (spec/sql.md 2.7).
  const value =
    alias !== null && e.kind !== 'alias' ? ({ kind: 'alias', name: alias, expression: e, at: e.at } as const) : e
  const shape = alias !== null ? 'alias' : e.kind === 'column' ? 'column' : 'expression'
  return {
    kind: 'value',
    name: alias ?? field.name,
    shape,
    evaluate: shape === 'column' ? compileOrMissing(e, c) : compileExpression(value, c),
    visible: !field.invisible,
    label,
  }
}

function labelOf(alias: string | null, e: SelectField['expression']): string {
  const text = `expr: ${boundedText(e.kind === 'alias' ? e.expression : e)}`
  return alias === null ? text : `alias: ${alias} ${text}`
}
