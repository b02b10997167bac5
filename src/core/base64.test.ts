import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decodeBase64, encodeBase64 } from './base64.ts'

test('bytes survive, and the text is the platform’s own', () => {
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      const text = encodeBase64(bytes)
      expect(text).toBe(Buffer.from(bytes).toString('base64'))
      expect(decodeBase64(text)).toEqual(bytes)
    }),
  )
})

test.each([
  ['aGVsbG8', 4],
  ['a_-=', 1],
  ['=', 0],
  ['YQ==YQ==', 4],
  ['日本', 0],
])('%j is refused at byte %i', (text, offset) => {
  expect(decodeBase64(text)).toBe(offset)
})

test('line ends are skipped', () => {
  expect(decodeBase64('YQ\r\n==\n')).toEqual(new Uint8Array([97]))
})
