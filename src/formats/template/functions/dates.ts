/** Date functions of sprig and the methods of times. Layouts are Go's (`2006-01-02 15:04:05`). */
import { durationText, parseDuration } from '../../../core/duration.ts'
import { messageOf } from '../../../core/errors.ts'
import { dayNames, dayOfYear, formatLayout, monthNames, parseLayout } from '../../../core/go-layout.ts'
import { parseGoInt } from '../../../core/go-number.ts'
import { goQuote } from '../../../core/go-text.ts'
import { instantText } from '../../../core/time-format.ts'
import { civilOf, fromLocal, localMs, resolveZone, zoneOffset } from '../../../core/time-zone.ts'
import { Instant } from '../../../core/values.ts'
import { define, type FunctionTable, type Run, refuse } from '../function.ts'
import { GoInt, goInt, integerOf, typeName, type V } from '../values.ts'

/** Go's zero time. */
const zeroTime = new Instant(-62_135_596_800_000)

/** A time, or seconds since 1970 as an integer; anything else is now. */
function timeOf(value: V, run: Run): Instant {
  if (value instanceof Instant) return value
  const seconds = integerOf(value)
  return seconds === undefined ? new Instant(run.now()) : new Instant(Number(seconds) * 1000)
}

const inZone = (t: Instant, zone: string): Instant => new Instant(t.epochMs, t.nanos, zone)

function format(layout: string, value: V, zone: string, run: Run): string {
  const known = zone === 'Local' ? run.zone : (resolveZone(zone) ?? 'UTC')
  return formatLayout(inZone(timeOf(value, run), known), layout)
}

/** Adds milliseconds with a fraction. */
function shift(t: Instant, ms: number): Instant {
  const whole = Math.floor(ms)
  const nanos = t.nanos + Math.round((ms - whole) * 1e6)
  return new Instant(t.epochMs + whole + Math.floor(nanos / 1e6), nanos % 1e6, t.zone)
}

function durationOf(text: string): number | null {
  try {
    return parseDuration(text)
  } catch {
    return null
  }
}

function mustDuration(text: string): number {
  try {
    return parseDuration(text)
  } catch (error) {
    return refuse(messageOf(error))
  }
}

const roundUnits: readonly [unit: string, ms: number][] = [
  ['y', 365 * 86_400_000],
  ['mo', 30 * 86_400_000],
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
]

/** The duration in its largest unit: 1h30m is `1h`. */
function roundDuration(value: V, run: Run): string {
  let ms = 0
  if (typeof value === 'string') ms = durationOf(value) ?? 0
  else if (typeof value === 'bigint') ms = Number(value) / 1e6
  else if (value instanceof Instant) ms = run.now() - value.epochMs
  const size = Math.abs(ms)
  for (const [unit, length] of roundUnits) if (size > length) return `${Math.floor(size / length)}${unit}`
  return '0s'
}

function seconds(value: V): number {
  if (typeof value === 'bigint') return Number(value)
  if (typeof value !== 'string') return 0
  const int = parseGoInt(value, 10)
  return typeof int === 'bigint' ? Number(int) : 0
}

const modify = define('string time', ([text, t]) => {
  const ms = durationOf(text)
  return ms === null ? t : shift(t, ms)
})
const mustModify = define('string time', ([text, t]) => shift(t, mustDuration(text)))
const dateInZone = define('string any string', ([layout, value, zone], run) => format(layout, value, zone, run))

export const dateFunctions: FunctionTable = {
  ago: define('any', ([value], run) =>
    durationText(Math.round((run.now() - timeOf(value, run).epochMs) / 1000) * 1000),
  ),
  date: define('string any', ([layout, value], run) => format(layout, value, 'Local', run)),
  date_in_zone: dateInZone,
  date_modify: modify,
  dateInZone,
  dateModify: modify,
  duration: define('any', ([value]) => durationText(seconds(value) * 1000)),
  durationRound: define('any', ([value], run) => roundDuration(value, run)),
  htmlDate: define('any', ([value], run) => format('2006-01-02', value, 'Local', run)),
  htmlDateInZone: define('any string', ([value, zone], run) => format('2006-01-02', value, zone, run)),
  must_date_modify: mustModify,
  mustDateModify: mustModify,
  mustToDate: define('string string', ([layout, text], run) => {
    return (
      parseLayout(text, layout, run.zone) ??
      refuse(`parsing time ${goQuote(text)} as ${goQuote(layout)}: it does not fit the layout`)
    )
  }),
  now: define('', (_args, run) => new Instant(run.now(), 0, run.zone)),
  toDate: define('string string', ([layout, text], run) => parseLayout(text, layout, run.zone) ?? zeroTime),
  unixEpoch: define('time', ([t]) => String(Math.floor(t.epochMs / 1000))),
}

