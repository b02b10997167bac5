/**
 * The ledger of one rule, stream or sink (DESIGN.md, promise 1). At every moment, exactly:
 *
 *     received = emitted + filtered + dropped(by reason) + in flight
 *
 * In flight is not derived from the other four: {@link Ledger.read} is told what queues and operators really hold, and
 * {@link imbalance} compares.
 */

export type DropReason =
  /** A payload its format could not decode, or that failed validation. */
  | 'decode_error'
  /** An expression failed on the row. */
  | 'error'
  /** A full inbox under dropOldest or dropNewest. */
  | 'buffer_full'
  /** Behind the watermark. */
  | 'late'
  | 'future_skew'
  | 'window_limit'
  | 'group_limit'
  | 'partition_limit'
  /** Replaced by a newer message of the same interval (rate limit). */
  | 'rate_limited'
  /** The sink refused it for good. */
  | 'sink_error'
  /** Held when the rule stopped. */
  | 'stopped'
  /** Received by the connector but not deliverable (too large, unreadable). */
  | 'source_error'

export interface LedgerReading {
  readonly received: number
  readonly emitted: number
  readonly filtered: number
  readonly dropped: Readonly<Record<string, number>>
  readonly inFlight: number
  /** How many of `received` are copies, made where a graph rule sends an event to several nodes. Absent = none. */
  readonly copied?: number
}

export class Ledger {
  received = 0
  emitted = 0
  filtered = 0
  #copied = 0
  readonly #dropped = new Map<string, number>()

  drop(reason: DropReason, count: number): void {
    // A failure of no event (a source that does not connect) is no reason for a drop.
    if (count === 0) return
    this.#dropped.set(reason, (this.#dropped.get(reason) ?? 0) + count)
  }

  /** Events that now exist once more: each copy has to leave by itself. */
  copy(count: number): void {
    this.received += count
    this.#copied += count
  }

  dropped(reason: DropReason): number {
    return this.#dropped.get(reason) ?? 0
  }

  get droppedTotal(): number {
    let total = 0
    for (const count of this.#dropped.values()) total += count
    return total
  }

  /** Events that are accounted for nowhere yet; equals what is held when the ledger is exact. */
  get open(): number {
    return this.received - this.emitted - this.filtered - this.droppedTotal
  }

  /** `held` is what queues and operators hold now, counted where it lies. */
  read(held: number): LedgerReading {
    return {
      received: this.received,
      emitted: this.emitted,
      filtered: this.filtered,
      dropped: Object.fromEntries([...this.#dropped].sort(([a], [b]) => (a < b ? -1 : 1))),
      inFlight: held,
      ...(this.#copied > 0 && { copied: this.#copied }),
    }
  }
}

/** What a reading is off by; 0 for an exact ledger. */
export function imbalance(reading: LedgerReading): number {
  const dropped = Object.values(reading.dropped).reduce((sum, n) => sum + n, 0)
  return reading.received - reading.emitted - reading.filtered - dropped - reading.inFlight
}
