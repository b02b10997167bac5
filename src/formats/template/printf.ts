/** Go's `printf`: flags, width, precision, argument indexes and the `%!verb(type=value)` forms for what does not fit. */
import { floatText, goQuote } from '../../core/go-text.ts'
import { decodeUtf8, encodeUtf8 } from '../../core/utf8.ts'
import { Instant } from '../../core/values.ts'
import { sortedKeys, tooLong, valueText } from './print.ts'
import { GoInt, integerOf, isDict, MAX_VALUE_DEPTH, member, Opaque, tooDeep, typeName, type V } from './values.ts'

interface Flags {
  plus: boolean
  minus: boolean
  sharp: boolean
  space: boolean
  zero: boolean
  width: number
  /** -1 = not given. */
  precision: number
  limit: number
}

/** Go refuses wider fields. */
const MAX_WIDTH = 1_000_000

export function printf(format: string, args: readonly V[], limit: number): string {
  let out = ''
  let arg = 0
  let reordered = false
  let i = 0
  const end = format.length
  while (i < end) {
    const percent = format.indexOf('%', i)
    if (percent < 0) {
      out += format.slice(i)
      break
    }
    out += format.slice(i, percent)
    i = percent + 1
    const flags: Flags = {
      plus: false,
      minus: false,
      sharp: false,
      space: false,
      zero: false,
      width: 0,
      precision: -1,
      limit,
    }
    for (; i < end; i++) {
      const c = format[i]
      if (c === '+') flags.plus = true
      else if (c === '-') flags.minus = true
      else if (c === '#') flags.sharp = true
      else if (c === ' ') flags.space = true
      else if (c === '0') flags.zero = true
      else break
    }
    let badIndex = false
    /** `[n]` picks the next argument. True when one was read. */
    const index = (): boolean => {
      if (format[i] !== '[') return false
      reordered = true
      const close = format.indexOf(']', i)
      const n = close < 0 ? Number.NaN : Number(format.slice(i + 1, close))
      i = close < 0 ? i + 1 : close + 1
      if (!Number.isInteger(n) || n < 1 || n > args.length || close < 0) badIndex = true
      else arg = n - 1
      return true
    }
    const number = (): number => {
      let value = -1
      for (; i < end; i++) {
        const digit = format.charCodeAt(i) - 48
        if (digit < 0 || digit > 9) break
        value = Math.min(Math.max(value, 0) * 10 + digit, MAX_WIDTH + 1)
      }
      return value > MAX_WIDTH ? -1 : value
    }
    const star = (): number | undefined => {
      const value = args[arg++]
      const int = value instanceof GoInt || typeof value === 'bigint' ? Number(integerOf(value)) : undefined
      return int !== undefined && Math.abs(int) <= MAX_WIDTH ? int : undefined
    }
    let indexed = index()
    if (format[i] === '*') {
      i++
      const width = arg < args.length ? star() : undefined
      if (width === undefined) out += '%!(BADWIDTH)'
      else {
        flags.width = Math.abs(width)
        if (width < 0) {
          flags.minus = true
          flags.zero = false
        }
      }
      indexed = false
    } else {
      const width = number()
      if (width >= 0) {
        flags.width = width
        if (indexed) badIndex = true
      }
    }
    if (format[i] === '.') {
      i++
      if (indexed) badIndex = true
      indexed = index()
      if (format[i] === '*') {
        i++
        const precision = arg < args.length ? star() : undefined
        if (precision === undefined) out += '%!(BADPREC)'
        else flags.precision = precision < 0 ? -1 : precision
        indexed = false
      } else flags.precision = Math.max(number(), 0)
    }
    if (!indexed) index()
    if (i >= end) {
      out += '%!(NOVERB)'
      break
    }
    const verb = String.fromCodePoint(format.codePointAt(i) as number)
    i += verb.length
    if (verb === '%') out += '%'
    else if (badIndex) out += `%!${verb}(BADINDEX)`
    else if (arg >= args.length) out += `%!${verb}(MISSING)`
    else {
      // With `%v` a plus asks for field names, which no value here has.
      if (verb === 'v') flags.plus = false
      out += formatValue(verb, args[arg++], flags, 0)
    }
    if (out.length > limit) tooLong(limit)
  }
  if (!reordered && arg < args.length) {
    const extra = args.slice(arg).map((a) => (a == null ? '<nil>' : `${typeName(a)}=${valueText(a, limit)}`))
    out += `%!(EXTRA ${extra.join(', ')})`
  }
  return out
}

