/**
 * Aggregates over typed arrays. The numbers of a group lie side by side in as few bytes as they need, because in a large window
 * each row visits another group; calls over one column share its count and its loop. Plain numbers are added up in place; a value
 * that needs more (another kind, an integer sum beyond the safe range, any other aggregate) moves its group to the functions' own
 * accumulators, so that results and errors are the functions'.
 */
import { type Column, FLOAT, INT, NULL } from '../../core/columns.ts'
import type { Value } from '../../core/values.ts'
import type { AggregateCall } from '../../operators/window/aggregation.ts'
import type { Argument } from './cells.ts'

/** What one call has made of the groups of a window. */
export interface GroupAccumulator {
  /** Throws RowError, as the function does. */
  result(group: number): Value
  /**
   * Kind of the results of groups below `size`: all float64 or null, all int64 in the safe range or null, or null = they have no
   * columnar form.
   */
  resultClass(size: number): ResultClass | null
  /** Writes the results of groups `from` to `to` to a column's rows from 0 on; false when one has no columnar form after all. */
  fill(column: Column, from: number, to: number): boolean
  save(group: number): Value
  load(group: number, state: Value): void
}

export type ResultClass = 'float' | 'int'

/** Rows `selected[from..to)` of a batch; the group of `selected[i]` is `groups[i]`, negative = none. */
export interface GroupedRows {
  readonly selected: Uint32Array
  readonly groups: Int32Array
  readonly from: number
  readonly to: number
  /** A column of the batch, as the calls' arguments name it. */
  argument(column: number): Argument
  read(argument: Argument, row: number): Value
}

/** All calls of a window. */
export class GroupAggregates {
  /** By call. */
  readonly calls: readonly GroupAccumulator[]
  readonly #cells: Cells
  readonly #parts: readonly Part[]
  #seen = 0

  /** `columns`: the arguments of each call, none = count(*). `mostCounted`: counts beyond it take another way; for tests. */
  constructor(
    calls: readonly AggregateCall[],
    columns: readonly (readonly number[])[],
    mostCounted: number = MAX_COUNT,
  ) {
    const places = new Places(calls, columns)
    const cells = new Cells(places.width, mostCounted)
    const numbers = new Map<number | null, NumbersPart>()
    for (const [column, place] of places.byColumn) numbers.set(column, new NumbersPart(cells, column, place))
    const general: GeneralPart[] = []
    this.calls = calls.map((call, c) => {
      const [column = null] = columns[c] as readonly number[]
      const part = isPlain(call) ? numbers.get(column) : undefined
      if (part) return call.functionName === 'count' ? part.counting(call, c, places.rows) : part.numeric(call, c)
      const own = new GeneralPart(call, c, columns[c] as readonly number[])
      general.push(own)
      return own
    })
    this.#cells = cells
    this.#parts = [...numbers.values(), ...general]
  }

