/**
 * The engine: define streams and rules, start, stop, inspect, feed. The one door for the server, tests and embedding programs.
 */

import type { ConfigurationCatalog } from '../catalog/configuration.ts'
import { RuleCatalog, type StoredStream } from '../catalog/definitions.ts'
import { checkIdentifier } from '../catalog/identifier.ts'
import { readSchemaInfo, type SchemaInfo, type SchemaRegistry } from '../catalog/schemas.ts'
import { UploadCatalog } from '../catalog/uploads.ts'
import type { ConnectorDefinition, Logger } from '../connectors/contract.ts'
import type { Clock } from '../core/clock.ts'
import { IxionError } from '../core/errors.ts'
import { validateOptions } from '../core/validate.ts'
import type { ValueObject } from '../core/values.ts'
import type { FunctionLookup } from '../functions/contract.ts'
import type { LogicalPlan } from '../plan/logical.ts'
import type { Topology } from '../plan/topology.ts'
import type { NodeMetrics } from '../runtime/metrics.ts'
import type { StreamRunner } from '../runtime/stream-runner.ts'
import type { DefinitionJson } from '../sql/definition.ts'
import type { Store } from '../stores/contract.ts'
import { memoryStore } from '../stores/memory.ts'
import { internalConnections, usersOfConnection } from './connection-users.ts'
import { Connections } from './connections.ts'
import { connectorContext, type EngineEnvironment } from './environment.ts'
import { Feed } from './feed.ts'
import { readLocation } from './locations.ts'
import { locationRules, openEnvironment } from './open-environment.ts'
import type { Query, QueryOptions } from './query.ts'
import { columnsOf, type RuleStatus, type RuleSummary, scanTablesOf, statusOf, topologyOf } from './rule-reports.ts'
import type { RuleLedger } from './rule-run.ts'
import { Rules } from './rules.ts'
import { type ReportedSchema, streamSchema } from './schema-report.ts'
import type { EngineOptions } from './settings.ts'
import { SharedStreams } from './shared-streams.ts'
import { type StreamKind, Streams } from './streams.ts'
import { TrialEndpoints } from './trial-endpoints.ts'
import { Trials } from './trials.ts'
import { WriteQueue } from './write-queue.ts'

export class Engine {
  readonly #environment: EngineEnvironment
  readonly #store: Store
  readonly #rules: Rules
  readonly #shared: SharedStreams
  readonly #writes = new WriteQueue()
  readonly #streams: Streams
  /** Configuration keys and the definitions of named connections. */
  readonly configuration: ConfigurationCatalog
  readonly connections: Connections
  readonly uploads: UploadCatalog
  /** Trial runs: create, start, watch, stop. */
  readonly trials: Trials
  /** Where the results of trials are watched. */
  readonly trialEndpoints: TrialEndpoints
  readonly #feed: Feed
  #closed = false

