import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { freePort, item, makeSink, never, testContext } from '../../../test/support/connectors.ts'
import { manualClock } from '../../core/clock.ts'
import type { IxionError } from '../../core/errors.ts'
import type { ValueObject } from '../../core/values.ts'
import { httpClient } from '../http-client.ts'
import { isPrivateAddress } from '../private-network.ts'
import { rest } from './index.ts'

interface Seen {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

let server: Server
let port = 0
let seen: Seen[] = []
let respond: (seen: Seen, response: ServerResponse) => void
const cleanups: (() => Promise<unknown>)[] = []

beforeEach(async () => {
  seen = []
  respond = (_seen, response) => void response.end('{"code":200}')
  server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk) => {
      body += chunk
    })
    request.on('error', () => {})
    request.on('end', () => {
      const one = { method: request.method ?? '', url: request.url ?? '', headers: request.headers, body }
      seen.push(one)
      respond(one, response)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  port = (server.address() as { port: number }).port
})
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup()
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

async function open(properties: ValueObject = {}, context = testContext()) {
  const sink = makeSink(rest.sink, { url: `http://127.0.0.1:${port}/x`, method: 'post', ...properties }, context)
  cleanups.push(() => sink.close())
  await sink.connect(never())
  return sink
}

const failure = (sending: Promise<void>): Promise<IxionError> =>
  sending.then(
    () => Promise.reject(new Error('sent')),
    (error) => error,
  )

describe('rest sink', () => {
  it('sends method, headers and body by type, with dynamic values', async () => {
    const sink = await open({ headers: { 'X-Id': '{{.id}}', Fixed: 'f' } })
    await sink.send(item('{"a":1}', { url: `http://127.0.0.1:${port}/dev/7`, 'headers.X-Id': '7' }), never())
    expect(seen[0]).toMatchObject({
      method: 'POST',
      url: '/dev/7',
      body: '{"a":1}',
      headers: { 'x-id': '7', fixed: 'f', 'content-type': 'application/json', 'content-length': '7' },
    })
    const none = await open({ method: 'GET' })
    await none.send(item('ignored'), never())
    expect(seen[1]).toMatchObject({ method: 'GET', body: '' })
    const text = await open({ bodyType: 'text', headers: { 'content-type': 'text/x-own' }, compression: 'gzip' })
    await text.send(item('t'), never())
    expect(seen[2]?.headers).toMatchObject({ 'content-type': 'text/x-own', 'content-encoding': 'gzip' })
    const form = await open({ bodyType: 'form', format: 'urlencoded' })
    await form.send(item('a=1&b=2'), never())
    expect(seen[3]).toMatchObject({
      body: 'a=1&b=2',
      headers: { 'content-type': 'application/x-www-form-urlencoded;param=value' },
    })
  })

  it('formdata holds the payload as a file and the other fields, safely quoted', async () => {
    const sink = await open(
      { bodyType: 'formdata', fileFieldName: 'f', formData: { a: '{{.a}}', 'b"\r\nX: y': 'v' } },
      testContext({ clock: manualClock({ start: 123 }) }),
    )
    await sink.send(item('PAY', { 'formData.a': '1' }), never())
    const body = seen[0]?.body ?? ''
    expect(body).toContain('name="f"; filename="123"\r\nContent-Type: application/octet-stream\r\n\r\nPAY')
    expect(body).toContain('name="a"\r\n\r\n1')
    expect(body).toContain('name="b%22%0D%0AX: y"')
  })

  it('tells what may be tried again from what may not', async () => {
    const sink = await open()
    const expected: [number, boolean][] = [
      [400, false],
      [404, false],
      [500, false],
      [408, true],
      [429, true],
      [503, true],
    ]
    for (const [status, retry] of expected) {
      respond = (_seen, response) => void response.writeHead(status).end('why "not"')
      const error = await failure(sink.send(item('x'), never()))
      expect([error.kind.retry, error.message]).toEqual([
        retry,
        `parse response error: response code error: ${status}. | method=POST path="http://127.0.0.1:${port}/x" status=${status} response_body="why \\"not\\""`,
      ])
    }
    const closed = await freePort()
    const refused = await failure(sink.send(item('x', { url: `http://127.0.0.1:${closed}/` }), never()))
    expect(refused.kind.retry).toBe(true)
    expect(refused.message).toMatch(
      /^rest sink fails to send out the data:err=.*ECONNREFUSED.* recoverAble=true method=POST path=/,
    )
    respond = (_seen, response) => void response.socket?.destroy()
    expect((await failure(sink.send(item('x'), never()))).kind.retry).toBe(true)
    respond = (_seen, response) => {
      response.writeHead(200, { 'content-length': '100' })
      response.write('half')
      response.socket?.end()
    }
    expect((await failure(sink.send(item('x'), never()))).kind.retry).toBe(true)
    const invalid = await open({ headers: { 'X-Bad': '{{.x}}' } })
    expect((await failure(invalid.send(item('x', { 'headers.X-Bad': 'a\r\nInjected: y' }), never()))).kind.retry).toBe(
      false,
    )
  })

  it('gives up after timeout, retriable, and the next request works', async () => {
    const clock = manualClock()
    const sink = await open({ timeout: '2s' }, testContext({ clock }))
    respond = () => {}
    const sending = failure(sink.send(item('x'), never()))
    while (seen.length === 0) await new Promise((resolve) => setTimeout(resolve, 1))
    await clock.advance(2000)
    expect(await sending).toMatchObject({ code: 'TIMEOUT' })
    respond = (_seen, response) => void response.end()
    await sink.send(item('y'), never())
  })

  it('repeats a request whose kept connection the server had closed', async () => {
    const sink = await open()
    await sink.send(item('1'), never())
    server.closeIdleConnections()
    await sink.send(item('2'), never())
    expect(seen.map(({ body }) => body)).toEqual(['1', '2'])
  })

  it('judges the body only with debugResp', async () => {
    respond = (_seen, response) => void response.end('{"code":500}')
    await (await open({ responseType: 'body' })).send(item('x'), never())
    const judging = await open({ responseType: 'body', debugResp: true })
    expect((await failure(judging.send(item('x'), never()))).message).toContain(
      'parse response error: response code error: 500.',
    )
    respond = (_seen, response) => void response.end('not json')
    await judging.send(item('x'), never())
  })

  it('follows redirects: 307 with the body, 302 as GET; not for ever', async () => {
    const sink = await open({ headers: { Authorization: 'secret' } })
    respond = (one, response) =>
      void (one.url === '/x' ? response.writeHead(307, { location: '/y' }).end() : response.end())
    await sink.send(item('b'), never())
    expect(seen[1]).toMatchObject({ method: 'POST', url: '/y', body: 'b' })
    seen = []
    respond = (one, response) =>
      void (one.url === '/x' ? response.writeHead(302, { location: '/z' }).end() : response.end())
    await sink.send(item('b'), never())
    expect(seen[1]).toMatchObject({ method: 'GET', url: '/z', body: '' })
    respond = (_one, response) => void response.writeHead(302, { location: '/x' }).end()
    expect((await failure(sink.send(item('b'), never()))).message).toContain('stopped after 10 redirects')
  })

  it('refuses private addresses when they are not allowed, by number and by name', async () => {
    const sink = await open({}, testContext({ allowPrivateNetwork: false }))
    expect((await failure(sink.send(item('x'), never()))).message).toContain('ip 127.0.0.1 is in internal network')
    const named = await failure(sink.send(item('x', { url: `http://localhost:${port}/` }), never()))
    expect(named.message).toMatch(/ip (127\.0\.0\.1|::1) is in internal network/)
    expect(named.kind.retry).toBe(false)
    expect(seen).toEqual([])
    expect(
      [
        '10.1.2.3',
        '172.31.0.1',
        '192.168.9.9',
        '::1',
        'fe80::1',
        'fd00::1',
        '::ffff:10.0.0.1',
        '224.0.0.1',
        '0.0.0.0',
      ].every(isPrivateAddress),
    ).toBe(true)
    expect(['8.8.8.8', '172.32.0.1', '2001:4860::1', '::ffff:8.8.8.8'].some(isPrivateAddress)).toBe(false)
  })

  it('gets a token, uses it in headers, and refreshes it when half its time is over', async () => {
    const clock = manualClock()
    let tokens = 0
    respond = (one, response) =>
      void response.end(one.url.startsWith('/token') ? JSON.stringify({ token: `t${++tokens}`, expires: '60' }) : '')
    const renderTemplate = (template: string, data: unknown) =>
      template.replace(/\{\{\.(\w+)\}\}/g, (_all, name) => String((data as Record<string, string>)[name]))
    const sink = await open(
      {
        headers: { Authorization: 'Bearer {{.token}}' },
        oauth: {
          access: { url: `http://127.0.0.1:${port}/token`, body: '{"user":"u"}', expire: '{{.expires}}' },
          refresh: { url: `http://127.0.0.1:${port}/token/refresh`, headers: { Old: '{{.token}}' }, body: '' },
        },
      },
      testContext({ clock, renderTemplate }),
    )
    await sink.send(item('1'), never())
    await clock.advance(31_000)
    await sink.send(item('2'), never())
    await sink.send(item('3'), never())
    expect(seen.map(({ url, headers, body }) => [url, headers['authorization'] ?? headers['old'] ?? body])).toEqual([
      ['/token', '{"user":"u"}'],
      ['/x', 'Bearer t1'],
      ['/x', 'Bearer t1'],
      ['/token/refresh', 't1'],
      ['/x', 'Bearer t2'],
    ])
    expect(rest.sink?.ownTemplates?.({ oauth: { access: {} } })).toEqual(['oauth', 'headers'])
  })

  it('a token that cannot be had fails the connection', async () => {
    respond = (_one, response) => void response.writeHead(401).end()
    const oauth = { access: { url: `http://127.0.0.1:${port}/token`, body: '' } }
    await expect(open({ oauth })).rejects.toThrow('fail to authorize by oAuth: response code error: 401')
    await expect(open({ oauth: { refresh: { url: 'x' } } })).rejects.toThrow(
      'if setting oAuth, `access` property is required',
    )
  })

  it('a response beyond the limit is cut off', async () => {
    respond = (_one, response) => void response.end(Buffer.alloc(100_000))
    const client = httpClient({ clock: testContext().clock, allowPrivateNetwork: true, maxResponseBytes: 1000 })
    cleanups.push(async () => client.close())
    const request = { url: `http://127.0.0.1:${port}/`, method: 'GET', headers: {}, body: null, timeout: 0 }
    await expect(client.send(request, never())).rejects.toMatchObject({ code: 'LIMIT' })
  })

  it.each([
    [{ url: 'ftp://x' }, 'Invalid scheme ftp'],
    [{ url: '' }, 'url is required'],
    [{ url: 'http://' }, 'Invalid url, host not found'],
    [{ method: 'FLY' }, 'Not supported HTTP method FLY.'],
    [{ bodyType: 'x' }, 'Invalid body type value x.'],
    [{ bodyType: 'form' }, 'format must be urlencoded if bodyType is form'],
    [{ responseType: 'x' }, 'Invalid response type value x.'],
    [{ timeout: -1 }, 'timeout must be greater than or equal to 0'],
  ] as [ValueObject, string][])('%j: %s', async (properties, message) => {
    await expect(open(properties)).rejects.toThrow(message)
  })
})
