/**
 * Printing instants: the engine's patterns (`yyyy-MM-dd HH:mm:ss`), RFC 3339 for JSON, and the plain text form.
 * Pattern letters: spec/functions.json format_time, spec/sql.md 2.9.
 */
import { RowError } from './errors.ts'
import { formatLayout } from './go-layout.ts'
import { zoneAbbreviation } from './time-zone.ts'
import type { Instant } from './values.ts'

/** Per letter: the longest run that is one token, and the layout text by run length (absent: prints nothing). */
const letters: Readonly<
  Record<string, { readonly longest: number; readonly byLength: Readonly<Record<number, string>> }>
> = {
  M: { longest: 5, byLength: { 1: '1', 2: '01', 3: 'Jan', 4: 'January' } },
  d: { longest: 3, byLength: { 1: '2', 2: '02' } },
  h: { longest: 3, byLength: { 1: '3', 2: '03' } },
  m: { longest: 3, byLength: { 1: '4', 2: '04' } },
  s: { longest: 3, byLength: { 1: '5', 2: '05' } },
  X: { longest: 4, byLength: { 1: '-07', 2: '-0700', 3: '-07:00' } },
  Y: { longest: 5, byLength: { 2: '06', 4: '2006' } },
  y: { longest: 5, byLength: { 2: '06', 4: '2006' } },
  E: { longest: 5, byLength: { 3: 'Mon', 4: 'Monday' } },
  H: { longest: 3, byLength: { 2: '15' } },
  G: { longest: 1, byLength: { 1: 'AD' } },
  a: { longest: 1, byLength: { 1: 'PM' } },
  z: { longest: 1, byLength: { 1: 'MST' } },
  Z: { longest: 1, byLength: { 1: '-0700' } },
}

/** The Go layout of a pattern. Throws RowError for letter runs and quotes it does not know. */
export function goLayout(pattern: string): string {
  const known = layouts.get(pattern)
  if (known !== undefined) return known
  const chars = [...pattern]
  let out = ''
  for (let i = 0; i < chars.length; ) {
    const c = chars[i] as string
    if (c === '\\') {
      const escaped = chars[i + 1]
      if (escaped === undefined) throw new RowError(`${pattern} is invalid`)
      out += escaped
      i += 2
    } else if (c === "'") {
      if (chars[i + 1] === "'") {
        out += "'"
        i += 2
        continue
      }
      // The reference panics on a quote that ends the pattern.
      if (i + 1 >= chars.length) throw new RowError(`${pattern} is invalid: a quote opens and never closes`)
      const close = chars.indexOf("'", i + 1)
      const end = close < 0 ? chars.length : close
      out += chars.slice(i + 1, end).join('')
      i = end + 1
    } else if (c === 'S') {
      let end = i
      while (chars[end] === 'S') end++
      out += `.${'0'.repeat(end - i)}`
      i = end
    } else if (Object.hasOwn(letters, c)) {
      const { longest, byLength } = letters[c] as (typeof letters)[string]
      let length = 1
      while (length < longest && chars[i + length] === c) length++
      const text = byLength[length]
      if (text === undefined) {
        if (c === 'Y' || c === 'y') throw new RowError(`invalid time format ${pattern} for Y/y`)
        if (c === 'E') throw new RowError(`invalid time format ${pattern} for E`)
        if (c === 'H') throw new RowError(`invalid time format ${pattern} of H, only HH is supported`)
      }
      out += text ?? ''
      i += length
    } else {
      out += c
      i++
    }
  }
  if (layouts.size >= MAX_CACHED_PATTERNS) layouts.clear()
  layouts.set(pattern, out)
  return out
}

/** Patterns may be columns, so the cache of their layouts is bounded. */
const MAX_CACHED_PATTERNS = 500
const layouts = new Map<string, string>()

/** `pattern` filled with the instant, in its own zone. Throws RowError for a bad pattern. */
export function formatTime(instant: Instant, pattern: string): string {
  return formatLayout(instant, goLayout(pattern))
}

/** RFC 3339 with up to nine fraction digits, zeros trimmed: the JSON form of a time. */
export function rfc3339(instant: Instant): string {
  return formatLayout(instant, '2006-01-02T15:04:05.999999999Z07:00')
}

/** Go's plain text of a time: `2022-07-19 08:12:51.337 +0000 UTC`. */
export function instantText(instant: Instant): string {
  const text = formatLayout(instant, '2006-01-02 15:04:05.999999999 -0700')
  // A nameless fixed offset repeats itself: `+0800 +0800`.
  return `${text} ${zoneAbbreviation(instant.epochMs, instant.zone) || text.slice(text.lastIndexOf(' ') + 1)}`
}
