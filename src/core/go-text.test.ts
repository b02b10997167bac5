import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { floatPlain, floatText, goQuote, goText, textOf } from './go-text.ts'
import { Instant } from './values.ts'

describe('float text', () => {
  test.each([
    [3, '3'],
    [2.5, '2.5'],
    [123456, '123456'],
    [1234567, '1.234567e+06'],
    [1e6, '1e+06'],
    [0.0001, '0.0001'],
    [0.00001, '1e-05'],
    [-0, '-0'],
    [5e-324, '5e-324'],
    [1e21, '1e+21'],
    [Number.NaN, 'NaN'],
    [Number.POSITIVE_INFINITY, '+Inf'],
    [Number.NEGATIVE_INFINITY, '-Inf'],
  ])('%s prints as %s', (value, text) => {
    expect(floatText(value)).toBe(text)
  })

  test('both forms read back as the same number', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        expect(Number(floatText(value))).toBe(value)
        expect(Number(floatPlain(value))).toBe(value)
        expect(floatPlain(value)).toMatch(/^-?\d+(\.\d+)?$/)
      }),
    )
  })

  test('the exponent form is used from 1e21 on in no plain text', () => {
    expect(floatPlain(1e21)).toBe('1000000000000000000000')
    expect(floatPlain(1.5e-7)).toBe('0.00000015')
  })
})

test('values inside arrays and objects print as Go prints them', () => {
  expect(goText([1n, 'a', null, [2.5]])).toBe('[1 a <nil> [2.5]]')
  expect(goText({ b: 1n, a: 2.5, c: { d: true } })).toBe('map[a:2.5 b:1 c:map[d:true]]')
  expect(goText(new Uint8Array([97, 98]))).toBe('[97 98]')
  expect(goText(new Instant(1658218371337))).toBe('2022-07-19 08:12:51.337 +0000 UTC')
  expect(goText(new Instant(1658218371337, 0, 'Asia/Shanghai'))).toBe('2022-07-19 16:12:51.337 +0800 CST')
  expect(goText(new Instant(0, 0, '+05:30'))).toBe('1970-01-01 05:30:00 +0530 +0530')
})

test('null is empty as text and <nil> as a value', () => {
  expect(textOf(null)).toBe('')
  expect(goText(null)).toBe('<nil>')
})

test('quoting escapes what Go escapes', () => {
  expect(goQuote('a"b\\c\n\u0001é😀\u200b\u00a0')).toBe('"a\\"b\\\\c\\n\\x01é😀\\u200b\\u00a0"')
})
