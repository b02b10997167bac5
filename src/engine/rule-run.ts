/** Builds one run of one rule: plan -> operators, sources, sinks, counters. Nothing is connected before `start`. */
import type { RuleAction, RuleDocument } from '../catalog/rule-document.ts'
import {
  type ChainOptions,
  type CompiledChain,
  compileChain,
  type LookupAccess,
  type OperatorLimits,
} from '../compile/chain.ts'
import { loadCodecs } from '../compile/codecs.ts'
import { type ExpressionContext, newHitCounter } from '../compile/expression.ts'
import type { Timer } from '../core/clock.ts'
import { IxionError } from '../core/errors.ts'
import type { LedgerReading } from '../core/ledger.ts'
import type { Row } from '../core/row.ts'
import { getField, type Value, type ValueObject } from '../core/values.ts'
import { createTimestampReader } from '../formats/schema-check.ts'
import type { CallContext } from '../functions/contract.ts'
import { planGraph } from '../plan/graph/index.ts'
import { type PlanEnvironment, planSelect } from '../plan/index.ts'
import type { LogicalPlan, LookupNode, SourceNode } from '../plan/logical.ts'
import { expressionsOf, walkPlan } from '../plan/nodes.ts'
import { type Topology, topologyOf } from '../plan/topology.ts'
import { some } from '../plan/tree.ts'
import { Checkpointer } from '../runtime/checkpointer.ts'
import { NodeMetrics } from '../runtime/metrics.ts'
import { RuleRunner } from '../runtime/rule-runner.ts'
import type { SinkRunner } from '../runtime/sink-runner.ts'
import { SinkWatch } from '../runtime/sink-watch.ts'
import type { StreamRunner } from '../runtime/stream-runner.ts'
import { parseSelect } from '../sql/index.ts'
import { wantedColumns } from './column-types.ts'
import { createColumnarLane, createWindowLane } from './columnar-lane.ts'
import type { EngineEnvironment } from './environment.ts'
import { loadRuleState, saveRuleState } from './rule-state.ts'
import { runningPlan } from './running-plan.ts'
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

/** How long streams wait for bounded scan tables (files) to be read, ms. */
const TABLE_LOAD_LIMIT = 5000

export class RuleRun {
  readonly planned: PlannedRule
  readonly runner: RuleRunner
  readonly sinks: readonly SinkRunner[]
  /** Sources, operators, sinks in the order of status. */
  readonly metrics: readonly NodeMetrics[]
  readonly started: number
  readonly #environment: EngineEnvironment
  readonly #own: readonly StreamRunner[]
  /** Scan tables of this rule alone. */
  readonly tables: readonly { readonly stream: StreamRunner; readonly bounded: boolean }[]
  readonly #expressions: ExpressionContext
  #stopped = false
  readonly #detach: () => Promise<void>
  /** qos 1 and 2. */
  readonly #checkpoints: Checkpointer | null
  readonly #watch: SinkWatch