  add(rows: GroupedRows): void {
    this.#seen ^= this.#cells.visit(rows)
    for (const part of this.#parts) part.add(rows)
  }

  /** A row's values: the arguments of each call. */
  addValues(group: number, values: readonly (readonly Value[])[]): void {
    for (const part of this.#parts) part.addValues(group, values)
  }

  /** Room for groups below `size`, which have seen nothing. */
  reserve(size: number): void {
    this.#cells.reserve(size)
  }

  /** Forgets the groups below `size`, all there are. */
  clear(size: number): void {
    this.#cells.clear(size)
    for (const part of this.#parts) part.clear()
  }
}

interface Part {
  add(rows: GroupedRows): void
  addValues(group: number, values: readonly (readonly Value[])[]): void
  clear(): void
}

function isPlain({ functionName }: AggregateCall): boolean {
  return functionName === 'count' || functionName in operations
}

/** What the plain aggregates keep of numbers. */
const operations: Readonly<Record<string, 'sum' | 'min' | 'max'>> = { sum: 'sum', avg: 'sum', min: 'min', max: 'max' }

/** Where in a group's cells the numbers of one column are; negative = they are not kept. */
interface Place {
  /** 32-bit: rows of the group, rows with a value, and what {@link NumbersPart} tells by it. */
  rows: number
  known: number
  count: number
  /** 64-bit. */
  sum: number
  min: number
  max: number
}

/** The cells of a group: first the 64-bit numbers, then the 32-bit ones. */
class Places {
  readonly byColumn = new Map<number | null, Place>()
  /** Rows of a group: every count knows them, so they are counted once, along with the first column. */
  readonly rows: number
  /** 64-bit cells a group. */
  readonly width: number

  constructor(calls: readonly AggregateCall[], columns: readonly (readonly number[])[]) {
    let counters = 0
    let wide = 0
    const counts = calls.some((call) => call.functionName === 'count')
    const rows = counts ? counters++ : -1
    const ofColumn = (column: number | null): Place => {
      const known = this.byColumn.get(column)
      if (known) return known
      const place = { rows: -1, known: -1, count: -1, sum: -1, min: -1, max: -1 }
      this.byColumn.set(column, place)
      return place
    }
    for (const [c, call] of calls.entries()) {
      const [column = null] = columns[c] as readonly number[]
      if (!isPlain(call)) continue
      const place = ofColumn(column)
      const operation = operations[call.functionName]
      if (operation === undefined) {
        if (column !== null && place.known < 0) place.known = counters++
        continue
      }
      if (place.count < 0) place.count = counters++
      if (place[operation] < 0) place[operation] = wide++
    }
    for (const place of this.byColumn.values()) {
      if (place.known >= 0) place.known += 2 * wide
      if (place.count >= 0) place.count += 2 * wide
    }
    this.rows = counts ? rows + 2 * wide : -1
    const [first] = [...this.byColumn].sort(([a], [b]) => Number(a === null) - Number(b === null))
    if (first) first[1].rows = this.rows
    this.width = wide + Math.ceil(counters / 2)
  }
}

/** The largest count that fits a cell. */
const MAX_COUNT = 2 ** 31 - 1

/** Below this, a group's numbers are hardly ever far away, in bytes. */
const NEAR = 512 * 1024

/** The numbers of all groups. */
class Cells {
  numbers = new Float64Array(0)
  /** The same memory: cell `i` of the numbers is cells 2i and 2i + 1 here. */
  counts = new Int32Array(0)
  readonly width: number
  readonly most: number
  /** What is to be added to a counter that was full. */
  readonly #carried = new Map<number, number>()

  constructor(width: number, most: number) {
    this.width = width
    this.most = most
  }

  /**
   * Where there are many groups, reads the first and the last number of each row's group, and nothing else, so that the processor
   * waits for the memory of many groups at a time. What it returns is of no use, but has to be computed.
   */
  visit({ groups, from, to }: GroupedRows): number {
    const { counts, width } = this
    if (counts.byteLength < NEAR) return 0
    let seen = 0
    for (let i = from; i < to; i++) {
      const group = groups[i] as number
      if (group < 0) continue
      const at = 2 * group * width
      seen ^= (counts[at] as number) ^ (counts[at + 2 * width - 1] as number)
    }
    return seen
  }

  reserve(size: number): void {
    if (this.numbers.length >= size * this.width) return
    this.numbers = grown(this.numbers, size * this.width)
    this.counts = new Int32Array(this.numbers.buffer)
  }

  clear(size: number): void {
    this.numbers.fill(0, 0, size * this.width)
    this.#carried.clear()
  }

  counted(at: number): number {
    return (this.counts[at] as number) + (this.#carried.get(at) ?? 0)
  }

  setCounted(at: number, count: number): void {
    const kept = count % (this.most + 1)
    this.counts[at] = kept
    if (count !== kept) this.#carried.set(at, count - kept)
  }

  increment(at: number): void {
    const count = this.counts[at] as number
    if (count === this.most) this.setCounted(at, this.counted(at) + 1)
    else this.counts[at] = count + 1
  }
}

/** A call that is not plain, by its own accumulator. */
class GeneralPart implements Part, GroupAccumulator {
  readonly #call: AggregateCall
  readonly #index: number
  readonly #columns: readonly number[]
  readonly #states: unknown[] = []
  readonly #values: ReturnType<typeof resultsAsValues>

  constructor(call: AggregateCall, index: number, columns: readonly number[]) {
    this.#call = call
    this.#index = index
    this.#columns = columns
    this.#values = resultsAsValues((group) => this.result(group))
  }

  #stateOf(group: number): unknown {
    this.#states[group] ??= this.#call.accumulator.create()
    return this.#states[group]
  }

  add({ selected, groups, from, to, argument, read }: GroupedRows): void {
    const args = this.#columns.map(argument)
    for (let i = from; i < to; i++) {
      const group = groups[i] as number
      if (group < 0) continue
      const row = selected[i] as number
      const values = args.map((a) => read(a, row))
      this.#call.accumulator.add(this.#stateOf(group), values)
    }
  }

  addValues(group: number, values: readonly (readonly Value[])[]): void {
    this.#call.accumulator.add(this.#stateOf(group), values[this.#index] as readonly Value[])
  }

  result(group: number): Value {
    return this.#call.accumulator.result(this.#stateOf(group))
  }

  resultClass(size: number): ResultClass | null {
    return this.#values.resultClass(size)
  }

  fill(column: Column, from: number, to: number): boolean {
    return this.#values.fill(column, from, to)
  }

  save(group: number): Value {
    return this.#call.accumulator.save(this.#stateOf(group))
  }

  load(group: number, state: Value): void {
    this.#states[group] = this.#call.accumulator.load(state)
  }

  clear(): void {
    this.#states.length = 0
  }
}

/** Results made one by one; those that are numbers or null have a columnar form. */
function resultsAsValues(result: (group: number) => Value): Pick<GroupAccumulator, 'resultClass' | 'fill'> {
  return {
    resultClass(size) {
      let found: ResultClass | null = null
      for (let group = 0; group < size; group++) {
        const value = result(group)
        if (value === null) continue
        const own = typeof value === 'number' ? 'float' : typeof value === 'bigint' ? 'int' : null
        if (own === null || (found !== null && own !== found)) return null
        found = own
      }
      return found ?? 'float'
    },
    fill(column, from, to) {
      for (let group = from; group < to; group++) {
        const value = result(group)
        if (value === null) put(column, group - from, NULL, 0)
        else if (!put(column, group - from, typeof value === 'bigint' ? INT : FLOAT, Number(value))) return false
      }
      return true
    },
  }
}

/** False for numbers that have no JSON text, or whose integer is not exact. */
function put(column: Column, row: number, kind: number, number: number): boolean {
  if (kind === INT ? number > SAFE || number < -SAFE : number - number !== 0) return false
  column.kinds[row] = kind
  column.numbers[row] = number
  column.kindMask |= 1 << kind
  return true
}

/** In place of a count: the group's values are in the functions' own accumulators. */
const GENERAL = -(2 ** 31)

const SAFE = Number.MAX_SAFE_INTEGER

interface NumericCall {
  readonly call: AggregateCall
  /** States of groups that are {@link GENERAL}. */
  readonly states: Map<number, unknown>
}

/**
 * count, sum, avg, min and max of one column, or, without one, of rows. How a group's numbers are kept is told by the count: n > 0
 * float64 values, -n < 0 int64 values, 0 = none yet, or GENERAL.
 */
class NumbersPart implements Part {
  readonly #cells: Cells
  readonly #column: number | null
  readonly #place: Place
  /** Calls that need more than a count. */
  readonly #numeric: NumericCall[] = []
  /** One of the calls: their values are the same. */
  #index = 0

  constructor(cells: Cells, column: number | null, place: Place) {
    this.#cells = cells
    this.#column = column
    this.#place = place
  }

  add(grouped: GroupedRows): void {
    if (this.#column === null) this.#addRows(grouped)
    else this.#addColumn(grouped, grouped.argument(this.#column))
  }

  #addRows({ groups, from, to }: GroupedRows): void {
    const { rows } = this.#place
    if (rows < 0) return
    const cells = this.#cells
    const { counts, width, most } = cells
    for (let i = from; i < to; i++) {
      const group = groups[i] as number
      if (group < 0) continue
      const at = 2 * group * width + rows
      const count = counts[at] as number
      if (count < most) counts[at] = count + 1
      else cells.increment(at)
    }
  }

  #addColumn(grouped: GroupedRows, argument: Argument): void {
    const { selected, groups, from, to } = grouped
    const { column, int64 } = argument
    const { kinds, numbers: values } = column
    const cells = this.#cells
    const { numbers, counts, width, most } = cells
    const { rows, known, count, sum, min, max } = this.#place
    for (let i = from; i < to; i++) {
      const group = groups[i] as number
      if (group < 0) continue
      const at = group * width
      if (rows >= 0) {
        const n = counts[2 * at + rows] as number
        if (n < most) counts[2 * at + rows] = n + 1
        else cells.increment(2 * at + rows)
      }
      const row = selected[i] as number
      const kind = kinds[row] as number
      if (kind <= NULL) continue
      if (known >= 0) cells.increment(2 * at + known)
      if (count < 0) continue
      const n = counts[2 * at + count] as number
      if (int64 || n < 0 || n >= most || kind < INT || kind > FLOAT) {
        this.#addOther(grouped, argument, group, row)
        continue
      }
      const value = values[row] as number
      if (sum >= 0) numbers[at + sum] = (numbers[at + sum] as number) + value
      if (min >= 0 && (n === 0 || value < (numbers[at + min] as number))) numbers[at + min] = value
      if (max >= 0 && (n === 0 || value > (numbers[at + max] as number))) numbers[at + max] = value
      counts[2 * at + count] = n + 1
    }
  }

  #addOther({ read }: GroupedRows, argument: Argument, group: number, row: number): void {
    const { column, int64 } = argument
    const kind = column.kinds[row] as number
    const isNumber = kind >= INT && kind <= FLOAT
    if (isNumber && this.#addNumber(group, column.numbers[row] as number, int64 && kind === INT)) return
    this.#addGenerally(group, read(argument, row))
  }

  addValues(group: number, values: readonly (readonly Value[])[]): void {
    const cells = this.#cells
    const { rows, known, count } = this.#place
    const at = 2 * group * cells.width
    if (rows >= 0) cells.increment(at + rows)
    if (this.#column === null) return
    const value = (values[this.#index] as readonly Value[])[0] ?? null
    if (value === null) return
    if (known >= 0) cells.increment(at + known)
    if (count < 0) return
    if (typeof value !== 'number' || !this.#addNumber(group, value, false)) this.#addGenerally(group, value)
  }

  /** False when the number does not fit the group's plain form. */
  #addNumber(group: number, value: number, integer: boolean): boolean {
    const { numbers, counts, width, most } = this.#cells
    const { count, sum, min, max } = this.#place
    const at = group * width
    const n = counts[2 * at + count] as number
    if (n === GENERAL || (integer ? n > 0 : n < 0) || Math.abs(n) >= most) return false
    if (sum >= 0) {
      const next = (numbers[at + sum] as number) + value
      if (integer && (next > SAFE || next < -SAFE)) return false
      numbers[at + sum] = next
    }
    if (min >= 0 && (n === 0 || value < (numbers[at + min] as number))) numbers[at + min] = value
    if (max >= 0 && (n === 0 || value > (numbers[at + max] as number))) numbers[at + max] = value
    counts[2 * at + count] = integer ? n - 1 : n + 1
    return true
  }

  #addGenerally(group: number, value: Value): void {
    for (const numeric of this.#numeric) {
      const state = this.#stateOf(numeric, group)
      numeric.states.set(group, state)
      numeric.call.accumulator.add(state, [value])
    }
    this.#cells.counts[this.#countAt(group)] = GENERAL
  }

  #countAt(group: number): number {
    return 2 * group * this.#cells.width + this.#place.count
  }

  #countOf(group: number): number {
    return this.#cells.counts[this.#countAt(group)] as number
  }

  /** The states of the functions' accumulators are {total, count, error} and {best, error}. */
  #stateOf({ call, states }: NumericCall, group: number): unknown {
    const count = this.#countOf(group)
    if (count === GENERAL) return states.get(group)
    if (count === 0) return call.accumulator.create()
    const operation = operations[call.functionName] as 'sum' | 'min' | 'max'
    const number = this.#cells.numbers[group * this.#cells.width + this.#place[operation]] as number
    const value = count < 0 ? BigInt(number) : number
    return call.accumulator.load(
      operation === 'sum' ? { total: value, count: Math.abs(count), error: null } : { best: value, error: null },
    )
  }

  clear(): void {
    for (const { states } of this.#numeric) states.clear()
  }

  /** `rows`: where the rows of a group are counted. */
  counting(call: AggregateCall, index: number, rows: number): GroupAccumulator {
    this.#index = index
    const cells = this.#cells
    const known = this.#column === null ? rows : this.#place.known
    const knownOf = (group: number): number => cells.counted(2 * group * cells.width + known)
    return {
      result: (group) => BigInt(knownOf(group)),
      resultClass: () => 'int',
      fill(column, from, to) {
        for (let group = from; group < to; group++) column.numbers[group - from] = knownOf(group)
        column.kinds.fill(INT, 0, to - from)
        column.kindMask |= 1 << INT
        return true
      },
      save(group) {
        const state = { rows: cells.counted(2 * group * cells.width + rows), count: knownOf(group) }
        return call.accumulator.save(call.accumulator.load(state))
      },
      load(group, saved) {
        const state = saved as { rows: number; count: number }
        cells.setCounted(2 * group * cells.width + rows, Number(state.rows))
        cells.setCounted(2 * group * cells.width + known, Number(state.count))
      },
    }
  }

  numeric(call: AggregateCall, index: number): GroupAccumulator {
    this.#index = index
    const numeric: NumericCall = { call, states: new Map() }
    this.#numeric.push(numeric)
    const cells = this.#cells
    const place = this.#place[operations[call.functionName] as 'sum' | 'min' | 'max']
    const isAverage = call.functionName === 'avg'
    const result = (group: number): Value => {
      const count = this.#countOf(group)
      if (!(count > 0)) return call.accumulator.result(this.#stateOf(numeric, group))
      const number = cells.numbers[group * cells.width + place] as number
      return isAverage ? number / count : number
    }
    const allFloats = (from: number, to: number): boolean => {
      for (let group = from; group < to; group++) if (!(this.#countOf(group) > 0)) return false
      return true
    }
    const asValues = resultsAsValues(result)
    return {
      result,
      resultClass: (size) => (allFloats(0, size) ? 'float' : asValues.resultClass(size)),
      fill: (column, from, to) => {
        if (!allFloats(from, to)) return asValues.fill(column, from, to)
        const { numbers, counts, width } = cells
        const { count } = this.#place
        let finite = true
        for (let group = from; group < to; group++) {
          const at = group * width
          const number = numbers[at + place] as number
          const value = isAverage ? number / (counts[2 * at + count] as number) : number
          if (value - value !== 0) finite = false
          column.numbers[group - from] = value
        }
        column.kinds.fill(FLOAT, 0, to - from)
        column.kindMask |= 1 << FLOAT
        return finite
      },
      save: (group) => call.accumulator.save(this.#stateOf(numeric, group)),
      load: (group, saved) => {
        numeric.states.set(group, call.accumulator.load(saved))
        cells.counts[this.#countAt(group)] = GENERAL
      },
    }
  }
}

export function grown<T extends Float64Array | Uint8Array | Int32Array | Uint32Array>(array: T, size: number): T {
  if (array.length >= size) return array
  const larger = new (array.constructor as new (n: number) => T)(Math.max(size, 2 * array.length, 64))
  larger.set(array)
  return larger
}
