/** When a rule may run (spec/rest-api.md 6.3): ranges of time, cron with a duration, or a duration alone. Pure. */
import { Cron } from 'croner'
import type { RuleOptions } from '../catalog/rule-options.ts'
import { parseDuration } from '../core/duration.ts'
import { IxionError, messageOf } from '../core/errors.ts'
import { parseTime } from '../core/time-parse.ts'

export type ScheduleOptions = Pick<RuleOptions, 'cron' | 'duration' | 'cronDatetimeRange'>

/** Runs in turns: waits when it is not its time. */
export function isScheduled({ cron, duration, cronDatetimeRange }: ScheduleOptions): boolean {
  return cronDatetimeRange.length > 0 || (cron !== '' && duration !== '')
}

/** The patrol has to look at it. */
export function isTimed(options: ScheduleOptions): boolean {
  return isScheduled(options) || options.duration !== ''
}

/**
 * What to do with the rule at `now` (epoch ms): `run`; `wait` for its next turn; `end` when it has run for its duration, which
 * began at `started` (null = not running); null = leave it. Texts without zone are in `zone`. Throws IxionError when the
 * schedule cannot be read.
 */
export function scheduleVerdict(
  options: ScheduleOptions,
  now: number,
  started: number | null,
  zone: string,
): 'run' | 'wait' | 'end' | null {
  const { cron, duration } = options
  if (!inRanges(options, now, zone)) return 'wait'
  if (cron === '' && duration === '') return 'run'
  if (duration === '') return null
  const length = parseDuration(duration)
  if (cron !== '') {
    const begin = nextTime(cron, now - length, zone)
    return begin !== null && begin < now && now < begin + length ? 'run' : 'wait'
  }
  return started !== null && now - started >= length ? 'end' : null
}

/** Epoch ms of the next turn of a rule with cron inside its ranges; 0 = unknown. */
export function nextStart(options: ScheduleOptions, now: number, zone: string): number {
  if (options.cron === '' || !isScheduled(options)) return 0
  try {
    return inRanges(options, now, zone) ? (nextTime(options.cron, now, zone) ?? 0) : 0
  } catch {
    return 0
  }
}

/** True when there are no ranges, or `now` is strictly inside one. */
function inRanges({ cronDatetimeRange: ranges }: ScheduleOptions, now: number, zone: string): boolean {
  if (ranges.length === 0) return true
  return ranges.some(({ begin, end, beginTimestamp = 0, endTimestamp = 0 }) => {
    if (beginTimestamp > 0 && endTimestamp > 0) return beginTimestamp < now && now < endTimestamp
    const at = (text: string | undefined): number => parseTime(text ?? '', '', { zone, now }).epochMs
    return at(begin) < now && now < at(end)
  })
}

/** Macros that croner does not know by this name. */
const macros: Readonly<Record<string, string>> = { '@midnight': '@daily' }

/** The first time of the pattern behind `after`, epoch ms; null when there is none. */
function nextTime(pattern: string, after: number, defaultZone: string): number | null {
  const prefixed = /^(?:CRON_)?TZ=(\S+)\s+(.*)$/.exec(pattern.trim())
  const [timezone, text] = prefixed ? [prefixed[1] as string, prefixed[2] as string] : [defaultZone, pattern.trim()]
  const every = /^@every\s+(\S+)$/.exec(text)
  if (every) return nextMultiple(parseDuration(every[1] as string), after)
  try {
    const cron = new Cron(macros[text] ?? text, { timezone, mode: '5-part', paused: true })
    return cron.nextRun(new Date(after))?.getTime() ?? null
  } catch (error) {
    throw new IxionError('INVALID_DOCUMENT', `cron ${pattern}: ${messageOf(error)}`, {
      path: 'options.cron',
      hint: 'Five fields: minute, hour, day of month, month, day of week; or @every 1h, @daily ...',
    })
  }
}

/** `@every` counts from the epoch, so that turns do not depend on who asks when. */
function nextMultiple(interval: number, after: number): number {
  const step = Math.max(1000, interval)
  return (Math.floor(after / step) + 1) * step
}
