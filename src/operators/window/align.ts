import { civilOf, daysFromCivil, fromLocal, zoneOffset } from '../../core/time-zone.ts'

export type WindowUnit = 'dd' | 'hh' | 'mi' | 'ss' | 'ms'

export const unitMs: Record<WindowUnit, number> = { dd: 86_400_000, hh: 3_600_000, mi: 60_000, ss: 1000, ms: 1 }

/** Units of the clock a window of `n` units aligns within: ms in a second, seconds in a minute, and so on. */
const parentMs: Record<Exclude<WindowUnit, 'dd'>, number> = { ms: 1000, ss: 60_000, mi: 3_600_000, hh: 86_400_000 }

/**
 * The first boundary after `now` (epoch ms) of windows of `n` units in the local time of `zone` (spec/sql.md 3.1): the next
 * multiple of n units counted from the start of the local day, hour, minute or second; for days, local midnight after n days.
 * Strictly after now (D1).
 */
export function alignedEnd(now: number, n: number, unit: WindowUnit, zone: string): number {
  const offset = zoneOffset(now, zone)
  const local = now + offset
  if (unit === 'dd') {
    const { year, month, day } = civilOf(local)
    return fromLocal((daysFromCivil(year, month, day) + n) * unitMs.dd, zone)
  }
  const parent = parentMs[unit]
  const base = Math.floor(local / parent) * parent
  const size = n * unitMs[unit]
  return fromLocal(base + (Math.floor((local - base) / size) + 1) * size, zone)
}

/**
 * The boundary after `end` of windows that follow each other every `n` units: exact multiples, except that days keep to local
 * midnight when daylight saving changes.
 */
export function nextEnd(end: number, n: number, unit: WindowUnit, zone: string): number {
  if (unit !== 'dd') return end + n * unitMs[unit]
  return fromLocal(end + zoneOffset(end, zone) + n * unitMs.dd, zone)
}
