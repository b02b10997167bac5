/** Go's `printf`: flags, width, precision, argument indexes and the `%!verb(type=value)` forms for what does not fit. */
import { floatText, goQuote } from '../../core/go-text.ts'
import { decodeUtf8, encodeUtf8 } from '../../core/utf8.ts'
import { Instant } from '../../core/values.ts'
import { sortedKeys, tooLong, valueText } from './print.ts'
import { GoInt, integerOf, isDict, MAX_VALUE_DEPTH, member, Opaque, tooDeep, typeName, type V } from './values.ts'

interface Flags {
  readonly plus: boolean
  readonly minus: boolean
  readonly sharp: boolean
  readonly space: boolean
  readonly zero: boolean
  readonly width: number
  /** -1 = not given. */
  readonly precision: number
}

/** One `%...` of a format. `[n]` indexes are 0-based, NaN when malformed. */
interface Directive {
  readonly verb: string
  readonly flags: Flags
  readonly starWidth: boolean
  readonly starPrecision: boolean
  readonly widthIndex: number | undefined
  readonly precisionIndex: number | undefined
  readonly index: number | undefined
  /** An index stands where none may. */
  readonly misplaced: boolean
}

type Format = readonly (string | Directive)[]

/** Go refuses wider fields. */
const MAX_WIDTH = 1_000_000

/** Formats are nearly always constants; the few kept are short. */
const MAX_CACHED = 200
const formats = new Map<string, Format>()

function formatOf(text: string): Format {
  let format = formats.get(text)
  if (format === undefined) {
    format = parseFormat(text)
    if (formats.size >= MAX_CACHED) formats.clear()
    if (text.length <= MAX_CACHED) formats.set(text, format)
  }
  return format
}

function parseFormat(text: string): Format {
  const parts: (string | Directive)[] = []
  const end = text.length
  let i = 0
  const has = (c: string): boolean => {
    if (text[i] !== c) return false
    i++
    return true
  }
  const number = (): number => {
    let value = -1
    for (; i < end; i++) {
      const digit = text.charCodeAt(i) - 48
      if (digit < 0 || digit > 9) break
      value = Math.min(Math.max(value, 0) * 10 + digit, MAX_WIDTH + 1)
    }
    return value > MAX_WIDTH ? -1 : value
  }
  /** `[n]`. */
  const index = (): number | undefined => {
    if (!has('[')) return undefined
    const close = text.indexOf(']', i)
    if (close < 0) return Number.NaN
    const digits = text.slice(i, close)
    i = close + 1
    return /^\d{1,7}$/.test(digits) && digits !== '0' ? Number(digits) - 1 : Number.NaN
  }
  while (i < end) {
    const percent = text.indexOf('%', i)
    if (percent !== i) parts.push(text.slice(i, percent < 0 ? end : percent))
    if (percent < 0) break
    i = percent + 1
    const seen = new Set<string>()
    while (i < end && '+-# 0'.includes(text[i] as string)) seen.add(text[i++] as string)
    const widthIndex = index()
    const starWidth = has('*')
    const width = starWidth ? -1 : number()
    // An index must stand right before what it picks.
    let misplaced = width >= 0 && widthIndex !== undefined
    let place = starWidth ? undefined : widthIndex
    let precision = -1
    let starPrecision = false
    let precisionIndex: number | undefined
    if (has('.')) {
      misplaced ||= place !== undefined
      const before = index()
      starPrecision = has('*')
      if (starPrecision) precisionIndex = before
      else {
        precision = Math.max(number(), 0)
        place = before ?? place
      }
    }
    place ??= index()
    if (i >= end) {
      parts.push('%!(NOVERB)')
      break
    }
    const verb = String.fromCodePoint(text.codePointAt(i) as number)
    i += verb.length
    if (verb === '%') {
      parts.push('%')
      continue
    }
    const flags = {
      // With `%v` a plus asks for field names, which no value here has.
      plus: seen.has('+') && verb !== 'v',
      minus: seen.has('-'),
      sharp: seen.has('#'),
      space: seen.has(' '),
      zero: seen.has('0'),
      width: Math.max(width, 0),
      precision,
    }
    parts.push({
      verb,
      flags,
      starWidth,
      starPrecision,
      widthIndex: starWidth ? widthIndex : undefined,
      precisionIndex,
      index: place,
      misplaced,
    })
  }
  return parts
}

