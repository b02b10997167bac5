/**
 * The connector contract. A connector knows no rules: it reads chunks or rows and hands them to `deliver`, or takes payloads
 * and sends them. The runtime owns retry, back-off, decoding, queues and the ledger. Everything is described once as data.
 */
import type { Clock } from '../core/clock.ts'
import type { OptionSpecs } from '../core/options.ts'
import type { Value, ValueObject } from '../core/values.ts'

/** Undecoded payloads with shared or per-payload metadata. The receiver may keep `payloads` until `settled` is called. */
export interface ByteChunk {
  readonly kind: 'bytes'
  readonly payloads: readonly Uint8Array[]
  /** Metadata per payload; one entry = shared by all; null = none. */
  readonly meta: readonly (ValueObject | null)[]
  /** Ingest time, epoch ms. */
  readonly timestamp: number
  /** `lines`: each payload is text with one document per line (file lines, bulk). Default: one document a payload. */
  readonly framing?: 'lines'
  /**
   * Called exactly once: `null` when every consumer has accepted the chunk (qos 0) or its state is durable (qos 1, 2), an
   * Error when it could not be taken. Acknowledge the sender only on null.
   */
  readonly settled?: (error: Error | null) => void
}

/** Rows that were never bytes (memory, simulator, embedding program). */
export interface RowChunk {
  readonly kind: 'rows'
  readonly rows: readonly ValueObject[]
  readonly meta: readonly (ValueObject | null)[]
  readonly timestamp: number
  readonly settled?: (error: Error | null) => void
}

export type Chunk = ByteChunk | RowChunk

/**
 * Returns nothing while there is room; returns a promise when there is not: the source must not deliver again until it
 * settles. A source that cannot be paused delivers anyway and the runtime applies the stream's BUFFER_FULL_POLICY.
 */
export type Deliver = (chunk: Chunk) => void | Promise<void>

export interface ConnectorContext {
  readonly clock: Clock
  readonly log: Logger
  /** Stream, table or rule/action the connector works for; for messages. */
  readonly owner: string
  /** Root for relative paths of this connector's files (data directory). */
  readonly dataDir: string
  readonly etcDir: string
  /** In-process topics of memory sources, sinks and lookups; one per engine. */
  readonly topics: unknown
  /** Process-wide servers and shared connections by kind, reference counted; one per engine. */
  readonly resources: ResourcePool
}

/** Reference-counted things several connectors share: the HTTP data server, MQTT connections by selector. */
export interface ResourcePool {
  /** Returns the resource under `key`, made by `create` for the first user. Each acquire needs one `release`. */
  acquire<T extends { close(): Promise<void> }>(key: string, create: () => Promise<T>): Promise<T>
  release(key: string): Promise<void>
}

export interface Logger {
  debug(message: string, fields?: Record<string, unknown>): void
  info(message: string, fields?: Record<string, unknown>): void
  warn(message: string, fields?: Record<string, unknown>): void
  error(message: string, fields?: Record<string, unknown>): void
}

/** 1 connected, 0 connecting, -1 disconnected (spec/rest-api.md 8.2). */
export interface ConnectionStatus {
  readonly status: 1 | 0 | -1
  /** Last error, '' when none. */
  readonly message: string
  /** Epoch ms of the last change, 0 when never connected. */
  readonly since: number
}

export interface Source {
  /** Connects, or throws IxionError('CONNECTION' | ...); called again with back-off by the runtime. */
  connect(signal: AbortSignal): Promise<void>
  /**
   * Reads until the source ends, the connection is lost, or `signal` aborts. After abort it must not deliver.
   * 'ended' = bounded source exhausted (EOF); 'lost' = the runtime reconnects.
   */
  read(deliver: Deliver, signal: AbortSignal): Promise<'ended' | 'lost'>
  close(): Promise<void>
  /** Position for rewinding sources, JSON. */
  offset?(): Value
  rewind?(offset: Value): Promise<void>
  readonly connection?: ConnectionStatus
}

export interface Sink {
  connect(signal: AbortSignal): Promise<void>
  /**
   * Sends one item and resolves when the peer has it. Throws IxionError: `kind.retry` true = the runtime retries or caches,
   * false = the item is dropped and counted (reason `sink_error`).
   */
  send(item: SinkItem, signal: AbortSignal): Promise<void>
  /**
   * Several items at once, in order, when the connector is faster that way (file lines, pipelined publishes).
   * Absent: the runtime calls send one by one.
   */
  sendMany?(items: readonly SinkItem[], signal: AbortSignal): Promise<void>
  /** Everything accepted is on its way or on disk. */
  flush?(): Promise<void>
  close(): Promise<void>
  readonly connection?: ConnectionStatus
}

/** What a sink gets: bytes for `takes: 'bytes'`, an object or list for `takes: 'rows'`. */
export interface SinkItem {
  readonly payload: Uint8Array | null
  readonly value: Value
  /** Rendered dynamic properties of this item (`topic`, `url` ...), by property name. */
  readonly dynamic: Readonly<Record<string, string>>
  /** Number of result rows the item carries, for the ledger. */
  readonly rows: number
}

/** Lookup table: rows whose columns equal the keys. */
export interface Lookup {
  connect(signal: AbortSignal): Promise<void>
  lookup(
    columns: readonly string[] | null,
    keys: readonly string[],
    values: readonly Value[],
  ): Promise<readonly ValueObject[]>
  /** Synchronous answer for in-memory tables; undefined = use `lookup`. */
  lookupNow?(
    columns: readonly string[] | null,
    keys: readonly string[],
    values: readonly Value[],
  ): readonly ValueObject[] | undefined
  close(): Promise<void>
}

interface ConnectorDescription {
  readonly name: string
  readonly docs: string
  readonly options: OptionSpecs
}

export interface SourceDefinition extends ConnectorDescription {
  readonly emits: 'bytes' | 'rows'
  /** True when the reader can stop reading and the sender feels it (TCP, files, HTTP). */
  readonly pausable: boolean
  /** True when rows end (file). */
  readonly bounded: boolean
  /** `datasource` is the DATASOURCE option; `properties` are validated. */
  create(datasource: string, properties: ValueObject, context: ConnectorContext): Source
}

export interface SinkDefinition extends ConnectorDescription {
  readonly takes: 'bytes' | 'rows'
  create(properties: ValueObject, context: ConnectorContext): Sink
}

export interface LookupDefinition extends ConnectorDescription {
  create(datasource: string, properties: ValueObject, context: ConnectorContext): Lookup
}

export interface ConnectorDefinition {
  readonly name: string
  readonly source?: SourceDefinition
  readonly sink?: SinkDefinition
  readonly lookup?: LookupDefinition
}
