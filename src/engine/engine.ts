/**
 * The engine: define streams and rules, start, stop, inspect, feed. The one door for the server, tests and embedding programs.
 */

import type { ConfigurationCatalog } from '../catalog/configuration.ts'
import { checkVersion, RuleCatalog, type StoredStream } from '../catalog/definitions.ts'
import { checkIdentifier } from '../catalog/identifier.ts'
import { type RuleDocument, readRuleDocument, rewriteRuleText } from '../catalog/rule-document.ts'
import { readSchemaInfo, type SchemaInfo, type SchemaRegistry } from '../catalog/schemas.ts'
import { UploadCatalog } from '../catalog/uploads.ts'
import type { Chunk, ConnectorDefinition, Logger } from '../connectors/contract.ts'
import type { Clock } from '../core/clock.ts'
import { IxionError, messageOf } from '../core/errors.ts'
import { decodeState, encodeState } from '../core/state.ts'
import { validateOptions } from '../core/validate.ts'
import type { Value, ValueObject } from '../core/values.ts'
import type { FunctionLookup } from '../functions/contract.ts'
import { loadRow } from '../operators/window/row-buffer.ts'
import { explain } from '../plan/explain.ts'
import { explainReadable } from '../plan/explain-readable.ts'
import type { LogicalPlan } from '../plan/logical.ts'
import { removeCheckpoints } from '../runtime/checkpointer.ts'
import type { NodeMetrics } from '../runtime/metrics.ts'
import type { StreamRunner } from '../runtime/stream-runner.ts'
import type { Statement, StreamDefinition } from '../sql/ast.ts'
import type { DefinitionJson } from '../sql/definition.ts'
import { parseSelect, parseStatement, statementVerb } from '../sql/index.ts'
import type { Store } from '../stores/contract.ts'
import { memoryStore } from '../stores/memory.ts'
import { internalConnections, usersOfConnection } from './connection-users.ts'
import { Connections } from './connections.ts'
import { connectorContext, type EngineEnvironment } from './environment.ts'
import { readLocation } from './locations.ts'
import { ManagedRule } from './managed-rule.ts'
import { locationRules, openEnvironment } from './open-environment.ts'
import { planDocument, planRule, planSql } from './planned-rule.ts'
import { prefixed } from './prefixed.ts'
import { countJsonRows, countLines } from './push.ts'
import { callbackSink, type Query, type QueryOptions } from './query.ts'
import type { RuleLedger } from './rule-run.ts'
import { isScheduled } from './schedule.ts'
import { outputSchema, type ReportedSchema, streamSchema } from './schema-report.ts'
import type { EngineOptions } from './settings.ts'
import { SharedStreams } from './shared-streams.ts'
import { type StreamKind, Streams } from './streams.ts'
import { TrialEndpoints } from './trial-endpoints.ts'
import { Trials } from './trials.ts'
import { Turns } from './turns.ts'
import { WriteQueue } from './write-queue.ts'

export interface RuleSummary {
  readonly id: string
  readonly name: string
  readonly status: string
  readonly tags: readonly string[] | null
  readonly trace: boolean
  readonly version: string
}

export interface RuleStatus {
  readonly status: string
  readonly message: string
  readonly lastStartTimestamp: number
  readonly lastStopTimestamp: number
  readonly nextStartTimestamp: number
  /** Counters by `<kind>_<node>_0_<suffix>`, in the order of spec/rest-api.md 8.1. */
  readonly counters: readonly (readonly [string, number | string])[]
}

export class Engine {
  readonly #environment: EngineEnvironment
  readonly #store: Store
  readonly #rules: RuleCatalog
  readonly #managed = new Map<string, ManagedRule>()
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
  readonly #turns: Turns
  #queries = 0
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
      usersOf: (id) => usersOfConnection(id, this.#managed.values()),
      internal: () => internalConnections(environment, this.#managed.values()),
    })
    this.#environment = environment
    this.#store = store
    this.#rules = rules
    this.#streams = new Streams(environment, this.#writes)
    this.#shared = new SharedStreams(environment)
    this.#turns = new Turns(environment.clock)
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
    const waiting = this.#registerStored()
    this.connections.openStored()
    await Promise.all(
      this.listStreams('table')
        .filter((t) => t.definition.options.kind === 'lookup')
        .map((t) => this.#environment.lookups.restore(this.#environment, t.definition)),
    )
    for (const rule of waiting) {
      if (this.#closed) return
      await this.#onRule(rule.id, async () => {
        // Stopped, started or deleted by a request in the meantime.
        if (rule.state !== 'starting' || rule.run || this.#managed.get(rule.id) !== rule) return
        await rule.exclusively(() => rule.startOrReport(rule.document))
      }).catch(() => {})
    }
  }

