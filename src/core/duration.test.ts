import fc from 'fast-check'
import { expect, test } from 'vitest'
import { durationText, parseDuration } from './duration.ts'

test.each([
  [0, '0s'],
  [1, '1ms'],
  [1.5, '1.5ms'],
  [0.000001, '1ns'],
  [0.0015, '1.5µs'],
  [5_445_000, '1h30m45s'],
  [-90_500, '-1m30.5s'],
  [3_600_000, '1h0m0s'],
])('%s ms prints as %s', (ms, text) => {
  expect(durationText(ms)).toBe(text)
})

test('whole milliseconds read back', () => {
  fc.assert(
    fc.property(fc.integer({ min: -1e12, max: 1e12 }), (ms) => {
      expect(parseDuration(durationText(ms))).toBeCloseTo(ms, 3)
    }),
  )
})
