/**
 * A batch as columns (DESIGN.md, "A batch is columns, not objects"): typed arrays with a kind per value over the bytes the
 * batch was scanned from. Text and nested values become JavaScript values only when somebody asks.
 *
 * The arrays usually look into memory that the next scan overwrites: use a batch before the next one is made.
 */
import { decodeUtf8 } from './utf8.ts'
import type { Value } from './values.ts'

/**
 * Kinds, in an order that makes the common tests one comparison: nothing <= 1, numbers 4 to 6.
 *
 * - `INT`: integer text within +-(2^53 - 1), no fraction or exponent, not "-0"; `numbers` has its value.
 * - `DECIMAL`: a double whose source text is already its shortest form; `FLOAT`: any other double. `numbers` has the value.
 * - `TEXT`: a JSON string with no escape and valid UTF-8 (range with its quotes); `ESCAPED`: any other string.
 * - `BIG`: an integer beyond the safe range, exact in its text.
 * - `RAW`: bytes that are already output text (computed columns only).
 */
export const MISSING = 0
export const NULL = 1
export const FALSE = 2
export const TRUE = 3
export const INT = 4
export const DECIMAL = 5
export const FLOAT = 6
export const TEXT = 7
export const ESCAPED = 8
export const BIG = 9
export const OBJECT = 10
export const ARRAY = 11
export const RAW = 12

/** The kinds that read as numbers, as a mask for {@link Column.kindMask}. */
export const NUMBER_KINDS = (1 << INT) | (1 << DECIMAL) | (1 << FLOAT)
export const NOTHING_KINDS = (1 << MISSING) | (1 << NULL)
export const BOOLEAN_KINDS = (1 << FALSE) | (1 << TRUE)

export interface Column {
  /** Where the column lies in the source object: `['a']`, `['a', 'b']`. */
  readonly path: readonly string[]
  /** One kind per row. */
  readonly kinds: Uint8Array
  /** Valid for INT, DECIMAL and FLOAT. */
  readonly numbers: Float64Array
  /** Offsets of the value's text in {@link ColumnBatch.bytes}; valid for every kind but MISSING. */
  readonly starts: Uint32Array
  readonly ends: Uint32Array
  /** Bit k is set when some row has kind k. */
  kindMask: number
}

export interface ColumnBatch {
  readonly rowCount: number
  readonly columns: readonly Column[]
  readonly bytes: Uint8Array
  /** Range of each row's object in {@link bytes}. */
  readonly rowStarts: Uint32Array
  readonly rowEnds: Uint32Array
  /** Which payload (line, message) each row came from, counted from the batch's first. */
  readonly rowPayloads: Uint32Array
}

/** Makes the value of a JSON text, exactly as the general decoder would. */
export type DecodeText = (bytes: Uint8Array, start: number, end: number) => Value

/** The value of one cell; undefined when missing. Numbers are float64 unless `int64` says the column is declared BIGINT. */
export function valueAt(
  batch: ColumnBatch,
  column: number,
  row: number,
  decode: DecodeText,
  int64 = false,
): Value | undefined {
  const c = batch.columns[column] as Column
  switch (c.kinds[row]) {
    case MISSING:
      return undefined
    case NULL:
      return null
    case FALSE:
      return false
    case TRUE:
      return true
    case INT:
      return int64 ? BigInt(c.numbers[row] as number) : (c.numbers[row] as number)
    case DECIMAL:
    case FLOAT:
      return c.numbers[row] as number
    case TEXT:
      return decodeUtf8(batch.bytes.subarray((c.starts[row] as number) + 1, (c.ends[row] as number) - 1))
    default:
      return decode(batch.bytes, c.starts[row] as number, c.ends[row] as number)
  }
}
