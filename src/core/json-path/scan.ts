/**
 * Tokens of a JSON path expression. The grammar is that of Go source: identifiers, numbers, "strings", `raw strings`,
 * 'characters', comments, and single symbols; longer operators are put together by the parser, as it looks ahead one
 * character at a time.
 */

export type TokenKind = 'EOF' | 'Ident' | 'Int' | 'Float' | 'Char' | 'String' | 'RawString' | 'symbol'

export interface Token {
  readonly kind: TokenKind
  readonly text: string
  /** Index of the first character. */
  readonly start: number
  readonly end: number
}

const blank = /(?:[ \t\r\n]|\/\/[^\n]*\n?|\/\*[\s\S]*?(?:\*\/|$))*/y
const identifier = /[\p{L}_][\p{L}_\p{Nd}]*/uy
const number = /(?:0[xX][\da-fA-F_]*|(?:\d[\d_]*(?:\.[\d_]*)?|\.\d[\d_]*)(?:[eE][+-]?\d*)?)/y
const quoted = /"(?:[^"\\\n]|\\[^\n])*"?/y
const raw = /`[^`]*`?/y
const character = /'(?:[^'\\\n]|\\[^\n])*'?/y

function match(pattern: RegExp, text: string, at: number): string | null {
  pattern.lastIndex = at
  return pattern.exec(text)?.[0] ?? null
}

/** The token at or after `from`; EOF at the end, again and again. */
export function scan(text: string, from: number): Token {
  const start = from + (match(blank, text, from)?.length ?? 0)
  const of = (kind: TokenKind, token: string): Token => ({ kind, text: token, start, end: start + token.length })
  if (start >= text.length) return of('EOF', '')
  const name = match(identifier, text, start)
  if (name !== null) return of('Ident', name)
  const digits = match(number, text, start)
  if (digits !== null) return of(/^0[xX]/.test(digits) || !/[.eE]/.test(digits) ? 'Int' : 'Float', digits)
  switch (text[start]) {
    case '"':
      return of('String', match(quoted, text, start) as string)
    case '`':
      return of('RawString', match(raw, text, start) as string)
    case "'":
      return of('Char', match(character, text, start) as string)
  }
  return of('symbol', String.fromCodePoint(text.codePointAt(start) as number))
}

/** `line:column`, 1-based, of an index; columns count characters. */
export function position(text: string, index: number): string {
  const before = text.slice(0, index)
  const line = before.split('\n').length
  return `${line}:${[...before.slice(before.lastIndexOf('\n') + 1)].length + 1}`
}

const escapes: Record<string, string> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
  "'": "'",
  '"': '"',
}

/** The value of a quoted token (Go's strconv.Unquote), or null when it is malformed. */
export function unquote(token: string): string | null {
  const quote = token[0] as string
  if (token.length < 2 || token.at(-1) !== quote) return null
  const body = token.slice(1, -1)
  if (quote === '`') return body.replaceAll('\r', '')
  let malformed = false
  const value = body.replace(
    /\\(?:([0-7]{3})|x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|([\s\S]?))/g,
    (_all, octal?: string, x?: string, u?: string, long?: string, plain?: string) => {
      const code = octal !== undefined ? Number.parseInt(octal, 8) : Number.parseInt((x ?? u ?? long) as string, 16)
      if (plain === undefined) {
        if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000) || (octal !== undefined && code > 255))
          malformed = true
        return malformed ? '' : String.fromCodePoint(code)
      }
      const known = escapes[plain]
      if (known === undefined || ((plain === '"' || plain === "'") && plain !== quote)) malformed = true
      return known ?? ''
    },
  )
  if (malformed || (quote === "'" && [...value].length !== 1)) return null
  return value
}
