/**
 * JSON text -> values (spec/sql.md 2.1, spec/connectors.md 12.1): numbers are float64; an integer outside the safe range of
 * a double becomes a bigint, so that it survives digit for digit (DESIGN.md, "Numbers are exact"). The grammar is RFC 8259
 * with one leniency: a leading byte order mark is skipped. The last of several equal keys wins.
 *
 * Two ways through, which agree: JSON.parse where nothing needs the digits, the parser below where something does or the
 * text is faulty (it says where).
 */
import { RowError } from './errors.ts'
import { setField, type Value, type ValueObject } from './values.ts'

export interface JsonDecodeOptions {
  /** Literals without fraction and exponent become int64 (bigint); default false. */
  readonly wholeNumbersAsInt64?: boolean
  /** Deepest nesting of arrays and objects; default {@link defaultJsonDepth}. Deeper is a LIMIT error. */
  readonly maxDepth?: number
}

const defaultJsonDepth = 300
/** The hard limit, whatever a caller asks for: the parser recurses. */
const DEEPEST = 2000

const unsafeInteger = /(?:^|[ \t\r\n,:[])-?\d{16,}(?:$|[ \t\r\n,\]}])/
const outOfRange = /\d[eE]\+?\d{3}|(?<!\d)\d{300}/
const largeExponent = /\d[eE]\+?\d{3}/
const fractionOrExponent = /\d[.eE]/

/** Throws RowError DECODE with the position, or LIMIT when nested deeper than allowed. */
export function decodeJsonText(text: string, options: JsonDecodeOptions = {}): Value {
  const body = text.charCodeAt(0) === 0xfeff ? text.slice(1) : text
  const depth = Math.min(options.maxDepth ?? defaultJsonDepth, DEEPEST)
  const whole = options.wholeNumbersAsInt64 ?? false
  const digitsMatter =
    (hasLongDigits(body) || largeExponent.test(body)) && (unsafeInteger.test(body) || outOfRange.test(body))
  if (digitsMatter || (whole && fractionOrExponent.test(body))) return parseExactly(body, whole, depth)
  let value: Value
  try {
    value = JSON.parse(body)
  } catch {
    return parseExactly(body, whole, depth)
  }
  // Text shorter than its brackets would be cannot nest too deep.
  if (body.length >= 2 * depth) checkDepth(value, depth)
  return whole ? integersToInt64(value) : value
}

/** True when 16 digits follow each other somewhere: such a run covers a place whose index is 15 modulo 16. */
function hasLongDigits(text: string): boolean {
  for (let i = 15; i < text.length; i += 16) {
    if (!isDigit(text.charCodeAt(i))) continue
    let first = i
    let end = i + 1
    while (first > 0 && isDigit(text.charCodeAt(first - 1))) first--
    while (end < text.length && isDigit(text.charCodeAt(end))) end++
    if (end - first >= 16) return true
  }
  return false
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57
}

function tooDeep(depth: number): RowError {
  return new RowError(`cannot parse JSON: nested deeper than ${depth} levels`, 'LIMIT')
}

function checkDepth(value: Value, left: number): void {
  let level: Value[] = [value]
  for (let depth = left; level.length > 0; depth--) {
    const next: Value[] = []
    for (const item of level) {
      if (item === null || typeof item !== 'object') continue
      if (depth === 0) throw tooDeep(left)
      for (const member of Array.isArray(item) ? item : Object.values(item)) {
        if (member !== null && typeof member === 'object') next.push(member)
      }
    }
    level = next
  }
}

function integersToInt64(value: Value): Value {
  if (typeof value === 'number') return BigInt(value)
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) return value.map(integersToInt64)
  const object = value as ValueObject
  for (const key of Object.keys(object)) setField(object, key, integersToInt64(object[key] as Value))
  return object
}

const numberLiteral = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y
const escapes: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
}