function pad(text: string, flags: Flags): string {
  if (flags.width === 0) return text
  let size = 0
  for (const _ of text) size++
  const missing = flags.width - size
  if (missing <= 0) return text
  if (flags.minus) return text + ' '.repeat(missing)
  return (flags.zero ? '0' : ' ').repeat(missing) + text
}

/** Padding of a number: zeros go between the sign and the digits. */
function padNumber(sign: string, body: string, flags: Flags, zeros = flags.zero && !flags.minus): string {
  const missing = flags.width - sign.length - body.length
  if (missing <= 0) return sign + body
  if (zeros) return sign + '0'.repeat(missing) + body
  return flags.minus ? sign + body + ' '.repeat(missing) : ' '.repeat(missing) + sign + body
}

function badVerb(verb: string, value: V, flags: Flags): string {
  return `%!${verb}(${typeName(value)}=${formatValue('v', value, { ...flags, sharp: false }, 0)})`
}

function formatValue(verb: string, value: V, flags: Flags, depth: number): string {
  if (depth > MAX_VALUE_DEPTH) tooDeep()
  if (verb === 'T') return formatString('s', typeName(value), flags)
  if (value == null) {
    if (depth > 0) return verb === 'v' && flags.sharp ? 'interface {}(nil)' : '<nil>'
    return verb === 'v' ? pad('<nil>', flags) : `%!${verb}(<nil>)`
  }
  switch (typeof value) {
    case 'boolean':
      return verb === 't' || verb === 'v' ? pad(String(value), { ...flags, zero: false }) : badVerb(verb, value, flags)
    case 'bigint':
      return formatInteger(verb, value, value, flags)
    case 'number':
      return formatFloat(verb, value, flags)
    case 'string':
      return formatString(verb, value, flags) ?? badVerb(verb, value, flags)
  }
  if (value instanceof GoInt) {
    if (value.text !== undefined && 'vsxXq'.includes(verb) && !flags.sharp)
      return formatString(verb, value.text, flags) ?? badVerb(verb, value, flags)
    return formatInteger(verb, value.value, value, flags)
  }
  if (value instanceof Opaque || value instanceof Instant) {
    const text = formatString(verb, valueText(value, flags.limit), { ...flags, sharp: false })
    return text ?? badVerb(verb, value, flags)
  }
  if (value instanceof Uint8Array) return formatBytes(verb, value, flags)
  const goSyntax = verb === 'v' && flags.sharp
  const parts: string[] = []
  let size = 0
  const add = (part: string): void => {
    size += part.length + 1
    if (size > flags.limit) tooLong(flags.limit)
    parts.push(part)
  }
  if (isDict(value)) {
    for (const key of sortedKeys(value)) {
      add(`${formatValue(verb, key, flags, depth + 1)}:${formatValue(verb, member(value, key), flags, depth + 1)}`)
    }
    return goSyntax ? `${typeName(value)}{${parts.join(', ')}}` : `map[${parts.join(' ')}]`
  }
  for (const v of value) add(formatValue(verb, v, flags, depth + 1))
  return goSyntax ? `${typeName(value)}{${parts.join(', ')}}` : `[${parts.join(' ')}]`
}

function formatBytes(verb: string, bytes: Uint8Array, flags: Flags): string {
  if (verb === 'v' || verb === 'd') {
    if (verb === 'v' && flags.sharp) return `[]byte{${[...bytes].map((b) => `0x${b.toString(16)}`).join(', ')}}`
    return `[${[...bytes].map((b) => formatInteger('d', BigInt(b), BigInt(b), flags)).join(' ')}]`
  }
  if (verb === 'x' || verb === 'X') return hexText(bytes, verb, flags)
  return formatString(verb, decodeUtf8(bytes), flags) ?? badVerb(verb, bytes, flags)
}

function hexText(bytes: Uint8Array, verb: string, flags: Flags): string {
  const used = flags.precision >= 0 ? bytes.subarray(0, flags.precision) : bytes
  const prefix = flags.sharp ? `0${verb}` : ''
  let out = flags.space ? '' : used.length > 0 ? prefix : ''
  for (const byte of used) {
    if (flags.space) out += (out === '' ? '' : ' ') + prefix
    const digits = byte.toString(16).padStart(2, '0')
    out += verb === 'X' ? digits.toUpperCase() : digits
  }
  return pad(out, { ...flags, zero: false })
}

