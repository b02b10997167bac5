import { createKernel, type Kernel, type KernelDictionary } from '../../kernel/kernel.ts'

const FIRST_SIZE = 256
const GROWTH = 2
/** Longest key, and room per id for the texts. */
const MAX_KEY_BYTES = 32 * 1024
const BYTES_PER_ID = 32

/**
 * Texts to dense ids, in a kernel of its own that also scans, so that a column's texts become ids without leaving it. Grows by
 * moving to a larger kernel; ids stay.
 */
export class TextIds {
  kernel: Kernel
  #capacity = FIRST_SIZE
  readonly #most: number

  constructor(most: number) {
    this.#most = most
    this.kernel = newKernel(this.#capacity)
  }

  get dictionary(): KernelDictionary {
    return this.kernel.dictionary as KernelDictionary
  }

  get size(): number {
    return this.dictionary.size
  }

  /** The id of a text; -1 when there is no room for a new one. */
  idOf(text: Uint8Array): number {
    if (text.length > MAX_KEY_BYTES) return -1
    for (;;) {
      const id = this.dictionary.id(text)
      if (id >= 0 || !this.#grow()) return id
    }
  }

  clear(): void {
    this.dictionary.clear()
  }

  #grow(): boolean {
    if (this.#capacity >= this.#most) return false
    const old = this.dictionary
    this.#capacity = Math.min(this.#most, this.#capacity * GROWTH)
    this.kernel = newKernel(this.#capacity)
    const { dictionary } = this
    for (let id = 0; id < old.size; id++) dictionary.id(old.text(id))
    return true
  }
}

function newKernel(ids: number): Kernel {
  return createKernel({ ids, textBytes: ids * BYTES_PER_ID + MAX_KEY_BYTES })
}
