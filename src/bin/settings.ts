/** The daemon's settings: `kuiper.yaml` with environment overrides over built-in defaults (spec/rest-api.md 11). */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ValueObject } from '../core/values.ts'

export interface Paths {
  readonly etc: string
  readonly data: string
  readonly log: string
}

export interface Tls {
  readonly certfile: string
  readonly keyfile: string
}

/** Validated `kuiper.yaml`; names as in the file, durations in ms. */
export interface Settings {
  readonly basic: {
    readonly logLevel: string
    readonly debug: boolean
    readonly consoleLog: boolean
    readonly fileLog: boolean
    readonly logFormat: 'text' | 'json'
    readonly rotateSize: number
    readonly rotateCount: number
    readonly timezone: string
    readonly restIp: string
    readonly restPort: number
    readonly restTls?: Tls
    readonly maxBodyBytes: number
    readonly authentication: boolean
    readonly prometheus: boolean
    readonly prometheusPort: number
    readonly ignoreCase: boolean
    readonly aesKey: string
    readonly gracefulShutdownTimeout: number
    readonly enableRestAuditLog: boolean
    readonly enablePrivateNet: boolean
    readonly allowExternalFileAccess: boolean
    readonly embeddedBroker: boolean
    readonly embeddedBrokerPort: number
  }
  readonly rule: ValueObject
  readonly sink: ValueObject
  readonly source: { readonly httpServerIp: string; readonly httpServerPort: number; readonly httpServerTls?: Tls }
  readonly security: { readonly tls?: ValueObject; readonly encryption?: ValueObject }
  /** What the file or the environment sets and nothing reads, as `section.key`. */
  readonly unread: readonly string[]
}

/** What holds without a file. The settings description of settings-spec.ts has the same values; a test compares. */
export const defaultSettings: Settings = {
  basic: {
    logLevel: 'info',
    debug: false,
    consoleLog: true,
    fileLog: false,
    logFormat: 'text',
    rotateSize: 10 * 1024 * 1024,
    rotateCount: 3,
    timezone: 'Local',
    restIp: '127.0.0.1',
    restPort: 9081,
    maxBodyBytes: 64 * 1024 * 1024,
    authentication: false,
    prometheus: false,
    prometheusPort: 20499,
    ignoreCase: false,
    aesKey: '',
    gracefulShutdownTimeout: 10_000,
    enableRestAuditLog: false,
    enablePrivateNet: false,
    allowExternalFileAccess: true,
    embeddedBroker: false,
    embeddedBrokerPort: 1883,
  },
  rule: {},
  sink: {},
  source: { httpServerIp: '0.0.0.0', httpServerPort: 10081 },
  security: {},
  unread: [],
}

/** Reads the file and the environment; the YAML library and the description load only when there is something to read. */
export async function loadSettings(
  etc: string,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Settings> {
  const file = join(etc, 'kuiper.yaml')
  const overridden = Object.keys(environment).some((k) => k.toUpperCase().startsWith('KUIPER__'))
  if (!overridden && !hasContent(file)) return defaultSettings
  const { readSettings } = await import('./settings-spec.ts')
  return readSettings(file, environment)
}

function hasContent(file: string): boolean {
  try {
    return /^[^\S\n]*[^\s#]/m.test(readFileSync(file, 'utf8'))
  } catch {
    return false
  }
}
