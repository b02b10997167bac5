/** Text operations by Go's rules, where JavaScript's own differ. */

/** White space of Go's unicode.IsSpace: U+0085 counts, U+FEFF and U+200B do not. */
const space = '[\\t\\n\\v\\f\\r \\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]'
const isSpace = new RegExp(space)

export function trimSpaceStart(text: string): string {
  let start = 0
  while (start < text.length && isSpace.test(text[start] as string)) start++
  return text.slice(start)
}

export function trimSpaceEnd(text: string): string {
  let end = text.length
  while (end > 0 && isSpace.test(text[end - 1] as string)) end--
  return text.slice(0, end)
}

export function trimSpace(text: string): string {
  return trimSpaceEnd(trimSpaceStart(text))
}

const ascii = /^[\x00-\x7f]*$/

/** Greek letters with iota below have one-letter capitals, which JavaScript spells as two letters. */
function capitalWithIota(code: number): string | undefined {
  if (code >= 0x1f80 && code <= 0x1fa7 && (code & 8) === 0) return String.fromCodePoint(code + 8)
  return code === 0x1fb3 || code === 0x1fc3 || code === 0x1ff3 ? String.fromCodePoint(code + 9) : undefined
}

function upperChar(char: string): string {
  const upper = char.toUpperCase()
  // A mapping to several letters (sharp s, ligatures) is none of the simple ones.
  return codePointCount(upper) === 1 ? upper : (capitalWithIota(char.codePointAt(0) as number) ?? char)
}

function lowerChar(char: string): string {
  // The one letter whose full mapping is longer.
  return char === '\u0130' ? 'i' : char.toLowerCase()
}

/** Upper case letter by letter (simple mapping): sharp s and ligatures stay. */
export function upperCase(text: string): string {
  if (ascii.test(text)) return text.toUpperCase()
  let out = ''
  for (const char of text) out += upperChar(char)
  return out
}

/** Lower case letter by letter: no final sigma. */
export function lowerCase(text: string): string {
  if (ascii.test(text)) return text.toLowerCase()
  let out = ''
  for (const char of text) out += lowerChar(char)
  return out
}

export function codePointCount(text: string): number {
  let count = text.length
  for (let i = 0; i < text.length - 1; i++) {
    const code = text.charCodeAt(i)
    if (code >= 0xd800 && code <= 0xdbff) {
      const next = text.charCodeAt(i + 1)
      if (next >= 0xdc00 && next <= 0xdfff) {
        count--
        i++
      }
    }
  }
  return count
}

/** Length of the UTF-8 form; a lone surrogate counts as U+FFFD. */
export function utf8Length(text: string): number {
  let size = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code < 0x80) size += 1
    else if (code < 0x800) size += 2
    else if (code >= 0xd800 && code <= 0xdbff && /[\udc00-\udfff]/.test(text[i + 1] ?? '')) {
      size += 4
      i++
    } else size += 3
  }
  return size
}