const civil = (t: Instant): ReturnType<typeof civilOf> => civilOf(t.epochMs + zoneOffset(t.epochMs, t.zone))
const int64 = (ms: number): bigint => BigInt(Math.floor(ms))
const nanosOf = (t: Instant): bigint => BigInt(t.epochMs) * 1_000_000n + BigInt(t.nanos)

function argument(args: readonly V[], i: number): V {
  return i < args.length ? args[i] : refuse(`wrong number of args: want at least ${i + 1} got ${args.length}`)
}

function other(args: readonly V[]): Instant {
  const value = argument(args, 0)
  return value instanceof Instant ? value : refuse(`wrong type for value; expected time.Time; got ${typeName(value)}`)
}

function whole(args: readonly V[], i: number): number {
  const value = argument(args, i)
  return value instanceof GoInt
    ? Number(value.value)
    : refuse(`wrong type for value; expected int; got ${typeName(value)}`)
}

function addDate(t: Instant, years: number, months: number, days: number): Instant {
  const c = civil(t)
  const local = localMs(c.year + years, c.month + months, c.day + days, c.hour, c.minute, c.second, c.millisecond)
  return new Instant(fromLocal(local, t.zone), t.nanos, t.zone)
}

/** What can be called on a time: `{{now.Unix}}`, `{{(toDate "2006" "2024").Year}}`. */
export const timeMethods: ReadonlyMap<string, (t: Instant, args: readonly V[]) => V> = new Map<
  string,
  (t: Instant, args: readonly V[]) => V
>([
  ['AddDate', (t, args) => addDate(t, whole(args, 0), whole(args, 1), whole(args, 2))],
  ['After', (t, args) => nanosOf(t) > nanosOf(other(args))],
  ['Before', (t, args) => nanosOf(t) < nanosOf(other(args))],
  ['Compare', (t, args) => goInt(nanosOf(t) < nanosOf(other(args)) ? -1 : nanosOf(t) > nanosOf(other(args)) ? 1 : 0)],
  ['Day', (t) => goInt(civil(t).day)],
  ['Equal', (t, args) => nanosOf(t) === nanosOf(other(args))],
  [
    'Format',
    (t, args) => {
      const layout = argument(args, 0)
      return typeof layout === 'string' ? formatLayout(t, layout) : refuse(`expected string; found ${typeName(layout)}`)
    },
  ],
  ['Hour', (t) => goInt(civil(t).hour)],
  ['IsZero', (t) => t.epochMs === zeroTime.epochMs && t.nanos === 0],
  ['Minute', (t) => goInt(civil(t).minute)],
  [
    'Month',
    (t) => {
      const { month } = civil(t)
      return new GoInt(BigInt(month), 'time.Month', monthNames[month - 1])
    },
  ],
  ['Nanosecond', (t) => goInt(civil(t).millisecond * 1_000_000 + t.nanos)],
  ['Second', (t) => goInt(civil(t).second)],
  ['String', (t) => instantText(t)],
  [
    'Sub',
    (t, args) => {
      const nanos = nanosOf(t) - nanosOf(other(args))
      return new GoInt(nanos, 'time.Duration', durationText(Number(nanos) / 1e6))
    },
  ],
  ['UTC', (t) => inZone(t, 'UTC')],
  ['Unix', (t) => int64(t.epochMs / 1000)],
  ['UnixMicro', (t) => nanosOf(t) / 1000n],
  ['UnixMilli', (t) => BigInt(t.epochMs)],
  ['UnixNano', (t) => nanosOf(t)],
  [
    'Weekday',
    (t) => {
      const { weekday } = civil(t)
      return new GoInt(BigInt(weekday), 'time.Weekday', dayNames[weekday])
    },
  ],
  ['Year', (t) => goInt(civil(t).year)],
  ['YearDay', (t) => goInt(dayOfYear(civil(t)))],
])
