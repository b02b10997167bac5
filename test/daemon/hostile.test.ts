import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Daemon, installation, startDaemon } from '../support/daemon.ts'

const folder = installation()
let daemon: Daemon
const sockets: Socket[] = []

beforeAll(async () => {
  daemon = await startDaemon(folder, { KUIPER__BASIC__MAXBODYBYTES: '1000000' })
})
afterAll(async () => {
  for (const socket of sockets) socket.destroy()
  daemon.child.kill('SIGKILL')
  await daemon.exit
  folder.remove()
})

async function open(): Promise<Socket> {
  const { hostname, port } = new URL(daemon.url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  sockets.push(socket)
  await new Promise<void>((resolve) => socket.once('connect', () => resolve()))
  return socket
}

async function raw(text: string): Promise<string> {
  const socket = await open()
  let answer = ''
  socket.on('data', (chunk) => {
    answer += chunk.toString()
  })
  socket.write(text)
  await new Promise<void>((resolve) => socket.once('close', () => resolve()))
  return answer
}

const alive = async (): Promise<void> => expect((await daemon.request('GET', '/ping')).status).toBe(200)

describe('a hostile or broken client', () => {
  it('that sends its headers and bodies slowly does not hold up others', async () => {
    const slow = await Promise.all(Array.from({ length: 200 }, open))
    slow.forEach((socket, i) => {
      socket.write(
        i % 2
          ? 'GET /ping HTTP/1.1\r\nHost: x\r\nX-Slow: '
          : 'POST /rules HTTP/1.1\r\nHost: x\r\nContent-Length: 500\r\n\r\n{',
      )
    })
    await alive()
    expect((await daemon.request('GET', '/streams')).body).toBe('[]')
  })

  it('that sends too much is told so', async () => {
    const { status, body } = await daemon.request('POST', '/rules', 'x'.repeat(1_000_001))
    expect([status, body]).toEqual([413, '{"error":1000,"message":"the request body is larger than 1000000 bytes"}\n'])
    const chunked = await raw(
      `POST /rules HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${'186a0\r\n'.concat('y'.repeat(100_000), '\r\n').repeat(11)}`,
    )
    expect(chunked).toMatch(/^HTTP\/1\.1 413 /)
    await alive()
  })

  it('that speaks no HTTP, or has huge headers, is cut off', async () => {
    expect(await raw('\x00\x01\x02 nonsense\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 /)
    expect(await raw(`GET / HTTP/1.1\r\nHost: x\r\nX-Big: ${'z'.repeat(100_000)}\r\n\r\n`)).toMatch(/^HTTP\/1\.1 431 /)
    await alive()
  })

  it('that goes away in the middle of a body leaves nothing behind', async () => {
    for (let i = 0; i < 50; i++) {
      const socket = await open()
      socket.write('POST /rules HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n{"id":')
      socket.destroy()
    }
    await alive()
    expect((await daemon.request('GET', '/rules')).body).toBe('[]')
  })

  it.each([
    ['POST', '/streams', '{'],
    ['POST', '/streams', '[]'],
    ['POST', '/streams', '{"sql":7}'],
    ['POST', '/rules', '"text"'],
    ['POST', '/rules', '{"id":{},"sql":1}'],
    ['PUT', '/rules/x', 'null'],
    ['POST', '/rules/validate', '{'],
    ['PUT', '/rules/x/tags', '{"tags":[1]}'],
    ['POST', '/batch/req', '{"a":1}'],
    ['POST', '/ruleset/import', '{"content":"x"}'],
    ['POST', '/data/import', '{"content":"{\\"streams\\":7}"}'],
    ['PATCH', '/configs', '7'],
    ['POST', '/connections', '[1]'],
    ['PUT', '/metadata/sources/mqtt/confKeys/k', '[1]'],
    ['POST', '/schemas/protobuf', '"x"'],
    ['POST', '/config/uploads', '{"name":"../../x","content":"y"}'],
  ])('%s %s with %s gets a client error', async (method, path, body) => {
    const response = await fetch(daemon.url + path, {
      method,
      body,
      headers: { 'Content-Type': 'application/json' },
    })
    expect(response.status).toBeGreaterThanOrEqual(400)
    expect(response.status).toBeLessThan(500)
    expect(await response.text()).not.toBe('')
  })

  it('cannot reach Object.prototype through documents', async () => {
    const evil = '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}'
    await daemon.request(
      'POST',
      '/streams',
      '{"sql":"CREATE STREAM __proto__ () WITH (TYPE=\\"memory\\", DATASOURCE=\\"a\\")"}',
    )
    await daemon.request(
      'POST',
      '/rules',
      `${evil},"id":"__proto__","sql":"SELECT * FROM __proto__","actions":[{"nop":{}}]}`,
    )
    await daemon.request('PUT', '/metadata/sources/__proto__/confKeys/__proto__', `${evil}}`)
    await daemon.request('PUT', '/metadata/sinks/constructor/confKeys/toString', `${evil}}`)
    await daemon.request('POST', '/data/import?partial=1', JSON.stringify({ content: `{"sourceConfig":${evil}}}` }))
    await daemon.request('POST', '/streams/__proto__/data', `[${evil}}]`)
    const about = JSON.parse((await daemon.request('GET', '/')).body)
    expect(about.polluted).toBeUndefined()
    const resource = (await daemon.request('GET', '/metadata/resource')).body
    expect(JSON.parse(resource).polluted).toBeUndefined()
    for (const path of ['/rules', '/streams', '/rules/status/all', '/data/export', '/metadata/sources/constructor']) {
      expect((await daemon.request('GET', path)).status).toBeLessThan(500)
    }
    await alive()
  })

  it('finds nothing at unknown paths', async () => {
    expect(await daemon.request('GET', '/nowhere')).toEqual({ status: 404, body: '404 page not found\n' })
    expect(await daemon.request('GET', '/streams/')).toEqual({ status: 404, body: '404 page not found\n' })
    expect(await daemon.request('PATCH', '/rules')).toEqual({ status: 405, body: '' })
    expect((await daemon.request('GET', '/rules/%2e%2e%2fetc')).status).toBe(400)
    expect((await daemon.request('GET', '/rules/%ff')).status).toBe(400)
  })
})
