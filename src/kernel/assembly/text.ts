// Strings, white space, and values that nobody asked for.
import { LINES, MAX_DEPTH, STACK, TOO_DEEP, fail, failAs, get } from './state'
import { skipNumber } from './number'

/** Set by `scanString`: the text has an escape or is not valid UTF-8, so it cannot be used byte for byte. */
export let escaped: bool = false

/** Position of the first byte that is not white space. In lines mode a newline is not white space. */
export function skipSpace(p: usize): usize {
  while (true) {
    const c = load<u8>(p)
    if (c == 32 || c == 9 || c == 13 || (c == 10 && get(LINES) == 0)) p++
    else return p
  }
}

// @ts-ignore: decorator
@inline export function toText(p: usize): usize {
  return load<u8>(p) <= 32 ? skipSpace(p) : p
}

/** From after the opening quote to after the closing one; 0 on failure. */
// @ts-ignore: decorator
@inline export function scanString(p: usize): usize {
  const m = stops(p)
  if (m != 0) {
    const q = p + ctz(m)
    if (load<u8>(q) == 34) {
      escaped = false
      return q + 1
    }
  }
  return scanLongString(p)
}

/** Bit i is set when byte i is a quote, a backslash, a control character or beyond ASCII. */
// @ts-ignore: decorator
@inline function stops(p: usize): i32 {
  const v = v128.load(p)
  return i8x16.bitmask(
    v128.or(v128.or(i8x16.eq(v, i8x16.splat(34)), i8x16.eq(v, i8x16.splat(92))), i8x16.lt_s(v, i8x16.splat(32))),
  )
}

function scanLongString(p: usize): usize {
  escaped = false
  while (true) {
    const m = stops(p)
    if (m == 0) {
      p += 16
      continue
    }
    p += ctz(m)
    const c = load<u8>(p)
    if (c == 34) return p + 1
    if (c == 92) {
      escaped = true
      p = skipEscape(p)
      if (p == 0) return 0
    } else if (c < 32) return fail(p)
    else {
      const n = utf8Length(p)
      if (n == 0) {
        escaped = true
        p++
      } else p += n
    }
  }
}

/** The number written by four hexadecimal digits. */
export function hexAt(p: usize): u32 {
  let value: u32 = 0
  for (let i: usize = 0; i < 4; i++) {
    const c = <u32>load<u8>(p + i)
    value = (value << 4) | (c < 58 ? c - 48 : (c | 32) - 87)
  }
  return value
}

/**
 * Decodes the escape at p (a backslash; the text is known to be well formed): returns its length, sets `escapedCode` to the
 * code point; a surrogate without partner stays one.
 */
export function readEscape(p: usize): usize {
  const c = load<u8>(p, 1)
  if (c != 117) {
    escapedCode = c == 98 ? 8 : c == 102 ? 12 : c == 110 ? 10 : c == 114 ? 13 : c == 116 ? 9 : c
    return 2
  }
  escapedCode = hexAt(p + 2)
  if (escapedCode >= 0xd800 && escapedCode < 0xdc00 && load<u16>(p, 6) == 0x755c) {
    const second = hexAt(p + 8)
    if (second >= 0xdc00 && second <= 0xdfff) {
      escapedCode = 0x10000 + ((escapedCode - 0xd800) << 10) + (second - 0xdc00)
      return 12
    }
  }
  return 6
}
export let escapedCode: u32 = 0

/** Writes a code point (no surrogate) as UTF-8; returns the position after it. */
export function writeUtf8(to: usize, code: u32): usize {
  if (code < 0x80) {
    store<u8>(to, code)
    return to + 1
  }
  if (code < 0x800) {
    store<u8>(to, 0xc0 | (code >> 6))
    store<u8>(to, 0x80 | (code & 63), 1)
    return to + 2
  }
  if (code < 0x10000) {
    store<u8>(to, 0xe0 | (code >> 12))
    store<u8>(to, 0x80 | ((code >> 6) & 63), 1)
    store<u8>(to, 0x80 | (code & 63), 2)
    return to + 3
  }
  store<u8>(to, 0xf0 | (code >> 18))
  store<u8>(to, 0x80 | ((code >> 12) & 63), 1)
  store<u8>(to, 0x80 | ((code >> 6) & 63), 2)
  store<u8>(to, 0x80 | (code & 63), 3)
  return to + 4
}

function isHex(p: usize): bool {
  const c = load<u8>(p)
  return <u32>c - 48 < 10 || <u32>(c | 32) - 97 < 6
}

