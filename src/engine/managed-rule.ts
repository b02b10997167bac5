/** One rule under management: its states and transitions (spec/rest-api.md 6). Control calls on a rule run one after another. */
import type { RuleDocument } from '../catalog/rule-document.ts'
import { messageOf } from '../core/errors.ts'
import type { LedgerReading } from '../core/ledger.ts'
import type { Value } from '../core/values.ts'
import type { EngineEnvironment } from './environment.ts'
import { type PlannedRule, planRule, RuleRun } from './rule-run.ts'
import type { SharedStreams } from './shared-streams.ts'

export type RuleState =
  | 'stopped'
  | 'starting'
  | 'running'
  | 'stopping'
  | 'stopped: waiting for next schedule.'
  | 'stopped by error'

export interface RuleLedger {
  readonly rule: LedgerReading
  readonly sinks: Readonly<Record<string, LedgerReading>>
  readonly streams: Readonly<Record<string, LedgerReading>>
}

/** What a run leaves behind when it ends. */
interface Finished {
  readonly entries: readonly [string, number | string][]
  readonly ledger: RuleLedger
}

export class ManagedRule {
  document: RuleDocument
  state: RuleState = 'stopped'
  message = ''
  lastStart = 0
  lastStop = 0
  /** Set while a topology exists. */
  run: RuleRun | null = null
  /** The last planned topology; stays after a stop. */
  planned: PlannedRule | null = null
  #finished: Finished | null = null
  #queue: Promise<unknown> = Promise.resolve()
  readonly #environment: EngineEnvironment
  readonly #shared: SharedStreams
  /** A bounded rule has come to its end by itself. */
  readonly #onFinished: (rule: ManagedRule, error: Error | null) => void

  constructor(
    environment: EngineEnvironment,
    shared: SharedStreams,
    document: RuleDocument,
    onFinished: (rule: ManagedRule, error: Error | null) => void,
  ) {
    this.#environment = environment
    this.#shared = shared
    this.document = document
    this.#onFinished = onFinished
  }

  get id(): string {
    return this.document.id
  }

  /** Runs control calls in order; one that fails does not stop the next. */
  exclusively<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#queue.then(work)
    this.#queue = result.catch(() => {})
    return result
  }

  /** Plans, then replaces a running topology by a new one. When planning fails the old one keeps running. */
  async start(document: RuleDocument, replaced = 'canceled manually', state: Value = null): Promise<void> {
    const planned = await planRule(this.#environment, document)
    if (this.run) await this.stop(replaced)
    this.document = document
    await this.#launch(planned, state)
  }

  /** For boot and restart: a failure leaves the rule `stopped by error`, with the reason. */
  async startOrReport(document: RuleDocument): Promise<void> {
    this.document = document
    this.state = 'starting'
    try {
      await this.#launch(await planRule(this.#environment, document))
    } catch (error) {
      this.state = 'stopped by error'
      this.message = messageOf(error)
      this.#environment.log.error('rule does not start', { rule: this.id, error: this.message })
      throw error
    }
  }

  /** `state` is what an earlier run's snapshot gave; null = the rule starts empty. */
  async #launch(planned: PlannedRule, state: Value = null): Promise<void> {
    this.state = 'starting'
    let run: RuleRun
    try {
      run = await RuleRun.create(
        this.#environment,
        this.#shared,
        planned,
        (error) => void this.exclusively(() => this.#ended(run, error)),
      )
      if (state !== null) run.restore(state)
    } catch (error) {
      this.state = 'stopped by error'
      this.message = messageOf(error)
      throw error
    }
    this.planned = planned
    this.run = run
    this.#finished = null
    this.state = 'running'
    this.message = ''
    this.lastStart = this.#environment.clock.now()
    run.start(this.#shared)
  }

  async #ended(run: RuleRun, error: Error | null): Promise<void> {
    if (this.run !== run) return
    await this.stop(error ? messageOf(error) : 'done')
    if (error) this.state = 'stopped by error'
    this.#onFinished(this, error)
  }

  async stop(message: string): Promise<void> {
    const { run } = this
    if (!run) {
      if (this.state !== 'stopped') {
        this.state = 'stopped'
        this.message = message
      }
      return
    }
    this.state = 'stopping'
    await run.stop()
    this.#finished = { entries: entriesOf(run), ledger: run.ledger() }
    this.run = null
    this.state = 'stopped'
    this.message = message
    this.lastStop = this.#environment.clock.now()
  }

  /** Counters of every node, `source_demo_0_records_in_total` ..., in the order of status; of the last run when stopped. */
  entries(): readonly [string, number | string][] {
    return this.run ? entriesOf(this.run) : (this.#finished?.entries ?? [])
  }

  ledger(): RuleLedger {
    if (this.run) return this.run.ledger()
    return this.#finished?.ledger ?? { rule: emptyReading, sinks: {}, streams: {} }
  }
}

const emptyReading: LedgerReading = { received: 0, emitted: 0, filtered: 0, dropped: {}, inFlight: 0 }

function entriesOf(run: RuleRun): [string, number | string][] {
  return run.metrics.flatMap((m) =>
    m.entries().map(([suffix, value]): [string, number | string] => [`${m.kind}_${m.name}_0_${suffix}`, value]),
  )
}
