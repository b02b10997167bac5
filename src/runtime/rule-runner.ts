/**
 * One run of one rule: inputs, operator stages, sinks. Everything between an input and the sink queues is synchronous, so an
 * event is processed the moment it arrives; when a sink queue is full the inputs hold back (inbox.ts).
 */

import type { Logger } from '../connectors/contract.ts'
import type { Clock } from '../core/clock.ts'
import type { ChunkOutput, ColumnarCounts, LateReason } from '../core/columnar-output.ts'
import { IxionError, messageOf } from '../core/errors.ts'
import { Ledger, type LedgerReading } from '../core/ledger.ts'
import { type Batch, messagesOf } from '../core/row.ts'
import { getField, setField, type ValueObject } from '../core/values.ts'
import { settlesWithin } from '../core/waiting.ts'
import type { Operator } from '../operators/contract.ts'
import type { ChunkTurn, ColumnarLane } from './columnar-lane.ts'
import { type Consumer, type Delivery, eventsOf as eventCount } from './delivery.ts'
import { fanOut, fanOutSignals, switched } from './fan-out.ts'
import { type FullPolicy, Inbox } from './inbox.ts'
import type { NodeMetrics } from './metrics.ts'
import type { SinkRunner } from './sink-runner.ts'
import { type Receiver, Stage, type StageEnvironment } from './stage.ts'

export interface StagePlan {
  readonly operator: Operator
  readonly metrics: NodeMetrics
  /** Indexes of the stages fed by this one; below 0, output -1 - n of the rule. */
  readonly next: readonly number[]
  /** A switch: what each of its outputs feeds. */
  readonly outputs: readonly (readonly number[])[] | null
  /** How many stages or inputs feed this one. */
  readonly inputs: number
}

export interface InputPlan {
  readonly name: string
  /** What rows of this input enter, as in {@link StagePlan.next}. */
  readonly next: readonly number[]
  readonly policy: FullPolicy
  /** A scan table: its end is no reason for the rule to end. */
  readonly table?: boolean
}

export interface RuleRunnerOptions {
  readonly id: string
  readonly clock: Clock
  readonly log: Logger
  readonly timezone: string
  readonly stages: readonly StagePlan[]
  readonly inputs: readonly InputPlan[]
  readonly sinks: readonly SinkRunner[]
  /** Indexes of the sinks fed by each output. Absent: one output that feeds all sinks. */
  readonly outputs?: readonly (readonly number[])[]
  readonly sendError: boolean
  /** Limits of each input's inbox. */
  readonly maxEvents: number
  readonly maxBytes: number
  /** The rule has come to its end: all inputs exhausted and everything sent, or it broke. */
  readonly onEnd: (error: Error | null) => void
}

export class RuleRunner {
  readonly ledger = new Ledger()
  readonly stages: readonly Stage[]
  readonly inputs: readonly Input[]
  readonly #o: RuleRunnerOptions
  #columnar: ColumnarLane | null = null
  #started = false
  #stopping = false
  #stagesClosed = false
  #ended = false
  #isBroken = false
  /** Whatever feeds the sinks and has not come to its end. */
  #openEnds = 0

  constructor(options: RuleRunnerOptions) {
    this.#o = options
    const environment: StageEnvironment = {
      clock: options.clock,
      timezone: options.timezone,
      ledger: this.ledger,
      rowFailed: (stage, error) => this.#rowFailed(stage, error),
      room: () => this.resume(),
      broken: (stage, error) => this.#broken(brokenIn(stage, error)),
    }
    const ends = (options.outputs ?? [null]).map((fed): Receiver => {
      const sinks = fed ? fed.map((i) => options.sinks[i] as SinkRunner) : options.sinks
      return {
        batch: (batch) => this.#deliverResults(batch, sinks),
        watermark: () => {},
        end: () => void this.#finish(),
      }
    })
    const stages: Stage[] = new Array(options.stages.length)
    const receiver = (next: readonly number[]): Receiver =>
      fanOut(
        next.map((index) => (index < 0 ? (ends[-1 - index] as Receiver) : (stages[index] as Stage).input)),
        this.ledger,
      )
    const feeding = [...options.stages, ...options.inputs.filter((input) => !input.table)]
    for (const { next, ...plan } of feeding) {
      const outputs = 'outputs' in plan ? (plan.outputs ?? []) : []
      this.#openEnds += [next, ...outputs].flat().filter((index) => index < 0).length
    }
    // A stage's successor is always built first: plans list stages from the sources to the sinks.
    for (let i = options.stages.length - 1; i >= 0; i--) {
      const plan = options.stages[i] as StagePlan
      const outputs = plan.outputs?.map(receiver)
      stages[i] = new Stage(
        plan.operator,
        plan.metrics,
        outputs ? fanOutSignals(outputs) : receiver(plan.next),
        environment,
        plan.inputs,
      )
      if (outputs) plan.operator.connect?.(switched(outputs, plan.metrics), (events) => this.ledger.copy(events))
    }
    this.stages = stages
    this.inputs = options.inputs.map(
      (plan) =>
        new Input(plan, receiver(plan.next), {
          blocked: () => this.blocked,
          ledger: this.ledger,
          columnar: () => this.#columnar,
          maxEvents: options.maxEvents,
          maxBytes: options.maxBytes,
          lines: (payload, rows) => {
            for (const sink of options.sinks) sink.offerLines(payload, rows)
          },
          rowFailed: (error) => this.#rowFailed(plan.name, error),
          broken: (error) => this.#broken(error),
        }),
    )
  }

