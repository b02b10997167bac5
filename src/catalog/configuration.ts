/**
 * Named property sets: configuration keys of connectors (files of the etc folder, laid over by stored ones) and named
 * connections (spec/connectors.md 2.2, 2.3, 7; spec/rest-api.md 3.10, 3.11).
 */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { durationText } from '../core/duration.ts'
import { IxionError, messageOf } from '../core/errors.ts'
import { isObject, setField, type Value, type ValueObject } from '../core/values.ts'
import type { KeyValueStore, Store } from '../stores/contract.ts'
import { applyEnvironment, type Environment, readYamlFile } from './etc-files.ts'
import { checkIdentifier } from './identifier.ts'

export type ConfigurationKind = 'sources' | 'sinks' | 'connections'

/** Key -> properties. */
export type PropertySets = Readonly<Record<string, ValueObject>>

export interface NamedConnection {
  readonly id: string
  readonly typ: string
  readonly props: ValueObject
}

export interface ConfigurationOptions {
  /** Folder with mqtt_source.yaml, sources/ and connections/; absent = no files. */
  readonly etcDir?: string
  /** Data folder, whose connections/connection.yaml is read too. */
  readonly dataDir?: string
  readonly environment?: Environment
  readonly problem?: (text: string) => void
}

/** What holds when no file in the etc folder describes a connector: type -> properties of the key `default`. */
function builtinDefaults(dataDir: string): ReadonlyMap<string, ValueObject> {
  return new Map<string, ValueObject>([
    ['mqtt', { insecureSkipVerify: false, protocolVersion: '3.1.1', qos: 1, server: 'tcp://127.0.0.1:1883' }],
    ['file', { path: dataDir }],
    ['httppush', { method: 'POST' }],
    ['simulator', { data: [{ temperature: 22.5, humidity: 50 }], interval: '1s', loop: true }],
  ])
}

type Sets = Map<string, Map<string, ValueObject>>

