import { describe, expect, it } from 'vitest'
import { alignedEnd, nextEnd, type WindowUnit } from './align.ts'

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
