/**
 * Every error Ixion reports, in one table. A code is never reused for another meaning.
 * `domain` says whose fault it is; `retry` says whether trying again may help (the runtime's back-off asks).
 */

export interface ErrorKind {
  readonly domain: 'user' | 'external' | 'internal'
  readonly retry: boolean
  /** The HTTP status the REST layer answers with. */
  readonly status: number
}

const user = (status = 400): ErrorKind => ({ domain: 'user', retry: false, status })
const external = (status = 400): ErrorKind => ({ domain: 'external', retry: true, status })

export const errorTable = {
  /** SQL text that does not parse. */
  SQL_SYNTAX: user(),
  /** SQL that parses but cannot be planned (unknown names, windows missing, duplicates). */
  SQL_PLAN: user(),
  /** A valid statement that needs something this build does not have. */
  NOT_SUPPORTED: user(),
  /** A property of a stream, rule, sink or configuration that is unknown or ill-typed. */
  INVALID_PROPERTY: user(),
  /** A document (rule JSON, request body) that is malformed. */
  INVALID_DOCUMENT: user(),
  NOT_FOUND: user(404),
  ALREADY_EXISTS: user(),
  /** Still referenced by something else. */
  IN_USE: user(),
  /** A payload that its format cannot decode. */
  DECODE: user(),
  /** A row that its format cannot encode. */
  ENCODE: user(),
  /** An expression that failed on a row. */
  EVALUATION: user(),
  /** A configured limit (bytes, rows, depth, time) was reached. */
  LIMIT: user(413),
  /** A peer (broker, server, database) refused or vanished. */
  CONNECTION: external(),
  /** A peer answered, and the answer is no: sending the same again cannot help (HTTP 4xx, not authorised, too large). */
  REFUSED: { domain: 'external', retry: false, status: 400 },
  /** The disk or the store failed. */
  STORAGE: external(500),
  TIMEOUT: external(),
  INTERNAL: { domain: 'internal', retry: false, status: 500 },
} as const satisfies Record<string, ErrorKind>

export type ErrorCode = keyof typeof errorTable

export interface ErrorDetails {
  /** 1-based position in a text (SQL, template, JSON). */
  readonly line?: number
  readonly column?: number
  /** What to do about it, one sentence. */
  readonly hint?: string
  /** The property or member concerned, e.g. `actions[0].mqtt.qos`. */
  readonly path?: string
  readonly cause?: unknown
}

export class IxionError extends Error {
  readonly code: ErrorCode
  readonly line: number | undefined
  readonly column: number | undefined
  readonly hint: string | undefined
  readonly path: string | undefined

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause })
    this.name = 'IxionError'
    this.code = code
    this.line = details.line
    this.column = details.column
    this.hint = details.hint
    this.path = details.path
  }

  get kind(): ErrorKind {
    return errorTable[this.code]
  }
}

/**
 * A failure of one row (evaluation, decoding). Cheap: rows fail by the thousand, so no stack is captured.
 * The message is the reference's text where the reference has one.
 */
export class RowError extends Error {
  readonly code: ErrorCode

  constructor(message: string, code: ErrorCode = 'EVALUATION') {
    const limit = Error.stackTraceLimit
    Error.stackTraceLimit = 0
    super(message)
    Error.stackTraceLimit = limit
    this.name = 'RowError'
    this.code = code
  }
}

/** The text of whatever was thrown: outside code throws anything. */
export function messageOf(error: unknown): string {
  if (error instanceof Error) return error.message
  try {
    return String(error)
  } catch {
    return 'an object without a text'
  }
}