/** The parser that sees every digit. Exported for the test that compares it with JSON.parse. */
export function parseExactly(text: string, whole: boolean, maxDepth: number): Value {
  let at = 0

  const fail = (problem: string): RowError => {
    const before = text.slice(0, at)
    const line = before.split('\n').length
    const column = at - before.lastIndexOf('\n')
    return new RowError(`cannot parse JSON: ${problem} at line ${line}, column ${column}`, 'DECODE')
  }
  const unexpected = (wanted: string): RowError =>
    at >= text.length
      ? fail(`text ends where ${wanted} is expected`)
      : fail(
          `found ${JSON.stringify(String.fromCodePoint(text.codePointAt(at) as number))} where ${wanted} is expected`,
        )

  const skipSpace = (): void => {
    for (;;) {
      const code = text.charCodeAt(at)
      if (code !== 32 && code !== 10 && code !== 13 && code !== 9) return
      at++
    }
  }

  const parseValue = (depth: number): Value => {
    skipSpace()
    switch (text.charCodeAt(at)) {
      case 123:
        return parseObject(depth)
      case 91:
        return parseArray(depth)
      case 34:
        return parseString()
      case 116:
        return parseWord('true', true)
      case 102:
        return parseWord('false', false)
      case 110:
        return parseWord('null', null)
      default:
        return parseNumber()
    }
  }

  const parseWord = (word: string, value: Value): Value => {
    if (!text.startsWith(word, at)) throw unexpected('a value')
    at += word.length
    return value
  }

  const parseNumber = (): Value => {
    numberLiteral.lastIndex = at
    const match = numberLiteral.exec(text)
    if (!match) throw unexpected('a value')
    const literal = match[0]
    const next = text.charCodeAt(at + literal.length)
    if ((next >= 48 && next <= 57) || next === 46 || (next | 32) === 101) {
      at += literal.length
      throw fail('malformed number')
    }
    const value = Number(literal)
    if (!Number.isFinite(value)) throw fail('number out of range')
    if (match[1] === undefined && match[2] === undefined && (whole || !Number.isSafeInteger(value))) {
      at += literal.length
      return BigInt(literal)
    }
    at += literal.length
    return value
  }

  const parseString = (): string => {
    let from = ++at
    let out = ''
    for (;;) {
      const code = text.charCodeAt(at)
      if (code === 34) {
        out += text.slice(from, at++)
        return out
      }
      if (code === 92) {
        out += text.slice(from, at)
        out += parseEscape()
        from = at
      } else if (code >= 32) {
        at++
      } else {
        throw at >= text.length ? fail('text ends inside a string') : fail('control character inside a string')
      }
    }
  }

  const parseEscape = (): string => {
    const kind = text[at + 1] ?? ''
    if (kind === 'u') {
      const digits = text.slice(at + 2, at + 6)
      if (!/^[0-9a-fA-F]{4}$/.test(digits)) throw fail('malformed \\u escape')
      at += 6
      return String.fromCharCode(Number.parseInt(digits, 16))
    }
    const char = Object.hasOwn(escapes, kind) ? escapes[kind] : undefined
    if (char === undefined) throw fail('unknown escape')
    at += 2
    return char
  }

  const parseArray = (depth: number): Value[] => {
    if (depth === 0) throw tooDeep(maxDepth)
    const list: Value[] = []
    at++
    skipSpace()
    if (text.charCodeAt(at) === 93) {
      at++
      return list
    }
    for (;;) {
      list.push(parseValue(depth - 1))
      skipSpace()
      const code = text.charCodeAt(at)
      if (code !== 44 && code !== 93) throw unexpected('"," or "]"')
      at++
      if (code === 93) return list
    }
  }

  const parseObject = (depth: number): ValueObject => {
    if (depth === 0) throw tooDeep(maxDepth)
    const object: ValueObject = {}
    at++
    skipSpace()
    if (text.charCodeAt(at) === 125) {
      at++
      return object
    }
    for (;;) {
      skipSpace()
      if (text.charCodeAt(at) !== 34) throw unexpected('a key in double quotes')
      const key = parseString()
      skipSpace()
      if (text.charCodeAt(at) !== 58) throw unexpected('":"')
      at++
      setField(object, key, parseValue(depth - 1))
      skipSpace()
      const code = text.charCodeAt(at)
      if (code !== 44 && code !== 125) throw unexpected('"," or "}"')
      at++
      if (code === 125) return object
    }
  }

  const value = parseValue(maxDepth)
  skipSpace()
  if (at < text.length) throw unexpected('the end of the text')
  return value
}
