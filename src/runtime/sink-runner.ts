import type { Logger, Sink, SinkItem } from '../connectors/contract.ts'
import type { Clock } from '../core/clock.ts'
import { IxionError, messageOf } from '../core/errors.ts'
import { Ledger, type LedgerReading } from '../core/ledger.ts'
import { settlesWithin } from '../core/waiting.ts'
import { type Backoff, backoff } from './backoff.ts'
import { addLine, addLines, freeLines, isLines, lineItem, linesItem } from './line-buffers.ts'
import type { NodeMetrics } from './metrics.ts'
import type { SinkChain } from './sink-chain.ts'

export interface SinkRunnerOptions {
  readonly sink: Sink
  /** True when the sink takes one item that holds many line-framed messages. */
  readonly acceptsLines: boolean
  readonly chain: SinkChain
  readonly metrics: NodeMetrics
  readonly clock: Clock
  readonly log: Logger
  /** Limits of the queue; reaching either makes {@link SinkRunner.full} true. */
  readonly maxItems: number
  readonly maxBytes: number
  /** Pause between attempts of an item that failed with a retriable error; 0 = drop it at once. */
  readonly retryInterval: number
  /** Called when the queue has room again. */
  readonly onRoom: () => void
}

/** Most messages handed to a sink in one call. */
const SEND_BATCH = 1024

/** Shortest time between two log lines about refused messages, ms. */
const COMPLAINT_INTERVAL = 1000

/** How long the connector may take to let go when there is no time left, ms. */
const LAST_MOMENTS = 400

/** Smallest part of the memory estimate of an item that is not bytes. */
const ITEM_OVERHEAD = 64

/**
 * One action of a rule: results become messages, wait in a bounded queue, and are sent in order. The rule stops feeding while
 * the queue is full; nothing is dropped here for want of room.
 */
export class SinkRunner {
  readonly ledger = new Ledger()
  readonly metrics: NodeMetrics
  readonly #o: SinkRunnerOptions
  readonly #abort = new AbortController()
  readonly #retry: Backoff
  #queue: SinkItem[] = []
  #queuedRows = 0
  #queuedBytes = 0
  #sendingRows = 0
  #wasFull = false
  #pump: Promise<void> | null = null
  #connected = false
  /** Stopped, and everything counted: what a sink still says is not heard. */
  #left = false
  #unsaidRows = 0
  #silentUntil = 0

  constructor(options: SinkRunnerOptions) {
    this.#o = options
    this.metrics = options.metrics
    this.metrics.bufferLength = () => this.#queue.length
    this.#retry = backoff(options.clock, this.#abort.signal)
  }

  get full(): boolean {
    return this.#queue.length >= this.#o.maxItems || this.#queuedBytes >= this.#o.maxBytes
  }

  get held(): number {
    return this.#queuedRows + this.#sendingRows + this.#o.chain.heldRows
  }

  read(): LedgerReading {
    return this.ledger.read(this.held)
  }

  start(): void {
    const line = this.#o.acceptsLines ? (message: Uint8Array): void => this.#enqueueLine(message) : null
    this.#o.chain.start((items) => this.#enqueue(items), this.ledger, line)
    void this.#ensurePump()
  }

  /** One result: the rows of a window, or a single event (`list` of one). */
  offer(result: Parameters<SinkChain['offer']>[0]): void {
    this.#o.chain.offer(result)
  }

  offerError(error: Error): void {
    this.#o.chain.offerError(error)
  }

  /** Encoded messages, one a line, from the columnar lane; the payload is copied. */
  offerLines(payload: Uint8Array, rows: number): void {
    this.ledger.received += rows
    if (!this.#o.acceptsLines) {
      this.#enqueue(splitLines(payload.slice(), rows))
      return
    }
    const last = this.#queue.at(-1)
    if (isLines(last) && addLines(last, payload, rows)) this.#queuedRows += rows
    else this.#enqueue([linesItem(payload, rows, last)])
  }

