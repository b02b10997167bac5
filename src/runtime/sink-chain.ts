/**
 * From results to messages (spec/sql.md 8.4): transform, encode or collect into batches, compress, encrypt. Synchronous; what
 * it holds back (a batch that is not full) it counts.
 */
import type { SinkItem } from '../connectors/contract.ts'
import type { Clock, Timer } from '../core/clock.ts'
import { IxionError, messageOf, RowError } from '../core/errors.ts'
import type { Ledger } from '../core/ledger.ts'
import type { Value, ValueObject } from '../core/values.ts'
import type { NodeMetrics } from './metrics.ts'

/** One result of a rule: the rows of a window, or one event as a list of one. */
export interface Result {
  readonly rows: readonly ValueObject[]
  readonly meta: ValueObject | null
}

export interface SinkChain {
  readonly metrics: readonly NodeMetrics[]
  /** `line` takes a message of one row that may go into one item with others (SinkItem.lines); null = none may. */
  start(emit: (items: readonly SinkItem[]) => void, ledger: Ledger, line: ((message: Uint8Array) => void) | null): void
  offer(result: Result): void
  /** A row error with sendError. */
  offerError(error: Error): void
  /** No more results: an open batch is sent. */
  finish(): void
  /** Rows in an open batch. */
  readonly heldRows: number
}

/** One message before encoding: a value, or text that is sent as it is. */
export interface TransformedMessage {
  readonly value: Value
  readonly text: string | null
  readonly dynamic: Readonly<Record<string, string>>
  /** Result rows in it. */
  readonly rows: number
  /** This message could not be made; the others of its result can. */
  readonly error?: Error
}

/** What happens to one message's bytes after encoding. */
export interface ByteStep {
  readonly metrics: NodeMetrics
  readonly run: (bytes: Uint8Array) => Uint8Array
}

export interface MessageBatch {
  readonly metrics: NodeMetrics
  readonly writerMetrics: NodeMetrics | null
  /** Results per batch (a window is one result, whatever its rows become), 0 = by time alone. */
  readonly size: number
  /** ms, 0 = by size alone. */
  readonly linger: number
  /** Null for sinks that take rows: the batch is a list of them. */
  readonly writer: { write(message: TransformedMessage): void; flush(): Uint8Array } | null
}

export interface SinkChainOptions {
  readonly clock: Clock
  readonly transform: {
    readonly metrics: NodeMetrics
    readonly run: (result: Result) => readonly TransformedMessage[]
    /** Set when `run` would change nothing: the messages are the rows, or lists of them. Needs `encode` and no `batch`. */
    readonly identity: 'row' | 'list' | null
  }
  /** Null for sinks that take rows, and when batches are written instead. */
  readonly encode: { readonly metrics: NodeMetrics; readonly run: (value: Value) => Uint8Array } | null
  readonly batch: MessageBatch | null
  readonly byteSteps: readonly ByteStep[]
  readonly takes: 'bytes' | 'rows'
  /** Results that cannot be transformed or encoded leave their error in their place, as errors of rows do. */
  readonly sendError?: boolean
}

const noDynamic: Readonly<Record<string, string>> = Object.freeze({})
const text = new TextEncoder()

