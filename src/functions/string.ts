/** String functions (spec/functions.json category string); regular expressions are in regexp.ts, format() in number-format.ts. */
import { toFloat64, toInt } from '../core/cast.ts'
import { RowError } from '../core/errors.ts'
import { textOf } from '../core/go-text.ts'
import { decodeUtf8, encodeUtf8 } from '../core/utf8.ts'
import { Instant, type Value } from '../core/values.ts'
import type { FunctionExample, ScalarFunction } from './contract.ts'
import { any, checkLiterals, defineScalar, expectAtLeast, expectType, int, isNullOrEmpty, text } from './helpers.ts'
import { formatDecimal } from './number-format.ts'
import { codePointCount, lowerCase, trimSpace, trimSpaceEnd, trimSpaceStart, upperCase, utf8Length } from './text.ts'

const family = 'string'
/** Longest text a padding function makes. */
const MAX_TEXT = 64 * 1024 * 1024

interface TextOptions {
  readonly docs: string
  readonly examples: readonly FunctionExample[]
  readonly compute: (s: string) => string
}

/** Text to text. */
function textFunction(name: string, { docs, examples, compute }: TextOptions): ScalarFunction {
  return defineScalar({
    name,
    family,
    args: [text('s')],
    docs,
    examples,
    returns: 'string',
    run: ([s]) => compute(textOf(s)),
  })
}

function textTest(
  name: string,
  second: string,
  docs: string,
  examples: readonly FunctionExample[],
  compute: (s: string, other: string) => boolean,
): ScalarFunction {
  return defineScalar({
    name,
    family,
    args: [text('s'), text(second)],
    nulls: 'falseIfAny',
    docs,
    examples,
    returns: 'bool',
    run: ([s, other]) => compute(textOf(s), textOf(other)),
  })
}

function padding(name: string, side: string, join: (s: string, pad: string) => string): ScalarFunction {
  return defineScalar({
    name,
    family,
    args: [text('s'), int('n')],
    docs: `Adds n spaces on the ${side} (n is the number of spaces, not a total width).`,
    examples: [{ expression: `${name}("a", 2)`, result: join('a', '  ') }],
    returns: 'string',
    run: ([s, n]) => {
      const count = toInt(n as Value, 'strict')
      if (count < 0n) throw new RowError('strings: negative Repeat count')
      if (count > BigInt(MAX_TEXT)) throw new RowError(`the result is longer than ${MAX_TEXT} characters`, 'LIMIT')
      return join(textOf(s), ' '.repeat(Number(count)))
    },
  })
}

/** The bytes from start up to end of the UTF-8 form. */
function substring(s: string, start: bigint, end: bigint | null): string {
  const isAscii = utf8Length(s) === s.length
  const from = start > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(start)
  const to = end === null || end > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(end)
  return isAscii ? s.slice(from, to) : decodeUtf8(encodeUtf8(s).subarray(from, to))
}

function checkedIndex(value: Value, which: 'start' | 'end'): bigint {
  const index = toInt(value, 'strict')
  if (index < 0n) throw new RowError(`${which} index must be a positive number`)
  return index
}

/** Go's strings.Split: an empty separator gives the characters. */
function split(s: string, separator: string): string[] {
  return separator === '' ? [...s] : s.split(separator)
}

function lengthOf(value: Value): number {
  if (Array.isArray(value)) return value.length
  if (typeof value === 'object' && value !== null && !(value instanceof Instant) && !(value instanceof Uint8Array)) {
    return Object.keys(value).length
  }
  return codePointCount(textOf(value))
}

/** An integer argument that counts as 0 when it is none. */
function lenientInt(value: Value): bigint {
  try {
    return toInt(value, 'strict')
  } catch {
    return 0n
  }
}

