/**
 * dedup_trigger(start, end, now, expire) (spec/sql.md 3.12): each row describes the interval [start, end) at its logical time
 * `now`; the result is the part of it that earlier intervals have not covered within the last `expire` ms.
 */
import { RowError } from '../core/errors.ts'
import type { Row } from '../core/row.ts'
import { rowsBatch } from '../core/row.ts'
import type { Value } from '../core/values.ts'
import { asRowError } from './condition.ts'
import type { Emit, EvaluateOrMissing, Operator, OperatorContext } from './contract.ts'
import { loadRow, saveRow } from './window/row-buffer.ts'

export interface DedupTriggerOptions {
  /** Where the result is left on the row. */
  readonly name: string
  readonly start: Column
  readonly end: Column
  readonly now: Column
  /** ms */
  readonly expire: number
  /** Rows that may wait for their end; beyond it the earliest are released. */
  readonly maxWaiting: number
}

/** A plain column, with its name for messages. */
export interface Column {
  readonly name: string
  readonly evaluate: EvaluateOrMissing
}

/** [start, end), ms. */
export type Slot = readonly [start: number, end: number]

interface Waiting {
  readonly row: Row
  readonly start: number
  readonly end: number
  readonly now: number
}

const scope = { window: null, group: null }

export function dedupTriggerOperator(options: DedupTriggerOptions): Operator {
  const { name, expire, maxWaiting } = options
  let covered: readonly Slot[] = []
  let waiting: Waiting[] = []
  /** Logical time of the newest row, and the clock when it came: the head is released when its end is reached. */
  let context: OperatorContext

  const time = (column: Column, what: string, row: Row): number => {
    const value = column.evaluate(row, scope)
    if (value === undefined || value === null) throw new RowError(`dedup_trigger ${column.name} is missing`)
    if (typeof value === 'bigint') return Number(value)
    if (typeof value === 'number' && Number.isInteger(value)) return value
    throw new RowError(`dedup_trigger ${what} time ${column.name} is not int64`)
  }
  const read = (row: Row): Waiting => {
    const start = time(options.start, 'start', row)
    const end = time(options.end, 'end', row)
    const now = time(options.now, 'now', row)
    if (start >= end) throw new RowError(`dedup_trigger start time ${start} is greater than end time ${end}`)
    return { row, start, end, now }
  }
  const release = (w: Waiting, out: Emit): void => {
    const { ranges, slots } = cover(covered, w.start, w.end, w.now - expire)
    covered = slots
    const value: Value = ranges
      ? ranges.map(([start, end]) => ({ start_key: String(start), end_key: String(end) }))
      : null
    const computed = new Map(w.row.computed ?? [])
    computed.set(name, value)
    out.batch(rowsBatch([{ ...w.row, computed }]))
  }
  const releaseDue = (now: number, out: Emit): void => {
    while (waiting.length && (waiting[0] as Waiting).end <= now) release(waiting.shift() as Waiting, out)
    context.wakeAt(waiting.length ? context.now() + ((waiting[0] as Waiting).end - now) : null)
  }

  return {
    name: 'dedup_trigger',
    get held() {
      return waiting.length
    },
    open(c) {
      context = c
      const head = waiting[0]
      if (head) c.wakeAt(c.now() + Math.max(0, head.end - head.now))
    },
    push(batch, out) {
      if (batch.kind !== 'rows') {
        out.fail(new RowError('dedup_trigger takes single rows, not windows'), batch.events)
        return
      }
      for (const row of batch.rows) {
        let w: Waiting
        try {
          w = read(row)
        } catch (error) {
          out.fail(asRowError(error), 1)
          continue
        }
        let at = waiting.length
        while (at > 0 && (waiting[at - 1] as Waiting).end > w.end) at--
        waiting.splice(at, 0, w)
        releaseDue(w.now, out)
        while (waiting.length > maxWaiting) release(waiting.shift() as Waiting, out)
      }
    },
    tick(_now, out) {
      const head = waiting[0]
      if (head) releaseDue(head.end, out)
    },
    save: () => ({
      histogram: covered.map(([start, end]) => [start, end]),
      waiting: waiting.map((w) => ({ ...w, row: saveRow(w.row) })),
    }),
    load(state) {
      const saved = state as { histogram: [number, number][]; waiting: (Omit<Waiting, 'row'> & { row: Value })[] }
      covered = saved.histogram.map(([start, end]): Slot => [Number(start), Number(end)])
      waiting = saved.waiting.map((w) => ({
        row: loadRow(w.row),
        start: Number(w.start),
        end: Number(w.end),
        now: Number(w.now),
      }))
    },
  }
}

/**
 * The sub-ranges of [start, end) outside `slots` (ascending, disjoint), and the slots with [start, end) added. Nothing older than
 * `leftmost` counts: `ranges` is null when the interval lies before it or is covered wholly.
 */
export function cover(
  slots: readonly Slot[],
  start: number,
  end: number,
  leftmost: number,
): { readonly ranges: readonly Slot[] | null; readonly slots: readonly Slot[] } {
  if (end < leftmost) return { ranges: null, slots }
  const from = Math.max(start, leftmost)
  const ranges: Slot[] = []
  const kept: Slot[] = []
  let first = from
  let last = end
  let at = from
  let placed = false
  const place = (): void => {
    if (at < end) ranges.push([at, end])
    if (first < last) kept.push([first, last])
    placed = true
  }
  for (const slot of slots) {
    const [slotStart, slotEnd] = slot
    if (slotEnd < leftmost) continue
    if (slotEnd <= from) {
      kept.push(slot)
    } else if (slotStart >= end) {
      if (!placed) place()
      kept.push(slot)
    } else {
      if (slotStart > at) ranges.push([at, slotStart])
      at = Math.max(at, slotEnd)
      first = Math.min(first, slotStart)
      last = Math.max(last, slotEnd)
    }
  }
  if (!placed) place()
  return { ranges: ranges.length ? ranges : null, slots: kept }
}
