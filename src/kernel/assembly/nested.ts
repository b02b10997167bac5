// Objects and arrays that go out as they came in: from JSON text that the scan has checked to JSON text as Go writes it, keys sorted
// bytewise at every level, the last of equal ones, numbers and strings as they are written alone.
import { copySlowly, copyText } from './encode'
import { writeNumber } from './format'
import { BIG, DECIMAL, INT, SLOW } from './state'
import { escaped, scanString, skipValue, toText } from './text'
import { numberKind, numberValue, scanNumber } from './number'

/** Members of the objects being written, all levels together; one is an address and length of its key's literal, and its value's address. */
const MOST_MEMBERS: u32 = 512
// @ts-ignore: decorator
@inline const MEMBER: usize = 12
const members: usize = memory.data(512 * 12, 16)
let used: u32 = 0

/** Each level is read as often as there are levels above it. */
const DEEPEST: u32 = 16

/** Set when the value is left to the host: too deep, too many members, a key with escapes, a number it has to convert. */
export let refused: bool = false
/** Where the value just written ends in the source. */
let end: usize = 0

/** The value at p; returns the position after what was written. */
export function writeNested(to: usize, p: usize): usize {
  refused = false
  used = 0
  return writeValue(to, p, 0)
}

function refuse(to: usize): usize {
  refused = true
  return to
}

function writeValue(to: usize, p: usize, depth: u32): usize {
  const c = load<u8>(p)
  if (c == 34) {
    end = scanString(p + 1)
    if (!escaped) return copyText(to, p, end - p)
    store<u8>(to, 34)
    return copySlowly(to + 1, p + 1, end - p - 1)
  }
  if (c == 45 || <u32>c - 48 < 10) {
    end = scanNumber(p)
    if (numberKind == SLOW || end == 0) return refuse(to)
    if (numberKind != INT && numberKind != DECIMAL && numberKind != BIG) return writeNumber(to, numberValue)
    memory.copy(to, p, end - p)
    return to + (end - p)
  }
  if (c == 123 || c == 91) {
    if (depth >= DEEPEST) return refuse(to)
    return c == 123 ? writeObject(to, p, depth) : writeArray(to, p, depth)
  }
  const length: usize = c == 102 ? 5 : 4
  memory.copy(to, p, length)
  end = p + length
  return to + length
}

function writeArray(to: usize, p: usize, depth: u32): usize {
  store<u8>(to++, 91)
  p = toText(p + 1)
  if (load<u8>(p) == 93) {
    end = p + 1
    store<u8>(to, 93)
    return to + 1
  }
  while (true) {
    to = writeValue(to, p, depth + 1)
    if (refused) return to
    p = toText(end)
    const c = load<u8>(p)
    store<u8>(to++, c)
    if (c == 93) {
      end = p + 1
      return to
    }
    p = toText(p + 1)
  }
}

function writeObject(to: usize, p: usize, depth: u32): usize {
  const first = used
  p = collect(p, first, depth)
  if (refused) return to
  store<u8>(to++, 123)
  for (let i = first, last = used; i < last; i++) {
    const member = members + <usize>i * MEMBER
    const key = <usize>load<u32>(member)
    if (i > first) store<u8>(to++, 44)
    to = copyText(to, key, <usize>load<u32>(member, 4))
    store<u8>(to++, 58)
    to = writeValue(to, <usize>load<u32>(member, 8), depth + 1)
    if (refused) return to
  }
  used = first
  end = p
  store<u8>(to, 125)
  return to + 1
}

/** Lists the members of the object at p in the order of their keys, from number `first` on; returns the position after it. */
function collect(p: usize, first: u32, depth: u32): usize {
  p = toText(p + 1)
  if (load<u8>(p) == 125) return p + 1
  while (true) {
    const key = p
    p = scanString(p + 1)
    if (escaped || used >= MOST_MEMBERS) return refuse(p)
    const length = p - key
    p = toText(toText(p) + 1)
    enter(first, key, length, p)
    p = skipValue(p, depth + 1)
    // A number near the end of the range, which the scan took for a column of its own.
    if (p == 0) return refuse(p)
    p = toText(p)
    if (load<u8>(p) == 125) return p + 1
    p = toText(p + 1)
  }
}

function enter(first: u32, key: usize, length: usize, value: usize): void {
  let low = first
  let high = used
  // Keys mostly come in order: the last one is looked at first.
  let middle = used - 1
  while (low < high) {
    const known = members + <usize>middle * MEMBER
    const order = compareKeys(<usize>load<u32>(known), <usize>load<u32>(known, 4), key, length)
    if (order == 0) {
      store<u32>(known, <u32>value, 8)
      return
    }
    if (order < 0) low = middle + 1
    else high = middle
    middle = (low + high) >> 1
  }
  const place = members + <usize>low * MEMBER
  memory.copy(place + MEMBER, place, <usize>(used - low) * MEMBER)
  store<u32>(place, <u32>key)
  store<u32>(place, <u32>length, 4)
  store<u32>(place, <u32>value, 8)
  used++
}

/** Of two literals without escapes, quotes included: a closing quote must not count, for a byte below it may go on in the other. */
function compareKeys(a: usize, aLength: usize, b: usize, bLength: usize): i32 {
  const order = memory.compare(a, b, min(aLength, bLength) - 1)
  return order != 0 ? order : <i32>aLength - <i32>bLength
}