  /** Rules of the store under management; those to be started are `starting`. */
  #registerStored(): ManagedRule[] {
    const waiting: ManagedRule[] = []
    for (const id of this.#rules.ids()) {
      if (this.#managed.has(id)) continue
      try {
        const rule = this.#manage(this.#read(this.#rules.get(id) as string, id))
        if (!rule.document.triggered) continue
        rule.state = 'starting'
        waiting.push(rule)
      } catch (error) {
        this.log.error('a stored rule cannot be read', { rule: id, error: messageOf(error) })
      }
    }
    return waiting
  }

  /** Stops everything in order: sources, rules, sinks, store. */
  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    for (const rule of this.#managed.values()) rule.discard()
    await this.trialEndpoints.closeAll()
    await this.trials.closeAll()
    await Promise.all([...this.#managed.values()].map((rule) => rule.exclusively(() => rule.stop('canceled manually'))))
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
  readLocation(location: string): Promise<Buffer> {
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

  createStream(definition: StreamDefinition, sql: string): Promise<void> {
    return this.#streams.create(definition, sql)
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
    const readers = [...this.#managed.values()]
      .filter((rule) => rule.run)
      .map((rule) => ({
        plan: (rule.run as NonNullable<typeof rule.run>).planned.plan,
        numbered: rule.document.options.experiment.useSliceTuple,
      }))
    return streamSchema(definition, readers)
  }

  /** Ids of rules that read the stream and have a topology. */
  rulesReading(stream: string): string[] {
    return [...this.#managed.values()]
      .filter((rule) => rule.run?.planned.plan.sources.some((s) => s.definition.name === stream))
      .map((rule) => rule.id)
  }

  /**
   * Feeds documents (JSON text of one row or an array of rows) into every running source of the stream, as if its connector
   * had read them. Resolves when they are accepted, with how many rules' sources took them. Throws TIMEOUT or CONNECTION when
   * they are not; `signal` gives up while they wait for room.
   */
  async feed(
    stream: string,
    payloads: readonly Uint8Array[],
    framing?: 'lines',
    signal?: AbortSignal,
  ): Promise<number> {
    const stored = this.#environment.streams.get(stream)
    if (!stored) throw new IxionError('NOT_FOUND', `stream ${stream} is not found`)
    const runners = await this.#runnersOf(stream)
    const timestamp = this.clock.now()
    const chunk: Chunk = { kind: 'bytes', fed: true, payloads, meta: [null], timestamp, ...(framing && { framing }) }
    await Promise.all(runners.map((r) => this.#turns.hand(r, chunk, signal)))
    return rulesOf(runners)
  }

  /**
   * Feeds a request body: JSON text of one row or an array of rows (`lines`: one document a line), whatever the stream's format.
   * Resolves when every running source of the stream has accepted it: rows in the body and how many rules' sources took them.
   * Throws DECODE when the body is no JSON rows.
   */
  async push(
    stream: string,
    body: Uint8Array,
    lines = false,
    signal?: AbortSignal,
  ): Promise<{ accepted: number; rules: number }> {
    if (!this.stream(stream)) throw new IxionError('NOT_FOUND', `stream ${stream} is not found`)
    const accepted = lines ? countLines(body) : countJsonRows(body)
    if (accepted === 0) return { accepted, rules: 0 }
    return { accepted, rules: await this.feed(stream, [body], lines ? 'lines' : undefined, signal) }
  }

  /** The same with rows that are already values; JavaScript numbers are float64, bigints int64. */
  async feedRows(stream: string, rows: readonly ValueObject[], signal?: AbortSignal): Promise<number> {
    if (!this.#environment.streams.get(stream)) throw new IxionError('NOT_FOUND', `stream ${stream} is not found`)
    const runners = await this.#runnersOf(stream)
    const timestamp = this.clock.now()
    const chunk: Chunk = { kind: 'rows', rows, meta: [null], timestamp }
    await Promise.all(runners.map((r) => this.#turns.hand(r, chunk, signal)))
    return rulesOf(runners)
  }

  async #runnersOf(stream: string): Promise<StreamRunner[]> {
    const shared = await this.#shared.runner(stream)
    const own = [...this.#managed.values()].flatMap((rule) => rule.run?.streams.filter((s) => s.name === stream) ?? [])
    return [...(shared ? [shared] : []), ...own, ...this.trials.streams(stream)]
  }

  // --- rules ---

  #read(text: string, id?: string): RuleDocument {
    return readRuleDocument(text, this.#environment.options.ruleDefaults ?? {}, id)
  }

  #manage(document: RuleDocument): ManagedRule {
    const rule = new ManagedRule(this.#environment, this.#shared, document, (r, error) => void this.#finished(r, error))
    this.#managed.set(document.id, rule)
    return rule
  }

  /** End of stream: a finished rule does not start again at boot, unless its schedule says so. */
  async #finished(rule: ManagedRule, error: Error | null): Promise<void> {
    if (error) {
      this.log.error('rule stopped by an error', { rule: rule.id, error: error.message })
      return
    }
    if (isScheduled(rule.document.options)) return
    try {
      await this.#onRule(rule.id, async () => {
        const stillSo = this.#managed.get(rule.id) === rule && rule.held && !rule.run
        if (stillSo) await this.#setTriggered(rule.id, false)
      })
    } catch (failure) {
      this.log.error('the end of a rule could not be stored', { rule: rule.id, error: messageOf(failure) })
    }
  }

  /** Creates from document text (or an object); plans, starts unless `triggered` is false, then stores. Returns the id. */
  async createRule(document: string | ValueObject): Promise<string> {
    const text = typeof document === 'string' ? document : JSON.stringify(document)
    let parsed: RuleDocument
    try {
      parsed = this.#checked(this.#read(text))
    } catch (error) {
      throw documentError('invalid', error)
    }
    const { id } = parsed
    return this.#onRule(id, async () => {
      if (this.#managed.has(id)) throw new IxionError('ALREADY_EXISTS', `rule ${id} already exists`)
      const rule = this.#manage(parsed)
      return rule.exclusively(async () => {
        try {
          if (parsed.triggered) await rule.start(parsed)
          else await planRule(this.#environment, parsed)
          if (!parsed.temp) await this.#rules.set(id, text)
        } catch (error) {
          await rule.stop('')
          this.#forget(id)
          throw error
        }
        return id
      })
    })
  }

  /** SQL that does not parse is reported before the rest, as the reference does. */
  #checked(document: RuleDocument): RuleDocument {
    if (document.graph) return document
    let statement: Statement | null
    try {
      statement =
        statementVerb(document.sql) && parseStatement(document.sql, { functions: this.#environment.functions })
    } catch (error) {
      throw prefixed(`Parse SQL ${document.sql} error: `, error, '.')
    }
    if (statement?.kind !== 'select')
      throw new IxionError('SQL_SYNTAX', `SQL ${document.sql} is not a select statement.`)
    return document
  }

  /** Upsert: plans first; when that fails the old rule keeps running and nothing is stored. */
  async updateRule(id: string, text: string): Promise<void> {
    let document: RuleDocument
    try {
      document = this.#checked(this.#read(text, id))
    } catch (error) {
      throw documentError('Invalid', error)
    }
    await this.#onRule(id, () => this.#replaceRule(id, document, text))
  }

  async #replaceRule(id: string, document: RuleDocument, text: string): Promise<void> {
    const existing = this.#managed.get(id)
    if (existing) checkVersion(`rule ${id}`, existing.document.version, document.version)
    const rule = existing ?? this.#manage(document)
    await rule.exclusively(async () => {
      const before = { document: rule.document, ran: rule.run !== null }
      try {
        if (document.triggered) await rule.start(document, 'stopped by update')
        else {
          await planRule(this.#environment, document)
          await rule.stop('stopped by update')
          rule.document = document
          rule.held = true
        }
        if (!document.temp) await this.#rules.set(id, text)
      } catch (error) {
        if (!existing) {
          await rule.stop('')
          this.#forget(id)
        } else if (rule.document !== before.document && error instanceof IxionError && error.code === 'STORAGE') {
          // Not stored: what ran before runs again.
          rule.document = before.document
          if (before.ran) await rule.start(before.document, 'stopped by update').catch(() => {})
          else await rule.stop('stopped by update')
        }
        throw error
      }
    })
  }

  /** Upsert of an exported document under the version rule; `keepStopped` stores it without starting it. */
  async importRule(id: string, text: string, keepStopped = false): Promise<void> {
    if (!keepStopped) return this.updateRule(id, text)
    const document = this.#checked(this.#read(text, id))
    await this.#onRule(id, async () => {
      const existing = this.#managed.get(id)
      if (existing) {
        checkVersion(`rule ${id}`, existing.document.version, document.version)
        await existing.exclusively(() => existing.stop('stopped by update'))
        existing.document = document
        existing.held = true
      } else this.#manage(document).held = true
      await this.#rules.set(id, text)
    })
  }

  /** Names of the streams and tables an SQL rule document reads; empty when it does not parse. */
  sourcesOf(text: string): string[] {
    try {
      const statement = parseSelect(this.#read(text).sql, { functions: this.#environment.functions })
      return [statement.from, ...statement.joins.map((j) => j.source)].map((s) => s.name)
    } catch {
      return []
    }
  }

  async deleteRule(id: string): Promise<void> {
    await this.#onRule(id, async () => {
      const rule = this.#managed.get(id)
      if (!rule && this.#rules.get(id) === undefined) throw new IxionError('NOT_FOUND', `rule ${id} not found`)
      await rule?.exclusively(() => rule.stop('canceled manually'))
      await this.#rules.delete(id)
      await removeCheckpoints(this.#environment.checkpoints, id)
      this.#forget(id)
    })
  }

  #forget(id: string): void {
    this.#managed.get(id)?.discard()
    this.#managed.delete(id)
  }

  #rule(id: string, message: string): ManagedRule {
    const rule = this.#managed.get(id)
    if (!rule) throw new IxionError('NOT_FOUND', message)
    return rule
  }

  /** Re-plans and (re)starts; with the state a {@link ruleState} gave, where that run left off. */
  async startRule(id: string, state?: string): Promise<void> {
    await this.#control(id, async (rule) => {
      await this.#setTriggered(id, true)
      await rule.start(rule.document, 'canceled manually', state === undefined ? null : decodeState(state))
    })
  }

  /** State of the running rule between two events: windows, tables, function states, counters. Versioned text. */
  ruleState(id: string): string {
    const { run } = this.#rule(id, notRegistered(id))
    if (!run) throw new IxionError('NOT_FOUND', `Rule ${id} is not running`)
    return encodeState(run.snapshot())
  }

  async stopRule(id: string): Promise<void> {
    // Stopped first: that has to work with a full disk too.
    await this.#control(id, async (rule) => {
      rule.held = true
      await rule.stop('canceled manually')
      await this.#setTriggered(id, false)
    })
  }

  /** Stops, reloads the stored document, starts; a failure leaves the rule `stopped by error`. */
  async restartRule(id: string): Promise<void> {
    await this.#control(id, async (rule) => {
      await this.#setTriggered(id, true)
      await rule.stop('canceled manually')
      // A temporary rule is not stored: its document is the one it runs.
      const text = this.#rules.get(id)
      await rule.startOrReport(text === undefined ? rule.document : this.#read(text, id))
    })
  }

  async #setTriggered(id: string, triggered: boolean): Promise<void> {
    const text = this.#rules.get(id)
    if (text !== undefined) await this.#rules.set(id, rewriteRuleText(text, { triggered }))
  }

