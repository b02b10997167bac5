/**
 * Go's reference layouts (`2006-01-02 15:04:05.000`): splitting a layout into fields, printing and reading instants with it.
 * The engine's own patterns (`yyyy-MM-dd`) are translated to these (time-format.ts), so that text left in a pattern keeps
 * the meaning Go gives it (spec/functions.json format_time).
 */
import {
  type Civil,
  civilOf,
  daysFromCivil,
  fixedZoneOf,
  fromLocal,
  localMs,
  offsetOfAbbreviation,
  zoneAbbreviation,
  zoneOffset,
} from './time-zone.ts'
import { Instant } from './values.ts'

export const monthNames = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
] as const
export const dayNames = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'] as const

type Field =
  | 'year'
  | 'year2'
  | 'month'
  | 'month2'
  | 'monthName'
  | 'monthShort'
  | 'day'
  | 'day2'
  | 'dayPadded'
  | 'yearDay3'
  | 'yearDayPadded'
  | 'weekday'
  | 'weekdayShort'
  | 'hour24'
  | 'hour12'
  | 'hour12Two'
  | 'minute'
  | 'minute2'
  | 'second'
  | 'second2'
  | 'PM'
  | 'pm'
  | 'zone'
  | 'fraction'
  | 'offset'

interface Token {
  /** Literal text before the field (or the tail of the layout, with field null). */
  readonly prefix: string
  readonly field: Field | null
  /** offset: its shape; fraction: its text (`.000`, `,999`). */
  readonly text: string
}

/** Fields by their reference text; among those that start at one place the longest wins. */
const referenceTexts: readonly (readonly [string, Field])[] = [
  ['January', 'monthName'],
  ['Jan', 'monthShort'],
  ['Monday', 'weekday'],
  ['Mon', 'weekdayShort'],
  ['MST', 'zone'],
  ['2006', 'year'],
  ['__2', 'yearDayPadded'],
  ['_2', 'dayPadded'],
  ['002', 'yearDay3'],
  ['01', 'month2'],
  ['02', 'day2'],
  ['03', 'hour12Two'],
  ['04', 'minute2'],
  ['05', 'second2'],
  ['06', 'year2'],
  ['15', 'hour24'],
  ['1', 'month'],
  ['2', 'day'],
  ['3', 'hour12'],
  ['4', 'minute'],
  ['5', 'second'],
  ['PM', 'PM'],
  ['pm', 'pm'],
]
const offsetShapes = [
  '-07:00:00',
  '-070000',
  '-07:00',
  '-0700',
  '-07',
  'Z07:00:00',
  'Z070000',
  'Z07:00',
  'Z0700',
  'Z07',
] as const

function fieldAt(layout: string, i: number): { field: Field; text: string } | undefined {
  const c = layout[i] as string
  if (c === '-' || c === 'Z') {
    const shape = offsetShapes.find((s) => layout.startsWith(s, i))
    return shape && { field: 'offset', text: shape }
  }
  if (c === '.' || c === ',') {
    const digit = layout[i + 1]
    if (digit !== '0' && digit !== '9') return undefined
    let end = i + 1
    while (layout[end] === digit) end++
    // A run followed by another digit is no fraction.
    return /[0-9]/.test(layout[end] ?? '') ? undefined : { field: 'fraction', text: layout.slice(i, end) }
  }
  for (const [text, field] of referenceTexts) {
    if (!layout.startsWith(text, i)) continue
    // `Jan` inside a lower-case word (`Janet`) is plain text; `Mon` likewise.
    if (text === 'Jan' || text === 'Mon') {
      if (/[a-z]/.test(layout[i + 3] ?? '')) continue
    }
    // `_2006` is an underscore and a year.
    if (text === '_2' && layout.startsWith('_2006', i)) return undefined
    return { field, text }
  }
  return undefined
}

const MAX_CACHED_LAYOUTS = 500
const cache = new Map<string, readonly Token[]>()

