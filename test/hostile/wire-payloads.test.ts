/** Hostile payloads as they come over the wire: HTTP push and MQTT. The sender is answered, the ledger is exact, others go on. */
import { connectAsync } from 'mqtt'
import { afterEach, describe, expect, it } from 'vitest'
import { createEngine, type Engine, imbalance } from '../../src/engine/index.ts'
import { eventually, freePort, startAedes } from '../support/connectors.ts'
import { manualSink, withConnectors } from '../support/engine-harness.ts'

const problems: unknown[] = []
const note = (error: unknown): void => void problems.push(error)
process.on('unhandledRejection', note)
process.on('uncaughtException', note)
const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
  expect(problems.splice(0)).toEqual([])
  expect(Object.keys(Object.prototype)).toEqual([])
})

const hostile: readonly (string | Uint8Array)[] = [
  ...[
    '',
    ' ',
    '{',
    '[',
    '"',
    '{"n":',
    'null',
    '1',
    '[1]',
    '{"n":1}{"n":2}',
    '{"n":"x"}',
    '{"n":1e400}',
    '{"__proto__":{"polluted":1},"n":1}',
    '{"constructor":{"prototype":{"polluted":1}},"n":1}',
  ],
  ...[
    '{"n":12345678901234567890}',
    '{"n":9007199254740993}',
    '{"n":-0}',
    '{"\\u0000":1,"n":1}',
    '{"":1,"n":1}',
    '{"n":1,"n":2}',
    '{"n":[[[[]]]]}',
    '{"n":1}\u0000',
  ],
  `{"n":${'['.repeat(10_000)}${']'.repeat(10_000)}}`,
  '['.repeat(100_000),
  `{"n":1,"pad":"${'x'.repeat(1 << 20)}"}`,
  `{${Array.from({ length: 10_000 }, (_, i) => `"c${i}":${i}`).join(',')},"n":1}`,
  Buffer.from([0xff, 0xfe, 0x00, 0x7b]),
  Buffer.from('{"n":"\xff"}', 'latin1'),
  Buffer.from('{"n":"\xe2\x82', 'latin1'),
]

async function open(stream: string) {
  const sink = manualSink('watched')
  const dataPort = await freePort()
  const engine: Engine = await createEngine({
    connectors: withConnectors(sink.connector),
    dataServer: { host: '127.0.0.1', port: dataPort },
    drainLimit: 500,
  })
  cleanups.push(() => engine.close())
  await engine.execute(stream)
  const action = { watched: { sendSingle: true } }
  await engine.createRule({ id: 'narrow', sql: 'SELECT n FROM demo', actions: [action] })
  await engine.createRule({ id: 'wide', sql: 'SELECT * FROM demo', actions: [action] })
  const exact = (): number[] =>
    ['narrow', 'wide'].map((id) => {
      const { rule, sinks } = engine.ruleLedger(id)
      expect(imbalance(rule)).toBe(0)
      for (const reading of Object.values(sinks)) expect(imbalance(reading)).toBe(0)
      expect(engine.ruleStatus(id).status).toBe('running')
      return rule.received
    })
  return { engine, sink, dataPort, exact }
}

describe.each(['false', 'true'])('SHARED="%s"', (shared) => {
  it('HTTP push answers each, and the good one after them arrives', async () => {
    const { sink, dataPort, exact } = await open(
      `CREATE STREAM demo () WITH (TYPE="httppush", DATASOURCE="/in", FORMAT="json", SHARED="${shared}")`,
    )
    const post = async (body: string | Uint8Array): Promise<number> => {
      const response = await fetch(`http://127.0.0.1:${dataPort}/in`, { method: 'POST', body })
      await response.text()
      return response.status
    }
    await eventually(async () => (await post('{"n":0}').catch(() => 0)) === 200, 'listening')
    const [before] = exact() as [number]
    for (const body of hostile) expect([200, 400]).toContain(await post(body))
    await eventually(() => exact().every((r) => r >= before + hostile.length - 1), 'all counted')
    expect(await post('{"n":424242}')).toBe(200)
    await eventually(() => sink.sent.filter((t) => t === '{"n":424242}').length === 2, 'the good one')
    expect(await post(`{"n":1,"pad":"${'x'.repeat(64 << 20)}"}`).catch(() => 413)).toBe(413)
    expect(await post('{"n":434343}')).toBe(200)
  })

  it('MQTT at QoS 0 and 1 acknowledges each and goes on', async () => {
    const broker = await startAedes()
    cleanups.push(() => broker.close())
    const { sink, exact, engine } = await open(
      `CREATE STREAM demo () WITH (TYPE="mqtt", DATASOURCE="in/#", FORMAT="json", SHARED="${shared}", EXTRA="{\\"server\\":\\"${broker.url}\\",\\"qos\\":1}")`,
    ).catch(async () => {
      throw new Error('stream refused')
    })
    const client = await connectAsync(broker.url)
    cleanups.push(() => client.end(true))
    await eventually(async () => {
      await client.publishAsync('in/x', '{"n":0}', { qos: 1 })
      return exact().every((r) => r > 0)
    }, 'subscribed')
    for (const qos of [0, 1] as const)
      for (const payload of hostile) await client.publishAsync('in/__proto__', Buffer.from(payload), { qos })
    for (const topic of ['in/constructor', 'in/\u00e9\u{1f600}', `in/${'l/'.repeat(50)}x`])
      await client.publishAsync(topic, '{"n":5}', { qos: 1 })
    await client.publishAsync('in/x', '{"n":424242}', { qos: 1 })
    await eventually(() => sink.sent.filter((t) => t === '{"n":424242}').length === 2, 'the good one')
    exact()
    // Nothing is left unacknowledged: the session holds no message back.
    expect(engine.ruleStatus('narrow').status).toBe('running')
  })
})