  private constructor(parts: {
    planned: PlannedRule
    runner: RuleRunner
    sinks: readonly SinkRunner[]
    metrics: readonly NodeMetrics[]
    environment: EngineEnvironment
    own: readonly StreamRunner[]
    tables: RuleRun['tables']
    expressions: ExpressionContext
    detach: () => Promise<void>
    checkpoints: Checkpointer | null
    watch: SinkWatch
  }) {
    this.planned = parts.planned
    this.runner = parts.runner
    this.sinks = parts.sinks
    this.metrics = parts.metrics
    this.#environment = parts.environment
    this.#own = parts.own
    this.tables = parts.tables
    this.#expressions = parts.expressions
    this.#detach = parts.detach
    this.#checkpoints = parts.checkpoints
    this.#watch = parts.watch
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
      partitions: partitionLimit(planned),
    }
    const lookups = await attachLookups(environment, plan)
    const windowLane = await createWindowLane(environment, planned, expressions)
    let chain: CompiledChain
    try {
      const running = runningPlan(plan, environment.functions, namesOf)
      const outputs = plan.graph?.outputs.map((o) => o.node) ?? [running.root]
      const chainOptions: ChainOptions = {
        expressions,
        namesOf: running.namesOf,
        limits,
        incrementalWindow: (window) => windowLane?.operator({ ...plan, root: running.root }, window) ?? null,
        stateful: {
          lateTolerance: options.lateTolerance,
          halfOpenSliding: options.planOptimizeStrategy.windowOption.windowVersion === 'v2',
          sendSlidingTwice: options.planOptimizeStrategy.windowOption.enableSendSlidingWindowTwice,
          limitPolicy: options.limitPolicy,
          keyedTables: options.keyedTables,
          onLate: (row) => sendLate(environment, document.id, row),
          lookup: (node) => lookups.access(node),
        },
      }
      chain = compileChain(running.root, chainOptions, outputs)
    } catch (error) {
      await lookups.release()
      throw error
    }

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
        next: s.next,
        policy: fullPolicy(s.node, planned, options.disableBufferFullDiscard),
        table: s.table,
      })),
      sinks: sinks.map((s) => s.runner),
      ...(plan.graph && { outputs: plan.graph.outputs.map((o) => o.sinks) }),
      sendError: options.sendError,
      maxEvents: Math.max(1, options.bufferLength),
      maxBytes: options.bufferBytes,
      onEnd,
    })

    const watch = new SinkWatch(
      sinks.map((s) => s.runner),
      clock,
    )
    const checkpoints =
      options.qos > 0 && !document.temp
        ? new Checkpointer({
            rule: document.id,
            store: environment.checkpoints,
            clock,
            log: environment.log,
            interval: options.checkpointInterval,
            snapshot: () => run.checkpoint(),
            replays: () => own.some((stream) => stream.offset() !== undefined),
            delivered: () => watch.delivered(),
          })
        : null
    const stateful = chain.stages.some((s) => s.operator.save) || expressions.states.size > 0
    const durable = checkpoints
      ? { durable: () => (stateful ? checkpoints.durable() : deliveredOrRefused(watch, document.id)) }
      : {}

    const own: StreamRunner[] = []
    const tables: { stream: StreamRunner; bounded: boolean }[] = []
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
          ...durable,
        }
        const isShared = definition.options.shared ?? false
        let stream: StreamRunner
        if (isShared) {
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
          if (source.table) tables.push({ stream, bounded: resolved.connector.bounded })
        }
        let nodes = stream.chain.metrics
        if (stream.chain.raw) {
          // Of a shared stream the rule counts what it decodes itself.
          const counted = isShared ? nodes.map((n) => new NodeMetrics('op', n.name, clock)) : nodes
          const named = (kind: string): NodeMetrics | undefined => stages.find((x) => x.operator.name === kind)?.metrics
          const [decoder] = counted
          const filter = named('filter')
          const window = windowLane?.lane({ decoder, filter, window: named('inc_agg_window') }) ?? null
          const stateless = window
            ? null
            : await createColumnarLane(environment, planned, expressions, columns, {
                decoder,
                filter,
                project: named('project'),
                sinks: sinks.flatMap((x) => x.chainMetrics),
              })
          const lane = window ?? stateless
          if (lane) {
            runner.useColumnarLane(lane)
            nodes = counted
          }
          if (stateless && isShared) shared.shareScan(definition.name, consumer, stateless)
        }
        sourceMetrics.push(stream.metrics)
        chainMetrics.push(...nodes)
      }
    } catch (error) {
      for (const input of runner.inputs) input.close()
      for (const a of attached) await shared.detach(a.name, a.consumer)
      await lookups.release()
      throw error
    }
    const run: RuleRun = new RuleRun({
      planned,
      runner,
      sinks: sinks.map((s) => s.runner),
      metrics: [
        ...sourceMetrics,
        ...chainMetrics,
        ...stages.filter((s) => s.shown).map((s) => s.metrics),
        ...sinks.flatMap((s) => s.chainMetrics),
        ...sinks.map((s) => s.runner.metrics),
      ],
      environment,
      own,
      tables,
      expressions,
      detach: async () => {
        for (const a of attached) await shared.detach(a.name, a.consumer)
        await lookups.release()
      },
      checkpoints,
      watch,
    })
    if (checkpoints) await run.#restoreCheckpoint(await checkpoints.latest())
    return run
  }

  start(shared: SharedStreams): void {
    this.runner.start()
    this.#checkpoints?.start()
    for (const table of this.tables) table.stream.start()
    const startStreams = (): void => {
      if (this.#stopped) return
      for (const stream of this.#own) stream.start()
      shared.startAll()
    }
    const loading = this.tables.filter((t) => t.bounded).map((t) => t.stream.ended)
    if (loading.length === 0) startStreams()
    else void this.#atMost(TABLE_LOAD_LIMIT, Promise.all(loading)).then(startStreams)
  }

  /** Waits for `work`, but no longer than `limit` ms. */
  async #atMost(limit: number, work: Promise<unknown>): Promise<void> {
    let timer: Timer | undefined
    const late = new Promise<void>((resolve) => {
      timer = this.#environment.clock.after(limit, resolve)
    })
    await Promise.race([work, late])
    timer?.cancel()
  }

  /** See {@link saveRuleState}. */
  snapshot(): Value {
    return saveRuleState(this.runner, this.#expressions.states)
  }

  /** Before {@link start}. */
  restore(state: Value): void {
    loadRuleState(this.runner, this.#expressions.states, state)
  }

  /** State and positions of sources, or null while rows wait in front of the rule: the positions are already behind them. */
  checkpoint(): Value | null {
    if (!this.runner.inputs.every((input) => input.empty)) return null
    const offsets: ValueObject = {}
    for (const stream of this.#own) {
      const offset = stream.offset()
      if (offset !== undefined) offsets[stream.name] = offset
    }
    return { plan: fingerprint(this.planned.document), state: this.snapshot(), offsets }
  }

  async #restoreCheckpoint(saved: Value): Promise<void> {
    if (saved === null) return
    const { document } = this.planned
    const { log } = this.#environment
    const { plan, state, offsets } = saved as ValueObject
    if (plan !== fingerprint(document)) {
      log.warn('the rule has changed since its last checkpoint and starts without state', { rule: document.id })
      return
    }
    try {
      this.restore(state as Value)
      for (const stream of this.#own) {
        const offset = getField(offsets as ValueObject, stream.name)
        if (offset !== undefined) await stream.rewind(offset)
      }
    } catch (error) {
      await this.stop()
      throw error
    }
  }

  /** Sources stop first, then what is inside drains for at most the engine's limit, then sinks close. */
  async stop(): Promise<void> {
    this.#stopped = true
    const { clock, options } = this.#environment
    const deadline = clock.now() + (options.drainLimit ?? defaultDrainLimit)
    // Sources deliver nothing from here on; closing may wait for senders that wait for an answer.
    const closed = Promise.all(this.#own.map((s) => s.stop()))
    this.runner.resume()
    this.#watch.stop()
    await this.#checkpoints?.stop(this.planned.document.options.enableSaveStateBeforeStop)
    await closed
    await this.#detach()
    await this.runner.stop(Math.max(0, deadline - clock.now()))
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

/** For rules without state: a sender is answered when what its events gave has been sent. */
async function deliveredOrRefused(watch: SinkWatch, rule: string): Promise<void> {
  if (await watch.delivered()) return
  throw new IxionError('CONNECTION', `rule ${rule} stopped before its results were sent`)
}

/** The rule's limit, or a lower one of its streams (PARTITION_LIMIT). */
function partitionLimit({ document, plan }: Pick<PlannedRule, 'document' | 'plan'>): number {
  const own = plan.sources.map((s) => Number(s.definition.options.extensions?.['partition_limit'] ?? Infinity))
  return Math.min(document.options.partitionLimit, ...own)
}

/** What must be the same for a checkpoint to fit the rule. */
function fingerprint({ sql, graph, options }: RuleDocument): string {
  return JSON.stringify([sql, graph ?? null, options.isEventTime, options.planOptimizeStrategy])
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
    maxPartitions: partitionLimit({ document, plan }),
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
