/** Number, character and string literals of templates, read as Go reads them. */
import { parseGoFloat, parseGoInt } from '../../core/go-number.ts'

/** A number literal: the integer it denotes, when it does, and the float it denotes. */
export interface NumberLiteral {
  readonly int: bigint | null
  readonly float: number
  /** True when the literal is written as a float (`1.0`, `1e3`), so an untyped place takes it as float64. */
  readonly isFloat: boolean
}

/** The literal, or null when the text is no number. */
export function parseNumber(text: string): NumberLiteral | null {
  const int = parseGoInt(text, 0)
  if (typeof int === 'bigint') return { int, float: Number(int), isFloat: false }
  // Without a fraction or exponent it could only be an integer, so it is too large or malformed.
  if (!/[.eEpP]/.test(text)) return null
  const float = parseGoFloat(text)
  if (typeof float === 'string') return null
  const whole = Number.isInteger(float) && Math.abs(float) < 2 ** 63
  return { int: whole ? BigInt(float) : null, float, isFloat: true }
}

const simpleEscapes: Record<string, string> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
}

/**
 * The text a quoted literal stands for; null when an escape is wrong. `quote` is the character that needs `\` inside.
 * Bytes above 0x7f written as `\xNN` or octal are gathered and read as UTF-8.
 */
export function unquote(literal: string, quote: '"' | "'"): string | null {
  const body = literal.slice(1, -1)
  if (!body.includes('\\')) return body.includes(quote) ? null : body
  let out = ''
  let bytes: number[] = []
  const flush = (): void => {
    if (bytes.length > 0) out += new TextDecoder().decode(new Uint8Array(bytes))
    bytes = []
  }
  for (let i = 0; i < body.length; ) {
    const c = body[i] as string
    if (c !== '\\') {
      flush()
      out += c
      i++
      continue
    }
    const e = body[i + 1] ?? ''
    const rest = body.slice(i + 2)
    const simple = e === quote ? quote : Object.hasOwn(simpleEscapes, e) ? simpleEscapes[e] : undefined
    if (simple !== undefined) {
      flush()
      out += simple
      i += 2
      continue
    }
    const octal = /^[0-7]{3}/.exec(body.slice(i + 1))
    if (octal) {
      const byte = Number.parseInt(octal[0], 8)
      if (byte > 255) return null
      bytes.push(byte)
      i += 4
      continue
    }
    const width = e === 'x' ? 2 : e === 'u' ? 4 : e === 'U' ? 8 : 0
    const digits = rest.slice(0, width)
    if (width === 0 || digits.length < width || !/^[0-9a-fA-F]+$/.test(digits)) return null
    const code = Number.parseInt(digits, 16)
    if (e === 'x') bytes.push(code)
    else {
      if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return null
      flush()
      out += String.fromCodePoint(code)
    }
    i += 2 + width
  }
  flush()
  return out
}

/** The code point of a character constant such as `'a'`; null when it is not exactly one character. */
export function charCode(literal: string): number | null {
  const raw = /^'\\(?:x([0-9a-fA-F]{2})|([0-7]{3}))'$/.exec(literal)
  if (raw) return raw[1] ? Number.parseInt(raw[1], 16) : Number.parseInt(raw[2] as string, 8)
  const text = unquote(literal, "'")
  if (text === null) return null
  const chars = [...text]
  return chars.length === 1 ? (chars[0]?.codePointAt(0) as number) : null
}
