// Texts to dense ids, for grouping. The host lays the dictionary out (src/kernel/layout.ts): a block of nine words
// {count, slot mask, most ids, text used, text room, slots, entries, texts, hash seed}; a slot is 0 or id + 1 below the tag, the
// upper bits of the hash, so that hardly an entry is visited in vain. An entry has 16 bytes: a short text's length and bytes, so
// that it is compared without a look elsewhere, or 255 and, from byte 4 on, the address and length of a longer one. Small, because
// every row visits one slot and one entry in no order.
import { TEXT } from './state'

// @ts-ignore: decorator
@inline const COUNT: usize = 0
// @ts-ignore: decorator
@inline const MASK: usize = 4
// @ts-ignore: decorator
@inline const MOST: usize = 8
// @ts-ignore: decorator
@inline const USED: usize = 12
// @ts-ignore: decorator
@inline const ROOM: usize = 16
// @ts-ignore: decorator
@inline const SLOTS: usize = 20
// @ts-ignore: decorator
@inline const ENTRIES: usize = 24
// @ts-ignore: decorator
@inline const TEXTS: usize = 28
// @ts-ignore: decorator
@inline const SEED: usize = 32

/** For rows whose value is not plain text. */
const NOT_TEXT: i32 = -2
/** Longer texts get no id. */
const LONGEST: u32 = 32768
/** The dictionary is full. */
const FULL: i32 = -1

// @ts-ignore: decorator
@inline function mix(h: u64, word: u64): u64 {
  h = (h ^ word) * 0x9e3779b97f4a7c15
  return h ^ (h >> 32)
}

/** Texts of up to this many bytes lie in their entry. */
// @ts-ignore: decorator
@inline const SHORT: usize = 15
/** First byte of the entry of a longer one. */
// @ts-ignore: decorator
@inline const LONG: u8 = 255

/** The entry of a short text: its length and its bytes. Reads one byte in front of the text and some behind it. */
// @ts-ignore: decorator
@inline function shortEntry(p: usize, length: usize): v128 {
  const lanes = i8x16.le_u(i8x16(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), i8x16.splat(<i8>length))
  return i8x16.replace_lane(v128.and(v128.load(p - 1), lanes), 0, <i8>length)
}

// @ts-ignore: decorator
@inline function isEntry(entry: usize, text: v128): bool {
  return !v128.any_true(v128.xor(v128.load(entry), text))
}

/** The upper bits of a product depend on all bits of its factors, the lower ones do not. */
// @ts-ignore: decorator
@inline function finish(h: u64): u32 {
  return <u32>((h * 0xd6e8feb86659fd93) >> 32)
}

// @ts-ignore: decorator
@inline function hashShort(seed: u32, text: v128): u32 {
  return finish(mix(mix((<u64>seed) << 32, <u64>i64x2.extract_lane(text, 0)), <u64>i64x2.extract_lane(text, 1)))
}

function hashLong(seed: u32, p: usize, length: usize): u32 {
  let h = ((<u64>seed) << 32) | <u64>length
  const end = p + (length & ~7)
  for (; p < end; p += 8) h = mix(h, load<u64>(p))
  const rest = length & 7
  // Bytes beyond the text are masked away; there is always memory behind it.
  if (rest != 0) h = mix(h, load<u64>(p) & (((1 as u64) << (<u64>rest << 3)) - 1))
  return finish(h)
}

// @ts-ignore: decorator
@inline function hashText(seed: u32, p: usize, length: usize): u32 {
  return length <= SHORT ? hashShort(seed, shortEntry(p, length)) : hashLong(seed, p, length)
}

function sameText(a: usize, b: usize, length: usize): bool {
  const end = length & ~15
  for (let i: usize = 0; i < end; i += 16) {
    if (i8x16.bitmask(i8x16.eq(v128.load(a + i), v128.load(b + i))) != 0xffff) return false
  }
  const rest = (1 << <i32>(length & 15)) - 1
  return (i8x16.bitmask(i8x16.eq(v128.load(a + end), v128.load(b + end))) & rest) == rest
}

/** Tells whether an entry has this text. */
// @ts-ignore: decorator
@inline function isText(entry: usize, p: usize, length: usize): bool {
  if (length <= SHORT) return isEntry(entry, shortEntry(p, length))
  if (load<u8>(entry) != LONG || load<u32>(entry, 8) != <u32>length) return false
  return sameText(<usize>load<u32>(entry, 4), p, length)
}

/** Lower bits of a slot; those above are the tag. layout.ts has the most ids. */
const ID_BITS: u32 = 22
const ID_MASK: u32 = (1 << ID_BITS) - 1

