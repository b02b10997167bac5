import type { ValueObject } from '../../core/values.ts'
import { OpenWindow } from '../../operators/window/open-window.ts'
import { type GroupAggregates, grown } from './accumulate.ts'
import { Texts } from './texts.ts'

/** One open window: its groups in first-seen order and what is accumulated for them. */
export class Pane extends OpenWindow {
  readonly aggregates: GroupAggregates
  /** By group: id of its key, -1 = it has none, and time of its first row. */
  keys = new Int32Array(0)
  times = new Float64Array(0)
  /** First row of each group as JSON text; empty where it is in {@link objects}. */
  readonly firsts = new Texts()
  /** First rows that came decoded. */
  readonly objects = new Map<number, ValueObject>()
  /** Group + 1 by id of a key, 0 = none; ids beyond its end have none. */
  table = new Int32Array(0)
  /** Groups whose key has no id, by its text. */
  readonly unnumbered = new Map<string, number>()
  #size = 0

  constructor(aggregates: GroupAggregates) {
    super()
    this.aggregates = aggregates
  }

  get size(): number {
    return this.#size
  }

  /** {@link keys} of the groups there are. */
  ids(): Int32Array {
    return this.keys.subarray(0, this.#size)
  }

  /** The group of a key, or -1. */
  find(id: number): number {
    return id >= 0 && id < this.table.length ? (this.table[id] as number) - 1 : -1
  }

  /** A new group, with the text of its key when that has no id; its first row is the caller's to add. */
  add(id: number, text: string | null, time: number): number {
    const group = this.#size++
    this.keys = grown(this.keys, group + 1)
    this.keys[group] = id
    if (id >= 0) this.#number(group, id)
    else this.unnumbered.set(text as string, group)
    this.times = grown(this.times, group + 1)
    this.times[group] = time
    this.aggregates.reserve(group + 1)
    return group
  }

  /** A new group whose first row came decoded. */
  addObject(id: number, text: string, time: number, message: ValueObject): number {
    const group = this.add(id, text, time)
    this.firsts.add(noBytes, 0, 0)
    this.objects.set(group, message)
    return group
  }

  /** Text of the key of each group. */
  keyTexts(textOf: (id: number) => string): string[] {
    const texts = Array.from(this.ids(), (id) => (id >= 0 ? textOf(id) : ''))
    for (const [text, group] of this.unnumbered) texts[group] = text
    return texts
  }

  /** Ids have changed: `moved` has the new one of each old one. Groups without an id may get one. */
  renumber(moved: Int32Array, idOf: (text: string) => number): void {
    this.table.fill(0)
    for (const [group, id] of this.ids().entries()) if (id >= 0) this.#number(group, moved[id] as number)
    for (const [text, group] of this.unnumbered) {
      const id = idOf(text)
      if (id < 0) continue
      this.#number(group, id)
      this.unnumbered.delete(text)
    }
  }

  #number(group: number, id: number): void {
    this.table = grown(this.table, id + 1)
    this.table[id] = group + 1
    this.keys[group] = id
  }

  reset(): void {
    for (const id of this.ids()) if (id >= 0) this.table[id] = 0
    this.aggregates.clear(this.size)
    this.#size = 0
    this.firsts.clear()
    this.objects.clear()
    this.unnumbered.clear()
    this.rows = 0
    this.overflow = 0
    this.error = null
  }
}

const noBytes = new Uint8Array(0)