  /** An encoded message that holds several rows; the payload is the sink's from here on. */
  offerMessage(payload: Uint8Array, rows: number): void {
    this.ledger.received += rows
    this.#enqueue([{ payload, value: null, dynamic: noDynamic, rows }])
  }

  #enqueueLine(message: Uint8Array): void {
    const last = this.#queue.at(-1)
    if (isLines(last) && addLine(last, message)) this.#queuedRows++
    else this.#enqueue([lineItem(message, last)])
  }

  #enqueue(items: readonly SinkItem[]): void {
    for (const item of items) {
      this.#queue.push(item)
      this.#queuedRows += item.rows
      this.#queuedBytes += sizeOf(item)
    }
    if (this.full) this.#wasFull = true
    if (items.length) void this.#ensurePump()
  }

  #ensurePump(): Promise<void> {
    this.#pump ??= this.#run().finally(() => {
      this.#pump = null
      if (this.#queue.length && !this.#abort.signal.aborted) void this.#ensurePump()
    })
    return this.#pump
  }

  async #run(): Promise<void> {
    const { signal } = this.#abort
    while (!signal.aborted) {
      if (!this.#connected && !(await this.#connect())) return
      if (!this.#queue.length) return
      const items = this.#queue.length <= SEND_BATCH ? this.#queue : this.#queue.slice(0, SEND_BATCH)
      this.#queue = items === this.#queue ? [] : this.#queue.slice(SEND_BATCH)
      let bytes = 0
      for (const item of items) {
        this.#sendingRows += item.rows
        bytes += sizeOf(item)
      }
      this.#queuedRows -= this.#sendingRows
      await this.#sendAll(items)
      this.#queuedBytes -= bytes
      if (this.#wasFull && this.#queue.length <= this.#o.maxItems / 2 && this.#queuedBytes <= this.#o.maxBytes / 2) {
        this.#wasFull = false
        this.#o.onRoom()
      }
    }
  }

  async #connect(): Promise<boolean> {
    const { signal } = this.#abort
    while (!signal.aborted) {
      this.metrics.connecting()
      try {
        await this.#o.sink.connect(signal)
        this.#connected = true
        this.#retry.reset()
        this.metrics.connected()
        return true
      } catch (error) {
        if (signal.aborted) return false
        this.metrics.disconnected(messageOf(error))
        this.#o.log.warn('sink does not connect, trying again', { error: messageOf(error) })
        await this.#retry.wait()
      }
    }
    return false
  }

  async #sendAll(items: readonly SinkItem[]): Promise<void> {
    const { sink } = this.#o
    if (sink.sendMany) {
      const messages = messagesOf(items)
      const started = this.metrics.begin(messages)
      try {
        await sink.sendMany(items, this.#abort.signal)
        for (const item of items) this.#sent(item)
        this.metrics.end(started, messages)
        return
      } catch (error) {
        // A sink that fails as a whole reports how many items it took; the rest is sent one by one.
        const taken = Math.min(items.length, (error as { taken?: number } | null | undefined)?.taken ?? 0)
        for (const item of items.slice(0, taken)) this.#sent(item)
        this.metrics.recordsIn -= messagesOf(items.slice(taken))
        for (const item of items.slice(taken)) await this.#sendOne(item)
        return
      }
    }
    for (const item of items) await this.#sendOne(item)
  }

  async #sendOne(item: SinkItem): Promise<void> {
    const { signal } = this.#abort
    const messages = messagesOf([item])
    const started = this.metrics.begin(messages)
    for (;;) {
      if (signal.aborted) {
        this.#drop(item, 'stopped')
        return
      }
      try {
        await this.#o.sink.send(item, signal)
        this.#sent(item)
        break
      } catch (error) {
        const retriable = error instanceof IxionError && error.kind.retry && this.#o.retryInterval > 0
        if (!signal.aborted) this.metrics.exception(messageOf(error))
        if (!retriable || signal.aborted) {
          this.#drop(item, signal.aborted ? 'stopped' : 'sink_error')
          if (!signal.aborted) this.#complain(error, item.rows)
          break
        }
        await this.#retry.wait(this.#o.retryInterval)
      }
    }
    this.metrics.end(started, messages)
  }

  /** At most once a second, with the sum: a sink that refuses everything must not flood the log. */
  #complain(error: unknown, rows: number): void {
    this.#unsaidRows += rows
    const now = this.#o.clock.now()
    if (now < this.#silentUntil) return
    this.#o.log.warn('sink refused messages, dropped', { error: messageOf(error), rows: this.#unsaidRows })
    this.#silentUntil = now + COMPLAINT_INTERVAL
    this.#unsaidRows = 0
  }

  #sent(item: SinkItem): void {
    if (this.#left) return
    this.metrics.recordsOut += item.lines ? item.rows : 1
    this.metrics.connected()
    this.ledger.emitted += item.rows
    this.#sendingRows -= item.rows
    if (isLines(item)) freeLines(item)
  }

  #drop(item: SinkItem, reason: 'stopped' | 'sink_error'): void {
    if (this.#left) return
    this.ledger.drop(reason, item.rows)
    this.#sendingRows -= item.rows
    if (isLines(item)) freeLines(item)
  }

  /** The connector could not keep results it had taken. */
  lost(count: number, error: Error): void {
    this.metrics.exception(error.message, count)
    this.ledger.emitted -= count
    this.ledger.drop('sink_error', count)
  }

  /**
   * Sends what is queued, for at most `limit` ms, then closes. What is left counts as dropped, reason `stopped`; so does what
   * a sink that does not answer was given.
   */
  async stop(limit: number): Promise<void> {
    const { clock, log } = this.#o
    const deadline = clock.now() + limit
    const timeLeft = (): number => Math.max(LAST_MOMENTS, deadline - clock.now())
    this.#o.chain.finish()
    if (this.#queue.length || this.#pump) {
      const expired = clock.after(limit, () => this.#abort.abort())
      await settlesWithin(clock, limit + LAST_MOMENTS, this.#drain())
      expired.cancel()
    }
    if (!this.#abort.signal.aborted && this.#connected) {
      try {
        if (!(await settlesWithin(clock, timeLeft(), this.#flush()))) log.warn('sink does not flush, closing it')
      } catch (error) {
        this.metrics.exception(messageOf(error))
      }
    }
    this.#abort.abort()
    this.#left = true
    const rest = this.#queue.reduce((rows, item) => rows + item.rows, this.#sendingRows)
    if (rest > 0) this.ledger.drop('stopped', rest)
    this.#queue = []
    this.#queuedRows = 0
    this.#queuedBytes = 0
    this.#sendingRows = 0
    try {
      if (!(await settlesWithin(clock, timeLeft(), this.#close()))) log.warn('sink does not close, left behind')
    } catch (error) {
      log.warn('sink did not close cleanly', { error: messageOf(error) })
    }
  }

  async #drain(): Promise<void> {
    while (!this.#abort.signal.aborted && (this.#queue.length || this.#pump)) {
      await this.#ensurePump()
      if (!this.#connected) break
    }
  }

  async #flush(): Promise<void> {
    await this.#o.sink.flush?.()
  }

  async #close(): Promise<void> {
    await this.#o.sink.close()
  }
}

function messagesOf(items: readonly SinkItem[]): number {
  let messages = 0
  for (const item of items) messages += item.lines ? item.rows : 1
  return messages
}

function sizeOf(item: SinkItem): number {
  if (isLines(item)) return ITEM_OVERHEAD + item.buffer.length
  return ITEM_OVERHEAD + (item.payload ? item.payload.length : 192 * item.rows)
}

const noDynamic: Readonly<Record<string, string>> = Object.freeze({})

/** Cuts line-framed messages apart; JSON text holds no raw line break. */
function splitLines(payload: Uint8Array, rows: number): SinkItem[] {
  const items: SinkItem[] = []
  let start = 0
  for (let i = 0; i < rows; i++) {
    const end = payload.indexOf(10, start)
    const stop = end < 0 ? payload.length : end
    items.push({ payload: payload.subarray(start, stop), value: null, dynamic: noDynamic, rows: 1 })
    start = stop + 1
  }
  return items
}
