/** Reading numbers from text by Go's rules (strconv), where they are wider or narrower than JavaScript's. */

export type ParseFailure = 'syntax' | 'range'

/** Underscores may stand between digits and after a base prefix only. `body` has no sign. */
function underscoresFit(body: string): boolean {
  const digit = /^0x/i.test(body) ? '0-9a-fA-F' : '0-9'
  // The prefix counts as a digit.
  const digits = body.replace(/^0[box]/i, '0')
  return !new RegExp(`(?:^|[^${digit}])_|_(?:$|[^${digit}])`).test(digits)
}

function digitValue(char: string): number {
  const code = char.charCodeAt(0)
  if (code >= 48 && code <= 57) return code - 48
  const lower = code | 32
  return lower >= 97 && lower <= 122 ? lower - 87 : 36
}

/** strconv.ParseUint over 64 bits; base 0 reads the prefixes 0x, 0b, 0o, 0 and underscores. */
export function parseGoUint(text: string, base: number): bigint | ParseFailure {
  let body = text
  let radix = base
  if (base === 0) {
    radix = 10
    const prefix = /^0[xX](?=.)/.test(text) ? 16 : /^0[bB](?=.)/.test(text) ? 2 : /^0[oO](?=.)/.test(text) ? 8 : 0
    if (text.includes('_') && !underscoresFit(text)) return 'syntax'
    if (prefix > 0) {
      radix = prefix
      body = text.slice(2)
    } else if (text.length > 1 && text[0] === '0') {
      radix = 8
      body = text.slice(1)
    }
    body = body.replaceAll('_', '')
  }
  if (body === '') return 'syntax'
  for (const char of body) if (digitValue(char) >= radix) return 'syntax'
  const significant = body.replace(/^0+/, '')
  if (significant.length > 64) return 'range'
  let value = 0n
  const big = BigInt(radix)
  for (const char of significant) value = value * big + BigInt(digitValue(char))
  return value > 0xffff_ffff_ffff_ffffn ? 'range' : value
}

/** strconv.ParseInt over 64 bits. */
export function parseGoInt(text: string, base: number): bigint | ParseFailure {
  const negative = text[0] === '-'
  const size = parseGoUint(negative || text[0] === '+' ? text.slice(1) : text, base)
  if (typeof size === 'string') return size
  const value = negative ? -size : size
  return BigInt.asIntN(64, value) === value ? value : 'range'
}

const decimal = /^[+-]?(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:e[+-]?\d[\d_]*)?$/i
const hexadecimal = /^([+-]?)0x([0-9a-f_]*)\.?([0-9a-f_]*)p([+-]?\d+)$/i

/** strconv.ParseFloat over 64 bits: decimal, hexadecimal, infinities and NaN in any case, underscores as in literals. */
export function parseGoFloat(text: string): number | ParseFailure {
  const special = /^([+-]?)(inf|infinity)$/i.exec(text)
  if (special) return special[1] === '-' ? -Infinity : Infinity
  if (/^nan$/i.test(text)) return Number.NaN
  let value: number
  const hex = hexadecimal.exec(text)
  if (hex) {
    const [, sign, whole = '', fraction = '', power = '0'] = hex
    const body = text.replace(/^[+-]/, '')
    if (text.includes('_') && !underscoresFit(body.slice(0, body.search(/p/i)))) return 'syntax'
    const digits = (whole + fraction).replaceAll('_', '')
    if (digits === '') return 'syntax'
    value = scaleByPowerOfTwo(BigInt(`0x${digits}`), Number(power) - 4 * fraction.replaceAll('_', '').length)
    if (sign === '-') value = -value
  } else {
    if (!decimal.test(text) || (text.includes('_') && !underscoresFit(text.replace(/^[+-]/, '')))) return 'syntax'
    value = Number(text.replaceAll('_', ''))
  }
  return Number.isFinite(value) ? value : 'range'
}

/** mantissa x 2^power, rounded once to the nearest double, halves to even. */
function scaleByPowerOfTwo(mantissa: bigint, power: number): number {
  if (mantissa === 0n) return 0
  const bits = mantissa.toString(2).length
  if (bits + power > 1024) return Infinity
  if (bits + power < -1074) return 0
  // Digits kept: 53, fewer where the result is subnormal.
  const keep = Math.min(53, bits + power + 1074)
  const drop = bits - keep
  let kept = mantissa
  if (drop > 0) {
    const unit = 1n << BigInt(drop)
    const rest = mantissa & (unit - 1n)
    kept = mantissa >> BigInt(drop)
    const half = unit >> 1n
    if (rest > half || (rest === half && (kept & 1n) === 1n)) kept++
  }
  const exponent = power + Math.max(drop, 0)
  // Two exact steps keep the intermediate powers in range.
  const step = Math.max(-1000, Math.min(1000, exponent))
  return Number(kept) * 2 ** step * 2 ** (exponent - step)
}

const trueWords = new Set(['1', 't', 'T', 'TRUE', 'true', 'True'])
const falseWords = new Set(['0', 'f', 'F', 'FALSE', 'false', 'False'])

/** strconv.ParseBool; undefined when the word is not one of its twelve. */
export function parseGoBool(text: string): boolean | undefined {
  return trueWords.has(text) ? true : falseWords.has(text) ? false : undefined
}

const MIN_INT64 = -(2n ** 63n)

/** int64(float) as Go does on x86-64: towards zero; NaN and what does not fit become the lowest integer. */
export function truncateToInt64(value: number): bigint {
  if (!(Math.abs(value) < 2 ** 63)) return MIN_INT64
  return BigInt(Math.trunc(value))
}
