/** One rule under management: its states and transitions (spec/rest-api.md 6). Control calls on a rule run one after another. */
import type { RuleDocument } from '../catalog/rule-document.ts'
import type { Timer } from '../core/clock.ts'
import { messageOf } from '../core/errors.ts'
import { inTurn } from '../core/in-turn.ts'
import type { LedgerReading } from '../core/ledger.ts'
import type { Value } from '../core/values.ts'
import type { EngineEnvironment } from './environment.ts'
import type { Patrolled } from './patrol.ts'
import { type PlannedRule, planRule } from './planned-rule.ts'
import { goodRun, restartDelay } from './restart.ts'
import { type RuleLedger, RuleRun } from './rule-run.ts'
import { isScheduled, isTimed, nextStart, scheduleVerdict } from './schedule.ts'
import type { SharedStreams } from './shared-streams.ts'

export type RuleState =
  | 'stopped'
  | 'starting'
  | 'running'
  | 'stopping'
  | 'stopped: waiting for next schedule.'
  | 'stopped by error'

/** What a run leaves behind when it ends. */
interface Finished {
  readonly entries: readonly [string, number | string][]
  readonly ledger: RuleLedger
}

export class ManagedRule implements Patrolled {
  #document: RuleDocument
  /**
   * Stopped by a user, finished, or stored as not to be run: neither schedule nor restart strategy start it before the next
   * start.
   */
  held: boolean
  state: RuleState = 'stopped'
  message = ''
  lastStart = 0
  lastStop = 0
  /** Set while a topology exists. */
  run: RuleRun | null = null
  /** The last planned topology; stays after a stop. */
  planned: PlannedRule | null = null
  #finished: Finished | null = null
  /** Runs control calls in order; one that fails does not stop the next. */
  readonly exclusively = inTurn()
  /** Restarts after errors since the last good run. */
  #attempts = 0
  #restart: Timer | null = null
  /** All sources have ended: not again before the next turn of the schedule. */
  #turnDone = false
  #discarded = false
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
    this.#document = document
    this.held = !document.triggered
    this.#onFinished = onFinished
    this.document = document
  }

  get id(): string {
    return this.document.id
  }

  get document(): RuleDocument {
    return this.#document
  }

  set document(document: RuleDocument) {
    this.#document = document
    const { patrol } = this.#environment
    if (isTimed(document.options) && !document.temp && !this.#discarded) patrol.watch(this)
    else patrol.forget(this)
  }

  /** Epoch ms of the next turn by cron; 0 = none. */
  get nextStart(): number {
    const { clock, timezone } = this.#environment
    return nextStart(this.document.options, clock.now(), timezone)
  }

  /** The rule is gone: nothing starts it any more. */
  discard(): void {
    this.#discarded = true
    this.#environment.patrol.forget(this)
    this.#cancelRestart()
  }

  /** Plans, then replaces a running topology by a new one. When planning fails the old one keeps running. */
  async start(document: RuleDocument, replaced = 'canceled manually', state: Value = null): Promise<void> {
    const planned = await planRule(this.#environment, document)
    if (this.run) await this.stop(replaced)
    this.document = document
    this.held = false
    this.#attempts = 0
    await this.#launch(planned, state)
  }

  /**
   * For boot and restart: a scheduled rule waits for the patrol; a failure leaves the rule `stopped by error`, with the reason.
   */
  async startOrReport(document: RuleDocument): Promise<void> {
    this.document = document
    this.held = false
    this.#attempts = 0
    if (isScheduled(document.options)) {
      this.state = 'stopped: waiting for next schedule.'
      this.message = ''
    } else await this.#startByItself()
  }

  /** By boot, schedule or after an error; nobody is there to be told of a failure but the log and the status. */
  async #startByItself(): Promise<void> {
    this.state = 'starting'
    try {
      await this.#launch(await planRule(this.#environment, this.document))
    } catch (error) {
      this.state = 'stopped by error'
      this.message = messageOf(error)
      this.#environment.log.error('rule does not start', { rule: this.id, error: this.message })
      this.#restartLater()
      throw error
    }
  }

  /** Starts, stops or ends the rule as its schedule says (spec/rest-api.md 6.2, 6.3). */
  patrol(): void {
    const { clock, log, timezone } = this.#environment
    const look = async (): Promise<void> => {
      if (this.held || this.#discarded) return
      const started = this.run ? this.lastStart : null
      const verdict = scheduleVerdict(this.document.options, clock.now(), started, timezone)
      if (verdict === 'wait') this.#turnDone = false
      if (verdict === 'run' && !this.run && !this.#turnDone) await this.#startByItself()
      else if (verdict === 'wait' && this.run) {
        await this.stop('schedule terminated')
        this.state = 'stopped: waiting for next schedule.'
      } else if (verdict === 'end') await this.stop('duration terminated')
    }
    this.exclusively(look).catch((error) => {
      log.error('the schedule of a rule cannot be followed', { rule: this.id, error: messageOf(error) })
    })
  }

  /** After an error, as the restart strategy allows. */
  #restartLater(): void {
    const { clock, log } = this.#environment
    const { restartStrategy } = this.document.options
    const delay = this.held || this.#discarded ? null : restartDelay(restartStrategy, this.#attempts, clock.random())
    if (delay === null) {
      if (restartStrategy.attempts > 0) log.error('rule is not restarted any more', { rule: this.id })
      return
    }
    this.#attempts++
    this.#restart?.cancel()
    this.#restart = clock.after(delay, () => {
      this.#restart = null
      const again = async (): Promise<void> => {
        if (this.state === 'stopped by error' && !this.held && !this.#discarded) await this.#startByItself()
      }
      this.exclusively(again).catch(() => {})
    })
  }

  #cancelRestart(): void {
    this.#restart?.cancel()
    this.#restart = null
  }

  /** `state` is what an earlier run's snapshot gave; null = the rule starts empty. */
  async #launch(planned: PlannedRule, state: Value = null): Promise<void> {
    this.#cancelRestart()
    this.#turnDone = false
    this.state = 'starting'
    let run: RuleRun
    try {
      run = await RuleRun.create(
        this.#environment,
        this.#shared,
        planned,
        (error) => void this.exclusively(() => this.#ended(run, error)),
      )
      try {
        if (state !== null) run.restore(state)
      } catch (error) {
        await run.stop()
        throw error
      }
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
    if (error) {
      const { clock } = this.#environment
      if (clock.now() - this.lastStart >= goodRun(this.document.options.restartStrategy)) this.#attempts = 0
      this.state = 'stopped by error'
      this.#restartLater()
    } else if (isScheduled(this.document.options)) this.#turnDone = true
    else this.held = true
    this.#onFinished(this, error)
  }

  /** A rule that is not running keeps its state and message, unless it waits for its schedule or is about to start. */
  async stop(message: string): Promise<void> {
    this.#cancelRestart()
    const { run } = this
    if (!run) {
      if (this.state !== 'stopped' && this.state !== 'stopped by error') {
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
