/** Mathematical functions (spec/functions.json category math). */
import { toFloat64, toInt, toInt64 } from '../core/cast.ts'
import { RowError } from '../core/errors.ts'
import { parseGoUint, truncateToInt64 } from '../core/go-number.ts'
import { goQuote, goText, textOf } from '../core/go-text.ts'
import type { Value } from '../core/values.ts'
import { DomainError } from './call.ts'
import type { FunctionExample, ScalarFunction } from './contract.ts'
import { any, checkLiterals, defineScalar, int, num } from './helpers.ts'
import { trimSpace } from './text.ts'

const family = 'math'

const float = (value: Value): number => toFloat64(value, 'sameKind')
const nanToNull = (value: number): number | null => (Number.isNaN(value) ? null : value)

/** Nearest integer, halves away from zero. */
export function roundHalfAway(value: number): number {
  const whole = Math.trunc(value)
  return Math.abs(value - whole) >= 0.5 ? whole + Math.sign(value) : whole
}

interface UnaryOptions {
  readonly aliases?: readonly string[]
  readonly docs: string
  readonly examples: readonly FunctionExample[]
  readonly compute: (x: number) => number
}

/** A float function of one number whose NaN becomes null. */
function unary(name: string, { aliases, docs, examples, compute }: UnaryOptions): ScalarFunction {
  return defineScalar({
    name,
    ...(aliases && { aliases }),
    family,
    args: [num('x')],
    docs,
    examples,
    returns: 'float64',
    run: ([x]) => nanToNull(compute(float(x as Value))),
  })
}

function bitOperand(value: Value, which: string): bigint {
  try {
    return toInt64(value, 'strict')
  } catch {
    throw new RowError(`Expect int type for ${which} but got ${goText(value)}`)
  }
}

function bitwise(
  name: string,
  docs: string,
  examples: readonly FunctionExample[],
  compute: (a: bigint, b: bigint) => bigint,
): ScalarFunction {
  return defineScalar({
    name,
    family,
    args: [int('a'), int('b')],
    docs,
    examples,
    returns: 'int64',
    run: ([a, b]) => compute(bitOperand(a as Value, 'the first operand'), bitOperand(b as Value, 'the second operand')),
  })
}

const oneOrTwo = (found: number): string | null => (found === 1 || found === 2 ? null : 'Expect 1 or 2 arguments only')

function round(value: number, places: number): number {
  const factor = 10 ** places
  const scaled = value * factor
  // Beyond the range of a double the places lie below the last digit of the value.
  return Number.isFinite(scaled) && Number.isFinite(factor) ? roundHalfAway(scaled) / factor : value
}

/** MySQL's CONV on 64-bit values; null for a base outside 2 to 36. */
function convertBase(value: string, fromBase: bigint, toBase: bigint): string | null {
  const magnitude = (n: bigint): bigint => (n < 0n ? -n : n)
  const from = Number(magnitude(fromBase))
  const to = Number(magnitude(toBase))
  if (from < 2 || from > 36 || to < 2 || to > 36) return null
  const prefix = validPrefix(trimSpace(value), from)
  if (prefix === '') return '0'
  const negative = prefix.startsWith('-')
  const digits = negative ? prefix.slice(1) : prefix
  const parsed = parseGoUint(digits, from)
  if (typeof parsed !== 'bigint') {
    const reason = parsed === 'range' ? 'value out of range' : 'invalid syntax'
    throw new RowError(`strconv.ParseUint: parsing ${goQuote(digits)}: ${reason}`)
  }
  let size = parsed
  if (fromBase < 0n) {
    const limit = negative ? 2n ** 63n : 2n ** 63n - 1n
    if (size > limit) size = limit
  }
  const signed = BigInt.asIntN(64, negative ? -size : size)
  if (toBase < 0n) return signed.toString(to).toUpperCase()
  return BigInt.asUintN(64, signed).toString(to).toUpperCase()
}

