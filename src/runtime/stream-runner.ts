/**
 * One running source of one stream: connects, reads, decodes once, and hands rows to every consumer (one rule, or all rules of
 * a SHARED stream). The sender is acknowledged when every consumer has taken the chunk.
 */
import type { Chunk, Logger, Source } from '../connectors/contract.ts'
import type { Clock } from '../core/clock.ts'
import { IxionError, messageOf, RowError } from '../core/errors.ts'
import { Ledger } from '../core/ledger.ts'
import { makeRow, type Row } from '../core/row.ts'
import type { Value, ValueObject } from '../core/values.ts'
import { settlesWithin } from '../core/waiting.ts'
import { backoff } from './backoff.ts'
import type { ChunkDelivery } from './columnar-lane.ts'
import type { Consumer, Delivery } from './delivery.ts'
import type { NodeMetrics } from './metrics.ts'
import type { DecodeChain } from './source-chain.ts'

/** A rule attached to the stream. */
export interface Attachment {
  readonly consumer: Consumer
  /** Name the rule's rows carry: the stream's, or its alias in the statement. */
  readonly emitter: string
  /** Event time of a row, for an event-time rule; throws RowError. Null = ingest time. */
  readonly timestampOf: ((message: ValueObject) => number) | null
  /** Resolves when what the rule has accepted so far is part of a durable state (qos 1 and 2). Absent = at once. */
  readonly durable?: () => Promise<void>
}

/** Scans a chunk once for several consumers: a chunk costs as much as those it concerns. */
export interface ChunkScanner {
  readonly size: number
  /** Another one whenever a consumer has come or gone. */
  readonly version: number
  has(consumer: Consumer): boolean
  /** Returns the consumers that have to be handed the chunk. */
  scan(delivery: ChunkDelivery): readonly Consumer[]
}

export interface StreamRunnerOptions {
  readonly name: string
  readonly source: Source
  readonly chain: DecodeChain
  readonly metrics: NodeMetrics
  readonly clock: Clock
  readonly log: Logger
  /** For columnar consumers of a shared stream. */
  readonly scanner?: ChunkScanner
}

const noScanner: ChunkScanner = { size: 0, version: 0, has: () => false, scan: () => [] }

export class StreamRunner {
  readonly name: string
  /** Decoded once for all rules: received = emitted (handed on) + dropped (decoding, rate limit). */
  readonly ledger = new Ledger()
  readonly metrics: NodeMetrics
  readonly #o: StreamRunnerOptions
  readonly #abort = new AbortController()
  readonly #scanner: ChunkScanner
  #attachments: readonly Attachment[] = []
  /** Those that the scanner does not care for, as long as `of` and `version` have not changed. */
  #unscanned: { readonly list: readonly Attachment[]; readonly of: readonly Attachment[]; readonly version: number }
  #markEnded: () => void = () => {}
  /** Settles when a bounded source has come to its end, or the stream has stopped. */
  readonly ended: Promise<void> = new Promise((resolve) => {
    this.#markEnded = resolve
  })
  #loop: Promise<void> | null = null

  constructor(options: StreamRunnerOptions) {
    this.#o = options
    this.name = options.name
    this.metrics = options.metrics
    this.#scanner = options.scanner ?? noScanner
    this.#unscanned = { list: [], of: this.#attachments, version: 0 }
  }

  get attached(): number {
    return this.#attachments.length
  }

  get chain(): DecodeChain {
    return this.#o.chain
  }

  attach(attachment: Attachment): void {
    this.#attachments = [...this.#attachments, attachment]
  }

  detach(consumer: Consumer): void {
    this.#attachments = this.#attachments.filter((a) => a.consumer !== consumer)
  }

  start(): void {
    this.#o.chain.start((rows, meta, timestamp) => forget(this.#handRows(rows, meta, timestamp, 0)))
    this.#loop ??= this.#run()
  }

