import { fromLocal, zoneOffset } from '../../core/time-zone.ts'

export type WindowUnit = 'dd' | 'hh' | 'mi' | 'ss' | 'ms'

export const unitMs: Record<WindowUnit, number> = { dd: 86_400_000, hh: 3_600_000, mi: 60_000, ss: 1000, ms: 1 }

/** Units of the clock a window of `n` units aligns within: ms in a second, seconds in a minute, and so on. */
const parentMs: Record<Exclude<WindowUnit, 'dd'>, number> = { ms: 1000, ss: 60_000, mi: 3_600_000, hh: 86_400_000 }

/**
 * The first boundary after `now` (epoch ms) of windows of `n` units in the local time of `zone` (spec/sql.md 3.1): the next
 * multiple of n units counted from the start of the local day, hour, minute or second; for days, local midnight after n days.
 * Strictly after now (D1). Where clocks are put back or forward on the way, at most n units after it.
 */
export function alignedEnd(now: number, n: number, unit: WindowUnit, zone: string): number {
  const local = now + zoneOffset(now, zone)
  if (unit === 'dd') return dayStart(Math.floor(local / unitMs.dd) + n, zone)
  const parent = parentMs[unit]
  const base = Math.floor(local / parent) * parent
  const size = n * unitMs[unit]
  const boundary = base + (Math.floor((local - base) / size) + 1) * size
  const end = fromLocal(boundary, zone)
  return end > now && end <= now + size ? end : now + boundary - local
}

/**
 * The boundary after `end` of windows that follow each other every `n` units: exact multiples, except that days keep to local
 * midnight when daylight saving changes. Below 0, `n` counts back.
 */
export function nextEnd(end: number, n: number, unit: WindowUnit, zone: string): number {
  if (unit !== 'dd') return end + n * unitMs[unit]
  // Rounded: where clocks skip midnight the day begins later.
  const day = Math.round((end + zoneOffset(end, zone)) / unitMs.dd) + n
  const next = dayStart(day, zone)
  // A zone that crosses the date line skips a whole day.
  if (n > 0) return next > end ? next : dayStart(day + 1, zone)
  return next < end ? next : dayStart(day - 1, zone)
}

/** The first of the boundaries every `n` units from `end` on that is after `time`, without a step for each. */
export function firstEndAfter(time: number, end: number, n: number, unit: WindowUnit, zone: string): number {
  const steps = Math.floor((time - end) / (n * unitMs[unit]))
  let next = steps > 1 ? nextEnd(end, (steps - 1) * n, unit, zone) : end
  while (next <= time) next = nextEnd(next, n, unit, zone)
  return next
}

/** When a local day begins: at midnight, or at the change of clocks that skips it. */
function dayStart(day: number, zone: string): number {
  const midnight = day * unitMs.dd
  const start = fromLocal(midnight, zone)
  return start + Math.max(0, midnight - (start + zoneOffset(start, zone)))
}
