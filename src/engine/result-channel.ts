/** Results for whoever listens right now (trial runs). Nobody waits for a slow listener: its oldest results are dropped. */

export interface ChannelLimits {
  readonly items: number
  /** UTF-16 code units of all waiting texts. */
  readonly length: number
}

const defaultLimits: ChannelLimits = { items: 1000, length: 4 * 1024 * 1024 }

interface Listener {
  readonly waiting: string[]
  length: number
  wake: (() => void) | null
}

export class ResultChannel {
  readonly #limits: ChannelLimits
  readonly #listeners = new Set<Listener>()
  #closed = false
  /** Results that a listener did not take in time. */
  dropped = 0

  constructor(limits = defaultLimits) {
    this.#limits = limits
  }

  publish(text: string): void {
    for (const listener of this.#listeners) {
      listener.waiting.push(text)
      listener.length += text.length
      while (
        listener.waiting.length > 1 &&
        (listener.waiting.length > this.#limits.items || listener.length > this.#limits.length)
      ) {
        listener.length -= listener.waiting.shift()?.length ?? 0
        this.dropped++
      }
      listener.wake?.()
    }
  }

  /** Results from this call on; ends when the channel closes. Leaving the loop is the way out. */
  listen(): AsyncIterableIterator<string> {
    const listener: Listener = { waiting: [], length: 0, wake: null }
    if (!this.#closed) this.#listeners.add(listener)
    const leave = (): void => {
      this.#listeners.delete(listener)
      listener.waiting.length = 0
      listener.wake?.()
    }
    const next = async (): Promise<IteratorResult<string>> => {
      while (listener.waiting.length === 0 && this.#listeners.has(listener)) {
        await new Promise<void>((resolve) => {
          listener.wake = resolve
        })
        listener.wake = null
      }
      const value = listener.waiting.shift()
      if (value === undefined) return { value: undefined, done: true }
      listener.length -= value.length
      return { value, done: false }
    }
    const iterator: AsyncIterableIterator<string> = {
      next,
      return: async () => {
        leave()
        return { value: undefined, done: true }
      },
      [Symbol.asyncIterator]: () => iterator,
    }
    return iterator
  }

  /** Listeners get what still waits for them, then end. */
  close(): void {
    this.#closed = true
    const listeners = [...this.#listeners]
    this.#listeners.clear()
    for (const listener of listeners) listener.wake?.()
  }
}