  async #run(): Promise<void> {
    const { signal } = this.#abort
    const { source, log, metrics } = this.#o
    const retry = backoff(this.#o.clock, signal)
    while (!signal.aborted) {
      metrics.connecting()
      try {
        await source.connect(signal)
        metrics.connected()
        retry.reset()
        const outcome = await source.read((chunk) => this.accept(chunk), signal)
        if (signal.aborted) return
        if (outcome === 'ended') {
          this.#o.chain.finish()
          this.#markEnded()
          for (const { consumer } of this.#attachments) consumer.ended()
          return
        }
        metrics.disconnected(source.connection?.message || 'connection lost')
      } catch (error) {
        if (signal.aborted) return
        metrics.disconnected(messageOf(error))
        log.warn('source is not connected, trying again', { stream: this.name, error: messageOf(error) })
        for (const { consumer } of this.#attachments)
          forget(this.#hand(consumer, { kind: 'failure', error: asError(error), events: 0, bytes: 0 }))
      }
      await retry.wait()
    }
  }

  /** Takes one chunk from the source (or from `POST /streams/{name}/data`); see Deliver for the promise. */
  accept(chunk: Chunk): void | Promise<void> {
    const { metrics, chain } = this.#o
    if (this.#abort.signal.aborted) {
      chunk.settled?.(stopped())
      return
    }
    const consumers = this.#attachments.length
    const counted = chunk.kind === 'rows' || chain.decodes
    let messages = counted ? messagesIn(chunk) : 0
    const started = metrics.begin(messages)
    const waits: Promise<void>[] = []
    let taken = 0
    const wait = (promise: void | Promise<void>): void => {
      if (promise) waits.push(promise)
      else taken++
    }
    const bytes = sizeOf(chunk)
    const direct = chunk.kind === 'bytes' && chain.raw
    let rowConsumers: readonly Attachment[] = this.#attachments
    if (direct) {
      const delivery: ChunkDelivery = { kind: 'chunk', chunk, bytes }
      const columnar: Consumer[] = []
      const others: Attachment[] = []
      for (const attachment of this.#notScanned()) {
        if (attachment.consumer.columnar) columnar.push(attachment.consumer)
        else others.push(attachment)
      }
      rowConsumers = others
      const { size } = this.#scanner
      if (size > 0) {
        const alone = this.#scanner.scan(delivery)
        taken += size - alone.length
        columnar.push(...alone)
      }
      for (const consumer of columnar) wait(this.#hand(consumer, delivery))
    }
    if (rowConsumers.length) {
      chain.decode(
        chunk,
        (rows, meta, timestamp) => {
          if (!counted) {
            messages += rows.length
            metrics.recordsIn += rows.length
          }
          wait(this.#handRows(rows, meta, timestamp, bytes, rowConsumers))
        },
        (error, events) => {
          this.ledger.received += events
          this.ledger.drop('decode_error', events)
          for (const { consumer } of rowConsumers)
            wait(this.#hand(consumer, { kind: 'failure', error, events, bytes: 0 }))
        },
      )
    }
    metrics.recordsOut += messages
    metrics.end(started, messages)
    if (waits.length === 0) {
      this.#settle(chunk)
      return
    }
    return settleAll(waits, consumers === 1, taken > 0).then(
      () => this.#settle(chunk),
      () => chunk.settled?.(stopped()),
    )
  }

  #notScanned(): readonly Attachment[] {
    const { version } = this.#scanner
    if (this.#unscanned.of !== this.#attachments || this.#unscanned.version !== version) {
      const list = this.#attachments.filter((a) => !this.#scanner.has(a.consumer))
      this.#unscanned = { list, of: this.#attachments, version }
    }
    return this.#unscanned.list
  }

  /** Every consumer has taken the chunk: the sender hears of it when no consumer can lose it again. */
  #settle(chunk: Chunk): void {
    const { settled } = chunk
    if (!settled) return
    const pending = this.#attachments.flatMap((a) => (a.durable ? [a.durable()] : []))
    if (pending.length === 0) settled(null)
    else Promise.all(pending).then(() => settled(null), settled)
  }

  /** Position of a source that can go back to it. */
  offset(): Value | undefined {
    return this.#o.source.offset?.()
  }

  /** Before {@link start}. */
  async rewind(offset: Value): Promise<void> {
    await this.#o.source.rewind?.(offset)
  }

  #handRows(
    messages: readonly ValueObject[],
    meta: readonly (ValueObject | null)[],
    timestamp: number,
    bytes: number,
    to: readonly Attachment[] = this.#attachments,
  ): void | Promise<void> {
    this.ledger.received += messages.length
    this.ledger.emitted += messages.length
    const waits: Promise<void>[] = []
    for (const { consumer, emitter, timestampOf } of to) {
      const rows: Row[] = []
      for (let i = 0; i < messages.length; i++) {
        const message = messages[i] as ValueObject
        const rowMeta = meta[meta.length === 1 ? 0 : i] ?? null
        if (!timestampOf) {
          rows.push(makeRow(emitter, message, timestamp, rowMeta))
          continue
        }
        try {
          rows.push(makeRow(emitter, message, timestampOf(message), rowMeta))
        } catch (error) {
          if (!(error instanceof RowError)) throw error
          const wait = this.#hand(consumer, { kind: 'failure', error, events: 1, bytes: 0 })
          if (wait) waits.push(wait)
        }
      }
      const wait = rows.length ? this.#hand(consumer, { kind: 'rows', rows, bytes }) : undefined
      if (wait) waits.push(wait)
    }
    if (waits.length) return settleAll(waits, to.length === 1, false)
  }

  #hand(consumer: Consumer, delivery: Delivery): void | Promise<void> {
    return consumer.accept(delivery)
  }

  /** The connector received something it can never hand on. */
  lost(count: number, error: Error): void {
    this.ledger.received += count
    this.ledger.drop('source_error', count)
    this.metrics.exception(error.message, count)
  }

  /** Nothing is taken from here on. A source that does not close in time is left behind. */
  async stop(): Promise<void> {
    this.#abort.abort()
    if (!(await settlesWithin(this.#o.clock, CLOSE_LIMIT, this.#close())))
      this.#o.log.warn('source does not close, left behind', { stream: this.name })
    this.#markEnded()
    this.#o.chain.finish()
  }

  async #close(): Promise<void> {
    try {
      await this.#o.source.close()
    } catch (error) {
      this.#o.log.warn('source did not close cleanly', { stream: this.name, error: messageOf(error) })
    }
    await this.#loop
  }
}

/** How long a source may take to close, ms. */
const CLOSE_LIMIT = 1000

const stopped = (): Error => new IxionError('CONNECTION', 'the stream was stopped')

/**
 * Waits until every delivery is taken or given up. Rejects when the one consumer gave up any, or all gave up all: a rule that
 * stopped has not taken them, but where others have, sending them again would help none.
 */
async function settleAll(waits: readonly Promise<void>[], alone: boolean, othersTook: boolean): Promise<void> {
  const results = await Promise.allSettled(waits)
  const refused = results.filter((r) => r.status === 'rejected').length
  if (refused > 0 && (alone || (refused === waits.length && !othersTook))) throw stopped()
}

/** For deliveries that nobody answers for: whether a stopping rule took them does not matter to anyone. */
function forget(taken: void | Promise<void>): void {
  if (taken) taken.catch(() => {})
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(messageOf(error))
}

function messagesIn(chunk: Chunk): number {
  if (chunk.kind === 'rows') return chunk.rows.length
  return chunk.packed ? chunk.packed.ranges.length / 2 : chunk.payloads.length
}

function sizeOf(chunk: Chunk): number {
  if (chunk.kind === 'rows') return chunk.rows.length * 256
  if (chunk.packed) return chunk.packed.bytes.length
  let bytes = 0
  for (const payload of chunk.payloads) bytes += payload.length
  return bytes
}
