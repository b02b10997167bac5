/**
 * From a connector's chunks to rows (spec/connectors.md 3): rate limit, decompression, decoding, payload decoding, strict
 * validation. A chain belongs to one running stream; each of its nodes has the reference's name and counters.
 */
import type { ByteChunk, Chunk } from '../connectors/contract.ts'
import type { Clock, Timer } from '../core/clock.ts'
import { IxionError, messageOf, RowError } from '../core/errors.ts'
import type { Ledger } from '../core/ledger.ts'
import type { ValueObject } from '../core/values.ts'
import type { NodeMetrics } from './metrics.ts'

type Meta = readonly (ValueObject | null)[]
export type TakeRows = (rows: readonly ValueObject[], meta: Meta, timestamp: number) => void
export type TakeFailure = (error: Error, events: number) => void

export interface DecodeChain {
  /** True when payloads reach consumers as they came: plain JSON with nothing in between, fit for the columnar lane. */
  readonly raw: boolean
  /** The connector delivers payloads; otherwise rows are what counts as received. */
  readonly decodes: boolean
  readonly metrics: readonly NodeMetrics[]
  /** `emit` takes what a timer releases (rate limit). */
  start(emit: TakeRows): void
  decode(chunk: Chunk, rows: TakeRows, failed: TakeFailure): void
  /** From the next chunk on, payloads are decoded by `decode` (rules came or went, and with them wanted columns). */
  setDecoder(decode: (payload: Uint8Array) => readonly ValueObject[]): void
  finish(): void
}

/** One step that turns a row into rows, or throws RowError. */
export interface RowStep {
  readonly metrics: NodeMetrics
  readonly run: (row: ValueObject) => readonly ValueObject[]
}

export interface SourceChainOptions {
  readonly clock: Clock
  readonly ledger: () => Ledger
  /** Null for connectors that deliver rows. */
  readonly decoder: {
    readonly metrics: NodeMetrics
    readonly decode: (payload: Uint8Array) => readonly ValueObject[]
  } | null
  /** Decodes JSON fed from outside the connector, whatever the stream's format (`POST /streams/{name}/data`). */
  readonly feed: (payload: Uint8Array) => readonly ValueObject[]
  readonly decompress: { readonly metrics: NodeMetrics; readonly run: (payload: Uint8Array) => Uint8Array } | null
  /** Payload decoder and preprocessor, in order. */
  readonly steps: readonly RowStep[]
  /** Newest message of each interval only (ms), or with a merger one row of the newest messages by a field. */
  readonly rateLimit: RateLimit | null
  /** The format is plain JSON. */
  readonly json: boolean
}

export interface RateLimit {
  readonly metrics: NodeMetrics
  readonly interval: number
  readonly merger: Merger | null
}

/** Gathers payloads of one interval into one row (formats/merge.ts). */
export interface Merger {
  add(payload: Uint8Array): void
  readonly count: number
  flush(): ValueObject | null
}

export function createSourceChain(options: SourceChainOptions): DecodeChain {
  const { decompress, steps, rateLimit } = options
  let { decoder } = options
  const setDecoder: DecodeChain['setDecoder'] = (decode) => {
    if (decoder) decoder = { metrics: decoder.metrics, decode }
  }
  const metrics = [
    ...(rateLimit ? [rateLimit.metrics] : []),
    ...(decompress ? [decompress.metrics] : []),
    ...(decoder ? [decoder.metrics] : []),
    ...steps.map((s) => s.metrics),
  ]
  const plain = options.json && decoder !== null && !decompress
  const decodeNow = (chunk: Chunk, take: TakeRows, failed: TakeFailure): void => {
    const collect = new Collector(chunk.timestamp, take, failed, steps)
    if (chunk.kind === 'rows') {
      chunk.rows.forEach((row, i) => void collect.row(row, chunk.meta[chunk.meta.length === 1 ? 0 : i] ?? null))
    } else {
      let index = 0
      for (const payload of documents(chunk)) {
        const meta = chunk.meta[chunk.meta.length === 1 ? 0 : index] ?? null
        index++
        if (chunk.fed && !plain) collect.fed(payload, meta, options.feed)
        else collect.payload(payload, meta, decompress, decoder)
      }
    }
    collect.flush()
  }
  if (!rateLimit) {
    return {
      raw: plain && steps.length === 0,
      decodes: decoder !== null,
      metrics,
      start: () => {},
      decode: decodeNow,
      setDecoder,
      finish: () => {},
    }
  }
  const { merger } = rateLimit
  const limited = merger
    ? mergedOnly(options.clock, rateLimit, merger, options, decodeNow)
    : latestOnly(options.clock, rateLimit, options.ledger, decodeNow)
  return { raw: false, decodes: decoder !== null, metrics, setDecoder, ...limited }
}

