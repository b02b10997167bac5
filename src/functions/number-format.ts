/** format(): a number with a fixed count of decimals, in the spelling of a locale (spec/functions.json format). */
import { RowError } from '../core/errors.ts'
import { numberStyle } from './number-locales.ts'

const MAX_DECIMALS = 1000n

/** Every decimal digit of a finite, non-negative double: value = digits / 10^places. */
function exactDecimal(value: number): { digits: bigint; places: number } {
  const view = new DataView(new ArrayBuffer(8))
  view.setFloat64(0, value)
  const bits = view.getBigUint64(0)
  const biased = Number(bits >> 52n)
  const mantissa = (bits & 0xf_ffff_ffff_ffffn) | (biased === 0 ? 0n : 1n << 52n)
  const exponent = Math.max(biased, 1) - 1075
  if (exponent >= 0) return { digits: mantissa << BigInt(exponent), places: 0 }
  return { digits: mantissa * 5n ** BigInt(-exponent), places: -exponent }
}

/** The digits rounded to `decimals` places, halves to even. */
function roundHalfEven(value: number, decimals: number): { whole: string; fraction: string } {
  const { digits, places } = exactDecimal(value)
  let kept: bigint
  if (decimals >= places) {
    kept = digits * 10n ** BigInt(decimals - places)
  } else {
    const unit = 10n ** BigInt(places - decimals)
    const rest = digits % unit
    kept = digits / unit
    if (rest * 2n > unit || (rest * 2n === unit && kept % 2n === 1n)) kept++
  }
  const text = String(kept).padStart(decimals + 1, '0')
  const point = text.length - decimals
  return { whole: text.slice(0, point), fraction: text.slice(point) }
}

function grouped(whole: string, separator: string, size: number): string {
  if (whole.length <= 3) return whole
  const parts = [whole.slice(-3)]
  for (let end = whole.length - 3; end > 0; end -= size) parts.unshift(whole.slice(Math.max(0, end - size), end))
  return parts.join(separator)
}

function inDigits(text: string, zero: string): string {
  if (zero === '0') return text
  const base = zero.codePointAt(0) as number
  return text.replace(/[0-9]/g, (digit) => String.fromCodePoint(base + Number(digit)))
}

/** `locale` null: no grouping and a point. Throws RowError for an unknown locale or too many decimals. */
export function formatDecimal(value: number, decimals: bigint, locale: string | null): string {
  const style = locale === null ? null : numberStyle(locale)
  if (style === undefined) throw new RowError(`not support for the specific locale:${locale}`)
  if (decimals > MAX_DECIMALS) throw new RowError(`the decimal places must not be above ${MAX_DECIMALS}`, 'LIMIT')
  if (Number.isNaN(value)) return 'NaN'
  const negative = value < 0 || Object.is(value, -0)
  const sign = style ? (negative ? style.negative : style.positive) : negative ? '-' : ''
  if (!Number.isFinite(value)) return `${sign}∞`
  const { whole, fraction } = roundHalfEven(Math.abs(value), Number(decimals))
  const head = style ? grouped(whole, style.group, style.groupSize) : whole
  const tail = fraction === '' ? '' : (style?.decimal ?? '.') + fraction
  return sign + (style ? inDigits(head + tail, style.zero) : head + tail)
}
