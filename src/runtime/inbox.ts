/** The bounded queue in front of one input of a rule, with the stream's BUFFER_FULL_POLICY (DESIGN.md, back-pressure). */
import type { ByteChunk } from '../connectors/contract.ts'
import { type Delivery, eventsOf } from './delivery.ts'

export type FullPolicy = 'block' | 'dropOldest' | 'dropNewest'

export interface InboxOptions {
  readonly policy: FullPolicy
  /** Limits; one delivery may exceed them when the inbox is empty. */
  readonly maxEvents: number
  readonly maxBytes: number
  readonly dropped: (events: number) => void
}

interface Entry {
  readonly delivery: Delivery
  readonly events: number
  readonly done: (() => void) | null
  /** The delivery was given up. */
  readonly refuse: (() => void) | null
}

export class Inbox {
  readonly #o: InboxOptions
  #entries: Entry[] = []
  #events = 0
  #bytes = 0

  constructor(options: InboxOptions) {
    this.#o = options
  }

  get events(): number {
    return this.#events
  }

  get bytes(): number {
    return this.#bytes
  }

  get empty(): boolean {
    return this.#entries.length === 0
  }

  /**
   * Under `block` the promise settles when the delivery has been taken, and rejects when it never will be; the drop policies
   * always answer at once.
   */
  put(delivery: Delivery): void | Promise<void> {
    const events = eventsOf(delivery)
    if (this.#o.policy === 'block') {
      return new Promise((done, reject) => {
        this.#add({ delivery, events, done, refuse: () => reject(new Error('not taken')) })
      })
    }
    const full = (): boolean =>
      !this.empty && (this.#events + events > this.#o.maxEvents || this.#bytes + delivery.bytes > this.#o.maxBytes)
    if (this.#o.policy === 'dropNewest') {
      if (full()) this.#o.dropped(events)
      else this.#add({ delivery: owned(delivery), events, done: null, refuse: null })
      return
    }
    while (full()) this.#o.dropped((this.take() as Entry).events)
    this.#add({ delivery: owned(delivery), events, done: null, refuse: null })
  }

  #add(entry: Entry): void {
    this.#entries.push(entry)
    this.#events += entry.events
    this.#bytes += entry.delivery.bytes
  }

  /** The oldest entry; call `done` after it has been processed. */
  take(): Entry | undefined {
    const entry = this.#entries.shift()
    if (entry) {
      this.#events -= entry.events
      this.#bytes -= entry.delivery.bytes
    }
    return entry
  }

  /** Gives up everything left, counted as given. */
  clear(count: (events: number) => void): void {
    for (let entry = this.take(); entry; entry = this.take()) {
      count(entry.events)
      entry.refuse?.()
    }
  }
}

/** The source is told at once that its payloads are taken, and may use their memory again. */
function owned(delivery: Delivery): Delivery {
  if (delivery.kind !== 'chunk') return delivery
  const { meta, timestamp, packed, framing } = delivery.chunk
  const chunk: ByteChunk = {
    kind: 'bytes',
    payloads: packed ? [] : delivery.chunk.payloads.map((p) => new Uint8Array(p)),
    meta,
    timestamp,
    ...(packed && { packed: { bytes: new Uint8Array(packed.bytes), ranges: packed.ranges } }),
    ...(framing && { framing }),
  }
  return { ...delivery, chunk }
}
