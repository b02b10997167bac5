/** The operators of a planned rule, with what they need of the engine: limits, lookup tables, a way out for late rows. */
import { type CompiledChain, compileChain, type LookupAccess } from '../compile/chain.ts'
import { loadCodecs } from '../compile/codecs.ts'
import { type ExpressionContext, newHitCounter } from '../compile/expression.ts'
import type { Row } from '../core/row.ts'
import type { CallContext } from '../functions/contract.ts'
import type { LogicalPlan, LookupNode, PlanNode } from '../plan/logical.ts'
import { expressionsOf, walkPlan } from '../plan/nodes.ts'
import { some } from '../plan/tree.ts'
import { createWindowLane, type WindowLane } from './columnar-lane.ts'
import type { EngineEnvironment } from './environment.ts'
import type { PlannedRule } from './planned-rule.ts'
import { runningPlan } from './running-plan.ts'

export interface RuleOperators {
  readonly chain: CompiledChain
  /** What expressions share during one run, states of stateful functions included. */
  readonly expressions: ExpressionContext
  /** The columnar form of the rule's window, where its source allows one. */
  readonly windowLane: WindowLane | null
  /** Gives the lookup tables back. */
  release(): Promise<void>
}

/** Holds the rule's lookup tables, connected, until `release`. Throws what planning could not know, such as a table that does not connect. */
export async function compileOperators(environment: EngineEnvironment, planned: PlannedRule): Promise<RuleOperators> {
  const { plan } = planned
  const expressions = await expressionContext(environment, planned)
  const lookups = await attachLookups(environment, plan)
  try {
    const running = runningPlanOf(environment, planned)
    const windowLane = await createWindowLane(environment, planned, { ...plan, root: running.root }, expressions)
    const chain = compilePlan(environment, planned, running, expressions, windowLane, lookups.access)
    return { chain, expressions, windowLane, release: lookups.release }
  } catch (error) {
    await lookups.release()
    throw error
  }
}

function runningPlanOf({ functions }: EngineEnvironment, { plan, topology }: PlannedRule) {
  const operatorNames = (node: PlanNode): string[] =>
    topology.nodes.filter((n) => n.plan === node && n.kind === 'op').map((n) => n.name)
  return runningPlan(plan, functions, operatorNames)
}

function compilePlan(
  environment: EngineEnvironment,
  planned: PlannedRule,
  { root, namesOf }: ReturnType<typeof runningPlan>,
  expressions: ExpressionContext,
  windowLane: WindowLane | null,
  lookup: (node: LookupNode) => LookupAccess,
): CompiledChain {
  const { document, plan } = planned
  const { options } = document
  const { windowOption } = options.planOptimizeStrategy
  return compileChain(
    root,
    {
      expressions,
      namesOf,
      limits: {
        windowRows: options.windowLimit,
        windowBytes: options.windowBytes,
        groups: options.groupLimit,
        partitions: partitionLimit(planned),
      },
      watermark: (options) => windowLane?.watermark(options) ?? null,
      incrementalWindow: (options) => windowLane?.window(options) ?? null,
      stateful: {
        lateTolerance: options.lateTolerance,
        halfOpenSliding: windowOption.windowVersion === 'v2',
        sendSlidingTwice: windowOption.enableSendSlidingWindowTwice,
        limitPolicy: options.limitPolicy,
        keyedTables: options.keyedTables,
        onLate: (row) => sendLate(environment, document.id, row),
        lookup,
      },
    },
    plan.graph?.outputs.map((o) => o.node) ?? [root],
  )
}

/** The rule's limit, or a lower one of its streams (PARTITION_LIMIT). */
function partitionLimit({ document, plan }: PlannedRule): number {
  const own = plan.sources.map((s) => Number(s.definition.options.extensions?.['partition_limit'] ?? Infinity))
  return Math.min(document.options.partitionLimit, ...own)
}

async function expressionContext(environment: EngineEnvironment, planned: PlannedRule): Promise<ExpressionContext> {
  const call: CallContext = {
    clock: environment.clock,
    timezone: environment.timezone,
    ruleId: planned.document.id,
    ruleStart: environment.clock.now(),
    row: null,
    window: null,
    keyedState: environment.keyedState,
    props: environment.options.props ?? {},
    ...(callsCompression(planned.plan) && { codecs: await loadCodecs() }),
  }
  return {
    functions: environment.functions,
    call,
    states: new Map(),
    hits: newHitCounter(),
    aggregateHits: newHitCounter(),
    ...(environment.options.ignoreCase && { ignoreCase: true }),
    maxPartitions: partitionLimit(planned),
  }
}

function callsCompression(plan: LogicalPlan): boolean {
  let found = false
  walkPlan(plan.root, (node) => {
    if (node.kind === 'source') return
    for (const root of expressionsOf(node)) {
      found ||= some(root, (e) => e.kind === 'call' && (e.name === 'compress' || e.name === 'decompress'))
    }
  })
  return found
}

/** The lookup tables a plan joins with, connected; `release` gives them back. */
async function attachLookups(environment: EngineEnvironment, plan: LogicalPlan) {
  const nodes: LookupNode[] = []
  walkPlan(plan.root, (node) => {
    if (node.kind === 'lookup') nodes.push(node)
  })
  const attached = new Map<string, { access: LookupAccess; release: () => Promise<void> }>()
  const release = async (): Promise<void> => {
    for (const table of attached.values()) await table.release()
    attached.clear()
  }
  try {
    for (const { definition } of nodes) {
      if (attached.has(definition.name)) continue
      attached.set(definition.name, await environment.lookups.attach(environment, definition))
    }
  } catch (error) {
    await release()
    throw error
  }
  return { release, access: (node: LookupNode) => attached.get(node.definition.name)?.access as LookupAccess }
}

/** LATE_POLICY="side": late rows are published to the memory topic `late/RULE/STREAM`. */
function sendLate(environment: EngineEnvironment, rule: string, row: Row): void {
  const topic = `late/${rule}/${row.emitter}`
  void environment.topics.publish({ topic, rows: [row.message], rowKinds: null, timestamp: row.timestamp })
}
