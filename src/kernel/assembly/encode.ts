// Rows of columns to JSON text.
//
// A program in memory: count u32, then entries of 32 bytes: address and length of `"key":`, addresses of the column's
// kinds, numbers, starts and ends, and flags: bit 0 writes null for a missing value, bit 1 leaves a null out, bit 2 copies
// numbers from their source text where that is already what the output needs.
import { ARRAY, DECIMAL, ESCAPED, FALSE, FLOAT, INT, MISSING, NULL, OBJECT, TEXT, TRUE } from './state'
import { escapedCode, illFormedLength, readEscape, utf8Length, writeUtf8 } from './text'
import { writeNumber } from './format'
import { refused, writeNested } from './nested'

/** Copies up to 15 bytes too many on both sides: sources and output have slack. */
// @ts-ignore: decorator
@inline function copy(to: usize, from: usize, length: usize): usize {
  for (let i: usize = 0; i < length; i += 16) v128.store(to + i, v128.load(from + i))
  return to + length
}

/** A plain JSON string as Go writes it: < > & and U+2028/9 escaped. */
export function copyText(to: usize, from: usize, length: usize): usize {
  let i: usize = 0
  while (i < length) {
    const v = v128.load(from + i)
    v128.store(to + i, v)
    let special = i8x16.bitmask(
      v128.or(
        v128.or(i8x16.eq(v, i8x16.splat(60)), i8x16.eq(v, i8x16.splat(62))),
        v128.or(i8x16.eq(v, i8x16.splat(38)), i8x16.eq(v, i8x16.splat(0xe2 as i8))),
      ),
    )
    const left = length - i
    if (left < 16) special &= (1 << <i32>left) - 1
    if (special != 0) {
      while ((load<u8>(from + i) & 0xc0) == 0x80) i--
      return copySlowly(to + i, from + i, length - i)
    }
    i += 16
  }
  return to + length
}

function writeUnicode(to: usize, low: u32): usize {
  store<u32>(to, 0x3030755c)
  const h = low >> 4
  const l = low & 15
  store<u8>(to, <u8>(h < 10 ? 48 + h : 87 + h), 4)
  store<u8>(to, <u8>(l < 10 ? 48 + l : 87 + l), 5)
  return to + 6
}

/** One code point of a string; a lone surrogate becomes the text \ufffd, as Go and the general encoder write it. */
function writeChar(to: usize, code: u32): usize {
  switch (code) {
    case 34:
    case 92:
      return writeShort(to, code)
    case 8:
      return writeShort(to, 98)
    case 9:
      return writeShort(to, 116)
    case 10:
      return writeShort(to, 110)
    case 12:
      return writeShort(to, 102)
    case 13:
      return writeShort(to, 114)
    case 38:
    case 60:
    case 62:
      return writeUnicode(to, code)
    case 0x2028:
    case 0x2029:
      to = writeUnicode(to, code & 255)
      store<u8>(to - 4, 50)
      return to
  }
  if (code < 32) return writeUnicode(to, code)
  if (code >= 0xd800 && code < 0xe000) {
    store<u32>(to, 0x6666755c)
    store<u16>(to, 0x6466, 4)
    return to + 6
  }
  return writeUtf8(to, code)
}

function writeShort(to: usize, c: u32): usize {
  store<u8>(to, 92)
  store<u8>(to, c, 1)
  return to + 2
}

/** A JSON string of any kind, from after its opening quote to after the closing one, as the general encoder writes it. */
export function copySlowly(to: usize, from: usize, length: usize): usize {
  const end = from + length - 1
  while (from < end) {
    const c = load<u8>(from)
    if (c == 92) {
      from += readEscape(from)
      to = writeChar(to, escapedCode)
    } else if (c == 60 || c == 62 || c == 38) {
      to = writeUnicode(to, c)
      from++
    } else if (c < 128) {
      store<u8>(to++, c)
      from++
    } else {
      const n = utf8Length(from)
      if (n == 0) {
        from += illFormedLength(from)
        to = writeUtf8(to, 0xfffd)
      } else if (c == 0xe2 && load<u8>(from, 1) == 0x80 && (load<u8>(from, 2) & 0xfe) == 0xa8) {
        to = writeChar(to, 0x2028 | (load<u8>(from, 2) & 1))
        from += n
      } else {
        memory.copy(to, from, n)
        to += n
        from += n
      }
    }
  }
  store<u8>(to, 34)
  return to + 1
}

