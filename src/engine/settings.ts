import type { ConnectorDefinition, DataServerSettings, Logger } from '../connectors/contract.ts'
import type { Clock } from '../core/clock.ts'
import type { ValueObject } from '../core/values.ts'
import type { FunctionDefinition } from '../functions/contract.ts'
import type { Store } from '../stores/contract.ts'

/** What an embedding program or the daemon may choose. Everything has a default. */
export interface EngineOptions {
  /** Default: the system clock. */
  readonly clock?: Clock
  /** Where definitions live. Default: memory, gone with the process. The engine closes it. */
  readonly store?: Store
  /** Sources, sinks and lookups. Default: all built-in ones. */
  readonly connectors?: readonly ConnectorDefinition[]
  /** Functions beside the built-in ones. */
  readonly functions?: readonly FunctionDefinition[]
  /** Default: silent. */
  readonly log?: Logger
  /** Root of relative paths of file connectors. Default: the working directory. */
  readonly dataDir?: string
  readonly etcDir?: string
  /** IANA zone of windows and time functions. Default 'UTC'. */
  readonly timezone?: string
  /** Columns match without regard to case. */
  readonly ignoreCase?: boolean
  /** `rule:` and `sink:` of the configuration: defaults of rule options and sink properties. */
  readonly ruleDefaults?: ValueObject
  readonly sinkDefaults?: ValueObject
  /** What the function props() finds, by lower-case name. */
  readonly props?: ValueObject
  /** How long a stopping rule may go on sending, ms. Default 5000. */
  readonly drainLimit?: number
  /** `basic.rulePatrolInterval`: how often schedules are looked at, ms. Default 10000. */
  readonly rulePatrolInterval?: number
  /** Named property sets of connectors (CONF_KEY) and connections (connectionSelector). */
  readonly configuration?: ConfigurationSource
  readonly dataServer?: DataServerSettings
  readonly allowPrivateNetwork?: boolean
  /** `file://` in requests may leave `data/uploads`. Default true. */
  readonly allowExternalFiles?: boolean
  /** `<FILE>__<KEY>...` overrides of the files in `etcDir` (spec/rest-api.md 11.3). Default: none. */
  readonly environmentVariables?: Readonly<Record<string, string | undefined>>
  readonly aesKey?: Uint8Array
  readonly defaultTls?: ValueObject
  readonly defaultEncryption?: ValueObject
  /** Limits of one payload. Default 64 MiB, depth 512, 1,000,000 rows. */
  readonly maxPayloadBytes?: number
  readonly maxDepth?: number
  readonly maxRows?: number
}

/** Read when a rule starts, so that changes take effect with the next start. */
export interface ConfigurationSource {
  /** Properties of `key` for a connector, or undefined when there is no such key. Keys are matched as given. */
  sourceProperties(type: string, key: string): ValueObject | undefined
  sinkProperties(type: string, key: string): ValueObject | undefined
  connectionProperties(id: string): ValueObject | undefined
}

export const silentLog: Logger = { debug() {}, info() {}, warn() {}, error() {} }

export const defaultDrainLimit = 5000
export const defaultPayloadLimits = { maxPayloadBytes: 64 * 1024 * 1024, maxDepth: 512, maxRows: 1_000_000 }
