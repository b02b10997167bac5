/**
 * Text forms of values as Go prints them (spec/sql.md 2.11, spec/functions.md "Engine rules" 6): group keys, messages,
 * string functions.
 */
import { compareText } from './text-order.ts'
import { instantText } from './time-format.ts'
import { Instant, type Value } from './values.ts'

/** Shortest digits and decimal exponent: value = d.ddd x 10^exponent. */
function decompose(value: number): { digits: string; exponent: number } {
  const text = Math.abs(value).toExponential()
  const e = text.indexOf('e')
  return { digits: text.slice(0, e).replace('.', ''), exponent: Number(text.slice(e + 1)) }
}

function nonFinite(value: number): string {
  return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf'
}

const isNegative = (value: number): boolean => value < 0 || Object.is(value, -0)

/** A float64 as `%v` prints it: 3 -> `3`, 1000000 -> `1e+06`, 0.00001 -> `1e-05`. */
export function floatText(value: number): string {
  if (!Number.isFinite(value)) return nonFinite(value)
  const size = Math.abs(value)
  // Between these bounds both languages print the same plain digits.
  if ((size >= 1e-4 && size < 1e6 && size !== 0) || Object.is(value, 0)) return String(value)
  const { digits, exponent } = decompose(value)
  const sign = isNegative(value) ? '-' : ''
  if (value === 0) return `${sign}0`
  const fraction = digits.length > 1 ? `.${digits.slice(1)}` : ''
  const power = String(Math.abs(exponent)).padStart(2, '0')
  return `${sign}${digits[0]}${fraction}e${exponent < 0 ? '-' : '+'}${power}`
}

/** A float64 in plain decimal with the fewest digits that read back the same: 1e21 -> `1000000000000000000000`. */
export function floatPlain(value: number): string {
  if (!Number.isFinite(value)) return nonFinite(value)
  const size = Math.abs(value)
  if (Object.is(value, -0)) return '-0'
  if (size < 1e21 && (size >= 1e-6 || size === 0)) return String(value)
  const { digits, exponent } = decompose(value)
  const sign = value < 0 ? '-' : ''
  if (exponent < 0) return `${sign}0.${'0'.repeat(-exponent - 1)}${digits}`
  return sign + digits.padEnd(exponent + 1, '0')
}

/** `%v` of any value; null is `<nil>`. */
export function goText(value: Value | undefined): string {
  switch (typeof value) {
    case 'string':
      return value
    case 'number':
      return floatText(value)
    case 'bigint':
    case 'boolean':
      return String(value)
    case 'undefined':
      return '<nil>'
  }
  if (value === null) return '<nil>'
  if (value instanceof Instant) return instantText(value)
  if (value instanceof Uint8Array) return `[${value.join(' ')}]`
  if (Array.isArray(value)) return `[${value.map(goText).join(' ')}]`
  const keys = Object.keys(value).sort(compareText)
  return `map[${keys.map((key) => `${key}:${goText(value[key])}`).join(' ')}]`
}

/** The string form string functions work on: `%v`, but null is the empty text. */
export function textOf(value: Value | undefined): string {
  return typeof value === 'string' ? value : value == null ? '' : goText(value)
}

const escapes: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\x07': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
}

/** `%q`: double quoted with Go escapes, for messages such as `time: invalid duration "x"`. */
export function goQuote(text: string): string {
  let out = '"'
  for (const char of text) {
    const escaped = escapes[char]
    const code = char.codePointAt(0) as number
    if (escaped !== undefined) out += escaped
    else if (code < 0x20 || code === 0x7f) out += `\\x${code.toString(16).padStart(2, '0')}`
    else if (code > 0x7f && /[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/u.test(char))
      out += code > 0xffff ? `\\U${code.toString(16).padStart(8, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`
    else out += char
  }
  return `${out}"`
}
