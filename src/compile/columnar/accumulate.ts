/**
 * Aggregates over a typed array, some slots per group. Plain numbers are added up in place; a value that needs more (another
 * kind, an integer sum beyond the safe range, any other aggregate) moves its group to the function's own accumulator, so that
 * results and errors are the function's.
 */
import { type Column, FLOAT, INT, NULL } from '../../core/columns.ts'
import type { Value } from '../../core/values.ts'
import type { AggregateCall } from '../../operators/window/aggregation.ts'
import type { Argument } from './cells.ts'

export interface GroupAccumulator {
  /** Adds rows `selected[from..to)`; the group of `selected[i]` is `groups[i]`, negative = none. */
  add(
    args: readonly Argument[],
    selected: Uint32Array,
    groups: Int32Array,
    from: number,
    to: number,
    read: ReadCell,
  ): void
  addValues(group: number, values: readonly Value[]): void
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
  /** Forgets all groups, once their slots are cleared. */
  reset(): void
}

/** The numbers of all aggregates of a window, those of one group side by side: a group costs one visit to memory. */
export class Slots {
  data = new Float64Array(0)
  /** Numbers a group. */
  width = 0

  /** Before the first group: room for `count` numbers; returns where in a group they are. */
  claim(count: number): number {
    const at = this.width
    this.width += count
    return at
  }

  /** Room for groups below `size`; new ones are zero. */
  reserve(size: number): void {
    this.data = grown(this.data, size * this.width)
  }

  clear(size: number): void {
    this.data.fill(0, 0, size * this.width)
  }
}

export type ResultClass = 'float' | 'int'

export type ReadCell = (argument: Argument, row: number) => Value

/** `rowsOnly`: count(*), whose argument is the row itself. */
export function groupAccumulator(call: AggregateCall, rowsOnly: boolean, slots: Slots): GroupAccumulator {
  switch (call.functionName) {
    case 'count':
      return counting(call, rowsOnly, slots)
    case 'sum':
    case 'avg':
      return numeric(call, SUM, slots)
    case 'min':
      return numeric(call, MIN, slots)
    case 'max':
      return numeric(call, MAX, slots)
    default:
      return general(call)
  }
}

