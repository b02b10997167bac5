/** rest.jsonl: flows of REST calls over real HTTP on a fresh server, with an MQTT broker where a flow needs one. */
import { createSign, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { connect, type MqttClient } from 'mqtt'
import type { ConnectorDefinition } from '../../../src/connectors/contract.ts'
import { type EmbeddedBroker, startEmbeddedBroker } from '../../../src/connectors/embedded-broker.ts'
import { connectors } from '../../../src/connectors/index.ts'
import type { Value, ValueObject } from '../../../src/core/values.ts'
import type { Engine } from '../../../src/engine/engine.ts'
import { startRestServer } from '../../support/rest-server.ts'
import { type Case, fail, type Outcome, pass } from '../contract.ts'
import { fromTagged, sameValue, show } from '../values.ts'

// biome-ignore lint/suspicious/noExplicitAny: recorded data, its shape differs by step
type Step = Record<string, any>

/** How long a step that waits for data may take to come true, ms. */
const PATIENCE = 5000
const RECEIVE_PATIENCE = 20_000
const SUBSCRIBED = 300

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** A connection that is always there. */
const mock: ConnectorDefinition = {
  name: 'mock',
  connection: {
    options: {},
    acquire: async () => ({ status: { status: 1, message: '', since: 0 }, release: async () => {} }),
  },
}

interface Flow {
  readonly base: string
  readonly engine: Engine
  readonly dataDir: string
  readonly broker: EmbeddedBroker | null
  readonly publisher: MqttClient | null
  readonly received: Map<string, { payloads: string[]; taken: number }>
  readonly topics: Map<string, (readonly ValueObject[])[]>
  readonly events: Map<string, string[]>
  readonly key: KeyObject
  /** Last body of each path, for `jsonGrows`. */
  readonly before: Map<string, Record<string, unknown>>
}

export async function run(c: Case): Promise<Outcome> {
  const threads: Step[][] = c['parallel'] ? (c['parallel'] as { steps: Step[] }[]).map((t) => t.steps) : [c['steps']]
  const folder = mkdtempSync(join(tmpdir(), 'ixion-rest-'))
  const needs = JSON.stringify(c['needs'] ?? [])
  const dataDir = join(folder, 'data')
  const etcDir = join(folder, 'etc')
  for (const [path, content] of Object.entries((c['files'] ?? {}) as Record<string, string>)) {
    const target = join(folder, path.replace(/^dataDir/, 'data'))
    mkdirSync(dirname(target), { recursive: true })
    writeFileSync(target, content)
  }
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  mkdirSync(join(etcDir, 'mgmt'), { recursive: true })
  writeFileSync(join(etcDir, 'mgmt', 'test_issuer'), publicKey.export({ type: 'spki', format: 'pem' }))

  const broker = needs.includes('mqtt broker') ? await startEmbeddedBroker() : null
  const server = await startRestServer(
    {
      connectors: [...connectors, mock],
      dataDir,
      etcDir,
      ...(broker && { environmentVariables: { MQTT_SOURCE__DEFAULT__SERVER: broker.url } }),
    },
    { authentication: needs.includes('REST authentication on') },
  )
  const flow: Flow = {
    base: server.url,
    engine: server.engine,
    dataDir,
    broker,
    publisher: broker ? connect(broker.url, { clientId: 'publisher' }) : null,
    received: new Map(),
    topics: new Map(),
    events: new Map(),
    key: privateKey,
    before: new Map(),
  }
  try {
    await prepare(flow, threads.flat())
    await untilMidWindow(JSON.stringify(c))
    const outcomes = await Promise.all(threads.map((steps) => runThread(flow, steps)))
    return outcomes.find((o) => !o.ok) ?? pass
  } finally {
    flow.publisher?.end(true)
    await server.close()
    await broker?.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** A plan that waits 5 s for a window of 10 s or more is started so that the window ends within its wait. */
async function untilMidWindow(plan: string): Promise<void> {
  const size = Number(/TUMBLINGWINDOW\(ss, (\d+)\)/i.exec(plan)?.[1] ?? 0) * 1000
  if (size < 10_000) return
  const target = size * 0.65
  const wait = target - (Date.now() % size)
  await pause(wait >= 0 ? wait : wait + size)
}

/** Subscriptions exist before the first call. */
async function prepare(flow: Flow, steps: readonly Step[]): Promise<void> {
  for (const step of steps) {
    if (step['memory'] && !flow.topics.has(step['memory'])) {
      const messages: (readonly ValueObject[])[] = []
      flow.topics.set(step['memory'], messages)
      flow.engine.subscribe(step['memory'], (_topic, rows) => void messages.push(rows))
    }
    const topic = step['mqttReceive']?.topic as string | undefined
    if (topic && !flow.received.has(topic)) flow.received.set(topic, { payloads: [], taken: 0 })
  }
  if (!flow.publisher) return
  await new Promise<void>((resolve) => flow.publisher?.once('connect', () => resolve()))
  flow.publisher.on('message', (topic, payload) => flow.received.get(topic)?.payloads.push(payload.toString()))
  for (const topic of flow.received.keys()) await flow.publisher.subscribeAsync(topic, { qos: 1 })
}

async function runThread(flow: Flow, steps: readonly Step[]): Promise<Outcome> {
  for (const [index, step] of steps.entries()) {
    if (step['delayBeforeMs']) await pause(step['delayBeforeMs'])
    // The recorded plans have pauses here: a subscription is made and a message has arrived by then.
    const changes = step['method'] && step['method'] !== 'GET' && steps[index - 1]?.['mqttPublish']
    if (changes || (step['mqttPublish'] && steps[index - 1]?.['method'])) await pause(SUBSCRIBED)
    const problem = await runStep(flow, step)
    if (problem !== null) {
      return fail(`step ${index} ${step['method'] ?? ''} ${step['path'] ?? step['name'] ?? ''}: ${problem}`)
    }
    if (step['sleepAfterMs']) await pause(step['sleepAfterMs'])
  }
  return pass
}

async function runStep(flow: Flow, step: Step): Promise<string | null> {
  if (step['method']) return runCall(flow, step)
  if (step['mqttPublish']) {
    const { topic, payload } = step['mqttPublish']
    await flow.publisher?.publishAsync(topic, payload, { qos: 1 })
    return null
  }
  if (step['mqttReceive']) return receive(flow, step)
  if (step['memory']) return memory(flow, step)
  if (step['sse']) return step['open'] ? listen(flow, step) : sse(flow, step)
  return 'not built: this kind of step'
}

async function eventually(patience: number, check: () => Promise<string | null>): Promise<string | null> {
  const end = Date.now() + patience
  for (;;) {
    const problem = await check()
    if (problem === null || Date.now() > end) return problem
    await pause(20)
  }
}

/** Data takes a moment to arrive: a status call is repeated until it holds. */
async function runCall(flow: Flow, step: Step): Promise<string | null> {
  const waits = step['poll'] || (step['method'] === 'GET' && /\/(status|scantables)$|^\/metrics/.test(step['path']))
  return eventually(waits ? (step['timeoutMs'] ?? PATIENCE) : 0, () => call(flow, step))
}

async function call(flow: Flow, step: Step): Promise<string | null> {
  const headers: Record<string, string> = step['body'] !== undefined ? { 'Content-Type': 'application/json' } : {}
  for (const [name, value] of Object.entries((step['headers'] ?? {}) as Record<string, string>)) {
    const asked = /^\$\{jwt iss=(\S+) aud=\[(.*)\]\}$/.exec(value)
    const sent = asked ? token(flow.key, asked[1] as string, (asked[2] as string).split(',')) : value
    if (sent !== '') headers[name] = sent
  }
  let body: string | FormData | undefined
  if (step['multipart']) {
    body = new FormData()
    for (const part of step['multipart']) {
      if (part.filename === undefined) body.append(part.field, part.value ?? '')
      else body.append(part.field, new Blob([part.content ?? '']), part.filename)
    }
  } else if (step['body'] !== undefined) {
    body = flow.broker ? step['body'].replaceAll('tcp://127.0.0.1:1883', flow.broker.url) : step['body']
  }
  const answer = await request(`${flow.base}${step['path']}`, step['method'], headers, body)
  return check(flow, step, answer)
}

interface Answer {
  readonly status: number
  readonly body: string
  readonly headers: Headers
}

/** `fetch` refuses a body with GET, which one route has: that goes through `/batch/req`, the same routes. */
async function request(
  url: string,
  method: string,
  headers: Record<string, string>,
  body: string | FormData | undefined,
): Promise<Answer> {
  if (method === 'GET' && typeof body === 'string') {
    const { origin, pathname, search } = new URL(url)
    const response = await fetch(`${origin}/batch/req`, {
      method: 'POST',
      headers,
      body: JSON.stringify([{ method, path: pathname + search, body }]),
    })
    const [inner] = (await response.json()) as [{ code: number; response?: string }]
    return { status: inner.code, body: inner.response ?? '', headers: response.headers }
  }
  const response = await fetch(url, { method, headers, ...(body !== undefined && { body }) })
  return { status: response.status, body: await response.text(), headers: response.headers }
}

function token(key: KeyObject, issuer: string, audience: string[]): string {
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const signed = `${part({ alg: 'RS256', typ: 'JWT' })}.${part({
    iss: issuer,
    aud: audience,
    exp: Math.floor(Date.now() / 1000) + 600,
  })}`
  return `${signed}.${createSign('RSA-SHA256').update(signed).sign(key, 'base64url')}`
}

function check(flow: Flow, step: Step, answer: Answer): string | null {
  const e = (step['expect'] ?? {}) as Step
  const got = `${answer.status} ${answer.body.slice(0, 500)}`
  if (e['status'] !== undefined && answer.status !== e['status']) return `status ${e['status']} expected, got ${got}`
  if (e['statusNot'] !== undefined && answer.status === e['statusNot']) return `status must not be ${got}`
  if (e['body'] !== undefined && answer.body !== e['body']) return `body ${e['body']} expected, got ${got}`
  for (const text of e['bodyContains'] ?? []) if (!answer.body.includes(text)) return `no ${text} in ${got}`
  for (const [name, value] of Object.entries(e['headers'] ?? {})) {
    if (!answer.headers.get(name)?.startsWith(value as string)) return `header ${name}: ${answer.headers.get(name)}`
  }
  if (e['uploadedFile'] && !existsSync(join(flow.dataDir, 'uploads', e['uploadedFile']))) return 'the file is not there'
  if (!['bodyJson', 'json', 'jsonHas', 'jsonArrayHas', 'jsonPath', 'jsonCmp', 'jsonGrows'].some((k) => k in e))
    return null
  let json: unknown
  try {
    json = JSON.parse(answer.body)
  } catch {
    return `no JSON: ${got}`
  }
  return checkJson(flow, step, e, json)
}

function checkJson(flow: Flow, step: Step, e: Step, json: unknown): string | null {
  const text = JSON.stringify(json)?.slice(0, 500)
  const object = json as Record<string, unknown>
  const before = flow.before.get(step['path'])
  if (json !== null && typeof json === 'object') flow.before.set(step['path'], object)
  if (e['bodyJson'] !== undefined && !same(json, e['bodyJson'])) {
    return `${JSON.stringify(e['bodyJson'])} expected, got ${text}`
  }
  if (e['json']) {
    const free = String(e['note'] ?? '').includes('is not fixed')
    const keys = Object.keys(e['json'])
    const values = (from: Record<string, unknown>): string[] => keys.map((k) => JSON.stringify(from[k])).sort()
    if (e['exactKeys'] && !same(Object.keys(object).sort(), [...keys].sort())) return `other keys: ${text}`
    if (free ? !same(values(object), values(e['json'])) : keys.some((k) => !same(object[k], e['json'][k]))) {
      return `${JSON.stringify(e['json'])} expected, got ${text}`
    }
  }
  for (const key of e['jsonHas'] ?? []) if (!Object.hasOwn(object, key)) return `no ${key} in ${text}`
  for (const wanted of e['jsonArrayHas'] ?? []) {
    const has = (json as Record<string, unknown>[]).some((i) => Object.keys(wanted).every((k) => same(i[k], wanted[k])))
    if (!has) return `no ${JSON.stringify(wanted)} in ${text}`
  }
  for (const p of e['jsonPath'] ?? []) {
    const found = at(json, p.path)
    if (found === undefined) return `nothing at ${p.path} in ${text}`
    if (p.value === undefined) continue
    const shown = typeof found === 'string' ? found : JSON.stringify(found)
    const holds = p.regex ? new RegExp(p.value).test(shown) : shown === String(p.value)
    if (holds === Boolean(p.not)) return `${p.path} is ${shown}, expected ${p.not ? 'not ' : ''}${p.value}`
  }
  for (const [key, op, n] of e['jsonCmp'] ?? []) {
    const value = Number(object[key])
    const holds = op === '==' ? value === n : op === '>' ? value > n : op === '<' ? value < n : false
    if (!holds) return `${key} is ${object[key]}, expected ${op} ${n}`
  }
  for (const key of e['jsonGrows'] ?? []) {
    if (!(Number(object[key]) > Number(before?.[key]))) return `${key} does not grow: ${object[key]}`
  }
  return null
}

const same = (a: unknown, b: unknown): boolean => sameValue(fromTagged(a), fromTagged(b))

/** `$`, `$.a`, `$[0].a`, `$.length()`. */
function at(json: unknown, path: string): unknown {
  let value = json
  for (const [, name, index] of path.slice(1).matchAll(/\.([\w$]+(?:\(\))?)|\[(\d+)\]/g)) {
    if (name === 'length()') value = (value as unknown[]).length
    else value = (value as Record<string, unknown> | null)?.[(name ?? index) as string]
  }
  return value
}

async function receive(flow: Flow, step: Step): Promise<string | null> {
  const queue = flow.received.get(step['mqttReceive'].topic)
  if (!queue) return 'no subscription'
  const index = queue.taken++
  const problem = await eventually(RECEIVE_PATIENCE, async () =>
    queue.payloads.length > index ? null : `no message ${index} on ${step['mqttReceive'].topic}`,
  )
  if (problem) return problem
  const body = queue.payloads[index] as string
  const e = (step['expect'] ?? {}) as Step
  const basic = check(flow, { ...step, path: '' }, { status: 0, body, headers: new Headers() })
  if (basic) return basic
  if (e['rows'] === undefined && !e['ordered']) return null
  const rows = JSON.parse(body) as Record<string, number | string>[]
  if (e['rows'] !== undefined && rows.length !== e['rows']) return `${e['rows']} rows expected, got ${body}`
  const condition = /^(\w+) > (\d+)$/.exec(e['eachRow'] ?? '')
  if (condition && !rows.every((r) => Number(r[condition[1] as string]) > Number(condition[2]))) return `rows: ${body}`
  if (e['ordered']) {
    const sorted = rows.every((row, i) => {
      const previous = rows[i - 1]
      if (!previous) return row['device_id'] === '2'
      if (previous['device_id'] !== row['device_id']) return String(previous['device_id']) > String(row['device_id'])
      return Number(previous['temperature']) <= Number(row['temperature'])
    })
    if (!sorted) return `not in order: ${body}`
  }
  return null
}

/** Events of a path of the data server, whose port the last trial run told. */
async function listen(flow: Flow, step: Step): Promise<string | null> {
  const { port } = flow.before.get('/ruletest') ?? {}
  const response = await fetch(`http://127.0.0.1:${port}${step['sse']}`)
  if (response.status !== 200) return `status ${response.status}`
  const messages: string[] = []
  flow.events.set(step['sse'], messages)
  const read = async (): Promise<void> => {
    let text = ''
    for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
      text += Buffer.from(chunk).toString()
      const events = text.split('\n\n')
      text = events.pop() ?? ''
      messages.push(...events.map((e) => e.replace(/^data: /, '')))
    }
  }
  read().catch(() => {})
  return null
}

async function sse(flow: Flow, step: Step): Promise<string | null> {
  const { firstDataJson, firstDataHas = [] } = step['expect'] as Step
  return eventually(PATIENCE, async () => {
    const first = flow.events.get(step['sse'])?.[0]
    if (first === undefined) return 'no event'
    const got = JSON.parse(first) as Record<string, unknown>
    const holds =
      Object.entries(firstDataJson ?? {}).every(([k, v]) => same(got[k], v)) &&
      firstDataHas.every((k: string) => Object.hasOwn(got, k))
    return holds ? null : `first event is ${first}`
  })
}

async function memory(flow: Flow, step: Step): Promise<string | null> {
  const messages = flow.topics.get(step['memory']) ?? []
  const { messages: wanted, listMessage } = step['expect'] as { messages?: unknown[]; listMessage?: unknown[] }
  const expected: Value[] = listMessage
    ? [listMessage.map(fromTagged)]
    : (wanted ?? []).map((row): Value => [fromTagged(row)])
  return eventually(PATIENCE, async () => {
    const got = messages.map((rows): Value => [...rows])
    // Messages of single rows may arrive together.
    const flat = got.flatMap((m) => (listMessage ? [m] : (m as Value[]).map((row): Value => [row])))
    return sameValue(flat, expected) ? null : `${show(expected)} expected, got ${show(flat)}`
  })
}
