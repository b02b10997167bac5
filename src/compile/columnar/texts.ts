import { grown } from './accumulate.ts'

/** JSON texts one after another in one buffer: thousands of rows without an object each. */
export class Texts {
  bytes = new Uint8Array(0)
  /** Start and end of each text; valid up to 2 * {@link length}. */
  ranges = new Uint32Array(0)
  length = 0
  #used = 0

  /** Adds `source[start..end)`. */
  add(source: Uint8Array, start: number, end: number): void {
    this.#open(end - start)
    this.#copy(source, start, end)
    this.#close()
  }

  /** Adds `before`, `source[start..end)` and a closing brace as one text. */
  addMember(before: Uint8Array, source: Uint8Array, start: number, end: number): void {
    this.#open(before.length + end - start + 1)
    this.#copy(before, 0, before.length)
    this.#copy(source, start, end)
    this.bytes[this.#used++] = 125
    this.#close()
  }

  text(index: number): Uint8Array {
    return this.bytes.subarray(this.ranges[2 * index], this.ranges[2 * index + 1])
  }

  clear(): void {
    this.length = 0
    this.#used = 0
  }

  #open(size: number): void {
    this.bytes = grown(this.bytes, this.#used + size)
    this.ranges = grown(this.ranges, 2 * this.length + 2)
    this.ranges[2 * this.length] = this.#used
  }

  #close(): void {
    this.ranges[2 * this.length++ + 1] = this.#used
  }

  /** Short texts are copied faster without a call. */
  #copy(source: Uint8Array, start: number, end: number): void {
    const { bytes } = this
    if (end - start > 96) {
      bytes.set(source.subarray(start, end), this.#used)
      this.#used += end - start
      return
    }
    let at = this.#used
    for (let i = start; i < end; i++) bytes[at++] = source[i] as number
    this.#used = at
  }
}
