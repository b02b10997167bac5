// Texts to dense ids, for grouping. The host lays the dictionary out (src/kernel/dictionary.ts): a block of nine words
// {count, slot mask, most ids, text used, text room, slots, entries, texts, hash seed}; a slot is id + 1 or 0, an entry 16 bytes
// {hash, text address, length, 0}.
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

/** The id of a text, a new one when it is unknown, FULL when there is no room for it. */
export function textId(d: usize, p: usize, length: usize): i32 {
  const hash = hashText(load<u32>(d, SEED), p, length)
  const slots = <usize>load<u32>(d, SLOTS)
  const entries = <usize>load<u32>(d, ENTRIES)
  const mask = load<u32>(d, MASK)
  let slot = hash & mask
  while (true) {
    const found = load<u32>(slots + (<usize>slot << 2))
    if (found == 0) return addText(d, p, length, hash, slot)
    const entry = entries + (<usize>(found - 1) << 4)
    if (
      load<u32>(entry) == hash &&
      load<u32>(entry, 8) == <u32>length &&
      sameText(<usize>load<u32>(entry, 4), p, length)
    ) {
      return <i32>(found - 1)
    }
    slot = (slot + 1) & mask
  }
}

function addText(d: usize, p: usize, length: usize, hash: u32, slot: u32): i32 {
  const id = load<u32>(d, COUNT)
  const used = load<u32>(d, USED)
  if (id >= load<u32>(d, MOST) || <u32>length > LONGEST || <u32>length > load<u32>(d, ROOM) - used) return FULL
  const text = <usize>load<u32>(d, TEXTS) + used
  memory.copy(text, p, length)
  const entry = <usize>load<u32>(d, ENTRIES) + (<usize>id << 4)
  store<u32>(entry, hash)
  store<u32>(entry, <u32>text, 4)
  store<u32>(entry, <u32>length, 8)
  store<u32>(d, id + 1, COUNT)
  store<u32>(d, used + <u32>length, USED)
  store<u32>(<usize>load<u32>(d, SLOTS) + (<usize>slot << 2), id + 1)
  return <i32>id
}

/** Ids of the selected rows' texts in a column: what lies between the quotes. */
export function columnIds(
  d: usize,
  kinds: usize,
  starts: usize,
  ends: usize,
  selected: usize,
  count: u32,
  out: usize,
): void {
  for (let i: u32 = 0; i < count; i++) {
    const row = <usize>load<u32>(selected + (<usize>i << 2))
    let id = NOT_TEXT
    if (load<u8>(kinds + row) == TEXT) {
      const start = <usize>load<u32>(starts + (row << 2)) + 1
      id = textId(d, start, <usize>load<u32>(ends + (row << 2)) - 1 - start)
    }
    store<i32>(out + (<usize>i << 2), id)
  }
}
