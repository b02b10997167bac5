import { describe, expect, it } from 'vitest'
import { seeded } from '../../../test/support/random-json.ts'
import { zoneOffset } from '../../core/time-zone.ts'
import { alignedEnd, firstEndAfter, nextEnd, unitMs, type WindowUnit } from './align.ts'

const at = (text: string): number => Date.parse(text)

describe('the first boundary of aligned windows', () => {
  const now = 1658218371337 // 2022-07-19 16:12:51.337 +08:00
  const vectors: [number, WindowUnit, number][] = [
    [10, 'ms', 1658218371340],
    [500, 'ms', 1658218371500],
    [1, 'ss', 1658218372000],
    [40, 'ss', 1658218400000],
    [1, 'mi', 1658218380000],
    [3, 'mi', 1658218500000],
    [1, 'hh', 1658221200000],
    [2, 'hh', 1658224800000],
    [5, 'hh', 1658232000000],
    [1, 'dd', 1658246400000],
    [7, 'dd', 1658764800000],
  ]
  it.each(vectors)('%i %s', (n, unit, expected) => {
    expect(alignedEnd(now, n, unit, 'Asia/Shanghai')).toBe(expected)
  })

  it('lies strictly after now, also on a boundary', () => {
    expect(alignedEnd(at('2024-01-01T00:00:10Z'), 10, 'ss', 'UTC')).toBe(at('2024-01-01T00:00:20Z'))
    expect(alignedEnd(at('2024-01-01T00:00:00Z'), 1, 'dd', 'UTC')).toBe(at('2024-01-02T00:00:00Z'))
  })

  it('keeps day windows at local midnight when daylight saving begins and ends', () => {
    const zone = 'Europe/Berlin'
    const spring = alignedEnd(at('2024-03-30T12:00:00+01:00'), 1, 'dd', zone)
    expect(spring).toBe(at('2024-03-31T00:00:00+01:00'))
    expect(nextEnd(spring, 1, 'dd', zone)).toBe(at('2024-04-01T00:00:00+02:00'))
    const autumn = alignedEnd(at('2024-10-26T12:00:00+02:00'), 1, 'dd', zone)
    expect(nextEnd(autumn, 1, 'dd', zone)).toBe(at('2024-10-28T00:00:00+01:00'))
  })
})

/** Zones that change clocks at midnight, by half an hour, or by a day, and moments around their changes. */
const changes: readonly [zone: string, change: string][] = [
  ['Europe/Berlin', '2024-03-31T01:00Z'],
  ['Europe/Berlin', '2024-10-27T01:00Z'],
  ['Africa/Cairo', '2024-04-25T22:00Z'],
  ['Africa/Cairo', '2024-10-31T21:00Z'],
  ['America/Sao_Paulo', '2018-11-04T03:00Z'],
  ['Asia/Beirut', '2024-03-30T22:00Z'],
  ['Australia/Lord_Howe', '2024-04-06T15:00Z'],
  ['Australia/Lord_Howe', '2024-10-05T15:30Z'],
  ['Pacific/Apia', '2011-12-30T10:00Z'],
]
const units: readonly [number, WindowUnit][] = [
  [250, 'ms'],
  [10, 'ss'],
  [7, 'mi'],
  [1, 'hh'],
  [5, 'hh'],
  [1, 'dd'],
  [3, 'dd'],
]

describe.each(changes)('around a change of clocks in %s, %s', (zone, change) => {
  const random = seeded(7)
  const moments = Array.from({ length: 60 }, () => at(change) + random.int(200 * 3_600_000) - 100 * 3_600_000)
  const near = Array.from({ length: 60 }, () => at(change) + random.int(3 * 3_600_000) - 90 * 60_000)

  it.each(units)('%i %s: the first boundary is after now and no more than a window away', (n, unit) => {
    const leeway = unit === 'dd' ? 24 * 3_600_000 : 0
    for (const now of [...moments, ...near]) {
      const end = alignedEnd(now, n, unit, zone)
      expect(end).toBeGreaterThan(now)
      expect(end - now).toBeLessThanOrEqual(n * unitMs[unit] + leeway)
    }
  })

  it('days begin with the local day, one after the other, in both directions', () => {
    let end = alignedEnd(at(change) - 5 * unitMs.dd, 1, 'dd', zone)
    for (let i = 0; i < 10; i++) {
      const local = (ms: number): number => Math.floor((ms + zoneOffset(ms, zone)) / unitMs.dd)
      expect(local(end)).toBeGreaterThan(local(end - 1))
      const next = nextEnd(end, 1, 'dd', zone)
      expect(next).toBeGreaterThan(end)
      expect(nextEnd(next, -1, 'dd', zone)).toBe(end)
      end = next
    }
  })

  it.each(units)('%i %s: many boundaries at once are as many steps', (n, unit) => {
    const first = alignedEnd(at(change) - 100 * 3_600_000, n, unit, zone)
    for (const time of moments.filter((moment) => moment - first < 5000 * n * unitMs[unit])) {
      let end = first
      while (end <= time) end = nextEnd(end, n, unit, zone)
      expect(firstEndAfter(time, first, n, unit, zone)).toBe(end)
    }
  })
})
