import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { RowError } from './errors.ts'
import { decodeJsonText, parseExactly } from './json-decode.ts'

/** JSON values without the integers that decode to bigint. */
const safeJson = () =>
  fc
    .jsonValue({ maxDepth: 6 })
    .filter((value) => !/(?:^|[^\d.])\d{16,}(?![\d.])/.test(JSON.stringify(value).replace(/"(?:[^"\\]|\\.)*"/g, '""')))

const failure = (text: string, options = {}): RowError => {
  try {
    decodeJsonText(text, options)
  } catch (error) {
    return error as RowError
  }
  throw new Error(`accepted ${text}`)
}

describe('decodeJsonText', () => {
  test('the exact parser agrees with JSON.parse on every value', () => {
    fc.assert(
      fc.property(safeJson(), fc.constantFrom(undefined, 1, '\t'), (value, indent) => {
        const text = JSON.stringify(value, null, indent)
        expect(parseExactly(text, false, 100)).toEqual(JSON.parse(text))
        expect(decodeJsonText(text)).toEqual(JSON.parse(text))
      }),
    )
  })

  test('the exact parser agrees with JSON.parse on what is faulty', () => {
    const pieces = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"',
      'a',
      '1',
      '-',
      '0',
      '.',
      'e',
      '+',
      ' ',
      '\\',
      'u00e9',
      'null',
      'true',
      '\n',
      '"a"',
    )
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 12 }), (parts) => {
        const text = parts.join('')
        let expected: unknown
        try {
          expected = JSON.parse(text)
        } catch {
          expect(() => parseExactly(text, false, 100)).toThrow(RowError)
          return
        }
        expect(parseExactly(text, false, 100)).toEqual(expected)
      }),
      { numRuns: 3000 },
    )
  })

  test('keeps integers beyond the safe range digit for digit, at any place', () => {
    for (const digits of [
      '1795292668348461056',
      '9007199254740993',
      '-9223372036854775808',
      '18446744073709551615',
      '1152921504606846976',
    ]) {
      expect(decodeJsonText(digits)).toBe(BigInt(digits))
      expect(decodeJsonText(`{"a":[1,${digits}],"b": ${digits} }`)).toEqual({
        a: [1, BigInt(digits)],
        b: BigInt(digits),
      })
    }
  })

  test('keeps safe integers, fractions and exponents as floats, and digits in strings as text', () => {
    expect(
      decodeJsonText(
        '{"a":9007199254740991,"b":0.30000000000000004,"c":1e3,"d":"1795292668348461056,","e":1234567890123456789.0}',
      ),
    ).toEqual({
      a: 9007199254740991,
      b: 0.30000000000000004,
      c: 1000,
      d: '1795292668348461056,',
      e: 1234567890123456800,
    })
    expect(decodeJsonText('-0')).toBe(-0)
  })

  test('reads whole literals as int64 on request', () => {
    expect(decodeJsonText('{"a":1,"b":[2,-3]}', { wholeNumbersAsInt64: true })).toEqual({ a: 1n, b: [2n, -3n] })
    expect(decodeJsonText('{"a":1,"b":1.0,"c":1e2}', { wholeNumbersAsInt64: true })).toEqual({ a: 1n, b: 1, c: 100 })
  })

  test('refuses numbers no double can hold', () => {
    expect(failure('[1e400]').message).toBe('cannot parse JSON: number out of range at line 1, column 2')
    expect(failure(`[${'9'.repeat(400)}]`).code).toBe('DECODE')
    expect(failure(`[${'9'.repeat(400)}.5]`).code).toBe('DECODE')
  })

  test('says where the text is faulty', () => {
    const cases: [string, string][] = [
      ['', 'text ends where a value is expected at line 1, column 1'],
      ['{"a":1', 'text ends where "," or "}" is expected at line 1, column 7'],
      ['{\n "a": tru}', 'found "t" where a value is expected at line 2, column 7'],
      ['{a:1}', 'found "a" where a key in double quotes is expected at line 1, column 2'],
      ['[1,]', 'found "]" where a value is expected at line 1, column 4'],
      ['{"a":1} x', 'found "x" where the end of the text is expected at line 1, column 9'],
      ['["a', 'text ends inside a string at line 1, column 4'],
      ['["\\x"]', 'unknown escape at line 1, column 3'],
      ['["\\u12"]', 'malformed \\u escape at line 1, column 3'],
      ['[01]', 'malformed number at line 1, column 3'],
      ['["\n"]', 'control character inside a string at line 1, column 3'],
    ]
    for (const [text, message] of cases) expect(failure(text).message).toBe(`cannot parse JSON: ${message}`)
  })

  test('skips a byte order mark; the last of equal keys wins', () => {
    expect(decodeJsonText('\ufeff{"a":1,"a":2}')).toEqual({ a: 2 })
    expect(parseExactly('{"a":1,"a":2}', false, 9)).toEqual({ a: 2 })
  })

  test('keeps keys of Object.prototype as data on both ways', () => {
    for (const number of ['1', '12345678901234567890']) {
      const value = decodeJsonText(`{"__proto__":{"x":${number}},"constructor":2}`) as Record<string, unknown>
      expect(Object.keys(value)).toEqual(['__proto__', 'constructor'])
      expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
      expect((value as { x?: unknown }).x).toBeUndefined()
    }
  })

  test('stops at the depth limit whatever the way', () => {
    const nest = (open: string, core: string, close: string, n: number): string =>
      open.repeat(n) + core + close.repeat(n)
    expect(decodeJsonText(nest('[', '1', ']', 10), { maxDepth: 10 })).toBeTruthy()
    expect(failure(nest('[', '1', ']', 11), { maxDepth: 10 }).code).toBe('LIMIT')
    expect(failure(nest('[', '12345678901234567890', ']', 11), { maxDepth: 10 }).code).toBe('LIMIT')
    expect(failure(nest('{"a":', '1', '}', 10_000)).code).toBe('LIMIT')
    expect(failure('['.repeat(1_000_000)).code).toBe('LIMIT')
    expect(failure(nest('[', '1', ']', 10_000), { maxDepth: 1e9 }).code).toBe('LIMIT')
  })

  test('ends in an error for a text cut anywhere', () => {
    const text = '{"a":[1,2.5e3,"x\\u00e9\\n",{"b":null}],"c":12345678901234567890,"d":true}'
    for (let n = 0; n < text.length; n++) expect(failure(text.slice(0, n)).code).toBe('DECODE')
  })
})