function formatString(verb: 's', text: string, flags: Flags): string
function formatString(verb: string, text: string, flags: Flags): string | undefined
function formatString(verb: string, text: string, flags: Flags): string | undefined {
  if (verb === 'x' || verb === 'X') return hexText(encodeUtf8(text), verb, flags)
  const cut = flags.precision >= 0 ? [...text].slice(0, flags.precision).join('') : text
  if (verb === 's' || (verb === 'v' && !flags.sharp)) return pad(cut, flags)
  if (verb !== 'q' && verb !== 'v') return undefined
  if (verb === 'q' && flags.sharp && !/[`\x00-\x08\x0a-\x1f\x7f\ufeff]/.test(cut)) return pad(`\`${cut}\``, flags)
  const quoted = goQuote(cut)
  return pad(flags.plus && verb === 'q' ? asciiOnly(quoted) : quoted, flags)
}

function asciiOnly(text: string): string {
  let out = ''
  for (const c of text) {
    const code = c.codePointAt(0) as number
    const hex = code.toString(16)
    out += code <= 0x7f ? c : code > 0xffff ? `\\U${hex.padStart(8, '0')}` : `\\u${hex.padStart(4, '0')}`
  }
  return out
}

const bases: Record<string, [radix: number, prefix: string]> = {
  b: [2, '0b'],
  o: [8, '0'],
  O: [8, '0o'],
  x: [16, '0x'],
  X: [16, '0X'],
}

function formatInteger(verb: string, int: bigint, value: V, flags: Flags): string {
  const negative = int < 0n
  const size = negative ? -int : int
  const sign = negative ? '-' : flags.plus ? '+' : flags.space ? ' ' : ''
  if (verb === 'c') return pad(int >= 0n && int <= 0x10ffffn ? String.fromCodePoint(Number(int)) : '\ufffd', flags)
  if (verb === 'q') {
    const char = int >= 0n && int <= 0x10ffffn ? String.fromCodePoint(Number(int)) : '\ufffd'
    const body = char === "'" ? "\\'" : char === '"' ? '"' : goQuote(char).slice(1, -1)
    return pad(`'${flags.plus ? asciiOnly(body) : body}'`, flags)
  }
  if (verb === 'U') {
    const text = `U+${size.toString(16).toUpperCase().padStart(Math.max(4, flags.precision), '0')}`
    return pad(flags.sharp && size <= 0x10ffffn ? `${text} '${String.fromCodePoint(Number(size))}'` : text, {
      ...flags,
      zero: false,
    })
  }
  let digits: string
  let prefix = ''
  if (verb === 'd' || verb === 'v') digits = String(size)
  else {
    const base = Object.hasOwn(bases, verb) ? bases[verb] : undefined
    if (base === undefined) return badVerb(verb, value, flags)
    digits = size.toString(base[0])
    if (verb === 'X') digits = digits.toUpperCase()
    if (flags.sharp || verb === 'O') prefix = base[1]
    if (verb === 'o' && flags.sharp && digits.startsWith('0')) prefix = ''
  }
  if (flags.precision >= 0) {
    if (flags.precision === 0 && size === 0n) return pad('', { ...flags, zero: false })
    return padNumber(sign + prefix, digits.padStart(flags.precision, '0'), flags, false)
  }
  if (flags.zero && !flags.minus && flags.width > 0)
    return sign + prefix + digits.padStart(flags.width - sign.length, '0')
  return padNumber(sign + prefix, digits, flags)
}

function formatFloat(verb: string, value: number, flags: Flags): string {
  if (!'vbeEfFgGxX'.includes(verb)) return badVerb(verb, value, flags)
  const negative = value < 0 || Object.is(value, -0)
  const sign = negative ? '-' : flags.plus ? '+' : flags.space ? ' ' : ''
  const size = Math.abs(value)
  if (!Number.isFinite(value)) {
    const body = Number.isNaN(value) ? 'NaN' : 'Inf'
    // Infinity carries its sign, and neither is padded with zeros.
    const shown = Number.isNaN(value)
      ? flags.plus
        ? '+'
        : flags.space
          ? ' '
          : ''
      : negative
        ? '-'
        : flags.space && !flags.plus
          ? ' '
          : '+'
    return padNumber(shown, body, flags, false)
  }
  return padNumber(sign, floatBody(verb, size, flags.precision), flags)
}

/** Digits of a size >= 0. */
function floatBody(verb: string, size: number, precision: number): string {
  switch (verb) {
    case 'f':
    case 'F':
      return fixed(size, precision < 0 ? 6 : precision)
    case 'e':
      return exponential(size, precision < 0 ? 6 : precision)
    case 'E':
      return exponential(size, precision < 0 ? 6 : precision).toUpperCase()
    case 'G':
      return general(size, precision).toUpperCase()
    case 'x':
      return hexadecimal(size)
    case 'X':
      return hexadecimal(size).toUpperCase()
    case 'b': {
      const { numerator, shift } = mantissaOf(size)
      return `${numerator}p${shift > 0 ? '-' : '+'}${Math.abs(shift)}`
    }
    default:
      return general(size, precision)
  }
}

function general(size: number, precision: number): string {
  if (precision < 0) return floatText(size)
  const digits = precision === 0 ? 1 : precision
  if (size === 0) return '0'
  const text = exponential(size, digits - 1)
  const e = text.indexOf('e')
  const exponent = Number(text.slice(e + 1))
  const significant = text.slice(0, e).replace('.', '').replace(/0+$/, '')
  // A short result decides by the digits it has when they cover the whole number.
  const threshold = digits > significant.length && significant.length >= exponent + 1 ? significant.length : digits
  if (exponent < -4 || exponent >= threshold) {
    const mantissa = significant.length > 1 ? `${significant[0]}.${significant.slice(1)}` : significant
    return `${mantissa}${text.slice(e)}`
  }
  if (exponent < 0) return `0.${'0'.repeat(-exponent - 1)}${significant}`
  const whole = significant.slice(0, exponent + 1).padEnd(exponent + 1, '0')
  const fraction = significant.slice(exponent + 1)
  return fraction === '' ? whole : `${whole}.${fraction}`
}

/** size = numerator / 2^shift with the 53 bits a double has; `shift` may be negative. */
function mantissaOf(size: number): { numerator: bigint; shift: number } {
  const view = new DataView(new ArrayBuffer(8))
  view.setFloat64(0, size)
  const bits = view.getBigUint64(0)
  const exponent = Number(bits >> 52n)
  const fraction = bits & 0xfffffffffffffn
  return { numerator: exponent === 0 ? fraction : fraction | (1n << 52n), shift: 1075 - Math.max(exponent, 1) }
}

/** The same with a shift of at least 0. */
function exact(size: number): { numerator: bigint; shift: number } {
  const { numerator, shift } = mantissaOf(size)
  return shift >= 0 ? { numerator, shift } : { numerator: numerator << BigInt(-shift), shift: 0 }
}

/** `0x1.4p+01`, all digits. */
function hexadecimal(size: number): string {
  if (size === 0) return '0x0p+00'
  const { numerator, shift } = mantissaOf(size)
  const top = numerator.toString(2).length - 1
  const fraction = (numerator << BigInt(52 - top)) & 0xfffffffffffffn
  const digits = fraction.toString(16).padStart(13, '0').replace(/0+$/, '')
  const exponent = top - shift
  return `0x1${digits && `.${digits}`}p${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`
}

/** size x 10^power rounded half to even, as Go rounds. */
function scaled(size: number, power: number): bigint {
  const { numerator, shift } = exact(size)
  const top = power >= 0 ? numerator * 10n ** BigInt(power) : numerator
  const bottom = (power < 0 ? 10n ** BigInt(-power) : 1n) << BigInt(shift)
  const quotient = top / bottom
  const twice = (top % bottom) * 2n
  return twice > bottom || (twice === bottom && (quotient & 1n) === 1n) ? quotient + 1n : quotient
}

/** No double has more digits than this behind the point. */
const MAX_DIGITS = 1100

function fixed(size: number, precision: number): string {
  if (precision <= 15 && size < 1e9) {
    // toFixed differs only at exact halves; stay away from them.
    const part = (size * 10 ** precision) % 1
    if (size * 10 ** precision < 2 ** 40 && Math.abs(part - 0.5) > 1e-3) return size.toFixed(precision)
  }
  const used = Math.min(precision, MAX_DIGITS)
  const digits = String(scaled(size, used)).padStart(used + 1, '0')
  const whole = used === 0 ? digits : digits.slice(0, -used)
  return precision === 0 ? whole : `${whole}.${digits.slice(digits.length - used).padEnd(precision, '0')}`
}

function exponential(size: number, precision: number): string {
  const used = Math.min(precision, MAX_DIGITS)
  let exponent = size === 0 ? 0 : Number(size.toExponential().split('e')[1])
  let digits = size === 0 ? '0'.repeat(used + 1) : String(scaled(size, used - exponent))
  if (digits.length > used + 1) {
    exponent++
    digits = digits.slice(0, -1)
  }
  const mantissa = precision === 0 ? digits : `${digits[0]}.${digits.slice(1).padEnd(precision, '0')}`
  return `${mantissa}e${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`
}
