// One pass over JSON text: objects of a known shape become columns, everything else is checked and skipped.
//
// A shape node (one object level) in memory: count u32, address of entries u32, padding to 16 bytes, then 16 slots of 48
// bytes that remember the key met at each ordinal of the previous object ("text":, its length, its entry), so that a
// stream of alike objects recognises a key with one vector comparison. An entry is 16 bytes: key address, key length,
// column (or -1), child node (or 0).
import {
  ARRAY,
  CAPACITY,
  COLUMNS,
  COLUMN_COUNT,
  DONE,
  ESCAPED,
  FAILED,
  FAILURES,
  FAILURE_ROOM,
  FALSE,
  LINES,
  MAX_DEPTH,
  MISSING,
  NOT_AN_OBJECT,
  NULL,
  OBJECT,
  OTHERS,
  OVERFLOW,
  PAYLOADS,
  PAYLOAD_COUNT,
  POSITION,
  ROWS,
  ROW_COUNT,
  SHAPE,
  SLOW,
  SLOW_NUMBERS,
  TEXT,
  TOO_DEEP,
  TRUE,
  UNDECIDED,
  fail,
  failAs,
  failCode,
  failPosition,
  get,
  set,
} from './state'
import { escaped, escapedCode, readEscape, scanString, skipOther, skipSpace, skipValue, toText } from './text'
import { numberKind, numberValue, scanNumber } from './number'
import { utf8Length, writeUtf8 } from './text'

// @ts-ignore: decorator
@inline const SLOTS: usize = 16
// @ts-ignore: decorator
@inline const SLOT_SIZE: usize = 48

let capacity: usize = 0
let columns: usize = 0
let row: usize = 0
/** Where members outside the shape are noted, or 0; and the node whose members they are: the rows' own, or none. */
let others: usize = 0
let noted: usize = 0
/** The entry that `readKey` found for the key it read; 0 when nobody wants the member. */
let entry: usize = 0

// @ts-ignore: decorator
@inline function setValue(column: i32, kind: u8, start: usize, end: usize): void {
  const base = columns + <usize>column * 17 * capacity
  store<u32>(base + 8 * capacity + (row << 2), <u32>start)
  store<u32>(base + 12 * capacity + (row << 2), <u32>end)
  store<u8>(base + 16 * capacity + row, kind)
}

// @ts-ignore: decorator
@inline function setNumber(column: i32, kind: u8, start: usize, end: usize, value: f64): void {
  const base = columns + <usize>column * 17 * capacity
  store<f64>(base + (row << 3), value)
  store<u32>(base + 8 * capacity + (row << 2), <u32>start)
  store<u32>(base + 12 * capacity + (row << 2), <u32>end)
  store<u8>(base + 16 * capacity + row, kind)
}

/** True when the text at p is the `length` bytes kept in the slot. */
// @ts-ignore: decorator
@inline function sameKey(p: usize, slot: usize, length: u32): bool {
  const low = i8x16.bitmask(i8x16.eq(v128.load(p), v128.load(slot)))
  if (length <= 16) {
    const want = (1 << length) - 1
    return (low & want) == want
  }
  if (low != 0xffff) return false
  const want = (1 << (length - 16)) - 1
  return (i8x16.bitmask(i8x16.eq(v128.load(p, 16), v128.load(slot, 16))) & want) == want
}

/** From the first byte of a member to the first byte of its value; sets `entry`. 0 on failure. */
function readKey(p: usize, node: usize, slot: usize): usize {
  const start = p
  if (load<u8>(p) != 34) return fail(p)
  p = scanString(p + 1)
  if (p == 0) return 0
  const plain = !escaped
  entry = plain ? findEntry(node, start + 1, p - start - 2) : findEscaped(node, start + 1, p - 1)
  const end = p
  p = toText(p)
  if (load<u8>(p) != 58) return fail(p)
  p++
  if (plain && p == end + 1 && p - start <= 32) {
    v128.store(slot, v128.load(start))
    v128.store(slot, v128.load(start, 16), 16)
    store<u32>(slot, <u32>(p - start), 32)
    store<u32>(slot, <u32>entry, 36)
  }
  return p
}

function findEntry(node: usize, key: usize, length: usize): usize {
  const count = load<u32>(node)
  let at = <usize>load<u32>(node, 4)
  for (let i: u32 = 0; i < count; i++) {
    if (load<u32>(at, 4) == <u32>length && memory.compare(<usize>load<u32>(at), key, length) == 0) return at
    at += 16
  }
  return 0
}