export const stringFunctions: readonly ScalarFunction[] = [
  defineScalar({
    name: 'concat',
    family,
    args: [text('s', { variadic: true })],
    nulls: 'custom',
    docs: 'Joins the text forms of all arguments; null adds nothing.',
    examples: [
      { expression: 'concat("a", b, "c")', row: { b: 2n }, result: 'a2c' },
      { expression: 'concat(a, b)', row: { a: 1000000, b: [1n, 'x'] }, result: '1e+06[1 x]' },
    ],
    returns: 'string',
    validate: (args) =>
      args.length === 0
        ? 'The arguments should be at least one.'
        : checkLiterals([text('s', { variadic: true })], args),
    run: (args) => {
      let out = ''
      for (const arg of args) out += textOf(arg)
      return out
    },
  }),
  textTest(
    'endswith',
    'suffix',
    'Whether s ends with suffix; case matters.',
    [{ expression: 'endswith("hello", "lo")', result: true }],
    (s, suffix) => s.endsWith(suffix),
  ),
  textTest(
    'startswith',
    'prefix',
    'Whether s starts with prefix; case matters.',
    [{ expression: 'startswith("hello", "he")', result: true }],
    (s, prefix) => s.startsWith(prefix),
  ),
  defineScalar({
    name: 'indexof',
    family,
    args: [text('s'), text('sub')],
    nulls: 'custom',
    docs: 'Byte offset (UTF-8, from 0) of the first occurrence of sub in s; -1 when there is none or an argument is null.',
    examples: [
      { expression: 'indexof("hello", "l")', result: 2n },
      { expression: 'indexof("日本語", "語")', result: 6n },
    ],
    returns: 'int64',
    run: ([s, sub]) => {
      if (isNullOrEmpty(s as Value) || isNullOrEmpty(sub as Value)) return -1n
      const whole = textOf(s)
      const index = whole.indexOf(textOf(sub))
      return BigInt(index < 0 ? -1 : utf8Length(whole.slice(0, index)))
    },
  }),
  defineScalar({
    name: 'length',
    family,
    args: [any('x')],
    nulls: 'zeroIfAny',
    docs: 'Number of elements of an array, of members of an object, of characters (code points) of the text form of anything else.',
    examples: [
      { expression: 'length("日本")', result: 2n },
      { expression: 'length(a)', row: { a: [1n, 2n, 3n] }, result: 3n },
    ],
    returns: 'int64',
    run: ([x]) => BigInt(lengthOf(x as Value)),
  }),
  textFunction('lower', {
    docs: 'Lower case, letter by letter and independent of any language.',
    examples: [{ expression: 'lower("NYC")', result: 'nyc' }],
    compute: lowerCase,
  }),
  textFunction('upper', {
    docs: 'Upper case, letter by letter and independent of any language: a sharp s stays.',
    examples: [{ expression: 'upper("nyc")', result: 'NYC' }],
    compute: upperCase,
  }),
  padding('lpad', 'left', (s, pad) => pad + s),
  padding('rpad', 'right', (s, pad) => s + pad),
  textFunction('ltrim', {
    docs: 'Without the white space at the start.',
    examples: [{ expression: 'ltrim("  ab  ")', result: 'ab  ' }],
    compute: trimSpaceStart,
  }),
  textFunction('rtrim', {
    docs: 'Without the white space at the end.',
    examples: [{ expression: 'rtrim("  ab  ")', result: '  ab' }],
    compute: trimSpaceEnd,
  }),
  textFunction('trim', {
    docs: 'Without the white space at both ends.',
    examples: [{ expression: 'trim("  ab  ")', result: 'ab' }],
    compute: trimSpace,
  }),
  defineScalar({
    name: 'numbytes',
    family,
    args: [text('s')],
    nulls: 'zeroIfAny',
    docs: 'Number of bytes of the UTF-8 form.',
    examples: [{ expression: 'numbytes("日本")', result: 6n }],
    returns: 'int64',
    run: ([s]) => BigInt(utf8Length(textOf(s))),
  }),
  textFunction('reverse', {
    docs: 'The characters (code points) in reverse order.',
    examples: [{ expression: 'reverse("abc")', result: 'cba' }],
    compute: (s) => [...s].reverse().join(''),
  }),
  defineScalar({
    name: 'substring',
    family,
    args: [text('s'), int('start'), int('end', { optional: true })],
    docs: 'The bytes (UTF-8) from start up to, not including, end, counted from 0; without end the rest. Beyond the end of s there is nothing.',
    examples: [
      { expression: 'substring("NYCNicks", 3)', result: 'Nicks' },
      { expression: 'substring("NYCNicks", 3, 5)', result: 'Ni' },
    ],
    returns: 'string',
    validate: (args) => {
      if (args.length !== 2 && args.length !== 3) return 'the arguments for substring should be 2 or 3'
      const wrong = checkLiterals([text('s'), int('start'), int('end')], args)
      if (wrong !== null) return wrong
      const start = args[1]?.value
      const end = args[2]?.value
      if (args[1]?.literal !== 'int' || typeof start !== 'bigint') return null
      if (start < 0n) return 'The start index should not be a nagtive integer.'
      return args[2]?.literal === 'int' && typeof end === 'bigint' && end < start
        ? 'The end index should be larger than start index.'
        : null
    },
    run: (args) => {
      const s = textOf(args[0])
      const start = checkedIndex(args[1] as Value, 'start')
      if (args.length < 3) return substring(s, start, null)
      const end = checkedIndex(args[2] as Value, 'end')
      if (start > end) throw new RowError('start index must be smaller than end index')
      return substring(s, start, end)
    },
  }),
  defineScalar({
    name: 'split_value',
    family,
    args: [text('s'), text('separator'), int('index')],
    docs: 'Splits s at each separator and gives the part of that index, from 0; an index from a column may be negative and then counts from the end.',
    examples: [
      { expression: 'split_value("test/device001/message", "/", 1)', result: 'device001' },
      { expression: 'split_value("a/b/c", "/", i)', row: { i: -1n }, result: 'c' },
    ],
    returns: 'string',
    validate: (args) => {
      if (args.length !== 3) return 'the arguments for split_value should be 3'
      const wrong = checkLiterals([text('s'), text('separator'), int('index')], args)
      if (wrong !== null) return wrong
      const index = args[2]?.value
      return args[2]?.literal === 'int' && typeof index === 'bigint' && index < 0n
        ? 'The index should not be a nagtive integer.'
        : null
    },
    run: (args) => {
      const parts = split(textOf(args[0]), textOf(args[1]))
      const index = lenientInt(args[2] as Value)
      const size = BigInt(parts.length)
      if (index >= size || index < -size) throw new RowError(`${index} out of index array (size = ${size})`)
      return parts[Number(index < 0n ? index + size : index)] as string
    },
  }),
  defineScalar({
    name: 'format',
    family,
    args: [
      any('x'),
      int('decimals', { literalOnly: true, word: 'integer' }),
      text('locale', { literalOnly: true, optional: true }),
    ],
    docs: 'A number with exactly that many decimals, halves to even. With a locale such as "en_US" (language and region) in its spelling, otherwise without grouping.',
    examples: [
      { expression: 'format(12332.1, 4)', result: '12332.1000' },
      { expression: 'format(12332.2, 2, "en_US")', result: '12,332.20' },
      { expression: 'format(12332.2, 2, "de_DE")', result: '12.332,20' },
    ],
    returns: 'string',
    validate: (args) =>
      expectAtLeast(2, args.length) ??
      (args[1]?.literal !== 'int' ? expectType(1, 'integer') : null) ??
      (args.length === 3 && args[2]?.literal !== 'string' ? expectType(2, 'string') : null),
    run: (args) => {
      const decimals = lenientInt(args[1] as Value)
      if (decimals < 0n) throw new RowError('the decimal places must greater or equal than 0')
      const x = args[0] as Value
      const value = typeof x === 'bigint' || typeof x === 'number' ? toFloat64(x, 'sameKind') : 0
      return formatDecimal(value, decimals, args.length === 3 ? textOf(args[2]) : null)
    },
  }),
]
