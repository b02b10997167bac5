/**
 * Memory for encoded lines that wait for a sink, used again when they have been sent: at millions of rows a second fresh memory
 * costs more than the copying.
 */
import type { SinkItem } from '../connectors/contract.ts'

/** An item of many lines in a buffer of its own, which may have room for more. */
export interface LinesItem extends SinkItem {
  payload: Uint8Array
  rows: number
  readonly lines: true
  readonly buffer: Uint8Array
}

/** Smallest buffer: a sink that gets a line now and then holds little. */
const SMALLEST = 1024
/** Buffers of a sink with many lines grow to this. The columnar lane's output comes in parts of at most twice it. */
const SIZE = 64 * 1024
/** Buffers kept for all sinks of the process together, and how large one of them may be. */
const KEEP = 16
const KEEP_SIZE = 2 * SIZE
/** Smallest buffers kept: each of many rules may send a line now and then. */
const KEEP_SMALLEST = 512

const LINE_FEED = 10
const spare: Uint8Array[] = []
const smallest: Uint8Array[] = []
const noDynamic: Readonly<Record<string, string>> = Object.freeze({})

/** Copies the lines. `before` is the item waiting in front, which had no room: the next buffer is twice as large. */
export function linesItem(lines: Uint8Array, rows: number, before?: SinkItem): LinesItem {
  const item = emptyItem(lines.length, before)
  addLines(item, lines, rows)
  return item
}

/** The same of one message without a line feed. */
export function lineItem(message: Uint8Array, before?: SinkItem): LinesItem {
  const item = emptyItem(message.length + 1, before)
  addLine(item, message)
  return item
}

function emptyItem(least: number, before: SinkItem | undefined): LinesItem {
  const needed = isLines(before) ? Math.max(least, Math.min(SIZE, before.buffer.length * 2)) : least
  const buffer = bufferFor(needed)
  return { payload: buffer.subarray(0, 0), value: null, dynamic: noDynamic, rows: 0, lines: true, buffer }
}

function bufferFor(bytes: number): Uint8Array {
  if (bytes <= SMALLEST) return smallest.pop() ?? new Uint8Array(SMALLEST)
  const fits = spare.findLastIndex((b) => b.length >= bytes && b.length <= bytes * 4)
  return fits < 0 ? new Uint8Array(roundedUp(bytes)) : (spare.splice(fits, 1)[0] as Uint8Array)
}

/** Copies more lines behind those of an item that is not being sent; false when there is no room. */
export function addLines(item: LinesItem, lines: Uint8Array, rows: number): boolean {
  const { buffer, payload } = item
  const length = payload.length + lines.length
  if (length > buffer.length) return false
  buffer.set(lines, payload.length)
  item.payload = buffer.subarray(0, length)
  item.rows += rows
  return true
}

/** The same with one message that has no line feed. */
export function addLine(item: LinesItem, message: Uint8Array): boolean {
  const { buffer, payload } = item
  const end = payload.length + message.length
  if (end >= buffer.length) return false
  buffer.set(message, payload.length)
  buffer[end] = LINE_FEED
  item.payload = buffer.subarray(0, end + 1)
  item.rows++
  return true
}

/** The item has been sent or given up: nobody looks at its payload any more. */
export function freeLines({ buffer }: LinesItem): void {
  if (buffer.length === SMALLEST) {
    if (smallest.length < KEEP_SMALLEST) smallest.push(buffer)
  } else if (spare.length < KEEP && buffer.length >= SIZE && buffer.length <= KEEP_SIZE) spare.push(buffer)
}

export function isLines(item: SinkItem | undefined): item is LinesItem {
  return item?.lines === true && 'buffer' in item
}

function roundedUp(bytes: number): number {
  let size = SMALLEST
  while (size < bytes) size *= 2
  return size
}
