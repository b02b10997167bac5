import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { RowError } from './errors.ts'
import { formatLayout, parseLayout } from './go-layout.ts'
import { formatTime, goLayout, instantText, rfc3339 } from './time-format.ts'
import { padFraction, parseTime } from './time-parse.ts'
import { civilOf, fromLocal, localMs, resolveZone, zoneAbbreviation, zoneOffset } from './time-zone.ts'
import { Instant } from './values.ts'

const zones = ['UTC', 'Asia/Shanghai', 'America/New_York', 'Asia/Kolkata', 'Australia/Lord_Howe', '-03:30']
const zone = fc.constantFrom(...zones)
const recentMs = fc.integer({ min: 0, max: 4_102_444_800_000 })

describe('calendar', () => {
  test('dates agree with JavaScript’s own over four thousand years', () => {
    fc.assert(
      fc.property(fc.integer({ min: -62_135_596_800_000, max: 64_060_588_800_000 }), (ms) => {
        const date = new Date(ms)
        const civil = civilOf(ms)
        expect([civil.year, civil.month, civil.day, civil.hour, civil.minute, civil.second, civil.millisecond]).toEqual(
          [
            date.getUTCFullYear(),
            date.getUTCMonth() + 1,
            date.getUTCDate(),
            date.getUTCHours(),
            date.getUTCMinutes(),
            date.getUTCSeconds(),
            date.getUTCMilliseconds(),
          ],
        )
        expect(civil.weekday).toBe(date.getUTCDay())
        expect(
          localMs(civil.year, civil.month, civil.day, civil.hour, civil.minute, civil.second, civil.millisecond),
        ).toBe(ms)
      }),
    )
  })
})

describe('zones', () => {
  test('summer time starts and ends on the minute', () => {
    const zoneName = 'America/New_York'
    expect(zoneOffset(Date.parse('2024-03-10T06:59:59Z'), zoneName)).toBe(-5 * 3_600_000)
    expect(zoneOffset(Date.parse('2024-03-10T07:00:00Z'), zoneName)).toBe(-4 * 3_600_000)
    expect(zoneOffset(Date.parse('2024-11-03T05:59:59Z'), zoneName)).toBe(-4 * 3_600_000)
    expect(zoneOffset(Date.parse('2024-11-03T06:00:00Z'), zoneName)).toBe(-5 * 3_600_000)
  })

  test('a local time that exists once is found again', () => {
    fc.assert(
      fc.property(recentMs, zone, (ms, name) => {
        const local = ms + zoneOffset(ms, name)
        const back = fromLocal(local, name)
        expect(back + zoneOffset(back, name)).toBe(local)
      }),
    )
  })

  test('names are resolved, unknown ones are not', () => {
    expect(resolveZone('')).toBe('UTC')
    expect(resolveZone('Asia/Shanghai')).toBe('Asia/Shanghai')
    expect(resolveZone('Foo/Bar')).toBeUndefined()
    expect(resolveZone('__proto__')).toBeUndefined()
    expect(zoneOffset(0, 'Foo/Bar')).toBe(0)
  })

  test('abbreviations are those of the tz database', () => {
    expect(zoneAbbreviation(Date.parse('2024-01-01T00:00:00Z'), 'Asia/Shanghai')).toBe('CST')
    expect(zoneAbbreviation(Date.parse('2024-07-01T00:00:00Z'), 'America/New_York')).toBe('EDT')
    expect(zoneAbbreviation(0, 'Asia/Dubai')).toBe('+04')
  })
})

