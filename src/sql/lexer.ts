/** SQL text -> tokens, one at a time (spec/sql.md 1.1 to 1.7). A bad character is a token too; the parser reports it in context. */
import type { Position } from './ast.ts'
import { keywords, timeUnits } from './keywords.ts'

export type TokenKind =
  | 'name'
  | 'integer'
  | 'number'
  | 'string'
  | 'singleQuoted'
  | 'badString'
  | 'illegal'
  | 'keyword'
  | 'timeUnit'
  | 'symbol'
  | 'end'

export interface Token {
  readonly kind: TokenKind
  /** Messages show this: keywords upper-cased, strings unquoted, names as written, `EOF` at the end. */
  readonly text: string
  readonly at: Position
  /** True when white space or a comment stands between this token and the one before. */
  readonly spaced: boolean
  /** True for a name in backticks. */
  readonly quoted: boolean
}

/** Reads one token after the other; after the last one it answers `end` for ever. */
export type Lexer = () => Token

const isSpace = (char: string | undefined) => char === ' ' || char === '\t' || char === '\r' || char === '\n'
const isDigit = (char: string | undefined) => char !== undefined && char >= '0' && char <= '9'
const wordPattern = /[A-Za-z][A-Za-z0-9_]*/y
const numberPattern = /[0-9.]+/y

export function createLexer(text: string): Lexer {
  let offset = 0
  let line = 1
  let lineStart = 0

  function moveTo(target: number): void {
    for (; offset < target; offset++) {
      if (text[offset] === '\n') {
        line++
        lineStart = offset + 1
      }
    }
  }

  function afterSpace(from: number): number {
    let i = from
    while (isSpace(text[i])) i++
    return i
  }

  /** Skips white space and comments. False when a comment is not closed. */
  function skip(): boolean {
    for (;;) {
      moveTo(afterSpace(offset))
      const char = text[offset]
      if (char !== '-' && char !== '/') return true
      // as eKuiper: blanks inside `- -` and `/ *` do not matter
      const second = afterSpace(offset + 1)
      if (char === '-' && text[second] === '-') {
        const end = text.indexOf('\n', second)
        moveTo(end < 0 ? text.length : end + 1)
      } else if (char === '/' && text[second] === '*') {
        const end = text.indexOf('*/', second + 1)
        moveTo(end < 0 ? text.length : end + 2)
        if (end < 0) return false
      } else return true
    }
  }

  function match(pattern: RegExp, from: number): string {
    pattern.lastIndex = from
    return pattern.exec(text)?.[0] ?? ''
  }

  return () => {
    const before = offset
    const closed = skip()
    const spaced = offset > before
    const at = { line, column: offset - lineStart + 1 }
    const token = (kind: TokenKind, shown: string, end: number, quoted = false): Token => {
      moveTo(end)
      return { kind, text: shown, at, spaced, quoted }
    }
    const start = offset
    const char = text[start]
    if (!closed) return token('illegal', '', start)
    if (char === undefined) return token('end', 'EOF', start)

    const word = match(wordPattern, start)
    if (word) {
      const upper = word.toUpperCase()
      const kind = keywords.has(upper) ? 'keyword' : timeUnits.has(upper) ? 'timeUnit' : 'name'
      return token(kind, kind === 'name' ? word : upper, start + word.length)
    }
    if (char === '"' || char === "'") {
      const string = readString(text, start)
      return token(string.kind, string.text, string.end)
    }
    if (char === '`') {
      // as eKuiper: an unclosed backtick runs to the end of the text
      const end = text.indexOf('`', start + 1)
      return token('name', text.slice(start + 1, end < 0 ? text.length : end), end < 0 ? text.length : end + 1, true)
    }
    if (isDigit(char) || (char === '.' && isDigit(text[start + 1]))) {
      const digits = match(numberPattern, start)
      return token(digits.includes('.') ? 'number' : 'integer', digits, start + digits.length)
    }
    const next = afterSpace(start + 1)
    switch (char) {
      case '-': {
        if (text[next] === '>') return token('symbol', '->', next + 1)
        if (text[next] === '.') {
          const digits = match(numberPattern, afterSpace(next + 1))
          if (isDigit(digits[0])) return token('number', `-.${digits}`, afterSpace(next + 1) + digits.length)
        }
        return token('symbol', '-', start + 1)
      }
      case '!':
        // as eKuiper: a lone `!` is `=`
        return text[next] === '=' ? token('symbol', '!=', next + 1) : token('symbol', '=', start + 1)
      case '<':
        if (text[next] === '=') return token('symbol', '<=', next + 1)
        return text[start + 1] === '>' ? token('symbol', '!=', start + 2) : token('symbol', '<', start + 1)
      case '>':
        return text[next] === '=' ? token('symbol', '>=', next + 1) : token('symbol', '>', start + 1)
      default:
        if ('=+*/%&|^,()[].:;#'.includes(char)) return token('symbol', char, start + 1)
        return token('illegal', '', start + ((text.codePointAt(start) as number) > 0xffff ? 2 : 1))
    }
  }
}