/** The same for a key with escapes: compares while it decodes. */
function findEscaped(node: usize, key: usize, end: usize): usize {
  const count = load<u32>(node)
  let at = <usize>load<u32>(node, 4)
  for (let i: u32 = 0; i < count; i++) {
    if (equalsEscaped(<usize>load<u32>(at), load<u32>(at, 4), key, end)) return at
    at += 16
  }
  return 0
}

const scratch: usize = memory.data(16)

function equalsEscaped(name: usize, length: usize, p: usize, end: usize): bool {
  const nameEnd = name + length
  while (p < end) {
    let from = p
    let n: usize
    if (load<u8>(p) != 92) {
      n = load<u8>(p) < 128 ? 1 : utf8Length(p)
      p += n
    } else {
      p += readEscape(p)
      if (escapedCode >= 0xd800 && escapedCode < 0xe000) return false
      from = scratch
      n = writeUtf8(scratch, escapedCode) - scratch
    }
    if (n == 0 || n > nameEnd - name || memory.compare(name, from, n) != 0) return false
    name += n
  }
  return name == nameEnd
}

/** Marks every column below a node missing: an earlier member of the same name does not count. */
function forget(node: usize): void {
  const count = load<u32>(node)
  let at = <usize>load<u32>(node, 4)
  for (let i: u32 = 0; i < count; i++) {
    const column = load<i32>(at, 8)
    if (column >= 0) store<u8>(columns + <usize>column * 17 * capacity + 16 * capacity + row, MISSING)
    const child = <usize>load<u32>(at, 12)
    if (child != 0) forget(child)
    at += 16
  }
}

/** From after the opening brace to after the closing one; fills the columns of `row`. 0 on failure. */
function scanObject(p: usize, node: usize, depth: u32): usize {
  p = toText(p)
  if (load<u8>(p) == 125) return p + 1
  let slot = node + 16
  const lastSlot = slot + (SLOTS - 1) * SLOT_SIZE
  while (true) {
    const length = load<u32>(slot, 32)
    let want: usize
    if (length != 0 && sameKey(p, slot, length)) {
      want = <usize>load<u32>(slot, 36)
      p += length
    } else {
      p = readKey(p, node, slot)
      if (p == 0) return 0
      want = entry
    }
    if (slot < lastSlot) slot += SLOT_SIZE
    p = toText(p)
    if (want == 0) {
      if (node == noted) noteOther(p)
      p = skipValue(p, depth)
    } else p = scanValue(p, want, depth)
    if (p == 0) return 0
    let c = load<u8>(p)
    if (c <= 32) {
      p = skipSpace(p)
      c = load<u8>(p)
    }
    if (c == 44) {
      p = toText(p + 1)
      continue
    }
    if (c == 125) return p + 1
    return fail(p)
  }
}

/** A member of the row that has no column: bit 0, or, when it is null, bit 1. */
function noteOther(value: usize): void {
  store<u8>(others + row, load<u8>(others + row) | (load<u8>(value) == 110 ? 2 : 1))
}

// @ts-ignore: decorator
@inline function scanValue(p: usize, want: usize, depth: u32): usize {
  const c = load<u8>(p)
  const column = load<i32>(want, 8)
  const child = <usize>load<u32>(want, 12)
  if (child == 0) {
    if (c == 34) {
      const q = scanString(p + 1)
      if (q != 0) setValue(column, escaped ? ESCAPED : TEXT, p, q)
      return q
    }
    if (c == 45 || <u32>c - 48 < 10) {
      const q = scanNumber(p)
      if (q != 0) {
        setNumber(column, numberKind, p, q, numberValue)
        if (numberKind == SLOW) set(SLOW_NUMBERS, get(SLOW_NUMBERS) + 1)
      }
      return q
    }
  }
  return scanOther(p, want, depth)
}

