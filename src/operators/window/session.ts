/**
 * Session windows (spec/sql.md 3.6, 3.11): rows closer together than the timeout are one session; an aligned tick every
 * maximum cuts a session that has lasted at least that long.
 */
import { IxionError } from '../../core/errors.ts'
import type { Emit, Operator, OperatorContext, State } from '../contract.ts'
import { alignedEnd, nextEnd, unitMs } from './align.ts'
import type { WindowSpec } from './contract.ts'
import { rowsOf, type WindowContent } from './support.ts'

export function session(spec: WindowSpec, name: string, content: WindowContent): Operator {
  return spec.eventTime ? eventTimeSession(spec, name, content) : processingTimeSession(spec, name, content)
}

function processingTimeSession(spec: WindowSpec, name: string, content: WindowContent): Operator {
  const timeout = spec.interval * unitMs[spec.unit]
  const maximum = spec.length * unitMs[spec.unit]
  let context: OperatorContext
  let tick: number | null = null
  /** Inactivity ends the session then; null = no session. */
  let expires: number | null = null
  /** Start of the open session: its first row, or the tick that cut it. */
  let start = 0

  const wake = (): void => context.wakeAt(expires === null ? tick : Math.min(expires, tick as number))
  const fire = (to: number, end: number, out: Emit): void => {
    content.fire(0, to, { start, end, trigger: end }, out)
    content.release(to, out)
  }

  return {
    name,
    get held() {
      return content.length
    },
    open(c) {
      context = c
      tick ??= alignedEnd(c.now(), spec.length, spec.unit, c.timezone)
      wake()
    },
    push(batch, out) {
      for (const row of rowsOf(batch)) {
        if (content.length === 0 && expires === null) start = row.timestamp
        content.add(row, out)
        expires = row.timestamp + timeout
      }
      wake()
    },
    tick(now, out) {
      for (;;) {
        const next = expires === null ? (tick as number) : Math.min(expires, tick as number)
        if (next > now) break
        if (next === expires) {
          expires = null
          if (content.length) fire(content.length, next, out)
        } else {
          if (content.length && next - content.timestampAt(0) >= maximum) {
            fire(content.lowerBound(next), next, out)
            // Also with nothing left: a row before the timeout belongs to the session that was cut.
            start = next
          }
          tick = nextEnd(next, spec.length, spec.unit, context.timezone)
        }
      }
      wake()
    },
    save: () => ({ rows: content.save(), tick, expires, start }),
    load(state) {
      const s = state as { rows: State; tick: number | null; expires: number | null; start: number }
      content.load(s.rows)
      tick = s.tick === null ? null : Number(s.tick)
      expires = s.expires === null ? null : Number(s.expires)
      start = Number(s.start)
    },
  }
}

/** How far the rows of the open session have been looked at; they stay as they are until it ends. */
interface Scan {
  readonly first: number
  rows: number
  /** Time of the last of them. */
  previous: number
  /** The next tick after it. */
  tick: number
}

/** Each watermark looks at the rows it has released; rows to come are not older than it. */
function eventTimeSession(spec: WindowSpec, name: string, content: WindowContent): Operator {
  const timeout = spec.interval * unitMs[spec.unit]
  const maximum = spec.length * unitMs[spec.unit]
  let zone = 'UTC'
  /** Set by a tick cut: where the next session starts; otherwise with its first row. */
  let cut: number | null = null
  let scan: Scan | null = null

  const begin = (): Scan => {
    const first = content.timestampAt(0)
    return { first, rows: 0, previous: first, tick: alignedEnd(first, spec.length, spec.unit, zone) }
  }
  /** The limit has taken rows from the front: those that are left would have been passed as well. */
  const shorten = (rows: number): void => {
    const passed = scan
    scan = null
    if (passed === null || passed.rows <= rows) return
    scan = { ...begin(), rows: passed.rows - rows, previous: passed.previous }
    while (scan.previous > scan.tick) scan.tick = nextEnd(scan.tick, spec.length, spec.unit, zone)
  }
  /** End of the first session among rows up to the watermark, and whether a tick cut it; null = still open. */
  const firstEnd = (watermark: number): { end: number; byTick: boolean } | null => {
    const rows = content.lowerBound(watermark + 1)
    if (rows === 0) return null
    scan ??= begin()
    for (; scan.rows < rows; scan.rows++) {
      const time = content.timestampAt(scan.rows)
      let end: { end: number; byTick: boolean } | null = null
      if (time - scan.previous > timeout) end = { end: scan.previous + timeout, byTick: false }
      while (time > scan.tick) {
        const { tick } = scan
        if (tick - maximum > scan.first && (end === null || tick <= end.end)) end = { end: tick, byTick: true }
        scan.tick = nextEnd(tick, spec.length, spec.unit, zone)
        if (end) break
      }
      if (end) return end
      scan.previous = time
    }
    return watermark - scan.previous > timeout ? { end: scan.previous + timeout, byTick: false } : null
  }

  return {
    name,
    get held() {
      return content.length
    },
    open(c) {
      zone = c.timezone
    },
    push(batch, out) {
      for (const row of rowsOf(batch)) {
        const { length } = content
        content.add(row, out)
        if (content.length !== length + 1) shorten(length + 1 - content.length)
      }
    },
    watermark(time, out) {
      for (let found = firstEnd(time); found && found.end <= time; found = firstEnd(time)) {
        scan = null
        const to = content.lowerBound(found.end)
        const start = cut ?? content.timestampAt(0)
        cut = found.byTick ? found.end : null
        if (to === 0) break
        content.fire(0, to, { start, end: found.end, trigger: found.end }, out)
        content.release(to, out)
      }
      out.watermark(time)
    },
    save: () => ({ rows: content.save(), cut }),
    load(state) {
      const s = state as { rows?: State; cut: number | null }
      if (s.rows === undefined) throw otherForm()
      content.load(s.rows)
      scan = null
      cut = s.cut === null ? null : Number(s.cut)
    },
  }
}

/** Rows cannot be made of aggregates, nor aggregates that are in progress be told from what comes next. */
export function otherForm(): IxionError {
  return new IxionError('STORAGE', 'the saved state of the session window was made for another form of the rule', {
    hint: 'Define stream and rule as they were when it was saved, or delete the rule and create it again to start without it.',
  })
}