/** Any aggregate, by its own accumulator. */
function general(call: AggregateCall): GroupAccumulator {
  const states: unknown[] = []
  const stateOf = (group: number): unknown => {
    states[group] ??= call.accumulator.create()
    return states[group]
  }
  return {
    add(args, selected, groups, from, to, read) {
      for (let i = from; i < to; i++) {
        const group = groups[i] as number
        if (group < 0) continue
        const row = selected[i] as number
        call.accumulator.add(
          stateOf(group),
          args.map((a) => read(a, row)),
        )
      }
    },
    addValues: (group, values) => call.accumulator.add(stateOf(group), values),
    result: (group) => call.accumulator.result(stateOf(group)),
    ...resultsAsValues((group) => call.accumulator.result(stateOf(group))),
    save: (group) => call.accumulator.save(stateOf(group)),
    load: (group, state) => {
      states[group] = call.accumulator.load(state)
    },
    reset: () => {
      states.length = 0
    },
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

function counting(call: AggregateCall, rowsOnly: boolean, slots: Slots): GroupAccumulator {
  /** Rows, and how many of them had a value. */
  const first = slots.claim(rowsOnly ? 1 : 2)
  const known = rowsOnly ? first : first + 1
  const toState = (group: number): unknown => {
    const { data, width } = slots
    const at = group * width
    return call.accumulator.load({ rows: data[at + first] as number, count: data[at + known] as number })
  }
  return {
    add(args, selected, groups, from, to) {
      const { data, width } = slots
      const kinds = args[0]?.column.kinds
      for (let i = from; i < to; i++) {
        const group = groups[i] as number
        if (group < 0) continue
        const at = group * width + first
        data[at] = (data[at] as number) + 1
        if (!rowsOnly && (!kinds || (kinds[selected[i] as number] as number) > NULL))
          data[at + 1] = (data[at + 1] as number) + 1
      }
    },
    addValues(group, values) {
      const { data, width } = slots
      const at = group * width + first
      data[at] = (data[at] as number) + 1
      if (!rowsOnly && values[0] != null) data[at + 1] = (data[at + 1] as number) + 1
    },
    result: (group) => BigInt(slots.data[group * slots.width + known] as number),
    resultClass: () => 'int',
    fill(column, from, to) {
      const { data, width } = slots
      for (let group = from; group < to; group++) column.numbers[group - from] = data[group * width + known] as number
      column.kinds.fill(INT, 0, to - from)
      column.kindMask |= 1 << INT
      return true
    },
    save: (group) => call.accumulator.save(toState(group)),
    load(group, saved) {
      const s = saved as { rows: number; count: number }
      const at = group * slots.width
      slots.data[at + first] = Number(s.rows)
      slots.data[at + known] = Number(s.count)
    },
    reset: () => {},
  }
}

/** What a numeric aggregate does with the next value. */
const SUM = 0
const MIN = 1
const MAX = 2

/**
 * How a group's value is kept is told by its count: n > 0 float64 values, -n < 0 int64 values, 0 = none yet, or GENERAL: in the
 * function's own accumulator. Of an extreme only the sign matters.
 */
const GENERAL = Number.NEGATIVE_INFINITY

const SAFE = Number.MAX_SAFE_INTEGER

/** sum, avg, min, max. The states of their accumulators are {total, count, error} and {best, error}. */
function numeric(call: AggregateCall, operation: number, slots: Slots): GroupAccumulator {
  /** The value, and the count. */
  const first = slots.claim(2)
  const states = new Map<number, unknown>()
  const isAverage = call.functionName === 'avg'
  const countOf = (group: number): number => slots.data[group * slots.width + first + 1] as number

  const toState = (group: number): unknown => {
    const count = countOf(group)
    if (count === GENERAL) return states.get(group)
    if (count === 0) return call.accumulator.create()
    const number = slots.data[group * slots.width + first] as number
    const value = count < 0 ? BigInt(number) : number
    return call.accumulator.load(
      operation === SUM ? { total: value, count: Math.abs(count), error: null } : { best: value, error: null },
    )
  }
  const addGenerally = (group: number, value: Value): void => {
    let state = states.get(group)
    if (state === undefined) {
      state = toState(group)
      states.set(group, state)
      slots.data[group * slots.width + first + 1] = GENERAL
    }
    call.accumulator.add(state, [value])
  }
  const combine = (old: number, value: number): number => {
    if (operation === SUM) return old + value
    const better = operation === MIN ? value < old : value > old
    return better ? value : old
  }
  /** False when the value does not fit the group's plain form. */
  const addPlainly = (group: number, value: number, integer: boolean): boolean => {
    const { data, width } = slots
    const at = group * width + first
    const count = data[at + 1] as number
    if (count === GENERAL || (integer ? count > 0 : count < 0)) return false
    const next = count === 0 && operation !== SUM ? value : combine(data[at] as number, value)
    if (integer && (next > SAFE || next < -SAFE)) return false
    data[at] = next
    data[at + 1] = integer ? count - 1 : count + 1
    return true
  }

  const result = (group: number): Value => {
    const count = countOf(group)
    if (!(count > 0)) return call.accumulator.result(toState(group))
    const value = slots.data[group * slots.width + first] as number
    return isAverage ? value / count : value
  }
  const asValues = resultsAsValues(result)
  const allFloats = (from: number, to: number): boolean => {
    for (let group = from; group < to; group++) if (!(countOf(group) > 0)) return false
    return true
  }

  return {
    add([argument], selected, groups, from, to, read) {
      const { column, int64 } = argument as Argument
      const { kinds, numbers } = column
      const { data, width } = slots
      for (let i = from; i < to; i++) {
        const group = groups[i] as number
        if (group < 0) continue
        const row = selected[i] as number
        const kind = kinds[row] as number
        if (kind <= NULL) continue
        const value = numbers[row] as number
        if (kind <= FLOAT && kind >= INT) {
          const at = group * width + first
          const count = data[at + 1] as number
          if (!int64 && count > 0) {
            const old = data[at] as number
            if (operation === SUM) {
              data[at] = old + value
              data[at + 1] = count + 1
            } else if (operation === MIN ? value < old : value > old) data[at] = value
            continue
          }
          if (addPlainly(group, value, int64 && kind === INT)) continue
        }
        addGenerally(group, read(argument as Argument, row))
      }
    },
    addValues(group, [value = null]) {
      if (value === null) return
      if (typeof value === 'number' && addPlainly(group, value, false)) return
      addGenerally(group, value)
    },
    result,
    resultClass: (size) => (allFloats(0, size) ? 'float' : asValues.resultClass(size)),
    fill(column, from, to) {
      if (!allFloats(from, to)) return asValues.fill(column, from, to)
      const { data, width } = slots
      const { numbers } = column
      let finite = true
      for (let group = from; group < to; group++) {
        const at = group * width + first
        const value = isAverage ? (data[at] as number) / (data[at + 1] as number) : (data[at] as number)
        if (value - value !== 0) finite = false
        numbers[group - from] = value
      }
      column.kinds.fill(FLOAT, 0, to - from)
      column.kindMask |= 1 << FLOAT
      return finite
    },
    save: (group) => call.accumulator.save(toState(group)),
    load(group, saved) {
      states.set(group, call.accumulator.load(saved))
      slots.data[group * slots.width + first + 1] = GENERAL
    },
    reset: () => states.clear(),
  }
}

export function grown<T extends Float64Array | Uint8Array | Int32Array | Uint32Array>(array: T, size: number): T {
  if (array.length >= size) return array
  const larger = new (array.constructor as new (n: number) => T)(Math.max(size, 2 * array.length, 64))
  larger.set(array)
  return larger
}
