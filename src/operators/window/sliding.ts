/**
 * Sliding windows (spec/sql.md 3.5, 3.11): every row (or every row for which OVER(WHEN) holds) at time t fires [t - length, t],
 * both ends inclusive; with a delay d, [t - length, t + d) at t + d. The v2 form is half-open: (t - length, t + d].
 */
import type { Row } from '../../core/row.ts'
import { trueOrNot } from '../condition.ts'
import type { Emit, EvaluationScope, Operator, OperatorContext } from '../contract.ts'
import { unitMs } from './align.ts'
import type { WindowSpec } from './contract.ts'
import { rowsOf, type WindowContent } from './support.ts'

const scope: EvaluationScope = { window: null, group: null }

/** A firing that waits for its delay, or for the watermark. */
interface Pending {
  readonly time: number
  /** enableSendSlidingWindowTwice: the part up to the row has been sent. */
  sentArrival: boolean
}

/** When windows fire and which rows they cover; what is kept of the rows is the content's. */
export function sliding(spec: WindowSpec, name: string, content: WindowContent): Operator {
  const length = spec.length * unitMs[spec.unit]
  const delay = spec.delay * unitMs[spec.unit]
  const when = spec.when && trueOrNot(spec.when)
  let pending: Pending[] = []
  let context: OperatorContext

  const triggers = (row: Row): boolean => {
    if (!when) return true
    const holds = when(row, scope)
    if (holds) spec.onHit?.(row.timestamp)
    return holds
  }
  /** Half-open windows begin after their left edge and end with their right one; the others the other way round. */
  const from = (left: number): number => content.lowerBound(spec.halfOpen ? left + 1 : left)
  const through = (right: number): number => content.lowerBound(right + 1)

  const fireArrival = (time: number, out: Emit): void => {
    const window = { start: time - length, end: time, trigger: time }
    content.fire(content.lowerBound(time - length + 1), through(time), window, out)
  }
  const fire = (time: number, out: Emit): void => {
    const end = time + delay
    if (delay === 0) {
      content.fire(from(time - length), through(time), { start: time - length, end: time, trigger: time }, out)
    } else if (spec.sendTwice) {
      content.fire(content.lowerBound(time + 1), through(end), { start: time, end, trigger: end }, out)
    } else {
      const to = spec.halfOpen ? through(end) : content.lowerBound(end)
      content.fire(from(time - length), to, { start: time - length, end, trigger: end }, out)
    }
  }
  const fireDue = (time: number, out: Emit): void => {
    while (pending.length && (pending[0] as Pending).time + delay <= time) {
      const { time: due, sentArrival } = pending[0] as Pending
      if (spec.sendTwice && delay > 0 && !sentArrival) fireArrival(due, out)
      pending.shift()
      fire(due, out)
    }
  }
  /** Drops rows that no firing to come can reach: those of rows at `time` or later, and the pending ones. */
  const age = (time: number, out: Emit): void => {
    const oldest = pending.length ? Math.min(time, (pending[0] as Pending).time) : time
    content.release(from(oldest - length), out)
  }
  const wake = (): void => {
    if (!spec.eventTime) context.wakeAt(pending.length ? (pending[0] as Pending).time + delay : null)
  }

  return {
    name,
    get held() {
      return content.length
    },
    open(c) {
      context = c
      wake()
    },
    push(batch, out) {
      for (const row of rowsOf(batch)) {
        const { timestamp } = row
        content.add(row, out)
        const fires = triggers(row)
        if (spec.eventTime) {
          if (fires) pending.push({ time: timestamp, sentArrival: false })
          continue
        }
        if (fires && delay === 0) fire(timestamp, out)
        else if (fires) {
          if (spec.sendTwice) fireArrival(timestamp, out)
          pending.push({ time: timestamp, sentArrival: true })
          wake()
        }
        age(timestamp, out)
      }
    },
    tick(now, out) {
      fireDue(now, out)
      wake()
      if (content.length) age(Math.max(content.timestampAt(content.length - 1), now), out)
    },
    watermark(time, out) {
      if (spec.eventTime) {
        if (spec.sendTwice && delay > 0) {
          for (const p of pending) {
            if (p.sentArrival || p.time > time) continue
            p.sentArrival = true
            fireArrival(p.time, out)
          }
        }
        fireDue(time, out)
        age(time, out)
      }
      out.watermark(time)
    },
    save: () => ({ content: content.save(), pending: pending.map((p) => [p.time, p.sentArrival]) }),
    load(state) {
      const s = state as { content: never; pending: [number, boolean][] }
      content.load(s.content)
      pending = s.pending.map(([time, sentArrival]) => ({ time: Number(time), sentArrival }))
    },
  }
}
