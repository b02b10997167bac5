/** From a rule's document to its plan, with the sources and sinks it names: everything that can be known without connecting. */
import type { RuleAction, RuleDocument } from '../catalog/rule-document.ts'
import { planGraph } from '../plan/graph/index.ts'
import { type PlanEnvironment, planSelect } from '../plan/index.ts'
import type { LogicalPlan, SourceNode } from '../plan/logical.ts'
import { walkPlan } from '../plan/nodes.ts'
import { type Topology, topologyOf } from '../plan/topology.ts'
import { parseSelect } from '../sql/index.ts'
import type { EngineEnvironment } from './environment.ts'
import { type ResolvedSink, resolveSink } from './sink-run.ts'
import { type ResolvedSource, resolveSource } from './source-run.ts'

/** A rule that plans and could be run. */
export interface PlannedRule {
  readonly document: RuleDocument
  readonly plan: LogicalPlan
  readonly sources: ReadonlyMap<SourceNode, ResolvedSource>
  readonly sinks: readonly ResolvedSink[]
  readonly topology: Topology
}

/** Throws IxionError with the reference's message when the rule cannot run as it stands. */
export async function planRule(
  environment: EngineEnvironment,
  document: RuleDocument,
  stream?: PlanEnvironment['stream'],
): Promise<PlannedRule> {
  const { plan, actions } = planDocument(environment, document, stream)
  const sources = new Map<SourceNode, ResolvedSource>()
  walkPlan(plan.root, (node) => {
    if (node.kind === 'source') sources.set(node, resolveSource(environment, node.definition))
  })
  const sinks = await Promise.all(actions.map((action) => resolveSink(environment, document.id, action)))
  const topology = topologyOf(
    plan,
    (node) => (sources.get(node) as ResolvedSource).facts,
    sinks.map((s) => s.facts),
  )
  return { document, plan, sources, sinks, topology }
}

/** The plan of an SQL or graph rule, and its sinks. `stream` finds definitions, by default those of the engine. */
export function planDocument(
  environment: EngineEnvironment,
  document: RuleDocument,
  stream?: PlanEnvironment['stream'],
): { readonly plan: LogicalPlan; readonly actions: readonly RuleAction[] } {
  if (!document.graph) return { plan: planSql(environment, document, stream), actions: document.actions }
  const { plan, sinks } = planGraph(document.graph, planEnvironment(environment, document, stream))
  return { plan, actions: sinks.map((sink, index) => ({ ...sink, index })) }
}

/** The plan of an SQL rule, or of a statement on its way to become one. */
export function planSql(
  environment: EngineEnvironment,
  document: Pick<RuleDocument, 'sql' | 'options' | 'temp'>,
  stream?: PlanEnvironment['stream'],
): LogicalPlan {
  const statement = parseSelect(document.sql, { functions: environment.functions })
  return planSelect(statement, planEnvironment(environment, document, stream))
}

function planEnvironment(
  environment: EngineEnvironment,
  document: Pick<RuleDocument, 'options' | 'temp'>,
  stream: PlanEnvironment['stream'] = (name) => environment.streams.get(name)?.definition,
): PlanEnvironment {
  return {
    stream,
    functions: environment.functions,
    options: document.options,
    ignoreCase: environment.options.ignoreCase ?? false,
    isTemporary: document.temp,
  }
}