// @ts-ignore: decorator
@inline function hasTag(slot: u32, hash: u32): bool {
  return (slot ^ hash) >> ID_BITS == 0
}

// @ts-ignore: decorator
@inline function entryOf(entries: usize, slot: u32): usize {
  return entries + (<usize>((slot & ID_MASK) - 1) << 4)
}

/** The id of a text, a new one when it is unknown, FULL when there is no room for it. */
export function textId(d: usize, p: usize, length: usize): i32 {
  const slots = <usize>load<u32>(d, SLOTS)
  const entries = <usize>load<u32>(d, ENTRIES)
  const mask = load<u32>(d, MASK)
  const hash = hashText(load<u32>(d, SEED), p, length)
  let at = hash & mask
  while (true) {
    const slot = load<u32>(slots + (<usize>at << 2))
    if (slot == 0) return addText(d, p, length, at, hash)
    if (hasTag(slot, hash) && isText(entryOf(entries, slot), p, length)) return <i32>((slot & ID_MASK) - 1)
    at = (at + 1) & mask
  }
}

function addText(d: usize, p: usize, length: usize, at: u32, hash: u32): i32 {
  const id = load<u32>(d, COUNT)
  if (id >= load<u32>(d, MOST)) return FULL
  const entry = <usize>load<u32>(d, ENTRIES) + (<usize>id << 4)
  if (length <= SHORT) v128.store(entry, shortEntry(p, length))
  else {
    const used = load<u32>(d, USED)
    if (<u32>length > LONGEST || <u32>length > load<u32>(d, ROOM) - used) return FULL
    const text = <usize>load<u32>(d, TEXTS) + used
    memory.copy(text, p, length)
    store<u8>(entry, LONG)
    store<u32>(entry, <u32>text, 4)
    store<u32>(entry, <u32>length, 8)
    store<u32>(d, used + <u32>length, USED)
  }
  store<u32>(d, id + 1, COUNT)
  store<u32>(<usize>load<u32>(d, SLOTS) + (<usize>at << 2), (hash & ~ID_MASK) | (id + 1))
  return <i32>id
}

/** From a text's slot on, the first one with its tag, or the free one behind. */
// @ts-ignore: decorator
@inline function slotWithTag(slots: usize, mask: u32, hash: u32, first: u32): u32 {
  let slot = first
  for (let at = hash; slot != 0 && !hasTag(slot, hash); ) slot = load<u32>(slots + (<usize>(++at & mask) << 2))
  return slot
}

/**
 * Ids of the selected rows' texts in a column: what lies between the quotes. In passes, so that the processor waits for the memory
 * of many rows at a time: hashes, then what is in their slots (`found`, as long as `out`), then a look at the entries (what it
 * returns is of no use, but has to be computed), and only then the comparison.
 */
export function columnIds(
  d: usize,
  kinds: usize,
  starts: usize,
  ends: usize,
  selected: usize,
  count: u32,
  out: usize,
  found: usize,
): u32 {
  const slots = <usize>load<u32>(d, SLOTS)
  const entries = <usize>load<u32>(d, ENTRIES)
  const mask = load<u32>(d, MASK)
  const seed = load<u32>(d, SEED)
  const all = <usize>count << 2
  for (let i: usize = 0; i < all; i += 4) {
    const row = <usize>load<u32>(selected + i)
    let hash: u32 = 0
    if (load<u8>(kinds + row) == TEXT) {
      const start = <usize>load<u32>(starts + (row << 2)) + 1
      hash = hashText(seed, start, <usize>load<u32>(ends + (row << 2)) - 1 - start)
    }
    store<u32>(out + i, hash)
  }
  for (let i: usize = 0; i < all; i += 4) {
    store<u32>(found + i, load<u32>(slots + (<usize>(load<u32>(out + i) & mask) << 2)))
  }
  let seen: u32 = 0
  for (let i: usize = 0; i < all; i += 4) {
    const slot = slotWithTag(slots, mask, load<u32>(out + i), load<u32>(found + i))
    store<u32>(found + i, slot)
    if (slot != 0) seen ^= load<u32>(entryOf(entries, slot))
  }
  for (let i: usize = 0; i < all; i += 4) {
    const row = <usize>load<u32>(selected + i)
    let id = NOT_TEXT
    if (load<u8>(kinds + row) == TEXT) {
      const start = <usize>load<u32>(starts + (row << 2)) + 1
      const length = <usize>load<u32>(ends + (row << 2)) - 1 - start
      const slot = load<u32>(found + i)
      id = slot != 0 && isText(entryOf(entries, slot), start, length)
        ? <i32>((slot & ID_MASK) - 1)
        : textId(d, start, length)
    }
    store<i32>(out + i, id)
  }
  return seen
}
