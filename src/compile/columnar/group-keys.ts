import { INT, TEXT } from '../../core/columns.ts'
import { decodeUtf8, encodeUtf8 } from '../../core/utf8.ts'
import type { Kernel, ScannedBatch } from '../../kernel/kernel.ts'
import { MAX_IDS } from '../../kernel/layout.ts'
import { groupKey, keyOf, keyPart } from '../../operators/group.ts'
import { type Argument, argumentAt, readCell } from './cells.ts'
import type { ColumnClass } from './select-plan.ts'
import { TextIds } from './text-ids.ts'

const loneSurrogate = /\p{Surrogate}/u

/**
 * Ids of GROUP BY keys. Keys are texts (operators/group.ts), so the id of a key is that of its text; the parts of a longer key
 * have ids too, and known pairs of ids lead to the whole without making text. There is not always room: a key without an id is
 * known by its text.
 */
export class GroupKeys {
  /** After {@link identify}: the id of the key of each selected row, negative where it has none. */
  ids = new Int32Array(0)
  readonly #columns: readonly number[]
  readonly #types: readonly ColumnClass[]
  readonly #most: number
  readonly #texts: TextIds
  /** By dimension: ids of numbers, and of pairs of ids (from the second dimension on). */
  readonly #numberIds: readonly Map<number, number>[]
  readonly #pairIds: readonly Map<number, number>[]
  readonly #pairTexts: string[] = []

  /** `columns`: the loop's column of each dimension. `most`: ids at the same time. */
  constructor(columns: readonly number[], types: readonly ColumnClass[], most: number) {
    this.#columns = columns
    this.#types = types
    this.#most = Math.min(MAX_IDS, most)
    this.#texts = new TextIds(this.#most)
    this.#numberIds = columns.map(() => new Map())
    this.#pairIds = columns.map(() => new Map())
  }

  /** Scans with this one give ids fastest. */
  get kernel(): Kernel {
    return this.#texts.kernel
  }

  get size(): number {
    return Math.max(this.#texts.size, this.#pairTexts.length)
  }

  /** A key met since the last {@link clear} got no id for want of room. */
  get full(): boolean {
    return this.#texts.full
  }

  textOf(id: number): string {
    return decodeUtf8(this.#texts.dictionary.text(id))
  }

  /** Negative when there is no room, or when the text's bytes would be those of another one. */
  idOf(text: string): number {
    if (loneSurrogate.test(text)) return -1
    return this.#texts.idOf(encodeUtf8(text))
  }

  clear(): void {
    this.#texts.clear()
    for (const map of [...this.#numberIds, ...this.#pairIds]) map.clear()
    this.#pairTexts.length = 0
  }

  /** Forgets all but these ids; by old id, the new one, or -1. */
  retain(ids: Iterable<number>): Int32Array {
    const moved = new Int32Array(this.#texts.size).fill(-1)
    const kept = new Map<number, Uint8Array>()
    for (const id of ids) if (!kept.has(id)) kept.set(id, this.#texts.dictionary.text(id).slice())
    this.clear()
    for (const [id, text] of kept) moved[id] = this.#texts.idOf(text)
    return moved
  }

  /** Finds the ids of the keys of the `count` selected rows. */
  identify(kernel: Kernel, batch: ScannedBatch, count: number): void {
    if (this.ids.length < count) this.ids = new Int32Array(batch.selected.length)
    const { ids } = this
    for (const [d, column] of this.#columns.entries()) {
      const argument = argumentAt(batch, this.#types, column)
      const fast = kernel === this.kernel ? this.#texts.dictionary.ids(column, count) : null
      const last = d === this.#columns.length - 1
      if (fast && d === 0) ids.set(fast)
      for (let i = 0; i < count; i++) {
        let id = fast ? (fast[i] as number) : -1
        if (id >= 0 && d === 0) continue
        if (id < 0) id = this.#idOfCell(d, argument, batch.selected[i] as number, batch)
        ids[i] = d === 0 ? id : this.#combine(d, ids[i] as number, id, last)
      }
    }
  }

  /** The text of a row's key. */
  textOfRow(batch: ScannedBatch, row: number): string {
    return groupKey(this.#columns.map((column) => readCell(batch, argumentAt(batch, this.#types, column), row)))
  }

  /** A value that is not plain text is printed first. */
  #idOfCell(dimension: number, argument: Argument, row: number, batch: ScannedBatch): number {
    const { column, int64 } = argument
    const kind = column.kinds[row] as number
    if (kind === TEXT) {
      const text = batch.bytes.subarray((column.starts[row] as number) + 1, (column.ends[row] as number) - 1)
      return this.#texts.idOf(text)
    }
    const number = column.numbers[row] as number
    // One number has one text, as long as it is always of one kind; -0 shares its place in a map with 0.
    const cacheable = kind >= INT && kind < TEXT && (!int64 || kind === INT) && !Object.is(number, -0)
    const known = this.#numberIds[dimension] as Map<number, number>
    const cached = cacheable ? known.get(number) : undefined
    if (cached !== undefined) return cached
    const id = this.idOf(keyOf(readCell(batch, argument, row)))
    if (cacheable && id >= 0 && known.size < this.#most) known.set(number, id)
    return id
  }

  /** The id of a longer key from those of its parts. */
  #combine(dimension: number, left: number, right: number, last: boolean): number {
    if (left < 0 || right < 0) return -1
    const known = this.#pairIds[dimension] as Map<number, number>
    // Two ids fit in one double.
    const pair = left * MAX_IDS + right
    let id = known.get(pair)
    if (id !== undefined) return id
    const head = dimension === 1 ? keyPart(this.textOf(left)) : (this.#pairTexts[left] as string)
    const text = head + keyPart(this.textOf(right))
    if (last) id = this.idOf(text)
    else if (this.#pairTexts.length < this.#most && known.size < this.#most) id = this.#pairTexts.push(text) - 1
    else return -1
    if (id >= 0 && known.size < this.#most) known.set(pair, id)
    return id
  }
}
