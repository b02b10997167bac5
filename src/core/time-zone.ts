/**
 * Time zones of {@link Instant}: `UTC`, a fixed offset (`+08:00`, with an abbreviation in front when text named one:
 * `CST+08:00`), or an IANA name resolved through Intl. Offsets are milliseconds east of UTC.
 */
import { abbreviations } from './zone-abbreviations.ts'

export interface Civil {
  readonly year: number
  /** 1 to 12. */
  readonly month: number
  readonly day: number
  readonly hour: number
  readonly minute: number
  readonly second: number
  readonly millisecond: number
  /** 0 = Sunday. */
  readonly weekday: number
}

const DAY_MS = 86_400_000
/** Farthest instant from 1970 that JavaScript dates (and Intl) can express. */
const DATE_LIMIT = 8.64e15

/** Days since 1970-01-01 of a date of the proleptic Gregorian calendar; month and day may overflow as in Go's time.Date. */
export function daysFromCivil(year: number, month: number, day: number): number {
  const months = year * 12 + (month - 1)
  const y = Math.floor(months / 12)
  const m = months - y * 12 + 1
  const shifted = m <= 2 ? y - 1 : y
  const era = Math.floor(shifted / 400)
  const yearOfEra = shifted - era * 400
  const dayOfYear = Math.floor((153 * (m + (m > 2 ? -3 : 9)) + 2) / 5)
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear
  return era * 146_097 + dayOfEra - 719_468 + (day - 1)
}

/** The calendar of `localMs` milliseconds since 1970-01-01T00:00 local time. */
export function civilOf(localMs: number): Civil {
  const days = Math.floor(localMs / DAY_MS)
  let rest = localMs - days * DAY_MS
  const shifted = days + 719_468
  const era = Math.floor(shifted / 146_097)
  const dayOfEra = shifted - era * 146_097
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1460) + Math.floor(dayOfEra / 36_524) - Math.floor(dayOfEra / 146_096)) / 365,
  )
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100))
  const part = Math.floor((5 * dayOfYear + 2) / 153)
  const month = part < 10 ? part + 3 : part - 9
  const hour = Math.floor(rest / 3_600_000)
  rest -= hour * 3_600_000
  const minute = Math.floor(rest / 60_000)
  rest -= minute * 60_000
  const second = Math.floor(rest / 1000)
  return {
    year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0),
    month,
    day: dayOfYear - Math.floor((153 * part + 2) / 5) + 1,
    hour,
    minute,
    second,
    millisecond: rest - second * 1000,
    weekday: (((days + 4) % 7) + 7) % 7,
  }
}

/** Milliseconds since 1970-01-01T00:00 of a local date and time. */
export function localMs(year: number, month: number, day: number, hour = 0, minute = 0, second = 0, ms = 0): number {
  return daysFromCivil(year, month, day) * DAY_MS + hour * 3_600_000 + minute * 60_000 + second * 1000 + ms
}

const fixedZone = /^([A-Z]{3,5}(?:[+-]\d{1,2})?|[+-]\d{2})?([+-])(\d\d):(\d\d)(?::(\d\d))?$/

/** A zone string for an offset in seconds; 0 without a name is `UTC`. */
export function fixedZoneOf(offsetSeconds: number, name = ''): string {
  const size = Math.abs(offsetSeconds)
  const two = (n: number): string => String(Math.floor(n)).padStart(2, '0')
  const seconds = size % 60 === 0 ? '' : `:${two(size % 60)}`
  return `${name}${offsetSeconds < 0 ? '-' : '+'}${two(size / 3600)}:${two((size % 3600) / 60)}${seconds}`
}

interface ZoneRules {
  offset(ms: number): number
}

const utcRules: ZoneRules = { offset: () => 0 }
const rulesByZone = new Map<string, ZoneRules | null>([
  ['', utcRules],
  ['UTC', utcRules],
])
/** Zone names come from data (convert_tz), so the table of unknown ones must not grow without limit. */
const MAX_ZONES = 2000

