import type { ByteChunk } from '../connectors/contract.ts'
import type { Row } from '../core/row.ts'
import type { ChunkTurn } from './columnar-lane.ts'

/**
 * What a stream hands to a rule: decoded rows, or undecoded payloads for a rule whose columnar chain decodes them itself.
 * A failure is a payload that gave no rows.
 */
export type Delivery =
  | { readonly kind: 'rows'; readonly rows: readonly Row[]; readonly bytes: number }
  | { readonly kind: 'chunk'; readonly chunk: ByteChunk; readonly bytes: number }
  | { readonly kind: 'failure'; readonly error: Error; readonly events: number; readonly bytes: number }

/** Events in a delivery; for undecoded payloads an exact count of documents is not needed before they are decoded. */
export function eventsOf(delivery: Delivery): number {
  switch (delivery.kind) {
    case 'rows':
      return delivery.rows.length
    case 'failure':
      return delivery.events
    case 'chunk': {
      const { chunk } = delivery
      if (chunk.framing !== 'lines') return chunk.packed ? chunk.packed.ranges.length / 2 : chunk.payloads.length
      let lines = 0
      for (const payload of chunk.payloads) lines += countLines(payload)
      return lines
    }
  }
}

/** Lines that hold something. */
export function countLines(payload: Uint8Array): number {
  let lines = 0
  let blank = true
  for (let i = 0; i < payload.length; i++) {
    const byte = payload[i] as number
    if (byte === 10) {
      if (!blank) lines++
      blank = true
    } else if (byte !== 13 && byte !== 32 && byte !== 9) blank = false
  }
  return blank ? lines : lines + 1
}

/** One input of a rule: a stream's consumer. */
export interface Consumer {
  /** Wants undecoded JSON payloads. */
  readonly columnar: boolean
  /** A columnar consumer that could process a chunk right now takes part in a scan; null = hand it the chunk. */
  turn?(): ChunkTurn | null
  /** Rows of which it is known that none passes. */
  skipped?(rows: number): void
  /** Set by a scan that tells of skipped rows only when asked: to be called before anything is read or closed. */
  catchUp?: (() => void) | null
  /** Nothing while there is room, a promise while there is not (block policy). */
  accept(delivery: Delivery): void | Promise<void>
  /** A bounded source has ended. */
  ended(): void
  /** The source can never work (bad configuration found late): the rule cannot go on. */
  broken(error: unknown): void
}