function tokensOf(layout: string): readonly Token[] {
  const known = cache.get(layout)
  if (known) return known
  const tokens: Token[] = []
  let start = 0
  for (let i = 0; i < layout.length; ) {
    const found = fieldAt(layout, i)
    if (found === undefined) {
      i++
      continue
    }
    tokens.push({ prefix: layout.slice(start, i), field: found.field, text: found.text })
    i += found.text.length
    start = i
  }
  tokens.push({ prefix: layout.slice(start), field: null, text: '' })
  if (cache.size >= MAX_CACHED_LAYOUTS) cache.clear()
  cache.set(layout, tokens)
  return tokens
}

const two = (n: number): string => (n < 10 ? `0${n}` : String(n))

function yearText(year: number): string {
  const digits = String(Math.abs(year)).padStart(4, '0')
  return year < 0 ? `-${digits}` : digits
}

function fractionText(shape: string, milli: number, nanos: number): string {
  const digits = String(milli).padStart(3, '0') + String(nanos).padStart(6, '0')
  const wanted = digits.slice(0, shape.length - 1)
  if (shape[1] === '0') return shape[0] + wanted
  const trimmed = wanted.replace(/0+$/, '')
  return trimmed === '' ? '' : shape[0] + trimmed
}

function printOffset(shape: string, offsetMs: number): string {
  if (shape[0] === 'Z' && offsetMs === 0) return 'Z'
  const seconds = Math.abs(Math.trunc(offsetMs / 1000))
  const colon = shape.includes(':') ? ':' : ''
  let text = `${offsetMs < 0 ? '-' : '+'}${two(Math.floor(seconds / 3600))}`
  if (shape.length > 3) text += colon + two(Math.floor((seconds % 3600) / 60))
  if (shape.length > 6) text += colon + two(seconds % 60)
  return text
}

/** Prints an instant in its own zone. */
export function formatLayout(instant: Instant, layout: string): string {
  const offset = zoneOffset(instant.epochMs, instant.zone)
  const civil = civilOf(instant.epochMs + offset)
  let out = ''
  for (const { prefix, field, text } of tokensOf(layout)) {
    out += prefix
    if (field === null) break
    out +=
      field === 'fraction'
        ? fractionText(text, civil.millisecond, instant.nanos)
        : field === 'offset'
          ? printOffset(text, offset)
          : field === 'zone'
            ? zoneAbbreviation(instant.epochMs, instant.zone) ||
              printOffset(offset % 3_600_000 ? '-0700' : '-07', offset)
            : printField(field, civil)
  }
  return out
}

export function dayOfYear(civil: Civil): number {
  return daysFromCivil(civil.year, civil.month, civil.day) - daysFromCivil(civil.year, 1, 1) + 1
}

function printField(field: Exclude<Field, 'fraction' | 'offset' | 'zone'>, civil: Civil): string {
  switch (field) {
    case 'year':
      return yearText(civil.year)
    case 'year2':
      return two(((civil.year % 100) + 100) % 100)
    case 'month':
      return String(civil.month)
    case 'month2':
      return two(civil.month)
    case 'monthName':
      return monthNames[civil.month - 1] as string
    case 'monthShort':
      return (monthNames[civil.month - 1] as string).slice(0, 3)
    case 'day':
      return String(civil.day)
    case 'day2':
      return two(civil.day)
    case 'dayPadded':
      return String(civil.day).padStart(2, ' ')
    case 'yearDay3':
      return String(dayOfYear(civil)).padStart(3, '0')
    case 'yearDayPadded':
      return String(dayOfYear(civil)).padStart(3, ' ')
    case 'weekday':
      return dayNames[civil.weekday] as string
    case 'weekdayShort':
      return (dayNames[civil.weekday] as string).slice(0, 3)
    case 'hour24':
      return two(civil.hour)
    case 'hour12':
      return String(civil.hour % 12 || 12)
    case 'hour12Two':
      return two(civil.hour % 12 || 12)
    case 'minute':
      return String(civil.minute)
    case 'minute2':
      return two(civil.minute)
    case 'second':
      return String(civil.second)
    case 'second2':
      return two(civil.second)
    case 'PM':
      return civil.hour >= 12 ? 'PM' : 'AM'
    case 'pm':
      return civil.hour >= 12 ? 'pm' : 'am'
  }
}