interface StringToken {
  readonly kind: 'string' | 'singleQuoted' | 'badString' | 'illegal'
  readonly text: string
  readonly end: number
}

/**
 * A literal in either kind of quotes. `shown` is the text rewritten with double quotes, which is what messages embed.
 * Within single quotes `\'` is a quote, also right before the closing one (spec/sql.md section 9, D6).
 */
function readString(text: string, start: number): StringToken {
  const quote = text[start] as string
  const single = quote === "'"
  let i = start + 1
  for (;;) {
    const char = text[i]
    if (char === undefined) break
    if (char === quote) {
      const shown = asDoubleQuoted(text.slice(start + 1, i), single)
      const value = unquote(shown)
      if (value === null) return { kind: 'illegal', text: `invalid string: "${shown}"`, end: i + 1 }
      return { kind: single ? 'singleQuoted' : 'string', text: value, end: i + 1 }
    }
    i += char === '\\' ? 2 : 1
  }
  return { kind: 'badString', text: `"${asDoubleQuoted(text.slice(start + 1), single)}`, end: text.length }
}

function asDoubleQuoted(body: string, single: boolean): string {
  return single ? body.replace(/\\[\s\S]|"/g, (m) => (m === "\\'" ? "'" : m === '"' ? '\\"' : m)) : body
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
  '"': '"',
}
const escapePattern =
  /\\(?:([abfnrtv\\"])|x([0-9a-fA-F]{2})|([0-7]{3})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8}))|[\\\n]|[^\\\n]+/g

/** Go's strconv.Unquote on the inside of a double-quoted literal; null when it is not valid. */
function unquote(body: string): string | null {
  if (!body.includes('\\') && !body.includes('\n')) return body
  let result = ''
  /** `\xhh` and octal name bytes; a run of them is decoded as UTF-8. */
  let bytes: number[] = []
  const flush = () => {
    if (bytes.length > 0) result += new TextDecoder().decode(new Uint8Array(bytes))
    bytes = []
  }
  for (const [part, simple, hex, octal, short, long] of body.matchAll(escapePattern)) {
    if (hex !== undefined || octal !== undefined) {
      const byte = hex !== undefined ? Number.parseInt(hex, 16) : Number.parseInt(octal as string, 8)
      if (byte > 255) return null
      bytes.push(byte)
      continue
    }
    flush()
    const code = short ?? long
    if (simple !== undefined) result += simpleEscapes[simple]
    else if (code !== undefined) {
      const point = Number.parseInt(code, 16)
      if (point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) return null
      result += String.fromCodePoint(point)
    } else if (part === '\\' || part === '\n') return null
    else result += part
  }
  flush()
  return result
}