function ianaRules(zone: string): ZoneRules | null {
  // Go's zone files are case-sensitive and never start with a sign or hold spaces.
  if (!/^[A-Za-z][A-Za-z0-9_+-]*(\/[A-Za-z0-9_+-]+)*$/.test(zone)) return null
  let format: Intl.DateTimeFormat
  try {
    format = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      hourCycle: 'h23',
      era: 'short',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    })
  } catch {
    return null
  }
  const measure = (ms: number): number => {
    const part: Record<string, string> = {}
    for (const { type, value } of format.formatToParts(ms)) part[type] = value
    const year = part['era']?.startsWith('B') ? 1 - Number(part['year']) : Number(part['year'])
    const local = localMs(
      year,
      Number(part['month']),
      Number(part['day']),
      Number(part['hour']),
      Number(part['minute']),
      Number(part['second']),
    )
    return local - Math.floor(ms / 1000) * 1000
  }
  // The last span of constant offset that was met: a UTC day, or a quarter of an hour on days with a change.
  let start = 0
  let end = 0
  let known = 0
  return {
    offset: (ms) => {
      if (ms >= start && ms < end) return known
      if (!(Math.abs(ms) < DATE_LIMIT - 2 * DAY_MS)) return 0
      const day = Math.floor(ms / DAY_MS) * DAY_MS
      known = measure(day)
      if (known === measure(day + DAY_MS)) {
        start = day
        end = day + DAY_MS
      } else {
        start = Math.floor(ms / 900_000) * 900_000
        end = start + 900_000
        known = measure(ms)
      }
      return known
    },
  }
}

function rulesOf(zone: string): ZoneRules | null {
  const cached = rulesByZone.get(zone)
  if (cached !== undefined) return cached
  const fixed = fixedZone.exec(zone)
  let rules: ZoneRules | null
  if (fixed) {
    const [, , sign, hours, minutes, seconds = '0'] = fixed
    const size = Number(hours) * 3_600_000 + Number(minutes) * 60_000 + Number(seconds) * 1000
    const offset = sign === '-' ? -size : size
    rules = { offset: () => offset }
  } else {
    rules = ianaRules(zone)
  }
  if (rulesByZone.size >= MAX_ZONES) rulesByZone.clear()
  rulesByZone.set(zone, rules)
  return rules
}

/** The zone string to keep for a name as users write it: '' is UTC, `Local` the zone of the host. Undefined when unknown. */
export function resolveZone(name: string): string | undefined {
  if (name === '' || name === 'UTC') return 'UTC'
  if (name === 'Local') return Intl.DateTimeFormat().resolvedOptions().timeZone
  return rulesOf(name) === null ? undefined : name
}

/** Offset of `zone` at the instant `ms`, in milliseconds east of UTC; 0 for an unknown zone. */
export function zoneOffset(ms: number, zone: string): number {
  return zone === 'UTC' ? 0 : (rulesOf(zone)?.offset(ms) ?? 0)
}

/** The instant at which clocks in `zone` show `local` (ms since 1970-01-01T00:00 local time); gaps and overlaps as Go resolves them. */
export function fromLocal(local: number, zone: string): number {
  const first = zoneOffset(local, zone)
  if (first === 0) return local - zoneOffset(local, zone)
  return local - zoneOffset(local - first, zone)
}

function offsetText(offset: number): string {
  const minutes = Math.abs(Math.trunc(offset / 60_000))
  const text = `${offset < 0 ? '-' : '+'}${String(Math.floor(minutes / 60)).padStart(2, '0')}`
  return minutes % 60 === 0 ? text : text + String(minutes % 60).padStart(2, '0')
}

/**
 * The abbreviation (`CST`, `EDT`, `+03`) in force, from the names of the zone in recent years. A fixed offset without a
 * name has none: the empty text.
 */
export function zoneAbbreviation(ms: number, zone: string): string {
  if (zone === 'UTC' || zone === '') return 'UTC'
  const fixed = fixedZone.exec(zone)
  if (fixed) return fixed[1] ?? ''
  const offset = zoneOffset(ms, zone)
  return abbreviations(zone).find((a) => a.offsetMinutes * 60_000 === offset)?.name ?? offsetText(offset)
}

/** Offset in ms of an abbreviation the zone itself uses, or undefined. */
export function offsetOfAbbreviation(name: string, zone: string): number | undefined {
  if (zone === 'UTC') return name === 'UTC' ? 0 : undefined
  const found = abbreviations(zone).find((a) => a.name === name)
  return found && found.offsetMinutes * 60_000
}
