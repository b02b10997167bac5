/** What a route sees of a request and gives back: plain data, so that `/batch/req` and tests need no socket. */
import { IxionError } from '../core/errors.ts'
import { MAX_DOCUMENT_DEPTH, nestsDeeper } from '../core/json-nesting.ts'
import { jsonProblem } from '../core/json-problem.ts'

export interface Call {
  readonly method: string
  /** Path without query. */
  readonly path: string
  /** `{name}` parts of the path template, decoded. */
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
  /** Lower-cased names. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Buffer
  /** Aborts when the client has gone. */
  readonly signal?: AbortSignal
}

export interface Reply {
  readonly status: number
  readonly body?: string | Uint8Array
  /** Content type; none is sent for an empty body. */
  readonly type?: string
  readonly headers?: Readonly<Record<string, string>>
}

export const JSON_TYPE = 'application/json'
export const TEXT_TYPE = 'text/plain; charset=utf-8'

/** JSON as the reference prints it: compact, `<`, `>`, `&`, U+2028 and U+2029 escaped. */
export function jsonText(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replace(
    /[<>&\u2028\u2029]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

export function json(value: unknown, status = 200): Reply {
  return { status, body: jsonText(value), type: JSON_TYPE }
}

export function text(body: string, status = 200): Reply {
  return { status, body, type: TEXT_TYPE }
}

/** 200 without a body. */
export const empty: Reply = { status: 200 }

/** The same object with its keys sorted at every level, as the reference prints maps. */
export function sortedKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortedKeys)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([k, v]) => [k, sortedKeys(v)]),
  )
}

export function escapeHtml(message: string): string {
  const named: Readonly<Record<string, string>> = { '<': '&lt;', '>': '&gt;', '&': '&amp;', "'": '&#39;', '"': '&#34;' }
  return message.replace(/[<>&'"]/g, (c) => named[c] as string)
}

/** Members of a JSON body, matched without regard to case as Go does; absent ones are undefined. */
export type Members = ReadonlyMap<string, unknown>

const kinds = { string: 'string', number: 'number', boolean: 'bool', object: 'object' } as const

/** The body as a JSON object. Throws INVALID_DOCUMENT with a message that names what is wrong. */
export function members(body: Buffer | string, type = 'an object'): Members {
  const value = parseJson(body)
  if (value === null || typeof value !== 'object' || Array.isArray(value)) {
    const kind = value === null ? 'null' : Array.isArray(value) ? 'array' : (kinds[typeof value as 'string'] ?? 'value')
    throw new IxionError('INVALID_DOCUMENT', `json: cannot unmarshal ${kind} into Go value of type ${type}`)
  }
  return new Map(Object.entries(value).map(([k, v]) => [k.toLowerCase(), v]))
}

export function parseJson(body: Buffer | string): unknown {
  const source = body.toString()
  if (source.trim() === '') throw new IxionError('INVALID_DOCUMENT', 'EOF')
  if (nestsDeeper(source, MAX_DOCUMENT_DEPTH)) {
    throw new IxionError('INVALID_DOCUMENT', `the document is nested deeper than ${MAX_DOCUMENT_DEPTH} levels`)
  }
  try {
    return JSON.parse(source)
  } catch (error) {
    throw new IxionError('INVALID_DOCUMENT', jsonProblem(error), { cause: error })
  }
}

/** A string member; '' when absent or null. */
export function textMember(from: Members, name: string): string {
  const value = from.get(name.toLowerCase())
  if (value === undefined || value === null) return ''
  if (typeof value === 'string') return value
  throw new IxionError('INVALID_DOCUMENT', `json: cannot unmarshal ${typeof value} into field ${name} of type string`, {
    path: name,
  })
}

/** Go's strconv.ParseBool; anything else counts as false. */
export function isTrue(value: string | null): boolean {
  return value !== null && ['1', 't', 'T', 'TRUE', 'true', 'True'].includes(value)
}