export function createSinkChain(options: SinkChainOptions): SinkChain {
  const { transform, encode, batch, byteSteps, takes, clock } = options
  let emit: (items: readonly SinkItem[]) => void = () => {}
  let line: ((message: Uint8Array) => void) | null = null
  let ledger: Ledger
  let timer: Timer | null = null
  let batched: TransformedMessage[] = []
  let batchedRows = 0
  let batchedResults = 0

  const run = <T>(metrics: NodeMetrics, work: () => T, out: (result: T) => number): T => {
    const started = metrics.begin(1)
    try {
      const result = work()
      metrics.recordsOut += out(result)
      return result
    } catch (error) {
      metrics.exception(messageOf(error))
      throw error
    } finally {
      metrics.end(started, 1)
    }
  }
  const one = (): number => 1

  const finishBytes = (bytes: Uint8Array): Uint8Array => {
    let result = bytes
    for (const step of byteSteps) {
      const input = result
      result = run(step.metrics, () => step.run(input), one)
    }
    return result
  }

  const toItem = (message: TransformedMessage): SinkItem => {
    const { dynamic, rows } = message
    if (takes === 'rows') return { payload: null, value: message.value, dynamic, rows }
    const bytes =
      message.text !== null
        ? text.encode(message.text)
        : run(
            (encode as NonNullable<typeof encode>).metrics,
            () => (encode as NonNullable<typeof encode>).run(message.value),
            one,
          )
    return { payload: finishBytes(bytes), value: null, dynamic, rows }
  }

  const flushBatch = (): void => {
    batchedResults = 0
    if (!batch || batched.length === 0) return
    const messages = batched
    let rows = batchedRows
    const { dynamic } = messages[messages.length - 1] as TransformedMessage
    batched = []
    batchedRows = 0
    batch.metrics.recordsOut++
    try {
      if (takes === 'rows') {
        const value = messages.flatMap((m) => (Array.isArray(m.value) ? m.value : [m.value]))
        emit([{ payload: null, value, dynamic, rows }])
        return
      }
      const { writer, writerMetrics } = batch
      if (!writer) throw new IxionError('INTERNAL', 'a batch of bytes needs a writer')
      const payload = run(
        writerMetrics ?? batch.metrics,
        () => {
          for (const message of messages) {
            try {
              writer.write(message)
            } catch (error) {
              failed(error, message.rows)
              rows -= message.rows
            }
          }
          return writer.flush()
        },
        one,
      )
      if (rows > 0) emit([{ payload: finishBytes(payload), value: null, dynamic, rows }])
    } catch (error) {
      failed(error, rows)
    }
  }

  const failed = (error: unknown, rows: number): void => {
    if (!(error instanceof RowError) && !(error instanceof IxionError)) throw error
    ledger.drop('error', rows)
    if (options.sendError) emitError(error)
  }

  const emitError = ({ message }: Error): void => {
    ledger.received += 1
    emit([
      takes === 'rows'
        ? { payload: null, value: [{ error: message }], dynamic: noDynamic, rows: 1 }
        : { payload: text.encode(message), value: null, dynamic: noDynamic, rows: 1 },
    ])
  }

  const made = (message: TransformedMessage): boolean => {
    if (!message.error) return true
    transform.metrics.recordsOut--
    transform.metrics.exception(message.error.message)
    failed(message.error, message.rows)
    return false
  }

  /** A value that is a message as it is. */
  const offerValue = (value: Value, rows: number): void => {
    const { metrics, run: encodeValue } = encode as NonNullable<typeof encode>
    const started = metrics.begin(1)
    let bytes: Uint8Array
    try {
      bytes = encodeValue(value)
    } catch (error) {
      metrics.exception(messageOf(error))
      metrics.end(started, 1)
      failed(error, rows)
      return
    }
    metrics.recordsOut++
    metrics.end(started, 1)
    if (line && rows === 1) line(bytes)
    else emit([{ payload: finishBytes(bytes), value: null, dynamic: noDynamic, rows }])
  }

  const offerUnchanged = ({ rows }: Result, single: boolean): void => {
    const { metrics } = transform
    const messages = single ? rows.length : 1
    const started = metrics.begin(1)
    metrics.recordsOut += messages
    metrics.end(started, 1)
    if (single) for (const row of rows) offerValue(row, 1)
    else offerValue(rows as ValueObject[], rows.length)
  }

  return {
    metrics: [
      ...(batch ? [batch.metrics] : []),
      transform.metrics,
      ...(batch?.writerMetrics ? [batch.writerMetrics] : []),
      ...(encode ? [encode.metrics] : []),
      ...byteSteps.map((s) => s.metrics),
    ],
    get heldRows() {
      return batchedRows
    },
    start(emitItems, sinkLedger, emitLine) {
      emit = emitItems
      line = byteSteps.length === 0 ? emitLine : null
      ledger = sinkLedger
      if (batch && batch.linger > 0) {
        const tick = (): void => {
          timer = clock.after(batch.linger, tick)
          flushBatch()
        }
        timer = clock.after(batch.linger, tick)
      }
    },
    offer(result) {
      const rows = result.rows.length
      ledger.received += rows
      if (transform.identity) {
        offerUnchanged(result, transform.identity === 'row')
        return
      }
      let messages: readonly TransformedMessage[]
      try {
        messages = run(
          transform.metrics,
          () => transform.run(result),
          (m) => m.length,
        )
      } catch (error) {
        failed(error, rows)
        return
      }
      let carried = 0
      for (const message of messages) carried += message.rows
      ledger.filtered += rows - carried
      if (messages.some((m) => m.error)) messages = messages.filter((m) => made(m))
      if (batch) {
        batch.metrics.recordsIn++
        for (const message of messages) {
          batched.push(message)
          batchedRows += message.rows
        }
        batchedResults++
        if (batch.size > 0 && batchedResults >= batch.size) flushBatch()
        return
      }
      const items: SinkItem[] = []
      for (const message of messages) {
        try {
          items.push(toItem(message))
        } catch (error) {
          emit(items.splice(0))
          failed(error, message.rows)
        }
      }
      emit(items)
    },
    offerError: emitError,
    finish() {
      timer?.cancel()
      timer = null
      flushBatch()
    },
  }
}