/** What a text said, before zones are applied. Members not in the text keep Go's defaults (January 1 of year 0). */
interface Reading {
  year: number
  month: number
  day: number
  yearDay: number
  hour: number
  minute: number
  second: number
  nanos: number
  pm: boolean | null
  offsetSeconds: number | null
  zoneName: string
  utc: boolean
}

/** A cursor over the text being read; every method answers null when the text does not fit. */
class Cursor {
  readonly text: string
  at = 0
  constructor(text: string) {
    this.text = text
  }
  isDigit(ahead = 0): boolean {
    const code = this.text.charCodeAt(this.at + ahead)
    return code >= 48 && code <= 57
  }
  /** One or two digits; exactly two when `fixed`. */
  number(fixed: boolean): number | null {
    if (!this.isDigit()) return null
    const length = this.isDigit(1) ? 2 : 1
    if (fixed && length === 1) return null
    return this.digits(length)
  }
  digits(length: number): number | null {
    for (let i = 0; i < length; i++) if (!this.isDigit(i)) return null
    const value = Number(this.text.slice(this.at, this.at + length))
    this.at += length
    return value
  }
  /** Index of the name the text goes on with (any case), by full names or their first three letters. */
  name(names: readonly string[], length?: 3): number | null {
    const rest = this.text.slice(this.at, this.at + 9).toLowerCase()
    for (let i = 0; i < names.length; i++) {
      const name = (names[i] as string).slice(0, length)
      if (!rest.startsWith(name.toLowerCase())) continue
      this.at += name.length
      return i
    }
    return null
  }
  /** Literal layout text; a blank run of the layout stands for any number of blanks. */
  literal(prefix: string): boolean {
    for (let i = 0; i < prefix.length; ) {
      if (prefix[i] === ' ') {
        if (this.at < this.text.length && this.text[this.at] !== ' ') return false
        while (prefix[i] === ' ') i++
        while (this.text[this.at] === ' ') this.at++
        continue
      }
      if (this.text[this.at] !== prefix[i]) return false
      this.at++
      i++
    }
    return true
  }
  /** Digits of a fraction after its separator at the cursor; at most nine count. */
  fraction(): number {
    let end = this.at + 1
    while (end < this.text.length && this.text.charCodeAt(end) >= 48 && this.text.charCodeAt(end) <= 57) end++
    const digits = this.text.slice(this.at + 1, end)
    this.at = end
    return Number(digits.slice(0, 9).padEnd(9, '0'))
  }
  isFraction(): boolean {
    const c = this.text[this.at]
    return (c === '.' || c === ',') && this.isDigit(1)
  }
}

/** Length of the zone abbreviation at the cursor, 0 when there is none (Go's rules: 3 or 4 letters, GMT+n, +nn). */
function abbreviationLength(rest: string): number {
  if (rest.length < 3) return 0
  if (rest.startsWith('ChST') || rest.startsWith('MeST')) return 4
  if (rest.startsWith('GMT')) {
    const signed = /^[+-](\d{1,2})(?!\d)/.exec(rest.slice(3))
    return signed && Number(signed[1]) <= 23 ? 3 + signed[0].length : 3
  }
  const signed = /^[+-](\d+)/.exec(rest)
  if (signed) return Number(signed[1]) <= 23 ? signed[0].length : 0
  const upper = /^[A-Z]{0,6}/.exec(rest)?.[0].length ?? 0
  if (upper === 5 && rest[4] === 'T') return 5
  if (upper === 4 && (rest[3] === 'T' || rest.startsWith('WITA'))) return 4
  return upper === 3 ? 3 : 0
}