function scanOther(p: usize, want: usize, depth: u32): usize {
  const column = load<i32>(want, 8)
  const child = <usize>load<u32>(want, 12)
  const c = load<u8>(p)
  if (child != 0) forget(child)
  let q: usize
  let kind: u8
  if (c == 123) {
    kind = OBJECT
    if (child != 0) {
      if (depth >= get(MAX_DEPTH)) return failAs(p, TOO_DEEP)
      q = scanObject(p + 1, child, depth + 1)
    } else q = skipOther(p, depth)
  } else if (c == 91) {
    kind = ARRAY
    q = skipOther(p, depth)
  } else if (c == 34) {
    q = scanString(p + 1)
    kind = escaped ? ESCAPED : TEXT
  } else if (c == 45 || <u32>c - 48 < 10) {
    q = scanNumber(p)
    kind = numberKind
    if (q != 0 && column >= 0) {
      setNumber(column, kind, p, q, numberValue)
      if (kind == SLOW) set(SLOW_NUMBERS, get(SLOW_NUMBERS) + 1)
      return q
    }
  } else {
    q = skipOther(p, depth)
    kind = c == 116 ? TRUE : c == 102 ? FALSE : NULL
  }
  if (q != 0 && column >= 0) setValue(column, kind, p, q)
  return q
}

// @ts-ignore: decorator
@inline function noteRow(start: usize, end: usize, payload: u32): void {
  const rows = <usize>get(ROWS)
  store<u32>(rows + (row << 2), <u32>start)
  store<u32>(rows + 4 * capacity + (row << 2), <u32>end)
  store<u32>(rows + 8 * capacity + (row << 2), payload)
}

/** Rows of a payload that failed are taken back, the half-filled one included. */
function dropRows(first: usize): void {
  const count = get(COLUMN_COUNT)
  const last = row < capacity ? row + 1 : capacity
  for (let c: u32 = 0; c < count; c++) {
    memory.fill(columns + <usize>c * 17 * capacity + 16 * capacity + first, MISSING, last - first)
  }
  if (others != 0) memory.fill(others + first, 0, last - first)
  row = first
}

/** Elements of an array of objects from p on (first byte of an element); 0 on failure or overflow. */
function scanElements(p: usize, payload: u32): usize {
  const shape = <usize>get(SHAPE)
  if (get(MAX_DEPTH) < 2) return failAs(p, TOO_DEEP)
  while (true) {
    if (row >= capacity) {
      set(OVERFLOW, 1)
      set(POSITION, <u32>p)
      return 0
    }
    if (load<u8>(p) != 123) return failAs(p, NOT_AN_OBJECT)
    const start = p
    p = scanObject(p + 1, shape, 2)
    if (p == 0) return 0
    noteRow(start, p, payload)
    row++
    p = toText(p)
    const c = load<u8>(p)
    if (c == 93) return p + 1
    if (c != 44) return fail(p)
    p = toText(p + 1)
  }
}

/** One payload, from its first byte to the first one after its value and white space; 0 on failure or overflow. */
function scanPayload(p: usize, payload: u32): usize {
  p = toText(p)
  const c = load<u8>(p)
  if (c == 123) {
    const start = p
    p = scanObject(p + 1, <usize>get(SHAPE), 1)
    if (p == 0) return 0
    noteRow(start, p, payload)
    row++
  } else if (c == 91) {
    p = toText(p + 1)
    if (load<u8>(p) == 93) p++
    else {
      p = scanElements(p, payload)
      if (p == 0) return 0
    }
  } else return failAs(p, c == 0xef ? UNDECIDED : NOT_AN_OBJECT)
  return toText(p)
}

function begin(): void {
  capacity = <usize>get(CAPACITY)
  columns = <usize>get(COLUMNS)
  others = <usize>get(OTHERS)
  noted = others != 0 ? <usize>get(SHAPE) : 0
  row = 0
  set(FAILED, 0)
  set(OVERFLOW, 0)
  set(SLOW_NUMBERS, 0)
  const count = get(COLUMN_COUNT)
  for (let c: u32 = 0; c < count; c++) memory.fill(columns + <usize>c * 17 * capacity + 16 * capacity, MISSING, capacity)
  if (others != 0) memory.fill(others, 0, capacity)
}

function finish(done: u32, position: usize): void {
  set(ROW_COUNT, <u32>row)
  set(DONE, done)
  if (get(OVERFLOW) == 0) set(POSITION, <u32>position)
}

function recordFailure(payload: u32, start: usize, end: usize): void {
  const at = <usize>get(FAILURES) + <usize>get(FAILED) * 20
  store<u32>(at, payload)
  store<u32>(at, <u32>start, 4)
  store<u32>(at, <u32>end, 8)
  store<u32>(at, <u32>failPosition, 12)
  store<u32>(at, failCode, 16)
  set(FAILED, get(FAILED) + 1)
}

