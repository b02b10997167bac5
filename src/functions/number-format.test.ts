import fc from 'fast-check'
import { expect, test } from 'vitest'
import { formatDecimal } from './number-format.ts'

test('without a locale it is the exact decimal value, halves to even', () => {
  expect(formatDecimal(0.125, 2n, null)).toBe('0.12')
  expect(formatDecimal(0.375, 2n, null)).toBe('0.38')
  expect(formatDecimal(2.675, 2n, null)).toBe('2.67')
  expect(formatDecimal(-0.001, 2n, null)).toBe('-0.00')
  expect(formatDecimal(9.99, 1n, null)).toBe('10.0')
  expect(formatDecimal(0.5, 0n, null)).toBe('0')
  expect(formatDecimal(5e-324, 2n, null)).toBe('0.00')
})

test('it agrees with toFixed wherever the value is no tie', () => {
  fc.assert(
    fc.property(fc.double({ min: -1e20, max: 1e20, noNaN: true }), fc.integer({ min: 0, max: 20 }), (value, places) => {
      // toFixed is exact, so a tie shows as a 5 and zeros behind the kept places.
      const isTie = /^50*$/.test((value.toFixed(100).split('.')[1] as string).slice(places))
      if (isTie || Object.is(value, -0)) return
      // toFixed prints no sign for what rounds to zero.
      expect(formatDecimal(value, BigInt(places), null).replace(/^-(0\.?0*)$/, '$1')).toBe(
        value.toFixed(places).replace(/^-(0\.?0*)$/, '$1'),
      )
    }),
  )
})

test.each([
  ['en_US', '-1,234,567.50'],
  ['de_DE', '-1.234.567,50'],
  ['de_CH', '-1’234’567.50'],
  ['fr-FR', '-1\u00a0234\u00a0567,50'],
  ['hi_IN', '-12,34,567.50'],
  ['zh_Hant_HK', '-1,234,567.50'],
])('%s writes %s', (locale, text) => {
  expect(formatDecimal(-1234567.5, 2n, locale)).toBe(text)
})

test.each(['en', '', 'xx_US', 'en_ZZ', 'english_US', '__proto__'])('locale %j is refused', (locale) => {
  expect(() => formatDecimal(1, 0n, locale)).toThrow(`not support for the specific locale:${locale}`)
})
