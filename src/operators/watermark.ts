/**
 * Watermarks (spec/sql.md 3.10): puts the rows of all streams in time order and says up to when they are complete. The
 * watermark is the least of the streams' newest times, less the late tolerance.
 *
 * Beyond the reference, per stream and off by default:
 * - LATE_POLICY: a row behind the watermark is dropped (`drop`), dropped and handed to {@link WatermarkOptions.onLate}
 *   (`side`), or passed on at once, out of order (`reopen`, only in rules without a window).
 * - MAX_FUTURE_SKEW: a row further ahead of the clock than this is dropped and does not move the watermark.
 * - IDLE_TIMEOUT: a stream silent for this long no longer holds the watermark back. When all streams are silent, event time goes
 *   on at the pace of the clock: newest time seen + time since the last row - late tolerance.
 */
import { IxionError } from '../core/errors.ts'
import { type Row, rowsBatch } from '../core/row.ts'
import type { Value } from '../core/values.ts'
import type { Emit, Operator, OperatorContext, State } from './contract.ts'
import { loadRow, saveRow } from './window/row-buffer.ts'
import { rowsOf } from './window/support.ts'

export interface WatermarkOptions {
  readonly streams: readonly StreamTime[]
  /** ms */
  readonly lateTolerance: number
  /** Watermarks go on downstream: the rule has a window. */
  readonly sendWatermark: boolean
  /**
   * One watermark for all rows that come together instead of one a row: for tumbling and hopping windows, whose results are the
   * same either way.
   */
  readonly coalesce?: boolean
  /** Rows that may wait for the watermark. */
  readonly maxRows: number
  /** Beyond it: the oldest leave under `window_limit` (default), or the rule stops. */
  readonly limitPolicy?: 'dropOldest' | 'fail'
  /** Takes the late rows of a stream with policy `side`. */
  readonly onLate?: (row: Row) => void
}

export interface StreamTime {
  readonly emitter: string
  readonly latePolicy: 'drop' | 'side' | 'reopen'
  /** ms, null = no bound. */
  readonly maxFutureSkew: number | null
  /** ms, null = waits for ever. */
  readonly idleTimeout: number | null
}

/** How often the watermark follows the clock while every stream is silent, ms. */
const IDLE_STEP = 1000

interface Stream extends StreamTime {
  /** Newest event time, -Infinity before the first row. */
  newest: number
  /** Clock when the last row came, or when the rule started. */
  heard: number
}

export type Verdict = 'inTime' | 'late' | 'tooEarly'

/** The event times of a rule's streams, and the watermark that follows from them. Times are epoch ms. */
export class StreamTimes {
  /** The watermark: -Infinity before the first row. */
  last = Number.NEGATIVE_INFINITY
  readonly #streams: readonly Stream[]
  readonly #lateTolerance: number
  readonly #watchesIdle: boolean

  constructor(streams: readonly StreamTime[], lateTolerance: number) {
    this.#streams = streams.map((s) => ({ ...s, newest: Number.NEGATIVE_INFINITY, heard: 0 }))
    this.#lateTolerance = lateTolerance
    this.#watchesIdle = streams.some((s) => s.idleTimeout !== null)
  }

