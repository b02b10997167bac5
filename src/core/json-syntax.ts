/**
 * Why a text is no JSON, in the words of the reference's parser (`invalid character 'k' looking for beginning of value`).
 * Only for texts that a parser has refused: it walks the text once, without building anything.
 */

const literals: Readonly<Record<string, string>> = { t: 'true', f: 'false', n: 'null' }

function charName(char: string): string {
  if (char === "'") return `'\\''`
  if (char === '"') return `'"'`
  // The reference looks at bytes: a character beyond ASCII is named by its first one.
  const byte = new TextEncoder().encode(char)[0] as number
  const escapes: Readonly<Record<number, string>> = { 9: '\\t', 10: '\\n', 13: '\\r', 92: '\\\\' }
  if (escapes[byte] !== undefined) return `'${escapes[byte]}'`
  if (byte < 0x20 || (byte >= 0x7f && byte < 0xa0)) return `'\\x${byte.toString(16).padStart(2, '0')}'`
  return `'${String.fromCharCode(byte)}'`
}

class Scanner {
  readonly text: string
  at = 0
  constructor(text: string) {
    this.text = text
  }
  /** The character at the cursor; past the end one blank, as the reference feeds its parser. */
  peek(): string {
    return this.at < this.text.length ? String.fromCodePoint(this.text.codePointAt(this.at) as number) : ' '
  }
  get ended(): boolean {
    return this.at >= this.text.length
  }
  skipSpace(): void {
    while (!this.ended && ' \t\r\n'.includes(this.text[this.at] as string)) this.at++
  }
  refuse(context: string): string {
    return `invalid character ${charName(this.peek())} ${context}`
  }
}

const END = 'unexpected end of JSON input'

/** The message, or null when the text is JSON. */
export function jsonSyntaxError(text: string): string | null {
  const s = new Scanner(text)
  const open: ('[' | '{')[] = []
  let expected: 'value' | 'first key' | 'key' | 'first element' = 'value'
  for (;;) {
    s.skipSpace()
    if (s.ended) return END
    const c = s.peek()
    if ((expected === 'first key' && c === '}') || (expected === 'first element' && c === ']')) {
      s.at++
      open.pop()
    } else if (expected === 'first key' || expected === 'key') {
      if (c !== '"') return s.refuse('looking for beginning of object key string')
      const failure = scanString(s)
      if (failure) return failure
      s.skipSpace()
      if (s.ended) return END
      if (s.peek() !== ':') return s.refuse('after object key')
      s.at++
      expected = 'value'
      continue
    } else if (c === '{' || c === '[') {
      s.at++
      open.push(c)
      expected = c === '{' ? 'first key' : 'first element'
      continue
    } else {
      const failure = scanScalar(s, c)
      if (failure) return failure
    }
    const outcome = afterValue(s, open)
    if (outcome !== 'key' && outcome !== 'value') return outcome
    expected = outcome
  }
}

/** Closes what ends here; what must come next, or the message, or null at the end of the text. */
function afterValue(s: Scanner, open: ('[' | '{')[]): 'key' | 'value' | string | null {
  for (;;) {
    s.skipSpace()
    const inside = open.at(-1)
    if (inside === undefined) return s.ended ? null : s.refuse('after top-level value')
    if (s.ended) return END
    const c = s.peek()
    if (c === ',') {
      s.at++
      return inside === '{' ? 'key' : 'value'
    }
    if (c !== (inside === '{' ? '}' : ']')) {
      return s.refuse(inside === '{' ? 'after object key:value pair' : 'after array element')
    }
    s.at++
    open.pop()
  }
}

function scanScalar(s: Scanner, first: string): string | null {
  if (first === '"') return scanString(s)
  if (first === '-' || (first >= '0' && first <= '9')) return scanNumber(s)
  const word = literals[first]
  if (word === undefined) return s.refuse('looking for beginning of value')
  for (const expected of word) {
    if (s.ended || s.peek() !== expected) return s.refuse(`in literal ${word} (expecting '${expected}')`)
    s.at++
  }
  return null
}

function scanString(s: Scanner): string | null {
  for (s.at++; !s.ended; s.at++) {
    const c = s.text[s.at] as string
    if (c === '"') {
      s.at++
      return null
    }
    if (c < ' ') return s.refuse('in string literal')
    if (c !== '\\') continue
    s.at++
    if (s.ended || !'"\\/bfnrtu'.includes(s.peek())) return s.refuse('in string escape code')
    if (s.peek() !== 'u') continue
    for (let digit = 0; digit < 4; digit++) {
      s.at++
      if (s.ended || !/[0-9a-fA-F]/.test(s.peek())) return s.refuse('in \\u hexadecimal character escape')
    }
  }
  return END
}

const isDigit = (s: Scanner): boolean => !s.ended && /[0-9]/.test(s.peek())

function scanNumber(s: Scanner): string | null {
  if (s.peek() === '-') s.at++
  if (!isDigit(s)) return s.refuse('in numeric literal')
  if (s.peek() === '0') s.at++
  else while (isDigit(s)) s.at++
  if (!s.ended && s.peek() === '.') {
    s.at++
    if (!isDigit(s)) return s.refuse('after decimal point in numeric literal')
    while (isDigit(s)) s.at++
  }
  if (!s.ended && /[eE]/.test(s.peek())) {
    s.at++
    if (!s.ended && /[+-]/.test(s.peek())) s.at++
    if (!isDigit(s)) return s.refuse('in exponent of numeric literal')
    while (isDigit(s)) s.at++
  }
  return null
}
