/** The rules of an engine: documents in, runs out; what changes one rule happens in order, and is stored before it is answered. */
import { checkVersion, type RuleCatalog } from '../catalog/definitions.ts'
import { type RuleDocument, readRuleDocument, rewriteRuleText } from '../catalog/rule-document.ts'
import { IxionError, messageOf } from '../core/errors.ts'
import { decodeState, encodeState } from '../core/state.ts'
import type { Value, ValueObject } from '../core/values.ts'
import { explain } from '../plan/explain.ts'
import { explainReadable } from '../plan/explain-readable.ts'
import type { LogicalPlan } from '../plan/logical.ts'
import { removeCheckpoints } from '../runtime/checkpointer.ts'
import type { SelectStatement, Statement } from '../sql/ast.ts'
import { parseSelect, parseStatement, statementVerb } from '../sql/index.ts'
import type { EngineEnvironment } from './environment.ts'
import { ManagedRule } from './managed-rule.ts'
import { type PlannedRule, planDocument, planRule, planSql } from './planned-rule.ts'
import { prefixed } from './prefixed.ts'
import { callbackSink, type Query, type QueryOptions } from './query.ts'
import type { RuleSummary } from './rule-reports.ts'
import { isScheduled } from './schedule.ts'
import type { SharedStreams } from './shared-streams.ts'
import type { WriteQueue } from './write-queue.ts'

export class Rules {
  readonly #environment: EngineEnvironment
  readonly #shared: SharedStreams
  readonly #catalog: RuleCatalog
  readonly #writes: WriteQueue
  readonly #managed = new Map<string, ManagedRule>()
  #queries = 0
  #closed = false

  constructor(environment: EngineEnvironment, shared: SharedStreams, catalog: RuleCatalog, writes: WriteQueue) {
    this.#environment = environment
    this.#shared = shared
    this.#catalog = catalog
    this.#writes = writes
  }

