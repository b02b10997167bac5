/** Errors on the wire (spec/rest-api.md 1.5): reference number, status and body, in one place. */
import { type ErrorCode, IxionError, messageOf } from '../core/errors.ts'
import { type Reply, TEXT_TYPE } from './http.ts'

/** Numbers of the reference. */
export const wireCode = {
  undefined: 1000,
  general: 1001,
  notFound: 1002,
  io: 1003,
  sql: 2001,
  executor: 2201,
  stream: 3000,
  configuration: 5000,
} as const

/** Numbers of errors that reach the client unwrapped. */
const codes: Partial<Record<ErrorCode, number>> = {
  NOT_FOUND: wireCode.notFound,
  SQL_SYNTAX: wireCode.sql,
  INVALID_PROPERTY: wireCode.executor,
  CONNECTION: wireCode.io,
}

/** An error whose wire number and status are decided by the route. */
export class WireError extends Error {
  readonly code: number
  readonly status: number
  constructor(code: number, message: string, options: { status?: number; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.status = options.status ?? (code === wireCode.notFound ? 404 : 400)
  }
}

/** The error in the frame of a route: `<prefix>: <text>`. `code` overrides the number the error would have. */
export function framed(prefix: string, error: unknown, code?: number): WireError {
  if (error instanceof WireError) return error
  const { status } = statusOf(error)
  const number = code ?? numberOf(error)
  const message = prefix === '' ? messageOf(error) : `${prefix}: ${messageOf(error)}`
  return new WireError(number, message, {
    cause: error,
    status: status >= 413 ? status : number === wireCode.notFound ? 404 : 400,
  })
}

/** Runs `work`; its failure leaves in the frame of the route. */
export async function inFrame<T>(prefix: string, work: () => T | Promise<T>, code?: number): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw framed(prefix, error, code)
  }
}

function numberOf(error: unknown): number {
  return (error instanceof IxionError && codes[error.code]) || wireCode.undefined
}

function statusOf(error: unknown): { status: number } {
  if (!(error instanceof IxionError)) return { status: 500 }
  return { status: error.code === 'INTERNAL' ? 400 : error.kind.status }
}

export function errorReply(error: unknown): Reply {
  const reply =
    error instanceof WireError
      ? wireReply(error.status, error.code, error.message)
      : wireReply(statusOf(error).status, numberOf(error), messageOf(error))
  return { ...reply, headers: { ...reply.headers, ...placeHeaders(error) } }
}

/** Where the fault is and what to do, beside the reference's body: `X-Ixion-Position: LINE:COLUMN`, `X-Ixion-Hint`. */
export function placeHeaders(error: unknown): Record<string, string> {
  const headers: Record<string, string> = {}
  for (let e = error; e instanceof Error; e = e.cause) {
    if (!(e instanceof IxionError)) continue
    if (e.line !== undefined) headers['X-Ixion-Position'] ??= `${e.line}:${e.column ?? 1}`
    if (e.path !== undefined) headers['X-Ixion-Path'] ??= headerText(e.path)
    if (e.hint !== undefined) headers['X-Ixion-Hint'] ??= headerText(e.hint)
  }
  return headers
}

/** Printable ASCII of bounded length: hints quote what people wrote. */
function headerText(text: string): string {
  return text.replace(/[^\x20-\x7e]+/g, '?').slice(0, 500)
}

/** Body as JSON with a line feed, sent as text and, unlike other JSON, without escapes for HTML, as the reference does. */
export function wireReply(status: number, code: number, message: string): Reply {
  return {
    status,
    body: `${JSON.stringify({ error: code, message })}\n`,
    type: TEXT_TYPE,
    headers: { 'X-Content-Type-Options': 'nosniff' },
  }
}

/** For what this build does not have: never a fake success. */
export function notBuilt(what: string): Reply {
  return wireReply(501, wireCode.general, `${what}: not available in this build of Ixion`)
}