describe('patterns', () => {
  const at = new Instant(Date.parse('2020-02-29T13:04:05.123Z'), 456_789)
  test.each([
    ['yyyy-MM-dd HH:mm:ssSSS', '2020-02-29 13:04:05.123'],
    ['MMMM MMM EEEE EEE', 'February Feb Saturday Sat'],
    ['h:m:s a', '1:4:5 PM'],
    ['ssSSSSSSSSS', '05.123456789'],
    ['z Z X XX XXX', 'UTC +0000 +00 +0000 +00:00'],
    ["'it''s'", 'its'],
    ["yyyy''", "2020'"],
    ['2006', '2020'],
    ['MMMMM', ''],
    ['yyyy\\y', '2020y'],
  ])('%s gives %s', (pattern, text) => {
    expect(formatTime(at, pattern)).toBe(text)
  })

  test.each([
    ['yyy', 'invalid time format yyy for Y/y'],
    ['E', 'invalid time format E for E'],
    ['H', 'invalid time format H of H, only HH is supported'],
    ['\\', '\\ is invalid'],
    ["yyyy'", 'a quote opens and never closes'],
  ])('%s is refused', (pattern, message) => {
    expect(() => goLayout(pattern)).toThrow(message)
  })

  test('what a full pattern prints, it reads back', () => {
    const patterns = [
      'yyyy-MM-dd HH:mm:ssSSSSSSSSS Z',
      'yyyy/MM/dd hh:mm:ssSSSSSSSSS a XXX',
      'EEE, dd MMM yyyy HH:mm:ssSSSSSSSSS XX',
    ]
    fc.assert(
      fc.property(recentMs, fc.nat(999_999), zone, fc.constantFrom(...patterns), (ms, nanos, name, pattern) => {
        const back = parseTime(formatTime(new Instant(ms, nanos, name), pattern), pattern, { zone: name })
        expect([back.epochMs, back.nanos]).toEqual([ms, nanos])
      }),
    )
  })

  test('any pattern prints or is refused with RowError', () => {
    fc.assert(
      fc.property(fc.string(), recentMs, (pattern, ms) => {
        try {
          expect(typeof formatTime(new Instant(ms), pattern)).toBe('string')
        } catch (error) {
          expect(error).toBeInstanceOf(RowError)
        }
      }),
    )
  })
})

describe('reading text', () => {
  const context = { zone: 'Asia/Shanghai', now: Date.parse('2024-06-15T03:04:05Z') }
  test.each([
    ['2020-01-16 02:14:24.913', '2020-01-16T02:14:24.913+08:00'],
    ['2020-01-16T02:14:24Z', '2020-01-16T02:14:24Z'],
    ['2020-01-16T02:14:24.123456789-07:00', '2020-01-16T02:14:24.123456789-07:00'],
    ['2020-1-6', '2020-01-06T00:00:00+08:00'],
    ['2020', '2020-01-01T00:00:00+08:00'],
    ['20200116', '2020-01-16T00:00:00+08:00'],
    ['1/2/2006 3:04:05', '2006-01-02T03:04:05+08:00'],
    ['10:30', '2024-06-15T10:30:00+08:00'],
    ['3-4', '2024-03-04T00:00:00+08:00'],
    ['Mon, 02 Jan 2006 15:04:05 +0000', '2006-01-02T15:04:05Z'],
    ['Mon Jan  2 15:04:05 2006', '2006-01-02T15:04:05+08:00'],
    ['2020-01-02 03:04:05 +0800 CST', '2020-01-02T03:04:05+08:00'],
  ])('%s is %s', (text, iso) => {
    expect(rfc3339(parseTime(text, '', context))).toBe(iso)
  })

  test('dates that do not exist are refused', () => {
    for (const text of ['2021-02-29', '2021-13-01', '2021-01-01 24:00:00', '', 'garbage']) {
      expect(() => parseTime(text, '', context)).toThrow(`Can't parse string as time: ${text}`)
    }
  })

  test('the JSON form reads back, in every zone', () => {
    fc.assert(
      fc.property(recentMs, fc.nat(999_999), zone, (ms, nanos, name) => {
        const back = parseTime(rfc3339(new Instant(ms, nanos, name)), '', context)
        expect([back.epochMs, back.nanos]).toEqual([ms, nanos])
      }),
    )
  })

  test('any text gives a time or RowError', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[0-9TZ:. +\-/APMJan]{0,40}$/), (text) => {
        try {
          expect(parseTime(text, '', context)).toBeInstanceOf(Instant)
        } catch (error) {
          expect(error).toBeInstanceOf(RowError)
        }
      }),
    )
  })

  test('fractions are padded to three, six or nine digits', () => {
    expect(padFraction('05.7Z')).toBe('05.700Z')
    expect(padFraction('05.1234')).toBe('05.123400')
    expect(padFraction('05.1234567891')).toBe('05.123456789')
    expect(padFraction('1.2.3')).toBe('1.2.3')
  })
})

test('layouts know Go’s fields and leave words alone', () => {
  const at = new Instant(Date.parse('2006-01-02T15:04:05Z'))
  expect(formatLayout(at, 'Mon Jan _2 15:04:05 MST 2006')).toBe('Mon Jan  2 15:04:05 UTC 2006')
  expect(formatLayout(at, 'Janet __2 002')).toBe('Janet   2 002')
  expect(parseLayout('2006-002', '2006-002', 'UTC')?.epochMs).toBe(Date.parse('2006-01-02T00:00:00Z'))
  expect(parseLayout('3:04pm', '3:04PM', 'UTC')).toBeNull()
})

test('plain text of a time names its zone', () => {
  expect(instantText(new Instant(0, 5))).toBe('1970-01-01 00:00:00.000000005 +0000 UTC')
})
