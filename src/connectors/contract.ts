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
  /** JSON documents that came through the engine instead of the connector: decoded as JSON whatever the stream's format. */
  readonly fed?: true
  /**
   * The same payloads as ranges of one buffer, when the source has them so (bulk reads): `payloads[i]` is
   * `bytes[ranges[2i] .. ranges[2i+1])`. A receiver that uses this never touches `payloads`, which is then not even built.
   */
  readonly packed?: { readonly bytes: Uint8Array; readonly ranges: Uint32Array }
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
  /** True when no rule on this stream reads `meta()`: the source may leave `meta` empty (`[null]`). */
  readonly metaUnused?: boolean
  /**
   * A source calls this for input it received but can never hand on (a message beyond the size limit, an unreadable file):
   * the runtime counts `count` events as received and dropped for `error`.
   */
  readonly lost?: (count: number, error: Error) => void
  /** Shared HTTP server of httppush, websocket and sse (`source.httpServerIp/Port/Tls`). Default 0.0.0.0:10081. */
  readonly dataServer?: DataServerSettings
  /** `basic.enablePrivateNet`: false refuses outgoing HTTP to private addresses. Absent = true. */
  readonly allowPrivateNetwork?: boolean
  /** `security.tls`, the target of `tls: "default"`. */
  readonly defaultTls?: ValueObject
  /** `basic.aesKey` decoded, for the file sink's `encryption: "aes"`. */
  readonly aesKey?: Uint8Array
  /** Renders a `{{template}}` over data that is no row (an OAuth token). Throws RowError. */
  readonly renderTemplate?: (template: string, data: Value) => string
  /** One complete zstd frame of the bytes, for the file sink's `compression: "zstd"` where the platform has none. */
  readonly zstdFrame?: (bytes: Uint8Array) => Promise<Uint8Array>
}

export interface DataServerSettings {
  readonly host: string
  /** 0 = any free port. */
  readonly port: number
  /** Paths of PEM files; makes the server HTTPS. */
  readonly tls?: { readonly certfile: string; readonly keyfile: string }
  /** Largest request body, bytes. Default 8 MiB. */
  readonly maxBodyBytes?: number
  /** How long a request may wait for its acceptance before 503, ms. Default 60,000. */
  readonly acceptTimeout?: number
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
   * Absent: the runtime calls send one by one. An error may carry `taken` (slices.ts): the peer has that many leading
   * items, the error concerns the next one, the rest is untried or unknown.
   */
  sendMany?(items: readonly SinkItem[], signal: AbortSignal): Promise<void>
  /** Everything accepted is on its way or on disk. */
  flush?(): Promise<void>
  close(): Promise<void>
  readonly connection?: ConnectionStatus
}

/**
 * What a sink gets: bytes for `takes: 'bytes'`, an object or list for `takes: 'rows'`. A member of a property group appears in
 * `dynamic` under its dotted name (`headers.X-Id`, `properties.unit`).
 */
export interface SinkItem {
  /** With `lines`, the sink's until the send has settled; then the runtime uses the memory again. */
  readonly payload: Uint8Array | null
  readonly value: Value
  /** Rendered dynamic properties of this item (`topic`, `url` ...), by property name. */
  readonly dynamic: Readonly<Record<string, string>>
  /** Number of result rows the item carries, for the ledger. */
  readonly rows: number
  /** The payload holds `rows` messages, each ended by a line feed. Only for sinks whose definition says `acceptsLines`. */
  readonly lines?: true
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
  /** Tests reachability with a real connection (`POST /metadata/.../connection/{type}`); throws when it fails. */
  ping?(datasource: string, properties: ValueObject, context: ConnectorContext): Promise<void>
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
  /** The sink compresses and encrypts what it writes as a whole (files); the runtime then leaves messages alone. */
  readonly packs?: true
  /** True when the sink takes items with `lines` (file lines, nop): bulk output without a call per message. */
  acceptsLines?(properties: ValueObject): boolean
  /**
   * Properties (dotted names, groups included) whose templates are not for the row: the connector renders them itself and the
   * runtime must leave them alone, as the OAuth token in `headers`.
   */
  ownTemplates?(properties: ValueObject): readonly string[]
  create(properties: ValueObject, context: ConnectorContext): Sink
}

export interface LookupDefinition extends ConnectorDescription {
  create(datasource: string, properties: ValueObject, context: ConnectorContext): Lookup
}

/** A connection kind that can be named and shared through `connectionSelector` (spec/connectors.md 7). */
export interface ConnectionDefinition {
  /** Properties that belong to the connection, a subset of the connector's. */
  readonly options: OptionSpecs
  /**
   * Takes (and dials, on first use) the connection called `id` from the pool; `release` gives it back. Sources and sinks with
   * `connectionSelector` equal to `id` use the same one. Resolves before the dial has finished.
   */
  acquire(id: string, properties: ValueObject, context: ConnectorContext): Promise<AcquiredConnection>
}

export interface AcquiredConnection {
  readonly status: ConnectionStatus
  /** Checks a connection that does not watch itself; absent = `status` is live. */
  ping?(): Promise<void>
  release(): Promise<void>
}

export interface ConnectorDefinition {
  readonly name: string
  readonly connection?: ConnectionDefinition
  readonly source?: SourceDefinition
  readonly sink?: SinkDefinition
  readonly lookup?: LookupDefinition
}
