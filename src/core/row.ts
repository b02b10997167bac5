/**
 * Rows and batches of the general lane (spec/sql.md 0.2). The columnar lane's batch is core/columns.ts; a row of it is
 * materialised as one of these where an operator needs objects.
 */
import { getField, type Value, type ValueObject } from './values.ts'

/** One event of one source, or one row computed from it. */
export interface Row {
  /** Name of the stream or table (or its alias in the statement) the row came from. */
  readonly emitter: string
  /** The decoded columns. Shared between rules: never mutated after the row was created. */
  readonly message: ValueObject
  /** Source metadata (topic, qos, file name ...), or null. */
  readonly meta: ValueObject | null
  /** Ingest time, or event time in an event-time rule; epoch ms. */
  readonly timestamp: number
  /**
   * Values computed for this row by operators: analytic results and aggregate references by their internal `$$` names,
   * cached aliases by `$$alias.NAME`. Private to one rule. Null until something is computed.
   */
  computed: ComputedValues | null
  /** Component rows of a joined row, in component order; null on a plain row. */
  readonly parts: readonly Row[] | null
}

/** A Map, or something smaller that reads like one. */
export interface ComputedValues extends Iterable<[string, Value]> {
  get(name: string): Value | undefined
  set(name: string, value: Value): unknown
}

/** Values by names that many rows share. */
export class NamedValues implements ComputedValues {
  readonly #names: readonly string[]
  readonly #values: Value[]
  #more: Map<string, Value> | null = null

  constructor(names: readonly string[], values: Value[]) {
    this.#names = names
    this.#values = values
  }

  get(name: string): Value | undefined {
    const at = this.#names.indexOf(name)
    return at >= 0 ? this.#values[at] : this.#more?.get(name)
  }

  set(name: string, value: Value): void {
    const at = this.#names.indexOf(name)
    if (at >= 0) this.#values[at] = value
    else {
      this.#more ??= new Map()
      this.#more.set(name, value)
    }
  }

  *[Symbol.iterator](): Iterator<[string, Value]> {
    for (let i = 0; i < this.#names.length; i++) yield [this.#names[i] as string, this.#values[i] as Value]
    if (this.#more) yield* this.#more
  }
}

export function makeRow(
  emitter: string,
  message: ValueObject,
  timestamp: number,
  meta: ValueObject | null = null,
): Row {
  return { emitter, message, meta, timestamp, computed: null, parts: null }
}

const noFields: ValueObject = Object.freeze({})

export function makeJoinedRow(parts: readonly Row[], timestamp: number): Row {
  return { emitter: '', message: noFields, meta: null, timestamp, computed: null, parts }
}

/**
 * Rows made each time they are asked for. Of a large collection all rows at once are far more than the values they are made of,
 * and outlive the garbage collector's first look.
 */
export interface RowSource {
  readonly length: number
  at(i: number): Row
  emitterAt(i: number): string
}

/** Range of a window in epoch ms; `trigger` is the time that made it fire. `start`/`end` null = unset. */
export interface WindowRange {
  readonly start: number
  readonly end: number
  readonly trigger: number
}

/**
 * What moves between operators, always in order.
 * - `rows`: independent items; each is processed and delivered on its own.
 * - `collection`: one unit, the content of a window or of an un-windowed join; `window` null for the latter.
 * - `groups`: a grouped collection; each group is an ordered list of rows, groups in first-seen order. A group is empty only
 *   as the single group of an un-grouped aggregate over an empty window.
 *
 * `events` is how many events of the ledger travel with the batch: the rows of a `rows` batch, the one stream row behind an
 * un-windowed join, 0 behind a window (which has accounted for its rows itself).
 */
export type Batch =
  | { readonly kind: 'rows'; readonly rows: readonly Row[]; readonly events: number }
  | {
      readonly kind: 'collection'
      readonly rows: readonly Row[]
      readonly window: WindowRange | null
      readonly events: number
      /** Of a large collection, for who looks at each row once: then `rows` is not read, and not made. */
      readonly source?: RowSource
      /**
       * In front of a join with scan tables, `rows` taken apart: those of the item, and those of each table by emitter. A
       * table's array is the same object until the table changes, so that what is known about it can be kept.
       */
      readonly apart?: { readonly rows: readonly Row[]; readonly tables: ReadonlyMap<string, readonly Row[]> }
    }
  | {
      readonly kind: 'groups'
      readonly groups: readonly (readonly Row[])[]
      readonly window: WindowRange | null
      readonly events: number
      /** Of many groups of one row each, as above. */
      readonly source?: RowSource
    }

/** Rows of a source are made one by one from so many on; fewer are made at once, which is cheaper. */
export const MANY_ROWS = 4096

function made(source: RowSource): Row[] {
  const rows: Row[] = []
  for (let i = 0; i < source.length; i++) rows.push(source.at(i))
  return rows
}

/** What is spread into another batch is neither the source nor the rows. */
abstract class OnDemand {
  readonly window: WindowRange | null
  readonly events: number
  readonly #source: RowSource

  constructor(source: RowSource, window: WindowRange | null, events: number) {
    this.window = window
    this.events = events
    this.#source = source
  }

  get source(): RowSource {
    return this.#source
  }
}

class CollectionOnDemand extends OnDemand {
  readonly kind = 'collection'
  #rows: readonly Row[] | null = null

  get rows(): readonly Row[] {
    this.#rows ??= made(this.source)
    return this.#rows
  }
}

class GroupsOnDemand extends OnDemand {
  readonly kind = 'groups'
  #groups: readonly (readonly Row[])[] | null = null

  get groups(): readonly (readonly Row[])[] {
    this.#groups ??= made(this.source).map((row) => [row])
    return this.#groups
  }
}

/** A collection whose rows are made when something reads them. */
export function collectionOf(source: RowSource, window: WindowRange | null, events: number): Batch {
  if (source.length < MANY_ROWS) return { kind: 'collection', rows: made(source), window, events }
  return new CollectionOnDemand(source, window, events)
}

/** Groups of one row each, made when something reads them. */
export function groupsOf(source: RowSource, window: WindowRange | null): Batch {
  if (source.length >= MANY_ROWS) return new GroupsOnDemand(source, window, 0)
  return { kind: 'groups', groups: made(source).map((row) => [row]), window, events: 0 }
}

/** What the rows of a collection say, each row looked at once. */
export function messagesOf(batch: Extract<Batch, { kind: 'collection' }>): ValueObject[] {
  const { source } = batch
  if (!source) return batch.rows.map((row) => row.message)
  const messages: ValueObject[] = []
  for (let i = 0; i < source.length; i++) messages.push(source.at(i).message)
  return messages
}

export function rowsBatch(rows: readonly Row[]): Batch {
  return { kind: 'rows', rows, events: rows.length }
}

/**
 * Column `name` of `source` (spec/sql.md 4.7): qualified = first component of that emitter with a non-null value, else null
 * when one has the key.
 */
export function qualifiedColumn(row: Row, source: string, name: string): Value | undefined {
  if (row.parts === null) return getField(row.message, name)
  let found: null | undefined
  for (const part of row.parts) {
    if (part.emitter !== source) continue
    const value = getField(part.message, name)
    if (value != null) return value
    if (value === null) found = null
  }
  return found
}

/** Unbound column: the first component that has the key, even when its value is null. */
export function unboundColumn(row: Row, name: string): Value | undefined {
  if (row.parts === null) return getField(row.message, name)
  for (const part of row.parts) {
    const value = getField(part.message, name)
    if (value !== undefined) return value
  }
  return undefined
}
