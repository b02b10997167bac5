/** What the columnar lane is given and what it gives (DESIGN.md, "How the hot path gets its speed"). */
import type { ColumnarCounts, ColumnarOutput } from '../../core/columnar-output.ts'
import type { DecodeOptions, Decoder } from '../../formats/contract.ts'
import type { ExpressionContext } from '../expression.ts'
import type { TextEquality } from './equality-index.ts'
import type { BatchTaker } from './intake.ts'
import type { WantedColumn } from './select-plan.ts'

/** JSON payloads as a source hands them over: the bytes chunk of the connector contract. */
export interface PayloadChunk {
  readonly payloads: readonly Uint8Array[]
  /** Each payload is text with one document per line; blank lines are nothing. */
  readonly framing?: 'lines'
  /** The payloads as ascending ranges of one buffer; then `payloads` is not touched. */
  readonly packed?: { readonly bytes: Uint8Array; readonly ranges: Uint32Array }
  /** Epoch ms. */
  readonly timestamp: number
}

/** A whole rule between source and sink. Synchronous; an output call may lead back into it. */
export interface ColumnarChain {
  process(delivery: { readonly chunk: PayloadChunk }, output: ColumnarOutput): ColumnarCounts
  /** The same work on a scan that other chains share. */
  readonly member: ScanMember
  /** Rows have so many columns that they had better come decoded from now on. */
  readonly wantsRows?: boolean
}

/** A chain's part in a scan of several (shared-scan.ts). */
export interface ScanMember extends BatchTaker {
  readonly columns: readonly WantedColumn[]
  readonly computed: number
  readonly programBytes: number
  /** What the rule's condition begins with. */
  readonly equality: TextEquality | null
  /** Set where messages have all columns of the rows; changes {@link columns}. */
  readonly wildcard: WildcardMember | null
  /** Rows none of which passes, instead of {@link take}. */
  skip(rows: number): void
  /** From the next `open` on, the chain's column i is column `positions[i]` of `scanned` ones. */
  place(positions: readonly number[], scanned: number): void
  /** False when the chain is at work already: an output call has led back to the stream. */
  open(chunk: PayloadChunk, output: ColumnarOutput): boolean
  close(): ColumnarCounts
}

/** The columns of a member that are not known beforehand. */
export interface WildcardMember {
  /** Names of columns that rows are known to have. */
  readonly names: ReadonlySet<string>
  /** Rows may have these, too. False when the member can no longer take part. Not while it is open. */
  know(names: ReadonlySet<string>): boolean
  /** Called when the member has met others: it must not be opened again before {@link know}. Null = nobody is to be called. */
  watch(changed: (() => void) | null): void
}

export interface ColumnarEnvironment {
  /** The general evaluator's context, for whatever the columnar code cannot decide. */
  readonly expressions: ExpressionContext
  /** The general decoder of the stream and the options it was made with. */
  readonly decoder: Decoder
  readonly decode: DecodeOptions
  /** Messages are single objects instead of lists of one. */
  readonly sendSingle: boolean
}
