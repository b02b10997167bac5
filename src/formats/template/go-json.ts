/**
 * JSON text -> value, with the messages of Go's encoding/json, which templates and the sink transform report
 * (`invalid character '<' looking for beginning of value`).
 */
import { RowError } from '../../core/errors.ts'
import type { Value } from '../../core/values.ts'
import { decodeJsonText } from '../json.ts'

/** Throws RowError DECODE. */
export function decodeGoJson(text: string): Value {
  try {
    return decodeJsonText(text)
  } catch (error) {
    const fault = findFault(text)
    if (fault === null || (error as { code?: string }).code === 'LIMIT') throw error
    throw new RowError(fault, 'DECODE')
  }
}

/** `'<'`, `'\n'`, `'\''` as Go quotes a character in a message. */
function shown(char: string): string {
  if (char === "'") return `'\\''`
  if (char === '"') return `'"'`
  return `'${JSON.stringify(char).slice(1, -1)}'`
}

/** What is wrong with malformed JSON text, or null when nothing is found. */
function findFault(text: string): string | null {
  let at = 0
  const end = 'unexpected end of JSON input'
  const blank = (): void => {
    while (at < text.length && ' \t\r\n'.includes(text[at] as string)) at++
  }
  const invalid = (where: string): string => {
    // The end of the text reads as a space inside a number, a word or an escape.
    const char = at < text.length ? String.fromCodePoint(text.codePointAt(at) as number) : ' '
    return `invalid character ${shown(char)} ${where}`
  }
  /** Each `{` or `[` not closed yet. */
  const open: string[] = []

  const string = (): string | null => {
    at++
    for (; at < text.length; at++) {
      const c = text[at] as string
      if (c === '"') {
        at++
        return null
      }
      if (c < ' ') return invalid('in string literal')
      if (c !== '\\') continue
      at++
      if (text[at] === 'u') {
        for (let i = 0; i < 4; i++) {
          at++
          if (!/[0-9a-fA-F]/.test(text[at] ?? ' ')) return invalid('in \\u hexadecimal character escape')
        }
      } else if (!'"\\/bfnrt'.includes(text[at] ?? ' ')) return invalid('in string escape code')
    }
    return end
  }
  const digits = (after: string): string | null => {
    if (!/\d/.test(text[at] ?? ' ')) return invalid(after)
    while (at < text.length && /\d/.test(text[at] as string)) at++
    return null
  }
  const number = (): string | null => {
    if (text[at] === '-') {
      at++
      if (!/\d/.test(text[at] ?? ' ')) return invalid('in numeric literal')
    }
    if (text[at] === '0') at++
    else digits('in numeric literal')
    if (text[at] === '.') {
      at++
      const fault = digits('after decimal point in numeric literal')
      if (fault !== null) return fault
    }
    if (text[at] === 'e' || text[at] === 'E') {
      at++
      if (text[at] === '+' || text[at] === '-') at++
      return digits('in exponent of numeric literal')
    }
    return null
  }
  const word = (literal: string): string | null => {
    for (let i = 1; i < literal.length; i++) {
      at++
      if (text[at] !== literal[i]) return invalid(`in literal ${literal} (expecting ${shown(literal[i] as string)})`)
    }
    at++
    return null
  }
  /** A value up to its first inner one; containers are left open. */
  const value = (): string | null => {
    const c = text[at] as string
    if (c === '{' || c === '[') {
      open.push(c)
      at++
      return null
    }
    if (c === '"') return string()
    if (c === '-' || /\d/.test(c)) return number()
    const literal = ['true', 'false', 'null'].find((l) => l[0] === c)
    return literal === undefined ? invalid('looking for beginning of value') : word(literal)
  }
  const key = (where: string): string | null => {
    if (text[at] !== '"') return invalid(where)
    const fault = string()
    if (fault !== null) return fault
    blank()
    if (at >= text.length) return end
    if (text[at] !== ':') return invalid('after object key')
    at++
    return null
  }

  blank()
  let wantsValue = true
  let fresh = false
  for (;;) {
    blank()
    if (at >= text.length) return open.length === 0 && !wantsValue ? null : end
    const container = open.at(-1)
    if (wantsValue) {
      const depth = open.length
      if (fresh && container === '[' && text[at] === ']') {
        open.pop()
        at++
        wantsValue = false
        fresh = false
        continue
      }
      const fault = value()
      if (fault !== null) return fault
      fresh = open.length > depth
      if (!fresh) wantsValue = false
      else wantsValue = open.at(-1) === '['
      continue
    }
    if (container === undefined) return invalid('after top-level value')
    const c = text[at]
    if (container === '{' && fresh && c !== '}') {
      const fault = key('looking for beginning of object key string')
      if (fault !== null) return fault
      wantsValue = true
      fresh = false
      continue
    }
    if ((container === '{' && c === '}') || (container === '[' && c === ']')) {
      open.pop()
      at++
      fresh = false
      continue
    }
    if (c !== ',') return invalid(container === '{' ? 'after object key:value pair' : 'after array element')
    at++
    if (container === '[') wantsValue = true
    else {
      blank()
      if (at >= text.length) return end
      const fault = key('looking for beginning of object key string')
      if (fault !== null) return fault
      wantsValue = true
    }
  }
}
