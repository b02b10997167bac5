/**
 * Reading times from text (spec/functions.md "Engine rules" 8, spec/sql.md 2.9): the pattern first when one is given, then
 * a fixed list of layouts, first match wins. Text without a zone is in the configured zone.
 */
import { systemClock } from './clock.ts'
import { RowError } from './errors.ts'
import { parseLayout } from './go-layout.ts'
import { goLayout } from './time-format.ts'
import { civilOf, fromLocal, localMs, zoneOffset } from './time-zone.ts'
import { Instant } from './values.ts'

export interface TimeContext {
  /** Zone of text without one and of numbers; default `UTC`. */
  readonly zone?: string
  /** Epoch ms, for text without a date; default the system clock. */
  readonly now?: number
}

const layouts: readonly string[] = [
  '2006',
  '2006-1',
  '2006-1-2',
  '2006-1-2 15',
  '2006-1-2 15:4',
  '2006-1-2 15:4:5',
  '1-2',
  '15:4:5',
  '15:4',
  '15',
  '15:4:5 Jan 2, 2006 MST',
  '2006-01-02 15:04:05.999999999 -0700 MST',
  '2006-01-02T15:04:05Z0700',
  '2006-01-02T15:04:05Z07',
  '2006.1.2',
  '2006.1.2 15:04:05',
  '2006.01.02',
  '2006.01.02 15:04:05',
  '2006.01.02 15:04:05.999999999',
  '1/2/2006',
  '1/2/2006 15:4:5',
  '2006/01/02',
  '20060102',
  '2006/01/02 15:04:05',
  'Mon Jan _2 15:04:05 2006',
  'Mon Jan _2 15:04:05 MST 2006',
  'Mon Jan 02 15:04:05 -0700 2006',
  '02 Jan 06 15:04 MST',
  '02 Jan 06 15:04 -0700',
  'Monday, 02-Jan-06 15:04:05 MST',
  'Mon, 02 Jan 2006 15:04:05 MST',
  'Mon, 02 Jan 2006 15:04:05 -0700',
  '2006-01-02T15:04:05Z07:00',
  '2006-01-02T15:04:05.999999999Z07:00',
  '3:04PM',
  'Jan _2 15:04:05',
  'Jan _2 15:04:05.000',
  'Jan _2 15:04:05.000000',
  'Jan _2 15:04:05.000000000',
  '2006-01-02T15:04:05.000Z07:00',
  '2006-01-02T15:04:05',
]

/** Longer text is no time; it keeps the search over layouts cheap. */
const MAX_LENGTH = 256

/** Text that is nothing but a time of day. */
const onlyTime = /^\s*\d{1,2}(?:(?::\d{1,2})*|(?::\d{1,2}){2}\.(?:\d{3}|\d{6}|\d{9}))\s*$/

/** Pads or cuts the one fraction of a text to 3, 6 or 9 digits; text without exactly one dot stays. */
export function padFraction(text: string): string {
  const dot = text.indexOf('.')
  if (dot < 0 || text.indexOf('.', dot + 1) >= 0) return text
  const rest = text.slice(dot + 1)
  const digits = /^\d*/.exec(rest)?.[0] ?? ''
  const wanted = digits.length > 6 ? 9 : digits.length > 3 ? 6 : 3
  return `${text.slice(0, dot)}.${digits.slice(0, wanted).padEnd(wanted, '0')}${rest.slice(digits.length)}`
}

/** The common machine forms, `yyyy-MM-dd HH:mm:ss` and RFC 3339, without the search. */
const plain = /^(\d{4})-(\d\d)-(\d\d)([ T])(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(Z?)$/

function parsePlain(text: string, zone: string): Instant | null {
  const found = plain.exec(text)
  if (!found) return null
  const [, year, month, day, separator, hour, minute, second, fraction = '', utc] = found
  // A blank with Z, and T with a fraction but no Z, are left to the list.
  if (separator === ' ' && utc === 'Z') return null
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59 || Number(month) > 12) return null
  const nanos = Number(fraction.padEnd(9, '0'))
  const local = localMs(
    Number(year),
    Number(month),
    Number(day),
    Number(hour),
    Number(minute),
    Number(second),
    Math.floor(nanos / 1e6),
  )
  const civil = civilOf(local)
  if (civil.day !== Number(day) || civil.month !== Number(month) || civil.year === 0) return null
  return utc === 'Z' ? new Instant(local, nanos % 1e6) : new Instant(fromLocal(local, zone), nanos % 1e6, zone)
}

/**
 * The instant a text stands for. `pattern` (engine letters, see time-format.ts) is tried before the list.
 * Throws RowError `Can't parse string as time: TEXT`, or about the pattern.
 */
export function parseTime(text: string, pattern = '', context: TimeContext = {}): Instant {
  const zone = context.zone ?? 'UTC'
  if (pattern === '') {
    const fast = parsePlain(text, zone)
    if (fast) return fast
  }
  const layout = goLayout(pattern)
  const padded = padFraction(text)
  let found: Instant | null = null
  if (padded.length <= MAX_LENGTH) {
    // A pattern may name a fraction of any length, so the text is tried as it is, too.
    if (layout !== '') found = parseLayout(text, layout, zone) ?? parseLayout(padded, layout, zone)
    for (let i = 0; found === null && i < layouts.length; i++) found = parseLayout(padded, layouts[i] as string, zone)
  }
  if (found === null) throw new RowError(`Can't parse string as time: ${padded}`)
  return completeDate(found, padded, zone, context)
}

/**
 * What the text left out comes from the current time: a time of day gets today's date, a date without a year the current
 * year. Unlike the reference, a part that is named as zero stays zero.
 */
function completeDate(found: Instant, text: string, zone: string, context: TimeContext): Instant {
  const civil = civilOf(found.epochMs + zoneOffset(found.epochMs, found.zone))
  const timeOnly = onlyTime.test(text)
  if (civil.year !== 0 && !timeOnly) return found
  const now = context.now ?? systemClock.now()
  const today = civilOf(now + zoneOffset(now, zone))
  const { month, day } = timeOnly ? today : civil
  const local = localMs(civil.year || today.year, month, day, civil.hour, civil.minute, civil.second, civil.millisecond)
  return new Instant(fromLocal(local, found.zone), found.nanos, found.zone)
}