  private constructor(
    environment: EngineEnvironment,
    store: Store,
    rules: RuleCatalog,
    configuration: ConfigurationCatalog,
  ) {
    this.configuration = configuration
    this.uploads = new UploadCatalog(store, environment.options.dataDir ?? '.')
    this.connections = new Connections(environment, configuration, {
      usersOf: (id) => usersOfConnection(id, this.#rules.all),
      internal: () => internalConnections(environment, this.#rules.all),
    })
    this.#environment = environment
    this.#store = store
    this.#streams = new Streams(environment, this.#writes)
    this.#shared = new SharedStreams(environment)
    this.#rules = new Rules(environment, this.#shared, rules, this.#writes)
    this.#feed = new Feed(environment, (stream) => this.#runnersOf(stream))
    this.trials = new Trials(environment, this.#shared)
    this.trialEndpoints = new TrialEndpoints(environment, this.trials)
  }

  /** Opens the store and loads definitions. Stored rules are not planned before {@link startStoredRules}. */
  static async open(options: EngineOptions = {}): Promise<Engine> {
    const store = options.store ?? memoryStore()
    const { environment, configuration } = await openEnvironment(options, store)
    return new Engine(environment, store, await RuleCatalog.open(store), configuration)
  }

  get clock(): Clock {
    return this.#environment.clock
  }

  get log(): Logger {
    return this.#environment.log
  }

  /** Zone of windows and time functions of rules that start from now on. Throws INVALID_PROPERTY for an unknown one. */
  setTimezone(zone: string): void {
    try {
      new Intl.DateTimeFormat('en', { timeZone: zone })
    } catch {
      throw new IxionError('INVALID_PROPERTY', `unknown time zone ${zone}`, { path: 'timezone' })
    }
    this.#environment.timezone = zone
  }

  get functions(): FunctionLookup {
    return this.#environment.functions
  }

  /** Schemas of protobuf and custom formats. */
  get schemas(): SchemaRegistry {
    return this.#environment.schemas
  }

  /** A checked schema document (spec/rest-api.md 3.15), to be given to {@link schemas}. */
  readSchema(type: string, document: ValueObject): SchemaInfo {
    return readSchemaInfo(document, type)
  }

  /** Throws when the text is no schema of its type. */
  async checkSchema(info: SchemaInfo): Promise<void> {
    if (info.type !== 'protobuf' || info.content === undefined) return
    const { checkSchemaText, loadProtobuf } = await import('../formats/protobuf/schema.ts')
    await loadProtobuf()
    checkSchemaText(info.name, info.content)
  }

  /** Tries a real connection with these properties; throws when there is none, or the connector cannot tell. */
  async ping(role: 'source' | 'sink' | 'lookup', name: string, properties: ValueObject): Promise<void> {
    const definition = this.connectors.get(name)?.[role]
    if (!definition?.ping) {
      const word = role === 'lookup' ? 'lookup source' : role
      throw new IxionError('NOT_SUPPORTED', `${word} ${name} doesn't support ping connection`)
    }
    const { datasource = '/$$TEST_CONNECTION$$', ...given } = properties
    const checked = validateOptions(definition.options, given, `${role} ${name}`, { unknown: 'drop' })
    await definition.ping(String(datasource), checked, connectorContext(this.#environment, `test of ${name}`))
  }

  get connectors(): ReadonlyMap<string, ConnectorDefinition> {
    return this.#environment.connectors
  }

  /** Starts every stored rule that was running; one that fails stays, `stopped by error`. Definitions answer before. */
  async startStoredRules(): Promise<void> {
    const waiting = this.#rules.registerStored()
    this.connections.openStored()
    await Promise.all(
      this.listStreams('table')
        .filter((t) => t.definition.options.kind === 'lookup')
        .map((t) => this.#environment.lookups.restore(this.#environment, t.definition)),
    )
    await this.#rules.startStored(waiting)
  }

  /** Stops everything in order: sources, rules, sinks, store. */
  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    this.#rules.freeze()
    await this.trialEndpoints.closeAll()
    await this.trials.closeAll()
    await this.#rules.stopAll()
    await this.connections.close()
    await this.#environment.lookups.closeAll()
    await this.#environment.resources.closeAll()
    await this.#writes.settled()
    await this.#store.close()
  }

  /**
   * Rows that memory sinks publish to topics matching `filter` (MQTT wildcards). A promise of `onRows` holds the publisher
   * back. Returns the way out.
   */
  subscribe(filter: string, onRows: (topic: string, rows: readonly ValueObject[]) => void | Promise<void>): () => void {
    return this.#environment.topics.subscribe(filter, (message) => onRows(message.topic, message.rows))
  }

  /** Reads a file that a request names (spec/rest-api.md 1.8). */
  readLocation(location: string): Promise<Uint8Array> {
    return readLocation(location, locationRules(this.#environment.options, this.clock))
  }

  // --- streams and tables ---

  /**
   * Runs one DDL statement and returns its text answer (`Stream demo is created.`). Throws IxionError with the reference's
   * message when it fails.
   */
  execute(sql: string): Promise<string> {
    return this.#streams.execute(sql)
  }

  /** Replaces or creates. `name` and `kind` are those of the request, which the statement must match. */
  replaceStream(name: string, kind: StreamKind, sql: string): Promise<string> {
    return this.#streams.replace(name, kind, sql)
  }

  /** The definition, or NOT_FOUND with the text of DESCRIBE. */
  describe(name: string, kind: StreamKind): StoredStream {
    return this.#streams.describe(name, kind)
  }

  stream(name: string): StoredStream | undefined {
    return this.#streams.get(name)
  }

  listStreams(kind: StreamKind): StoredStream[] {
    return this.#streams.list(kind)
  }

  /** Type and format as lists show them. */
  streamDetails(kind: StreamKind): { name: string; type: string; format: string }[] {
    return this.#streams.details(kind)
  }

  /** The definition as `GET /streams/{name}` shows it. */
  definitionJson(name: string, kind: StreamKind): DefinitionJson {
    return this.#streams.definitionJson(name, kind)
  }

  dropStream(name: string, kind: StreamKind): Promise<void> {
    return this.#streams.drop(name, kind)
  }

  /** Throws INVALID_DOCUMENT unless `name` may name a stream, rule or another definition. */
  checkName(name: string): void {
    checkIdentifier(name)
  }

  /** Declared columns, or the columns that running rules read of a schemaless stream; null when there are none. */
  streamSchema(name: string, kind: StreamKind): ReportedSchema | null {
    const { definition } = this.describe(name, kind)
    const readers = this.#rules.all
      .filter((rule) => rule.run)
      .map((rule) => ({
        plan: (rule.run as NonNullable<typeof rule.run>).planned.plan,
        numbered: rule.document.options.experiment.useSliceTuple,
      }))
    return streamSchema(definition, readers)
  }

  /** Ids of rules that read the stream and have a topology. */
  rulesReading(stream: string): string[] {
    return this.#rules.all
      .filter((rule) => rule.run?.planned.plan.sources.some((s) => s.definition.name === stream))
      .map((rule) => rule.id)
  }

  /**
   * Feeds documents (JSON text of one row or an array of rows) into every running source of the stream, as if its connector
   * had read them. Resolves when they are accepted, with how many rules' sources took them. Throws TIMEOUT or CONNECTION when
   * they are not; `signal` gives up while they wait for room.
   */
  feed(stream: string, payloads: readonly Uint8Array[], framing?: 'lines', signal?: AbortSignal): Promise<number> {
    return this.#feed.payloads(stream, payloads, framing, signal)
  }

  /**
   * Feeds a request body: JSON text of one row or an array of rows (`lines`: one document a line), whatever the stream's format.
   * Resolves when every running source of the stream has accepted it: rows in the body and how many rules' sources took them.
   * Throws DECODE when the body is no JSON rows.
   */
  push(
    stream: string,
    body: Uint8Array,
    lines = false,
    signal?: AbortSignal,
  ): Promise<{ accepted: number; rules: number }> {
    return this.#feed.body(stream, body, lines, signal)
  }

  /** The same with rows that are already values; JavaScript numbers are float64, bigints int64. */
  feedRows(stream: string, rows: readonly ValueObject[], signal?: AbortSignal): Promise<number> {
    return this.#feed.rows(stream, rows, signal)
  }

  async #runnersOf(stream: string): Promise<StreamRunner[]> {
    const shared = await this.#shared.runner(stream)
    const own = this.#rules.all.flatMap((rule) => rule.run?.streams.filter((s) => s.name === stream) ?? [])
    return [...(shared ? [shared] : []), ...own, ...this.trials.streams(stream)]
  }

  // --- rules ---

  /** Creates from document text (or an object); plans, starts unless `triggered` is false, then stores. Returns the id. */
  createRule(document: string | ValueObject): Promise<string> {
    return this.#rules.create(document)
  }

  /** Upsert: plans first; when that fails the old rule keeps running and nothing is stored. */
  updateRule(id: string, text: string): Promise<void> {
    return this.#rules.update(id, text)
  }

  /** Upsert of an exported document under the version rule; `keepStopped` stores it without starting it. */
  importRule(id: string, text: string, keepStopped = false): Promise<void> {
    return this.#rules.import(id, text, keepStopped)
  }

  deleteRule(id: string): Promise<void> {
    return this.#rules.delete(id)
  }

  /** Re-plans and (re)starts; with the state a {@link ruleState} gave, where that run left off. */
  startRule(id: string, state?: string): Promise<void> {
    return this.#rules.start(id, state)
  }

  stopRule(id: string): Promise<void> {
    return this.#rules.stop(id)
  }

  /** Stops, reloads the stored document, starts; a failure leaves the rule `stopped by error`. */
  restartRule(id: string): Promise<void> {
    return this.#rules.restart(id)
  }

  /** Replaces the tags of a stored rule by what `change` makes of them; the rule is not restarted. */
  changeTags(id: string, change: (tags: readonly string[]) => readonly string[]): Promise<void> {
    return this.#rules.changeTags(id, change)
  }

  /** Checks a document without keeping it: names of its sources, and warnings of the planner when it plans. */
  validateRule(text: string): { sources: string[]; warnings: LogicalPlan['warnings'] } {
    return this.#rules.validate(text)
  }

  explainRule(id: string, readable = false): string {
    return this.#rules.explain(id, readable)
  }

  /** Names of the streams and tables an SQL rule document reads; empty when it does not parse. */
  sourcesOf(text: string): string[] {
    return this.#rules.sourcesOf(text)
  }

  /** The stored document, byte for byte. */
  ruleText(id: string): string {
    return this.#rules.text(id)
  }

  /** Sorted by id, temporary rules included. */
  listRules(): RuleSummary[] {
    return this.#rules.list()
  }

  hasRule(id: string): boolean {
    return this.#rules.has(id)
  }

  /** False for temporary rules. */
  isStored(id: string): boolean {
    return this.#rules.isStored(id)
  }

  ruleStatus(id: string): RuleStatus {
    return statusOf(this.#rules.find(id))
  }

  ruleLedger(id: string): RuleLedger {
    return this.#rules.find(id).ledger()
  }

  /** State of the running rule between two events: windows, tables, function states, counters. Versioned text. */
  ruleState(id: string): string {
    return this.#rules.encodedState(id)
  }

  /** The topo JSON of the last started topology. */
  ruleTopo(id: string): Topology['topo'] {
    return topologyOf(this.#rules.find(id))
  }

  /** Rows that the join of a running rule holds of its scan tables. */
  scanTables(id: string): ValueObject[] {
    return scanTablesOf(this.#rules.find(id, `failed to get topology for rule ${id}: Rule ${id} is not found`))
  }

  /** Output columns; only while a topology exists. */
  ruleSchema(id: string): ReportedSchema {
    return columnsOf(this.#rules.find(id))
  }

  /** Runs SQL for an embedding program: a temporary rule whose results go to `onResult`. */
  query(options: QueryOptions): Promise<Query> {
    return this.#rules.query(options)
  }

  /** Counters of all running rules, for Prometheus. */
  *metrics(): Iterable<{ rule: string; node: NodeMetrics }> {
    for (const rule of this.#rules.all) for (const node of rule.run?.metrics ?? []) yield { rule: rule.id, node }
  }

  *ledgers(): Iterable<{ rule: string; streams: readonly string[]; state: string; ledger: RuleLedger }> {
    for (const rule of this.#rules.all) {
      const streams = rule.planned?.plan.sources.map((s) => s.definition.name) ?? []
      yield { rule: rule.id, streams, state: rule.state, ledger: rule.ledger() }
    }
  }
}
