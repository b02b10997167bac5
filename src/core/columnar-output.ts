/** What leaves a columnar lane (docs/decisions/0002-two-lanes.md): the code that makes it and the code that runs it meet here. */
import type { DropReason } from './ledger.ts'

export interface ColumnarOutput {
  /** Messages in order, each ended by a line feed; `payload` is valid only during the call. */
  lines(payload: Uint8Array, rows: number): void
  /** A payload that gives no row (`decoding`), or a row that failed. */
  failed(error: Error, events: number, decoding: boolean): void
}

/** What a lane with a watermark gives out as well. */
export interface ChunkOutput extends ColumnarOutput {
  /** Events that the watermark keeps out of the rule. */
  discarded(reason: LateReason, events: number): void
}

export type LateReason = Extract<DropReason, 'late' | 'future_skew' | 'window_limit'>

/**
 * `received` = `emitted` + `filtered` + the events of `failed` and `discarded` calls + what the lane keeps. A payload that fails to
 * decode is one event.
 */
export interface ColumnarCounts {
  readonly received: number
  readonly emitted: number
  readonly filtered: number
  /** Where event time is now, epoch ms: windows up to there are due. Absent = nothing has changed. */
  readonly watermark?: number
  /** What the rule stops for. */
  readonly broken?: Error
}

/** Takes the encoded results of windows, which leave when a window ends. */
export interface ResultOutput {
  /** Messages of one row in order, each ended by a line feed; `payload` is valid only during the call. */
  lines(payload: Uint8Array, rows: number): void
  /** One message that holds `rows` rows; the payload becomes the receiver's. */
  message(payload: Uint8Array, rows: number): void
}
