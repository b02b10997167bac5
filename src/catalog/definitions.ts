/**
 * Stored definitions: streams and tables by their SQL text, rules by their document text, each acknowledged only when it is
 * durable. Temporary ones live in memory beside them.
 */
import { IxionError } from '../core/errors.ts'
import type { StreamDefinition } from '../sql/ast.ts'
import type { KeyValueStore, Store } from '../stores/contract.ts'

export interface StoredStream {
  readonly definition: StreamDefinition
  /** The CREATE statement as given. */
  readonly sql: string
  readonly temporary: boolean
}

export type StreamParser = (sql: string) => StreamDefinition

/** Streams and tables share one name space. */
export class StreamCatalog {
  readonly #table: KeyValueStore
  readonly #streams = new Map<string, StoredStream>()

  private constructor(table: KeyValueStore) {
    this.#table = table
  }

  /** Loads what is stored. A statement that no longer parses is reported through `unreadable` and kept in the store. */
  static async open(
    store: Store,
    parse: StreamParser,
    unreadable: (name: string, error: unknown) => void,
  ): Promise<StreamCatalog> {
    const catalog = new StreamCatalog(store.table('streams'))
    for await (const [name, sql] of catalog.#table.entries('')) {
      try {
        catalog.#streams.set(name, { definition: parse(sql), sql, temporary: false })
      } catch (error) {
        unreadable(name, error)
      }
    }
    return catalog
  }

  get(name: string): StoredStream | undefined {
    return this.#streams.get(name)
  }

  /** Persistent ones in key order, then temporary ones. */
  list(type: 'stream' | 'table'): StoredStream[] {
    const all = [...this.#streams.values()].filter((s) => s.definition.streamType === type)
    const byName = (a: StoredStream, b: StoredStream): number => (a.definition.name < b.definition.name ? -1 : 1)
    return [...all.filter((s) => !s.temporary).sort(byName), ...all.filter((s) => s.temporary)]
  }

  async create(definition: StreamDefinition, sql: string): Promise<void> {
    const { name } = definition
    const temporary = definition.options.temp === true
    if (this.#streams.has(name)) {
      throw new IxionError('ALREADY_EXISTS', temporary ? `key ${name} already exists.` : `Item ${name} already exists.`)
    }
    await this.#put(definition, sql, temporary)
  }

  async replace(definition: StreamDefinition, sql: string): Promise<void> {
    await this.#put(definition, sql, false)
  }

  async #put(definition: StreamDefinition, sql: string, temporary: boolean): Promise<void> {
    const entry: StoredStream = { definition, sql, temporary }
    // Reserved at once, so that two creations of one name cannot both pass the check while the first is being written.
    const before = this.#streams.get(definition.name)
    this.#streams.set(definition.name, entry)
    if (temporary) return
    try {
      await this.#table.set(definition.name, sql)
    } catch (error) {
      if (before) this.#streams.set(definition.name, before)
      else this.#streams.delete(definition.name)
      throw error
    }
  }

  async drop(name: string): Promise<void> {
    const entry = this.#streams.get(name)
    if (!entry) throw new IxionError('NOT_FOUND', `${name} is not found`)
    if (!entry.temporary) await this.#table.delete(name)
    this.#streams.delete(name)
  }
}

/** Rule documents as text, byte for byte as given until something rewrites them. */
export class RuleCatalog {
  readonly #table: KeyValueStore
  readonly #texts = new Map<string, string>()

  private constructor(table: KeyValueStore) {
    this.#table = table
  }

  static async open(store: Store): Promise<RuleCatalog> {
    const catalog = new RuleCatalog(store.table('rules'))
    for await (const [id, text] of catalog.#table.entries('')) catalog.#texts.set(id, text)
    return catalog
  }

  get(id: string): string | undefined {
    return this.#texts.get(id)
  }

  ids(): string[] {
    return [...this.#texts.keys()].sort()
  }

  async set(id: string, text: string): Promise<void> {
    await this.#table.set(id, text)
    this.#texts.set(id, text)
  }

  async delete(id: string): Promise<void> {
    await this.#table.delete(id)
    this.#texts.delete(id)
  }
}

/** Replacing is allowed when both versions are empty or the new one is greater as text (spec/rest-api.md 4.3). */
export function checkVersion(subject: string, stored: string, given: string): void {
  if ((stored === '' && given === '') || given > stored) return
  throw new IxionError(
    'ALREADY_EXISTS',
    `${subject} already exists with version (${stored}), new version (${given}) is lower`,
  )
}