export class ConfigurationCatalog {
  readonly #keys: KeyValueStore
  readonly #connectionTable: KeyValueStore
  readonly #stored: Readonly<Record<ConfigurationKind, Sets>> = {
    sources: new Map(),
    sinks: new Map(),
    connections: new Map(),
  }
  readonly #files: Readonly<Record<ConfigurationKind, Sets>> = {
    sources: new Map(),
    sinks: new Map(),
    connections: new Map(),
  }
  readonly #connections = new Map<string, NamedConnection>()
  /** Entries of connection.yaml that ask for their deletion. */
  readonly #withdrawn: string[] = []
  readonly #builtin: ReadonlyMap<string, ValueObject>

  private constructor(store: Store, dataDir: string) {
    this.#builtin = builtinDefaults(dataDir)
    this.#keys = store.table('confkeys')
    this.#connectionTable = store.table('connections')
  }

  /** A file that cannot be read is reported through `problem` and left out: the others still hold. */
  static async open(store: Store, options: ConfigurationOptions = {}): Promise<ConfigurationCatalog> {
    const catalog = new ConfigurationCatalog(store, options.dataDir ?? 'data')
    const problem = options.problem ?? (() => {})
    for await (const [path, text] of catalog.#keys.entries('')) {
      const [kind, type = '', key = ''] = path.split('\n')
      const properties = parseObject(text)
      if (properties && kind && kind in catalog.#stored)
        setOf(catalog.#stored[kind as ConfigurationKind], type).set(key, properties)
      else problem(`the stored configuration key ${path.replaceAll('\n', '.')} cannot be read`)
    }
    for await (const [id, text] of catalog.#connectionTable.entries('')) {
      const stored = parseObject(text)
      if (stored && typeof stored['typ'] === 'string' && isObject(stored['props'])) {
        catalog.#connections.set(id, { id, typ: stored['typ'], props: stored['props'] })
      } else problem(`the stored connection ${id} cannot be read`)
    }
    await catalog.#readFiles(options, problem)
    await catalog.#provision(problem)
    return catalog
  }

  async #readFiles(options: ConfigurationOptions, problem: (text: string) => void): Promise<void> {
    const { etcDir, dataDir, environment = {} } = options
    const inEnvironment = (prefix: string): boolean =>
      Object.keys(environment).some((name) => name.toUpperCase().startsWith(prefix.toUpperCase()))
    const read = async (path: string, base: string, builtin?: ValueObject): Promise<ValueObject> => {
      try {
        const tree = await readYamlFile(path)
        // The environment changes single properties of what holds without it.
        if (builtin && !Object.hasOwn(tree, 'default') && inEnvironment(`${base}__default__`))
          tree['default'] = { ...builtin }
        return applyEnvironment(tree, base, environment)
      } catch (error) {
        problem(messageOf(error))
        return {}
      }
    }
    const types = new Map<string, string>([['mqtt', etcDir ? join(etcDir, 'mqtt_source.yaml') : '']])
    for (const type of this.#builtin.keys()) if (!types.has(type)) types.set(type, '')
    if (etcDir) {
      for (const file of filesIn(join(etcDir, 'sources'))) {
        if (/\.ya?ml$/.test(file)) types.set(file.replace(/\.ya?ml$/, ''), join(etcDir, 'sources', file))
      }
    }
    for (const [type, path] of types) {
      const tree = await read(path, type === 'mqtt' ? 'mqtt_source' : type, this.#builtin.get(type))
      for (const [key, properties] of Object.entries(tree)) {
        if (isObject(properties)) setOf(this.#files.sources, type).set(key, properties)
      }
    }
    for (const folder of [etcDir, dataDir]) {
      if (!folder) continue
      const tree = await read(join(folder, 'connections', 'connection.yaml'), 'connection')
      for (const [type, entries] of Object.entries(tree)) {
        if (!isObject(entries)) continue
        for (const [name, properties] of Object.entries(entries)) {
          if (isObject(properties)) setOf(this.#files.connections, type).set(name, properties)
        }
      }
    }
  }

  /** `xOperation` of connection.yaml: create (the default) never overwrites a stored connection, delete drops it. */
  async #provision(problem: (text: string) => void): Promise<void> {
    for (const [type, entries] of this.#files.connections) {
      for (const [name, given] of entries) {
        const { xOperation = 'create', ...props } = given
        entries.set(name, props)
        if (xOperation === 'delete') {
          entries.delete(name)
          this.#withdrawn.push(name)
        } else if (xOperation !== 'create') {
          entries.delete(name)
          problem(`connection ${type}.${name}: xOperation must be create or delete, got ${String(xOperation)}`)
        } else if (!this.#connections.has(name)) this.#connections.set(name, { id: name, typ: type, props })
      }
    }
    for (const name of this.#withdrawn) {
      if (this.#connections.delete(name)) await this.#connectionTable.delete(name)
    }
  }

  // --- what rules read (engine/settings.ts, ConfigurationSource) ---

  sourceProperties(type: string, key: string): ValueObject | undefined {
    return this.#find('sources', type, key)
  }

  sinkProperties(type: string, key: string): ValueObject | undefined {
    return this.#find('sinks', type, key)
  }

  /** A named connection, else a configuration key of any type of connection. */
  connectionProperties(id: string): ValueObject | undefined {
    const named = this.#connections.get(id)
    if (named) return named.props
    for (const type of new Set([...this.#stored.connections.keys(), ...this.#files.connections.keys()])) {
      const found = this.#find('connections', type, id)
      if (found) return found
    }
    return undefined
  }

  #find(kind: ConfigurationKind, type: string, key: string): ValueObject | undefined {
    const file = this.#files[kind].get(type)
    return (
      this.#stored[kind].get(type)?.get(key) ??
      file?.get(key) ??
      (kind === 'sources' && key === 'default' && !file ? this.#builtin.get(type) : undefined)
    )
  }

  // --- what REST shows and changes ---

  /** Keys of files and stored ones together, sorted; undefined when nothing is known of the type. */
  keysOf(kind: ConfigurationKind, type: string): PropertySets | undefined {
    const keys = new Set([
      ...(kind === 'sources' && this.#builtin.has(type) ? ['default'] : []),
      ...(this.#files[kind].get(type)?.keys() ?? []),
      ...(this.#stored[kind].get(type)?.keys() ?? []),
    ])
    if (keys.size === 0) return undefined
    const sets: Record<string, ValueObject> = {}
    for (const key of [...keys].sort()) {
      const properties = this.#find(kind, type, key)
      if (properties) setField(sets, key, properties)
    }
    return sets
  }

  /** Types that files or stored keys describe (built-in defaults alone do not count). */
  types(kind: ConfigurationKind): string[] {
    return [...new Set([...this.#files[kind].keys(), ...this.#stored[kind].keys()])].sort()
  }

  /** Stored keys only: what exports carry. */
  stored(kind: ConfigurationKind): Readonly<Record<string, PropertySets>> {
    const all: Record<string, PropertySets> = {}
    for (const [type, keys] of [...this.#stored[kind]].sort(([a], [b]) => (a < b ? -1 : 1))) {
      if (keys.size > 0) all[type] = Object.fromEntries([...keys].sort(([a], [b]) => (a < b ? -1 : 1)))
    }
    return all
  }

  /** Replaces the whole key. Takes effect when rules start again. */
  async setKey(kind: ConfigurationKind, type: string, key: string, properties: ValueObject): Promise<void> {
    try {
      checkIdentifier(key)
    } catch (error) {
      throw new IxionError('INVALID_DOCUMENT', `Invalid confKey: ${messageOf(error)}`)
    }
    const normal = normalized(type, properties)
    await this.#keys.set(`${kind}\n${type}\n${key}`, JSON.stringify(normal))
    setOf(this.#stored[kind], type).set(key, normal)
  }

  /** Absent is fine; a key of a file stays. */
  async deleteKey(kind: ConfigurationKind, type: string, key: string): Promise<void> {
    await this.#keys.delete(`${kind}\n${type}\n${key}`)
    const keys = this.#stored[kind].get(type)
    keys?.delete(key)
    if (keys?.size === 0) this.#stored[kind].delete(type)
  }

  async clearKeys(): Promise<void> {
    for (const kind of ['sources', 'sinks', 'connections'] as const) {
      for (const [type, keys] of [...this.#stored[kind]]) {
        for (const key of [...keys.keys()]) await this.deleteKey(kind, type, key)
      }
    }
  }

  connections(): NamedConnection[] {
    return [...this.#connections.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
  }

  connection(id: string): NamedConnection | undefined {
    return this.#connections.get(id)
  }

  async setConnection(connection: NamedConnection): Promise<void> {
    const { id, typ, props } = connection
    await this.#connectionTable.set(id, JSON.stringify({ typ, props }))
    this.#connections.set(id, connection)
  }

  async deleteConnection(id: string): Promise<void> {
    await this.#connectionTable.delete(id)
    this.#connections.delete(id)
  }
}

function setOf(sets: Sets, type: string): Map<string, ValueObject> {
  let keys = sets.get(type)
  if (!keys) {
    keys = new Map()
    sets.set(type, keys)
  }
  return keys
}

function filesIn(folder: string): string[] {
  try {
    return readdirSync(folder).sort()
  } catch {
    return []
  }
}

function parseObject(text: string): ValueObject | null {
  try {
    const value = JSON.parse(text) as Value
    return isObject(value) ? value : null
  } catch {
    return null
  }
}

/** Old spellings and integer durations, rewritten as the reference does (spec/connectors.md 2.3). */
function normalized(type: string, properties: ValueObject): ValueObject {
  const result: ValueObject = {}
  for (const [key, value] of Object.entries(properties)) {
    const name = key === 'saslPassword' ? 'password' : key === 'url' && type === 'sql' ? 'dburl' : key
    const isDuration = name === 'timeout' || name === 'expiration' || name === 'interval'
    if (isDuration) setField(result, name, durationOf(value))
    else if (name === 'lookup' && isObject(value) && 'cacheTtl' in value) {
      setField(result, name, { ...value, cacheTtl: durationOf(value['cacheTtl'] as Value) })
    } else setField(result, name, value)
  }
  return result
}

function durationOf(value: Value): Value {
  return typeof value === 'number' && Number.isInteger(value) ? durationText(value) : value
}
