/** Trial runs (spec/rest-api.md 3.5): an SQL rule that is not stored, with mocked sources, whose results are watched. */
import { checkIdentifier } from '../catalog/identifier.ts'
import { readRuleDocument } from '../catalog/rule-document.ts'
import type { SinkDefinition } from '../connectors/contract.ts'
import type { Timer } from '../core/clock.ts'
import { IxionError, messageOf } from '../core/errors.ts'
import { type InTurn, inTurn } from '../core/in-turn.ts'
import { MAX_DOCUMENT_DEPTH, nestsDeeper } from '../core/json-nesting.ts'
import { decodeUtf8 } from '../core/utf8.ts'
import { copyFields, getField, isObject, type Value, type ValueObject } from '../core/values.ts'
import type { StreamRunner } from '../runtime/stream-runner.ts'
import type { StreamDefinition } from '../sql/ast.ts'
import type { EngineEnvironment } from './environment.ts'
import { type PlannedRule, planRule } from './planned-rule.ts'
import { ResultChannel } from './result-channel.ts'
import { RuleRun } from './rule-run.ts'
import type { SharedStreams } from './shared-streams.ts'

/** How long a run lasts at most, ms. */
const TRIAL_LIMIT = 5 * 60_000
/** Trials that may exist at a time. */
const MAX_TRIALS = 100
const SINK = 'trial'

interface Trial {
  readonly id: string
  readonly planned: PlannedRule
  readonly environment: EngineEnvironment
  readonly channel: ResultChannel
  run: RuleRun | null
  limit: Timer | null
  /** Control calls on a trial run one after another. */
  readonly exclusively: InTurn
  gone: boolean
}

export class Trials {
  readonly #environment: EngineEnvironment
  readonly #shared: SharedStreams
  readonly #trials = new Map<string, Trial>()
  #created = 0

  constructor(environment: EngineEnvironment, shared: SharedStreams) {
    this.#environment = environment
    this.#shared = shared
  }

  /**
   * Plans a trial from its JSON text (`id`, `sql`, `mockSource`, `sinkProps`; Ixion: also `options` as in rules) and returns its
   * id. One of that id is stopped and replaced. Throws IxionError with the reference's message.
   */
  async create(text: string): Promise<string> {
    const { id, sql, mocks, sinkProps, options } = readTrial(text)
    await this.stop(id)
    if (this.#trials.size >= MAX_TRIALS) {
      throw new IxionError('LIMIT', `there are already ${MAX_TRIALS} trial runs`, { hint: 'Delete some of them.' })
    }
    const channel = new ResultChannel()
    const sink = channelSink(channel)
    const connectors = new Map(this.#environment.connectors).set(SINK, { name: SINK, sink })
    const environment: EngineEnvironment = { ...this.#environment, connectors }
    let planned: PlannedRule
    try {
      const document = readRuleDocument(
        JSON.stringify({ id, sql, actions: [{ [SINK]: sinkProps }], options: { ...options, sendError: true } }),
        this.#environment.options.ruleDefaults ?? {},
      )
      const unique = { ...document, id: `$$_${++this.#created}_${id}` }
      planned = await planRule(environment, unique, (name) => this.#definition(name, mocks))
    } catch (error) {
      const hint = error instanceof IxionError ? error.hint : undefined
      throw new IxionError('INVALID_DOCUMENT', `fail to run rule ${id}: ${messageOf(error)}`, {
        cause: error,
        ...(hint !== undefined && { hint }),
      })
    }
    this.#trials.set(id, {
      id,
      planned,
      environment,
      channel,
      run: null,
      limit: null,
      exclusively: inTurn(),
      gone: false,
    })
    return id
  }

  /** A mocked stream keeps its schema and format, and reads from the simulator. */
  #definition(name: string, mocks: ReadonlyMap<string, ValueObject>): StreamDefinition | undefined {
    const definition = this.#environment.streams.get(name)?.definition
    const mock = mocks.get(name)
    if (!definition || !mock) return definition
    const { confKey: _, ...options } = definition.options
    // The mock is all there is: what a configuration says of the simulator does not count.
    const extra = JSON.stringify({ data: [], loop: false, ...mock })
    return { ...definition, options: { ...options, type: 'simulator', shared: false, extra } }
  }

