/**
 * The schema registry (spec/connectors.md 13, spec/rest-api.md 3.15): texts behind SCHEMAID, in the store, and as files under
 * `schemas/` where a directory is given. A running rule keeps the schema it started with.
 */
import { IxionError } from '../core/errors.ts'
import { inTurn } from '../core/in-turn.ts'
import type { OptionSpecs } from '../core/options.ts'
import { validateOptions } from '../core/validate.ts'
import type { ValueObject } from '../core/values.ts'
import type { KeyValueStore, Store } from '../stores/contract.ts'
import { checkIdentifier } from './identifier.ts'
import {
  MAX_SCHEMA_BYTES,
  removeSchema,
  type SchemaContent,
  scanSchemas,
  schemaTypes,
  unzipSchema,
  writeSchema,
} from './schema-files.ts'

/** A schema as REST shows and takes it; empty members are left out. */
export interface SchemaInfo {
  readonly type: string
  readonly name: string
  readonly content?: string
  /** Where the content is to be fetched from (`file://`, `http://`, .zip too), or where it lies. */
  readonly file?: string
  readonly soFile?: string
  readonly version?: string
}

export interface SchemaRegistryOptions {
  /** Directory for installed schemas (`data/schemas`); absent = store only. */
  readonly directory?: string
  /** Directory of schemas that came with the installation (`etc/schemas`), only read. */
  readonly preinstalled?: string
  /** Fetches what `file` names. */
  readonly fetchFile?: (location: string) => Promise<Uint8Array>
  /** Streams and rules that use a schema; one that is in use cannot be deleted. Absent: deletable, as in the reference. */
  readonly usersOf?: (type: string, name: string) => readonly string[]
  /** Refuses text that is no schema of its type, by throwing; absent: found out when it is used, as in the reference. */
  readonly check?: (type: string, name: string, content: string) => void
  readonly problem?: (text: string) => void
}

interface Entry extends SchemaContent {
  readonly path: string
}

const documentSpecs: OptionSpecs = {
  type: { type: 'string', docs: 'protobuf or custom.' },
  name: { type: 'string', docs: 'Name of the schema.' },
  content: { type: 'string', docs: 'Text of the schema.' },
  file: { type: 'string', docs: 'Location of the text, or of a zip.' },
  soFile: { type: 'string', docs: 'Shared object of the reference; not supported.' },
  version: { type: 'string', docs: 'Compared as text: an older version does not replace a newer one.' },
}

const refuse = (message: string): IxionError => new IxionError('INVALID_DOCUMENT', message)

/**
 * A request body as a checked {@link SchemaInfo}; member names in any case, `type` of the body wins over `type`.
 * Throws IxionError INVALID_DOCUMENT `name is required` and so on, INVALID_PROPERTY for ill-typed members.
 */
export function readSchemaInfo(body: ValueObject, type: string): SchemaInfo {
  const given = validateOptions(documentSpecs, body, 'schema', { unknown: 'drop' }) as unknown as SchemaInfo
  const info: SchemaInfo = { ...given, type: given.type || type, name: given.name ?? '' }
  checkSchemaInfo(info)
  return info
}

/** The rules of a complete schema document; throws IxionError INVALID_DOCUMENT. */
function checkSchemaInfo(info: SchemaInfo): void {
  if (info.name === '') throw refuse('name is required')
  if (info.content && info.file) throw refuse('cannot specify both content and file')
  if (!Object.hasOwn(schemaTypes, info.type)) throw refuse(`unsupported schema type ${info.type}`)
  checkIdentifier(info.name)
  if (/[/\\@]|\.\./.test(info.version ?? '')) throw refuse(`schema version ${info.version} is invalid`)
  if (info.content || info.file) return
  throw refuse(info.type === 'custom' ? 'soFile is required' : 'must specify content or file')
}

export class SchemaRegistry {
  readonly #table: KeyValueStore
  readonly #options: SchemaRegistryOptions
  readonly #schemas = new Map<string, Map<string, Entry>>()
  /** One change at a time, so that a version check and the write it allows belong together. */
  readonly #serially = inTurn()

  private constructor(table: KeyValueStore, options: SchemaRegistryOptions) {
    this.#table = table
    this.#options = options
    for (const type of Object.keys(schemaTypes)) this.#schemas.set(type, new Map())
  }

  /** Loads stored schemas, then files: those in `directory` win over the store, preinstalled ones by a greater version only. */
  static async open(store: Store, options: SchemaRegistryOptions = {}): Promise<SchemaRegistry> {
    const registry = new SchemaRegistry(store.table('schemas'), options)
    const problem = options.problem ?? (() => {})
    for await (const [key, text] of registry.#table.entries('')) {
      const [type = '', name = ''] = key.split('/')
      try {
        const { content, supporting, version } = JSON.parse(text) as SchemaContent
        if (typeof content !== 'string' || typeof version !== 'string') throw new Error('content is missing')
        registry.#schemas.get(type)?.set(name, { content, supporting: supporting ?? {}, version, path: '' })
      } catch (error) {
        problem(`stored schema ${key} cannot be read: ${error instanceof Error ? error.message : String(error)}`)
      }
    }
    for (const [type, known] of registry.#schemas) {
      const own = options.directory ? await scanSchemas(options.directory, type, problem) : []
      for (const found of own) known.set(found.name, found)
      const shipped = options.preinstalled ? await scanSchemas(options.preinstalled, type, problem) : []
      for (const found of shipped) {
        const old = known.get(found.name)
        if (!old || found.version > old.version) known.set(found.name, found)
      }
    }
    return registry
  }

