/** Import and export of definitions: rule sets and whole configurations (spec/rest-api.md 3.7, 3.8). */
import { IxionError, messageOf } from '../core/errors.ts'
import { MAX_DOCUMENT_DEPTH, nestsDeeper } from '../core/json-nesting.ts'
import { jsonProblem } from '../core/json-problem.ts'
import { isObject, setField, type Value, type ValueObject } from '../core/values.ts'
import type { Engine } from './engine.ts'
import type { StreamKind } from './streams.ts'

export type Texts = Record<string, string>

export interface RuleSet {
  readonly streams: Texts
  readonly tables: Texts
  readonly rules: Texts
}

/** Sections in the order of the wire. */
export const sections = [
  'streams',
  'tables',
  'rules',
  'nativePlugins',
  'portablePlugins',
  'sourceConfig',
  'sinkConfig',
  'connectionConfig',
  'Service',
  'Schema',
  'uploads',
  'scripts',
] as const
export type Section = (typeof sections)[number]
export type Configuration = Record<Section, Texts>

const configSections = [
  ['sourceConfig', 'sources'],
  ['sinkConfig', 'sinks'],
  ['connectionConfig', 'connections'],
] as const

export function emptyConfiguration(): Configuration {
  return Object.fromEntries(sections.map((s) => [s, {}])) as Configuration
}

export function exportRuleSet(engine: Engine): RuleSet {
  const texts = (kind: StreamKind): Texts =>
    Object.fromEntries(engine.listStreams(kind).map((s) => [s.definition.name, s.sql]))
  const rules = engine.listRules().filter((r) => engine.isStored(r.id))
  return {
    streams: texts('stream'),
    tables: texts('table'),
    rules: Object.fromEntries(rules.map((r) => [r.id, engine.ruleText(r.id)])),
  }
}

export async function exportConfiguration(engine: Engine): Promise<Configuration> {
  const all: Configuration = { ...emptyConfiguration(), ...exportRuleSet(engine) }
  for (const [section, kind] of configSections) {
    for (const [type, keys] of Object.entries(engine.configuration.stored(kind))) {
      setField(all[section], type, JSON.stringify(keys))
    }
  }
  for (const { id, typ, props } of engine.configuration.connections()) {
    const known = parse(all.connectionConfig[typ] ?? '{}') ?? {}
    setField(known, id, props)
    setField(all.connectionConfig, typ, JSON.stringify(known))
  }
  Object.assign(all.Schema, engine.schemas.documents())
  Object.assign(all.uploads, await engine.uploads.records())
  return all
}

/** The named rules and what they read: streams, tables, their configuration keys, schemas, uploads. */
export async function exportRules(engine: Engine, ids: readonly string[]): Promise<Configuration> {
  const all = await exportConfiguration(engine)
  const result: Configuration = { ...emptyConfiguration(), uploads: all.uploads }
  for (const id of ids) {
    const text = Object.hasOwn(all.rules, id) ? (all.rules[id] as string) : ''
    setField(result.rules, id, text)
    if (text === '') continue
    for (const name of engine.sourcesOf(text)) {
      const stored = engine.stream(name)
      if (!stored) continue
      const { definition, sql } = stored
      setField(definition.streamType === 'table' ? result.tables : result.streams, name, sql)
      const type = (definition.options.type ?? 'mqtt').toLowerCase()
      if (definition.options.confKey && Object.hasOwn(all.sourceConfig, type)) {
        setField(result.sourceConfig, type, all.sourceConfig[type] as string)
      }
      const schema = definition.options.schemaId?.split('.')[0]
      for (const [key, document] of Object.entries(all.Schema)) {
        if (schema && key.endsWith(`_${schema}`)) setField(result.Schema, key, document)
      }
    }
    for (const action of actionsOf(text)) {
      for (const section of ['sinkConfig', 'connectionConfig'] as const) {
        if (Object.hasOwn(all[section], action)) setField(result[section], action, all[section][action] as string)
      }
    }
  }
  return result
}

function actionsOf(ruleText: string): string[] {
  const actions = parse(ruleText)?.['actions']
  if (!Array.isArray(actions)) return []
  return actions.flatMap((a) => (isObject(a) ? Object.keys(a) : []))
}

function parse(text: string): ValueObject | null {
  try {
    const value = nestsDeeper(text, MAX_DOCUMENT_DEPTH) ? null : (JSON.parse(text) as Value)
    return isObject(value) ? value : null
  } catch {
    return null
  }
}

/** One section of a document: names to texts. Throws INVALID_DOCUMENT. */
function readTexts(document: ValueObject, section: string): Texts {
  const value = document[section]
  if (value === undefined || value === null) return {}
  if (!isObject(value)) throw new IxionError('INVALID_DOCUMENT', `${section} must map names to texts`)
  for (const [name, text] of Object.entries(value)) {
    if (typeof text !== 'string') throw new IxionError('INVALID_DOCUMENT', `${section}.${name} must be a text`)
  }
  return value as Texts
}

export interface RuleSetCounts {
  readonly streams: number
  readonly tables: number
  readonly rules: number
}

