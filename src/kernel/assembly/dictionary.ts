// Texts to dense ids, for grouping. The host lays the dictionary out (src/kernel/dictionary.ts): a block of nine words
// {count, slot mask, most ids, text used, text room, slots, entries, texts, hash seed}; a slot is id + 1 or 0, an entry 32 bytes
// {hash, text address, length, 0, first 16 bytes of the text}: short texts are compared without a look elsewhere.
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

// @ts-ignore: decorator
@inline function hashText(seed: u32, p: usize, length: usize): u32 {
  let h = ((<u64>seed) << 32) | <u64>length
  const end = p + (length & ~7)
  for (; p < end; p += 8) h = mix(h, load<u64>(p))
  const rest = length & 7
  // Bytes beyond the text are masked away; there is always memory behind it.
  if (rest != 0) h = mix(h, load<u64>(p) & (((1 as u64) << (<u64>rest << 3)) - 1))
  // The upper bits of a product depend on all bits of its factors, the lower ones do not.
  return <u32>((h * 0xd6e8feb86659fd93) >> 32)
}

// @ts-ignore: decorator
@inline function sameText(a: usize, b: usize, length: usize): bool {
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
  if (load<u32>(entry, 8) != <u32>length) return false
  const rest = length >= 16 ? 0xffff : (1 << <i32>length) - 1
  if ((i8x16.bitmask(i8x16.eq(v128.load(entry, 16), v128.load(p))) & rest) != rest) return false
  return length <= 16 || sameText(<usize>load<u32>(entry, 4) + 16, p + 16, length - 16)
}

/** The id of a text, a new one when it is unknown, FULL when there is no room for it. */
export function textId(d: usize, p: usize, length: usize): i32 {
  return textIdOf(d, p, length, hashText(load<u32>(d, SEED), p, length))
}

function textIdOf(d: usize, p: usize, length: usize, hash: u32): i32 {
  const slots = <usize>load<u32>(d, SLOTS)
  const entries = <usize>load<u32>(d, ENTRIES)
  const mask = load<u32>(d, MASK)
  let slot = hash & mask
  while (true) {
    const found = load<u32>(slots + (<usize>slot << 2))
    if (found == 0) return addText(d, p, length, hash, slot)
    const entry = entries + (<usize>(found - 1) << 5)
    if (load<u32>(entry) == hash && isText(entry, p, length)) return <i32>(found - 1)
    slot = (slot + 1) & mask
  }
}

function addText(d: usize, p: usize, length: usize, hash: u32, slot: u32): i32 {
  const id = load<u32>(d, COUNT)
  const used = load<u32>(d, USED)
  if (id >= load<u32>(d, MOST) || <u32>length > LONGEST || <u32>length > load<u32>(d, ROOM) - used) return FULL
  const text = <usize>load<u32>(d, TEXTS) + used
  memory.copy(text, p, length)
  const entry = <usize>load<u32>(d, ENTRIES) + (<usize>id << 5)
  store<u32>(entry, hash)
  store<u32>(entry, <u32>text, 4)
  store<u32>(entry, <u32>length, 8)
  v128.store(entry, v128.load(p), 16)
  store<u32>(d, id + 1, COUNT)
  store<u32>(d, used + <u32>length, USED)
  store<u32>(<usize>load<u32>(d, SLOTS) + (<usize>slot << 2), id + 1)
  return <i32>id
}

/**
 * Ids of the selected rows' texts in a column: what lies between the quotes. In two passes, so that the processor waits for the
 * memory of many rows at a time: the first leaves what it finds in a text's slot, the second compares.
 */
export function columnIds(
  d: usize,
  kinds: usize,
  starts: usize,
  ends: usize,
  selected: usize,
  count: u32,
  out: usize,
): void {
  const slots = <usize>load<u32>(d, SLOTS)
  const entries = <usize>load<u32>(d, ENTRIES)
  const mask = load<u32>(d, MASK)
  const seed = load<u32>(d, SEED)
  for (let i: u32 = 0; i < count; i++) {
    const row = <usize>load<u32>(selected + (<usize>i << 2))
    let found = 0
    if (load<u8>(kinds + row) == TEXT) {
      const start = <usize>load<u32>(starts + (row << 2)) + 1
      const hash = hashText(seed, start, <usize>load<u32>(ends + (row << 2)) - 1 - start)
      found = load<u32>(slots + (<usize>(hash & mask) << 2))
    }
    store<u32>(out + (<usize>i << 2), found)
  }
  for (let i: u32 = 0; i < count; i++) {
    const row = <usize>load<u32>(selected + (<usize>i << 2))
    let id = NOT_TEXT
    if (load<u8>(kinds + row) == TEXT) {
      const start = <usize>load<u32>(starts + (row << 2)) + 1
      const length = <usize>load<u32>(ends + (row << 2)) - 1 - start
      const found = load<u32>(out + (<usize>i << 2))
      id = found != 0 && isText(entries + (<usize>(found - 1) << 5), start, length)
        ? <i32>(found - 1)
        : textId(d, start, length)
    }
    store<i32>(out + (<usize>i << 2), id)
  }
}
