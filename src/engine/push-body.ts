/** What a pushed request body holds, before it is decoded: checks its outline and counts its rows. */
import { IxionError } from '../core/errors.ts'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c

const isSpace = (c: number): boolean => c === 0x20 || c === 0x0a || c === 0x0d || c === 0x09
const opens = (c: number): boolean => c === 0x7b || c === 0x5b
const closes = (c: number): boolean => c === 0x7d || c === 0x5d

/**
 * Rows of a JSON text that is one object or an array: brackets must balance and nothing may follow. What is inside is the
 * decoder's business; rows it refuses are counted there. Throws DECODE.
 */
export function countJsonRows(body: Uint8Array): number {
  let at = 0
  while (at < body.length && isSpace(body[at] as number)) at++
  const first = body[at]
  if (first !== 0x7b && first !== 0x5b) throw outline('it must be an object or an array of objects')
  const list = first === 0x5b
  let depth = 0
  let rows = list ? 0 : 1
  let empty = true
  for (; at < body.length; at++) {
    const c = body[at] as number
    if (c === QUOTE) {
      at = endOfText(body, at)
      empty = false
    } else if (opens(c)) {
      if (depth > 0) empty = false
      depth++
    } else if (closes(c)) {
      if (--depth === 0) break
    } else if (depth === 1 && list && c === COMMA) rows++
    else if (empty && !isSpace(c)) empty = false
  }
  if (depth !== 0) throw outline('it ends too early')
  for (at++; at < body.length; at++) {
    if (!isSpace(body[at] as number)) throw outline(`something follows it at byte ${at}`)
  }
  return list && !empty ? rows + 1 : rows
}

/** Position of the closing quote of the text that opens at `start`. */
function endOfText(body: Uint8Array, start: number): number {
  for (let at = start + 1; at < body.length; at++) {
    const c = body[at]
    if (c === BACKSLASH) at++
    else if (c === QUOTE) return at
  }
  throw outline('a text in it does not end')
}

function outline(problem: string): IxionError {
  return new IxionError('DECODE', `the body is not JSON rows: ${problem}`)
}
