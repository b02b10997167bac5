import { RowError } from '../../core/errors.ts'
import type { Value } from '../../core/values.ts'
import type { Emit } from '../contract.ts'

/** A group in a checkpoint: its key, first row, and the state of each aggregate. */
export type SavedGroup = [key: string, first: Value, states: Value[]]
export type SavedWindow = [end: number, rows: number, overflow: number, error: string | null, groups: SavedGroup[]]

/** What is counted of one open window that keeps accumulators, whichever lane fills it, and its form in a checkpoint. */
export class OpenWindow {
  /** Rows for which this is the last window: in flight until it fires. */
  rows = 0
  /** Of those, rows that found no room for their group. */
  overflow = 0
  /** The first row that could not be aggregated: the window fails as a whole, as a window of rows would. */
  error: RowError | null = null

  /** Its rows have left with its results. */
  settle(out: Emit): void {
    if (this.rows > this.overflow) out.consumed(this.rows - this.overflow)
    if (this.overflow) out.discard('group_limit', this.overflow)
  }

  /** It would leave nothing but its place: no row, group or error. */
  isBlank(groups: number): boolean {
    return groups === 0 && this.rows === 0 && this.error === null
  }

  save(end: number, groups: SavedGroup[]): SavedWindow {
    return [end, this.rows, this.overflow, this.error?.message ?? null, groups]
  }

  /** The groups are the caller's to load. */
  load([, rows, overflow, error]: SavedWindow): void {
    this.rows = Number(rows)
    this.overflow = Number(overflow)
    this.error = error === null ? null : new RowError(error)
  }
}
