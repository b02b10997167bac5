import fc from 'fast-check'
import { expect, test } from 'vitest'
import { codePointCount, lowerCase, trimSpace, upperCase, utf8Length } from './text.ts'

const anyText = fc.string({ unit: 'binary' })

test('lengths agree with the platform', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      expect(codePointCount(text)).toBe([...text].length)
      expect(utf8Length(text)).toBe(Buffer.byteLength(text))
    }),
  )
})

test('case mapping keeps the number of characters', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      expect(codePointCount(upperCase(text))).toBe(codePointCount(text))
      expect(codePointCount(lowerCase(text))).toBe(codePointCount(text))
    }),
  )
  expect(upperCase('straße ﬁ ŉ ᾳ')).toBe('STRAßE ﬁ ŉ ᾼ')
  expect(lowerCase('İ ΑΣ')).toBe('i ας'.replace('ς', 'σ'))
})

test('white space is Go’s: next line counts, the byte order mark does not', () => {
  expect(trimSpace('\u0085\u3000 a \ufeff\u00a0')).toBe('a \ufeff')
})
