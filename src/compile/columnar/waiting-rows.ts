import type { Row } from '../../core/row.ts'
import { grown } from './accumulate.ts'

/** Rows: below this, room at the front is not worth moving the others for. */
const MIN_GAP = 64
/** A buffer that a flood needed is not kept. */
const KEEP_BYTES = 1024 * 1024

/**
 * Rows that wait for the watermark, in time order, rows of one time as they came: mostly JSON texts in one buffer, without an
 * object each. Rows are numbered from the oldest on.
 */
export class WaitingRows {
  bytes = new Uint8Array(0)
  #ranges = new Uint32Array(0)
  #times = new Float64Array(0)
  /** Rows that came decoded, by place; their range is empty. */
  #rows = new Map<number, Row>()
  #head = 0
  #count = 0
  #used = 0
  #sorted = true

  get length(): number {
    return this.#count - this.#head
  }

  /** Copies `source[start..end)`; the result is where it begins in {@link bytes}. */
  copy(source: Uint8Array, start: number, end: number): number {
    const at = this.#used
    this.bytes = grown(this.bytes, at + end - start)
    this.bytes.set(source.subarray(start, end), at)
    this.#used = at + end - start
    return at
  }

  /** A row whose text has been copied. */
  addText(start: number, end: number, time: number): void {
    const at = this.#count++
    this.#ranges = grown(this.#ranges, 2 * at + 2)
    this.#times = grown(this.#times, at + 1)
    this.#ranges[2 * at] = start
    this.#ranges[2 * at + 1] = end
    this.#times[at] = time
    if (at > this.#head && (this.#times[at - 1] as number) > time) this.#sorted = false
  }

  addRow(row: Row): void {
    this.#rows.set(this.#count, row)
    this.addText(this.#used, this.#used, row.timestamp)
  }

  timeAt(index: number): number {
    return this.#times[this.#head + index] as number
  }

  /** The row when it came decoded. */
  rowAt(index: number): Row | undefined {
    return this.#rows.get(this.#head + index)
  }

  textAt(index: number): Uint8Array {
    const at = 2 * (this.#head + index)
    return this.bytes.subarray(this.#ranges[at], this.#ranges[at + 1])
  }

  /** Ranges of the texts of rows number `from` to `to`. */
  ranges(from: number, to: number): Uint32Array {
    return this.#ranges.subarray(2 * (this.#head + from), 2 * (this.#head + to))
  }

  /** End of the rows from number `from` on, up to `to`, that are texts. */
  endOfTexts(from: number, to: number): number {
    if (this.#rows.size === 0) return to
    let end = from
    while (end < to && !this.#rows.has(this.#head + end)) end++
    return end
  }

  /** How many rows have at most this time. */
  until(time: number): number {
    this.#sort()
    const times = this.#times
    let at = this.#head
    while (at < this.#count && (times[at] as number) <= time) at++
    return at - this.#head
  }

  /** Forgets the oldest rows. */
  drop(count: number): void {
    this.#sort()
    if (this.#rows.size > 0) for (let i = 0; i < count; i++) this.#rows.delete(this.#head + i)
    this.#head += count
    if (this.length === 0) {
      this.#head = this.#count = this.#used = 0
      if (this.bytes.length > KEEP_BYTES) this.bytes = new Uint8Array(0)
    } else if (this.#head > MIN_GAP && this.#head > this.length) this.#moveToFront()
  }

  /** Takes the room of rows that are gone; each row is moved over at least as many others. */
  #moveToFront(): void {
    const head = this.#head
    const start = this.#ranges[2 * head] as number
    this.bytes.copyWithin(0, start, this.#used)
    this.#used -= start
    for (let i = 2 * head; i < 2 * this.#count; i++) this.#ranges[i - 2 * head] = (this.#ranges[i] as number) - start
    this.#times.copyWithin(0, head, this.#count)
    if (this.#rows.size > 0) this.#rows = new Map([...this.#rows].map(([at, row]) => [at - head, row]))
    this.#count -= head
    this.#head = 0
  }

  #sort(): void {
    if (this.#sorted) return
    this.#sorted = true
    const order = Uint32Array.from({ length: this.length }, (_, i) => this.#head + i)
    this.#arrange(order.sort((a, b) => (this.#times[a] as number) - (this.#times[b] as number) || a - b))
  }

  /** Puts rows and their texts in this order of places. */
  #arrange(order: Uint32Array): void {
    const count = this.length
    const bytes = new Uint8Array(this.bytes.length)
    const ranges = new Uint32Array(this.#ranges.length)
    const times = new Float64Array(this.#times.length)
    const rows = new Map<number, Row>()
    let used = 0
    for (let i = 0; i < count; i++) {
      const at = order[i] as number
      const start = this.#ranges[2 * at] as number
      const end = this.#ranges[2 * at + 1] as number
      bytes.set(this.bytes.subarray(start, end), used)
      ranges[2 * i] = used
      used += end - start
      ranges[2 * i + 1] = used
      times[i] = this.#times[at] as number
      const row = this.#rows.get(at)
      if (row) rows.set(i, row)
    }
    this.bytes = bytes
    this.#ranges = ranges
    this.#times = times
    this.#rows = rows
    this.#head = 0
    this.#count = count
    this.#used = used
  }
}
