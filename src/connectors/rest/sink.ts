/** REST sink (spec/connectors.md 10.2): one HTTP request per item. */
import { IxionError, messageOf } from '../../core/errors.ts'
import { getField, isObject, type Value, type ValueObject } from '../../core/values.ts'
import type { ConnectorContext, Sink, SinkItem } from '../contract.ts'
import { type HttpClient, type HttpResponse, hasHeader, httpClient, httpUrl } from '../http-client.ts'
import { createOAuth, type OAuth } from '../oauth.ts'
import { flag, number, text, textMap } from '../properties.ts'
import { readTls } from '../tls.ts'
import { bodyTypeOf, httpBody, httpMethod } from './body.ts'

/** Answers that mean "not now": request timeout, too many requests, bad gateway, unavailable, gateway timeout. */
const later = new Set([408, 429, 502, 503, 504])
const SHOWN_BODY = 1024

export function createRestSink(properties: ValueObject, context: ConnectorContext): Sink {
  const settings = readSettings(properties)
  const { log, owner } = context
  let client: HttpClient | undefined
  let oauth: OAuth | undefined
  let authorized = false

  const send = async (item: SinkItem, signal: AbortSignal): Promise<void> => {
    if (!client) throw new IxionError('CONNECTION', 'the rest sink is not connected')
    const url = item.dynamic['url'] ?? settings.url
    const method = httpMethod(item.dynamic['method'] ?? settings.method)
    const type = bodyTypeOf(item.dynamic['bodyType'] ?? settings.bodyType, method)
    const body = httpBody(type, item.payload ?? new Uint8Array(0), {
      fields: new Map([...settings.formData].map(([name, value]) => [name, item.dynamic[`formData.${name}`] ?? value])),
      fileField: settings.fileFieldName,
      fileName: String(context.clock.now()),
    })
    const headers: Record<string, string> = {}
    for (const [name, value] of settings.headers) {
      headers[name] = oauth ? oauth.render(value) : (item.dynamic[`headers.${name}`] ?? value)
    }
    if (body.contentType !== '' && !hasHeader(headers, 'content-type')) headers['Content-Type'] = body.contentType
    if (settings.contentEncoding && !hasHeader(headers, 'content-encoding')) {
      headers['Content-Encoding'] = settings.contentEncoding
    }
    const place = `method=${method} path="${url}"`
    let response: HttpResponse
    try {
      response = await client.send({ url, method, headers, body: body.bytes, timeout: settings.timeout }, signal)
    } catch (error) {
      const code = error instanceof IxionError ? error.code : 'CONNECTION'
      const failure = new IxionError(code, messageOf(error), { cause: error })
      throw new IxionError(
        code,
        `rest sink fails to send out the data:err=${failure.message} recoverAble=${failure.kind.retry} ${place}`,
        { cause: error },
      )
    }
    const shown = (): string => JSON.stringify(response.body.toString('utf8', 0, SHOWN_BODY))
    if (settings.debugResp) log.info(`rest sink got response ${response.status} ${shown()}`, { owner })
    const problem = problemOf(response, settings.responseType === 'body' && settings.debugResp)
    if (oauth) await oauth.refreshIfDue(signal)
    if (problem) {
      throw new IxionError(
        later.has(response.status) ? 'CONNECTION' : 'REFUSED',
        `parse response error: ${problem} | ${place} status=${response.status} response_body=${shown()}`,
      )
    }
  }

  return {
    async connect(signal) {
      if (!client) {
        const tls = await readTls(properties, context)
        client = httpClient({ clock: context.clock, tls, allowPrivateNetwork: context.allowPrivateNetwork !== false })
        oauth = createOAuth(properties, client, context)
      }
      if (oauth && !authorized) {
        await oauth.authorize(signal)
        authorized = true
      }
    },
    send,
    async close() {
      client?.close()
      client = undefined
      authorized = false
    },
  }
}

/** Undefined = good. With `checkBody` a JSON body must have a `code` from 200 to 299. */
function problemOf(response: HttpResponse, checkBody: boolean): string | undefined {
  if (response.status < 200 || response.status > 299) return `response code error: ${response.status}.`
  if (!checkBody) return undefined
  let parsed: Value
  try {
    parsed = JSON.parse(response.body.toString()) as Value
  } catch {
    // Bodies that are no JSON are not judged, as in the reference.
    return undefined
  }
  const code = isObject(parsed) ? getField(parsed, 'code') : undefined
  if (typeof code !== 'number') return undefined
  return code < 200 || code > 299 ? `response code error: ${code}.` : undefined
}

interface RestSettings {
  readonly url: string
  readonly method: string
  readonly bodyType: string | undefined
  readonly headers: ReadonlyMap<string, string>
  readonly formData: ReadonlyMap<string, string>
  readonly fileFieldName: string
  readonly timeout: number
  readonly responseType: string
  readonly debugResp: boolean
  readonly contentEncoding: string | undefined
}

const isTemplate = (value: string | undefined): boolean => value?.includes('{{') ?? false

function readSettings(properties: ValueObject): RestSettings {
  const url = text(properties, 'url') ?? 'http://localhost'
  if (!isTemplate(url)) httpUrl(url)
  const method = text(properties, 'method') || 'GET'
  const bodyType = text(properties, 'bodyType')
  if (!isTemplate(method)) {
    httpMethod(method)
    if (!isTemplate(bodyType))
      checkFormat(bodyTypeOf(bodyType, method.toUpperCase()), text(properties, 'format') || 'json')
  }
  const timeout = number(properties, 'timeout') ?? 5000
  if (timeout < 0) throw invalid('timeout', 'timeout must be greater than or equal to 0')
  const responseType = text(properties, 'responseType') ?? 'code'
  if (responseType !== 'code' && responseType !== 'body') {
    throw invalid('responseType', `Invalid response type value ${responseType}.`)
  }
  const compression = text(properties, 'compression')
  return {
    url,
    method,
    bodyType,
    headers: textMap(properties, 'headers'),
    formData: textMap(properties, 'formData'),
    fileFieldName: text(properties, 'fileFieldName') ?? '',
    timeout,
    responseType,
    debugResp: flag(properties, 'debugResp'),
    contentEncoding: compression === 'gzip' || compression === 'zstd' ? compression : undefined,
  }
}

function checkFormat(bodyType: string, format: string): void {
  const wanted = { json: 'json', form: 'urlencoded' }[bodyType]
  if (wanted && format !== wanted) throw invalid('format', `format must be ${wanted} if bodyType is ${bodyType}`)
}

function invalid(path: string, message: string): IxionError {
  return new IxionError('INVALID_PROPERTY', message, { path })
}
