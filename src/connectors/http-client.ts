/** Outgoing HTTP for connectors: keep-alive, one time limit for the whole request, redirects, size limit, private network rule. */
import { Agent, type IncomingMessage, type OutgoingHttpHeaders, request as plainRequest } from 'node:http'
import { Agent as SecureAgent, request as secureRequest } from 'node:https'
import { isIP } from 'node:net'
import type { Clock } from '../core/clock.ts'
import { IxionError, messageOf } from '../core/errors.ts'
import { publicLookup, refusePrivate } from './private-network.ts'
import type { TlsSettings } from './tls.ts'

export interface HttpRequest {
  readonly url: string
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array | null
  /** Whole request, ms; 0 = no limit. */
  readonly timeout: number
}

export interface HttpResponse {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly body: Buffer
}

export interface HttpClient {
  /**
   * Any status is an answer. Throws IxionError CONNECTION or TIMEOUT (may help to try again), REFUSED, LIMIT or
   * INVALID_PROPERTY (will not).
   */
  send(request: HttpRequest, signal: AbortSignal): Promise<HttpResponse>
  close(): void
}

export interface HttpClientOptions {
  readonly clock: Clock
  readonly tls?: TlsSettings | undefined
  /** False refuses private addresses. */
  readonly allowPrivateNetwork: boolean
  /** Connections at once to one host. */
  readonly maxSockets?: number
  /** Longest response body; default 16 MiB. */
  readonly maxResponseBytes?: number
}

const MAX_REDIRECTS = 10
const MAX_RESPONSE = 16 * 1024 * 1024

export function httpClient(options: HttpClientOptions): HttpClient {
  const limits = { keepAlive: true, maxSockets: options.maxSockets ?? 64, scheduling: 'lifo' as const }
  const plain = new Agent(limits)
  const secure = new SecureAgent({ ...limits, ...options.tls })
  const maxBytes = options.maxResponseBytes ?? MAX_RESPONSE

  const once = (url: URL, request: HttpRequest, signal: AbortSignal): Promise<HttpResponse> =>
    new Promise((resolve, reject) => {
      const host = url.hostname.replace(/^\[|\]$/g, '')
      if (!options.allowPrivateNetwork && isIP(host) !== 0) refusePrivate(host)
      const headers: OutgoingHttpHeaders = { ...request.headers }
      const body = request.body
      if (body && !hasHeader(request.headers, 'content-length')) headers['content-length'] = body.byteLength
      const isSecure = url.protocol === 'https:'
      const outgoing = (isSecure ? secureRequest : plainRequest)(
        url,
        {
          method: request.method,
          headers,
          agent: isSecure ? secure : plain,
          signal,
          ...(!options.allowPrivateNetwork && { lookup: publicLookup }),
        },
        (response) => {
          const parts: Buffer[] = []
          let length = 0
          response.on('data', (chunk: Buffer) => {
            length += chunk.length
            if (length > maxBytes) {
              const error = new IxionError('LIMIT', `the response is longer than ${maxBytes} bytes`)
              reject(error)
              outgoing.destroy(error)
            } else {
              parts.push(chunk)
            }
          })
          response.on('end', () =>
            resolve({
              status: response.statusCode ?? 0,
              headers: response.headers,
              body: Buffer.concat(parts, length),
            }),
          )
          response.on('error', reject)
          response.on('close', () => {
            if (!response.complete) reject(new IxionError('CONNECTION', 'unexpected EOF'))
          })
        },
      )
      outgoing.on('error', (error: NodeJS.ErrnoException) => {
        // A kept connection may have been closed by the server meanwhile: that request was never read.
        if (outgoing.reusedSocket && error.code === 'ECONNRESET') once(url, request, signal).then(resolve, reject)
        else reject(error)
      })
      outgoing.end(body ?? undefined)
    })

  const follow = async (request: HttpRequest, signal: AbortSignal): Promise<HttpResponse> => {
    let url = httpUrl(request.url)
    let current = request
    for (let hops = 0; ; hops++) {
      const response = await once(url, current, signal)
      const location = response.headers.location
      if (!location || ![301, 302, 303, 307, 308].includes(response.status)) return response
      if (hops === MAX_REDIRECTS) throw new IxionError('REFUSED', `stopped after ${MAX_REDIRECTS} redirects`)
      const next = httpUrl(new URL(location, url).href)
      // As browsers and Go: only 307 and 308 send the body again.
      if (response.status < 307 && current.method !== 'GET' && current.method !== 'HEAD') {
        current = { ...current, method: 'GET', body: null, headers: withoutHeaders(current.headers, /^content-/i) }
      }
      if (next.host !== url.host) {
        current = { ...current, headers: withoutHeaders(current.headers, /^(authorization|cookie|www-authenticate)$/i) }
      }
      url = next
    }
  }

  return {
    async send(request, signal) {
      const limit = new AbortController()
      let late = false
      const stop = (): void => limit.abort()
      signal.addEventListener('abort', stop, { once: true })
      if (signal.aborted) stop()
      const timer =
        request.timeout > 0
          ? options.clock.after(request.timeout, () => {
              late = true
              limit.abort()
            })
          : undefined
      try {
        return await follow(request, limit.signal)
      } catch (error) {
        if (late) throw new IxionError('TIMEOUT', `no answer within ${request.timeout} ms`, { cause: error })
        throw asIxionError(error)
      } finally {
        timer?.cancel()
        signal.removeEventListener('abort', stop)
      }
    },
    close() {
      plain.destroy()
      secure.destroy()
    },
  }
}

/** An absolute http(s) URL; throws INVALID_PROPERTY with the reference's texts. */
export function httpUrl(value: string, path = 'url'): URL {
  if (value === '') throw new IxionError('INVALID_PROPERTY', 'url is required', { path })
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(value)?.[1]?.toLowerCase() ?? ''
  if (scheme !== 'http' && scheme !== 'https')
    throw new IxionError('INVALID_PROPERTY', `Invalid scheme ${scheme}`, { path })
  try {
    const url = new URL(value)
    if (url.hostname !== '') return url
  } catch {
    // Reported below.
  }
  throw new IxionError('INVALID_PROPERTY', 'Invalid url, host not found', { path })
}

export function hasHeader(headers: Readonly<Record<string, string>>, name: string): boolean {
  return Object.keys(headers).some((key) => key.toLowerCase() === name)
}

function withoutHeaders(headers: Readonly<Record<string, string>>, names: RegExp): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !names.test(name)))
}

/** Header values that cannot be sent and certificates that do not fit will not get better; everything else may. */
function asIxionError(error: unknown): IxionError {
  if (error instanceof IxionError) return error
  const code = (error as NodeJS.ErrnoException).code ?? ''
  const final = code.startsWith('ERR_') || code.includes('CERT') || code.includes('SIGNATURE') || code === 'EPROTO'
  return new IxionError(final ? 'REFUSED' : 'CONNECTION', messageOf(error) || code, { cause: error })
}
