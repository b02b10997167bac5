/** Hostile REST: whatever comes over the socket is answered or cut off, and the next client is served. */
import { connect, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { imbalance } from '../../src/engine/index.ts'
import { type ManualSink, manualSink, manualSource, settle, withConnectors } from '../support/engine-harness.ts'
import { type RestServer, startRestServer } from '../support/rest-server.ts'

let server: RestServer
let sink: ManualSink
const problems: unknown[] = []
const note = (error: unknown): void => void problems.push(error)
process.on('unhandledRejection', note)
process.on('uncaughtException', note)

beforeEach(async () => {
  const source = manualSource('fed', { emits: 'bytes' })
  sink = manualSink('watched')
  server = await startRestServer(
    { connectors: withConnectors(source.connector, sink.connector) },
    { maxBodyBytes: 1 << 20 },
  )
})
afterEach(async () => {
  sink.hold(false)
  await server.close()
  expect(problems.splice(0)).toEqual([])
})

async function makeRule(id = 'r'): Promise<void> {
  if (!server.engine.stream('demo'))
    await server.engine.execute('CREATE STREAM demo () WITH (TYPE="fed", DATASOURCE="d", FORMAT="json")')
  await server.engine.createRule({
    ...{ id, sql: 'SELECT n FROM demo', options: { bufferLength: 10 } },
    actions: [{ watched: { bufferLength: 10, sendSingle: true } }],
  })
  await settle()
}

async function until(check: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const end = performance.now() + 15_000
  while (!(await check())) {
    if (performance.now() > end) throw new Error(`still not: ${what}`)
    await settle(2)
  }
}

/** Sends bytes on a socket of its own and gives what came back until the server closes, or `enough` says so. */
function raw(
  text: string | Uint8Array,
  enough: (answer: string) => boolean = () => false,
  half = false,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket: Socket = connect(Number(new URL(server.url).port), '127.0.0.1')
    let answer = ''
    socket.setTimeout(10_000, () =>
      reject(new Error(`no answer to ${String(text).slice(0, 60)}: ${answer.slice(0, 200)}`)),
    )
    socket.on('data', (chunk) => {
      answer += chunk.toString('latin1')
      if (enough(answer)) {
        socket.destroy()
        resolve(answer)
      }
    })
    socket.on('close', () => resolve(answer))
    socket.on('error', () => resolve(answer))
    if (half) socket.end(text)
    else socket.write(text)
  })
}

const alive = async (): Promise<void> => expect((await server.request('GET', '/ping')).status).toBe(200)
const status = (answer: string): number => Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1])

describe('rows pushed into a stream that has no room', () => {
  it('wait in line; clients that leave leave nothing behind; management goes on', async () => {
    await makeRule()
    sink.hold(true)
    const rows = JSON.stringify(Array.from({ length: 20 }, (_, n) => ({ n })))
    const clients: AbortController[] = []
    const statuses: Promise<number>[] = []
    const push = (): void => {
      const client = new AbortController()
      clients.push(client)
      const answer = fetch(`${server.url}/streams/demo/data`, { method: 'POST', body: rows, signal: client.signal })
      statuses.push(answer.then((r) => r.status).catch(() => 0))
    }
    const received = (): number => server.engine.ruleLedger('r').rule.received
    // What is queued does not grow with the number of clients, nor with clients that come and go.
    for (let round = 0; round < 10; round++) {
      for (let i = 0; i < 30; i++) push()
      await settle(30)
      for (const client of clients.slice(-20)) client.abort()
    }
    await settle(50)
    expect(received()).toBeLessThanOrEqual(100)
    expect((await server.request('GET', '/rules/r/status')).status).toBe(200)
    expect(
      (await server.request('POST', '/streams', '{"sql":"CREATE STREAM other () WITH (TYPE=\\"fed\\")"}')).status,
    ).toBe(201)
    sink.hold(false)
    const answers = await Promise.all(statuses)
    const accepted = answers.filter((s) => s === 200).length
    expect(accepted).toBeGreaterThanOrEqual(100)
    await until(() => server.engine.ruleLedger('r').rule.inFlight === 0, 'drained')
    const { rule } = server.engine.ruleLedger('r')
    expect(imbalance(rule)).toBe(0)
    expect(rule.emitted).toBeGreaterThanOrEqual(accepted * 20)
  })

  it('are refused when the rule stops, not acknowledged', async () => {
    await makeRule()
    sink.hold(true)
    const statuses: number[] = []
    for (let i = 0; i < 20; i++) {
      void server
        .request('POST', '/streams/demo/data', '[{"n":1},{"n":2},{"n":3},{"n":4},{"n":5},{"n":6}]')
        .then((r) => statuses.push(r.status))
    }
    await settle(50)
    await server.engine.stopRule('r')
    await until(() => statuses.length === 20, 'all answered')
    const { rule } = server.engine.ruleLedger('r')
    expect(imbalance(rule)).toBe(0)
    expect(statuses.filter((s) => s === 200).length * 6).toBeGreaterThanOrEqual(rule.emitted)
    expect(statuses).toContain(503)
  })
})

