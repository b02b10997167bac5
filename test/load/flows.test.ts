/** Load through the daemon as a process of its own: exact ledgers, bounded memory, ends and restarts. `IXION_LOAD=full`: 500,000 events. */
import { readFileSync, writeFileSync } from 'node:fs'
import { Agent, createServer, request, type Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { imbalance, type LedgerReading } from '../../src/engine/index.ts'
import { eventually, freePort, startMosquitto, type TestBroker } from '../support/connectors.ts'
import { type Daemon, installation, startDaemon } from '../support/daemon.ts'

const full = process.env['IXION_LOAD'] === 'full'
const EVENTS = full ? 500_000 : 40_000
const MB = 1 << 20

let broker: TestBroker
beforeAll(async () => {
  broker = await startMosquitto()
})
afterAll(() => broker.close())

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

interface Started extends Daemon {
  readonly dataPort: number
}

async function daemon(folders = install()): Promise<Started> {
  const dataPort = await freePort()
  const started = await startDaemon(folders, {
    KUIPER__SOURCE__HTTPSERVERIP: '127.0.0.1',
    KUIPER__BASIC__ENABLEPRIVATENET: 'true',
    KUIPER__SOURCE__HTTPSERVERPORT: String(dataPort),
  })
  cleanups.push(async () => {
    started.child.kill('SIGKILL')
    await started.exit
  })
  return { ...started, dataPort }
}

function install(): ReturnType<typeof installation> {
  const folders = installation()
  cleanups.push(() => folders.remove())
  return folders
}

async function make(d: Daemon, options: Record<string, string>, action: object, more: object = {}): Promise<void> {
  const list = Object.entries({ FORMAT: 'json', ...options }).map(([k, v]) => `${k}=${JSON.stringify(v)}`)
  const sql = `CREATE STREAM demo () WITH (${list.join(', ')})`
  expect(await d.request('POST', '/streams', JSON.stringify({ sql }))).toMatchObject({ status: 201 })
  const rule = { id: 'r', sql: 'SELECT n FROM demo WHERE n % 2 = 0', actions: [action], ...more }
  expect(await d.request('POST', '/rules', JSON.stringify(rule))).toMatchObject({ status: 201 })
}

async function status(d: Daemon): Promise<Record<string, unknown>> {
  return JSON.parse((await d.request('GET', '/rules/r/status')).body)
}

async function connected(d: Daemon): Promise<void> {
  await eventually(async () => (await status(d))['source_demo_0_connection_status'] === 1, 'connected')
}

interface Ledgers {
  readonly rule: LedgerReading
  readonly sinks: Record<string, LedgerReading>
}

async function ledger(d: Daemon, id = 'r'): Promise<Ledgers> {
  const found: Ledgers = JSON.parse((await d.request('GET', `/rules/${id}/ledger`)).body)
  expect(imbalance(found.rule)).toBe(0)
  for (const sink of Object.values(found.sinks)) expect(imbalance(sink)).toBe(0)
  return found
}

/** Rows at the rule's end: all of them went where they should. */
async function wholly(d: Daemon, events: number): Promise<void> {
  await eventually(async () => (await ledger(d)).rule.received >= events, `${events} received`)
  await eventually(async () => (await ledger(d)).rule.inFlight === 0, 'nothing in flight')
  const { rule, sinks } = await ledger(d)
  expect(rule).toEqual({ received: events, emitted: events / 2, filtered: events / 2, dropped: {}, inFlight: 0 })
  for (const sink of Object.values(sinks)) expect(sink).toMatchObject({ emitted: events / 2, dropped: {}, inFlight: 0 })
}

/** Anonymous memory, bytes. */
function anonymous(d: Daemon): number {
  const text = readFileSync(`/proc/${d.child.pid}/smaps_rollup`, 'utf8')
  return Number(/^Anonymous:\s+(\d+) kB/m.exec(text)?.[1]) * 1024
}

async function post(agent: Agent, port: number, path: string, body: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const r = request(
      { port, host: '127.0.0.1', path, method: 'POST', agent, headers: { 'content-length': Buffer.byteLength(body) } },
      (response) => {
        response.resume()
        response.on('end', () => resolve(response.statusCode ?? 0))
      },
    )
    r.on('error', reject)
    r.end(body)
  })
}

/** Publishes QoS 0 as fast as the socket takes it, with MQTT frames made by hand. */
async function flood(topic: string, messages: Iterable<string>): Promise<void> {
  const socket: Socket = connect(Number(new URL(broker.url).port), '127.0.0.1')
  socket.on('error', () => {})
  await new Promise((resolve) => socket.once('connect', resolve))
  const id = Buffer.from('flood')
  socket.write(
    Buffer.concat([
      Buffer.from([0x10, 12 + id.length, 0, 4]),
      Buffer.from('MQTT'),
      Buffer.from([4, 2, 0, 0, 0, id.length]),
      id,
    ]),
  )
  await new Promise((resolve) => socket.once('data', resolve))
  let parts: Buffer[] = []
  let size = 0
  const write = async (): Promise<void> => {
    const chunk = Buffer.concat(parts)
    parts = []
    size = 0
    if (!socket.write(chunk)) await new Promise((resolve) => socket.once('drain', resolve))
  }
  const name = Buffer.from(topic)
  for (const message of messages) {
    const payload = Buffer.from(message)
    let left = 2 + name.length + payload.length
    const head = [0x30]
    do {
      head.push((left & 127) | (left > 127 ? 128 : 0))
      left >>= 7
    } while (left > 0)
    const frame = Buffer.concat([Buffer.from([...head, name.length >> 8, name.length & 255]), name, payload])
    parts.push(frame)
    size += frame.length
    if (size > 65_536) await write()
  }
  await write()
  await new Promise<void>((resolve) => socket.end(() => resolve()))
}

