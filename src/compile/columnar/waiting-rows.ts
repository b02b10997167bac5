import type { Row } from '../../core/row.ts'
import { grown } from './accumulate.ts'

/** Rows: below this, room at the front is not worth moving the others for. */
const MIN_GAP = 64
/** Bytes of rows that are gone: below this, they are not worth moving the others for. */
const MIN_GAP_BYTES = 64 * 1024
/** A buffer that a flood needed is not kept. */
const KEEP_BYTES = 1024 * 1024
/** In place of the start of a text: the row came decoded, the end is its number. */
const DECODED = 0xffffffff

/** JSON texts in one buffer. */
export interface RowTexts {
  readonly bytes: Uint8Array
  /** Ascending. */
  readonly ranges: Uint32Array
}

/**
 * Rows that wait for the watermark, in time order, rows of one time as they came: mostly JSON texts in one buffer, without an
 * object each. Rows are numbered from the oldest on. A row that comes out of order is put in its place by its time and range; its
 * text stays where it is.
 */
export class WaitingRows {
  #bytes = new Uint8Array(0)
  #used = 0
  /** Bytes of rows that are here. */
  #live = 0
  #ranges = new Uint32Array(0)
  #times = new Float64Array(0)
  #head = 0
  #count = 0
  /** Up to here rows are in time order. */
  #sorted = 0
  readonly #rows = new Map<number, Row>()
  #nextRow = 0
  readonly #gathered = { bytes: new Uint8Array(0), ranges: new Uint32Array(0) }

  get length(): number {
    return this.#count - this.#head
  }

  /** Where the next text will be copied to. */
  get end(): number {
    return this.#used
  }

  /** Copies `source[start..end)` to {@link end}. */
  copy(source: Uint8Array, start: number, end: number): void {
    this.#bytes = grown(this.#bytes, this.#used + end - start)
    this.#bytes.set(source.subarray(start, end), this.#used)
    this.#used += end - start
  }

  /** A row whose text is, or will be, in this range of the buffer. */
  addText(start: number, end: number, time: number): void {
    this.#live += end - start
    this.#add(start, end, time)
  }

  addRow(row: Row): void {
    const number = this.#nextRow++ >>> 0
    this.#rows.set(number, row)
    this.#add(DECODED, number, row.timestamp)
  }

  timeAt(index: number): number {
    return this.#times[this.#head + index] as number
  }

  /** The same when rows may have come out of order since. */
  timeInOrder(index: number): number {
    this.sort()
    return this.timeAt(index)
  }

