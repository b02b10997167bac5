import fc from 'fast-check'
import { expect, test } from 'vitest'
import { compareText } from './text-order.ts'

test('texts order as their UTF-8 bytes', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', 'é', '日', '\uffff', '😀', '\u{10ffff}') })
  fc.assert(
    fc.property(text, text, (a, b) => {
      expect(Math.sign(compareText(a, b))).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)))
    }),
  )
})
