/** The columnar chain of a rule (src/compile/columnar) as the runtime sees it. */
import type { Delivery } from './delivery.ts'

export type ChunkDelivery = Delivery & { readonly kind: 'chunk' }

/** Decodes, filters, projects and encodes whole chunks. */
export interface ColumnarLane {
  process(delivery: ChunkDelivery, output: ColumnarOutput): ColumnarCounts
}

export interface ColumnarOutput {
  /** Messages one a line, valid only during the call. */
  lines(payload: Uint8Array, rows: number): void
  failed(error: Error, events: number, decoding: boolean): void
}

export interface ColumnarCounts {
  readonly received: number
  readonly emitted: number
  readonly filtered: number
}

/** A rule's part in a scan that it shares with others. */
export interface ChunkTurn {
  readonly output: ColumnarOutput
  done(counts: ColumnarCounts): void
}