// @ts-ignore: decorator
@inline function hasText(kind: u8, flags: u32): bool {
  return kind >= TEXT || ((flags & 4) != 0 && (kind == INT || kind == DECIMAL))
}

/** What one row may take at most. */
function rowBound(program: usize, row: usize): usize {
  const count = load<u32>(program)
  let bound: usize = 64
  let at = program + 16
  for (let i: u32 = 0; i < count; i++, at += 32) {
    bound += <usize>load<u32>(at, 4) + 33
    const starts = <usize>load<u32>(at, 16)
    if (hasText(load<u8>(<usize>load<u32>(at, 8) + row), load<u32>(at, 24))) {
      bound += <usize>(load<u32>(<usize>load<u32>(at, 20) + (row << 2)) - load<u32>(starts + (row << 2))) * 6
    }
  }
  return bound
}

/** First selected row that did not fit or was refused, after `encodeRows`. */
export let encodedRows: u32 = 0

/**
 * Writes the rows `selected[from..to)` to `out`, each between `open` and `close` texts (up to 16 bytes each; a row opens
 * its own brace). Returns the end of the text; `encodedRows` tells how many of the list are done, less than asked when the room
 * ended or a row has an object or array that only the host can write.
 */
export function encodeRows(
  program: usize,
  selected: usize,
  from: u32,
  to: u32,
  out: usize,
  limit: usize,
  open: usize,
  openLength: usize,
  close: usize,
  closeLength: usize,
): usize {
  const count = load<u32>(program)
  const opening = v128.load(open)
  const closing = v128.load(close)
  let p = out
  let i = from
  for (; i < to; i++) {
    const row = <usize>load<u32>(selected + (<usize>i << 2))
    if (p + rowBound(program, row) > limit) break
    const rowStart = p
    v128.store(p, opening)
    p += openLength
    const first = p
    let at = program + 16
    for (let c: u32 = 0; c < count; c++, at += 32) {
      const kind = load<u8>(<usize>load<u32>(at, 8) + row)
      const flags = load<u32>(at, 24)
      if (kind <= NULL && ((kind == MISSING && (flags & 1) == 0) || (kind == NULL && (flags & 2) != 0))) continue
      p = copy(p, <usize>load<u32>(at), <usize>load<u32>(at, 4))
      if (hasText(kind, flags)) {
        const start = <usize>load<u32>(<usize>load<u32>(at, 16) + (row << 2))
        const length = <usize>load<u32>(<usize>load<u32>(at, 20) + (row << 2)) - start
        if (kind == TEXT) p = copyText(p, start, length)
        else if (kind == ESCAPED) {
          store<u8>(p, 34)
          p = copySlowly(p + 1, start + 1, length - 1)
        } else if (kind == OBJECT || kind == ARRAY) {
          p = writeNested(p, start)
          if (refused) {
            encodedRows = i
            return rowStart
          }
        } else p = copy(p, start, length)
      } else if (kind == INT || kind == DECIMAL || kind == FLOAT) {
        p = writeNumber(p, load<f64>(<usize>load<u32>(at, 12) + (row << 3)))
      } else if (kind == TRUE) {
        store<u32>(p, 0x65757274)
        p += 4
      } else if (kind == FALSE) {
        store<u32>(p, 0x736c6166)
        store<u8>(p, 101, 4)
        p += 5
      } else {
        store<u32>(p, 0x6c6c756e)
        p += 4
      }
      store<u8>(p++, 44)
    }
    if (p != first) p--
    v128.store(p, closing)
    p += closeLength
  }
  encodedRows = i
  return p
}

export function rowsEncoded(): u32 {
  return encodedRows
}