/**
 * Merges the newest message of each value of a field into one row per interval. The ledger sees that row; messages replaced or
 * merged away are dropped, reason `rate_limited`.
 */
function mergedOnly(
  clock: Clock,
  limit: RateLimit,
  merger: Merger,
  { decompress, ledger }: SourceChainOptions,
  decode: (chunk: Chunk, take: TakeRows, failed: TakeFailure) => void,
): Pick<DecodeChain, 'start' | 'decode' | 'finish'> {
  let timer: Timer | null = null
  let meta: ValueObject | null = null
  let waiting = 0
  const dropped = (events: number): void => {
    ledger().received += events
    ledger().drop('rate_limited', events)
  }
  let failed: TakeFailure = () => {}
  return {
    start(emit) {
      const tick = (): void => {
        timer = clock.after(limit.interval, tick)
        const row = merger.flush()
        if (!row) return
        dropped(waiting - 1)
        waiting = 0
        limit.metrics.recordsOut++
        decode({ kind: 'rows', rows: [row], meta: [meta], timestamp: clock.now() }, emit, failed)
      }
      timer = clock.after(limit.interval, tick)
    },
    decode(chunk, _take, fail) {
      failed = fail
      if (chunk.kind === 'rows') throw new IxionError('INTERNAL', 'mergeField needs a source of bytes')
      for (const payload of documents(chunk)) {
        const started = limit.metrics.begin(1)
        try {
          merger.add((decompress ? decompress.run(payload) : payload).slice())
          meta = chunk.meta[chunk.meta.length - 1] ?? null
          waiting++
        } catch (error) {
          if (!(error instanceof RowError) && !(error instanceof IxionError)) throw error
          limit.metrics.exception(messageOf(error))
          fail(error, 1)
        }
        limit.metrics.end(started, 1)
      }
    },
    finish() {
      timer?.cancel()
      dropped(waiting)
      waiting = 0
    },
  }
}

/** Keeps the newest message of each interval; the ones before it are dropped, reason `rate_limited`. */
function latestOnly(
  clock: Clock,
  limit: RateLimit,
  ledger: () => Ledger,
  decode: (chunk: Chunk, take: TakeRows, failed: TakeFailure) => void,
): Pick<DecodeChain, 'start' | 'decode' | 'finish'> {
  let newest: Chunk | null = null
  let failed: TakeFailure = () => {}
  let timer: Timer | null = null
  const countSkipped = (events: number): void => {
    if (events <= 0) return
    ledger().received += events
    ledger().drop('rate_limited', events)
  }
  return {
    start(emit) {
      const tick = (): void => {
        timer = clock.after(limit.interval, tick)
        if (!newest) return
        const chunk = newest
        newest = null
        limit.metrics.recordsOut++
        decode(chunk, emit, failed)
      }
      timer = clock.after(limit.interval, tick)
    },
    decode(chunk, _take, fail) {
      failed = fail
      const started = limit.metrics.begin(1)
      const count = chunk.kind === 'rows' ? chunk.rows.length : [...documents(chunk)].length
      countSkipped(count - 1 + (newest ? 1 : 0))
      newest = lastOf(chunk)
      limit.metrics.end(started, 1)
    },
    finish() {
      timer?.cancel()
      countSkipped(newest ? 1 : 0)
      newest = null
    },
  }
}

function lastOf(chunk: Chunk): Chunk {
  const meta = [chunk.meta[chunk.meta.length - 1] ?? null]
  if (chunk.kind === 'rows') return { kind: 'rows', rows: chunk.rows.slice(-1), meta, timestamp: chunk.timestamp }
  const payloads = [...documents(chunk)].slice(-1).map((p) => p.slice())
  return { kind: 'bytes', payloads, meta, timestamp: chunk.timestamp, ...(chunk.fed && { fed: true }) }
}

