/** What the kernel is asked and what it gives; kernel.ts does it. */
import type { Column, ColumnBatch } from '../core/columns.ts'
import type { KernelShape } from './shape.ts'

export type FailureCode = 'syntax' | 'notAnObject' | 'tooDeep' | 'undecided'

/**
 * A payload or line that is not an object or array of objects in valid JSON; `undecided` means that only the general
 * decoder can tell (numbers near the end of the double range, a byte order mark).
 */
export interface ScanFailure {
  /** Number of the payload, counted from the first of this scan. */
  readonly payload: number
  /** Its range in {@link ScannedBatch.bytes}. */
  readonly start: number
  readonly end: number
  /** Offset inside the payload where the text stops making sense. */
  readonly position: number
  readonly code: FailureCode
}

export interface ScannedBatch extends ColumnBatch {
  readonly failures: readonly ScanFailure[]
  /** Payloads or lines finished, failed ones included. */
  readonly payloadsDone: number
  /** Bytes of the given text used up (lines only). */
  readonly consumed: number
  /** True when the one payload of this batch has more rows: get them with {@link Kernel.scanRest}. */
  readonly partial: boolean
  /** Blocks for computed columns, as many as asked for; kinds hold garbage until written. */
  readonly computed: readonly Column[]
  /** Rows chosen for output; filled by the caller. */
  readonly selected: Uint32Array
  /** Room for as many row numbers again, for the caller's use. */
  readonly undecided: Uint32Array
  /**
   * Where asked for, by row: {@link OTHER_VALUE} and {@link OTHER_NULL} tell of members of the row's object that have no column and no path
   * into them.
   */
  readonly others: Uint8Array
}

export const OTHER_VALUE = 1
export const OTHER_NULL = 2

export interface ScanSettings {
  readonly shape: KernelShape
  /** Number of computed columns to make room for. */
  readonly computed: number
  /** Bytes of output program and its texts. */
  readonly programBytes: number
  readonly maxDepth: number
  /** Members outside the shape are noted ({@link ScannedBatch.others}). Default false. */
  readonly others?: boolean
}

export interface Kernel {
  /**
   * Scans whole lines of `text` from `start` on; a newline ends a payload. `last` = the final line may lack its newline.
   * Null when `text` has no whole line left.
   */
  scanLines(settings: ScanSettings, text: Uint8Array, start: number, last: boolean): ScannedBatch | null
  /** Scans payloads from number `from` on, as many as fit. */
  scanPayloads(settings: ScanSettings, payloads: readonly Uint8Array[], from: number): ScannedBatch
  /** The same for ascending ranges of one buffer: payload i is `bytes[ranges[2i] .. ranges[2i + 1])`. */
  scanRanges(settings: ScanSettings, bytes: Uint8Array, ranges: Uint32Array, from: number): ScannedBatch
  /**
   * After a partial batch, before {@link scanRest}: the whole payload's range and number of rows when the rest of it is
   * valid; else null, and the payload must be treated as failed.
   */
  checkRest(): { readonly start: number; readonly end: number; readonly rows: number } | null
  /** Range of a partial batch's payload, valid or not: for lines to the end of the line. */
  partialRange(): { readonly start: number; readonly end: number }
  /** The next rows of a partial batch's payload. */
  scanRest(settings: ScanSettings): ScannedBatch
  /** The program's region: fill it before {@link encode}. */
  programRegion(): { address: number; bytes: Uint8Array }
  /** Whoever filled the region last, if it still holds that; null when it must be filled. Set by the one who fills it. */
  programOwner: unknown
  /**
   * Addresses of a column for the output program. Computed columns are numbered after the shape's; their numbers have no
   * source text.
   */
  columnAddress(index: number): ColumnAddress
  /**
   * Encodes the selected rows from number `from` on, as many as fit the output region; calls `write` with the text. Returns
   * how many; 0 = the first of them is longer than the region (give it to the general encoder). `bytes` is overwritten by
   * the next call.
   */
  encode(job: EncodeJob, from: number, to: number, write: WriteRows): number
  /** Present on a kernel that was made with one. */
  readonly dictionary: KernelDictionary | null
  /** Of the last scan: its memory is laid out for them. */
  readonly settings: ScanSettings | null
  readonly memoryBytes: number
  readonly heapBase: number
}

/** Texts and their dense ids, kept between scans. */
export interface KernelDictionary {
  readonly size: number
  /**
   * Ids of the first `count` selected rows' texts in a scanned column (what is between the quotes): -1 when there is no room
   * for a new one, -2 where the value is not TEXT. Valid until the next call.
   */
  ids(column: number, count: number): Int32Array
  /** The id of a text, or -1 when it is new and there is no room. */
  id(text: Uint8Array): number
  /** A view on the text of an id, valid until the next scan. */
  text(id: number): Uint8Array
  clear(): void
}

export interface DictionarySize {
  /** At most MAX_IDS (layout.ts). */
  readonly ids: number
  readonly textBytes: number
}

export interface ColumnAddress {
  readonly kinds: number
  readonly numbers: number
  readonly starts: number
  readonly ends: number
  /** Numbers of the column can be copied from their source text. */
  readonly text: boolean
}

export interface EncodeJob {
  /** Address of the program and of the texts around each row (16 readable bytes each). */
  readonly program: number
  readonly open: number
  readonly openLength: number
  readonly close: number
  readonly closeLength: number
}

export type WriteRows = (bytes: Uint8Array, rows: number) => void
