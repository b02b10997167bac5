import fc from 'fast-check'
import { expect, test } from 'vitest'
import { jsonSyntaxError } from './json-syntax.ts'

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

test('it refuses exactly what JSON.parse refuses', () => {
  const damaged = fc
    .tuple(fc.json(), fc.nat(60), fc.constantFrom(...'{}[],:"\\019-.eEt n\n'), fc.nat(1))
    .map(([json, at, char, cut]) => json.slice(0, at) + char + json.slice(at + cut))
  fc.assert(
    fc.property(fc.oneof(fc.json(), damaged, fc.string()), (text) => {
      expect(jsonSyntaxError(text) === null).toBe(isJson(text))
    }),
    { numRuns: 1000 },
  )
})

test.each([
  ['', 'unexpected end of JSON input'],
  ['{', 'unexpected end of JSON input'],
  ['key1', "invalid character 'k' looking for beginning of value"],
  ['{"a":}', "invalid character '}' looking for beginning of value"],
  ['{"a":1,}', "invalid character '}' looking for beginning of object key string"],
  ['{a', "invalid character 'a' looking for beginning of object key string"],
  ['{"a" 1}', "invalid character '1' after object key"],
  ['{"a":1 "b"}', `invalid character '"' after object key:value pair`],
  ['[1 2]', "invalid character '2' after array element"],
  ['nul', "invalid character ' ' in literal null (expecting 'l')"],
  ['{} x', "invalid character 'x' after top-level value"],
  ['-', "invalid character ' ' in numeric literal"],
  ['1.x', "invalid character 'x' after decimal point in numeric literal"],
  ['1e', "invalid character ' ' in exponent of numeric literal"],
  ['"\n"', "invalid character '\\n' in string literal"],
  ['"\\x"', "invalid character 'x' in string escape code"],
  ['"\\u00g"', "invalid character 'g' in \\u hexadecimal character escape"],
])('%j: %s', (text, message) => {
  expect(jsonSyntaxError(text)).toBe(message)
})