describe('sockets', () => {
  it('many requests in one packet are all answered, in order', async () => {
    const one = (n: number): string => `GET /streams/none${n} HTTP/1.1\r\nHost: x\r\n\r\n`
    const answer = await raw(Array.from({ length: 200 }, (_, n) => one(n)).join(''), (a) => a.includes('none199'))
    const found = [...answer.matchAll(/none(\d+)/g)].map((m) => Number(m[1]))
    expect(found).toEqual([...found].sort((a, b) => a - b))
    expect(new Set(found).size).toBe(200)
  })

  it('a client that closes its side still gets its answer', async () => {
    expect(status(await raw('GET /ping HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', undefined, true))).toBe(200)
    const body = '{"sql":"CREATE STREAM half () WITH (TYPE=\\"fed\\")"}'
    const post = `POST /streams HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`
    expect(status(await raw(post, undefined, true))).toBe(201)
    await raw('POST /streams HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"sql"', undefined, true)
    await alive()
  })

  it('100-continue is answered and the body taken', async () => {
    const body = '{"sql":"CREATE STREAM cont () WITH (TYPE=\\"fed\\")"}'
    const head = `POST /streams HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n`
    const answer = await raw(head + body)
    expect(answer).toContain('100 Continue')
    expect(answer).toContain('201 Created')
  })

  it.each([
    ['garbage', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
    ['two lengths', 'POST /streams HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello'],
    [
      'length and chunks',
      'POST /streams HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['a bad chunk', 'POST /streams HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\nhello\r\n0\r\n\r\n'],
    ['a negative length', 'POST /streams HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n'],
    ['an enormous length', `POST /streams HTTP/1.1\r\nHost: x\r\nContent-Length: ${'9'.repeat(30)}\r\n\r\n`],
    ['a header of 1 MB', `GET /ping HTTP/1.1\r\nHost: x\r\nX: ${'y'.repeat(1 << 20)}\r\n\r\n`],
    ['100,000 headers', `GET /ping HTTP/1.1\r\nHost: x\r\n${'X: y\r\n'.repeat(100_000)}\r\n`],
    ['a path of 1 MB', `GET /${'p'.repeat(1 << 20)} HTTP/1.1\r\nHost: x\r\n\r\n`],
    ['a header with a line feed', 'GET /ping HTTP/1.1\r\nHost: x\r\nX: a\n b\0c\r\n\r\n'],
    ['an upgrade', 'GET /ping HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'],
    ['CONNECT', 'CONNECT example.org:443 HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['an absolute address', 'GET http://evil.example/ping HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'],
  ])('%s is answered or cut off', async (_name, text) => {
    await raw(Buffer.from(text, 'latin1'), (a) => a.includes('\r\n\r\n'))
    await alive()
  })
})

describe('names in paths', () => {
  const names = [
    ...[
      '%00',
      '%2e%2e',
      '..%2f..',
      '%2F',
      '%5c',
      '%',
      '%zz',
      '%e0%80',
      '%ff',
      'a%20b',
      '%0d%0aX:1',
      '__proto__',
      'constructor',
      'toString',
      'hasOwnProperty',
    ],
    ...[
      '%22',
      "'",
      ';',
      ':',
      '%3Cscript%3E',
      'x'.repeat(5000),
      '%F0%9F%98%80',
      '*',
      '.',
      '~',
      '%252e',
      '$$x',
      '-',
      '_',
      '{name}',
    ],
  ]
  it('never reach anything but a definition of that name, and never fail inside', async () => {
    for (const name of names) {
      for (const collection of [
        'rules',
        'streams',
        'tables',
        'schemas/protobuf',
        'connections',
        'services',
        'config/uploads',
      ]) {
        for (const method of ['GET', 'PUT', 'DELETE', 'POST', 'PATCH', 'HEAD']) {
          const path = `/${collection}/${name}`
          const answer = await server.request(
            method,
            path,
            ['PUT', 'POST', 'PATCH'].includes(method) ? '{}' : undefined,
          )
          expect([method, path, answer.status, answer.body.slice(0, 80)].join(' '), path).not.toMatch(/ 50[0] /)
          expect(answer.body).not.toMatch(/TypeError|undefined is not|at .*\.ts:/)
        }
      }
    }
    await alive()
  })

  it('of Object.prototype work as names of streams and rules', async () => {
    for (const name of ['__proto__', 'constructor', 'toString']) {
      const made = await server.request(
        'POST',
        '/streams',
        JSON.stringify({ sql: `CREATE STREAM \`${name}\` () WITH (TYPE="fed", DATASOURCE="d", FORMAT="json")` }),
      )
      if (made.status !== 201) continue
      const rule = { id: name, sql: `SELECT n FROM \`${name}\``, actions: [{ watched: { sendSingle: true } }] }
      expect((await server.request('POST', '/rules', JSON.stringify(rule))).status, name).toBe(201)
      await settle()
      expect((await server.request('POST', `/streams/${name}/data`, '{"n":1}')).status).toBe(200)
      expect((await server.request('GET', `/rules/${name}/status`)).status).toBe(200)
      expect((await server.request('GET', `/rules/${name}/ledger`)).body).toContain('"received":1')
      expect((await server.request('DELETE', `/rules/${name}`)).status).toBe(200)
    }
    expect(Object.keys(Object.prototype)).toEqual([])
  })
})

describe('documents', () => {
  const deep = (n: number): string => '['.repeat(n) + ']'.repeat(n)
  const bodies: readonly (string | Uint8Array)[] = [
    ...[
      '',
      ' ',
      'null',
      '1',
      '"x"',
      '[]',
      '{}',
      '[[]]',
      '{"sql":null}',
      '{"sql":{}}',
      '{"sql":[]}',
      '{"sql":1e999}',
      '{"sql":"\\u0000"}',
      '{"sql":"\\ud800"}',
    ],
    ...[
      deep(10_000),
      `{"a":${deep(100_000)}}`,
      `{"sql":"SELECT n FROM demo","actions":${deep(50_000)}}`,
      `{"id":"x","options":${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}}`,
    ],
    ...[
      '{"id":"x","sql":"SELECT n FROM demo","actions":[{"__proto__":{"polluted":1}}]}',
      '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}',
    ],
    ...[
      '{"id":"x","sql":"SELECT n FROM demo","actions":[{"watched":{"__proto__":{"polluted":1}}}]}',
      '{"id":"x","sql":"SELECT n FROM demo","actions":[{}]}',
    ],
    ...[
      '{"id":"x","sql":"SELECT n FROM demo","actions":[{"nop":{}}],"options":{"__proto__":{"polluted":1},"qos":1e999}}',
      '{"id":{},"sql":[],"actions":{}}',
    ],
    ...[
      '{"id":"x","sql":"SELECT n FROM demo","actions":[{"nop":{}}],"options":{"bufferLength":-1}}',
      '{"id":"x","sql":"SELECT n FROM demo","actions":[{"nop":null}]}',
    ],
    ...[
      '{"id":"x","graph":{"nodes":{"__proto__":{"type":"source"}},"topo":{"sources":["__proto__"],"edges":{"__proto__":["constructor"]}}}}',
      '{"id":"x","graph":[]}',
      '{"id":"x","graph":{"nodes":{},"topo":{}}}',
    ],
    `{"id":"y","sql":"SELECT n FROM demo","actions":[{"rest":{"url":"http://127.0.0.1:9/","headers":${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}}}]}`,
    `{"id":"y","sql":"SELECT n FROM demo","actions":[{"nop":{}}],"tags":${deep(5000)}}`,
    `{"id":"y","graph":{"nodes":${'{"a":'.repeat(5000)}1${'}'.repeat(5000)},"topo":{}}}`,
    JSON.stringify({ sql: `CREATE STREAM y (a ${'ARRAY('.repeat(5000)}BIGINT${')'.repeat(5000)}) WITH (TYPE="fed")` }),
    JSON.stringify({
      sql: `CREATE STREAM y (a ${'STRUCT(b '.repeat(5000)}BIGINT${')'.repeat(5000)}) WITH (TYPE="fed")`,
    }),
    Buffer.from([0xff, 0xfe, 0x7b, 0x7d]),
    Buffer.from('{"sql":"\xff\xc0"}', 'latin1'),
    `{"sql":"${'x'.repeat(500_000)}"}`,
  ]
  it('of any kind at any place are refused with a reason or taken', async () => {
    await makeRule('there')
    const places = [
      ...[
        '/streams',
        '/tables',
        '/rules',
        '/rules/validate',
        '/rules/there',
        '/streams/demo/data',
        '/ruleset/import',
        '/data/import',
        '/ruletest',
        '/schemas/protobuf',
        '/connections',
        '/batch/req',
      ],
      ...[
        '/config/uploads',
        '/configs',
        '/rules/bulkstart',
        '/rules/there/tags',
        '/plugins/functions',
        '/services',
        '/metadata/sources/mqtt/confKeys/k',
        '/rules/there/reset_state',
      ],
    ]
    const types = [
      'application/json',
      'text/plain',
      'application/x-ndjson',
      'multipart/form-data',
      'x/y; charset="\u00e4"',
      'application/octet-stream',
    ]
    let i = 0
    for (const place of places) {
      for (const body of bodies) {
        for (const method of ['POST', 'PUT']) {
          const type = types[i++ % types.length] as string
          const response = await fetch(server.url + place, {
            method,
            body,
            headers: { 'content-type': encodeURI(type) },
          })
          const text = await response.text()
          expect(
            [place, method, String(body).slice(0, 80), response.status, text.slice(0, 200)].join(' | '),
          ).not.toMatch(/\| 500 \||TypeError|RangeError|Maximum call/)
        }
      }
    }
    await alive()
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
    expect(Object.keys(Object.prototype)).toEqual([])
  })
})

describe('many at once', () => {
  it('create, change and drop one rule and one stream: all answered, and what is left works', async () => {
    await makeRule('other')
    const rule = JSON.stringify({ id: 'r', sql: 'SELECT n FROM demo', actions: [{ watched: { sendSingle: true } }] })
    const requests: (() => Promise<number>)[] = [
      () => server.request('POST', '/rules', rule).then((a) => a.status),
      () => server.request('PUT', '/rules/r', rule).then((a) => a.status),
      () => server.request('DELETE', '/rules/r').then((a) => a.status),
      () => server.request('POST', '/rules/r/start').then((a) => a.status),
      () => server.request('POST', '/rules/r/stop').then((a) => a.status),
      () => server.request('POST', '/rules/r/restart').then((a) => a.status),
      () => server.request('GET', '/rules/r/status').then((a) => a.status),
      () =>
        server
          .request(
            'PUT',
            '/streams/demo',
            '{"sql":"CREATE STREAM demo () WITH (TYPE=\\"fed\\", DATASOURCE=\\"d\\", FORMAT=\\"json\\")"}',
          )
          .then((a) => a.status),
      () => server.request('POST', '/streams/demo/data', '{"n":1}').then((a) => a.status),
      () => server.request('GET', '/metrics').then((a) => a.status),
    ]
    const statuses = await Promise.all(
      Array.from({ length: 500 }, (_, i) => (requests[(i * 7) % requests.length] as () => Promise<number>)()),
    )
    expect(statuses.filter((s) => s >= 500 && s !== 503)).toEqual([])
    await server.request('DELETE', '/rules/r')
    expect((await server.request('POST', '/rules', rule)).status).toBe(201)
    await settle(10)
    sink.sent.length = 0
    expect((await server.request('POST', '/streams/demo/data', '{"n":42}')).status).toBe(200)
    await until(() => sink.sent.length === 2, 'both rules sent')
  })

  it('HEAD and OPTIONS on every route are answered without a body', async () => {
    for (const path of ['/', '/ping', '/rules', '/streams', '/rules/x', '/metrics', '/streams/x/data', '/nowhere']) {
      const head = await server.request('HEAD', path)
      expect([200, 301, 404, 405]).toContain(head.status)
      expect(head.body).toBe('')
      expect((await server.request('OPTIONS', path)).status).toBeLessThan(500)
    }
  })
})