  /** Inputs hold back: before the start (a shared stream may run already), and while something behind them is full. */
  get blocked(): boolean {
    if (!this.#started) return true
    for (const sink of this.#o.sinks) if (sink.full) return true
    for (const stage of this.stages) if (stage.operator.full) return true
    return false
  }

  /** Events held in inboxes and operators. */
  get held(): number {
    let held = 0
    for (const input of this.inputs) held += input.held
    // What operators held when the rule stopped is counted as dropped.
    if (!this.#stagesClosed) for (const stage of this.stages) held += stage.operator.held ?? 0
    return held
  }

  read(): LedgerReading {
    this.catchUp()
    return this.ledger.read(this.held)
  }

  /** Brings ledger and counters up to date. */
  catchUp(): void {
    for (const input of this.inputs) input.catchUp?.()
  }

  /** Undecoded payloads go through this chain instead of the operators. Set before the rule starts. */
  useColumnarLane(lane: ColumnarLane): void {
    this.#columnar = lane
    const { sinks } = this.#o
    lane.connect?.({
      lines: (payload, rows) => {
        for (const sink of sinks) sink.offerLines(payload, rows)
      },
      message: (payload, rows) => {
        for (const sink of sinks) sink.offerMessage(payload, rows)
      },
    })
  }

  start(): void {
    for (const sink of this.#o.sinks) sink.start()
    for (const stage of this.stages) stage.open()
    this.#started = true
    this.resume()
  }

  /** A sink has room again. */
  resume(): void {
    for (const input of this.inputs) input.drain()
  }

  /** State of every operator that has some, by stage name. */
  save(): ValueObject {
    const state: ValueObject = {}
    for (const stage of this.stages) {
      const saved = stage.operator.save?.()
      if (saved !== undefined) setField(state, stage.metrics.name, saved)
    }
    return state
  }

  load(state: ValueObject): void {
    for (const stage of this.stages) {
      const saved = getField(state, stage.metrics.name)
      if (saved !== undefined) stage.operator.load?.(saved)
    }
  }

  #rowFailed(stage: string, error: Error): void {
    this.#o.log.debug('a row failed', { rule: this.#o.id, stage, error: error.message })
    if (this.#o.sendError) for (const sink of this.#o.sinks) sink.offerError(error)
  }

  #deliverResults(batch: Batch, sinks: readonly SinkRunner[]): void {
    if (batch.kind === 'groups') throw new Error('projection stands below the sinks')
    this.ledger.emitted += batch.events
    if (batch.kind === 'collection') {
      const rows = messagesOf(batch)
      for (const sink of sinks) sink.offer({ rows, meta: null })
      return
    }
    for (const row of batch.rows) {
      const rows = [row.message]
      for (const sink of sinks) sink.offer({ rows, meta: row.meta })
    }
  }

  #broken(error: unknown): void {
    if (this.#ended) return
    this.#ended = true
    this.#isBroken = true
    const reason = error instanceof Error ? error : new Error(String(error))
    // Never inside the source's or the operator's own call.
    queueMicrotask(() => this.#o.onEnd(reason))
  }

  async #finish(): Promise<void> {
    if (--this.#openEnds > 0 || this.#ended) return
    this.#ended = true
    this.#o.onEnd(null)
  }

  /** Lookups on their way get until `deadline` to answer. */
  async #settled(deadline: number): Promise<void> {
    const { clock } = this.#o
    const pending = this.stages.flatMap((stage) => stage.operator.settled?.() ?? [])
    if (pending.length === 0 || clock.now() >= deadline) return
    await settlesWithin(clock, deadline - clock.now(), Promise.all(pending))
  }

  /**
   * Inputs take nothing more; what waits is processed while sinks have room, for at most `limit` ms in all; the rest is
   * counted as dropped, reason `stopped`.
   */
  async stop(limit: number): Promise<void> {
    if (this.#stopping) return
    this.#stopping = true
    this.#ended = true
    const { clock } = this.#o
    const deadline = clock.now() + limit
    while (this.inputs.some((input) => !input.empty) && clock.now() < deadline) {
      this.resume()
      if (this.inputs.every((input) => input.empty)) break
      await new Promise<void>((resolve) => clock.after(Math.min(20, deadline - clock.now()), resolve))
    }
    for (const input of this.inputs) input.close()
    await this.#settled(deadline)
    for (const stage of this.stages) {
      const held = stage.operator.held ?? 0
      if (held) this.ledger.drop('stopped', held)
      stage.close()
    }
    this.#stagesClosed = true
    // What was inside the operator that broke is nowhere any more.
    if (this.#isBroken && this.ledger.open > 0) this.ledger.drop('error', this.ledger.open)
    await Promise.all(this.#o.sinks.map((sink) => sink.stop(Math.max(0, deadline - clock.now()))))
  }
}

/** What a rule stops for when an operator cannot go on. */
export function brokenIn(stage: string, cause: unknown): IxionError {
  return new IxionError('INTERNAL', `operator ${stage}: ${messageOf(cause)}`, { cause })
}

interface InputEnvironment {
  blocked(): boolean
  readonly ledger: Ledger
  columnar(): ColumnarLane | null
  readonly maxEvents: number
  readonly maxBytes: number
  lines(payload: Uint8Array, rows: number): void
  rowFailed(error: Error): void
  broken(error: unknown): void
}

/** One input: what a stream sees of the rule. */
class Input implements Consumer, ChunkOutput {
  readonly #first: Receiver
  readonly #e: InputEnvironment
  readonly #inbox: Inbox
  readonly #table: boolean
  #endPending = false
  #closed = false
  /** The columnar lane has asked for decoded rows. */
  #wantsRows = false
  catchUp: (() => void) | null = null

  constructor(plan: InputPlan, first: Receiver, environment: InputEnvironment) {
    this.#first = first
    this.#table = plan.table ?? false
    this.#e = environment
    this.#inbox = new Inbox({
      policy: plan.policy,
      maxEvents: environment.maxEvents,
      maxBytes: environment.maxBytes,
      dropped: (events) => environment.ledger.drop('buffer_full', events),
    })
  }

  get columnar(): boolean {
    return !this.#wantsRows && this.#e.columnar() !== null
  }

  get held(): number {
    return this.#inbox.events
  }

  get empty(): boolean {
    return this.#inbox.empty
  }

  accept(delivery: Delivery): void | Promise<void> {
    if (this.#closed) return
    if (this.#inbox.empty && !this.#e.blocked()) {
      this.#process(delivery)
      return
    }
    this.#e.ledger.received += eventCount(delivery)
    return this.#inbox.put(delivery)
  }

  drain(): void {
    while (!this.#inbox.empty && !this.#e.blocked()) {
      const entry = this.#inbox.take()
      if (!entry) break
      this.#e.ledger.received -= entry.events
      this.#process(entry.delivery)
      entry.done?.()
    }
    if (this.#endPending && this.#inbox.empty) {
      this.#endPending = false
      this.#end()
    }
  }

  #process(delivery: Delivery): void {
    try {
      this.#take(delivery)
    } catch (error) {
      // Not a row's fault (those leave by their own door): the rule cannot go on, the source and other rules can.
      this.#e.broken(error)
    }
  }

  #take(delivery: Delivery): void {
    switch (delivery.kind) {
      case 'rows':
        this.#e.ledger.received += delivery.rows.length
        this.#first.batch({ kind: 'rows', rows: delivery.rows, events: delivery.rows.length })
        return
      case 'failure':
        this.#e.ledger.received += delivery.events
        this.failed(delivery.error, delivery.events, true)
        return
      case 'chunk': {
        const lane = this.#e.columnar() as ColumnarLane
        const counts = lane.process(delivery, this)
        if (lane.wantsRows) this.#wantsRows = true
        this.#count(counts)
        if (counts.broken) throw counts.broken
        if (counts.watermark !== undefined) this.#first.watermark(counts.watermark)
      }
    }
  }

  /** Null when a chunk would have to wait. */
  turn(): ChunkTurn | null {
    if (this.#closed || !this.#inbox.empty || this.#e.blocked()) return null
    return { output: this, done: (counts) => this.#count(counts) }
  }

  skipped(rows: number): void {
    if (!this.#closed) this.#count({ received: rows, emitted: 0, filtered: rows })
  }

  #count(counts: ColumnarCounts): void {
    this.#e.ledger.received += counts.received
    this.#e.ledger.emitted += counts.emitted
    this.#e.ledger.filtered += counts.filtered
  }

  lines(payload: Uint8Array, rows: number): void {
    this.#e.lines(payload, rows)
  }

  failed(error: Error, events: number, decoding: boolean): void {
    this.#e.ledger.drop(decoding ? 'decode_error' : 'error', events)
    this.#e.rowFailed(error)
  }

  discarded(reason: LateReason, events: number): void {
    this.#e.ledger.drop(reason, events)
  }

  ended(): void {
    if (this.#table) return
    if (this.#inbox.empty) this.#end()
    else this.#endPending = true
  }

  #end(): void {
    this.#first.end()
  }

  broken(error: unknown): void {
    this.#e.broken(error)
  }

  close(): void {
    this.catchUp?.()
    this.#closed = true
    this.#inbox.clear((events) => this.#e.ledger.drop('stopped', events))
  }
}
