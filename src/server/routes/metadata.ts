/** Metadata and configuration keys (spec/rest-api.md 3.11), generated from the descriptions of connectors and functions. */
import { isObject, type Value, type ValueObject } from '../../core/values.ts'
import type { Engine } from '../../engine/engine.ts'
import { type Call, empty, json, parseJson, type Reply, sortedKeys } from '../http.ts'
import type { Handler, Route } from '../router.ts'
import { framed, inFrame, WireError, wireCode } from '../wire-errors.ts'

type Kind = 'sources' | 'sinks' | 'connections'

/** Loaded with the first request that needs it: it brings the engine's code along. */
const load = () => import('../../engine/metadata.ts')
type Metadata = Awaited<ReturnType<typeof load>>

/** A document generated from the descriptions. An unknown connector is 400 with `code`. */
const described =
  (code: number, make: (metadata: Metadata, engine: Engine, name: string, call: Call) => unknown): Handler =>
  async (call, services) => {
    const [engine, metadata] = [await services.engine(), await load()]
    return json(await inFrame('', () => make(metadata, engine, call.params['name'] ?? '', call), code))
  }

const on =
  (work: (engine: Engine, name: string, call: Call) => Reply | Promise<Reply>): Handler =>
  async (call, services) =>
    work(await services.engine(), call.params['name'] ?? '', call)

export const metadataRoutes: Route[] = [
  ['GET', '/metadata/functions', described(wireCode.undefined, (metadata) => metadata.functionDocuments())],
  ['GET', '/metadata/operators', described(wireCode.undefined, (metadata) => metadata.operatorDocuments())],
  ['GET', '/metadata/sinks', described(wireCode.configuration, (m, engine) => m.sinkList(engine.connectors))],
  [
    'GET',
    '/metadata/sinks/{name}',
    described(wireCode.configuration, (m, engine, name) => m.sinkDocument(engine.connectors, name)),
  ],
  [
    'GET',
    '/metadata/sources',
    described(wireCode.configuration, (m, engine, _name, call) =>
      m.sourceList(engine.connectors, call.query.get('kind') === 'lookup' ? 'lookup' : 'scan'),
    ),
  ],
  [
    'GET',
    '/metadata/sources/{name}',
    described(wireCode.configuration, (m, engine, name) => m.sourceDocument(engine.connectors, name)),
  ],
  ['GET', '/metadata/connections', described(wireCode.undefined, (m, engine) => m.connectionList(engine.connectors))],
  [
    'GET',
    '/metadata/connections/{name}',
    described(wireCode.undefined, (m, engine, name) => m.connectionDocument(engine.connectors, name)),
  ],
  ...keyRoutes('sources'),
  ...keyRoutes('sinks'),
  ...keyRoutes('connections'),
  ['GET', '/metadata/resource', on(resource)],
  [
    'GET',
    '/metadata/resources',
    on((engine) => json({ sinks: userKeys(engine, 'sinks'), sources: userKeys(engine, 'sources') })),
  ],
  ['POST', '/metadata/sources/connection/{name}', on((engine, name, call) => ping(engine, 'source', name, call))],
  ['POST', '/metadata/sinks/connection/{name}', on((engine, name, call) => ping(engine, 'sink', name, call))],
  ['POST', '/metadata/lookups/connection/{name}', on((engine, name, call) => ping(engine, 'lookup', name, call))],
]

function isKnown(engine: Engine, kind: Kind, name: string): boolean {
  const connector = engine.connectors.get(name)
  if (kind === 'sinks') return connector?.sink !== undefined
  if (kind === 'connections') return connector?.connection !== undefined
  return connector?.source !== undefined || connector?.lookup !== undefined
}

function keyRoutes(kind: Kind): Route[] {
  const unknown = (name: string): WireError =>
    new WireError(wireCode.configuration, `This plugin was not found:${kind}.${name}`)
  return [
    [
      'GET',
      `/metadata/${kind}/yaml/{name}`,
      on((engine, name) => {
        const sets = engine.configuration.keysOf(kind, name)
        if (!sets && !isKnown(engine, kind, name)) throw unknown(name)
        return json(sortedKeys(sets ?? {}))
      }),
    ],
    [
      'PUT',
      `/metadata/${kind}/{name}/confKeys/{confKey}`,
      on(async (engine, name, call) => {
        const properties = propertiesIn(call, (error) =>
          kind === 'connections'
            ? framed('Invalid body', error, wireCode.undefined)
            : new WireError(wireCode.configuration, `Type conversion failed:${name}.${(error as Error).message}`),
        )
        const { confKey = '' } = call.params
        await inFrame('', () => engine.configuration.setKey(kind, name, confKey, properties), wireCode.undefined)
        return empty
      }),
    ],
    [
      'DELETE',
      `/metadata/${kind}/{name}/confKeys/{confKey}`,
      on(async (engine, name, call) => {
        if (!engine.configuration.keysOf(kind, name) && !isKnown(engine, kind, name)) throw unknown(name)
        await engine.configuration.deleteKey(kind, name, call.params['confKey'] ?? '')
        return empty
      }),
    ],
  ]
}

function propertiesIn(call: Call, refuse: (error: unknown) => WireError): ValueObject {
  let value: Value
  try {
    value = parseJson(call.body) as Value
    if (!isObject(value)) throw new Error('json: the properties must be an object')
  } catch (error) {
    throw refuse(error)
  }
  return value
}

function resource(engine: Engine, _name: string, call: Call): Reply {
  const wanted = call.query.get('sourceType')
  const result: Record<string, Record<string, ValueObject>> = {}
  for (const type of engine.configuration.types('sources')) {
    const sets = Object.entries(engine.configuration.keysOf('sources', type) ?? {}).filter(
      ([, properties]) => !wanted || properties['sourceType'] === wanted,
    )
    if (sets.length > 0) result[type] = Object.fromEntries(sets)
  }
  return json(sortedKeys(result))
}

/** One object per plugin with user-made keys, key -> plugin; null when there are none. */
function userKeys(engine: Engine, kind: Kind): Record<string, string>[] | null {
  const all = Object.entries(engine.configuration.stored(kind)).map(([type, keys]) =>
    Object.fromEntries(Object.keys(keys).map((key) => [key, type])),
  )
  return all.length > 0 ? all : null
}

async function ping(engine: Engine, role: 'source' | 'sink' | 'lookup', name: string, call: Call): Promise<Reply> {
  const properties = propertiesIn(call, (error) => framed('Invalid body', error, wireCode.undefined))
  await inFrame('', () => engine.ping(role, name, properties))
  return empty
}
