/** One run of one rule: its operators, sources, sinks and counters. Nothing is connected before `start`. */
import type { RuleDocument } from '../catalog/rule-document.ts'
import { IxionError } from '../core/errors.ts'
import type { LedgerReading } from '../core/ledger.ts'
import { getField, type Value, type ValueObject } from '../core/values.ts'
import { settlesWithin } from '../core/waiting.ts'
import { Checkpointer } from '../runtime/checkpointer.ts'
import { NodeMetrics } from '../runtime/metrics.ts'
import { RuleRunner, type RuleRunnerOptions } from '../runtime/rule-runner.ts'
import type { SinkRunner } from '../runtime/sink-runner.ts'
import { SinkWatch } from '../runtime/sink-watch.ts'
import type { StreamRunner } from '../runtime/stream-runner.ts'
import type { EngineEnvironment } from './environment.ts'
import type { PlannedRule } from './planned-rule.ts'
import { compileOperators, type RuleOperators } from './rule-operators.ts'
import { attachSources, fullPolicy, type RuleSources } from './rule-sources.ts'
import { loadRuleState, saveRuleState } from './rule-state.ts'
import { defaultDrainLimit } from './settings.ts'
import type { SharedStreams } from './shared-streams.ts'
import { createSinkRun, type SinkRun } from './sink-run.ts'

/** How long streams wait for bounded scan tables (files) to be read, ms. */
const TABLE_LOAD_LIMIT = 5000

export interface RuleLedger {
  readonly rule: LedgerReading
  /** By name in status. */
  readonly sinks: Readonly<Record<string, LedgerReading>>
  /** Of the rule's own streams. */
  readonly streams: Readonly<Record<string, LedgerReading>>
}

interface RuleRunParts {
  readonly environment: EngineEnvironment
  readonly planned: PlannedRule
  readonly runner: RuleRunner
  readonly operators: RuleOperators
  readonly sources: RuleSources
  readonly sinks: readonly SinkRun[]
  readonly watch: SinkWatch
  /** qos 1 and 2. */
  readonly checkpoints: Checkpointer | null
}

export class RuleRun {
  readonly planned: PlannedRule
  readonly runner: RuleRunner
  /** Sources, operators, sinks in the order of status. */
  readonly #metrics: readonly NodeMetrics[]
  readonly #environment: EngineEnvironment
  readonly #operators: RuleOperators
  readonly #sources: RuleSources
  readonly #sinks: readonly SinkRunner[]
  readonly #watch: SinkWatch
  readonly #checkpoints: Checkpointer | null
  #started = false
  #stopped = false

