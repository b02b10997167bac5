/** Reported situations that need a daemon as a process of its own, and a broker. */
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, connect, createServer } from 'node:net'
import { connectAsync } from 'mqtt'
import { afterEach, describe, expect, it } from 'vitest'
import { eventually, freePort, startMosquitto } from '../support/connectors.ts'
import { type Daemon, installation, startDaemon } from '../support/daemon.ts'

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

function install(): ReturnType<typeof installation> {
  const folders = installation()
  cleanups.push(() => folders.remove())
  return folders
}

async function start(folders = install(), environment: Record<string, string> = {}): Promise<Daemon> {
  const daemon = await startDaemon(folders, { KUIPER__BASIC__ENABLEPRIVATENET: 'true', ...environment })
  cleanups.push(async () => {
    daemon.child.kill('SIGKILL')
    await daemon.exit
  })
  return daemon
}

async function end(daemon: Daemon, signal: NodeJS.Signals): Promise<void> {
  daemon.child.kill(signal)
  await daemon.exit
}

/** Sends a document and expects `status`. */
async function send(daemon: Daemon, method: string, path: string, body?: object, status?: number): Promise<string> {
  const answer = await daemon.request(method, path, body && JSON.stringify(body))
  expect([method, path, answer.status, answer.body].slice(0, 3)).toEqual([method, path, status ?? answer.status])
  return answer.body
}

