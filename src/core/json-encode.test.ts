import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decodeJsonText } from './json-decode.ts'
import { encodeJsonText } from './json-encode.ts'
import { Instant, type Value } from './values.ts'

describe('encodeJsonText', () => {
  test('round-trips every JSON value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = encodeJsonText(value as Value)
        expect(JSON.parse(text)).toEqual(value)
        expect(encodeJsonText(decodeJsonText(text))).toBe(text)
      }),
    )
  })

  test('sorts keys bytewise at every level', () => {
    expect(encodeJsonText({ b: 1, a: { z: 1, Z: 2 }, '\u{1f600}': 1, '\uffee': 2 })).toBe(
      '{"a":{"Z":2,"z":1},"b":1,"\uffee":2,"\u{1f600}":1}',
    )
  })

  test('writes numbers as Go does', () => {
    const numbers = [3, 2.5, 1e21, 1e-7, 0.000001, -0, 100, 1e20]
    expect(encodeJsonText(numbers)).toBe('[3,2.5,1e+21,1e-7,0.000001,-0,100,100000000000000000000]')
    expect(encodeJsonText([9223372036854775807n, 18446744073709551615n])).toBe(
      '[9223372036854775807,18446744073709551615]',
    )
  })

  test('escapes what Go escapes', () => {
    expect(encodeJsonText('<a href="x">&\u2028\\\n\t\b\f\u0001\ud800 \u{1f600}é')).toBe(
      '"\\u003ca href=\\"x\\"\\u003e\\u0026\\u2028\\\\\\n\\t\\b\\f\\u0001\\ufffd \u{1f600}é"',
    )
    expect(encodeJsonText({ '<': 1 })).toBe('{"\\u003c":1}')
  })

  test('writes bytes as base64, times as RFC 3339, absent members not at all', () => {
    expect(
      encodeJsonText({
        b: new Uint8Array([1, 2, 3]),
        t: new Instant(1658218371337, 0, '+08:00'),
        x: undefined as never,
        n: null,
      }),
    ).toBe('{"b":"AQID","n":null,"t":"2022-07-19T16:12:51.337+08:00"}')
    expect(() => encodeJsonText(new Instant(1e15))).toThrow('year outside of range')
  })

  test('refuses what JSON cannot say, and cycles', () => {
    expect(() => encodeJsonText([Number.NaN])).toThrow('json: unsupported value: NaN')
    expect(() => encodeJsonText(Infinity)).toThrow('json: unsupported value: +Inf')
    expect(() => encodeJsonText(-Infinity)).toThrow('json: unsupported value: -Inf')
    const cycle: Value[] = []
    cycle.push(cycle)
    expect(() => encodeJsonText(cycle)).toThrow('nested deeper')
  })
})
