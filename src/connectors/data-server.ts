/**
 * The data server (spec/rest-api.md 3.17): one HTTP server of the engine for httppush, websocket and sse endpoints. It listens
 * from the first user to the last. Answers 404 for unknown paths and 405 for a known path with another method.
 */
import { readFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { Duplex } from 'node:stream'
import { IxionError, messageOf } from '../core/errors.ts'
import type { ConnectorContext, DataServerSettings } from './contract.ts'
import { installationPath } from './tls.ts'

export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => void
export type UpgradeHandler = (request: IncomingMessage, socket: Duplex, head: Buffer) => void

export interface DataServer {
  readonly port: number
  /** Largest request body, bytes. */
  readonly maxBodyBytes: number
  readonly acceptTimeout: number
  /**
   * Serves `path` (it may hold `{name}` levels) for one method until the returned function is called. Throws IN_USE when the
   * endpoint is taken.
   */
  route(method: string, path: string, handler: RequestHandler): () => void
  /** Serves protocol upgrades (websocket) at `path`. */
  upgrade(path: string, handler: UpgradeHandler): () => void
  /**
   * Reads a request body. Undefined when it was refused (too long: 413, too much in memory: 503) or the client went away; the
   * refusal is answered already. Call `free` when the body is no longer held.
   */
  body(
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<{ readonly bytes: Buffer; free(): void } | undefined>
  close(): Promise<void>
}

const KEY = 'data-server'
const DEFAULT: DataServerSettings = { host: '0.0.0.0', port: 10081 }
const MAX_BODY = 8 * 1024 * 1024
const ACCEPT_TIMEOUT = 60_000
/** All bodies in memory together; beyond it requests are turned away for the moment. */
const MAX_HELD = 256 * 1024 * 1024
const MAX_CONNECTIONS = 10_000

/** The engine's data server; give it back with `release`. Throws CONNECTION when it cannot listen. */
export async function acquireDataServer(
  context: ConnectorContext,
): Promise<{ readonly server: DataServer; release(): Promise<void> }> {
  const server = await context.resources.acquire(KEY, () => startDataServer(context))
  return { server, release: () => context.resources.release(KEY) }
}

interface Endpoints {
  readonly methods: Map<string, RequestHandler>
  upgrade: UpgradeHandler | undefined
}

async function startDataServer(context: ConnectorContext): Promise<DataServer> {
  const settings = context.dataServer ?? DEFAULT
  const exact = new Map<string, Endpoints>()
  const patterns = new Map<string, { readonly levels: readonly string[]; readonly endpoints: Endpoints }>()
  const maxBodyBytes = settings.maxBodyBytes ?? MAX_BODY
  let held = 0

  const find = (path: string): Endpoints | undefined => {
    const found = exact.get(path)
    if (found || patterns.size === 0) return found
    const levels = path.split('/')
    for (const pattern of patterns.values()) {
      if (
        pattern.levels.length === levels.length &&
        pattern.levels.every((level, i) => (isVariable(level) ? levels[i] !== '' : level === levels[i]))
      ) {
        return pattern.endpoints
      }
    }
    return undefined
  }
  const endpointsAt = (path: string): Endpoints => {
    const levels = path.split('/')
    const found = levels.some(isVariable) ? patterns.get(path)?.endpoints : exact.get(path)
    if (found) return found
    const fresh: Endpoints = { methods: new Map(), upgrade: undefined }
    if (levels.some(isVariable)) patterns.set(path, { levels, endpoints: fresh })
    else exact.set(path, fresh)
    return fresh
  }
  const tidy = (path: string, endpoints: Endpoints): void => {
    if (endpoints.methods.size > 0 || endpoints.upgrade) return
    exact.delete(path)
    patterns.delete(path)
  }

  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    request.on('error', () => {})
    response.on('error', () => {})
    if (request.headers.origin !== undefined) allowOrigin(response)
    if (request.method === 'OPTIONS' && request.headers.origin !== undefined) {
      answer(response, 200, '')
      return
    }
    const endpoints = find(pathOf(request))
    const handler = endpoints?.methods.get(request.method ?? '')
    if (handler) handler(request, response)
    else if (endpoints && endpoints.methods.size > 0)
      answer(response, 405, '', { allow: [...endpoints.methods.keys()].join(', ') })
    else answer(response, 404, '404 page not found\n')
  }

  const server: Server = settings.tls
    ? createSecureServer(await readCertificate(settings.tls, context))
    : createServer()
  server.maxConnections = MAX_CONNECTIONS
  server.headersTimeout = 30_000
  server.requestTimeout = 300_000
  server.keepAliveTimeout = 60_000
  server.on('request', handle)
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => {})
    const upgrade = find(pathOf(request))?.upgrade
    if (upgrade) upgrade(request, socket, head)
    else socket.end('HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n')
  })
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy()
      return
    }
    const status = error.code === 'HPE_HEADER_OVERFLOW' ? '431 Request Header Fields Too Large' : '400 Bad Request'
    socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)
  })
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(settings.port, settings.host, resolve)
    })
  } catch (error) {
    throw new IxionError(
      'CONNECTION',
      `http server is not running: cannot listen on ${settings.host}:${settings.port}: ${messageOf(error)}`,
      {
        hint: 'Set source.httpServerIp and source.httpServerPort to a free address.',
        cause: error,
      },
    )
  }
  server.on('error', (error) => context.log.error(`data server: ${messageOf(error)}`))

  return {
    port: (server.address() as { port: number }).port,
    maxBodyBytes,
    acceptTimeout: settings.acceptTimeout ?? ACCEPT_TIMEOUT,
    route(method, path, handler) {
      const endpoints = endpointsAt(path)
      if (endpoints.methods.has(method)) throw new IxionError('IN_USE', `the endpoint ${method} ${path} is in use`)
      endpoints.methods.set(method, handler)
      return () => {
        endpoints.methods.delete(method)
        tidy(path, endpoints)
      }
    },
    upgrade(path, handler) {
      const endpoints = endpointsAt(path)
      if (endpoints.upgrade) throw new IxionError('IN_USE', `the endpoint ${path} is in use`)
      endpoints.upgrade = handler
      return () => {
        endpoints.upgrade = undefined
        tidy(path, endpoints)
      }
    },
    body(request, response) {
      return new Promise((resolve) => {
        const parts: Buffer[] = []
        let length = 0
        let over = false
        const stop = (status: number, text: string): void => {
          if (over) return
          over = true
          held -= length
          // What the client still sends is not read; the connection ends with the answer.
          answer(response, status, text, { connection: 'close', ...(status === 503 && { 'retry-after': '1' }) })
          request.pause()
          response.once('finish', () => request.socket.destroySoon())
          resolve(undefined)
        }
        if (Number(request.headers['content-length'] ?? 0) > maxBodyBytes) {
          stop(413, `the body is longer than ${maxBodyBytes} bytes\n`)
          return
        }
        request.on('data', (chunk: Buffer) => {
          if (over) return
          if (length + chunk.length > maxBodyBytes) stop(413, `the body is longer than ${maxBodyBytes} bytes\n`)
          else if (held + chunk.length > MAX_HELD) stop(503, 'too many requests are waiting\n')
          else {
            parts.push(chunk)
            length += chunk.length
            held += chunk.length
          }
        })
        request.on('end', () => {
          if (over) return
          over = true
          const size = length
          let freed = false
          resolve({
            bytes: parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts, length),
            free() {
              if (!freed) held -= size
              freed = true
            },
          })
        })
        request.on('close', () => {
          if (over) return
          over = true
          held -= length
          resolve(undefined)
        })
      })
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** Ends a request with a short text. */
export function answer(
  response: ServerResponse,
  status: number,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  if (response.headersSent || response.destroyed) return
  response.writeHead(status, {
    'content-length': Buffer.byteLength(text),
    'content-type': 'text/plain; charset=utf-8',
    ...headers,
  })
  response.end(text)
}

function allowOrigin(response: ServerResponse): void {
  response.setHeader('access-control-allow-origin', '*')
  response.setHeader(
    'access-control-allow-headers',
    'Accept, Accept-Language, Content-Type, Content-Language, Origin, Authorization',
  )
  response.setHeader('access-control-allow-methods', 'POST, GET, PUT, DELETE, HEAD')
}

const isVariable = (level: string): boolean => level.startsWith('{') && level.endsWith('}')

function pathOf(request: IncomingMessage): string {
  const url = request.url ?? '/'
  const end = url.indexOf('?')
  return end < 0 ? url : url.slice(0, end)
}

async function readCertificate(
  tls: { readonly certfile: string; readonly keyfile: string },
  context: ConnectorContext,
): Promise<{ cert: Buffer; key: Buffer }> {
  try {
    return {
      cert: await readFile(installationPath(tls.certfile, context)),
      key: await readFile(installationPath(tls.keyfile, context)),
    }
  } catch (error) {
    throw new IxionError('INVALID_PROPERTY', `source.httpServerTls: ${messageOf(error)}`, {
      path: 'source.httpServerTls',
    })
  }
}
