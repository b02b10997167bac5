/** What buffered windows share: leaving rows, limits, firing. */
import { IxionError } from '../../core/errors.ts'
import { collectionOf, type Row, type RowSource, type WindowRange } from '../../core/row.ts'
import type { Emit, State } from '../contract.ts'
import type { WindowLimits } from './contract.ts'
import { RowBuffer } from './row-buffer.ts'

/** The first `count` rows leave: consumed when a window has shown them, filtered when none did. */
export function release(buffer: RowBuffer, count: number, out: Emit): void {
  const { seen, unseen } = buffer.evict(count)
  if (seen) out.consumed(seen)
  if (unseen) out.discard('filtered', unseen)
}

/** Keeps a buffer within its limits after a row was added. */
export function enforce(buffer: RowBuffer, limits: WindowLimits, out: Emit): void {
  while (buffer.length > limits.rows || (buffer.bytes > limits.bytes && buffer.length > 1)) {
    if (limits.policy === 'fail') {
      throw new IxionError(
        'LIMIT',
        `the window holds ${buffer.length} rows (about ${buffer.bytes} bytes), more than its limit`,
        {
          hint: 'raise windowLimit or windowBytes of the rule, shorten the window, or set limitPolicy to dropOldest',
        },
      )
    }
    // Shown by a window or not, the windows to come miss it.
    buffer.evict(1)
    out.discard('window_limit', 1)
  }
}

export function fireRows(source: RowSource, window: WindowRange, out: Emit): void {
  out.batch(collectionOf(source, window, 0))
}

export function rowsOf(batch: { readonly kind: string; readonly rows?: readonly Row[] }): readonly Row[] {
  if (batch.kind !== 'rows') throw new Error('a window takes single rows')
  return batch.rows as readonly Row[]
}

/** What a window keeps of its rows, in time order: the rows themselves, or the values its aggregates need. */
export interface WindowContent {
  readonly length: number
  add(row: Row, out: Emit): void
  timestampAt(i: number): number
  /** First position with a timestamp of at least `time`. */
  lowerBound(time: number): number
  /** Emits the window over positions [from, to). */
  fire(from: number, to: number, window: WindowRange, out: Emit): void
  /** Drops the first positions. */
  release(count: number, out: Emit): void
  save(): State
  load(state: State): void
}

/** Keeps rows and emits them as a collection. */
export function rowContent(limits: WindowLimits): WindowContent {
  const buffer = new RowBuffer()
  return {
    get length() {
      return buffer.length
    },
    add(row, out) {
      buffer.push(row)
      enforce(buffer, limits, out)
    },
    timestampAt: (i) => buffer.timestampAt(i),
    lowerBound: (time) => buffer.lowerBound(time),
    fire: (from, to, window, out) => fireRows(buffer.source(from, to), window, out),
    release: (count, out) => release(buffer, count, out),
    save: () => buffer.save(),
    load: (state) => buffer.load(state),
  }
}
