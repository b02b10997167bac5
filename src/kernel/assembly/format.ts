// Doubles as the shortest decimal text that reads back as the same double, in the layout of JavaScript and Go's JSON
// (exponent form below 1e-6 and from 1e21 on). Method: Schubfach (Raffaello Giulietti, "The Schubfach way to render doubles").
import { POWERS_OF_TEN_CEILED } from '../generated/tables'
import { high, multiply } from './wide'

let digits: u64 = 0
let exponent: i32 = 0

function roundToOdd(g1: u64, g0: u64, cp: u64): u64 {
  multiply(g0, cp)
  const x1 = high
  const y0 = multiply(g1, cp)
  const y1 = high
  const low = y0 + x1
  return (y1 + u64(low < y0)) | u64(low > 1)
}

/** Sets `digits` and `exponent` for a positive finite double that is not a small integer. */
function shortest(bits: u64): void {
  const fraction = bits & 0xfffffffffffff
  const biased = <i32>(bits >> 52) & 0x7ff
  const c = biased != 0 ? fraction | 0x10000000000000 : fraction
  const q = biased != 0 ? biased - 1075 : -1074
  const odd = c & 1
  const closer = fraction == 0 && biased > 1
  const k = (q * 1262611 - (closer ? 524031 : 0)) >> 22
  const h = q + ((-k * 1741647) >> 19) + 1
  const entry = POWERS_OF_TEN_CEILED + (<usize>(292 - k) << 4)
  const g1 = load<u64>(entry)
  const g0 = load<u64>(entry, 8)
  const cb = 4 * c
  const lower = roundToOdd(g1, g0, (cb - 2 + u64(closer)) << h) + odd
  const vb = roundToOdd(g1, g0, cb << h)
  const upper = roundToOdd(g1, g0, (cb + 2) << h) - odd
  const s = vb >> 2
  if (s >= 10) {
    const sp = s / 10
    const under = lower <= 40 * sp
    const over = 40 * sp + 40 <= upper
    if (under != over) {
      digits = sp + u64(over)
      exponent = k + 1
      return
    }
  }
  const under = lower <= 4 * s
  const over = 4 * s + 4 <= upper
  exponent = k
  if (under != over) digits = s + u64(over)
  else {
    const middle = 4 * s + 2
    digits = s + u64(vb > middle || (vb == middle && (s & 1) != 0))
  }
}

function countDigits(n: u64): i32 {
  let count = 1
  while (n >= 10000) {
    n /= 10000
    count += 4
  }
  if (n >= 1000) return count + 3
  if (n >= 100) return count + 2
  if (n >= 10) return count + 1
  return count
}

/** Writes exactly `count` digits. */
function writeDigits(p: usize, n: u64, count: i32): void {
  let q = p + count
  while (n > 0xffffffff) {
    const rest = n / 10
    store<u8>(--q, <u8>(48 + (n - rest * 10)))
    n = rest
  }
  let m = <u32>n
  while (q > p) {
    const rest = m / 10
    store<u8>(--q, <u8>(48 + (m - rest * 10)))
    m = rest
  }
}

/** The text of a finite double; returns the position after it (at most 26 bytes). */
export function writeNumber(p: usize, value: f64): usize {
  const all = reinterpret<u64>(value)
  if (<i64>all < 0) store<u8>(p++, 45)
  const bits = all & 0x7fffffffffffffff
  const positive = reinterpret<f64>(bits)
  if (positive < 9007199254740992) {
    const whole = <u64>positive
    if (<f64>whole == positive) {
      const count = countDigits(whole)
      writeDigits(p, whole, count)
      return p + count
    }
  }
  shortest(bits)
  let n = digits
  let e = exponent
  while (true) {
    const rest = n / 10
    if (rest * 10 != n) break
    n = rest
    e++
  }
  const count = countDigits(n)
  const point = count + e
  if (point > 0 && point <= 21) {
    if (e >= 0) {
      writeDigits(p, n, count)
      for (let i = count; i < point; i++) store<u8>(p + i, 48)
      return p + point
    }
    // digits on both sides of the point
    writeDigits(p + 1, n, count)
    memory.copy(p, p + 1, point)
    store<u8>(p + point, 46)
    return p + count + 1
  }
  if (point <= 0 && point > -6) {
    store<u16>(p, 0x2e30)
    p += 2
    for (let i = point; i < 0; i++) store<u8>(p++, 48)
    writeDigits(p, n, count)
    return p + count
  }
  writeDigits(p + 1, n, count)
  store<u8>(p, load<u8>(p + 1))
  if (count == 1) p++
  else {
    store<u8>(p + 1, 46)
    p += count + 1
  }
  let power = point - 1
  store<u8>(p++, 101)
  store<u8>(p++, power < 0 ? 45 : 43)
  if (power < 0) power = -power
  const width = power >= 100 ? 3 : power >= 10 ? 2 : 1
  writeDigits(p, power, width)
  return p + width
}