function* numbered(count: number, pad = ''): Generator<string> {
  for (let n = 0; n < count; n++) yield `{"n":${n},"pad":"${pad}"}`
}

/** A server for the REST sink that does what it is told. */
async function peer(
  answer: (body: string, respond: (status: number) => void) => void,
): Promise<{ url: string; server: Server }> {
  const server = createServer((incoming, response) => {
    let body = ''
    incoming.on('data', (chunk) => {
      body += chunk
    })
    incoming.on('end', () => answer(body, (code) => void response.writeHead(code).end()))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  cleanups.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, server }
}

describe('nothing is lost where the sender can be held back', () => {
  it('by file', async () => {
    const folders = install()
    const file = join(folders.data, '..', 'in.jsonl')
    writeFileSync(file, [...numbered(EVENTS)].join('\n'))
    const d = await daemon(folders)
    const out = join(folders.data, 'out.jsonl')
    await make(
      d,
      {
        TYPE: 'file',
        DATASOURCE: 'in.jsonl',
        EXTRA: JSON.stringify({ path: join(folders.data, '..'), fileType: 'lines' }),
      },
      { file: { path: out, fileType: 'lines', sendSingle: true, rollingCount: 1_000_000_000 } },
    )
    await wholly(d, EVENTS)
    await d.request('POST', '/rules/r/stop')
    const lines = readFileSync(out, 'utf8').trimEnd().split('\n')
    expect(lines).toHaveLength(EVENTS / 2)
    expect(lines.every((line, i) => line === `{"n":${2 * i}}`)).toBe(true)
  }, 120_000)

  it.each(['/push', '/streams/demo/data'])(
    'by HTTP to %s: 8 connections, 500 a request',
    async (path) => {
      const d = await daemon()
      await make(d, { TYPE: 'httppush', DATASOURCE: '/push' }, { nop: { sendSingle: true } })
      const port = path === '/push' ? d.dataPort : Number(new URL(d.url).port)
      const agent = new Agent({ keepAlive: true, maxSockets: 8 })
      cleanups.push(() => agent.destroy())
      let next = 0
      const refused: number[] = []
      const started = performance.now()
      await Promise.all(
        Array.from({ length: 8 }, async () => {
          for (let from = next; from < EVENTS; from = next) {
            next += 500
            const rows = Array.from({ length: 500 }, (_, i) => `{"n":${from + i}}`)
            const code = await post(agent, port, path, `[${rows.join(',')}]`)
            if (code !== 200) refused.push(code)
          }
        }),
      )
      expect(refused).toEqual([])
      await wholly(d, EVENTS)
      report(`http ${path}`, started, EVENTS)
    },
    120_000,
  )

  it('by MQTT, through a broker that is stopped and started again', async () => {
    const d = await daemon()
    const extra = JSON.stringify({
      server: broker.url,
      qos: 1,
      clientid: `load-${process.pid}`,
      enableClientSession: true,
    })
    await make(d, { TYPE: 'mqtt', DATASOURCE: 'load/in', EXTRA: extra }, { nop: { sendSingle: true } })
    await connected(d)
    const { connectAsync } = await import('mqtt')
    const count = full ? 100_000 : 10_000
    const publisher = await connectAsync(broker.url, { clientId: 'publisher', clean: false, reconnectPeriod: 50 })
    cleanups.push(() => publisher.end(true))
    const started = performance.now()
    const sending: Promise<unknown>[] = []
    for (let n = 0; n < count; n++) {
      sending.push(publisher.publishAsync('load/in', `{"n":${n}}`, { qos: 1 }))
      if (sending.length % 500 === 0) await Promise.all(sending.splice(0))
      if (n === count / 2) {
        await broker.stop()
        await broker.start()
      }
    }
    await Promise.all(sending)
    // QoS 1: each at least once.
    await eventually(async () => (await ledger(d)).rule.received >= count, 'all received')
    await eventually(async () => (await ledger(d)).rule.inFlight === 0, 'nothing in flight')
    const { rule } = await ledger(d)
    expect(rule.dropped).toEqual({})
    expect(rule.received).toBeLessThan(count * 1.1)
    report('mqtt qos 1 with a broker restart', started, count)
  }, 120_000)
})

describe('a flood past a sink that does not answer', () => {
  it.each([
    ['dropOldest', 'dropOldest'],
    ['dropNewest', 'dropNewest'],
    ['block', 'block'],
  ])(
    'under %s keeps memory bounded and counts each row',
    async (_name, policy) => {
      const { url } = await peer(() => {})
      const d = await daemon()
      const extra = JSON.stringify({ server: broker.url, qos: 0 })
      await make(
        d,
        { TYPE: 'mqtt', DATASOURCE: `flood/${policy}`, EXTRA: extra, BUFFER_FULL_POLICY: policy },
        { rest: { url, method: 'post', timeout: 600_000, sendSingle: true, bufferLength: 100 } },
        { options: { bufferLength: 1024 } },
      )
      await connected(d)
      const count = full ? 500_000 : 60_000
      await flood(`flood/${policy}`, numbered(10_000, 'x'.repeat(400)))
      await eventually(async () => (await ledger(d)).rule.received >= (policy === 'block' ? 100 : 10_000), 'warm')
      const before = anonymous(d)
      await flood(`flood/${policy}`, numbered(count, 'x'.repeat(400)))
      let peak = 0
      let last = -1
      let same = 0
      await eventually(async () => {
        peak = Math.max(peak, anonymous(d))
        const { rule } = await ledger(d)
        same = rule.received === last ? same + 1 : 0
        last = rule.received
        return policy === 'block' ? same > 50 : rule.received === count + 10_000
      }, 'all received or held back')
      const { rule } = await ledger(d)
      console.log(
        `flood ${policy}: ${count} x 420 bytes, anonymous ${(before / MB).toFixed(1)} -> peak ${(peak / MB).toFixed(1)} MB, received ${rule.received}, dropped ${JSON.stringify(rule.dropped)}, in flight ${rule.inFlight}`,
      )
      expect(peak - before).toBeLessThan(64 * MB)
      if (policy === 'block') expect(rule.dropped).toEqual({})
      else
        expect((rule.dropped['buffer_full'] ?? 0) + rule.emitted + rule.filtered + rule.inFlight).toBe(count + 10_000)
    },
    120_000,
  )
})

describe('the end under load', () => {
  it('by SIGTERM: what was acknowledged is in the ledger, which is exact; code 0', async () => {
    const d = await daemon()
    await make(d, { TYPE: 'httppush', DATASOURCE: '/push' }, { nop: { sendSingle: true } })
    const agent = new Agent({ keepAlive: true, maxSockets: 8 })
    cleanups.push(() => agent.destroy())
    let acknowledged = 0
    let tried = 0
    let going = true
    const senders = Array.from({ length: 8 }, async () => {
      while (going) {
        tried++
        const code = await post(agent, d.dataPort, '/push', '[{"n":1},{"n":2}]').catch(() => 0)
        if (code === 200) acknowledged++
        else if (code === 0) return
      }
    })
    await eventually(() => acknowledged > 500, 'load')
    d.child.kill('SIGTERM')
    expect(await d.exit).toEqual({ code: 0, signal: null })
    going = false
    await Promise.all(senders)
    const line = d
      .stdout()
      .split('\n')
      .find((l) => l.startsWith('ledger ')) as string
    const reading = JSON.parse(line.slice(7)) as LedgerReading
    expect(imbalance(reading)).toBe(0)
    expect(reading.inFlight).toBe(0)
    expect(reading.received).toBeGreaterThanOrEqual(acknowledged * 2)
    expect(reading.received).toBeLessThanOrEqual(tried * 2)
  }, 60_000)

  it('by kill -9: definitions and running rules are there again, messages the broker holds arrive', async () => {
    const folders = install()
    const first = await daemon(folders)
    const extra = JSON.stringify({
      server: broker.url,
      qos: 1,
      clientid: `kill-${process.pid}`,
      enableClientSession: true,
    })
    await make(first, { TYPE: 'mqtt', DATASOURCE: 'kill/in', EXTRA: extra }, { nop: { sendSingle: true } })
    await connected(first)
    const { connectAsync } = await import('mqtt')
    const publisher = await connectAsync(broker.url, { clientId: 'kill-publisher' })
    cleanups.push(() => publisher.end(true))
    const publish = (from: number, to: number): Promise<unknown> =>
      Promise.all(
        Array.from({ length: to - from }, (_, i) => publisher.publishAsync('kill/in', `{"n":${from + i}}`, { qos: 1 })),
      )
    const going = publish(0, 3000)
    await eventually(async () => (await ledger(first)).rule.received > 100, 'load')
    first.child.kill('SIGKILL')
    await first.exit
    await going
    await publish(3000, 4000)
    const second = await daemon(folders)
    await eventually(async () => (await status(second))['status'] === 'running', 'running again')
    await eventually(async () => (await ledger(second)).rule.received >= 1000, 'what came meanwhile')
    await eventually(async () => (await ledger(second)).rule.inFlight === 0, 'nothing in flight')
  }, 60_000)
})

function report(name: string, started: number, events: number): void {
  const seconds = (performance.now() - started) / 1000
  console.log(`${name}: ${events} events in ${seconds.toFixed(2)} s, ${Math.round(events / seconds)}/s`)
}