  /** Replaces the tags of a stored rule by what `change` makes of them; the rule is not restarted. */
  async changeTags(id: string, change: (tags: readonly string[]) => readonly string[]): Promise<void> {
    await this.#onRule(id, async () => {
      const tags = this.#read(this.ruleText(id), id).tags ?? []
      await this.#rewrite(id, { tags: [...change(tags)] })
    })
  }

  /** Changes members of the stored document without restarting the rule (tags). */
  async rewriteRule(id: string, changes: Readonly<Record<string, Value>>): Promise<void> {
    await this.#onRule(id, () => this.#rewrite(id, changes))
  }

  async #rewrite(id: string, changes: Readonly<Record<string, Value>>): Promise<void> {
    const text = this.ruleText(id)
    await this.#rules.set(id, rewriteRuleText(text, changes))
    const rule = this.#managed.get(id)
    if (rule) rule.document = { ...this.#read(this.ruleText(id), id) }
  }

  /** The stored document, byte for byte. */
  ruleText(id: string): string {
    const text = this.#rules.get(id)
    if (text === undefined) throw new IxionError('NOT_FOUND', `Rule ${id} is not found.`)
    return text
  }

  /** Sorted by id, temporary rules included. */
  listRules(): RuleSummary[] {
    const ids = new Set([...this.#rules.ids(), ...this.#managed.keys()])
    return [...ids].sort().map((id) => {
      const rule = this.#managed.get(id)
      const stored = this.#rules.get(id) !== undefined
      return {
        id,
        name: (stored && rule?.document.name) || id,
        status: rule ? rule.state : `error: Rule ${id} is not found in registry`,
        tags: stored ? (rule?.document.tags ?? null) : null,
        trace: false,
        version: stored ? (rule?.document.version ?? '') : '',
      }
    })
  }

  hasRule(id: string): boolean {
    return this.#managed.has(id) || this.#rules.get(id) !== undefined
  }

  /** False for temporary rules. */
  isStored(id: string): boolean {
    return this.#rules.get(id) !== undefined
  }

  ruleStatus(id: string): RuleStatus {
    const rule = this.#rule(id, `Rule ${id} is not found`)
    return {
      status: rule.state,
      message: rule.message,
      lastStartTimestamp: rule.lastStart,
      lastStopTimestamp: rule.lastStop,
      nextStartTimestamp: rule.nextStart,
      counters: rule.entries(),
    }
  }

  ruleLedger(id: string): RuleLedger {
    return this.#rule(id, `Rule ${id} is not found`).ledger()
  }

  /** The topo JSON of the last started topology. */
  ruleTopo(id: string): { sources: readonly string[]; edges: Readonly<Record<string, readonly string[]>> } {
    const { planned } = this.#rule(id, `Rule ${id} is not found`)
    if (!planned) {
      throw new IxionError(
        'INVALID_DOCUMENT',
        `Fail to get rule ${id}'s topo, make sure the rule has been started before`,
      )
    }
    return planned.topology.topo
  }

  /** Rows that the join of a running rule holds of its scan tables. */
  scanTables(id: string): ValueObject[] {
    const failed = `failed to get topology for rule ${id}: `
    const { run } = this.#rule(id, `${failed}Rule ${id} is not found`)
    const problem = (message: string): IxionError => new IxionError('INVALID_DOCUMENT', message)
    if (!run) throw problem(`${failed}topology not initialized, rule may not have been started`)
    const align = run.runner.stages.find((stage) => stage.operator.name === 'join_aligner')?.operator
    if (!align?.save) throw problem(`scan table error: join node is not found for ${id}`)
    const tables = align.save() as [string, [Value, boolean][]][]
    const rows = tables.flatMap(([emitter, kept]) =>
      kept.map(([saved]): ValueObject => ({ emitter, content: loadRow(saved).message })),
    )
    if (rows.length === 0) throw problem('scan table error: unable to find tuples for the given scan table')
    return rows
  }

  /** Output columns; only while a topology exists. */
  ruleSchema(id: string): ReportedSchema {
    const { run } = this.#rule(id, `Rule ${id} is not found`)
    if (!run) {
      throw new IxionError(
        'INVALID_DOCUMENT',
        `Fail to get rule ${id}'s topo, make sure the rule has been started before`,
      )
    }
    return outputSchema(run.planned.plan)
  }

  explainRule(id: string, readable = false): string {
    const text = this.#rules.get(id)
    const document = this.#managed.get(id)?.document ?? (text === undefined ? undefined : this.#read(text, id))
    if (!document) throw new IxionError('NOT_FOUND', `Rule ${id} is not found.`)
    if (document.graph) throw new IxionError('NOT_SUPPORTED', 'only support explain sql now')
    const plan = planSql(this.#environment, document)
    return readable ? explainReadable(plan) : explain(plan)
  }

  /** Checks a document without keeping it: names of its sources, and warnings of the planner when it plans. */
  validateRule(text: string): { sources: string[]; warnings: LogicalPlan['warnings'] } {
    let document: RuleDocument
    try {
      document = this.#checked(this.#read(text))
    } catch (error) {
      throw documentError('invalid', error)
    }
    if (document.graph) return { sources: this.#graphSources(document), warnings: [] }
    const statement = parseSelect(document.sql, { functions: this.#environment.functions })
    const sources = [statement.from, ...statement.joins.map((j) => j.source)].map((s) => s.name)
    for (const name of sources) {
      const stored = this.#environment.streams.get(name)
      if (!stored || stored.temporary) throw new IxionError('NOT_FOUND', `${name} is not found`)
    }
    let warnings: LogicalPlan['warnings'] = []
    try {
      warnings = planSql(this.#environment, document).warnings
    } catch {
      // Planning problems are found at creation, as in the reference.
    }
    return { sources, warnings }
  }

  /** Names as the topology has them, as in the reference. */
  #graphSources(document: RuleDocument): string[] {
    try {
      const { plan } = planDocument(this.#environment, document)
      return plan.sources.filter((s) => s.definition.options.kind !== 'lookup').map((s) => `source_${s.emitter}`)
    } catch (error) {
      throw prefixed('invalid ruleDef graph: ', error)
    }
  }

  /** Runs SQL for an embedding program: a temporary rule whose results go to `onResult`. */
  async query(options: QueryOptions): Promise<Query> {
    const id = options.id ?? `query_${++this.#queries}`
    const sink = callbackSink(id, options.onResult)
    const connectors = new Map(this.#environment.connectors).set(sink.name, { name: sink.name, sink })
    const environment: EngineEnvironment = { ...this.#environment, connectors }
    const document = this.#read(
      JSON.stringify({
        id,
        sql: options.sql,
        temp: true,
        actions: [{ [sink.name]: {} }],
        options: options.options ?? {},
      }),
    )
    if (this.#managed.has(id)) throw new IxionError('ALREADY_EXISTS', `rule ${id} already exists`)
    const rule = new ManagedRule(environment, this.#shared, document, (r, error) => void this.#finished(r, error))
    this.#managed.set(id, rule)
    try {
      await rule.exclusively(() => rule.start(document))
    } catch (error) {
      this.#forget(id)
      throw error
    }
    return {
      id,
      ledger: () => rule.ledger().rule,
      stop: async () => {
        await rule.exclusively(() => rule.stop('canceled manually'))
        this.#forget(id)
      },
    }
  }

  /** Counters of all running rules, for Prometheus. */
  *metrics(): Iterable<{ rule: string; node: NodeMetrics }> {
    for (const rule of this.#managed.values()) for (const node of rule.run?.metrics ?? []) yield { rule: rule.id, node }
  }

  *ledgers(): Iterable<{ rule: string; streams: readonly string[]; state: string; ledger: RuleLedger }> {
    for (const rule of this.#managed.values()) {
      const streams = rule.planned?.plan.sources.map((s) => s.definition.name) ?? []
      yield { rule: rule.id, streams, state: rule.state, ledger: rule.ledger() }
    }
  }

  /** What changes one rule happens in order of arrival, so that each call finds what the one before it left. */
  #onRule<T>(id: string, work: () => Promise<T>): Promise<T> {
    return this.#writes.run(`rule ${id}`, async () => {
      if (this.#closed) throw new IxionError('CONNECTION', 'the engine is closing')
      return work()
    })
  }

  /** Starts, stops or restarts a rule that is there. */
  #control(id: string, work: (rule: ManagedRule) => Promise<void>): Promise<void> {
    return this.#onRule(id, async () => {
      const rule = this.#rule(id, notRegistered(id))
      await rule.exclusively(() => work(rule))
    })
  }
}

const notRegistered = (id: string): string => `Rule ${id} is not found in registry, please check if it is created`

const rulesOf = (runners: readonly StreamRunner[]): number => runners.reduce((sum, r) => sum + r.attached, 0)

/** As the reference: wrong properties of an action are not part of the document's own errors. */
function documentError(word: 'invalid' | 'Invalid', error: unknown): unknown {
  const ofAction = error instanceof IxionError && error.code === 'INVALID_PROPERTY'
  return ofAction ? error : prefixed(`${word} rule json: `, error)
}
