/** Rules (spec/rest-api.md 3.3, 3.4). */
import { IxionError, messageOf } from '../../core/errors.ts'
import { encodeJsonText } from '../../core/json-encode.ts'
import type { Engine } from '../../engine/engine.ts'
import { type Call, empty, JSON_TYPE, json, jsonText, members, type Reply, sortedKeys, text } from '../http.ts'
import type { Handler, Route } from '../router.ts'
import type { Services } from '../services.ts'
import { framed, inFrame, notBuilt, placeHeaders, WireError, wireCode } from '../wire-errors.ts'

type Work = (engine: Engine, id: string, call: Call, services: Services) => Reply | Promise<Reply>

const on =
  (work: Work): Handler =>
  async (call, services) =>
    work(await services.engine(), call.params['name'] ?? '', call, services)

/** The same with the identifier rule of 1.7 checked first. */
const onNamed = (work: Work): Handler =>
  on(async (engine, id, call, services) => {
    await inFrame('', () => engine.checkName(id), wireCode.undefined)
    return work(engine, id, call, services)
  })

export const ruleRoutes: Route[] = [
  ['GET', '/rules', on((engine) => json(engine.listRules()))],
  ['POST', '/rules', on(create)],
  ['GET', '/rules/{name}', onNamed(describe)],
  ['PUT', '/rules/{name}', onNamed(update)],
  ['DELETE', '/rules/{name}', onNamed(drop)],
  ['GET', '/rules/status/all', on((engine) => json(allStatus(engine)))],
  ['GET', '/rules/{name}/status', on((engine, id) => status(engine, id))],
  ['GET', '/v2/rules/{name}/status', on(async (engine, id) => json(sortedKeys(await statusObject(engine, id))))],
  [
    'POST',
    '/rules/{name}/start',
    on((engine, id) => control('start', () => engine.startRule(id), `Rule ${id} was started`)),
  ],
  [
    'POST',
    '/rules/{name}/stop',
    on((engine, id) => control('stop', () => engine.stopRule(id), `Rule ${id} was stopped.`)),
  ],
  [
    'POST',
    '/rules/{name}/restart',
    on((engine, id) => control('restart', () => engine.restartRule(id), `Rule ${id} was restarted`)),
  ],
  ['GET', '/rules/{name}/topo', on(topo)],
  ['GET', '/rules/{name}/schema', on(schema)],
  ['GET', '/rules/{name}/explain', on(explain)],
  ['GET', '/rules/{name}/ledger', on(async (engine, id) => json(await inFrame('', () => engine.ruleLedger(id))))],
  ['POST', '/rules/validate', on(validate)],
  ['PUT', '/rules/{name}/reset_state', on(resetState)],
  ['PUT', '/rules/{name}/tags', on((engine, id, call) => changeTags(engine, id, call, (_old, given) => given))],
  [
    'PATCH',
    '/rules/{name}/tags',
    on((engine, id, call) => changeTags(engine, id, call, (old, given) => [...new Set([...old, ...given])])),
  ],
  [
    'DELETE',
    '/rules/{name}/tags',
    on((engine, id, call) => changeTags(engine, id, call, (old, given) => old.filter((t) => !given.includes(t)))),
  ],
  ['GET', '/rules/tags/match', on(matchTags)],
  ['POST', '/rules/bulkstart', on((engine, _id, call) => bulk(engine, call, 'start', (id) => engine.startRule(id)))],
  ['POST', '/rules/bulkstop', on((engine, _id, call) => bulk(engine, call, 'stop', (id) => engine.stopRule(id)))],
  ['GET', '/rules/usage/cpu', () => text('cpu usage not enabled')],
  ['GET', '/rules/{name}/scantables', on(scanTables)],
  ['POST', '/rules/{name}/trace/start', () => notBuilt('Tracing')],
  ['POST', '/rules/{name}/trace/stop', () => notBuilt('Tracing')],
]

