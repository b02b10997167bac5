/** Import and export as YAML (spec/rest-api.md 3.8, v2): rules and properties are objects, not texts. */
import { IxionError, messageOf } from '../core/errors.ts'
import { isObject, setField, type Value, type ValueObject } from '../core/values.ts'
import type { Engine } from './engine.ts'
import type { StreamKind } from './streams.ts'
import { exportConfiguration, type Texts } from './transfer.ts'

const MAX_ALIASES = 100

const kinds = [
  ['sourceConfig', 'sources'],
  ['sinkConfig', 'sinks'],
  ['connectionConfig', 'connections'],
] as const

export async function exportYaml(engine: Engine): Promise<string> {
  const all = await exportConfiguration(engine)
  const document: ValueObject = {}
  for (const [section, kind] of kinds) {
    const keys: ValueObject = {}
    for (const [type, text] of Object.entries(all[section])) {
      for (const [key, properties] of Object.entries(JSON.parse(text) as ValueObject)) {
        setField(keys, `${kind}.${type}.${key}`, properties)
      }
    }
    if (Object.keys(keys).length > 0) document[section] = keys
  }
  const objects = (texts: Texts): ValueObject => {
    const result: ValueObject = {}
    for (const [name, text] of Object.entries(texts)) setField(result, name, JSON.parse(text) as Value)
    return result
  }
  if (Object.keys(all.Schema).length > 0) document['schema'] = objects(all.Schema)
  if (Object.keys(all.uploads).length > 0) document['uploads'] = objects(all.uploads)
  const statements = (texts: Texts): ValueObject => {
    const result: ValueObject = {}
    for (const [name, sql] of Object.entries(texts)) setField(result, name, { sql })
    return result
  }
  document['streams'] = statements(all.streams)
  if (Object.keys(all.tables).length > 0) document['tables'] = statements(all.tables)
  document['rules'] = objects(all.rules)
  const { stringify } = await import('yaml')
  return stringify(document, { lineWidth: 0 })
}

/** Stops at the first item that fails. Streams, tables and rules of the same name are dropped and made anew. */
export async function importYaml(engine: Engine, content: string): Promise<void> {
  const document = await parse(content)
  const section = (name: string): [string, ValueObject][] => {
    const value = document[name] ?? null
    if (value === null) return []
    if (!isObject(value)) throw new IxionError('INVALID_DOCUMENT', `${name} must hold names and objects`)
    return Object.entries(value).map(([key, item]) => {
      if (!isObject(item)) throw new IxionError('INVALID_DOCUMENT', `${name}.${key} must be an object`)
      return [key, item]
    })
  }
  for (const [name, kind] of kinds) {
    for (const [path, properties] of section(name)) {
      const [, type, key] = /^\w+\.([^.]+)\.(.+)$/.exec(path) ?? []
      if (type === undefined || key === undefined) {
        throw new IxionError('INVALID_DOCUMENT', `${name}: ${path} must be ${kind}.TYPE.KEY`)
      }
      await engine.configuration.setKey(kind, type, key, properties)
    }
  }
  for (const [name, upload] of section('uploads')) {
    const { file, content: text } = upload
    const bytes = typeof file === 'string' ? await engine.readLocation(file) : Buffer.from(String(text ?? ''))
    await engine.uploads.write(name, bytes, JSON.stringify(upload))
  }
  for (const name of ['service', 'nativePlugins', 'portablePlugins']) {
    for (const [item] of section(name)) {
      throw new IxionError('NOT_SUPPORTED', `${name}.${item}: not available in this build of Ixion`)
    }
  }
  for (const [key, schema] of section('schema')) {
    await engine.schemas.upsert(engine.readSchema(key.slice(0, Math.max(0, key.indexOf('_'))), schema))
  }
  const statements = async (name: string, kind: StreamKind): Promise<void> => {
    for (const [stream, { sql }] of section(name)) {
      if (typeof sql !== 'string') throw new IxionError('INVALID_DOCUMENT', `${name}.${stream}.sql must be a text`)
      if (engine.stream(stream)) await engine.dropStream(stream, kind)
      await engine.execute(sql)
    }
  }
  await statements('streams', 'stream')
  await statements('tables', 'table')
  for (const [id, rule] of section('rules')) {
    if (engine.hasRule(id)) await engine.deleteRule(id)
    await engine.createRule(JSON.stringify({ id, ...rule }))
  }
}

async function parse(content: string): Promise<ValueObject> {
  const yaml = await import('yaml')
  let value: Value
  try {
    value = yaml.parse(content, { maxAliasCount: MAX_ALIASES }) as Value
  } catch (error) {
    throw new IxionError('INVALID_DOCUMENT', `the content is not YAML: ${messageOf(error)}`)
  }
  if (value === null) return {}
  if (!isObject(value)) throw new IxionError('INVALID_DOCUMENT', 'the content must hold sections')
  return value
}
