/**
 * The watermark in front of a columnar window (spec/sql.md 3.10): rows wait as JSON text until the watermark reaches them and then
 * go, in time order, as columns into their windows. It is the watermark operator of its rule as well, with the behaviour and the
 * saved form of operators/watermark.ts.
 */
import type { LateReason } from '../../core/columnar-output.ts'
import { INT } from '../../core/columns.ts'
import type { IxionError } from '../../core/errors.ts'
import { makeRow, type Row } from '../../core/row.ts'
import type { ValueObject } from '../../core/values.ts'
import type { Decoder } from '../../formats/contract.ts'
import { isEventTime } from '../../formats/schema-check.ts'
import type { ScannedBatch } from '../../kernel/kernel.ts'
import type { Emit, Operator, OperatorContext } from '../../operators/contract.ts'
import { StreamTimes, type WatermarkOptions, waitingLimit } from '../../operators/watermark.ts'
import { saveRow } from '../../operators/window/row-buffer.ts'
import { type SessionTimes, UNDECIDED } from '../../operators/window/session-times.ts'
import type { Decider, RowTaker, ScanSource } from './intake.ts'
import { WaitingRows } from './waiting-rows.ts'
import type { WindowGroups } from './window-groups.ts'

export interface EventTimeOptions {
  readonly watermark: WatermarkOptions
  readonly emitter: string
  readonly decoder: Decoder
  /** Number of the scanned column with the time; only int64 values within the range of dates are read from there. */
  readonly timeColumn: number
  /** Event time of a decoded row; throws RowError. */
  readonly timestampOf: (message: ValueObject) => number
}

/** What the rows of a chunk come to. */
export interface EventTimeOutput {
  /** A row without a time. */
  failed(error: Error): void
  discarded(reason: LateReason, events: number): void
}

export interface EventTime {
  readonly operator: Operator
  /** Selected rows number `from` to `to` of a batch have come. */
  receive(batch: ScannedBatch, from: number, to: number, refuse: (row: number) => void): void
  receiveMessage(message: ValueObject): void
  /** Rows that the watermark has reached go into their windows. */
  release(): void
  /** After a chunk: where the watermark is, and what the rule stops for. */
  finish(): { readonly watermark: number; readonly broken: IxionError | null }
  begin(output: EventTimeOutput): void
}

/** Where released rows go. */
export interface ReleaseTarget {
  readonly groups: WindowGroups
  readonly decider: Decider
  readonly source: ScanSource
  /** Rows have left for their windows. */
  released(rows: number): void
}

/** Neighbouring rows of one session, or ones that are undecided. */
interface SessionRun {
  session: number
  rows: number
}

