/**
 * Splits a data template into tokens: text between actions, and the words inside `{{ }}`.
 * Language: Go text/template as spec/connectors.md 4.3 offers it. A lexical error is a token, so that the parser reports
 * the first problem in reading order.
 */

export type TokenKind =
  | 'text'
  | 'open'
  | 'close'
  | 'space'
  | 'field'
  | 'variable'
  | 'dot'
  | 'identifier'
  | 'keyword'
  | 'nil'
  | 'bool'
  | 'number'
  | 'char'
  | 'string'
  | 'raw'
  | 'declare'
  | 'assign'
  | 'pipe'
  | 'lparen'
  | 'rparen'
  | 'other'
  | 'error'
  | 'eof'

export interface Token {
  readonly kind: TokenKind
  readonly text: string
  /** Offset of the first character in the template. */
  readonly at: number
}

const keywords = new Set(['block', 'break', 'continue', 'define', 'else', 'end', 'if', 'range', 'template', 'with'])

const isSpace = (c: string | undefined): boolean => c === ' ' || c === '\t' || c === '\r' || c === '\n'
const isDigit = (c: string | undefined): boolean => c !== undefined && c >= '0' && c <= '9'
const letter = /[\p{L}\p{Nd}_]/u

/** `U+007F`, with the character in quotes when it can be seen. */
function codePointName(c: string): string {
  const code = (c.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')
  return /[\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.test(c) ? `U+${code} '${c}'` : `U+${code}`
}

/** Go's quoting in messages; enough for source fragments. */
const quoted = (s: string): string => JSON.stringify(s)

export function tokenize(source: string): Token[] {
  const tokens: Token[] = []
  const end = source.length
  let at = 0

  const charAt = (i: number): string => (i < end ? String.fromCodePoint(source.codePointAt(i) as number) : '')
  const skipSpace = (from: number): number => {
    let i = from
    while (isSpace(source[i])) i++
    return i
  }
  const wordEnd = (from: number): number => {
    let i = from
    for (let c = charAt(i); c !== '' && letter.test(c); c = charAt(i)) i += c.length
    return i
  }
  /** A word must be followed by something that ends it. */
  const ends = (i: number): boolean =>
    i >= end || isSpace(source[i]) || '.,|:)('.includes(source[i] as string) || source.startsWith('}}', i)
  const push = (kind: TokenKind, from: number, to: number): void => {
    tokens.push({ kind, text: source.slice(from, to), at: from })
    at = to
  }
  const fail = (message: string, from: number): Token[] => {
    tokens.push({ kind: 'error', text: message, at: from })
    return tokens
  }
  /** Length of ` -}}` or `}}` at `i`, 0 when there is none. */
  const closing = (i: number): number =>
    isSpace(source[i]) && source.startsWith('-}}', i + 1) ? 4 : source.startsWith('}}', i) ? 2 : 0

  while (at < end) {
    const open = source.indexOf('{{', at)
    const textEnd = open < 0 ? end : open
    const trimsLeft = open >= 0 && source[open + 2] === '-' && isSpace(source[open + 3])
    let keep = textEnd
    if (trimsLeft) while (keep > at && isSpace(source[keep - 1])) keep--
    if (keep > at) push('text', at, keep)
    if (open < 0) break
    at = open + 2 + (trimsLeft ? 2 : 0)

    if (source.startsWith('/*', at)) {
      const stop = source.indexOf('*/', at + 2)
      if (stop < 0) return fail('unclosed comment', at)
      const close = closing(stop + 2)
      if (close === 0) return fail('comment ends before closing delimiter', at)
      at = stop + 2 + close
      if (close === 4) at = skipSpace(at)
      continue
    }
    tokens.push({ kind: 'open', text: '{{', at: open })

    let parens = 0
    for (;;) {
      // Inside the action.
      const close = closing(at)
      if (close > 0) {
        if (parens > 0) return fail('unclosed left paren', at)
        const from = at + close - 2
        push('close', from, from + 2)
        if (close === 4) at = skipSpace(at)
        break
      }
      if (at >= end) return fail('unclosed action', at)
      const from = at
      const c = charAt(at)
      if (isSpace(c)) {
        let to = skipSpace(at)
        // The last space may belong to ` -}}`.
        if (source.startsWith('-}}', to)) to--
        push('space', from, to)
      } else if (c === '=') push('assign', from, from + 1)
      else if (c === ':') {
        if (source[at + 1] !== '=') return fail('expected :=', from)
        push('declare', from, from + 2)
      } else if (c === '|') push('pipe', from, from + 1)
      else if (c === '"' || c === "'") {
        let i = at + 1
        while (i < end && source[i] !== c && source[i] !== '\n') {
          if (source[i] === '\\') i++
          if (i < end && source[i] !== '\n') i++
        }
        if (i >= end || source[i] === '\n')
          return fail(c === '"' ? 'unterminated quoted string' : 'unterminated character constant', from)
        push(c === '"' ? 'string' : 'char', from, i + 1)
      } else if (c === '`') {
        const stop = source.indexOf('`', at + 1)
        if (stop < 0) return fail('unterminated raw quoted string', from)
        push('raw', from, stop + 1)
      } else if (c === '$' || (c === '.' && !isDigit(source[at + 1]))) {
        const to = wordEnd(at + 1)
        if (!ends(to)) return fail(`bad character ${codePointName(charAt(to))}`, from)
        push(c === '$' ? 'variable' : to === at + 1 ? 'dot' : 'field', from, to)
      } else if (c === '+' || c === '-' || c === '.' || isDigit(c)) {
        const to = numberEnd(source, at)
        const next = charAt(to)
        if (next !== '' && letter.test(next))
          return fail(`bad number syntax: ${quoted(source.slice(at, to + next.length))}`, from)
        if (next === '+' || next === '-') return fail(`bad number syntax: ${quoted(source.slice(at, to + 1))}`, from)
        push('number', from, to)
      } else if (letter.test(c)) {
        const to = wordEnd(at)
        const word = source.slice(from, to)
        if (!ends(to)) return fail(`bad character ${codePointName(charAt(to))}`, from)
        const kind = keywords.has(word)
          ? 'keyword'
          : word === 'nil'
            ? 'nil'
            : word === 'true' || word === 'false'
              ? 'bool'
              : 'identifier'
        push(kind, from, to)
      } else if (c === '(') {
        parens++
        push('lparen', from, from + 1)
      } else if (c === ')') {
        if (--parens < 0) return fail('unexpected right paren', from)
        push('rparen', from, from + 1)
      } else if (c > ' ' && c <= '~') push('other', from, from + 1)
      else return fail(`unrecognized character in action: ${codePointName(c)}`, from)
    }
  }
  tokens.push({ kind: 'eof', text: '', at: end })
  return tokens
}

/** The longest run that looks like a number; whether it is one is decided by {@link parseNumber}. */
function numberEnd(source: string, from: number): number {
  let i = from
  const accept = (chars: string): boolean => {
    const c = source[i]
    if (c === undefined || !chars.includes(c)) return false
    i++
    return true
  }
  const run = (chars: string): void => {
    while (accept(chars));
  }
  accept('+-')
  let digits = '0123456789_'
  if (accept('0')) {
    if (accept('xX')) digits = '0123456789abcdefABCDEF_'
    else if (accept('oO')) digits = '01234567_'
    else if (accept('bB')) digits = '01_'
  }
  run(digits)
  if (accept('.')) run(digits)
  if (digits.length === 11 && accept('eE')) {
    accept('+-')
    run('0123456789_')
  }
  if (digits.length === 23 && accept('pP')) {
    accept('+-')
    run('0123456789_')
  }
  accept('i')
  return i
}