/** A rule that is refused for what it refers to is a plain error (1000); a bad sink or source property is 2201. */
function creationError(prefix: string, error: unknown): WireError {
  const code = error instanceof IxionError && error.code === 'INVALID_PROPERTY' ? wireCode.executor : wireCode.undefined
  return framed(prefix, error, code)
}

async function create(engine: Engine, _id: string, call: Call): Promise<Reply> {
  try {
    const id = await engine.createRule(call.body.toString())
    return text(`Rule ${id} was created successfully.`, 201)
  } catch (error) {
    throw creationError('', error)
  }
}

async function describe(engine: Engine, id: string): Promise<Reply> {
  const stored = await inFrame('Describe rule error', () => engine.ruleText(id), wireCode.notFound)
  return { status: 200, body: stored, type: JSON_TYPE }
}

async function update(engine: Engine, id: string, call: Call): Promise<Reply> {
  try {
    await engine.updateRule(id, call.body.toString())
  } catch (error) {
    throw creationError('Update rule error', error)
  }
  return text(`Rule ${id} was updated successfully.`)
}

async function drop(engine: Engine, id: string): Promise<Reply> {
  await inFrame('Delete rule error', () => engine.deleteRule(id), wireCode.undefined)
  return text(`Rule ${id} is dropped.`)
}

async function control(word: string, work: () => Promise<void>, done: string): Promise<Reply> {
  try {
    await work()
  } catch (error) {
    const missing = error instanceof IxionError && error.code === 'NOT_FOUND' && /^Rule /.test(error.message)
    throw missing ? framed(`${word} rule error`, error, wireCode.notFound) : creationError(`${word} rule error`, error)
  }
  return text(done)
}

async function statusObject(engine: Engine, id: string): Promise<Record<string, unknown>> {
  const { counters, ...base } = await inFrame('get rule status error', () => engine.ruleStatus(id))
  const all: Record<string, unknown> = { ...base }
  for (const [key, value] of counters) all[key] = value
  return all
}

async function status(engine: Engine, id: string): Promise<Reply> {
  return { status: 200, body: jsonText(await statusObject(engine, id), 2), type: JSON_TYPE }
}

/** Of a running rule: the text and count of the operator with the latest exception. */
function allStatus(engine: Engine): Record<string, unknown> {
  const result: Record<string, unknown> = {}
  for (const { id, status: state } of engine.listRules()) {
    let last = { time: -1, text: '', total: 0 }
    if (state === 'running') {
      const nodes = new Map<string, Record<string, number | string>>()
      for (const [key, value] of engine.ruleStatus(id).counters) {
        const match = /^(.*)_(exceptions_total|last_exception|last_exception_time)$/.exec(key)
        if (!match) continue
        const node = nodes.get(match[1] as string) ?? {}
        node[match[2] as string] = value
        nodes.set(match[1] as string, node)
      }
      for (const node of nodes.values()) {
        const time = Number(node['last_exception_time'] ?? 0)
        if (time > Math.max(0, last.time)) {
          last = { time, text: String(node['last_exception'] ?? ''), total: Number(node['exceptions_total'] ?? 0) }
        }
      }
    }
    result[id] = { status: state, last_exception: last.text, exceptions_total: last.total }
  }
  return result
}

/** NOT_FOUND stays 404; a rule without topology is 1001. */
async function ofTopology<T>(frame: string, work: () => T): Promise<T> {
  try {
    return work()
  } catch (error) {
    const missing = error instanceof IxionError && error.code === 'NOT_FOUND'
    throw framed(frame, error, missing ? wireCode.notFound : wireCode.general)
  }
}

async function topo(engine: Engine, id: string): Promise<Reply> {
  const { sources, edges } = await ofTopology('get rule topo error', () => engine.ruleTopo(id))
  return json({ sources, edges: Object.fromEntries(Object.entries(edges).sort(([a], [b]) => (a < b ? -1 : 1))) })
}

