import type { ComputedValues, Row, RowSource } from '../../core/row.ts'
import { setField, type Value, type ValueObject } from '../../core/values.ts'

/** Estimate of a row's bytes beside its values: timestamp and bookkeeping. */
const ROW_BYTES = 24

/**
 * The rows of a window as columns, in time order: a buffered row costs its values and little more, and the garbage collector
 * sees a few arrays instead of an object a row. Row objects are made when a window fires.
 */
export class RowBuffer {
  #timestamps: number[] = []
  /** Names of the columns in order of appearance, and their values; shorter than the rows when the last ones lack the column. */
  #names: string[] = []
  #columns: (Value | undefined)[][] = []
  /** The emitter of all rows, or else of each. */
  #emitter = ''
  #emitters: string[] | null = null
  #meta: (ValueObject | null)[] | null = null
  #computed: (ComputedValues | null)[] | null = null
  readonly #beside: Value[][]
  /** Rows before it are gone; compacted when they are half of the arrays. */
  #head = 0
  #totalBytes = 0
  /** Absolute number of the first row, so that positions survive compaction. */
  #first = 0
  #sorted = true
  /** Rows before this absolute position have been part of a fired window. */
  #seen = 0
  #renumbered = 0

  /** `beside`: how many lists of values the owner keeps beside the rows ({@link beside}). */
  constructor(beside = 0) {
    this.#beside = Array.from({ length: beside }, () => [])
  }

  get length(): number {
    return this.#timestamps.length - this.#head
  }

  /** Estimate, for the window's limit. */
  get bytes(): number {
    return this.#totalBytes
  }

  /** Where the first row stands in the lists of {@link beside}. */
  get head(): number {
    return this.#head
  }

  /** Changes when rows have moved in the lists. */
  get renumbered(): number {
    return this.#renumbered
  }

  /** The owner's own values of each row, which it pushes after the row; they move with it. */
  beside(list: number): Value[] {
    return this.#beside[list] as Value[]
  }