  /** The row when it came decoded. */
  rowAt(index: number): Row | undefined {
    const at = 2 * (this.#head + index)
    return this.#ranges[at] === DECODED ? this.#rows.get(this.#ranges[at + 1] as number) : undefined
  }

  textAt(index: number): Uint8Array {
    const at = 2 * (this.#head + index)
    return this.#bytes.subarray(this.#ranges[at], this.#ranges[at + 1])
  }

  /** Texts of rows number `from` to `to`, valid until the next call. */
  texts(from: number, to: number): RowTexts {
    const ranges = this.#ranges.subarray(2 * (this.#head + from), 2 * (this.#head + to))
    if (isDense(ranges)) return { bytes: this.#bytes, ranges }
    const gathered = this.#gathered
    gathered.ranges = grown(gathered.ranges, ranges.length)
    gathered.bytes = grown(gathered.bytes.length > KEEP_BYTES ? new Uint8Array(0) : gathered.bytes, lengthOf(ranges))
    gather(this.#bytes, ranges, gathered.bytes, gathered.ranges)
    return { bytes: gathered.bytes, ranges: gathered.ranges.subarray(0, ranges.length) }
  }

  /** End of the rows from number `from` on, up to `to`, that are texts. */
  endOfTexts(from: number, to: number): number {
    if (this.#rows.size === 0) return to
    let end = from
    while (end < to && this.#ranges[2 * (this.#head + end)] !== DECODED) end++
    return end
  }

  /** How many rows have at most this time. */
  until(time: number): number {
    this.sort()
    const times = this.#times
    let at = this.#head
    while (at < this.#count && (times[at] as number) <= time) at++
    return at - this.#head
  }

  /** Forgets the oldest rows. */
  drop(count: number): void {
    this.sort()
    const ranges = this.#ranges
    for (let at = this.#head; at < this.#head + count; at++) {
      const start = ranges[2 * at] as number
      const end = ranges[2 * at + 1] as number
      if (start === DECODED) this.#rows.delete(end)
      else this.#live -= end - start
    }
    this.#head += count
    if (this.length === 0) {
      this.#head = this.#count = this.#sorted = this.#used = 0
      if (this.#bytes.length > KEEP_BYTES) this.#bytes = new Uint8Array(0)
      return
    }
    if (this.#head > MIN_GAP && this.#head > this.length) this.#moveToFront()
    if (this.#used - this.#live > Math.max(MIN_GAP_BYTES, this.#live)) this.#moveTexts()
  }

  #add(start: number, end: number, time: number): void {
    const at = this.#count++
    this.#ranges = grown(this.#ranges, 2 * at + 2)
    this.#times = grown(this.#times, at + 1)
    this.#ranges[2 * at] = start
    this.#ranges[2 * at + 1] = end
    this.#times[at] = time
    if (this.#sorted === at && (at === this.#head || (this.#times[at - 1] as number) <= time)) this.#sorted++
  }

  /** Takes the room of rows that are gone; each row is moved over at least as many others. */
  #moveToFront(): void {
    const head = this.#head
    this.#ranges.copyWithin(0, 2 * head, 2 * this.#count)
    this.#times.copyWithin(0, head, this.#count)
    this.#count -= head
    this.#sorted -= head
    this.#head = 0
  }

  /** Takes the room of texts that are gone: those that stay are less. */
  #moveTexts(): void {
    const ranges = this.#ranges.subarray(2 * this.#head, 2 * this.#count)
    const inPlace = isAscending(ranges) && this.#bytes.length <= Math.max(KEEP_BYTES, 8 * this.#live)
    const to = inPlace ? this.#bytes : new Uint8Array(2 * this.#live)
    this.#used = gather(this.#bytes, ranges, to, ranges)
    this.#bytes = to
  }

  /** Brings all rows into time order: merges those behind the sorted ones into them. */
  sort(): void {
    const from = this.#sorted
    if (from === this.#count) return
    const times = this.#times
    const ranges = this.#ranges
    const lateTimes = times.slice(from, this.#count)
    const lateRanges = ranges.slice(2 * from, 2 * this.#count)
    const order = Uint32Array.from(lateTimes.keys())
    order.sort((a, b) => (lateTimes[a] as number) - (lateTimes[b] as number) || a - b)
    let at = from - 1
    for (let next = order.length - 1, to = this.#count - 1; next >= 0; to--) {
      const late = order[next] as number
      if (at >= this.#head && (times[at] as number) > (lateTimes[late] as number)) {
        times[to] = times[at] as number
        ranges.copyWithin(2 * to, 2 * at, 2 * at + 2)
        at--
      } else {
        times[to] = lateTimes[late] as number
        ranges.set(lateRanges.subarray(2 * late, 2 * late + 2), 2 * to)
        next--
      }
    }
    this.#sorted = this.#count
  }
}

function isAscending(ranges: Uint32Array): boolean {
  let end = 0
  for (let i = 0; i < ranges.length; i += 2) {
    if (ranges[i] === DECODED) continue
    if ((ranges[i] as number) < end) return false
    end = ranges[i + 1] as number
  }
  return true
}

/** Ascending, and no more than half of what lies between the first and the last text is something else. */
function isDense(ranges: Uint32Array): boolean {
  const first = ranges[0] as number
  let end = first
  let length = 0
  for (let i = 0; i < ranges.length; i += 2) {
    const start = ranges[i] as number
    if (start < end) return false
    end = ranges[i + 1] as number
    length += end - start
  }
  return end - first <= 2 * length
}

function lengthOf(ranges: Uint32Array): number {
  let length = 0
  for (let i = 0; i < ranges.length; i += 2) {
    if (ranges[i] !== DECODED) length += (ranges[i + 1] as number) - (ranges[i] as number)
  }
  return length
}

/** Copies texts one behind the other, and says where they are; returns the end of the last. Neighbours are copied at once. */
function gather(from: Uint8Array, ranges: Uint32Array, to: Uint8Array, newRanges: Uint32Array): number {
  let used = 0
  for (let i = 0; i < ranges.length; ) {
    const start = ranges[i] as number
    if (start === DECODED) {
      newRanges[i] = start
      newRanges[i + 1] = ranges[i + 1] as number
      i += 2
      continue
    }
    let end = start
    const moved = used - start
    while (i < ranges.length && ranges[i] === end) {
      end = ranges[i + 1] as number
      newRanges[i] = (ranges[i] as number) + moved
      newRanges[i + 1] = end + moved
      i += 2
    }
    if (from === to) to.copyWithin(used, start, end)
    else to.set(from.subarray(start, end), used)
    used += end - start
  }
  return used
}
