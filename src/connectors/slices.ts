/** Sending many items in slices, and telling how far it went (Sink.sendMany). */

/** An error of `sendMany` that knows how many leading items the peer has: the runtime goes on behind them. */
export interface PartialSendError extends Error {
  taken?: number
}

/** Sends slices of at most `size` items in order; an error carries `taken`, the items of the slices before it. */
export async function sendInSlices<T>(
  items: readonly T[],
  size: number,
  send: (slice: readonly T[]) => Promise<void>,
): Promise<void> {
  for (let start = 0; start < items.length; start += size) {
    try {
      await send(items.length <= size ? items : items.slice(start, start + size))
    } catch (error) {
      if (error instanceof Error) {
        const partial = error as PartialSendError
        partial.taken = start + (partial.taken ?? 0)
      }
      throw error
    }
  }
}
