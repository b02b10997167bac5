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
import type { Emit, Operator, OperatorContext } from './contract.ts'
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

export function watermarkOperator(options: WatermarkOptions): Operator {
  const { lateTolerance, sendWatermark, maxRows } = options
  const streams = new Map<string, Stream>(
    options.streams.map((s) => [s.emitter, { ...s, newest: Number.NEGATIVE_INFINITY, heard: 0 }]),
  )
  const watchesIdle = options.streams.some((s) => s.idleTimeout !== null)
  let waiting: Row[] = []
  let last = Number.NEGATIVE_INFINITY
  let context: OperatorContext

  /** Where the watermark could be now. */
  const candidate = (now: number): number => {
    let least = Number.POSITIVE_INFINITY
    let newest = Number.NEGATIVE_INFINITY
    let heard = Number.NEGATIVE_INFINITY
    let active = false
    for (const s of streams.values()) {
      newest = Math.max(newest, s.newest)
      heard = Math.max(heard, s.heard)
      if (s.idleTimeout !== null && now - s.heard >= s.idleTimeout) continue
      active = true
      least = Math.min(least, s.newest)
    }
    return (active ? least : newest + (now - heard)) - lateTolerance
  }

  /** Rows with a time of at most the watermark, taken out of those that wait. */
  const release = (): Row[] => {
    let count = 0
    while (count < waiting.length && (waiting[count] as Row).timestamp <= last) count++
    if (count === waiting.length) {
      const released = waiting
      waiting = []
      return released
    }
    return waiting.splice(0, count)
  }

  /** Rows with a time of at most `time` go on; `passed` gathers them when nothing stands between two releases. */
  const advance = (time: number, passed: Row[] | null, out: Emit): void => {
    if (!(time > last)) return
    last = time
    const released = release()
    if (passed) passed.push(...released)
    else if (released.length) out.batch(rowsBatch(released))
    if (sendWatermark) out.watermark(time)
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
    if (waiting.length > maxRows) {
      if (options.limitPolicy === 'fail') {
        throw new IxionError('LIMIT', `more than ${maxRows} rows wait for the watermark`, {
          hint: 'raise windowLimit of the rule, lower lateTolerance, set IDLE_TIMEOUT on a silent stream, or set limitPolicy to dropOldest',
        })
      }
      waiting.shift()
      out.discard('window_limit', 1)
    }
  }

  const late = (row: Row, stream: Stream | undefined, passed: Row[] | null, out: Emit): void => {
    if (stream?.latePolicy === 'reopen' && !sendWatermark) {
      if (passed) passed.push(row)
      else out.batch(rowsBatch([row]))
      return
    }
    if (stream?.latePolicy === 'side') options.onLate?.(row)
    out.discard('late', 1)
  }

  /** The next moment at which silence moves the watermark. */
  const wake = (now: number): void => {
    if (!watchesIdle) return
    let next = Number.POSITIVE_INFINITY
    let heardAnything = false
    for (const s of streams.values()) {
      if (s.newest > Number.NEGATIVE_INFINITY) heardAnything = true
      if (s.idleTimeout === null) continue
      const idle = s.heard + s.idleTimeout
      next = Math.min(next, idle > now ? idle : now + Math.min(IDLE_STEP, s.idleTimeout))
    }
    context.wakeAt(heardAnything && Number.isFinite(next) ? next : null)
  }

  return {
    name: 'watermark',
    get held() {
      return waiting.length
    },
    open(c) {
      context = c
      for (const s of streams.values()) s.heard = c.now()
      wake(c.now())
    },
    push(batch, out) {
      const now = context.now()
      const before = last
      // Without markers in between, rows released by one batch stay one batch.
      const passed: Row[] | null = sendWatermark ? null : []
      for (const row of rowsOf(batch)) {
        const stream = streams.get(row.emitter)
        if (stream) {
          if (stream.maxFutureSkew !== null && row.timestamp > now + stream.maxFutureSkew) {
            out.discard('future_skew', 1)
            continue
          }
          stream.heard = now
          if (row.timestamp > stream.newest) stream.newest = row.timestamp
        }
        if (row.timestamp < last) late(row, stream, passed, out)
        else add(row, out)
        if (options.coalesce) last = Math.max(last, candidate(now))
        else advance(candidate(now), passed, out)
      }
      if (options.coalesce && last > before) {
        const released = release()
        if (released.length) out.batch(rowsBatch(released))
        if (sendWatermark) out.watermark(last)
      }
      if (passed?.length) out.batch(rowsBatch(passed))
      wake(now)
    },
    tick(now, out) {
      advance(candidate(now), null, out)
      wake(now)
    },
    save: () => ({
      waiting: waiting.map(saveRow),
      last,
      newest: [...streams.values()].map((s) => [s.emitter, s.newest]),
    }),
    load(state) {
      const saved = state as { waiting: Value[]; last: number; newest: [string, number][] }
      waiting = saved.waiting.map(loadRow)
      last = Number(saved.last)
      for (const [emitter, newest] of saved.newest) {
        const stream = streams.get(emitter)
        if (stream) stream.newest = Number(newest)
      }
    },
  }
}
