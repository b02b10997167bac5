import fc from 'fast-check'
import { expect, it } from 'vitest'
import { decodeGoJson } from './go-json.ts'

it.each([
  ['', 'unexpected end of JSON input'],
  ['{', 'unexpected end of JSON input'],
  ['[1,', 'unexpected end of JSON input'],
  ['bad', "invalid character 'b' looking for beginning of value"],
  ['{"a":<no value>}', "invalid character '<' looking for beginning of value"],
  ['{a:1}', "invalid character 'a' looking for beginning of object key string"],
  ['{"a" 1}', "invalid character '1' after object key"],
  ['{"a":1 "b"}', `invalid character '"' after object key:value pair`],
  ['{"a":1,}', "invalid character '}' looking for beginning of object key string"],
  ['[1 2]', "invalid character '2' after array element"],
  ['[1,]', "invalid character ']' looking for beginning of value"],
  ['{}x', "invalid character 'x' after top-level value"],
  ['nul', "invalid character ' ' in literal null (expecting 'l')"],
  ['-', "invalid character ' ' in numeric literal"],
  ['nuxx', "invalid character 'x' in literal null (expecting 'l')"],
  ['"a\nb"', "invalid character '\\n' in string literal"],
  ['"\\q"', "invalid character 'q' in string escape code"],
  ['"\\u12x"', "invalid character 'x' in \\u hexadecimal character escape"],
  ['-x', "invalid character 'x' in numeric literal"],
  ['1.x', "invalid character 'x' after decimal point in numeric literal"],
  ['1ex', "invalid character 'x' in exponent of numeric literal"],
  ['01', "invalid character '1' after top-level value"],
  ["'a'", "invalid character '\\'' looking for beginning of value"],
])('says about %j: %s', (text, message) => {
  expect(() => decodeGoJson(text)).toThrow(message)
})

it('finds a fault exactly where JSON.parse does', () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom('{', '}', '[', ']', ',', ':', '"a"', '1', '-', '.5', 'e3', 'true', 'nul', ' ', '"'), {
        maxLength: 8,
      }),
      (parts) => {
        const text = parts.join('')
        let valid = true
        try {
          JSON.parse(text)
        } catch {
          valid = false
        }
        if (valid) expect(decodeGoJson(text)).toEqual(JSON.parse(text))
        else expect(() => decodeGoJson(text)).toThrow(/^(invalid character|unexpected end)/)
      },
    ),
    { numRuns: 2000 },
  )
})
