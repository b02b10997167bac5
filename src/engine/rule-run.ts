/** Builds one run of one rule: plan -> operators, sources, sinks, counters. Nothing is connected before `start`. */
import type { RuleDocument } from '../catalog/rule-document.ts'
import { compileChain, type OperatorLimits } from '../compile/chain.ts'
import { loadCodecs } from '../compile/codecs.ts'
import { type ExpressionContext, newHitCounter } from '../compile/expression.ts'
import type { LedgerReading } from '../core/ledger.ts'
import { createTimestampReader } from '../formats/schema-check.ts'
import type { CallContext } from '../functions/contract.ts'
import { planSelect } from '../plan/index.ts'
import type { LogicalPlan, SourceNode } from '../plan/logical.ts'
import { expressionsOf, walkPlan } from '../plan/nodes.ts'
import { type Topology, topologyOf } from '../plan/topology.ts'
import { some } from '../plan/tree.ts'
import { NodeMetrics } from '../runtime/metrics.ts'
import { RuleRunner } from '../runtime/rule-runner.ts'
import type { SinkRunner } from '../runtime/sink-runner.ts'
import type { StreamRunner } from '../runtime/stream-runner.ts'
import { parseSelect } from '../sql/index.ts'
import { wantedColumns } from './column-types.ts'
import { createColumnarLane, laneIsPossible } from './columnar-lane.ts'
import type { EngineEnvironment } from './environment.ts'
import { defaultDrainLimit } from './settings.ts'
import type { SharedStreams } from './shared-streams.ts'
import { createSinkRun, type ResolvedSink, resolveSink } from './sink-run.ts'
import { createSourceRun, type ResolvedSource, resolveSource } from './source-run.ts'

/** A rule that plans: everything that can be known without connecting. */
export interface PlannedRule {
  readonly document: RuleDocument
  readonly plan: LogicalPlan
  readonly sources: ReadonlyMap<SourceNode, ResolvedSource>
  readonly sinks: readonly ResolvedSink[]
  readonly topology: Topology
}

/** Throws IxionError with the reference's message when the rule cannot run as it stands. */
export async function planRule(environment: EngineEnvironment, document: RuleDocument): Promise<PlannedRule> {
  const plan = planSql(environment, document)
  const sources = new Map<SourceNode, ResolvedSource>()
  walkPlan(plan.root, (node) => {
    if (node.kind === 'source') sources.set(node, resolveSource(environment, node.definition))
  })
  const sinks = await Promise.all(document.actions.map((action) => resolveSink(environment, document.id, action)))
  const topology = topologyOf(
    plan,
    (node) => (sources.get(node) as ResolvedSource).facts,
    sinks.map((s) => s.facts),
  )
  return { document, plan, sources, sinks, topology }
}

export function planSql(
  environment: EngineEnvironment,
  document: Pick<RuleDocument, 'sql' | 'options' | 'temp'>,
): LogicalPlan {
  return planSelect(parseSelect(document.sql, { functions: environment.functions }), {
    stream: (name) => environment.streams.get(name)?.definition,
    functions: environment.functions,
    options: document.options,
    ignoreCase: environment.options.ignoreCase ?? false,
    isTemporary: document.temp,
  })
}

export class RuleRun {
  readonly planned: PlannedRule
  readonly runner: RuleRunner
  readonly sinks: readonly SinkRunner[]
  /** Sources, operators, sinks in the order of status. */
  readonly metrics: readonly NodeMetrics[]
  readonly started: number
  readonly #environment: EngineEnvironment
  readonly #own: readonly StreamRunner[]
  readonly #detach: () => Promise<void>

  private constructor(parts: {
    planned: PlannedRule
    runner: RuleRunner
    sinks: readonly SinkRunner[]
    metrics: readonly NodeMetrics[]
    environment: EngineEnvironment
    own: readonly StreamRunner[]
    detach: () => Promise<void>
  }) {
    this.planned = parts.planned
    this.runner = parts.runner
    this.sinks = parts.sinks
    this.metrics = parts.metrics
    this.#environment = parts.environment
    this.#own = parts.own
    this.#detach = parts.detach
    this.started = parts.environment.clock.now()
  }