export function printf(format: string, args: readonly V[], limit: number): string {
  let out = ''
  let next = 0
  let reordered = false
  /** Moves to the argument an index names; false when there is none. */
  const move = (index: number | undefined): boolean => {
    if (index === undefined) return true
    reordered = true
    if (!(index < args.length)) return false
    next = index
    return true
  }
  const star = (): number | undefined => {
    const value = next < args.length ? integerOf(args[next++]) : undefined
    const int = Number(value ?? Number.NaN)
    return Math.abs(int) <= MAX_WIDTH ? int : undefined
  }
  for (const part of formatOf(format)) {
    if (typeof part === 'string') {
      out += part
      continue
    }
    let { flags } = part
    let good = move(part.widthIndex)
    if (part.starWidth) {
      const width = star()
      if (width === undefined) out += '%!(BADWIDTH)'
      else if (width < 0) flags = { ...flags, width: -width, minus: true, zero: false }
      else flags = { ...flags, width }
    }
    good = move(part.precisionIndex) && good
    if (part.starPrecision) {
      const precision = star()
      if (precision === undefined) out += '%!(BADPREC)'
      else flags = { ...flags, precision: precision < 0 ? -1 : precision }
    }
    good = move(part.index) && good && !part.misplaced
    if (!good) out += `%!${part.verb}(BADINDEX)`
    else if (next >= args.length) out += `%!${part.verb}(MISSING)`
    else out += formatValue(part.verb, args[next++], flags, limit, 0)
    if (out.length > limit) tooLong(limit)
  }
  if (!reordered && next < args.length) {
    const extra = args.slice(next).map((a) => (a == null ? '<nil>' : `${typeName(a)}=${valueText(a, limit)}`))
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

function badVerb(verb: string, value: V, flags: Flags, limit: number): string {
  return `%!${verb}(${typeName(value)}=${formatValue('v', value, { ...flags, sharp: false }, limit, 0)})`
}

function formatValue(verb: string, value: V, flags: Flags, limit: number, depth: number): string {
  if (depth > MAX_VALUE_DEPTH) tooDeep()
  if (verb === 'T') return formatString('s', typeName(value), flags)
  if (value == null) {
    if (depth > 0) return verb === 'v' && flags.sharp ? 'interface {}(nil)' : '<nil>'
    return verb === 'v' ? pad('<nil>', flags) : `%!${verb}(<nil>)`
  }
  switch (typeof value) {
    case 'boolean':
      return verb === 't' || verb === 'v' ? pad(String(value), flags) : badVerb(verb, value, flags, limit)
    case 'bigint':
      return formatInteger(verb, value, value, flags, limit)
    case 'number':
      return formatFloat(verb, value, flags, limit)
    case 'string':
      return formatString(verb, value, flags) ?? badVerb(verb, value, flags, limit)
  }
  if (value instanceof GoInt) {
    if (value.text !== undefined && 'vsxXq'.includes(verb) && !flags.sharp)
      return formatString(verb, value.text, flags) ?? badVerb(verb, value, flags, limit)
    return formatInteger(verb, value.value, value, flags, limit)
  }
  if (value instanceof Opaque || value instanceof Instant) {
    const text = formatString(verb, valueText(value, limit), { ...flags, sharp: false })
    return text ?? badVerb(verb, value, flags, limit)
  }
  if (value instanceof Uint8Array) return formatBytes(verb, value, flags, limit)
  const goSyntax = verb === 'v' && flags.sharp
  const parts: string[] = []
  let size = 0
  const add = (part: string): void => {
    size += part.length + 1
    if (size > limit) tooLong(limit)
    parts.push(part)
  }
  if (isDict(value)) {
    for (const key of sortedKeys(value)) {
      add(
        `${formatValue(verb, key, flags, limit, depth + 1)}:${formatValue(verb, member(value, key), flags, limit, depth + 1)}`,
      )
    }
    return goSyntax ? `${typeName(value)}{${parts.join(', ')}}` : `map[${parts.join(' ')}]`
  }
  for (const v of value) add(formatValue(verb, v, flags, limit, depth + 1))
  return goSyntax ? `${typeName(value)}{${parts.join(', ')}}` : `[${parts.join(' ')}]`
}

function formatBytes(verb: string, bytes: Uint8Array, flags: Flags, limit: number): string {
  if (verb === 'x' || verb === 'X') return hexText(bytes, verb, flags)
  if (verb === 's' || verb === 'q') return formatString(verb, decodeUtf8(bytes), flags) as string
  const list = Array.from(bytes, (b) => new GoInt(BigInt(b), 'uint8'))
  if (verb === 'v' && flags.sharp) return `[]byte{${list.map((b) => `0x${b.value.toString(16)}`).join(', ')}}`
  return `[${list.map((b) => formatInteger(verb === 'v' ? 'd' : verb, b.value, b, flags, limit)).join(' ')}]`
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
  return pad(out, flags)
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

const isPrint = (char: string): boolean => /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u.test(char)

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

function formatInteger(verb: string, int: bigint, value: V, flags: Flags, limit: number): string {
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
    const code = BigInt.asUintN(64, int)
    const shows = flags.sharp && code <= 0x10ffffn && isPrint(String.fromCodePoint(Number(code)))
    const text = `U+${code.toString(16).toUpperCase().padStart(Math.max(4, flags.precision), '0')}`
    return pad(shows ? `${text} '${String.fromCodePoint(Number(code))}'` : text, {
      ...flags,
      zero: false,
    })
  }
  let digits: string
  let prefix = ''
  if (verb === 'd' || verb === 'v') digits = String(size)
  else {
    const base = Object.hasOwn(bases, verb) ? bases[verb] : undefined
    if (base === undefined) return badVerb(verb, value, flags, limit)
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

function formatFloat(verb: string, value: number, flags: Flags, limit: number): string {
  if (!'vbeEfFgGxX'.includes(verb)) return badVerb(verb, value, flags, limit)
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
