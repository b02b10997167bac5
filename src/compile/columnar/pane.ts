import type { ValueObject } from '../../core/values.ts'
import { OpenWindow } from '../../operators/window/open-window.ts'
import { type GroupAccumulator, grown, Slots } from './accumulate.ts'
import { Texts } from './texts.ts'

/** One open window: its groups in first-seen order and what is accumulated for them. */
export class Pane extends OpenWindow {
  readonly accumulators: readonly GroupAccumulator[]
  /** By group: id of its key, and time of its first row. */
  readonly keys: number[] = []
  readonly times: number[] = []
  /** First row of each group as JSON text; empty where it is in {@link objects}. */
  readonly firsts = new Texts()
  /** First rows that came decoded. */
  readonly objects = new Map<number, ValueObject>()
  /** Group + 1 by id of a key, 0 = none; ids beyond its end have none. */
  table = new Int32Array(0)
  readonly #slots = new Slots()

  constructor(accumulators: (slots: Slots) => readonly GroupAccumulator[]) {
    super()
    this.accumulators = accumulators(this.#slots)
  }

  get size(): number {
    return this.keys.length
  }

  /** The group of a key, or -1. */
  find(id: number): number {
    return id < this.table.length ? (this.table[id] as number) - 1 : -1
  }

  /** A new group; its first row is the caller's to add. */
  add(id: number, time: number): number {
    const group = this.keys.length
    this.table = grown(this.table, id + 1)
    this.table[id] = group + 1
    this.keys.push(id)
    this.times.push(time)
    this.#slots.reserve(group + 1)
    return group
  }

  /** A new group whose first row came decoded. */
  addObject(id: number, time: number, message: ValueObject): number {
    const group = this.add(id, time)
    this.firsts.add(noBytes, 0, 0)
    this.objects.set(group, message)
    return group
  }

  reset(): void {
    for (const id of this.keys) this.table[id] = 0
    this.#slots.clear(this.size)
    for (const a of this.accumulators) a.reset()
    this.keys.length = 0
    this.times.length = 0
    this.firsts.clear()
    this.objects.clear()
    this.rows = 0
    this.overflow = 0
    this.error = null
  }
}

const noBytes = new Uint8Array(0)