function readOffset(cursor: Cursor, shape: string, into: Reading): boolean {
  if (shape[0] === 'Z' && cursor.text[cursor.at] === 'Z') {
    cursor.at++
    into.utc = true
    return true
  }
  const rest = cursor.text.slice(cursor.at, cursor.at + shape.length)
  const pattern =
    shape.length === 3
      ? /^([+-])(\d\d)$/
      : shape.includes(':')
        ? shape.length === 6
          ? /^([+-])(\d\d):(\d\d)$/
          : /^([+-])(\d\d):(\d\d):(\d\d)$/
        : shape.length === 5
          ? /^([+-])(\d\d)(\d\d)$/
          : /^([+-])(\d\d)(\d\d)(\d\d)$/
  const found = pattern.exec(rest)
  if (!found) return false
  const [, sign, hours, minutes = '0', seconds = '0'] = found
  if (Number(hours) > 24 || Number(minutes) > 60 || Number(seconds) > 60) return false
  const size = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)
  into.offsetSeconds = sign === '-' ? -size : size
  cursor.at += rest.length
  return true
}

const within = (n: number | null, low: number, high: number): n is number => n !== null && n >= low && n <= high

function readField(cursor: Cursor, field: Field, text: string, next: Token | undefined, into: Reading): boolean {
  let n: number | null
  switch (field) {
    case 'year':
      n = cursor.digits(4)
      if (n === null) return false
      into.year = n
      return true
    case 'year2':
      n = cursor.digits(2)
      if (n === null) return false
      into.year = n >= 69 ? n + 1900 : n + 2000
      return true
    case 'month':
    case 'month2':
      n = cursor.number(field === 'month2')
      if (!within(n, 1, 12)) return false
      into.month = n
      return true
    case 'monthName':
    case 'monthShort':
      n = cursor.name(monthNames, field === 'monthShort' ? 3 : undefined)
      if (n === null) return false
      into.month = n + 1
      return true
    case 'weekday':
    case 'weekdayShort':
      return cursor.name(dayNames, field === 'weekdayShort' ? 3 : undefined) !== null
    case 'day':
    case 'day2':
    case 'dayPadded':
      if (field === 'dayPadded' && cursor.text[cursor.at] === ' ') cursor.at++
      n = cursor.number(field === 'day2')
      if (n === null) return false
      into.day = n
      return true
    case 'yearDay3':
    case 'yearDayPadded':
      if (field === 'yearDayPadded') while (cursor.text[cursor.at] === ' ') cursor.at++
      n = cursor.digits(field === 'yearDay3' ? 3 : (/^\d{1,3}/.exec(cursor.text.slice(cursor.at))?.[0].length ?? 1))
      if (n === null) return false
      into.yearDay = n
      return true
    case 'hour24':
      n = cursor.number(false)
      if (!within(n, 0, 23)) return false
      into.hour = n
      return true
    case 'hour12':
    case 'hour12Two':
      n = cursor.number(field === 'hour12Two')
      if (!within(n, 0, 12)) return false
      into.hour = n
      return true
    case 'minute':
    case 'minute2':
      n = cursor.number(field === 'minute2')
      if (!within(n, 0, 59)) return false
      into.minute = n
      return true
    case 'second':
    case 'second2':
      n = cursor.number(field === 'second2')
      if (!within(n, 0, 59)) return false
      into.second = n
      // Seconds take a fraction even where the layout names none.
      if (cursor.isFraction() && !(next?.prefix === '' && next.field === 'fraction')) into.nanos = cursor.fraction()
      return true
    case 'PM':
    case 'pm': {
      const word = cursor.text.slice(cursor.at, cursor.at + 2)
      const am = field === 'PM' ? 'AM' : 'am'
      if (word !== am && word !== field) return false
      into.pm = word !== am
      cursor.at += 2
      return true
    }
    case 'offset':
      return readOffset(cursor, text, into)
    case 'zone': {
      if (cursor.text.startsWith('UTC', cursor.at)) {
        cursor.at += 3
        into.utc = true
        return true
      }
      const length = abbreviationLength(cursor.text.slice(cursor.at))
      if (length === 0) return false
      into.zoneName = cursor.text.slice(cursor.at, cursor.at + length)
      cursor.at += length
      return true
    }
    case 'fraction': {
      if (text[1] === '9') {
        // Optional: any number of digits.
        if (cursor.isFraction()) into.nanos = cursor.fraction()
        return true
      }
      const separator = cursor.text[cursor.at]
      if (separator !== '.' && separator !== ',') return false
      for (let i = 1; i < text.length; i++) if (!cursor.isDigit(i)) return false
      into.nanos = Number(cursor.text.slice(cursor.at + 1, cursor.at + Math.min(text.length, 10)).padEnd(9, '0'))
      cursor.at += text.length
      return true
    }
  }
}

