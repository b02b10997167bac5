/** The columnar chain of a rule (src/compile/columnar) as the runtime sees it. */
import type { ColumnarCounts, ColumnarOutput } from '../core/columnar-output.ts'
import type { Delivery } from './delivery.ts'

export type ChunkDelivery = Delivery & { readonly kind: 'chunk' }

/** Decodes, filters, projects and encodes whole chunks. */
export interface ColumnarLane {
  process(delivery: ChunkDelivery, output: ColumnarOutput): ColumnarCounts
}

/** A rule's part in a scan that it shares with others. */
export interface ChunkTurn {
  readonly output: ColumnarOutput
  done(counts: ColumnarCounts): void
}