function skipEscape(p: usize): usize {
  switch (load<u8>(p, 1)) {
    case 34:
    case 92:
    case 47:
    case 98:
    case 102:
    case 110:
    case 114:
    case 116:
      return p + 2
    case 117:
      for (let i: usize = 2; i < 6; i++) if (!isHex(p + i)) return fail(p + i)
      return p + 6
  }
  return fail(p + 1)
}

// @ts-ignore: decorator
@inline function continues(p: usize): bool {
  return (load<u8>(p) & 0xc0) == 0x80
}

/** Bytes of the well-formed UTF-8 sequence at p (Unicode table 3-7), 0 when it is ill-formed. */
export function utf8Length(p: usize): usize {
  const c = <u32>load<u8>(p)
  if (c < 0xc2) return 0
  if (c < 0xe0) return continues(p + 1) ? 2 : 0
  const d = <u32>load<u8>(p, 1)
  if (c < 0xf0) {
    if ((c == 0xe0 && d < 0xa0) || (c == 0xed && d > 0x9f)) return 0
    return continues(p + 1) && continues(p + 2) ? 3 : 0
  }
  if (c > 0xf4 || (c == 0xf0 && d < 0x90) || (c == 0xf4 && d > 0x8f)) return 0
  return continues(p + 1) && continues(p + 2) && continues(p + 3) ? 4 : 0
}

/**
 * Length of the ill-formed sequence at p that reads as one U+FFFD: its first byte and what may follow it (the practice of
 * the WHATWG encoding standard).
 */
export function illFormedLength(p: usize): usize {
  const c = <u32>load<u8>(p)
  if (c < 0xe0 || c > 0xf4) return 1
  const d = <u32>load<u8>(p, 1)
  const low: u32 = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80
  const top: u32 = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf
  if (d < low || d > top) return 1
  return c >= 0xf0 && continues(p + 2) ? 3 : 2
}

/** From the first byte of any value to after it, checking all of its grammar; 0 on failure. `depth` brackets are open. */
// @ts-ignore: decorator
@inline export function skipValue(p: usize, depth: u32): usize {
  const c = load<u8>(p)
  if (c == 34) return scanString(p + 1)
  if (c == 45 || <u32>c - 48 < 10) return skipNumber(p)
  return skipOther(p, depth)
}

export function skipOther(p: usize, depth: u32): usize {
  const c = load<u8>(p)
  if (c == 123 || c == 91) return skipNested(p, depth)
  return skipWord(p)
}

export function skipWord(p: usize): usize {
  const word = load<u32>(p)
  if (word == 0x65757274 || word == 0x6c6c756e) return p + 4
  if (word == 0x736c6166 && load<u8>(p, 4) == 101) return p + 5
  return fail(p)
}

/** An object or array, without recursion: STACK keeps which bracket each level opened. */
function skipNested(p: usize, depth: u32): usize {
  const stack = <usize>get(STACK)
  const limit = get(MAX_DEPTH)
  const bottom = depth
  let c = load<u8>(p)
  while (true) {
    // p is at the first byte of a value
    if (c == 123 || c == 91) {
      if (depth >= limit) return failAs(p, TOO_DEEP)
      store<u8>(stack + depth, c)
      depth++
      p = toText(p + 1)
      // an empty container, or its first member
      if (load<u8>(p) == c + 2) {
        p++
        depth--
      } else {
        if (c == 123) {
          p = skipKey(p)
          if (p == 0) return 0
        }
        c = load<u8>(p)
        continue
      }
    } else {
      p = c == 34 ? scanString(p + 1) : c == 45 || <u32>c - 48 < 10 ? skipNumber(p) : skipWord(p)
      if (p == 0) return 0
    }
    // after a value: a comma goes on, brackets close
    while (true) {
      if (depth == bottom) return p
      p = toText(p)
      const open = load<u8>(stack + depth - 1)
      c = load<u8>(p)
      if (c == 44) {
        p = toText(p + 1)
        if (open == 123) {
          p = skipKey(p)
          if (p == 0) return 0
        }
        c = load<u8>(p)
        break
      }
      if (c != open + 2) return fail(p)
      p++
      depth--
    }
  }
}

/** From the opening quote of a key to the first byte of its value. */
function skipKey(p: usize): usize {
  if (load<u8>(p) != 34) return fail(p)
  p = scanString(p + 1)
  if (p == 0) return 0
  p = toText(p)
  if (load<u8>(p) != 58) return fail(p)
  return toText(p + 1)
}