/** The instant a text stands for, zone-less text in `zone`; null when it does not fit the layout. */
export function parseLayout(text: string, layout: string, zone: string): Instant | null {
  const into: Reading = {
    year: 0,
    month: -1,
    day: -1,
    yearDay: -1,
    hour: 0,
    minute: 0,
    second: 0,
    nanos: 0,
    pm: null,
    offsetSeconds: null,
    zoneName: '',
    utc: false,
  }
  const cursor = new Cursor(text)
  const tokens = tokensOf(layout)
  for (let i = 0; i < tokens.length; i++) {
    const { prefix, field, text: shape } = tokens[i] as Token
    if (!cursor.literal(prefix)) return null
    if (field === null) break
    if (!readField(cursor, field, shape, tokens[i + 1], into)) return null
  }
  if (cursor.at !== text.length) return null
  if (into.pm === true && into.hour < 12) into.hour += 12
  else if (into.pm === false && into.hour === 12) into.hour = 0
  return settle(into, zone)
}

function settle(r: Reading, zone: string): Instant | null {
  if (r.yearDay >= 0) {
    const leap = daysFromCivil(r.year + 1, 1, 1) - daysFromCivil(r.year, 1, 1)
    if (r.yearDay < 1 || r.yearDay > leap) return null
    const date = civilOf(daysFromCivil(r.year, 1, r.yearDay) * 86_400_000)
    if ((r.month >= 0 && r.month !== date.month) || (r.day >= 0 && r.day !== date.day)) return null
    r.month = date.month
    r.day = date.day
  } else {
    if (r.month < 0) r.month = 1
    if (r.day < 0) r.day = 1
  }
  const daysInMonth = daysFromCivil(r.year, r.month + 1, 1) - daysFromCivil(r.year, r.month, 1)
  if (r.day < 1 || r.day > daysInMonth) return null
  const local = localMs(r.year, r.month, r.day, r.hour, r.minute, r.second, Math.floor(r.nanos / 1e6))
  const nanos = r.nanos % 1e6
  if (r.utc) return new Instant(local, nanos, 'UTC')
  if (r.offsetSeconds !== null) {
    const at = local - r.offsetSeconds * 1000
    const same =
      zoneOffset(at, zone) === r.offsetSeconds * 1000 &&
      (r.zoneName === '' || r.zoneName === zoneAbbreviation(at, zone))
    return new Instant(at, nanos, same ? zone : fixedZoneOf(r.offsetSeconds, r.zoneName))
  }
  if (r.zoneName !== '') {
    const offset = offsetOfAbbreviation(r.zoneName, zone)
    if (offset !== undefined) return new Instant(local - offset, nanos, zone)
    const hours = r.zoneName.startsWith('GMT') ? Number(r.zoneName.slice(3) || 0) : 0
    // An abbreviation nobody knows counts as UTC, but keeps its name.
    return new Instant(local - hours * 3_600_000, nanos, fixedZoneOf(hours * 3600, r.zoneName))
  }
  return new Instant(fromLocal(local, zone), nanos, zone)
}
