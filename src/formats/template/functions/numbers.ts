/** Arithmetic functions of sprig: int64 that wraps, and decimal-exact `addf`, `mulf` ... */
import { parseGoInt } from '../../../core/go-number.ts'
import { wrapInt64 } from '../../../core/values.ts'
import { define, type FunctionTable, type Run, refuse } from '../function.ts'
import { valueText } from '../print.ts'
import { GoInt, goInt, typed, type V } from '../values.ts'
import { toFloat64, toInt64 } from './convert.ts'

/** value / 10^scale. */
interface Decimal {
  readonly value: bigint
  readonly scale: number
}

/** Digits behind the point that a division keeps. */
const DIVISION_DIGITS = 16

function decimal(number: number): Decimal {
  if (!Number.isFinite(number)) return refuse(`Cannot create a Decimal from ${valueText(number, 64)}`)
  const [mantissa = '0', exponent = '0'] = number.toExponential().split('e')
  const digits = mantissa.replace('.', '')
  const fraction = mantissa.includes('.') ? mantissa.length - mantissa.indexOf('.') - 1 : 0
  const scale = fraction - Number(exponent)
  return scale >= 0 ? { value: BigInt(digits), scale } : { value: BigInt(digits) * 10n ** BigInt(-scale), scale: 0 }
}

const raise = (d: Decimal, scale: number): bigint => d.value * 10n ** BigInt(scale - d.scale)

function plus(a: Decimal, b: Decimal, sign: bigint): Decimal {
  const scale = Math.max(a.scale, b.scale)
  return { value: raise(a, scale) + sign * raise(b, scale), scale }
}

const times = (a: Decimal, b: Decimal): Decimal => ({ value: a.value * b.value, scale: a.scale + b.scale })

/** Rounded to 16 digits, halves away from zero. */
function over(a: Decimal, b: Decimal): Decimal {
  if (b.value === 0n) return refuse('decimal division by 0')
  const shift = DIVISION_DIGITS + b.scale - a.scale
  const top = shift >= 0 ? a.value * 10n ** BigInt(shift) : a.value
  const bottom = shift >= 0 ? b.value : b.value * 10n ** BigInt(-shift)
  const quotient = top / bottom
  const rest = top % bottom
  const size = (n: bigint): bigint => (n < 0n ? -n : n)
  if (size(rest) * 2n < size(bottom)) return { value: quotient, scale: DIVISION_DIGITS }
  return { value: quotient + (top < 0n === bottom < 0n ? 1n : -1n), scale: DIVISION_DIGITS }
}

function inDecimals(first: V, others: readonly V[], combine: (a: Decimal, b: Decimal) => Decimal): number {
  let result = decimal(toFloat64(first))
  for (const other of others) result = combine(result, decimal(toFloat64(other)))
  return Number(`${result.value}e${-result.scale}`)
}

function divide(a: bigint, b: bigint): bigint {
  return b === 0n ? refuse('runtime error: integer divide by zero') : wrapInt64(a / b)
}

function remainder(a: bigint, b: bigint): bigint {
  return b === 0n ? refuse('runtime error: integer divide by zero') : a % b
}

function extreme(values: readonly V[], better: (a: bigint, b: bigint) => boolean): bigint {
  let best = toInt64(values[0])
  for (const value of values) {
    const candidate = toInt64(value)
    if (better(candidate, best)) best = candidate
  }
  return best
}

function count(start: number, stop: number, step: number, run: Run): number[] {
  const numbers: number[] = []
  if (stop < start ? step >= 0 : step <= 0) return numbers
  run.charge(Math.abs((stop - start) / step))
  for (let i = start; stop < start ? i > stop : i < stop; i += step) numbers.push(i)
  return numbers
}

const ints = (numbers: readonly number[]): V[] => typed('[]int', numbers.map(goInt))

function sequence(bounds: readonly number[], run: Run): string {
  const [a = 0, b = 0, c = 0] = bounds
  if (bounds.length === 1) {
    const step = a < 1 ? -1 : 1
    return count(1, a + step, step, run).join(' ')
  }
  if (bounds.length === 2) {
    const step = b < a ? -1 : 1
    return count(a, b + step, step, run).join(' ')
  }
  if (bounds.length !== 3 || (c < a && b > 0)) return ''
  return count(a, c + (c < a ? -1 : 1), b, run).join(' ')
}

function round(value: number, places: number, from: number): number {
  const power = 10 ** places
  const scaled = power * value
  return (scaled - Math.trunc(scaled) >= from ? Math.ceil(scaled) : Math.floor(scaled)) / power
}

/** math.Max and math.Min: a NaN wins. */
const floats = (values: readonly V[], pick: (...n: number[]) => number): number => pick(...values.map(toFloat64))

const maximum = define('any ...any', (values) => extreme(values, (a, b) => a > b))

export const numberFunctions: FunctionTable = {
  add: define('...any', (values: V[]) => wrapInt64(values.reduce<bigint>((sum, v) => sum + toInt64(v), 0n))),
  add1: define('any', ([value]) => wrapInt64(toInt64(value) + 1n)),
  add1f: define('any', ([value]) => inDecimals(value, [1], (a, b) => plus(a, b, 1n))),
  addf: define('...any', (values) => inDecimals(0, values, (a, b) => plus(a, b, 1n))),
  atoi: define('string', ([text]) => {
    const int = parseGoInt(text, 10)
    return goInt(typeof int === 'bigint' ? Number(int) : 0)
  }),
  biggest: maximum,
  ceil: define('any', ([value]) => Math.ceil(toFloat64(value))),
  div: define('any any', ([a, b]) => divide(toInt64(a), toInt64(b))),
  divf: define('any ...any', ([first, ...others]) => inDecimals(first, others, over)),
  float64: define('any', ([value]) => toFloat64(value)),
  floor: define('any', ([value]) => Math.floor(toFloat64(value))),
  int: define('any', ([value]) => new GoInt(toInt64(value))),
  int64: define('any', ([value]) => toInt64(value)),
  max: maximum,
  maxf: define('any ...any', (values) => floats(values, Math.max)),
  min: define('any ...any', (values) => extreme(values, (a, b) => a < b)),
  minf: define('any ...any', (values) => floats(values, Math.min)),
  mod: define('any any', ([a, b]) => remainder(toInt64(a), toInt64(b))),
  mul: define('any ...any', (values: V[]) =>
    values.reduce<bigint>((product, v) => wrapInt64(product * toInt64(v)), 1n),
  ),
  mulf: define('any ...any', ([first, ...others]) => inDecimals(first, others, times)),
  randInt: define('int int', ([from, to], run) => {
    if (to <= from) refuse('invalid argument to Intn')
    return goInt(from + Math.floor(run.random() * (to - from)))
  }),
  round: define('any int ...float64', ([value, places, from]) => round(toFloat64(value), places, from ?? 0.5)),
  seq: define('...int', (bounds, run) => sequence(bounds, run)),
  sub: define('any any', ([a, b]) => wrapInt64(toInt64(a) - toInt64(b))),
  subf: define('any ...any', ([first, ...others]) => inDecimals(first, others, (a, b) => plus(a, b, -1n))),
  toDecimal: define('any', ([value], run) => {
    const int = parseGoInt(valueText(value, run.maxLength), 8)
    return typeof int === 'bigint' ? int : 0n
  }),
  until: define('int', ([stop], run) => ints(count(0, stop, stop < 0 ? -1 : 1, run))),
  untilStep: define('int int int', ([start, stop, step], run) => ints(count(start, stop, step, run))),
}