/** Replaces what the version rule allows; a running rule of the same id is stopped first. Failures are logged. */
export async function importRuleSet(engine: Engine, content: string): Promise<RuleSetCounts> {
  const document = parse(content)
  if (!document) {
    throw new IxionError('INVALID_DOCUMENT', `invalid import file: ${syntaxProblem(content)}`)
  }
  const streams = readTexts(document, 'streams')
  const tables = readTexts(document, 'tables')
  const rules = readTexts(document, 'rules')
  const count = async (texts: Texts, work: (name: string, text: string) => Promise<void>): Promise<number> => {
    let done = 0
    for (const [name, text] of Object.entries(texts)) {
      try {
        await work(name, text)
        done++
      } catch (error) {
        engine.log.error('import failed', { name, error: messageOf(error) })
      }
    }
    return done
  }
  return {
    streams: await count(streams, (name, sql) => putStream(engine, name, 'stream', sql)),
    tables: await count(tables, (name, sql) => putStream(engine, name, 'table', sql)),
    rules: await count(rules, (id, text) => engine.importRule(id, text)),
  }
}

function syntaxProblem(content: string): string {
  try {
    if (nestsDeeper(content, MAX_DOCUMENT_DEPTH)) return `nested deeper than ${MAX_DOCUMENT_DEPTH} levels`
    JSON.parse(content)
    return 'it must be a JSON object'
  } catch (error) {
    return jsonProblem(error)
  }
}

async function putStream(engine: Engine, name: string, kind: StreamKind, sql: string): Promise<void> {
  await engine.replaceStream(name, kind, sql)
}

/** Reads a configuration document. Throws INVALID_DOCUMENT `configuration unmarshal with error ...`. */
export function readConfiguration(content: string): Configuration {
  const document = parse(content)
  if (!document) {
    throw new IxionError('INVALID_DOCUMENT', `configuration unmarshal with error ${syntaxProblem(content)}`)
  }
  try {
    return Object.fromEntries(sections.map((s) => [s, readTexts(document, s)])) as Configuration
  } catch (error) {
    throw new IxionError('INVALID_DOCUMENT', `configuration unmarshal with error ${messageOf(error)}`)
  }
}

export interface ImportOptions {
  /** Merge; absent = erase everything first. */
  readonly partial: boolean
  /** Full mode: schemas are installed, rules are not started, the process ends afterwards. */
  readonly stop: boolean
}

/**
 * Imports a parsed document; the errors by section and name, empty when all went well. Items that work stay. The document is
 * parsed before anything is erased, unlike in the reference.
 */
export async function importConfiguration(
  engine: Engine,
  document: Configuration,
  options: ImportOptions,
): Promise<Configuration> {
  const errors = emptyConfiguration()
  const each = async (section: Section, work: (name: string, text: string) => Promise<void>): Promise<void> => {
    for (const [name, text] of Object.entries(document[section])) {
      try {
        await work(name, text)
      } catch (error) {
        setField(errors[section], name, messageOf(error))
      }
    }
  }
  if (!options.partial) await eraseAll(engine)
  await each('uploads', async (name, record) => {
    const given = parse(record)
    if (!given) throw new Error('the record is not JSON')
    const location = given['file']
    const content =
      typeof location === 'string' && location !== ''
        ? await engine.readLocation(location)
        : Buffer.from(String(given['content'] ?? ''))
    await engine.uploads.write(name, content, record)
  })
  if (options.partial || options.stop) {
    await each('nativePlugins', async () => {
      throw new Error('native plugins are Go shared objects, which Ixion cannot load')
    })
    await each('Schema', async (key, text) => {
      const [, type = '', name = ''] = /^([a-z]+)_(.+)$/.exec(key) ?? []
      const given = parse(text)
      if (!given) throw new Error('the schema is not JSON')
      if (engine.schemas.has(type, name)) return
      await engine.schemas.create(engine.readSchema(type, given))
    })
  }
  await each('portablePlugins', async () => {
    throw new Error('portable plugins are not available in this build of Ixion')
  })
  await each('Service', async () => {
    throw new Error('external services are not available in this build of Ixion')
  })
  await each('scripts', async () => {
    throw new Error('JavaScript functions are not available in this build of Ixion')
  })
  for (const [section, kind] of configSections) {
    await each(section, async (type, text) => {
      const keys = parse(text)
      if (!keys) throw new Error('the properties are not JSON')
      for (const [key, properties] of Object.entries(keys)) {
        if (!isObject(properties)) throw new Error(`${key} must be an object`)
        await engine.configuration.setKey(kind, type, key, properties)
      }
    })
  }
  await each('streams', (name, sql) => putStream(engine, name, 'stream', sql))
  await each('tables', (name, sql) => putStream(engine, name, 'table', sql))
  await each('rules', (id, text) => engine.importRule(id, text, !options.partial && options.stop))
  return errors
}

export function hasErrors(errors: Configuration): boolean {
  return sections.some((s) => Object.keys(errors[s]).length > 0)
}

async function eraseAll(engine: Engine): Promise<void> {
  for (const { id } of engine.listRules()) await engine.deleteRule(id)
  for (const kind of ['stream', 'table'] as const) {
    for (const { definition } of engine.listStreams(kind)) await engine.dropStream(definition.name, kind)
  }
  for (const key of Object.keys(engine.schemas.documents())) {
    const at = key.indexOf('_')
    await engine.schemas.delete(key.slice(0, at), key.slice(at + 1))
  }
  await engine.configuration.clearKeys()
  await engine.uploads.forget()
}
