import { describe, expect, it } from 'vitest'
import { restartDelay } from './restart.ts'
import { isScheduled, nextStart, type ScheduleOptions, scheduleVerdict } from './schedule.ts'

const none: ScheduleOptions = { cron: '', duration: '', cronDatetimeRange: [] }
const at = (text: string): number => Date.parse(`${text}Z`)
const verdict = (options: Partial<ScheduleOptions>, now: string, started: string | null = null, zone = 'UTC') =>
  scheduleVerdict({ ...none, ...options }, at(now), started === null ? null : at(started), zone)

describe('a schedule', () => {
  it('is ranges of time, or cron with a duration', () => {
    expect(isScheduled(none)).toBe(false)
    expect(isScheduled({ ...none, cron: '* * * * *' })).toBe(false)
    expect(isScheduled({ ...none, duration: '1m' })).toBe(false)
    expect(isScheduled({ ...none, cron: '* * * * *', duration: '1m' })).toBe(true)
    expect(isScheduled({ ...none, cronDatetimeRange: [{ beginTimestamp: 1, endTimestamp: 2 }] })).toBe(true)
  })

  it('runs strictly inside its ranges, read in the zone of the engine', () => {
    const cronDatetimeRange = [{ begin: '2024-01-01 00:00:00', end: '2024-01-01 01:00:00' }]
    expect(verdict({ cronDatetimeRange }, '2024-01-01T00:00:00')).toBe('wait')
    expect(verdict({ cronDatetimeRange }, '2024-01-01T00:00:01')).toBe('run')
    expect(verdict({ cronDatetimeRange }, '2024-01-01T01:00:00')).toBe('wait')
    expect(verdict({ cronDatetimeRange }, '2023-12-31T16:30:00', null, 'Asia/Shanghai')).toBe('run')
    const several = [...cronDatetimeRange, { beginTimestamp: at('2024-02-01'), endTimestamp: at('2024-02-02') }]
    expect(verdict({ cronDatetimeRange: several }, '2024-02-01T10:00:00')).toBe('run')
  })

  it('runs for its duration from each time of the pattern on', () => {
    const daily = { cron: '0 6 * * *', duration: '10m' }
    expect(verdict(daily, '2024-01-01T05:59:59')).toBe('wait')
    expect(verdict(daily, '2024-01-01T06:00:01')).toBe('run')
    expect(verdict(daily, '2024-01-01T06:09:59')).toBe('run')
    expect(verdict(daily, '2024-01-01T06:10:00')).toBe('wait')
    expect(verdict({ ...daily, cron: 'TZ=Asia/Tokyo 0 6 * * *' }, '2024-01-01T21:05:00')).toBe('run')
    expect(verdict({ cron: '@every 1h', duration: '10m' }, '2024-01-01T03:05:00')).toBe('run')
    expect(verdict({ cron: '@every 1h', duration: '10m' }, '2024-01-01T03:15:00')).toBe('wait')
    expect(verdict({ cron: '@midnight', duration: '10m' }, '2024-01-01T00:05:00')).toBe('run')
  })

  it('does not run outside its ranges, whatever the pattern says', () => {
    const cronDatetimeRange = [{ begin: '2024-01-02 00:00:00', end: '2024-01-03 00:00:00' }]
    expect(verdict({ cron: '* * * * *', duration: '1h', cronDatetimeRange }, '2024-01-01T06:00:01')).toBe('wait')
    expect(verdict({ cron: '* * * * *', duration: '1h', cronDatetimeRange }, '2024-01-02T06:00:01')).toBe('run')
  })

  it('ends a rule that has run for its duration, when there is no pattern', () => {
    expect(verdict({ duration: '10s' }, '2024-01-01T00:00:09', '2024-01-01')).toBe(null)
    expect(verdict({ duration: '10s' }, '2024-01-01T00:00:10', '2024-01-01')).toBe('end')
    expect(verdict({ duration: '10s' }, '2024-01-01T00:00:10')).toBe(null)
  })

  it('says when it runs next', () => {
    const now = at('2024-01-01T05:00:00')
    expect(nextStart({ ...none, cron: '0 6 * * *', duration: '1m' }, now, 'UTC')).toBe(at('2024-01-01T06:00:00'))
    expect(nextStart({ ...none, cron: '0 6 * * *' }, now, 'UTC')).toBe(0)
    expect(nextStart({ ...none, cron: 'nonsense', duration: '1m' }, now, 'UTC')).toBe(0)
    const past = [{ beginTimestamp: 1, endTimestamp: 2 }]
    expect(nextStart({ cron: '0 6 * * *', duration: '1m', cronDatetimeRange: past }, now, 'UTC')).toBe(0)
  })

  it('names a pattern it cannot read', () => {
    expect(() => verdict({ cron: '61 * * * *', duration: '1m' }, '2024-01-01')).toThrow(/cron 61 \* \* \* \*/)
  })
})

describe('the pause before a restart', () => {
  const strategy = { attempts: 4, delay: 1000, multiplier: 2, maxDelay: 5000, jitter: 0 }
  it('grows to its limit and ends', () => {
    expect([0, 1, 2, 3, 4].map((n) => restartDelay(strategy, n, 0.5))).toEqual([1000, 2000, 4000, 5000, null])
  })
  it('spreads around the pause, never beyond the limit', () => {
    const spread = { ...strategy, jitter: 0.5 }
    expect(restartDelay(spread, 0, 0)).toBe(500)
    expect(restartDelay(spread, 0, 0.999999)).toBe(1500)
    expect(restartDelay(spread, 3, 0.999999)).toBe(5000)
  })
  it('is not taken without attempts', () => {
    expect(restartDelay({ ...strategy, attempts: 0 }, 0, 0.5)).toBe(null)
  })
})