/** The longest prefix that is a number in `base`, without a plus sign. */
function validPrefix(value: string, base: number): string {
  const sign = /^[+-]/.test(value) ? 1 : 0
  let end = sign
  while (end < value.length && /[0-9a-zA-Z]/.test(value[end] as string)) {
    if (Number.isNaN(Number.parseInt(value[end] as string, base))) break
    end++
  }
  if (end === sign) return ''
  return value.slice(value[0] === '+' ? 1 : 0, end)
}

export const mathFunctions: readonly ScalarFunction[] = [
  defineScalar({
    name: 'abs',
    family,
    args: [num('x')],
    docs: 'Absolute value; an integer stays an integer (computed as a float, so beyond 2^53 it loses digits).',
    examples: [
      { expression: 'abs(a)', row: { a: -10n }, result: 10n },
      { expression: 'abs(a)', row: { a: -1.5 }, result: 1.5 },
    ],
    run: ([x]) => {
      if (typeof x === 'bigint') return truncateToInt64(Math.abs(Number(x)))
      if (typeof x === 'number') return Math.abs(x)
      throw new RowError('only float64 & int type are supported')
    },
  }),
  unary('acos', {
    docs: 'Arc cosine in radians; null outside -1 to 1.',
    examples: [{ expression: 'acos(1)', result: 0 }],
    compute: Math.acos,
  }),
  unary('asin', {
    docs: 'Arc sine in radians; null outside -1 to 1.',
    examples: [{ expression: 'asin(2)', result: null }],
    compute: Math.asin,
  }),
  unary('atan', {
    docs: 'Arc tangent in radians.',
    examples: [{ expression: 'atan(0)', result: 0 }],
    compute: Math.atan,
  }),
  defineScalar({
    name: 'atan2',
    family,
    args: [num('y'), num('x')],
    docs: 'Angle in radians of the point whose ordinate is the first and whose abscissa is the second argument.',
    examples: [{ expression: 'atan2(0, 1)', result: 0 }],
    returns: 'float64',
    run: ([y, x]) => nanToNull(Math.atan2(float(y as Value), float(x as Value))),
  }),
  bitwise(
    'bitand',
    'Bitwise AND of two 64-bit integers; integral floats are accepted.',
    [{ expression: 'bitand(6, 3)', result: 2n }],
    (a, b) => a & b,
  ),
  bitwise(
    'bitor',
    'Bitwise OR of two 64-bit integers; integral floats are accepted.',
    [{ expression: 'bitor(6, 3)', result: 7n }],
    (a, b) => a | b,
  ),
  bitwise(
    'bitxor',
    'Bitwise exclusive OR of two 64-bit integers; integral floats are accepted.',
    [{ expression: 'bitxor(6, 3)', result: 5n }],
    (a, b) => a ^ b,
  ),
  defineScalar({
    name: 'bitnot',
    family,
    args: [int('a')],
    docs: 'Complement of every bit of a 64-bit integer; an integral float is accepted.',
    examples: [{ expression: 'bitnot(10)', result: -11n }],
    returns: 'int64',
    run: ([a]) => ~bitOperand(a as Value, 'operand'),
  }),
  unary('ceiling', {
    aliases: ['ceil'],
    docs: 'Smallest whole number that is not below x, as a float.',
    examples: [{ expression: 'ceil(1.2)', result: 2 }],
    compute: Math.ceil,
  }),
  unary('cos', {
    docs: 'Cosine of an angle in radians.',
    examples: [{ expression: 'cos(0)', result: 1 }],
    compute: Math.cos,
  }),
  unary('cosh', {
    docs: 'Hyperbolic cosine.',
    examples: [{ expression: 'cosh(0)', result: 1 }],
    compute: Math.cosh,
  }),
  defineScalar({
    name: 'cot',
    family,
    args: [num('x')],
    docs: 'Cotangent of an angle in radians; an error where it is infinite.',
    examples: [{ expression: 'cot(0)', error: 'call func cot error: out-of-range error' }],
    returns: 'float64',
    run: ([x]) => {
      const value = float(x as Value)
      const result = 1 / Math.tan(value)
      if (Math.abs(result) === Infinity) throw new RowError('out-of-range error')
      return nanToNull(result)
    },
  }),
  unary('degrees', {
    docs: 'Radians to degrees.',
    examples: [{ expression: 'degrees(pi())', result: 180 }],
    compute: (x) => x * (180 / Math.PI),
  }),
  unary('exp', {
    docs: 'e to the power x.',
    examples: [{ expression: 'exp(0)', result: 1 }],
    compute: Math.exp,
  }),
  unary('floor', {
    docs: 'Largest whole number that is not above x, as a float.',
    examples: [{ expression: 'floor(1.8)', result: 1 }],
    compute: Math.floor,
  }),
  defineScalar({
    name: 'ln',
    family,
    args: [num('x')],
    docs: 'Natural logarithm. A negative argument is an error, 0 gives negative infinity.',
    examples: [
      { expression: 'ln(1)', result: 0 },
      { expression: 'ln(a)', row: { a: -1 }, error: 'The argument must be a strictly positive number but got -1' },
    ],
    returns: 'float64',
    run: ([x]) => {
      const value = float(x as Value)
      const result = Math.log(value)
      if (!Number.isNaN(result)) return result
      throw new DomainError(`The argument must be a strictly positive number but got ${goText(value)}`)
    },
  }),
  defineScalar({
    name: 'log',
    family,
    args: [num('base_or_x'), any('x', { optional: true })],
    docs: 'log(x) is the decimal logarithm, log(base, x) the one to a base (as a quotient of natural logarithms).',
    examples: [
      { expression: 'log(1000)', result: 3 },
      { expression: 'log(2, 8)', result: 3 },
    ],
    returns: 'float64',
    validate: (args) => oneOrTwo(args.length) ?? checkLiterals([num('base_or_x')], args),
    run: (args) => {
      const first = float(args[0] as Value)
      const result = args.length === 1 ? Math.log10(first) : Math.log(float(args[1] as Value)) / Math.log(first)
      if (!Number.isNaN(result)) return result
      throw new DomainError(`The argument must be a strictly positive number but got ${goText(first)}`)
    },
  }),
  defineScalar({
    name: 'mod',
    family,
    args: [num('a'), num('b')],
    docs: 'Remainder of a / b as a float with the sign of a. A b that is no number counts as 0, which gives NaN.',
    examples: [{ expression: 'mod(10, 3)', result: 1 }],
    returns: 'float64',
    run: ([a, b]) => {
      const dividend = float(a as Value)
      return dividend % (typeof b === 'bigint' || typeof b === 'number' ? Number(b) : 0)
    },
  }),
  defineScalar({
    name: 'pi',
    family,
    args: [],
    nulls: 'custom',
    docs: 'The number pi.',
    examples: [{ expression: 'pi()', result: Math.PI }],
    returns: 'float64',
    run: () => Math.PI,
  }),
  defineScalar({
    name: 'power',
    aliases: ['pow'],
    family,
    args: [num('x'), num('y')],
    docs: 'x to the power y, as a float.',
    examples: [{ expression: 'power(2, 10)', result: 1024 }],
    returns: 'float64',
    run: ([x, y]) => power(float(x as Value), float(y as Value)),
  }),
  unary('radians', {
    docs: 'Degrees to radians.',
    examples: [{ expression: 'radians(180)', result: Math.PI }],
    compute: (x) => x * (Math.PI / 180),
  }),
  defineScalar({
    name: 'rand',
    family,
    args: [],
    nulls: 'custom',
    deterministic: false,
    docs: 'A random number from 0 up to, not including, 1.',
    examples: [{ expression: 'floor(rand())', result: 0 }],
    returns: 'float64',
    run: (_, call) => call.clock.random(),
  }),
  defineScalar({
    name: 'round',
    family,
    args: [num('x'), num('places', { optional: true })],
    docs: 'Nearest number with that many decimals (default 0, negative for tens), halves away from zero, as a float.',
    examples: [
      { expression: 'round(2.5)', result: 3 },
      { expression: 'round(42.4382, 2)', result: 42.44 },
      { expression: 'round(a, -2)', row: { a: 1250 }, result: 1300 },
    ],
    returns: 'float64',
    validate: (args) => oneOrTwo(args.length) ?? checkLiterals([num('x'), num('places')], args),
    run: (args) => {
      let places = 0n
      if (args.length > 1) {
        try {
          places = toInt(args[1] as Value, 'sameKind')
        } catch (error) {
          throw new RowError(`The second argument must be an integer: ${(error as Error).message}`)
        }
      }
      return round(float(args[0] as Value), Number(places))
    },
  }),
  defineScalar({
    name: 'sign',
    family,
    args: [num('x')],
    docs: '-1, 0 or 1 as an integer.',
    examples: [{ expression: 'sign(-2.5)', result: -1n }],
    returns: 'int64',
    run: ([x]) => {
      const value = float(x as Value)
      return value > 0 ? 1n : value < 0 ? -1n : 0n
    },
  }),
  unary('sin', {
    docs: 'Sine of an angle in radians.',
    examples: [{ expression: 'sin(0)', result: 0 }],
    compute: Math.sin,
  }),
  unary('sinh', {
    docs: 'Hyperbolic sine.',
    examples: [{ expression: 'sinh(0)', result: 0 }],
    compute: Math.sinh,
  }),
  defineScalar({
    name: 'sqrt',
    family,
    args: [num('x')],
    docs: 'Square root; a negative argument is an error.',
    examples: [
      { expression: 'sqrt(9)', result: 3 },
      { expression: 'sqrt(a)', row: { a: -4 }, error: 'The argument must be a positive number but got -4' },
    ],
    returns: 'float64',
    run: ([x]) => {
      const value = float(x as Value)
      const result = Math.sqrt(value)
      if (!Number.isNaN(result)) return result
      throw new DomainError(`The argument must be a positive number but got ${goText(value)}`)
    },
  }),
  unary('tan', {
    docs: 'Tangent of an angle in radians.',
    examples: [{ expression: 'tan(0)', result: 0 }],
    compute: Math.tan,
  }),
  unary('tanh', {
    docs: 'Hyperbolic tangent.',
    examples: [{ expression: 'tanh(0)', result: 0 }],
    compute: Math.tanh,
  }),
  defineScalar({
    name: 'conv',
    family,
    args: [
      any('n'),
      int('fromBase', { literalOnly: true, word: 'integer' }),
      int('toBase', { literalOnly: true, word: 'integer' }),
    ],
    docs: 'A number text from one base (2 to 36) to another, on 64 bits, in upper case. A negative source base reads signed numbers, a negative target base prints them; otherwise negative results print as unsigned.',
    examples: [
      { expression: 'conv("6E", 18, 8)', result: '172' },
      { expression: 'conv("-17", 10, -18)', result: '-H' },
    ],
    returns: 'string',
    run: ([n, from, to]) => convertBase(textOf(n), baseOf(from as Value), baseOf(to as Value)),
  }),
  defineScalar({
    name: 'trunc',
    family,
    args: [num('x'), int('places')],
    docs: 'Despite its name it rounds, halves away from zero, to that many decimals.',
    examples: [
      { expression: 'trunc(5.678, 2)', result: 5.68 },
      { expression: 'trunc(a, -2)', row: { a: 1234.5 }, result: 1200 },
    ],
    returns: 'float64',
    run: ([x, places]) => {
      const value = float(x as Value)
      if (typeof places !== 'bigint') throw new RowError('The 2nd parameter must be int value.')
      const factor = 10 ** Number(places)
      const scaled = value * factor
      return Number(truncateToInt64(scaled + (scaled < 0 || Object.is(scaled, -0) ? -0.5 : 0.5))) / factor
    },
  }),
]

/** Go's math.Pow; JavaScript differs where the base is 1 or -1 and the exponent is NaN or infinite. */
function power(x: number, y: number): number {
  if (x === 1) return 1
  if (x === -1 && Math.abs(y) === Infinity) return 1
  return x ** y
}

function baseOf(value: Value): bigint {
  try {
    return toInt64(value, 'sameKind')
  } catch {
    return 0n
  }
}
