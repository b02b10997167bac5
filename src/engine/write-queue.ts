/** Writes of one definition happen one after another; those of different definitions side by side. */
export class WriteQueue {
  readonly #last = new Map<string, Promise<unknown>>()

  run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const result = (this.#last.get(key) ?? Promise.resolve()).then(work, work)
    const settled = result
      .catch(() => {})
      .finally(() => {
        if (this.#last.get(key) === settled) this.#last.delete(key)
      })
    this.#last.set(key, settled)
    return result
  }

  /** Everything asked for so far is done. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#last.values())
  }
}
