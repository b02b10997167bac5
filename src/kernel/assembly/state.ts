// What host and kernel share. The host writes the fields marked in, the kernel those marked out; all are 4-byte words of
// one block whose address `header()` tells. src/kernel/layout.ts names the same offsets.

export const H: usize = memory.data(256, 16)

/** in: a newline ends a payload instead of being white space. */
// @ts-ignore: decorator
@inline export const LINES: usize = 0
/** in: rows the column block holds (a multiple of 16). */
// @ts-ignore: decorator
@inline export const CAPACITY: usize = 4
/** in: address of the column block; column c is at COLUMNS + c * 17 * CAPACITY: num f64, start u32, end u32, kind u8. */
// @ts-ignore: decorator
@inline export const COLUMNS: usize = 8
/** in: address of the row table: start u32, end u32, payload u32, each CAPACITY long. */
// @ts-ignore: decorator
@inline export const ROWS: usize = 12
/** in: address of the shape's root node. */
// @ts-ignore: decorator
@inline export const SHAPE: usize = 16
/** in: one byte per open bracket. */
// @ts-ignore: decorator
@inline export const STACK: usize = 20
// @ts-ignore: decorator
@inline export const MAX_DEPTH: usize = 24
/** in: list of payload ranges (start u32, end u32) and its length. */
// @ts-ignore: decorator
@inline export const PAYLOADS: usize = 28
// @ts-ignore: decorator
@inline export const PAYLOAD_COUNT: usize = 32
/** in: failure records of five words (payload, start, end, position, code) and room for how many. */
// @ts-ignore: decorator
@inline export const FAILURES: usize = 36
// @ts-ignore: decorator
@inline export const FAILURE_ROOM: usize = 40
/** in: how many columns the scan fills. */
// @ts-ignore: decorator
@inline export const COLUMN_COUNT: usize = 44
/** in: address of a byte per row that tells of members outside the shape (bit 0: one with a value, bit 1: one that is null), or 0. */
// @ts-ignore: decorator
@inline export const OTHERS: usize = 48
/** out: rows filled, payloads finished (good and bad), failures recorded. */
// @ts-ignore: decorator
@inline export const ROW_COUNT: usize = 64
// @ts-ignore: decorator
@inline export const DONE: usize = 68
// @ts-ignore: decorator
@inline export const FAILED: usize = 72
/** out: where the scan stopped. */
// @ts-ignore: decorator
@inline export const POSITION: usize = 76
/** out: set when an array has more rows than the block: the next element starts at POSITION. */
// @ts-ignore: decorator
@inline export const OVERFLOW: usize = 80
/** out: numbers left for the host to convert. */
// @ts-ignore: decorator
@inline export const SLOW_NUMBERS: usize = 84

// Kinds of a value, in an order that makes the common tests one comparison. src/core/columns.ts explains them.
// @ts-ignore: decorator
@inline export const MISSING: u8 = 0
// @ts-ignore: decorator
@inline export const NULL: u8 = 1
// @ts-ignore: decorator
@inline export const FALSE: u8 = 2
// @ts-ignore: decorator
@inline export const TRUE: u8 = 3
// @ts-ignore: decorator
@inline export const INT: u8 = 4
// @ts-ignore: decorator
@inline export const DECIMAL: u8 = 5
// @ts-ignore: decorator
@inline export const FLOAT: u8 = 6
// @ts-ignore: decorator
@inline export const TEXT: u8 = 7
// @ts-ignore: decorator
@inline export const ESCAPED: u8 = 8
// @ts-ignore: decorator
@inline export const BIG: u8 = 9
// @ts-ignore: decorator
@inline export const OBJECT: u8 = 10
// @ts-ignore: decorator
@inline export const ARRAY: u8 = 11
// @ts-ignore: decorator
@inline export const RAW: u8 = 12
// @ts-ignore: decorator
@inline export const SLOW: u8 = 13

// Failure codes.
// @ts-ignore: decorator
@inline export const SYNTAX: u32 = 1
// @ts-ignore: decorator
@inline export const NOT_AN_OBJECT: u32 = 2
// @ts-ignore: decorator
@inline export const TOO_DEEP: u32 = 3
/** Text that only the general decoder can judge: numbers near the range's end, a byte order mark. */
// @ts-ignore: decorator
@inline export const UNDECIDED: u32 = 4

/** Position and code of the failure being reported; scanning functions return 0 after setting them. */
export let failPosition: usize = 0
export let failCode: u32 = 0

// @ts-ignore: decorator
@inline export function get(field: usize): u32 {
  return load<u32>(H + field)
}
// @ts-ignore: decorator
@inline export function set(field: usize, value: u32): void {
  store<u32>(H + field, value)
}

export function fail(position: usize): usize {
  return failAs(position, SYNTAX)
}
export function failAs(position: usize, code: u32): usize {
  failPosition = position
  failCode = code
  return 0
}