  start(now: number): void {
    for (const s of this.#streams) s.heard = now
  }

  policyOf(emitter: string): StreamTime['latePolicy'] {
    return this.#streams.find((s) => s.emitter === emitter)?.latePolicy ?? 'drop'
  }

  /** Takes note of a row; the watermark stays where it is until {@link follow}. */
  see(emitter: string, timestamp: number, now: number): Verdict {
    const { length } = this.#streams
    for (let i = 0; i < length; i++) {
      const stream = this.#streams[i] as Stream
      if (stream.emitter !== emitter) continue
      if (stream.maxFutureSkew !== null && timestamp > now + stream.maxFutureSkew) return 'tooEarly'
      stream.heard = now
      if (timestamp > stream.newest) stream.newest = timestamp
    }
    return timestamp < this.last ? 'late' : 'inTime'
  }

  /** Where the watermark could be now. */
  candidate(now: number): number {
    let least = Number.POSITIVE_INFINITY
    let newest = Number.NEGATIVE_INFINITY
    let heard = Number.NEGATIVE_INFINITY
    let active = false
    for (const s of this.#streams) {
      newest = Math.max(newest, s.newest)
      heard = Math.max(heard, s.heard)
      if (s.idleTimeout !== null && now - s.heard >= s.idleTimeout) continue
      active = true
      least = Math.min(least, s.newest)
    }
    return (active ? least : newest + (now - heard)) - this.#lateTolerance
  }

  /** Moves the watermark to where it could be; it never goes back. */
  follow(now: number): void {
    this.last = Math.max(this.last, this.candidate(now))
  }

  /** The next moment at which silence moves the watermark; null = none. */
  nextMove(now: number): number | null {
    if (!this.#watchesIdle) return null
    let next = Number.POSITIVE_INFINITY
    let heardAnything = false
    for (const s of this.#streams) {
      if (s.newest > Number.NEGATIVE_INFINITY) heardAnything = true
      if (s.idleTimeout === null) continue
      const idle = s.heard + s.idleTimeout
      next = Math.min(next, idle > now ? idle : now + Math.min(IDLE_STEP, s.idleTimeout))
    }
    return heardAnything && Number.isFinite(next) ? next : null
  }

  /** The saved form of a watermark operator, with the rows that wait. */
  save(waiting: Value[]): Value {
    return { waiting, last: this.last, newest: this.#streams.map((s) => [s.emitter, s.newest]) }
  }

  /** Returns the rows that wait. */
  load(state: State): Row[] {
    const saved = state as { waiting: Value[]; last: number; newest: [string, number][] }
    this.last = Number(saved.last)
    for (const [emitter, newest] of saved.newest) {
      for (const s of this.#streams) if (s.emitter === emitter) s.newest = Number(newest)
    }
    return saved.waiting.map(loadRow)
  }
}

/** What a rule stops for when too many rows wait and its policy is `fail`. */
export function waitingLimit(maxRows: number): IxionError {
  return new IxionError('LIMIT', `more than ${maxRows} rows wait for the watermark`, {
    hint: 'raise windowLimit of the rule, lower lateTolerance, set IDLE_TIMEOUT on a silent stream, or set limitPolicy to dropOldest',
  })
}

export function watermarkOperator(options: WatermarkOptions): Operator {
  const { sendWatermark, maxRows } = options
  const times = new StreamTimes(options.streams, options.lateTolerance)
  let waiting: Row[] = []
  let context: OperatorContext

  /** Rows with a time of at most the watermark, taken out of those that wait. */
  const release = (): Row[] => {
    let count = 0
    while (count < waiting.length && (waiting[count] as Row).timestamp <= times.last) count++
    if (count === waiting.length) {
      const released = waiting
      waiting = []
      return released
    }
    return waiting.splice(0, count)
  }

  /** Rows with a time of at most the watermark go on; `passed` gathers them when nothing stands between two releases. */
  const advance = (now: number, passed: Row[] | null, out: Emit): void => {
    const before = times.last
    times.follow(now)
    if (times.last === before) return
    const released = release()
    if (passed) passed.push(...released)
    else if (released.length) out.batch(rowsBatch(released))
    if (sendWatermark) out.watermark(times.last)
  }

  const add = (row: Row, out: Emit): void => {
    let at = waiting.length
    if (at > 0 && (waiting[at - 1] as Row).timestamp > row.timestamp) {
      let low = 0
      while (low < at) {
        const middle = (low + at) >>> 1
        if ((waiting[middle] as Row).timestamp <= row.timestamp) low = middle + 1
        else at = middle
      }
    }
    if (at === waiting.length) waiting.push(row)
    else waiting.splice(at, 0, row)
    if (waiting.length > maxRows && options.coalesce) {
      // Those that are due only stay until all that come together have been seen.
      const due = release()
      if (due.length) out.batch(rowsBatch(due))
    }
    if (waiting.length > maxRows) {
      if (options.limitPolicy === 'fail') throw waitingLimit(maxRows)
      waiting.shift()
      out.discard('window_limit', 1)
    }
  }

  const late = (row: Row, passed: Row[] | null, out: Emit): void => {
    const policy = times.policyOf(row.emitter)
    if (policy === 'reopen' && !sendWatermark) {
      if (passed) passed.push(row)
      else out.batch(rowsBatch([row]))
      return
    }
    if (policy === 'side') options.onLate?.(row)
    out.discard('late', 1)
  }

  const wake = (now: number): void => context.wakeAt(times.nextMove(now))

  return {
    name: 'watermark',
    get held() {
      return waiting.length
    },
    open(c) {
      context = c
      times.start(c.now())
      wake(c.now())
    },
    push(batch, out) {
      const now = context.now()
      const before = times.last
      // Without markers in between, rows released by one batch stay one batch.
      const passed: Row[] | null = sendWatermark ? null : []
      for (const row of rowsOf(batch)) {
        const verdict = times.see(row.emitter, row.timestamp, now)
        if (verdict === 'tooEarly') {
          out.discard('future_skew', 1)
          continue
        }
        if (verdict === 'late') late(row, passed, out)
        else add(row, out)
        if (options.coalesce) times.follow(now)
        else advance(now, passed, out)
      }
      if (options.coalesce && times.last > before) {
        const released = release()
        if (released.length) out.batch(rowsBatch(released))
        if (sendWatermark) out.watermark(times.last)
      }
      if (passed?.length) out.batch(rowsBatch(passed))
      wake(now)
    },
    tick(now, out) {
      advance(now, null, out)
      wake(now)
    },
    save: () => times.save(waiting.map(saveRow)),
    load(state) {
      waiting = times.load(state)
    },
  }
}
