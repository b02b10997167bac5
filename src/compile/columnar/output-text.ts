import type { ColumnarOutput } from '../../core/columnar-output.ts'
import { encodeUtf8 } from '../../core/utf8.ts'

const SIZE = 64 * 1024

/**
 * Brings encoded rows to the output: straight through while they come in large parts, collected while single rows of both
 * lanes alternate.
 */
export class OutputText {
  #buffer = new Uint8Array(0)
  #length = 0
  #rows = 0
  #collecting = false

  /** Until the next flush rows are gathered. */
  collect(): void {
    this.#collecting = true
  }

  bytes(bytes: Uint8Array, rows: number, output: ColumnarOutput): void {
    if (!this.#collecting && this.#rows === 0) output.lines(bytes, rows)
    else this.#add(bytes, rows, output)
  }

  text(text: string, output: ColumnarOutput): void {
    this.#add(encodeUtf8(text), 1, output)
  }

  flush(output: ColumnarOutput): void {
    this.#collecting = false
    this.#send(output)
  }

  #add(bytes: Uint8Array, rows: number, output: ColumnarOutput): void {
    if (this.#length + bytes.length > SIZE) this.#send(output)
    if (bytes.length > SIZE) {
      output.lines(bytes, rows)
      return
    }
    if (this.#length + bytes.length > this.#buffer.length) this.#grow(this.#length + bytes.length)
    this.#buffer.set(bytes, this.#length)
    this.#length += bytes.length
    this.#rows += rows
  }

  #grow(needed: number): void {
    const larger = new Uint8Array(Math.min(SIZE, Math.max(4096, 2 * needed)))
    larger.set(this.#buffer.subarray(0, this.#length))
    this.#buffer = larger
  }

  #send(output: ColumnarOutput): void {
    if (this.#rows === 0) return
    const part = this.#buffer.subarray(0, this.#length)
    const rows = this.#rows
    this.#length = 0
    this.#rows = 0
    output.lines(part, rows)
  }
}
