/**
 * Date and time functions (spec/functions.json category datetime). Arguments become times as in cast(x, "datetime");
 * parts are read in the zone the time carries, which for numbers and zone-less text is the configured one.
 */
import { toInstant, toInt } from '../core/cast.ts'
import { parseDuration } from '../core/duration.ts'
import { messageOf, RowError } from '../core/errors.ts'
import { dayNames, dayOfYear, monthNames } from '../core/go-layout.ts'
import { textOf } from '../core/go-text.ts'
import { formatTime } from '../core/time-format.ts'
import { type Civil, civilOf, daysFromCivil, resolveZone, zoneOffset } from '../core/time-zone.ts'
import { Instant, type Value, wrapInt64 } from '../core/values.ts'
import type { ArgumentInfo, CallContext, FunctionExample, ScalarFunction } from './contract.ts'
import { checkLiterals, datetime, defineScalar, int, text, timeContext } from './helpers.ts'

const family = 'datetime'
const DATE = 'yyyy-MM-dd'
const DATE_TIME = 'yyyy-MM-dd HH:mm:ss'

const instant = (value: Value | undefined, call: CallContext): Instant => toInstant(value ?? null, timeContext(call))

const civil = (at: Instant): Civil => civilOf(at.epochMs + zoneOffset(at.epochMs, at.zone))

/** The current time in the configured zone. */
const current = (call: CallContext): Instant => new Instant(call.clock.now(), 0, call.timezone)

/** A part of one time. */
function part(
  name: string,
  docs: string,
  result: Value,
  read: (c: Civil, at: Instant) => number | string,
  options: { aliases?: readonly string[]; numberInMessage?: number } = {},
): ScalarFunction {
  const { aliases, numberInMessage } = options
  const examples: readonly FunctionExample[] = [
    { expression: `${name}(t)`, row: { t: '2020-02-29 13:04:05.123' }, result },
  ]
  return defineScalar({
    name,
    ...(aliases && { aliases }),
    family,
    args: [datetime('t', numberInMessage === undefined ? {} : { numberInMessage })],
    nulls: 'custom',
    docs,
    examples,
    returns: typeof result === 'bigint' ? 'int64' : 'string',
    run: ([t], call) => {
      const at = instant(t, call)
      const value = read(civil(at), at)
      return typeof value === 'number' ? BigInt(value) : value
    },
  })
}

/** now() and cur_time() accept the number of fraction digits, 0 to 6, as a literal. */
function validateFractionDigits(args: readonly ArgumentInfo[]): string | null {
  return args.length > 1 ? 'too many arguments' : checkLiterals([int('fsp', { literalOnly: true })], args)
}

/**
 * The current time with up to six fraction digits. The reference fails whenever digits are asked for; here they work.
 */
function currentText(pattern: string, args: readonly Value[], call: CallContext): string {
  const at = current(call)
  const body = formatTime(at, pattern)
  if (args.length === 0) return body
  const digits = toInt(args[0] as Value, 'strict')
  if (digits < 0n || digits > 6n) throw new RowError('the number of fraction digits must be 0 to 6')
  return digits === 0n ? body : formatTime(at, `${pattern}${'S'.repeat(Number(digits))}`)
}

