/** The schema registry (spec/rest-api.md 3.15). */
import { IxionError, messageOf } from '../../core/errors.ts'
import { getField, isObject, type Value, type ValueObject } from '../../core/values.ts'
import type { Engine } from '../../engine/engine.ts'
import { type Call, escapeHtml, isTrue, JSON_TYPE, json, jsonText, parseJson, type Reply, text } from '../http.ts'
import type { Handler, Route } from '../router.ts'
import { framed, inFrame, wireCode } from '../wire-errors.ts'

const MAX_VERSION = 4096

const on =
  (work: (engine: Engine, type: string, name: string, call: Call) => Reply | Promise<Reply>): Handler =>
  async (call, services) =>
    work(await services.engine(), call.params['type'] ?? '', call.params['name'] ?? '', call)

const plain = <T>(prefix: string, work: () => T | Promise<T>): Promise<T> => inFrame(prefix, work, wireCode.undefined)

export const schemaRoutes: Route[] = [
  ['GET', '/schemas/{type}', on(async (engine, type) => json(await plain('', () => engine.schemas.list(type))))],
  [
    'POST',
    '/schemas/{type}',
    on(async (engine, type, _name, call) => {
      const info = await plain('Invalid body', () => engine.readSchema(type, bodyOf(call)))
      await plain('schema create command error', () => engine.schemas.create(info))
      return text(escapeHtml(`${info.type} schema ${info.name} is created`), 201)
    }),
  ],
  [
    'GET',
    '/schemas/{type}/{name}',
    on(async (engine, type, name) => json(await plain('', () => engine.schemas.get(type, name)))),
  ],
  [
    'PUT',
    '/schemas/{type}/{name}',
    on(async (engine, type, name, call) => {
      const info = await plain('Invalid body', () => {
        const body = bodyOf(call)
        const given = engine.readSchema(type, { name, ...body })
        if (given.type !== type || given.name !== name) {
          throw new IxionError('INVALID_DOCUMENT', 'Type or name does not match')
        }
        return given
      })
      await plain('schema update command error', () => engine.schemas.upsert(info))
      return text(escapeHtml(`${type} schema ${name} is updated`))
    }),
  ],
  [
    'DELETE',
    '/schemas/{type}/{name}',
    on(async (engine, type, name, call) => {
      await plain(`delete ${type} schema ${name} error`, () => {
        const users = isTrue(call.query.get('force')) ? [] : usersOf(engine, type, name)
        if (users.length === 0) return engine.schemas.delete(type, name)
        throw new IxionError('IN_USE', `schema ${type}.${name} is used by ${users.join(', ')}`, {
          hint: 'Drop or change them first, or delete the schema with ?force=true.',
        })
      })
      return text(escapeHtml(`${type} schema ${name} is deleted`))
    }),
  ],
  ['PUT', '/schemas/{type}/{name}/upload', on(upload)],
]

/** Streams, tables and rules that name the schema, as `stream demo`. */
function usersOf(engine: Engine, type: string, name: string): string[] {
  const names = (format: Value | undefined, id: Value | undefined): boolean =>
    typeof format === 'string' && format.toLowerCase() === type && typeof id === 'string' && id.split('.')[0] === name
  const inside = (value: Value | undefined): boolean =>
    Array.isArray(value)
      ? value.some(inside)
      : isObject(value) &&
        (names(getField(value, 'format'), getField(value, 'schemaId')) || Object.values(value).some(inside))
  const kinds = ['stream', 'table'] as const
  const definitions = kinds.flatMap((kind) =>
    engine
      .listStreams(kind)
      .flatMap(({ definition: { name: user, options } }) =>
        names(options.format, options.schemaId) ? [`${kind} ${user}`] : [],
      ),
  )
  const rules = engine.listRules().filter(({ id }) => inside(JSON.parse(engine.ruleText(id)) as Value))
  return [...definitions, ...rules.map(({ id }) => `rule ${id}`)]
}

function bodyOf(call: Call): ValueObject {
  try {
    const value = parseJson(call.body) as Value
    if (isObject(value)) return value
    throw new IxionError('INVALID_DOCUMENT', 'the body must be an object')
  } catch (error) {
    throw framed('Invalid body: Error decoding schema json', error, wireCode.undefined)
  }
}

async function upload(engine: Engine, type: string, name: string, call: Call): Promise<Reply> {
  try {
    engine.checkName(name)
  } catch (error) {
    return uploadError(400, `Invalid schema: ${messageOf(error)}`)
  }
  const contentType = String(call.headers['content-type'] ?? '')
  if (!contentType.toLowerCase().startsWith('multipart/form-data')) {
    return uploadError(415, 'Invalid content type: content type must be multipart/form-data')
  }
  let form: FormData
  try {
    form = await new Response(new Uint8Array(call.body), { headers: { 'content-type': contentType } }).formData()
  } catch (error) {
    return uploadError(400, `Invalid multipart body: ${messageOf(error)}`)
  }
  const files = form.getAll('file')
  const versions = form.getAll('version')
  const [file] = files
  const [version = ''] = versions
  if (versions.length > 1) return uploadError(400, 'Invalid multipart body: version field must not be repeated')
  if (files.length > 1) return uploadError(400, 'Invalid multipart body: file field must appear exactly once')
  if (file === undefined || typeof file === 'string') {
    return uploadError(400, 'Invalid multipart body: file field is required')
  }
  if (typeof version !== 'string' || version.length > MAX_VERSION) {
    return uploadError(400, 'Invalid multipart body: version field is too large')
  }
  const content = await file.text()
  let info: ReturnType<Engine['readSchema']>
  try {
    info = engine.readSchema(type, { type, name, content, version })
    await engine.checkSchema(info)
  } catch (error) {
    return uploadError(400, `Invalid schema: ${messageOf(error)}`)
  }
  let created: boolean
  try {
    created = await engine.schemas.upsert(info)
  } catch (error) {
    const status = error instanceof IxionError && error.kind.status >= 500 ? 500 : 400
    return uploadError(status, `schema upsert error: ${messageOf(error)}`)
  }
  return {
    status: created ? 201 : 200,
    body: jsonText({ type, name }),
    type: JSON_TYPE,
    headers: { Location: `/schemas/${encodeURIComponent(type)}/${encodeURIComponent(name)}` },
  }
}

function uploadError(status: number, message: string): Reply {
  return { status, body: jsonText({ error: wireCode.undefined, message }), type: JSON_TYPE }
}
