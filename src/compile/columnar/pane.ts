import type { ValueObject } from '../../core/values.ts'
import { OpenWindow } from '../../operators/window/open-window.ts'
import { type GroupAccumulator, grown } from './accumulate.ts'

/** The first row of a group: its JSON text, its columns, or null when only its key is ever read. */
export type FirstRow = Uint8Array | ValueObject | null

/** One open window: its groups in first-seen order and what is accumulated for them. */
export class Pane extends OpenWindow {
  readonly accumulators: readonly GroupAccumulator[]
  /** By group: id of its key, first row, its time. */
  readonly keys: number[] = []
  readonly firsts: FirstRow[] = []
  readonly times: number[] = []
  /** Group + 1 by id of a key, 0 = none; ids beyond its end have none. */
  table = new Int32Array(0)

  constructor(accumulators: readonly GroupAccumulator[]) {
    super()
    this.accumulators = accumulators
  }

  get size(): number {
    return this.keys.length
  }

  /** The group of a key, or -1. */
  find(id: number): number {
    return id < this.table.length ? (this.table[id] as number) - 1 : -1
  }

  add(id: number, first: FirstRow, time: number): number {
    const group = this.keys.length
    this.table = grown(this.table, id + 1)
    this.table[id] = group + 1
    this.keys.push(id)
    this.firsts.push(first)
    this.times.push(time)
    if (group % 64 === 0) for (const a of this.accumulators) a.reserve(group + 64)
    return group
  }

  reset(): void {
    for (const id of this.keys) this.table[id] = 0
    for (const a of this.accumulators) a.reset(this.size)
    this.keys.length = 0
    this.firsts.length = 0
    this.times.length = 0
    this.rows = 0
    this.overflow = 0
    this.error = null
  }
}