/** The single documents of a chunk: payloads, packed ranges, or the non-blank lines of line-framed payloads. */
function* documents(chunk: ByteChunk): Iterable<Uint8Array> {
  if (chunk.packed) {
    const { bytes, ranges } = chunk.packed
    for (let i = 0; i < ranges.length; i += 2) yield bytes.subarray(ranges[i], ranges[i + 1])
    return
  }
  if (chunk.framing !== 'lines') {
    yield* chunk.payloads
    return
  }
  for (const payload of chunk.payloads) {
    let start = 0
    while (start < payload.length) {
      const feed = payload.indexOf(10, start)
      const end = feed < 0 ? payload.length : feed
      const line = payload.subarray(start, end)
      if ((line[0] as number) > SPACE || !isBlank(line)) yield line
      start = end + 1
    }
  }
}

const SPACE = 32

function isBlank(line: Uint8Array): boolean {
  for (const byte of line) if (byte !== 32 && byte !== 9 && byte !== 13) return false
  return true
}

/** Rows handed on together: few enough to be gone before the garbage collector looks. */
const AT_ONCE = 256

/** Gathers the rows of one chunk, handing them on before each failure so that order is kept. */
class Collector {
  #rows: ValueObject[] = []
  #meta: (ValueObject | null)[] = []
  readonly #timestamp: number
  readonly #take: TakeRows
  readonly #failed: TakeFailure
  readonly #steps: readonly RowStep[]

  constructor(timestamp: number, take: TakeRows, failed: TakeFailure, steps: readonly RowStep[]) {
    this.#timestamp = timestamp
    this.#take = take
    this.#failed = failed
    this.#steps = steps
  }

  payload(
    payload: Uint8Array,
    meta: ValueObject | null,
    decompress: SourceChainOptions['decompress'],
    decoder: SourceChainOptions['decoder'],
  ): void {
    let node = decompress?.metrics ?? decoder?.metrics
    try {
      let bytes = payload
      if (decompress) {
        const started = decompress.metrics.begin(1)
        bytes = decompress.run(bytes)
        decompress.metrics.recordsOut++
        decompress.metrics.end(started, 1)
      }
      if (!decoder) throw new IxionError('INTERNAL', 'bytes arrived at a source that delivers rows')
      node = decoder.metrics
      const started = decoder.metrics.begin(1)
      const rows = decoder.decode(bytes)
      decoder.metrics.recordsOut += rows.length
      decoder.metrics.end(started, 1)
      for (const row of rows) this.row(row, meta)
    } catch (error) {
      this.#fail(error, node)
    }
  }

  fed(payload: Uint8Array, meta: ValueObject | null, decode: SourceChainOptions['feed']): void {
    try {
      for (const row of decode(payload)) this.row(row, meta)
    } catch (error) {
      this.#fail(error, undefined)
    }
  }

  row(row: ValueObject, meta: ValueObject | null): void {
    if (this.#steps.length === 0) {
      this.#add(row, meta)
      return
    }
    let rows: readonly ValueObject[] = [row]
    for (const step of this.#steps) {
      const started = step.metrics.begin(rows.length)
      try {
        rows = rows.flatMap((r) => step.run(r))
        step.metrics.recordsOut += rows.length
        step.metrics.end(started, rows.length)
      } catch (error) {
        this.#fail(error, step.metrics)
        return
      }
    }
    for (const r of rows) this.#add(r, meta)
  }

  #add(row: ValueObject, meta: ValueObject | null): void {
    this.#rows.push(row)
    this.#meta.push(meta)
    if (this.#rows.length === AT_ONCE) this.flush()
  }

  #fail(error: unknown, node: NodeMetrics | undefined): void {
    if (!(error instanceof RowError) && !(error instanceof IxionError)) throw error
    node?.exception(messageOf(error))
    this.flush()
    this.#failed(error, 1)
  }

  flush(): void {
    if (this.#rows.length) this.#take(this.#rows, this.#meta, this.#timestamp)
    this.#rows = []
    this.#meta = []
  }
}
