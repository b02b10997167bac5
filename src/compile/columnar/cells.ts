/** Cells of scanned and computed columns as values. */
import { type Column, type ColumnBatch, NULL, RAW, valueAt } from '../../core/columns.ts'
import { decodeJsonText } from '../../core/json-decode.ts'
import { decodeUtf8 } from '../../core/utf8.ts'
import type { Value } from '../../core/values.ts'
import type { ScannedBatch } from '../../kernel/kernel.ts'
import type { ColumnClass } from './select-plan.ts'

/** A column and how its integers read. */
export interface Argument {
  readonly column: Column
  /** Kind INT means int64. */
  readonly int64: boolean
}

/** Column number `index` of a loop: those of the scan first, then the computed ones. */
export function argumentAt(batch: ScannedBatch, types: readonly ColumnClass[], index: number): Argument {
  return index < types.length
    ? { column: batch.columns[index] as Column, int64: types[index] === 'int' }
    : { column: batch.computed[index - types.length] as Column, int64: true }
}

/** A cell's value as the general decoder gives it; missing is null. */
export function readCell(batch: ScannedBatch, { column, int64 }: Argument, row: number): Value {
  if ((column.kinds[row] as number) <= NULL) return null
  if (column.kinds[row] === RAW) {
    return decodeCell(batch.bytes, column.starts[row] as number, column.ends[row] as number)
  }
  const single: ColumnBatch = { ...batch, columns: [column] }
  return valueAt(single, 0, row, decodeCell, int64) ?? null
}

function decodeCell(bytes: Uint8Array, start: number, end: number): Value {
  return decodeJsonText(decodeUtf8(bytes.subarray(start, end)))
}
