/**
 * The REST server: CORS, routing, authentication, handler, answer, in this order (spec/rest-api.md 1.3). `/ping` is answered
 * without loading anything else; routes and the engine load when first asked for.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { allowOrigin, preflight } from './cors.ts'
import type { Call, Reply } from './http.ts'
import type { Router } from './router.ts'
import type { Services } from './services.ts'

export interface App {
  /** Request listener for an HTTP or HTTPS server. */
  readonly handle: (request: IncomingMessage, response: ServerResponse) => void
}

/** Requests in work at one time; more are turned away so that a flood costs bounded memory. */
const MAX_REQUESTS = 2000
/** Bodies held at one time, as a multiple of the largest one. */
const HELD_BODIES = 2
/** Bodies up to this size may go beyond, all together by so much: rules can be managed while pushed rows wait for room. */
const SMALL_BODY = 64 * 1024
const HELD_SMALL = 64 * 1024 * 1024

export function createApp(services: Omit<Services, 'dispatch'>): App {
  let router: Promise<Router> | undefined
  const routes = (): Promise<Router> => {
    router ??= import('./routes/index.ts').then((m) => m.router(services.settings))
    return router
  }
  const full: Services = {
    ...services,
    dispatch: async (call) => answer({ ...call, query: new URLSearchParams(call.query), params: {} }),
  }

  const answer = async (call: Call): Promise<Reply> => {
    if (call.path === '/ping' && call.method === 'GET') return { status: 200 }
    const match = (await routes())(call.method, call.path)
    if (match.kind === 'unknown') return unknownPath(call.path)
    if (match.kind === 'wrongMethod') return { status: 405 }
    if (services.settings.authentication && call.path !== '/') {
      const { refusal } = await import('./auth.ts')
      const refused = await refusal(call.headers['authorization'], services)
      if (refused) return refused
    }
    if (services.settings.auditLog) services.log.info(`visit ${call.method} ${call.path}`)
    try {
      return await match.handler({ ...call, params: match.params }, full)
    } catch (error) {
      const { errorReply } = await import('./wire-errors.ts')
      const reply = errorReply(error)
      if (reply.status >= 500) {
        services.log.error('request failed', {
          method: call.method,
          path: call.path,
          error: error instanceof Error ? (error.stack ?? error.message) : String(error),
        })
      }
      return reply
    }
  }

  let active = 0
  let held = 0
  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    request.on('error', () => {})
    response.on('error', () => {})
    if (active >= MAX_REQUESTS) {
      send(request, response, { status: 503, headers: { Connection: 'close', 'Retry-After': '1' } })
      return
    }
    active++
    let taken = 0
    const gone = new AbortController()
    response.once('close', () => gone.abort())
    // A request counts as long as anything works on it, also when its client has gone.
    const closed = new Promise<void>((resolve) => response.once('close', resolve))
    const leave = (): void => {
      active--
      held -= taken
    }
    const hold = (bytes: number): boolean => {
      const small = taken + bytes <= SMALL_BODY ? HELD_SMALL : 0
      if (held + bytes > HELD_BODIES * services.settings.maxBodyBytes + small) return false
      held += bytes
      taken += bytes
      return true
    }
    const work = serve(request, response, hold, gone.signal).catch((error) => {
      services.log.error('request failed', { path: request.url, error: String(error) })
      response.destroy()
    })
    void Promise.all([work, closed]).then(leave)
  }

  const serve = async (
    request: IncomingMessage,
    response: ServerResponse,
    hold: (bytes: number) => boolean,
    signal: AbortSignal,
  ): Promise<void> => {
    const { path, query } = splitUrl(request.url ?? '/')
    const method = request.method ?? 'GET'
    if (method === 'OPTIONS') return send(request, response, preflight(request.headers))
    const body = await readBody(request, services.settings.maxBodyBytes, hold)
    if (body === null) return
    if (!Buffer.isBuffer(body)) return send(request, response, body)
    const reply = await answer({ method, path, query, params: {}, headers: request.headers, body, signal })
    send(request, response, reply)
  }

  return { handle }
}

function splitUrl(url: string): { path: string; query: URLSearchParams } {
  const at = url.indexOf('?')
  if (at < 0) return { path: url, query: new URLSearchParams() }
  return { path: url.slice(0, at), query: new URLSearchParams(url.slice(at + 1)) }
}

/** 301 for a path that is not clean, else Go's 404. */
function unknownPath(path: string): Reply {
  const clean = cleanPath(path)
  if (clean !== path) return { status: 301, headers: { Location: clean } }
  return {
    status: 404,
    body: '404 page not found\n',
    type: 'text/plain; charset=utf-8',
    headers: { 'X-Content-Type-Options': 'nosniff' },
  }
}

function cleanPath(path: string): string {
  const parts: string[] = []
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue
    if (part === '..') parts.pop()
    else parts.push(part)
  }
  return `/${parts.join('/')}${path.endsWith('/') && parts.length > 0 ? '/' : ''}`
}

/** The whole body; a refusal when it is too large; null when the client went away. */
function readBody(
  request: IncomingMessage,
  limit: number,
  hold: (bytes: number) => boolean,
): Promise<Buffer | Reply | null> {
  const tooLarge = (): Reply => ({
    status: 413,
    body: `${JSON.stringify({ error: 1000, message: `the request body is larger than ${limit} bytes` })}\n`,
    type: 'text/plain; charset=utf-8',
    headers: { Connection: 'close' },
  })
  const busy: Reply = { status: 503, headers: { Connection: 'close', 'Retry-After': '1' } }
  const declared = Number(request.headers['content-length'] ?? Number.NaN)
  if (declared > limit) return Promise.resolve(tooLarge())
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    let length = 0
    const done = (value: Buffer | Reply | null): void => {
      request.off('data', onData)
      resolve(value)
    }
    const onData = (chunk: Buffer): void => {
      length += chunk.length
      if (length > limit) done(tooLarge())
      else if (!hold(chunk.length)) done(busy)
      else chunks.push(chunk)
    }
    request.on('data', onData)
    request.once('end', () => done(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, length)))
    request.once('close', () => done(null))
  })
}

function send(request: IncomingMessage, response: ServerResponse, reply: Reply): void {
  if (response.destroyed || response.headersSent) return
  const headers: Record<string, string> = { ...reply.headers }
  if (request.headers.origin !== undefined) Object.assign(headers, allowOrigin)
  const body = reply.body ?? ''
  if (body.length > 0) headers['Content-Type'] = reply.type ?? 'application/json'
  headers['Content-Length'] = String(typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength)
  response.writeHead(reply.status, headers)
  response.end(body)
  // A body that was refused is not read: the connection goes once the answer had time to leave.
  if (headers['Connection'] === 'close' && !request.complete) request.resume()
}

/** Limits that keep slow or broken clients from holding anything for long. */
export function applyLimits(server: Server): void {
  server.headersTimeout = 30_000
  server.requestTimeout = 300_000
  server.keepAliveTimeout = 60_000
  // A client that does not read its answer.
  server.timeout = 300_000
  server.maxHeadersCount = 200
  server.maxConnections = 10_000
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (!socket.writable) return void socket.destroy()
    const status =
      error.code === 'HPE_HEADER_OVERFLOW'
        ? '431 Request Header Fields Too Large'
        : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
          ? '408 Request Timeout'
          : '400 Bad Request'
    socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)
  })
}