/** JSON lines from p to end (the byte before `end` is a newline, or NUL bytes follow it). Stops when the block is full. */
export function scanLines(p: usize, end: usize): void {
  begin()
  set(LINES, 1)
  const room = get(FAILURE_ROOM)
  let done: u32 = 0
  while (row < capacity && get(FAILED) < room) {
    p = toText(p)
    if (p >= end) break
    if (load<u8>(p) == 10) {
      // a blank line is no payload
      p++
      continue
    }
    const first = row
    let q = scanPayload(p, done)
    if (q != 0) {
      if (load<u8>(q) == 10) q++
      else if (q != end) q = fail(q)
    }
    if (q == 0) {
      if (get(OVERFLOW) != 0) {
        if (done == 0) break
        // the array starts the next batch
        set(OVERFLOW, 0)
        dropRows(first)
        break
      }
      dropRows(first)
      q = p
      while (q < end && load<u8>(q) != 10) q++
      recordFailure(done, p, q)
      if (q < end) q++
    }
    done++
    p = q
  }
  finish(done, p)
}

/** The listed payloads from number `from` on. Stops when the block is full. */
export function scanPayloads(from: u32): void {
  begin()
  set(LINES, 0)
  const room = get(FAILURE_ROOM)
  const count = get(PAYLOAD_COUNT)
  const list = <usize>get(PAYLOADS)
  let i = from
  while (i < count && row < capacity && get(FAILED) < room) {
    const start = <usize>load<u32>(list + (<usize>i << 3))
    const end = <usize>load<u32>(list + (<usize>i << 3), 4)
    const first = row
    // Whatever follows the payload must not be read as part of it.
    const after = load<u8>(end)
    store<u8>(end, 0)
    let q = scanPayload(start, i)
    if (q != 0 && q != end) q = fail(q)
    store<u8>(end, after)
    if (q == 0) {
      if (get(OVERFLOW) != 0) {
        if (i == from) break
        set(OVERFLOW, 0)
        dropRows(first)
        break
      }
      dropRows(first)
      recordFailure(i, start, end)
    }
    i++
  }
  finish(i, 0)
}

/**
 * Goes on inside an array that overflowed, at an element. Returns the position after the payload's value and white space
 * when the array ended, else 0: then OVERFLOW is set and POSITION tells where to go on.
 */
export function scanMore(p: usize, payload: u32): usize {
  begin()
  const q = scanElements(p, payload)
  finish(payload, p)
  return q == 0 ? 0 : toText(q)
}

/**
 * Checks the rest of an overflowing array without filling anything: position after it and white space, or 0. ROW_COUNT
 * becomes its number of elements.
 */
export function checkRest(p: usize): usize {
  set(ROW_COUNT, 0)
  while (true) {
    if (load<u8>(p) != 123) return failAs(p, NOT_AN_OBJECT)
    p = skipOther(p, 1)
    if (p == 0) return 0
    set(ROW_COUNT, get(ROW_COUNT) + 1)
    p = toText(p)
    const c = load<u8>(p)
    if (c == 93) return toText(p + 1)
    if (c != 44) return fail(p)
    p = toText(p + 1)
  }
}

/** Bit k of word c is set when column c has a value of kind k among the first `rows` rows. */
export function kindMasks(out: usize, rows: usize): void {
  const count = <usize>get(COLUMN_COUNT)
  const block = <usize>get(COLUMNS)
  const cap = <usize>get(CAPACITY)
  const lowBits = i8x16(1, 2, 4, 8, 16, 32, 64, -128, 0, 0, 0, 0, 0, 0, 0, 0)
  const highBits = i8x16(0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 64, -128)
  for (let c: usize = 0; c < count; c++) {
    const kinds = block + c * 17 * cap + 16 * cap
    let low = i8x16.splat(0)
    let high = i8x16.splat(0)
    let mask: u32 = 0
    let i: usize = 0
    for (; i + 16 <= rows; i += 16) {
      const v = v128.load(kinds + i)
      low = v128.or(low, i8x16.swizzle(lowBits, v))
      high = v128.or(high, i8x16.swizzle(highBits, v))
    }
    for (; i < rows; i++) mask |= 1 << <u32>load<u8>(kinds + i)
    for (let bit: u32 = 0; bit < 8; bit++) {
      const b = i8x16.splat(<i8>(<u32>1 << bit))
      if (v128.any_true(v128.and(low, b))) mask |= 1 << bit
      if (v128.any_true(v128.and(high, b))) mask |= 256 << bit
    }
    store<u32>(out + (c << 2), mask)
  }
}