export const datetimeFunctions: readonly ScalarFunction[] = [
  defineScalar({
    name: 'convert_tz',
    family,
    args: [datetime('t'), text('zone')],
    docs: 'The same instant in another time zone, given by its IANA name; "" and "UTC" are UTC, "Local" is the zone of the host.',
    examples: [
      {
        expression: 'format_time(convert_tz(t, "Asia/Shanghai"), "yyyy-MM-dd HH:mm")',
        row: { t: '2022-04-13 06:22:32' },
        result: '2022-04-13 14:22',
      },
    ],
    returns: 'time',
    run: ([t, zone], call) => {
      const at = instant(t, call)
      const name = textOf(zone)
      const resolved = resolveZone(name)
      if (resolved === undefined) throw new RowError(`unknown time zone ${name}`)
      return new Instant(at.epochMs, at.nanos, resolved)
    },
  }),
  defineScalar({
    name: 'to_seconds',
    family,
    args: [{ name: 't', type: 'datetime' }],
    docs: 'Epoch seconds, rounded down.',
    examples: [{ expression: 'to_seconds(t)', row: { t: 1649830952233n }, result: 1649830952n }],
    returns: 'int64',
    run: ([t], call) => BigInt(Math.floor(instant(t, call).epochMs / 1000)),
  }),
  defineScalar({
    name: 'now',
    aliases: ['current_timestamp', 'local_time', 'local_timestamp'],
    family,
    args: [int('fsp', { literalOnly: true, optional: true })],
    nulls: 'custom',
    deterministic: false,
    docs: 'The current date and time in the configured zone, `yyyy-MM-dd HH:mm:ss`, with fsp (0 to 6) fraction digits.',
    examples: [{ expression: 'length(now())', result: 19n }],
    returns: 'string',
    validate: validateFractionDigits,
    run: (args, call) => currentText(DATE_TIME, args, call),
  }),
  defineScalar({
    name: 'cur_date',
    aliases: ['current_date'],
    family,
    args: [],
    nulls: 'custom',
    deterministic: false,
    docs: 'The current date in the configured zone, `yyyy-MM-dd`.',
    examples: [{ expression: 'length(cur_date())', result: 10n }],
    returns: 'string',
    run: (_, call) => formatTime(current(call), DATE),
  }),
  defineScalar({
    name: 'cur_time',
    aliases: ['current_time'],
    family,
    args: [int('fsp', { literalOnly: true, optional: true })],
    nulls: 'custom',
    deterministic: false,
    docs: 'The current time of day in the configured zone, `HH:mm:ss`, with fsp (0 to 6) fraction digits.',
    examples: [{ expression: 'length(cur_time())', result: 8n }],
    returns: 'string',
    validate: validateFractionDigits,
    run: (args, call) => currentText('HH:mm:ss', args, call),
  }),
  defineScalar({
    name: 'format_time',
    family,
    args: [datetime('t'), text('pattern')],
    docs: 'A time as text. Letters: yyyy yy, M MM MMM MMMM, d dd, EEE EEEE, HH, h hh, m mm, s ss, S... (fraction with its point), a (AM or PM), z (zone name), Z (+0800), X XX XXX (+08, +0800, +08:00); a backslash or single quotes keep text as it is.',
    examples: [
      {
        expression: 'format_time(t, "yyyy-MM-dd HH:mm:ssSSS")',
        row: { t: 1582981445123n },
        result: '2020-02-29 13:04:05.123',
      },
    ],
    returns: 'string',
    run: ([t, pattern], call) => formatTime(instant(t, call), textOf(pattern)),
  }),
  defineScalar({
    name: 'date_calc',
    family,
    args: [datetime('t'), text('duration', { literalOnly: true })],
    nulls: 'custom',
    docs: 'The time plus a duration such as "1h30m" or "-24h" (units ns, us, ms, s, m, h), as `yyyy-MM-dd HH:mm:ss`.',
    examples: [{ expression: 'date_calc(t, "24h")', row: { t: '2019-01-01 00:00:00' }, result: '2019-01-02 00:00:00' }],
    returns: 'string',
    run: ([t, duration], call) => formatTime(addDuration(instant(t, call), textOf(duration)), DATE_TIME),
  }),
  defineScalar({
    name: 'date_diff',
    family,
    args: [datetime('t1'), datetime('t2', { numberInMessage: 1 })],
    nulls: 'custom',
    docs: 't2 - t1 in nanoseconds.',
    examples: [{ expression: 'date_diff(a, b)', row: { a: 0n, b: 1000n }, result: 1000000000n }],
    returns: 'int64',
    run: ([t1, t2], call) => {
      const from = instant(t1, call)
      const to = instant(t2, call)
      const nanos = BigInt(to.epochMs - from.epochMs) * 1000000n + BigInt(to.nanos - from.nanos)
      // What does not fit in a duration of 64 bits becomes the longest one.
      const limit = 2n ** 63n
      return nanos >= limit ? limit - 1n : nanos < -limit ? -limit : nanos
    },
  }),
  part('day_name', 'English name of the day of the week.', 'Saturday', (c) => dayNames[c.weekday] as string),
  part('day_of_month', 'Day of the month, 1 to 31.', 29n, (c) => c.day, { aliases: ['day'] }),
  part('day_of_week', 'Day of the week, Sunday 0 to Saturday 6.', 6n, (c) => c.weekday),
  part('day_of_year', 'Day of the year, 1 to 366.', 60n, dayOfYear),
  part('hour', 'Hour, 0 to 23.', 13n, (c) => c.hour),
  part('last_day', 'Last day of the month of the time, `yyyy-MM-dd`.', '2020-02-29', (c) =>
    formatTime(new Instant((daysFromCivil(c.year, c.month + 1, 1) - 1) * 86_400_000), DATE),
  ),
  part(
    'microsecond',
    'Microseconds within the second, 0 to 999999.',
    123000n,
    (c, at) => c.millisecond * 1000 + Math.floor(at.nanos / 1000),
  ),
  part('minute', 'Minute, 0 to 59.', 4n, (c) => c.minute),
  part('month', 'Month, 1 to 12.', 2n, (c) => c.month),
  part('month_name', 'English name of the month.', 'February', (c) => monthNames[c.month - 1] as string, {
    numberInMessage: 2,
  }),
  part('second', 'Second, 0 to 59.', 5n, (c) => c.second),
  defineScalar({
    name: 'from_days',
    family,
    args: [int('days', { rejects: ['int', 'float', 'string', 'boolean'] })],
    docs: 'The date days - 1 days after 1970-01-01, `yyyy-MM-dd`; null for 0.',
    examples: [{ expression: 'from_days(a)', row: { a: 100n }, result: '1970-04-10' }],
    returns: 'string',
    run: ([days]) => {
      const count = toInt(days as Value, 'strict')
      return count === 0n ? null : formatTime(new Instant(Number(wrapInt64(count - 1n)) * 86_400_000), DATE)
    },
  }),
  defineScalar({
    name: 'from_unix_time',
    family,
    args: [int('seconds', { rejects: ['int', 'float', 'string', 'boolean'] })],
    docs: 'Epoch seconds as `yyyy-MM-dd HH:mm:ss` in the configured zone; null for 0.',
    examples: [{ expression: 'from_unix_time(a)', row: { a: 1582981445n }, result: '2020-02-29 13:04:05' }],
    returns: 'string',
    run: ([seconds], call) => {
      const count = toInt(seconds as Value, 'strict')
      return count === 0n ? null : formatTime(new Instant(Number(count) * 1000, 0, call.timezone), DATE_TIME)
    },
  }),
]

/** A leading minus subtracts what follows, so that two of them add. */
function addDuration(at: Instant, duration: string): Instant {
  let ms: number
  try {
    ms = duration.startsWith('-') ? -parseDuration(duration.slice(1)) : parseDuration(duration)
  } catch (error) {
    throw new RowError(messageOf(error))
  }
  const whole = Math.floor(ms)
  const nanos = at.nanos + Math.round((ms - whole) * 1e6)
  return new Instant(at.epochMs + whole + Math.floor(nanos / 1e6), nanos % 1e6, at.zone)
}