export function createEventTime(options: EventTimeOptions, target: () => ReleaseTarget): EventTime {
  const { watermark, emitter, decoder, timeColumn, timestampOf } = options
  const times = new StreamTimes(watermark.streams, watermark.lateTolerance)
  const latePolicy = times.policyOf(emitter)
  const waiting = new WaitingRows()
  let context: OperatorContext
  let output: EventTimeOutput
  let now = 0
  let broken: IxionError | null = null
  /** The watermark up to which rows have been released. */
  let released = Number.NEGATIVE_INFINITY

  /** In front of session windows: the sessions of the oldest rows, which the watermark has reached, in runs. */
  const runs: SessionRun[] = []
  let placed = 0
  /** During a release: the run at hand is number `runAt` - 1 and ends before row `runEnd`. */
  let runAt = 0
  let runEnd = 0

  /** Rows that wait, on their way out: the number of the scan's first. */
  let scanned = 0
  const indexOf = (batch: ScannedBatch, row: number): number => scanned + (batch.rowPayloads[row] as number)
  const timeOf = (batch: ScannedBatch, row: number): number => waiting.timeAt(indexOf(batch, row))

  /** The windows of row `index` are next; returns whether a later row is of the same ones. */
  function enter(index: number): (later: number) => boolean {
    const { groups } = target()
    if (!groups.sessions) {
      const until = groups.at(waiting.timeAt(index))
      return (later) => waiting.timeAt(later) < until
    }
    while (index >= runEnd) runEnd += (runs[runAt++] as SessionRun).rows
    groups.enter((runs[runAt - 1] as SessionRun).session)
    return (later) => later < runEnd
  }

  const releasing: RowTaker = {
    begin: () => 0,
    selected: (kernel, batch, count) => target().groups.identify(kernel, batch, count),
    passed(_kernel, batch, from, to) {
      const { groups } = target()
      const { selected } = batch
      const rowTime = (row: number): number => timeOf(batch, row)
      for (let at = from; at < to; ) {
        const isOfSame = enter(indexOf(batch, selected[at] as number))
        let end = at + 1
        while (end < to && isOfSame(indexOf(batch, selected[end] as number))) end++
        groups.add(batch, at, end, rowTime)
        at = end
      }
    },
    mixed: () => {},
    message(message, _timestamp, payload) {
      const index = scanned + payload
      enter(index)
      target().groups.addRow(makeRow(emitter, message, waiting.timeAt(index)))
      return true
    },
    failed(error) {
      throw error
    },
  }

  /** Texts number `from` to `to` become columns. */
  function releaseTexts(from: number, to: number): void {
    const { decider, source } = target()
    const { bytes, ranges } = waiting.texts(from, to)
    decider.open(releasing, 0)
    for (let at = from; at < to; ) {
      const { kernel, settings } = source()
      scanned = at
      const batch = kernel.scanRanges(settings, bytes, ranges, at - from)
      decider.take(kernel, batch)
      at += batch.payloadsDone
    }
    decider.close()
  }

  /** How many of the oldest rows may go. */
  function due(): number {
    if (!target().groups.sessions) return waiting.until(times.last)
    let count = 0
    for (const run of runs) {
      if (run.session === UNDECIDED) break
      count += run.rows
    }
    return count
  }

  /** The watermark has moved: sessions depend on each place where it has been. */
  function place(sessions: SessionTimes): void {
    const decide = (): void => {
      const decided = sessions.takeDecided()
      const last = runs[runs.length - 1]
      if (decided !== UNDECIDED && last) last.session = decided
    }
    for (; placed < waiting.length && waiting.timeInOrder(placed) <= times.last; placed++) {
      const session = sessions.place(waiting.timeAt(placed))
      decide()
      const last = runs[runs.length - 1]
      if (last?.session === session) last.rows++
      else runs.push({ session, rows: 1 })
    }
    sessions.pass(times.last)
    decide()
  }

  /** Moves the watermark. */
  function follow(): void {
    const before = times.last
    times.follow(now)
    const { sessions } = target().groups
    if (sessions && times.last > before) place(sessions)
  }

  /** When the watermark has moved on. */
  function releaseNew(): void {
    if (times.last === released) return
    release()
  }

  function release(): void {
    released = times.last
    const count = due()
    if (count === 0) return
    const { groups, released: countReleased } = target()
    runAt = runEnd = 0
    for (let at = 0; at < count; ) {
      const end = waiting.endOfTexts(at, count)
      if (end > at) releaseTexts(at, end)
      else {
        enter(at)
        groups.addRow(waiting.rowAt(at++) as Row)
      }
      at = Math.max(at, end)
    }
    drop(count)
    countReleased(count)
  }

  function drop(count: number): void {
    waiting.drop(count)
    for (let left = Math.min(count, placed); left > 0; ) {
      const run = runs[0] as SessionRun
      const rows = Math.min(run.rows, left)
      run.rows -= rows
      left -= rows
      if (run.rows === 0) runs.shift()
    }
    placed = Math.max(0, placed - count)
  }

  /** No more rows wait than may; those that are due do not. */
  function enforce(discarded: EventTimeOutput['discarded']): void {
    release()
    const over = waiting.length - watermark.maxRows
    if (over <= 0) return
    if (watermark.limitPolicy === 'fail') broken ??= waitingLimit(watermark.maxRows)
    drop(over)
    discarded('window_limit', over)
  }

  function late(row: () => Row, discarded: EventTimeOutput['discarded']): void {
    if (latePolicy === 'side') watermark.onLate?.(row())
    discarded('late', 1)
  }

  function receiveRow(row: Row, discarded: EventTimeOutput['discarded']): void {
    const verdict = times.see(row.emitter, row.timestamp, now)
    if (verdict === 'tooEarly') {
      discarded('future_skew', 1)
      return
    }
    if (verdict === 'late') late(() => row, discarded)
    else {
      waiting.addRow(row)
      if (waiting.length > watermark.maxRows) enforce(discarded)
    }
    follow()
  }

  function takeBroken(): IxionError | null {
    const error = broken
    broken = null
    return error
  }

  /** After decoded rows, or time, have moved the watermark from `before`. */
  function passOn(before: number, out: Emit): void {
    releaseNew()
    const left = target().groups.finish()
    if (left.outside > 0) out.discard('filtered', left.outside)
    const error = takeBroken() ?? left.broken
    if (error) throw error
    if (times.last > before) out.watermark(times.last)
    context.wakeAt(times.nextMove(now))
  }

  const operator: Operator = {
    name: 'watermark',
    get held() {
      return waiting.length
    },
    open(c) {
      context = c
      times.start(c.now())
      c.wakeAt(times.nextMove(c.now()))
    },
    push(batch, out) {
      if (batch.kind !== 'rows') throw new Error('a watermark takes single rows')
      now = context.now()
      const before = times.last
      const discarded = (reason: LateReason, events: number): void => out.discard(reason, events)
      for (const row of batch.rows) receiveRow(row, discarded)
      passOn(before, out)
    },
    tick(time, out) {
      now = time
      const before = times.last
      follow()
      passOn(before, out)
    },
    save() {
      waiting.sort()
      const rows = Array.from({ length: waiting.length }, (_, i) => {
        const row = waiting.rowAt(i)
        return saveRow(row ?? makeRow(emitter, decoder.decode(waiting.textAt(i))[0] as ValueObject, waiting.timeAt(i)))
      })
      return times.save(rows)
    },
    load(state) {
      drop(waiting.length)
      for (const row of times.load(state)) waiting.addRow(row)
      released = times.last
    },
  }

  return {
    operator,
    begin(to) {
      output = to
      now = context.now()
    },
    receive(batch, from, to, refuse) {
      const { kinds, numbers } = batch.columns[timeColumn] as ScannedBatch['columns'][number]
      const { selected, rowStarts, rowEnds, bytes } = batch
      /** Neighbours that wait are copied at once: from where to where, and how far they are moved. */
      let start = 0
      let end = 0
      let moved = 0
      const copy = (): void => {
        if (end > start) waiting.copy(bytes, start, end)
        start = end = 0
      }
      for (let i = from; i < to; i++) {
        const row = selected[i] as number
        const time = numbers[row] as number
        if (kinds[row] !== INT || !isEventTime(time)) {
          copy()
          refuse(row)
          continue
        }
        const verdict = times.see(emitter, time, now)
        if (verdict === 'inTime') {
          if (end === start) {
            start = rowStarts[row] as number
            moved = waiting.end - start
          }
          end = rowEnds[row] as number
          waiting.addText((rowStarts[row] as number) + moved, end + moved, time)
          if (waiting.length > watermark.maxRows) {
            copy()
            enforce(output.discarded)
          }
        } else {
          copy()
          if (verdict === 'tooEarly') {
            output.discarded('future_skew', 1)
            continue
          }
          const text = (): Uint8Array => bytes.slice(rowStarts[row], rowEnds[row])
          late(() => makeRow(emitter, decoder.decode(text())[0] as ValueObject, time), output.discarded)
        }
        follow()
      }
      copy()
    },
    receiveMessage(message) {
      let time: number
      try {
        time = timestampOf(message)
      } catch (error) {
        output.failed(error as Error)
        return
      }
      receiveRow(makeRow(emitter, message, time), output.discarded)
    },
    release: releaseNew,
    finish() {
      context.wakeAt(times.nextMove(now))
      return { watermark: times.last, broken: takeBroken() }
    },
  }
}