  static async create(
    environment: EngineEnvironment,
    shared: SharedStreams,
    planned: PlannedRule,
    onEnd: (error: Error | null) => void,
  ): Promise<RuleRun> {
    const { document, plan, topology } = planned
    const { options } = document
    const { clock } = environment
    const expressions = await expressionContext(environment, document, plan)
    const namesOf = (node: unknown): string[] =>
      topology.nodes.filter((n) => n.plan === node && n.kind === 'op').map((n) => n.name)
    const limits: OperatorLimits = {
      windowRows: options.windowLimit,
      windowBytes: options.windowBytes,
      groups: options.groupLimit,
      partitions: options.partitionLimit,
    }
    const chain = compileChain(plan.root, { expressions, namesOf, limits })

    let runner: RuleRunner
    const sinks = await Promise.all(
      planned.sinks.map((sink) => createSinkRun(environment, document, sink, () => runner.resume())),
    )
    const stages = chain.stages.map((s) => ({ ...s, metrics: new NodeMetrics('op', s.name, clock) }))
    runner = new RuleRunner({
      id: document.id,
      clock,
      log: environment.log,
      timezone: environment.timezone,
      stages,
      inputs: chain.sources.map((s) => ({
        name: s.node.emitter,
        stage: s.stage,
        policy: fullPolicy(s.node, planned, options.disableBufferFullDiscard),
      })),
      sinks: sinks.map((s) => s.runner),
      sendError: options.sendError,
      maxEvents: Math.max(1, options.bufferLength),
      maxBytes: options.bufferBytes,
      onEnd,
    })

    const own: StreamRunner[] = []
    const attached: { name: string; consumer: (typeof runner.inputs)[number] }[] = []
    const sourceMetrics: NodeMetrics[] = []
    const chainMetrics: NodeMetrics[] = []
    try {
      for (const [i, source] of chain.sources.entries()) {
        const { node } = source
        const { definition } = node
        const resolved = planned.sources.get(node) as ResolvedSource
        const fields = plan.sources.find((s) => s.emitter === node.emitter)?.fields ?? definition.fields
        const columns = wantedColumns(node, fields)
        const consumer = runner.inputs[i] as (typeof runner.inputs)[number]
        const attachment = {
          consumer,
          emitter: node.emitter,
          timestampOf: node.eventTime ? createTimestampReader(definition, { zone: environment.timezone }) : null,
        }
        let stream: StreamRunner
        if (definition.options.shared) {
          stream = await shared.attach(resolved, attachment, columns, source.chain)
          attached.push({ name: definition.name, consumer })
        } else {
          stream = await createSourceRun(environment, resolved, {
            names: source.chain,
            columns,
            metaUnused: node.meta !== null && node.meta.length === 0,
          })
          stream.attach(attachment)
          own.push(stream)
          if (stream.chain.raw && laneIsPossible(planned)) {
            const named = (kind: string): NodeMetrics | undefined =>
              stages.find((x) => x.operator.name === kind)?.metrics
            const lane = await createColumnarLane(environment, planned, expressions, columns, {
              decoder: stream.chain.metrics[0],
              filter: named('filter'),
              project: named('project'),
              sinks: sinks.flatMap((x) => x.chainMetrics),
            })
            if (lane) runner.useColumnarLane(lane)
          }
        }
        sourceMetrics.push(stream.metrics)
        chainMetrics.push(...stream.chain.metrics)
      }
    } catch (error) {
      for (const a of attached) await shared.detach(a.name, a.consumer)
      throw error
    }
    return new RuleRun({
      planned,
      runner,
      sinks: sinks.map((s) => s.runner),
      metrics: [
        ...sourceMetrics,
        ...chainMetrics,
        ...stages.map((s) => s.metrics),
        ...sinks.flatMap((s) => s.chainMetrics),
        ...sinks.map((s) => s.runner.metrics),
      ],
      environment,
      own,
      detach: async () => {
        for (const a of attached) await shared.detach(a.name, a.consumer)
      },
    })
  }

  start(shared: SharedStreams): void {
    this.runner.start()
    for (const stream of this.#own) stream.start()
    shared.startAll()
  }

  /** Sources stop first, then what is inside drains for at most the engine's limit, then sinks close. */
  async stop(): Promise<void> {
    await Promise.all(this.#own.map((s) => s.stop()))
    await this.#detach()
    await this.runner.stop(this.#environment.options.drainLimit ?? defaultDrainLimit)
  }

  /** Streams of this rule alone, for the data feed. */
  get streams(): readonly StreamRunner[] {
    return this.#own
  }

  ledger(): { rule: LedgerReading; sinks: Record<string, LedgerReading>; streams: Record<string, LedgerReading> } {
    return {
      rule: this.runner.read(),
      sinks: Object.fromEntries(this.sinks.map((s) => [s.metrics.name, s.read()])),
      streams: Object.fromEntries(this.#own.map((s) => [s.name, s.ledger.read(0)])),
    }
  }
}

async function expressionContext(
  environment: EngineEnvironment,
  document: RuleDocument,
  plan: LogicalPlan,
): Promise<ExpressionContext> {
  const call: CallContext = {
    clock: environment.clock,
    timezone: environment.timezone,
    ruleId: document.id,
    ruleStart: environment.clock.now(),
    row: null,
    window: null,
    keyedState: environment.keyedState,
    props: environment.options.props ?? {},
    ...(callsCompression(plan) && { codecs: await loadCodecs() }),
  }
  return {
    functions: environment.functions,
    call,
    states: new Map(),
    hits: newHitCounter(),
    aggregateHits: newHitCounter(),
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

/**
 * A stream's own BUFFER_FULL_POLICY wins. Without one, a source that can be paused is paused; one that cannot drops its oldest,
 * as the reference does.
 */
function fullPolicy(
  node: SourceNode,
  planned: PlannedRule,
  neverDiscard: boolean,
): 'block' | 'dropOldest' | 'dropNewest' {
  const policy = String(node.definition.options.extensions?.['buffer_full_policy'] ?? '').toLowerCase()
  if (policy === 'dropoldest') return 'dropOldest'
  if (policy === 'dropnewest') return 'dropNewest'
  const pausable = planned.sources.get(node)?.connector.pausable ?? false
  return policy === 'block' || neverDiscard || pausable ? 'block' : 'dropOldest'
}
