// JSON numbers to the nearest double. Up to 19 significant digits are exact in a 64-bit integer; then either both the
// digits and the power of ten are exact doubles (Clinger), or the product with a 128-bit power of five decides
// (Eisel and Lemire, "Number parsing at a gigabyte per second"). What neither covers is left to the host.
import { BIG, DECIMAL, FLOAT, INT, SLOW, UNDECIDED, fail, failAs } from './state'
import { POWERS_OF_FIVE } from '../generated/tables'
import { high, multiply } from './wide'

const POWERS_OF_TEN: usize = memory.data<f64>([
  1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
  1e21, 1e22,
])

/** Kind and value of the number last read by `scanNumber`. */
export let numberKind: u8 = 0
export let numberValue: f64 = 0

// @ts-ignore: decorator
@inline function isDigit(p: usize): bool {
  return <u32>load<u8>(p) - 48 < 10
}

// @ts-ignore: decorator
@inline function eightDigits(word: u64): bool {
  return ((word & 0xf0f0f0f0f0f0f0f0) | (((word + 0x0606060606060606) & 0xf0f0f0f0f0f0f0f0) >> 4)) == 0x3333333333333333
}

// @ts-ignore: decorator
@inline function parseEight(word: u64): u64 {
  word -= 0x3030303030303030
  word = word * 10 + (word >> 8)
  return ((word & 0x000000ff000000ff) * 0x000f424000000064 + ((word >> 16) & 0x000000ff000000ff) * 0x0000271000000001) >> 32
}

/** Numbers longer than this, or with an exponent beyond it, may be out of range: the general decoder judges them. */
// @ts-ignore: decorator
@inline const SURE: i32 = 290

/** Checks the grammar only; returns the position after the number, 0 on failure. */
export function skipNumber(p: usize): usize {
  const start = p
  if (load<u8>(p) == 45) p++
  if (load<u8>(p) == 48) p++
  else {
    if (!isDigit(p)) return fail(p)
    while (eightDigits(load<u64>(p))) p += 8
    while (isDigit(p)) p++
  }
  if (load<u8>(p) == 46) {
    p++
    if (!isDigit(p)) return fail(p)
    while (isDigit(p)) p++
  }
  if (<i32>(p - start) > SURE) return failAs(start, UNDECIDED)
  if ((load<u8>(p) | 32) == 101) {
    p = skipExponent(p + 1)
    if (p != 0 && <i32>(p - start) + abs(exponent) > SURE) return failAs(start, UNDECIDED)
  }
  return p
}

let exponent: i32 = 0

/** From after the `e`; sets `exponent`. */
function skipExponent(p: usize): usize {
  exponent = 0
  const sign = load<u8>(p)
  if (sign == 43 || sign == 45) p++
  if (!isDigit(p)) return fail(p)
  let d: u32
  while ((d = <u32>load<u8>(p) - 48) < 10) {
    if (exponent < 100000) exponent = exponent * 10 + d
    p++
  }
  if (sign == 45) exponent = -exponent
  return p
}

/** Reads a number, sets `numberKind` and `numberValue`; returns the position after it, 0 on failure. */
export function scanNumber(p: usize): usize {
  const negative = load<u8>(p) == 45
  if (negative) p++
  const first = p
  let mantissa: u64 = 0
  if (load<u8>(p) == 48) p++
  else {
    if (!isDigit(p)) return fail(p)
    let word = load<u64>(p)
    while (eightDigits(word)) {
      mantissa = mantissa * 100000000 + parseEight(word)
      p += 8
      word = load<u64>(p)
    }
    let d: u32
    while ((d = <u32>load<u8>(p) - 48) < 10) {
      mantissa = mantissa * 10 + d
      p++
    }
  }
  let digits = <i32>(p - first)
  const c = load<u8>(p)
  if (c != 46 && (c | 32) != 101) {
    if (mantissa <= 9007199254740991 && digits <= 16 && (mantissa != 0 || !negative)) {
      numberKind = INT
      const value = <f64>(<i64>mantissa)
      numberValue = negative ? -value : value
      return p
    }
    if (mantissa == 0 && digits == 1) {
      numberKind = FLOAT
      numberValue = -0.0
      return p
    }
    if (digits > SURE) return failAs(first, UNDECIDED)
    numberKind = BIG
    numberValue = 0
    return p
  }
  let fraction: i32 = 0
  let plain = true
  exponent = 0
  if (c == 46) {
    p++
    const start = p
    let d: u32
    while ((d = <u32>load<u8>(p) - 48) < 10) {
      mantissa = mantissa * 10 + d
      p++
    }
    fraction = <i32>(p - start)
    if (fraction == 0) return fail(p)
    digits += fraction
  }
  if ((load<u8>(p) | 32) == 101) {
    plain = false
    p = skipExponent(p + 1)
    if (p == 0) return 0
  }
  if (digits + abs(exponent) > SURE) return failAs(first, UNDECIDED)
  if (digits > 19) {
    numberKind = SLOW
    return p
  }
  // A text that is already the shortest form of its value is copied as it stands on output.
  const canonical =
    plain && digits <= 15 && load<u8>(p - 1) != 48 && !(fraction > 6 && load<u8>(first) == 48)
  numberKind = canonical ? DECIMAL : FLOAT
  const scale = exponent - fraction
  let value: f64
  if (mantissa == 0) value = 0
  else if (mantissa <= 9007199254740992 && scale >= -22 && scale <= 22) {
    value = <f64>(<i64>mantissa)
    const power = load<f64>(POWERS_OF_TEN + (<usize>abs(scale) << 3))
    value = scale < 0 ? value / power : value * power
  } else {
    value = lemire(mantissa, scale)
    if (isNaN(value)) {
      numberKind = SLOW
      return p
    }
  }
  numberValue = negative ? -value : value
  return p
}

/** mantissa * 10^scale rounded to nearest even, or NaN outside the range of normal doubles. */
function lemire(mantissa: u64, scale: i32): f64 {
  if (scale < -330 || scale > 308) return NaN
  const zeros = clz<u64>(mantissa)
  const w = mantissa << zeros
  const entry = POWERS_OF_FIVE + (<usize>(scale + 342) << 4)
  let low = multiply(w, load<u64>(entry))
  let hi = high
  if ((hi & 0x1ff) == 0x1ff) {
    multiply(w, load<u64>(entry, 8))
    low += high
    if (high > low) hi++
    if (low == 0xffffffffffffffff && (scale < -27 || scale > 55)) return NaN
  }
  const upper = hi >> 63
  let m = hi >> (upper + 9)
  let power = (((152170 + 65536) * scale) >> 16) + 63 + <i32>upper - <i32>zeros + 1023
  if (power <= 0) return NaN
  if (low <= 1 && scale >= -4 && scale <= 23 && (m & 3) == 1 && m << (upper + 9) == hi) m &= ~1
  m += m & 1
  m >>= 1
  if (m >= 0x20000000000000) {
    m = 0x10000000000000
    power++
  }
  if (power >= 2047) return NaN
  return reinterpret<f64>((m & 0xfffffffffffff) | (<u64>power << 52))
}
