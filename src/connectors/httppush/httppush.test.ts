import { request as httpRequest } from 'node:http'
import { connect, type Socket } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { eventually, makeSource, run, testContext } from '../../../test/support/connectors.ts'
import { manualClock } from '../../core/clock.ts'
import type { ValueObject } from '../../core/values.ts'
import type { Chunk, ConnectorContext } from '../contract.ts'
import { acquireDataServer } from '../data-server.ts'
import { httppush } from './index.ts'

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

async function started(
  answer?: (chunk: Chunk) => void | Promise<void>,
  options: { path?: string; properties?: ValueObject; context?: Partial<ConnectorContext> } = {},
) {
  const context = testContext(options.context)
  const running = await run(
    makeSource(httppush.source, options.path ?? '/in', options.properties ?? {}, context),
    answer,
  )
  const { server, release } = await acquireDataServer(context)
  let stopped = false
  const stop = async () => {
    if (stopped) return
    stopped = true
    await running.stop()
  }
  cleanups.push(async () => {
    await release()
    await stop()
    expect(context.resources.usage().size).toBe(0)
  })
  const url = `http://127.0.0.1:${server.port}`
  const post = (body: string | Buffer, path = '/in', method = 'POST') =>
    fetch(url + path, { method, body: new Uint8Array(Buffer.from(body)) }).then(async (response) => ({
      status: response.status,
      text: await response.text(),
    }))
  return { context, running, server, url, post, stop }
}

/** Sends raw bytes and collects what comes back until the server closes. */
function raw(port: number): { socket: Socket; received: () => string; closed: Promise<void> } {
  const socket = connect(port, '127.0.0.1')
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk
  })
  socket.on('error', () => {})
  cleanups.push(() => void socket.destroy())
  return { socket, received: () => text, closed: new Promise((resolve) => socket.on('close', () => resolve())) }
}

