/** The columnar chain of a rule (src/compile/columnar) as the runtime sees it. */
import type { ChunkOutput, ColumnarCounts, ColumnarOutput, ResultOutput } from '../core/columnar-output.ts'
import type { Delivery } from './delivery.ts'

export type ChunkDelivery = Delivery & { readonly kind: 'chunk' }

/** Decodes, filters, projects and encodes whole chunks. */
export interface ColumnarLane {
  process(delivery: ChunkDelivery, output: ChunkOutput): ColumnarCounts
  /** Rows had better come decoded from now on; chunks are still taken. Default false. */
  readonly wantsRows?: boolean
  /** Lanes with results that do not leave inside {@link process} (of windows): where they go. Called once, before the start. */
  connect?(results: ResultOutput): void
}

/** A rule's part in a scan that it shares with others. */
export interface ChunkTurn {
  readonly output: ColumnarOutput
  done(counts: ColumnarCounts): void
}