async function scanTables(engine: Engine, id: string): Promise<Reply> {
  const rows = await inFrame('', () => engine.scanTables(id))
  return { status: 200, body: encodeJsonText(rows), type: JSON_TYPE }
}

async function schema(engine: Engine, id: string): Promise<Reply> {
  return json(sortedKeys(await ofTopology('get rule schema error', () => engine.ruleSchema(id))))
}

async function explain(engine: Engine, id: string, call: Call): Promise<Reply> {
  try {
    return text(engine.explainRule(id, call.query.get('format') === 'readable'))
  } catch (error) {
    const code = error instanceof IxionError && error.code === 'NOT_SUPPORTED' ? wireCode.undefined : undefined
    throw framed('explain rules error', error, code)
  }
}

async function validate(engine: Engine, _id: string, call: Call): Promise<Reply> {
  try {
    const { sources, warnings } = engine.validateRule(call.body.toString())
    const body = { sources, valid: true, ...(warnings.length > 0 && { warnings }) }
    return { status: 200, body: jsonText(body), type: JSON_TYPE }
  } catch (error) {
    return { ...text(messageOf(error), 422), headers: placeHeaders(error) }
  }
}

/** Rewinding a source is not there yet: the checks of the reference are, then 501. */
async function resetState(engine: Engine, id: string, call: Call): Promise<Reply> {
  const request = await inFrame('', () => members(call.body, 'server.ruleStateUpdateRequest'), wireCode.undefined)
  const type = request.get('type') ?? 0
  if (type !== 1) throw new WireError(wireCode.undefined, `unknown stateType:${String(type)}`)
  if (!engine.hasRule(id)) throw new WireError(wireCode.undefined, `Rule ${id} is not found in registry`)
  if (engine.ruleStatus(id).status !== 'running') {
    throw new WireError(wireCode.undefined, `rule ${id} should be running when modify state`)
  }
  const params = request.get('params')
  const stream = params !== null && typeof params === 'object' ? (params as Record<string, unknown>)['streamName'] : ''
  if (!engine.ruleTopo(id).sources.includes(`source_${String(stream)}`)) {
    throw new WireError(wireCode.undefined, `stream ${String(stream)} not found in topo`)
  }
  return notBuilt('Rewinding a source')
}

async function tagsOf(call: Call): Promise<string[]> {
  try {
    const tags = members(call.body).get('tags') ?? []
    if (!Array.isArray(tags) || tags.some((t) => typeof t !== 'string')) {
      throw new IxionError('INVALID_DOCUMENT', 'tags must be an array of strings')
    }
    return tags as string[]
  } catch (error) {
    throw framed('decode body error', error, wireCode.undefined)
  }
}

async function changeTags(
  engine: Engine,
  id: string,
  call: Call,
  change: (old: readonly string[], given: string[]) => string[],
): Promise<Reply> {
  const given = await tagsOf(call)
  await inFrame('Get rule error', () => engine.changeTags(id, (old) => change(old, given)))
  return empty
}

function idsWith(engine: Engine, tags: readonly string[]): string[] {
  return engine
    .listRules()
    .filter((rule) => engine.isStored(rule.id) && tags.every((t) => rule.tags?.includes(t)))
    .map((rule) => rule.id)
}

async function matchTags(engine: Engine, _id: string, call: Call): Promise<Reply> {
  const rules = idsWith(engine, await tagsOf(call))
  return json(rules.length > 0 ? { rules } : {})
}

async function bulk(engine: Engine, call: Call, word: string, work: (id: string) => Promise<void>): Promise<Reply> {
  const ids = idsWith(engine, await tagsOf(call))
  if (ids.length === 0) throw new WireError(wireCode.undefined, `bulk ${word} failed: no matching rules`)
  const results: { ruleId: string; success: boolean; error?: string }[] = []
  for (const ruleId of ids) {
    try {
      await work(ruleId)
      results.push({ ruleId, success: true })
    } catch (error) {
      results.push({ ruleId, success: false, error: messageOf(error) })
    }
  }
  return json(results)
}