  /** Names in order. Throws IxionError `schema type X not found`. */
  list(type: string): string[] {
    return [...this.#ofType(type, `schema type ${type} not found`).keys()].sort()
  }

  has(type: string, name: string): boolean {
    return this.#schemas.get(type)?.has(name) ?? false
  }

  /** Throws IxionError `schema type X id Y not found in registry`. */
  get(type: string, name: string): SchemaInfo {
    const entry = this.#ofType(type, `schema type ${type} not found in registry`).get(name)
    if (!entry) throw refuse(`schema type ${type} id ${name} not found in registry`)
    const { content, path, version } = entry
    return { type, name, content, ...(path && { file: path }), ...(version && { version }) }
  }

  /** For formats: the text of a schema, or of a file in its folder (`name/path`). */
  schemaText(type: string, name: string): string | undefined {
    const known = this.#schemas.get(type)
    const slash = name.indexOf('/')
    if (slash < 0) return known?.get(name)?.content
    const files = known?.get(name.slice(0, slash))?.supporting
    const path = name.slice(slash + 1)
    return files && Object.hasOwn(files, path) ? files[path] : undefined
  }

  /** Throws IxionError ALREADY_EXISTS `schema T.N already registered`, and what {@link checkSchemaInfo} throws. */
  create(info: SchemaInfo): Promise<void> {
    return this.#serially(async () => {
      checkSchemaInfo(info)
      if (this.has(info.type, info.name)) {
        throw new IxionError('ALREADY_EXISTS', `schema ${info.type}.${info.name} already registered`)
      }
      await this.#install(info)
    })
  }

  /**
   * Creates or replaces; true = created. Refused when the stored version is not empty and greater than the new one:
   * `schema T.N already registered with a newer version V`.
   */
  upsert(info: SchemaInfo): Promise<boolean> {
    return this.#serially(async () => {
      checkSchemaInfo(info)
      const old = this.#schemas.get(info.type)?.get(info.name)
      if (old?.version && old.version > (info.version ?? '')) {
        throw refuse(`schema ${info.type}.${info.name} already registered with a newer version ${old.version}`)
      }
      await this.#install(info)
      return !old
    })
  }

  /** Throws IxionError `schema T.N not found`, IN_USE while streams or rules use it (when the registry is told which). */
  delete(type: string, name: string): Promise<void> {
    return this.#serially(async () => {
      const known = this.#ofType(type, `schema type ${type} not found`)
      if (!known.has(name)) throw refuse(`schema ${type}.${name} not found`)
      const users = this.#options.usersOf?.(type, name) ?? []
      if (users.length > 0) throw new IxionError('IN_USE', `schema ${type}.${name} is used by ${users.join(', ')}`)
      await this.#table.delete(`${type}/${name}`)
      if (this.#options.directory) await removeSchema(this.#options.directory, type, name)
      known.delete(name)
    })
  }

  /** All schemas as documents to create them from, by `type_name` (export). */
  documents(): Record<string, string> {
    const all: Record<string, string> = {}
    for (const [type, known] of this.#schemas) {
      for (const name of [...known.keys()].sort()) {
        const { file: _, ...document } = this.get(type, name)
        all[`${type}_${name}`] = JSON.stringify(document)
      }
    }
    return all
  }

  #ofType(type: string, missing: string): Map<string, Entry> {
    const known = this.#schemas.get(type)
    if (!known) throw refuse(missing)
    return known
  }

  async #install(info: SchemaInfo): Promise<void> {
    const { type, name, version = '' } = info
    const { check, directory } = this.#options
    const loaded = info.content ? { content: info.content, supporting: {} } : await this.#load(info)
    if (loaded.content.length > MAX_SCHEMA_BYTES) {
      throw new IxionError('LIMIT', `schema ${type}.${name} exceeds ${MAX_SCHEMA_BYTES} characters`)
    }
    check?.(type, name, loaded.content)
    const schema: SchemaContent = { ...loaded, version }
    await this.#table.set(`${type}/${name}`, JSON.stringify(schema))
    const path = directory ? await writeSchema(directory, type, name, schema) : ''
    this.#schemas.get(type)?.set(name, { ...schema, path })
  }

  async #load(info: SchemaInfo): Promise<Omit<SchemaContent, 'version'>> {
    const { fetchFile } = this.#options
    const location = info.file ?? ''
    if (!fetchFile) throw new IxionError('NOT_SUPPORTED', `schema file ${location} cannot be fetched here`)
    const bytes = await fetchFile(location)
    if (/\.zip$/i.test(location)) return unzipSchema(info.type, info.name, bytes)
    return { content: new TextDecoder().decode(bytes), supporting: {} }
  }
}