  private constructor(parts: RuleRunParts) {
    const { planned, runner, operators, sources, sinks } = parts
    this.planned = planned
    this.runner = runner
    this.#environment = parts.environment
    this.#operators = operators
    this.#sources = sources
    this.#sinks = sinks.map((s) => s.runner)
    this.#watch = parts.watch
    this.#checkpoints = parts.checkpoints
    const shown = runner.stages.filter((_, i) => operators.chain.stages[i]?.shown)
    this.#metrics = [
      ...sources.metrics,
      ...shown.map((s) => s.metrics),
      ...sinks.flatMap((s) => s.chainMetrics),
      ...this.#sinks.map((s) => s.metrics),
    ]
  }

  /** Counters of all nodes, up to date. */
  get metrics(): readonly NodeMetrics[] {
    this.runner.catchUp()
    return this.#metrics
  }

  /**
   * With the state of the last checkpoint, where the rule keeps them. `onEnd` is told when the run comes to its end by itself.
   * Throws when a part cannot be made; then nothing is left behind.
   */
  static async create(
    environment: EngineEnvironment,
    shared: SharedStreams,
    planned: PlannedRule,
    onEnd: (error: Error | null) => void,
  ): Promise<RuleRun> {
    const { document } = planned
    const operators = await compileOperators(environment, planned)
    let runner: RuleRunner
    let run: RuleRun
    try {
      const sinks = await Promise.all(
        planned.sinks.map((sink) => createSinkRun(environment, document, sink, () => runner.resume())),
      )
      const sinkRunners = sinks.map((s) => s.runner)
      runner = new RuleRunner(runnerOptions(environment, planned, operators, sinkRunners, onEnd))
      const watch = new SinkWatch(sinkRunners, environment.clock)
      const checkpoints = createCheckpointer(environment, document, watch, () => run)
      const stateful = runner.stages.some((s) => s.operator.save) || operators.expressions.states.size > 0
      const durable = checkpoints && (() => (stateful ? checkpoints.durable() : deliveredOrRefused(watch, document.id)))
      const sources = await attachSources(environment, shared, { planned, operators, runner, sinks, durable })
      run = new RuleRun({ environment, planned, runner, operators, sources, sinks, watch, checkpoints })
    } catch (error) {
      await operators.release()
      throw error
    }
    try {
      await run.#restoreCheckpoint()
      return run
    } catch (error) {
      await run.stop()
      throw error
    }
  }

  start(shared: SharedStreams): void {
    this.#started = true
    this.runner.start()
    this.#checkpoints?.start()
    for (const table of this.#sources.tables) table.stream.start()
    const startStreams = (): void => {
      if (this.#stopped) return
      for (const stream of this.#sources.own) stream.start()
      shared.startAll()
    }
    const loading = this.#sources.tables.filter((t) => t.bounded).map((t) => t.stream.ended)
    if (loading.length === 0) startStreams()
    else void settlesWithin(this.#environment.clock, TABLE_LOAD_LIMIT, Promise.all(loading)).then(startStreams)
  }

  /** See {@link saveRuleState}. */
  snapshot(): Value {
    return saveRuleState(this.runner, this.#operators.expressions.states)
  }

  /** Before {@link start}. */
  restore(state: Value): void {
    loadRuleState(this.runner, this.#operators.expressions.states, state)
  }

  /** State and positions of sources, or null while rows wait in front of the rule: the positions are already behind them. */
  checkpoint(): Value | null {
    if (!this.runner.inputs.every((input) => input.empty)) return null
    const offsets: ValueObject = {}
    for (const stream of this.#sources.own) {
      const offset = stream.offset()
      if (offset !== undefined) offsets[stream.name] = offset
    }
    return { plan: fingerprint(this.planned.document), state: this.snapshot(), offsets }
  }

  async #restoreCheckpoint(): Promise<void> {
    const saved = (await this.#checkpoints?.latest()) ?? null
    if (saved === null) return
    const { document } = this.planned
    const { log } = this.#environment
    const { plan, state, offsets } = saved as ValueObject
    if (plan !== fingerprint(document)) {
      log.warn('the rule has changed since its last checkpoint and starts without state', { rule: document.id })
      return
    }
    this.restore(state as Value)
    for (const stream of this.#sources.own) {
      const offset = getField(offsets as ValueObject, stream.name)
      if (offset !== undefined) await stream.rewind(offset)
    }
  }

  /** Sources stop first, then what is inside drains for at most the engine's limit, then sinks close. */
  async stop(): Promise<void> {
    this.#stopped = true
    const { clock, options } = this.#environment
    const deadline = clock.now() + (options.drainLimit ?? defaultDrainLimit)
    // Sources deliver nothing from here on; closing may wait for senders that wait for an answer.
    const closed = Promise.all(this.#sources.own.map((s) => s.stop()))
    this.runner.resume()
    this.#watch.stop()
    // A run that never started has seen nothing: its state must not become the newest checkpoint.
    await this.#checkpoints?.stop(this.#started && this.planned.document.options.enableSaveStateBeforeStop)
    await closed
    await this.#sources.detach()
    await this.#operators.release()
    await this.runner.stop(Math.max(0, deadline - clock.now()))
  }

  /** Streams of this rule alone, for the data feed. */
  get streams(): readonly StreamRunner[] {
    return this.#sources.own
  }

  ledger(): RuleLedger {
    return {
      rule: this.runner.read(),
      sinks: Object.fromEntries(this.#sinks.map((s) => [s.metrics.name, s.read()])),
      streams: Object.fromEntries(this.#sources.own.map((s) => [s.name, s.ledger.read(0)])),
    }
  }
}

/** Each stage and input of the rule in its place. */
function runnerOptions(
  { clock, log, timezone }: EngineEnvironment,
  planned: PlannedRule,
  { chain }: RuleOperators,
  sinks: readonly SinkRunner[],
  onEnd: (error: Error | null) => void,
): RuleRunnerOptions {
  const { document, plan } = planned
  const { options } = document
  return {
    id: document.id,
    clock,
    log,
    timezone,
    stages: chain.stages.map((s) => ({ ...s, metrics: new NodeMetrics('op', s.name, clock) })),
    inputs: chain.sources.map(({ node, next, table }) => ({
      name: node.emitter,
      next,
      policy: fullPolicy(planned, node),
      table,
    })),
    sinks,
    ...(plan.graph && { outputs: plan.graph.outputs.map((o) => o.sinks) }),
    sendError: options.sendError,
    maxEvents: Math.max(1, options.bufferLength),
    maxBytes: options.bufferBytes,
    onEnd,
  }
}

/** Null for qos 0 and for temporary rules. */
function createCheckpointer(
  { checkpoints, clock, log }: EngineEnvironment,
  { id, options, temp }: RuleDocument,
  watch: SinkWatch,
  run: () => RuleRun,
): Checkpointer | null {
  if (options.qos === 0 || temp) return null
  return new Checkpointer({
    rule: id,
    store: checkpoints,
    clock,
    log,
    interval: options.checkpointInterval,
    snapshot: () => run().checkpoint(),
    replays: () => run().streams.some((stream) => stream.offset() !== undefined),
    delivered: () => watch.delivered(),
  })
}

/** For rules without state: a sender is answered when what its events gave has been sent. */
async function deliveredOrRefused(watch: SinkWatch, rule: string): Promise<void> {
  if (await watch.delivered()) return
  throw new IxionError('CONNECTION', `rule ${rule} stopped before its results were sent`)
}

/** What must be the same for a checkpoint to fit the rule. */
function fingerprint({ sql, graph, options }: RuleDocument): string {
  return JSON.stringify([sql, graph ?? null, options.isEventTime, options.planOptimizeStrategy])
}