describe('http push', () => {
  it('answers ok after acceptance, one payload a request', async () => {
    const { running, post } = await started()
    expect(await post('{"a":1}')).toEqual({ status: 200, text: 'ok' })
    expect(await post('')).toEqual({ status: 200, text: 'ok' })
    expect(running.texts()).toEqual(['{"a":1}', ''])
  })

  it('answers only when the chunk is settled, and 503 when it was refused', async () => {
    const held: Chunk[] = []
    const { post } = await started((chunk) => void held.push(chunk))
    let answered = 0
    const first = post('a').finally(() => answered++)
    const second = post('b').finally(() => answered++)
    await eventually(() => held.length === 2)
    expect(answered).toBe(0)
    held[0]?.settled?.(null)
    held[1]?.settled?.(new Error('no room'))
    const answers = await Promise.all([first, second])
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 503])
  })

  it('404 for unknown paths and after the last stream stopped, 405 for another method, 400 for bad requests', async () => {
    const { post, stop, url, server } = await started()
    expect((await post('x', '/other')).status).toBe(404)
    expect((await fetch(`${url}/in`)).status).toBe(405)
    expect((await post('x', '/in', 'PUT')).status).toBe(405)
    const bad = raw(server.port)
    bad.socket.write('NOT HTTP AT ALL\r\n\r\n')
    await bad.closed
    expect(bad.received()).toMatch(/^HTTP\/1.1 400/)
    const wide = raw(server.port)
    wide.socket.write(`POST /in HTTP/1.1\r\nHost: x\r\nX: ${'y'.repeat(100_000)}\r\n\r\n`)
    await wide.closed
    expect(wide.received()).toMatch(/^HTTP\/1.1 431/)
    await stop()
    expect((await post('x')).status).toBe(404)
  })

  it('gives every stream on a path each body; POST and PUT are different endpoints', async () => {
    const context = testContext()
    const source = (method: string) => makeSource(httppush.source, '/same', { method }, context)
    const a = await run(source('POST'))
    const b = await run(source('post'))
    const c = await run(source('PUT'))
    const { server, release } = await acquireDataServer(context)
    const send = (method: string, body: string) => fetch(`http://127.0.0.1:${server.port}/same`, { method, body })
    expect((await send('POST', '1')).status).toBe(200)
    expect((await send('PUT', '2')).status).toBe(200)
    expect([a.texts(), b.texts(), c.texts()]).toEqual([['1'], ['1'], ['2']])
    await a.stop()
    expect((await send('POST', '3')).status).toBe(200)
    expect(b.texts()).toEqual(['1', '3'])
    await b.stop()
    await c.stop()
    await release()
  })

  it('loses nothing and repeats nothing under many clients while there is often no room', async () => {
    let busy = 0
    let most = 0
    const { running, post } = await started(async (chunk) => {
      most = Math.max(most, ++busy)
      await new Promise((resolve) => setTimeout(resolve, 1))
      busy--
      chunk.settled?.(null)
    })
    const wanted = Array.from({ length: 800 }, (_, i) => `{"i":${i}}`)
    const queue = [...wanted]
    await Promise.all(
      Array.from({ length: 16 }, async () => {
        for (let body = queue.shift(); body !== undefined; body = queue.shift())
          expect((await post(body)).status).toBe(200)
      }),
    )
    expect(most).toBe(1)
    expect(running.texts().sort()).toEqual([...wanted].sort())
  })

  it('413 for a body beyond the limit, announced or not, and the server lives on', async () => {
    const { post, server, running } = await started(undefined, {
      context: { dataServer: { host: '127.0.0.1', port: 0, maxBodyBytes: 1000 } },
    })
    const announced = raw(server.port)
    announced.socket.write('POST /in HTTP/1.1\r\nHost: x\r\nContent-Length: 999999999\r\n\r\n')
    await announced.closed
    expect(announced.received()).toMatch(/^HTTP\/1.1 413/)
    const chunked = raw(server.port)
    chunked.socket.write('POST /in HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n')
    for (let i = 0; i < 20; i++) chunked.socket.write(`64\r\n${'x'.repeat(100)}\r\n`)
    await chunked.closed
    expect(chunked.received()).toMatch(/^HTTP\/1.1 413/)
    expect((await post('fine')).status).toBe(200)
    expect(running.texts()).toEqual(['fine'])
  })

  it('503 with retry-after when acceptance takes too long; a body not delivered by then is not delivered later', async () => {
    const clock = manualClock()
    let release = (): void => {}
    const full = new Promise<void>((resolve) => {
      release = resolve
    })
    const { running, url } = await started(() => full, {
      context: { clock, dataServer: { host: '127.0.0.1', port: 0, acceptTimeout: 5000 } },
    })
    const first = fetch(`${url}/in`, { method: 'POST', body: 'taken' })
    await eventually(() => running.chunks.length === 1)
    const second = fetch(`${url}/in`, { method: 'POST', body: 'waiting' })
    await eventually(() => clock.pendingTimers === 2)
    await clock.advance(5000)
    const answer = await second
    expect(answer.status).toBe(503)
    expect(answer.headers.get('retry-after')).toBe('1')
    expect((await first).status).toBe(503)
    release()
    await full
    expect(running.texts()).toEqual(['taken'])
  })

  it('a client that sends slowly or goes away in the middle harms nobody', async () => {
    const { running, post, server } = await started()
    const slow = raw(server.port)
    slow.socket.write('POST /in HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n12345')
    const gone = raw(server.port)
    gone.socket.write('POST /in HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n12')
    gone.socket.resetAndDestroy()
    for (let i = 0; i < 50; i++) expect((await post(`n${i}`)).status).toBe(200)
    expect(running.texts().length).toBe(50)
    slow.socket.write('67890')
    await running.until(51)
    await eventually(() => slow.received().endsWith('ok'))
    expect(running.texts().at(-1)).toBe('1234567890')
  })

  it('keeps connections alive', async () => {
    const { server } = await started()
    const client = raw(server.port)
    const one = 'POST /in HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx'
    client.socket.write(one + one + one)
    await eventually(() => client.received().split('200 OK').length === 4)
  })

  it('a client that does not read its answers does not stop the others', async () => {
    const { server, post } = await started()
    const deaf = httpRequest(
      { port: server.port, host: '127.0.0.1', path: '/in', method: 'POST' },
      (response) => void response.pause(),
    )
    deaf.on('error', () => {})
    deaf.end('x')
    for (let i = 0; i < 10; i++) expect((await post('y')).status).toBe(200)
    deaf.destroy()
  })

  it('path variables match one level; cross-origin requests are allowed', async () => {
    const { post, url } = await started(undefined, { path: '/site/{id}/in' })
    expect((await post('x', '/site/7/in?q=1')).status).toBe(200)
    expect((await post('x', '/site//in')).status).toBe(404)
    expect((await post('x', '/site/7/8/in')).status).toBe(404)
    const preflight = await fetch(`${url}/site/1/in`, { method: 'OPTIONS', headers: { origin: 'http://a' } })
    expect(preflight.status).toBe(200)
    expect(preflight.headers.get('access-control-allow-origin')).toBe('*')
  })

  it('refuses wrong properties and a taken port with clear errors', async () => {
    expect(() => makeSource(httppush.source, 'in', {}, testContext())).toThrow('property `endpoint` must start with /')
    expect(() => makeSource(httppush.source, '/in', { method: 'GET' }, testContext())).toThrow(
      'method GET is not supported, must be POST or PUT',
    )
    const { server } = await started()
    const second = makeSource(
      httppush.source,
      '/x',
      {},
      testContext({ dataServer: { host: '127.0.0.1', port: server.port } }),
    )
    await expect(second.connect(new AbortController().signal)).rejects.toThrow(
      /http server is not running: cannot listen/,
    )
  })
})