  push(row: Row): void {
    const at = this.#timestamps.length
    if (at > this.#head && row.timestamp < (this.#timestamps[at - 1] as number)) this.#sorted = false
    if (at === 0) this.#emitter = row.emitter
    else if (this.#emitters === null && row.emitter !== this.#emitter) {
      this.#emitters = new Array<string>(at).fill(this.#emitter)
    }
    this.#emitters?.push(row.emitter)
    this.#timestamps.push(row.timestamp)
    let bytes = ROW_BYTES
    const { message } = row
    let place = 0
    for (const key in message) {
      const column = this.#columnOf(key, place++)
      while (column.length < at) column.push(undefined)
      const value = message[key] as Value
      column.push(value)
      bytes += sizeOf(value)
    }
    if (row.meta !== null && this.#meta === null) this.#meta = new Array(at).fill(null)
    this.#meta?.push(row.meta)
    if (row.computed !== null && this.#computed === null) this.#computed = new Array(at).fill(null)
    this.#computed?.push(row.computed)
    this.#totalBytes += bytes
  }

  /** Most rows have the columns of the one before, in its order. */
  #columnOf(key: string, place: number): (Value | undefined)[] {
    let at = this.#names[place] === key ? place : this.#names.indexOf(key)
    if (at < 0) {
      at = this.#names.push(key) - 1
      this.#columns.push([])
    }
    return this.#columns[at] as (Value | undefined)[]
  }

  #bytesAt(at: number): number {
    let bytes = ROW_BYTES
    for (const column of this.#columns) {
      const value = column[at]
      if (value !== undefined) bytes += sizeOf(value)
    }
    return bytes
  }

  timestampAt(i: number): number {
    return this.#timestamps[this.#head + i] as number
  }

  /** First row with a timestamp of at least `time`; the length when there is none. */
  lowerBound(time: number): number {
    this.#sort()
    let low = 0
    let high = this.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.timestampAt(middle) < time) low = middle + 1
      else high = middle
    }
    return low
  }

  row(i: number): Row {
    return this.#rowAt(this.#head + i)
  }

  #rowAt(at: number): Row {
    const message: ValueObject = {}
    const names = this.#names
    for (let c = 0; c < names.length; c++) {
      const value = (this.#columns[c] as (Value | undefined)[])[at]
      if (value !== undefined) setField(message, names[c] as string, value)
    }
    return {
      emitter: this.#emitterAt(at),
      message,
      meta: this.#meta?.[at] ?? null,
      timestamp: this.#timestamps[at] as number,
      computed: this.#computed?.[at] ?? null,
      parts: null,
    }
  }

  #emitterAt(at: number): string {
    return this.#emitters ? (this.#emitters[at] as string) : this.#emitter
  }

  /** Rows [from, to), good until the buffer changes; they count as seen by a window. */
  source(from: number, to: number): RowSource {
    this.see(to)
    const start = this.#head + from
    return {
      length: to - from,
      at: (i) => this.#rowAt(start + i),
      emitterAt: (i) => this.#emitterAt(start + i),
    }
  }

  /** Marks rows before `to` as part of a fired window. */
  see(to: number): void {
    this.#seen = Math.max(this.#seen, this.#first + to)
  }

  /** Drops the first `count` rows; says how many of them had been part of a fired window. */
  evict(count: number): { seen: number; unseen: number } {
    if (count <= 0) return { seen: 0, unseen: 0 }
    const seen = Math.min(count, Math.max(0, this.#seen - this.#first))
    if (count < this.length) for (let i = 0; i < count; i++) this.#totalBytes -= this.#bytesAt(this.#head + i)
    this.#head += count
    this.#first += count
    if (this.length === 0) this.#reset()
    else if (this.#head > 1024 && this.#head * 2 > this.#timestamps.length) this.#compact()
    return { seen, unseen: count - seen }
  }

  #reset(): void {
    this.#timestamps = []
    this.#names = []
    this.#columns = []
    this.#emitters = null
    this.#meta = null
    this.#computed = null
    for (let i = 0; i < this.#beside.length; i++) this.#beside[i] = []
    this.#head = 0
    this.#totalBytes = 0
    this.#sorted = true
    this.#renumbered++
  }

  #compact(): void {
    this.#move((list) => list.slice(this.#head))
  }

  /** Rows that came out of order (several sources of one rule) are put in time order, ties as they came. */
  #sort(): void {
    if (this.#sorted) return
    const order = Array.from({ length: this.length }, (_, i) => this.#head + i)
    order.sort((a, b) => (this.#timestamps[a] as number) - (this.#timestamps[b] as number) || a - b)
    this.#move((list) => order.map((i) => list[i] as never))
    this.#sorted = true
  }

  #move(pick: <T>(list: readonly T[]) => T[]): void {
    this.#timestamps = pick(this.#timestamps)
    if (this.#emitters) this.#emitters = pick(this.#emitters)
    if (this.#meta) this.#meta = pick(this.#meta)
    if (this.#computed) this.#computed = pick(this.#computed)
    for (let i = 0; i < this.#beside.length; i++) this.#beside[i] = pick(this.#beside[i] as Value[])
    const columns = this.#columns.map(pick)
    const used = columns.map((column) => column.some((v) => v !== undefined))
    this.#names = this.#names.filter((_, i) => used[i])
    this.#columns = columns.filter((_, i) => used[i])
    this.#head = 0
    this.#renumbered++
  }

  save(): Value {
    const rows: Value[] = []
    for (let i = 0; i < this.length; i++) rows.push(saveRow(this.row(i)))
    return { rows, seen: Math.max(0, this.#seen - this.#first) }
  }

  load(saved: Value): void {
    this.#reset()
    this.#first = 0
    const state = saved as { rows: Value[]; seen: number }
    for (const row of state.rows) this.push(loadRow(row))
    this.#seen = Number(state.seen)
  }
}

/** A row as a value, for checkpoints. */
export function saveRow(row: Row): Value {
  return {
    emitter: row.emitter,
    message: row.message,
    meta: row.meta,
    timestamp: row.timestamp,
    computed: row.computed ? [...row.computed].map(([k, v]) => [k, v]) : null,
    parts: row.parts ? row.parts.map(saveRow) : null,
  }
}

export function loadRow(saved: Value): Row {
  const s = saved as {
    emitter: string
    message: ValueObject
    meta: ValueObject | null
    timestamp: number
    computed: [string, Value][] | null
    parts: Value[] | null
  }
  return {
    emitter: s.emitter,
    message: s.message,
    meta: s.meta,
    timestamp: Number(s.timestamp),
    computed: s.computed ? new Map(s.computed) : null,
    parts: s.parts ? s.parts.map(loadRow) : null,
  }
}

function sizeOf(value: Value): number {
  switch (typeof value) {
    case 'string':
      return 24 + value.length
    case 'bigint':
      return 24
    case 'object':
      if (value === null) return 8
      if (Array.isArray(value)) return value.reduce((sum: number, v) => sum + sizeOf(v), 32)
      if (value instanceof Uint8Array) return 64 + value.length
      return Object.keys(value).reduce((sum, k) => sum + 16 + k.length + sizeOf((value as ValueObject)[k] as Value), 48)
    default:
      return 8
  }
}