  /** Starts reading. A trial that runs goes on; one whose run has ended runs again. */
  async start(id: string): Promise<void> {
    const trial = this.#trials.get(id)
    if (!trial) throw new IxionError('NOT_FOUND', `try to start test rule ${id} but it is not found`)
    await trial.exclusively(async () => {
      if (trial.run || trial.gone) return
      const run = await RuleRun.create(trial.environment, this.#shared, trial.planned, (error) => {
        if (error) trial.channel.publish(error.message)
        void trial.exclusively(() => endRun(trial, run))
      })
      trial.run = run
      trial.limit = this.#environment.clock.after(TRIAL_LIMIT, () => void trial.exclusively(() => endRun(trial, run)))
      run.start(this.#shared)
    })
  }

  /**
   * Results from now on as texts, one a message of the sink; errors of rows as bare text. Undefined when there is no such trial.
   * Ends when the trial is deleted or replaced; a listener that is too slow misses the oldest ones.
   */
  results(id: string): AsyncIterableIterator<string> | undefined {
    return this.#trials.get(id)?.channel.listen()
  }

  /** Ends the run and forgets the trial; does nothing when there is none. */
  async stop(id: string): Promise<void> {
    const trial = this.#trials.get(id)
    if (!trial) return
    this.#trials.delete(id)
    trial.gone = true
    await trial.exclusively(() => endRun(trial, trial.run))
    trial.channel.close()
  }

  async closeAll(): Promise<void> {
    await Promise.all([...this.#trials.keys()].map((id) => this.stop(id)))
  }

  /** Running sources of the stream that belong to a trial. */
  streams(name: string): StreamRunner[] {
    return [...this.#trials.values()].flatMap((t) => t.run?.streams.filter((s) => s.name === name) ?? [])
  }
}

async function endRun(trial: Trial, run: RuleRun | null): Promise<void> {
  if (!run || trial.run !== run) return
  trial.limit?.cancel()
  trial.limit = null
  trial.run = null
  await run.stop()
}

interface TrialDocument {
  readonly id: string
  readonly sql: string
  readonly mocks: ReadonlyMap<string, ValueObject>
  readonly sinkProps: ValueObject
  readonly options: ValueObject
}

function readTrial(text: string): TrialDocument {
  const fail = (reason: string): never => {
    throw new IxionError('INVALID_DOCUMENT', `fail to parse rule definition ${text}: ${reason}`)
  }
  if (nestsDeeper(text, MAX_DOCUMENT_DEPTH)) return fail(`nested deeper than ${MAX_DOCUMENT_DEPTH} levels`)
  let document: Value
  try {
    document = JSON.parse(text) as Value
  } catch (error) {
    return fail(messageOf(error))
  }
  if (!isObject(document)) return fail('it must be a JSON object')
  const given = document
  const member = (name: string): Value => {
    const key = Object.keys(given).find((k) => k.toLowerCase() === name.toLowerCase())
    return (key === undefined ? undefined : getField(given, key)) ?? null
  }
  const object = (name: string): ValueObject => {
    const value = member(name)
    if (value === null) return {}
    return isObject(value) ? value : fail(`${name} must be an object`)
  }
  const string = (name: string): string => {
    const value = member(name)
    return typeof value === 'string' ? value : fail(`${name} must be a string`)
  }
  const id = string('id')
  try {
    checkIdentifier(id)
  } catch (error) {
    fail(messageOf(error))
  }
  const mocks = new Map<string, ValueObject>()
  for (const [name, mock] of Object.entries(object('mockSource'))) {
    if (!isObject(mock)) return fail(`mockSource.${name} must be an object`)
    mocks.set(name, mock)
  }
  return { id, sql: string('sql'), mocks, sinkProps: copyFields({}, object('sinkProps')), options: object('options') }
}

function channelSink(channel: ResultChannel): SinkDefinition {
  return {
    name: SINK,
    docs: 'Results of a trial run.',
    takes: 'bytes',
    options: {},
    create: () => ({
      async connect() {},
      async send(item) {
        if (item.payload) channel.publish(decodeUtf8(item.payload))
      },
      async close() {},
    }),
  }
}