  /** Rules under management, temporary ones and queries included. */
  get all(): readonly ManagedRule[] {
    return [...this.#managed.values()]
  }

  /** Throws NOT_FOUND with `message`. */
  find(id: string, message = `Rule ${id} is not found`): ManagedRule {
    const rule = this.#managed.get(id)
    if (!rule) throw new IxionError('NOT_FOUND', message)
    return rule
  }

  /** Rules of the store under management; those to be started are `starting`. */
  registerStored(): ManagedRule[] {
    const waiting: ManagedRule[] = []
    for (const id of this.#catalog.ids()) {
      if (this.#managed.has(id)) continue
      try {
        const rule = this.#manage(this.#read(this.#catalog.get(id) as string, id))
        if (!rule.document.triggered) continue
        rule.state = 'starting'
        waiting.push(rule)
      } catch (error) {
        this.#environment.log.error('a stored rule cannot be read', { rule: id, error: messageOf(error) })
      }
    }
    return waiting
  }

  /** Starts what {@link registerStored} gave, one after another; one that fails stays, `stopped by error`. */
  async startStored(waiting: readonly ManagedRule[]): Promise<void> {
    for (const rule of waiting) {
      if (this.#closed) return
      await this.#onRule(rule.id, async () => {
        // Stopped, started or deleted by a request in the meantime.
        if (rule.state !== 'starting' || rule.run || this.#managed.get(rule.id) !== rule) return
        await rule.exclusively(() => rule.startOrReport(rule.document))
      }).catch(() => {})
    }
  }

  /** From here on nothing changes and nothing starts; what runs goes on until {@link stopAll}. */
  freeze(): void {
    this.#closed = true
    for (const rule of this.#managed.values()) rule.discard()
  }

  async stopAll(): Promise<void> {
    await Promise.all(this.all.map((rule) => rule.exclusively(() => rule.stop('canceled manually'))))
  }

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
      this.#environment.log.error('rule stopped by an error', { rule: rule.id, error: error.message })
      return
    }
    if (isScheduled(rule.document.options)) return
    try {
      await this.#onRule(rule.id, async () => {
        const stillSo = this.#managed.get(rule.id) === rule && rule.held && !rule.run
        if (stillSo) await this.#setTriggered(rule.id, false)
      })
    } catch (failure) {
      this.#environment.log.error('the end of a rule could not be stored', { rule: rule.id, error: messageOf(failure) })
    }
  }

  /** Creates from document text (or an object); plans, starts unless `triggered` is false, then stores. Returns the id. */
  async create(document: string | ValueObject): Promise<string> {
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
          let planned: PlannedRule | null = null
          if (parsed.triggered) await rule.start(parsed)
          else planned = await planRule(this.#environment, parsed)
          if (!parsed.temp) await this.#catalog.set(id, text)
          this.#warn(id, planned ?? rule.planned)
        } catch (error) {
          await rule.stop('')
          this.#forget(id)
          throw error
        }
        return id
      })
    })
  }

  /** Says once, when a rule is made or changed, what plans but is probably not meant. */
  #warn(id: string, planned: PlannedRule | null): void {
    for (const { message, ...details } of planned?.plan.warnings ?? [])
      this.#environment.log.warn(message, { rule: id, ...details })
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
  async update(id: string, text: string): Promise<void> {
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
        let planned: PlannedRule | null = null
        if (document.triggered) await rule.start(document, 'stopped by update')
        else {
          planned = await planRule(this.#environment, document)
          await rule.stop('stopped by update')
          rule.document = document
          rule.held = true
        }
        if (!document.temp) await this.#catalog.set(id, text)
        this.#warn(id, planned ?? rule.planned)
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
  async import(id: string, text: string, keepStopped = false): Promise<void> {
    if (!keepStopped) return this.update(id, text)
    const document = this.#checked(this.#read(text, id))
    await this.#onRule(id, async () => {
      const existing = this.#managed.get(id)
      if (existing) {
        checkVersion(`rule ${id}`, existing.document.version, document.version)
        await existing.exclusively(() => existing.stop('stopped by update'))
        existing.document = document
        existing.held = true
      } else this.#manage(document).held = true
      await this.#catalog.set(id, text)
    })
  }

  /** Names of the streams and tables an SQL rule document reads; empty when it does not parse. */
  sourcesOf(text: string): string[] {
    try {
      const statement = parseSelect(this.#read(text).sql, { functions: this.#environment.functions })
      return namesOfSources(statement)
    } catch {
      return []
    }
  }

  async delete(id: string): Promise<void> {
    await this.#onRule(id, async () => {
      const rule = this.#managed.get(id)
      if (!rule && this.#catalog.get(id) === undefined) throw new IxionError('NOT_FOUND', `rule ${id} not found`)
      await rule?.exclusively(() => rule.stop('canceled manually'))
      await this.#catalog.delete(id)
      await removeCheckpoints(this.#environment.checkpoints, id)
      this.#forget(id)
    })
  }

  #forget(id: string): void {
    this.#managed.get(id)?.discard()
    this.#managed.delete(id)
  }

  /** Re-plans and (re)starts; with the state {@link encodedState} gave, where that run left off. */
  async start(id: string, state?: string): Promise<void> {
    await this.#control(id, async (rule) => {
      await this.#setTriggered(id, true)
      await rule.start(rule.document, 'canceled manually', state === undefined ? null : decodeState(state))
    })
  }

  async stop(id: string): Promise<void> {
    // Stopped first: that has to work with a full disk too.
    await this.#control(id, async (rule) => {
      rule.held = true
      await rule.stop('canceled manually')
      await this.#setTriggered(id, false)
    })
  }

  /** State of the running rule between two events, as text for {@link start}. */
  encodedState(id: string): string {
    const { run } = this.find(id, notRegistered(id))
    if (!run) throw new IxionError('NOT_FOUND', `Rule ${id} is not running`)
    return encodeState(run.snapshot())
  }

  /** Stops, reloads the stored document, starts; a failure leaves the rule `stopped by error`. */
  async restart(id: string): Promise<void> {
    await this.#control(id, async (rule) => {
      await this.#setTriggered(id, true)
      await rule.stop('canceled manually')
      // A temporary rule is not stored: its document is the one it runs.
      const text = this.#catalog.get(id)
      await rule.startOrReport(text === undefined ? rule.document : this.#read(text, id))
    })
  }

  async #setTriggered(id: string, triggered: boolean): Promise<void> {
    const text = this.#catalog.get(id)
    if (text !== undefined) await this.#catalog.set(id, rewriteRuleText(text, { triggered }))
  }

  /** Replaces the tags of a stored rule by what `change` makes of them; the rule is not restarted. */
  async changeTags(id: string, change: (tags: readonly string[]) => readonly string[]): Promise<void> {
    await this.#onRule(id, async () => {
      const tags = this.#read(this.text(id), id).tags ?? []
      await this.#rewrite(id, { tags: [...change(tags)] })
    })
  }

  async #rewrite(id: string, changes: Readonly<Record<string, Value>>): Promise<void> {
    const text = this.text(id)
    await this.#catalog.set(id, rewriteRuleText(text, changes))
    const rule = this.#managed.get(id)
    if (rule) rule.document = { ...this.#read(this.text(id), id) }
  }

  /** The stored document, byte for byte. */
  text(id: string): string {
    const text = this.#catalog.get(id)
    if (text === undefined) throw new IxionError('NOT_FOUND', `Rule ${id} is not found.`)
    return text
  }

  /** Sorted by id, temporary rules included. */
  list(): RuleSummary[] {
    const ids = new Set([...this.#catalog.ids(), ...this.#managed.keys()])
    return [...ids].sort().map((id) => {
      const rule = this.#managed.get(id)
      const stored = this.#catalog.get(id) !== undefined
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

  has(id: string): boolean {
    return this.#managed.has(id) || this.#catalog.get(id) !== undefined
  }

  /** False for temporary rules. */
  isStored(id: string): boolean {
    return this.#catalog.get(id) !== undefined
  }

  explain(id: string, readable = false): string {
    const text = this.#catalog.get(id)
    const document = this.#managed.get(id)?.document ?? (text === undefined ? undefined : this.#read(text, id))
    if (!document) throw new IxionError('NOT_FOUND', `Rule ${id} is not found.`)
    if (document.graph) throw new IxionError('NOT_SUPPORTED', 'only support explain sql now')
    const plan = planSql(this.#environment, document)
    return readable ? explainReadable(plan) : explain(plan)
  }

  /** Checks a document without keeping it: names of its sources, and warnings of the planner when it plans. */
  validate(text: string): { sources: string[]; warnings: LogicalPlan['warnings'] } {
    let document: RuleDocument
    try {
      document = this.#checked(this.#read(text))
    } catch (error) {
      throw documentError('invalid', error)
    }
    if (document.graph) return { sources: this.#graphSources(document), warnings: [] }
    const statement = parseSelect(document.sql, { functions: this.#environment.functions })
    const sources = namesOfSources(statement)
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
      const rule = this.find(id, notRegistered(id))
      await rule.exclusively(() => work(rule))
    })
  }
}

const notRegistered = (id: string): string => `Rule ${id} is not found in registry, please check if it is created`

/** Streams and tables of FROM and JOIN. */
function namesOfSources({ from, joins }: SelectStatement): string[] {
  return [from, ...joins.map((j) => j.source)].map((s) => s.name)
}

/** As the reference: wrong properties of an action are not part of the document's own errors. */
function documentError(word: 'invalid' | 'Invalid', error: unknown): unknown {
  const ofAction = error instanceof IxionError && error.code === 'INVALID_PROPERTY'
  return ofAction ? error : prefixed(`${word} rule json: `, error)
}
