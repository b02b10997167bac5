import { createKernel, type Kernel, type KernelDictionary } from '../../kernel/kernel.ts'

const FIRST_SIZE = 256
const GROWTH = 2
/** Longer texts get no id. */
const MAX_TEXT_BYTES = 32 * 1024
/** Room for texts at first, and, where there are more ids, per id at most. */
const BYTES_PER_ID = 32
/** However few ids there are, texts may take this much. */
const MIN_TEXT_ROOM = 4 * 1024 * 1024

/**
 * Texts to dense ids, in a kernel of its own that also scans, so that a column's texts become ids without leaving it. Grows by
 * moving to a larger kernel; ids stay.
 */
export class TextIds {
  kernel: Kernel
  /** A text got no id because there was no room, since the last {@link clear}. */
  full = false
  #ids = FIRST_SIZE
  #bytes = FIRST_SIZE * BYTES_PER_ID
  readonly #most: number

  constructor(most: number) {
    this.#most = most
    this.kernel = this.#newKernel()
  }

  get dictionary(): KernelDictionary {
    return this.kernel.dictionary as KernelDictionary
  }

  get size(): number {
    return this.dictionary.size
  }

  /** The id of a text; -1 when it is too long, or there is no room for a new one. */
  idOf(text: Uint8Array): number {
    if (text.length > MAX_TEXT_BYTES) return -1
    for (;;) {
      const id = this.dictionary.id(text)
      if (id >= 0) return id
      if (!this.#grow()) {
        this.full = true
        return -1
      }
    }
  }

  clear(): void {
    this.dictionary.clear()
    this.full = false
  }

  /** Makes room for more ids, or for more text when that is what ran out. */
  #grow(): boolean {
    const old = this.dictionary
    if (old.size >= this.#ids) {
      if (this.#ids >= this.#most) return false
      this.#ids = Math.min(this.#most, this.#ids * GROWTH)
      this.#bytes = Math.max(this.#bytes, this.#ids * BYTES_PER_ID)
    } else {
      const most = Math.max(MIN_TEXT_ROOM, this.#most * BYTES_PER_ID)
      if (this.#bytes >= most) return false
      this.#bytes = Math.min(most, this.#bytes * GROWTH)
    }
    this.kernel = this.#newKernel()
    const { dictionary } = this
    for (let id = 0; id < old.size; id++) dictionary.id(old.text(id))
    return true
  }

  #newKernel(): Kernel {
    return createKernel({ ids: this.#ids, textBytes: this.#bytes + MAX_TEXT_BYTES })
  }
}
