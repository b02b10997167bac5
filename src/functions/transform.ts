/** Conversion functions (spec/functions.json category transform), without compress and decompress. */
import { decodeBase64, encodeBase64 } from '../core/base64.ts'
import { castTo, castTypes, toInt } from '../core/cast.ts'
import { RowError } from '../core/errors.ts'
import { parseGoInt, truncateToInt64 } from '../core/go-number.ts'
import { goText } from '../core/go-text.ts'
import { encodeUtf8 } from '../core/utf8.ts'
import type { Value } from '../core/values.ts'
import type { ArgumentInfo, FunctionExample, ScalarFunction } from './contract.ts'
import { any, checkLiterals, defineScalar, expectCount, int, text, timeContext } from './helpers.ts'

const family = 'transform'

/** Type names as a literal argument are checked when the statement is parsed. */
function validateCast(args: readonly ArgumentInfo[]): string | null {
  const wrong = expectCount(2, args.length) ?? checkLiterals([any('x'), text('type', { numberInMessage: 1 })], args)
  if (wrong !== null) return wrong
  const type = args[1]
  return type?.literal === 'string' && !castTypes.some((t) => t === type.value)
    ? `Expect one of following value for the 2nd parameter: ${castTypes.join(', ')}.`
    : null
}

function codeOf(value: Value): bigint {
  if (typeof value === 'bigint') return value
  if (typeof value === 'number') return truncateToInt64(value)
  if (typeof value !== 'string') {
    throw new RowError('Only bigint, float and string type can be convert to char type.')
  }
  if (value === '') throw new RowError('Parameter must not be empty.')
  const bytes = encodeUtf8(value)
  if (bytes.length > 1) throw new RowError('Parameter length cannot larger than 1.')
  return BigInt(bytes[0] as number)
}

/** encode and decode know one method. */
function base64Function(
  name: 'encode' | 'decode',
  docs: string,
  examples: readonly FunctionExample[],
  convert: (s: string) => Value,
): ScalarFunction {
  const parameters = [text('s'), text('method', { literalOnly: true })]
  return defineScalar({
    name,
    family,
    args: parameters,
    docs,
    examples,
    returns: name === 'encode' ? 'string' : 'bytes',
    validate: (args) =>
      expectCount(2, args.length) ??
      checkLiterals(parameters, args) ??
      (args[1]?.value === 'base64' ? null : 'Only base64 is supported for the 2nd parameter.'),
    run: ([s, method]) => {
      if (typeof method !== 'string') throw new RowError(goText(null))
      if (method.toLowerCase() !== 'base64') {
        throw new RowError(`Only base64 ${name === 'encode' ? 'encoding' : 'decoding'} is supported.`)
      }
      if (typeof s !== 'string') throw new RowError(`Only string type can be ${name}d.`)
      return convert(s)
    },
  })
}

export const transformFunctions: readonly ScalarFunction[] = [
  defineScalar({
    name: 'cast',
    family,
    args: [any('x'), text('type')],
    docs: 'Converts x to bigint, float, string, boolean, datetime or bytea. Text is read as Go reads numbers (0x1F, 0b11, 010 is octal); floats print in plain decimals; numbers become times as epoch milliseconds; bytea text is base64, or taken as it is.',
    examples: [
      { expression: 'cast(a, "bigint")', row: { a: 1.9 }, result: 1n },
      { expression: 'cast("0x1F", "bigint")', result: 31n },
      { expression: 'cast(a, "string")', row: { a: 1000000 }, result: '1000000' },
    ],
    validate: validateCast,
    run: ([x, type], call) => castTo(x as Value, type as Value, timeContext(call)),
  }),
  defineScalar({
    name: 'chr',
    family,
    args: [int('x', { rejects: ['float', 'boolean', 'timeunit'] })],
    docs: 'The code of a one-byte text; a number gives itself, cut to 32 bits.',
    examples: [{ expression: 'chr("A")', result: 65n }],
    returns: 'int64',
    run: ([x]) => BigInt.asIntN(32, codeOf(x as Value)),
  }),
  base64Function(
    'encode',
    'Base64 of the UTF-8 bytes of a text. The method is "base64".',
    [{ expression: 'encode("hello", "base64")', result: 'aGVsbG8=' }],
    (s) => encodeBase64(encodeUtf8(s)),
  ),
  base64Function(
    'decode',
    'The bytes of a base64 text. The method is "base64".',
    [{ expression: 'cast(decode("aGVsbG8=", "base64"), "string")', result: 'hello' }],
    (s) => {
      const decoded = decodeBase64(s)
      if (typeof decoded !== 'number') return decoded
      throw new RowError(`fail to decode base64 string: illegal base64 data at input byte ${decoded}`)
    },
  ),
  defineScalar({
    name: 'hex2dec',
    family,
    args: [text('s')],
    docs: 'The integer of a hexadecimal text, with or without 0x in front.',
    examples: [{ expression: 'hex2dec("0xff")', result: 255n }],
    returns: 'int64',
    run: ([s]) => {
      if (typeof s !== 'string') throw new RowError(`invalid input type: ${goText(s)} please input hex string`)
      const digits = s.startsWith('0x') ? s.slice(2) : s
      const parsed = parseGoInt(digits, 16)
      if (typeof parsed !== 'bigint') throw new RowError(`invalid hexadecimal value: ${digits}`)
      return parsed
    },
  }),
  defineScalar({
    name: 'dec2hex',
    family,
    args: [text('n')],
    docs: 'An integer as hexadecimal text with 0x in front. A literal is refused when the statement is parsed; columns are fine.',
    examples: [{ expression: 'dec2hex(a)', row: { a: 255n }, result: '0xff' }],
    returns: 'string',
    run: ([n]) => `0x${toInt(n as Value, 'strict').toString(16)}`,
  }),
]
