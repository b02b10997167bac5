/** A typed client of the REST server on `fetch`; runs in Node.js and in browsers. */
import type {
  ImportAnswer,
  RuleLedger,
  RuleStatus,
  RuleSummary,
  RuleTopology,
  RuleValidation,
  WireError,
} from './wire.ts'

export type Kind = 'stream' | 'table'

/** An answer that is no success. `message` is the text of the server, `code` its number (0 when it gave none). */
export class ClientError extends Error {
  readonly status: number
  readonly code: number
  /** Where the fault is (`line 1, column 8`) and what to do about it, when the server says. */
  readonly place: string | null
  readonly hint: string | null
  constructor(status: number, code: number, message: string, more: { cause?: unknown; headers?: Headers } = {}) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause })
    this.name = 'ClientError'
    this.status = status
    this.code = code
    const [line, column] = more.headers?.get('x-ixion-position')?.split(':') ?? []
    this.place = line ? `line ${line}, column ${column}` : (more.headers?.get('x-ixion-path') ?? null)
    this.hint = more.headers?.get('x-ixion-hint') ?? null
  }

  /** True when no answer came at all. */
  get unreachable(): boolean {
    return this.status === 0
  }
}

export interface ClientOptions {
  /** `http://127.0.0.1:9081` */
  readonly url: string
  /** Signed token for a server with authentication. */
  readonly token?: string
  readonly fetch?: typeof fetch
}

export type Client = ReturnType<typeof createClient>

export function createClient(options: ClientOptions) {
  const base = options.url.replace(/\/+$/, '')
  const send = options.fetch ?? fetch

  const call = async (method: string, path: string, body?: unknown): Promise<string> => {
    const headers: Record<string, string> = {}
    if (options.token) headers['Authorization'] = options.token
    if (body !== undefined) headers['Content-Type'] = 'application/json'
    let response: Response
    let text: string
    try {
      response = await send(base + path, {
        method,
        headers,
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      })
      text = await response.text()
    } catch (error) {
      throw new ClientError(0, 0, `cannot reach ${base}`, { cause: error })
    }
    if (!response.ok) throw failure(response, text)
    return text
  }
  const read = async <T>(method: string, path: string, body?: unknown): Promise<T> =>
    JSON.parse(await call(method, path, body)) as T
  const part = encodeURIComponent
  const collection = (kind: Kind): string => (kind === 'table' ? '/tables' : '/streams')

  return {
    /** Any request; the body of the answer as text. */
    call,
    ping: () => call('GET', '/ping'),
    about: () => read<Record<string, unknown>>('GET', '/'),

    /** Runs one stream or table statement; the answer is a text. */
    execute: (sql: string, kind: Kind = 'stream') => call('POST', collection(kind), { sql }),
    streams: (kind: Kind) => read<string[]>('GET', collection(kind)),
    stream: (kind: Kind, name: string) => read<Record<string, unknown>>('GET', `${collection(kind)}/${part(name)}`),
    dropStream: (kind: Kind, name: string, force = false) =>
      call('DELETE', `${collection(kind)}/${part(name)}${force ? '?force=true' : ''}`),
    /** One row or an array of rows as JSON text. */
    push: (stream: string, rows: string) =>
      read<{ accepted: number; rules: number }>('POST', `/streams/${part(stream)}/data`, rows),

    rules: () => read<RuleSummary[]>('GET', '/rules'),
    /** The stored document text. */
    rule: (id: string) => call('GET', `/rules/${part(id)}`),
    createRule: (document: string) => call('POST', '/rules', document),
    updateRule: (id: string, document: string) => call('PUT', `/rules/${part(id)}`, document),
    dropRule: (id: string) => call('DELETE', `/rules/${part(id)}`),
    startRule: (id: string) => call('POST', `/rules/${part(id)}/start`),
    stopRule: (id: string) => call('POST', `/rules/${part(id)}/stop`),
    restartRule: (id: string) => call('POST', `/rules/${part(id)}/restart`),
    /** Indented JSON text. */
    ruleStatusText: (id: string) => call('GET', `/rules/${part(id)}/status`),
    ruleStatus: (id: string) => read<RuleStatus>('GET', `/rules/${part(id)}/status`),
    ruleTopology: (id: string) => read<RuleTopology>('GET', `/rules/${part(id)}/topo`),
    ruleLedger: (id: string) => read<RuleLedger>('GET', `/rules/${part(id)}/ledger`),
    explainRule: (id: string, readable = false) =>
      call('GET', `/rules/${part(id)}/explain${readable ? '?format=readable' : ''}`),
    validateRule: (document: string) => read<RuleValidation>('POST', '/rules/validate', document),

    schemas: (type: string) => read<string[]>('GET', `/schemas/${part(type)}`),
    schema: (type: string, name: string) =>
      read<Record<string, unknown>>('GET', `/schemas/${part(type)}/${part(name)}`),
    createSchema: (type: string, document: string) => call('POST', `/schemas/${part(type)}`, document),
    dropSchema: (type: string, name: string) => call('DELETE', `/schemas/${part(type)}/${part(name)}`),

    exportRuleSet: () => call('POST', '/ruleset/export'),
    importRuleSet: (content: string) => call('POST', '/ruleset/import', { content }),
    exportData: (rules?: readonly string[]) =>
      rules ? call('POST', '/data/export', rules) : call('GET', '/data/export'),
    importData: (content: string, flags: { partial: boolean; stop: boolean }) =>
      read<ImportAnswer>('POST', `/data/import?partial=${flags.partial ? 1 : 0}&stop=${flags.stop ? 1 : 0}`, {
        content,
      }),
    importStatus: () => read<Record<string, unknown>>('GET', '/data/import/status'),
    metrics: () => call('GET', '/metrics'),
  }
}

function failure({ status, headers }: Response, text: string): ClientError {
  try {
    const { error, message } = JSON.parse(text) as WireError
    if (typeof message === 'string') return new ClientError(status, Number(error) || 0, message, { headers })
  } catch {
    // A bare text.
  }
  return new ClientError(status, 0, text.trim() || `the server answered ${status}`, { headers })
}