/** A REST peer that keeps the bodies it gets. */
async function peer(): Promise<{ url: string; bodies: string[] }> {
  const bodies: string[] = []
  const server = createHttpServer((request, response) => {
    let body = ''
    request.on('data', (chunk) => {
      body += chunk
    })
    request.on('end', () => {
      bodies.push(body)
      response.end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  cleanups.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, bodies }
}

describe('the life of a rule', () => {
  it('goes as it was told, and no failed request changes it (reports 95 to 98, TC-42)', async () => {
    const folders = install()
    const first = await start(folders)
    const { url, bodies } = await peer()
    const rule = (sql: string) => ({ id: 'r', sql, actions: [{ rest: { url, method: 'post', sendSingle: true } }] })
    const push = (daemon: Daemon, n: number) => send(daemon, 'POST', '/streams/demo/data', { n }, 200)

    const demo = { sql: 'CREATE STREAM demo () WITH (TYPE="memory", DATASOURCE="in", FORMAT="json")' }
    await send(first, 'POST', '/streams', demo, 201)
    await send(first, 'POST', '/rules', rule('SELECT n FROM demo'), 201)
    await push(first, 1)

    await send(first, 'POST', '/rules', { ...rule('SELECT n FROM nowhere'), id: 'bad' }, 400)
    await send(first, 'GET', '/rules/bad', undefined, 404)
    await send(first, 'PUT', '/streams/demo', { sql: 'CREATE STREAM demo (' }, 400)
    await send(first, 'PUT', '/rules/r', rule('SELECT n FROM nowhere'), 400)
    await send(first, 'PUT', '/rules/r', rule('SELECT FROM demo'), 400)
    await push(first, 2)

    await send(first, 'PUT', '/rules/r', rule('SELECT n AS m FROM demo'), 200)
    await push(first, 3)
    await eventually(() => bodies.length === 3, 'three results')
    expect(bodies).toEqual(['{"n":1}', '{"n":2}', '{"m":3}'])

    await send(first, 'POST', '/rules/r/stop', undefined, 200)
    await send(first, 'POST', '/rules', { ...rule('SELECT n FROM demo'), id: 'off', triggered: false }, 201)
    await end(first, 'SIGTERM')
    const second = await start(folders)
    const states = async () =>
      (JSON.parse(await send(second, 'GET', '/rules')) as { id: string; status: string }[]).map((r) => [r.id, r.status])
    expect(await states()).toEqual([
      ['off', 'stopped'],
      ['r', 'stopped'],
    ])
    // An update that says so leaves it stopped, too.
    await send(second, 'PUT', '/rules/r', { ...rule('SELECT n FROM demo'), triggered: false }, 200)
    expect((await states())[1]).toEqual(['r', 'stopped'])
  })

  it('with qos 1 goes on from its state after a crash, also under a numeric id (reports 74 and 75, TC-42)', async () => {
    const folders = install()
    const dataPort = await freePort()
    const data = { KUIPER__SOURCE__HTTPSERVERIP: '127.0.0.1', KUIPER__SOURCE__HTTPSERVERPORT: String(dataPort) }
    const first = await start(folders, data)
    const demo = { sql: 'CREATE STREAM demo () WITH (TYPE="httppush", DATASOURCE="/demo", FORMAT="json")' }
    await send(first, 'POST', '/streams', demo, 201)
    const { url, bodies } = await peer()
    const rule = {
      id: '0000002',
      sql: 'SELECT collect(n) AS l, collect(lag(n)) AS before FROM demo GROUP BY COUNTWINDOW(3)',
      actions: [{ rest: { url, method: 'post', sendSingle: true } }],
      options: { qos: 1, checkpointInterval: '1h' },
    }
    await send(first, 'POST', '/rules', rule, 201)
    const push = async (n: number): Promise<boolean> => {
      const request = { method: 'POST', body: JSON.stringify({ n }) }
      return (await fetch(`http://127.0.0.1:${dataPort}/demo`, request)).ok
    }
    await eventually(() => push(1), 'the source listens')
    // Answered when the state that holds it is durable.
    expect(await push(2)).toBe(true)
    await end(first, 'SIGKILL')
    const second = await start(folders, data)
    await send(second, 'GET', '/rules')
    await eventually(() => push(3).catch(() => false), 'the source listens again')
    await eventually(() => bodies.length > 0, 'the window')
    expect(bodies).toEqual(['{"before":[null,1,2],"l":[1,2,3]}'])
  })

  it('is answered about at once after a start, whatever is stored (report 91, TC-42)', async () => {
    const folders = install()
    const first = await start(folders)
    const demo = { sql: 'CREATE STREAM demo () WITH (TYPE="memory", DATASOURCE="in", FORMAT="json", SHARED="true")' }
    await send(first, 'POST', '/streams', demo, 201)
    for (let i = 0; i < 200; i++) {
      const sql = `SELECT n FROM demo WHERE tag = "${i}"`
      await send(first, 'POST', '/rules', { id: `r${i}`, sql, actions: [{ nop: {} }] }, 201)
    }
    await end(first, 'SIGKILL')
    const second = await start(folders)
    expect(JSON.parse(await send(second, 'GET', '/rules'))).toHaveLength(200)
    await send(second, 'DELETE', '/rules/r199', undefined, 200)
    await eventually(async () => {
      const list = JSON.parse(await send(second, 'GET', '/rules')) as { status: string }[]
      return list.length === 199 && list.every((r) => r.status === 'running')
    }, 'all running')
  })
})

it('the daemon listens on 127.0.0.1 unless it is told otherwise (report 111, trap: REST address)', async () => {
  expect(new URL((await start()).url).hostname).toBe('127.0.0.1')
})

describe('two rules on one topic of one broker', () => {
  interface Counts {
    readonly emitted: number
    readonly filtered: number
  }
  const ledger = async (daemon: Daemon, id: string): Promise<Counts> =>
    JSON.parse(await send(daemon, 'GET', `/rules/${id}/ledger`)).rule as Counts

  /** Publishes 1, 2, 3 when both rules listen; what each emitted of it. Zeros are filtered and tell that they do. */
  async function three(daemon: Daemon, client: Awaited<ReturnType<typeof connectAsync>>): Promise<number[]> {
    const both = () => Promise.all(['a', 'b'].map((id) => ledger(daemon, id)))
    const heard = async (): Promise<void> => {
      const before = await both()
      await eventually(async () => {
        await client.publishAsync('t', '{"n":0}', { qos: 1 })
        return (await both()).every(({ filtered }, i) => filtered > (before[i] as Counts).filtered)
      }, 'both listen')
    }
    await heard()
    const before = await both()
    for (const n of [1, 2, 3]) await client.publishAsync('t', JSON.stringify({ n }), { qos: 1 })
    await heard()
    return (await both()).map(({ emitted }, i) => emitted - (before[i] as Counts).emitted)
  }

  async function setUp(properties: (url: string) => object, rules: readonly string[]) {
    const broker = await startMosquitto()
    cleanups.push(() => broker.close())
    const proxy = await countingProxy(Number(new URL(broker.url).port))
    const daemon = await start()
    const client = await connectAsync(broker.url)
    cleanups.push(() => client.end(true))
    const connection = { id: 'plant', typ: 'mqtt', props: { server: proxy.url } }
    await send(daemon, 'POST', '/connections', connection, 201)
    for (const id of rules) {
      const extra = JSON.stringify(JSON.stringify(properties(proxy.url)))
      const sql = `CREATE STREAM s${id} () WITH (TYPE="mqtt", DATASOURCE="t", FORMAT="json", EXTRA=${extra})`
      await send(daemon, 'POST', '/streams', { sql }, 201)
      await send(daemon, 'POST', '/rules', { id, sql: `SELECT n FROM s${id} WHERE n > 0`, actions: [{ nop: {} }] }, 201)
    }
    return { daemon, client, proxy }
  }

  it.each([[['a', 'b']], [['b', 'a']]])(
    'and one connection get everything, started as %s, and after either was stopped and started (reports 66 and 67, TC-39)',
    async (order) => {
      const { daemon, client, proxy } = await setUp(() => ({ connectionSelector: 'plant' }), order)
      expect(await three(daemon, client)).toEqual([3, 3])
      for (const id of order) {
        await send(daemon, 'POST', `/rules/${id}/stop`, undefined, 200)
        await send(daemon, 'POST', `/rules/${id}/start`, undefined, 200)
        expect(await three(daemon, client)).toEqual([3, 3])
      }
      expect(proxy.connections()).toBe(1)
    },
  )

  it('and one client id share a connection; nobody is thrown out (reports 66 and 68, TC-39)', async () => {
    const { daemon, client, proxy } = await setUp((server) => ({ server, clientid: 'same' }), ['a', 'b'])
    const before = proxy.connections()
    for (let round = 0; round < 5; round++) expect(await three(daemon, client)).toEqual([3, 3])
    // One of the named connection, one of the client id, and no other while 15 messages and more went through.
    expect([before, proxy.connections()]).toEqual([2, 2])
    await send(daemon, 'DELETE', '/rules/a', undefined, 200)
    await send(daemon, 'DELETE', '/rules/b', undefined, 200)
    await eventually(() => proxy.open() === 1, 'the connection of the deleted rules is closed')
  })
})

/** In front of a broker: how many connections were made through it, and how many are open. */
async function countingProxy(port: number) {
  let connections = 0
  let open = 0
  const server = createServer((socket) => {
    connections++
    open++
    const inner = connect(port, '127.0.0.1')
    for (const [one, other] of [
      [socket, inner],
      [inner, socket],
    ] as const) {
      one.on('error', () => {})
      one.on('close', () => other.destroy())
      one.pipe(other)
    }
    socket.on('close', () => {
      open--
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  cleanups.push(() => server.close())
  const url = `tcp://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { url, connections: () => connections, open: () => open }
}
