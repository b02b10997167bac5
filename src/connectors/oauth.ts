/** OAuth of the rest sink, httppull source and httppull lookup (spec/connectors.md 9.2.1). */
import { IxionError, messageOf } from '../core/errors.ts'
import type { OptionSpec } from '../core/options.ts'
import { getField, isObject, type Value, type ValueObject } from '../core/values.ts'
import type { ConnectorContext } from './contract.ts'
import type { HttpClient } from './http-client.ts'
import { map, number, text, textMap } from './properties.ts'

export const oauthOption: OptionSpec = {
  type: 'map',
  docs: 'How to get a token: `access` is posted once at the start, `refresh` before the token expires. Header templates see the token.',
  members: {
    access: {
      type: 'map',
      docs: 'The request for the token.',
      members: {
        url: { type: 'string', docs: 'Address to post to.' },
        body: { type: 'string', secret: true, docs: 'JSON text to post.' },
        expire: { type: 'any', docs: 'Seconds the token is valid, as number, text, or a template over the token.' },
        headers: { type: 'map', docs: 'Headers of the request.' },
      },
    },
    refresh: {
      type: 'map',
      docs: 'The request for the next token; values may be templates over the current one.',
      members: {
        url: { type: 'string', docs: 'Address to post to.' },
        body: { type: 'string', secret: true, docs: 'Text to post.' },
        headers: { type: 'map', docs: 'Headers of the request.' },
      },
    },
  },
}

export interface OAuth {
  /** Gets the first token. Throws CONNECTION or REFUSED: `fail to authorize by oAuth: ...`. */
  authorize(signal: AbortSignal): Promise<void>
  /** A template rendered over the token. */
  render(template: string): string
  /** After each request: a new token when half the time of this one is over. Failures are only logged. */
  refreshIfDue(signal: AbortSignal): Promise<void>
}

const TIMEOUT = 5000

/** Undefined when `oauth` is not set or its access url is empty. */
export function createOAuth(properties: ValueObject, client: HttpClient, context: ConnectorContext): OAuth | undefined {
  const oauth = map(properties, 'oauth')
  if (!oauth || Object.keys(oauth).length === 0) return undefined
  const access = map(oauth, 'access')
  if (!access || Object.keys(access).length === 0) {
    throw new IxionError('INVALID_PROPERTY', 'if setting oAuth, `access` property is required', {
      path: 'oauth.access',
    })
  }
  const url = text(access, 'url')
  if (!url) {
    context.log.warn('oauth.access.url is empty: OAuth is ignored', { owner: context.owner })
    return undefined
  }
  const refresh = map(oauth, 'refresh')
  const { clock } = context
  let token: ValueObject = {}
  let since = 0
  let expire = 0

  const render = (template: string): string =>
    template.includes('{{') && context.renderTemplate ? context.renderTemplate(template, token) : template

  const request = async (
    address: string,
    body: string,
    headers: ReadonlyMap<string, string>,
    signal: AbortSignal,
  ): Promise<ValueObject> => {
    const sent: Record<string, string> = { 'Content-Type': 'application/json' }
    for (const [name, value] of headers) sent[name] = value
    const response = await client.send(
      { url: address, method: 'POST', headers: sent, body: Buffer.from(body), timeout: TIMEOUT },
      signal,
    )
    if (response.status < 200 || response.status > 299) {
      throw new IxionError(response.status >= 500 ? 'CONNECTION' : 'REFUSED', `response code error: ${response.status}`)
    }
    return tokenOf(response.body)
  }

  const take = (fresh: ValueObject): void => {
    token = fresh
    since = clock.now()
  }

  const getAccess = async (signal: AbortSignal): Promise<void> => {
    try {
      take(await request(url, text(access, 'body') ?? '', textMap(access, 'headers'), signal))
    } catch (error) {
      const code = error instanceof IxionError ? error.code : 'CONNECTION'
      throw new IxionError(code, `fail to authorize by oAuth: ${messageOf(error)}`, { cause: error })
    }
    expire = expireSeconds(access, render)
  }

  return {
    authorize: getAccess,
    render,
    async refreshIfDue(signal) {
      if (expire <= 0 || (2 * (clock.now() - since)) / 1000 <= expire) return
      try {
        const address = refresh && text(refresh, 'url')
        if (!address) {
          await getAccess(signal)
          return
        }
        const headers = new Map([...textMap(refresh, 'headers')].map(([name, value]) => [name, render(value)]))
        take(await request(render(address), render(text(refresh, 'body') ?? ''), headers, signal))
      } catch (error) {
        context.log.warn(`oauth: ${messageOf(error)}`, { owner: context.owner })
      }
    },
  }
}

function expireSeconds(access: ValueObject, render: (template: string) => string): number {
  const given: Value | undefined = getField(access, 'expire')
  if (given == null || given === '') return 0
  const plain = number(access, 'expire')
  if (plain !== undefined) return plain
  const rendered = typeof given === 'string' ? render(given) : ''
  const seconds = Number(rendered)
  if (rendered.trim() === '' || !Number.isFinite(seconds)) {
    throw new IxionError(
      'INVALID_PROPERTY',
      `fail to covert the expire time ${rendered} for access token: not a number`,
      {
        path: 'oauth.access.expire',
      },
    )
  }
  return seconds
}

/** A JSON object, or the first element of an array of them. */
function tokenOf(body: Buffer): ValueObject {
  let parsed: Value
  try {
    parsed = JSON.parse(body.toString()) as Value
  } catch (error) {
    throw new IxionError('REFUSED', `the token response is not JSON: ${messageOf(error)}`)
  }
  const token = Array.isArray(parsed) ? parsed[0] : parsed
  if (isObject(token)) return token
  throw new IxionError('REFUSED', 'the token response is not a JSON object')
}
