/**
 * Aggregates over typed arrays, one slot per group. Plain numbers are added up in place; a value that needs more (another
 * kind, an integer sum beyond the safe range, any other aggregate) moves its group to the function's own accumulator, so that
 * results and errors are the function's.
 */
import { FLOAT, INT, NULL } from '../../core/columns.ts'
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
  save(group: number): Value
  load(group: number, state: Value): void
  /** Room for group numbers below `size`. */
  reserve(size: number): void
  /** Forgets the first `size` groups. */
  reset(size: number): void
}

export type ReadCell = (argument: Argument, row: number) => Value

/** `rowsOnly`: count(*), whose argument is the row itself. */
export function groupAccumulator(call: AggregateCall, rowsOnly: boolean): GroupAccumulator {
  switch (call.functionName) {
    case 'count':
      return counting(call, rowsOnly)
    case 'sum':
    case 'avg':
      return numeric(call, SUM)
    case 'min':
      return numeric(call, MIN)
    case 'max':
      return numeric(call, MAX)
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
    save: (group) => call.accumulator.save(stateOf(group)),
    load: (group, state) => {
      states[group] = call.accumulator.load(state)
    },
    reserve: () => {},
    reset: () => {
      states.length = 0
    },
  }
}

function counting(call: AggregateCall, rowsOnly: boolean): GroupAccumulator {
  let rows = new Float64Array(0)
  let known = new Float64Array(0)
  const state = (group: number): Value => ({ rows: rows[group] as number, count: known[group] as number })
  const toState = (group: number): unknown => call.accumulator.load(state(group))
  return {
    add(args, selected, groups, from, to) {
      const kinds = args[0]?.column.kinds
      for (let i = from; i < to; i++) {
        const group = groups[i] as number
        if (group < 0) continue
        rows[group] = (rows[group] as number) + 1
        if (rowsOnly || !kinds || (kinds[selected[i] as number] as number) > NULL)
          known[group] = (known[group] as number) + 1
      }
    },
    addValues(group, values) {
      rows[group] = (rows[group] as number) + 1
      if (values[0] != null) known[group] = (known[group] as number) + 1
    },
    result: (group) => BigInt(known[group] as number),
    save: (group) => call.accumulator.save(toState(group)),
    load(group, saved) {
      const s = saved as { rows: number; count: number }
      rows[group] = Number(s.rows)
      known[group] = Number(s.count)
    },
    reserve(size) {
      rows = grown(rows, size)
      known = grown(known, size)
    },
    reset(size) {
      rows.fill(0, 0, size)
      known.fill(0, 0, size)
    },
  }
}

/** What a numeric aggregate does with the next value. */
const SUM = 0
const MIN = 1
const MAX = 2

/** How a group's value is kept. */
const UNSEEN = 0
const FLOATS = 1
const INTEGERS = 2
const GENERAL = 3

const SAFE = Number.MAX_SAFE_INTEGER

/** sum, avg, min, max. The states of their accumulators are {total, count, error} and {best, error}. */
function numeric(call: AggregateCall, operation: number): GroupAccumulator {
  let modes = new Uint8Array(0)
  let kept = new Float64Array(0)
  let counts = new Float64Array(0)
  const states = new Map<number, unknown>()

  const toState = (group: number): unknown => {
    const mode = modes[group] as number
    if (mode === GENERAL) return states.get(group)
    if (mode === UNSEEN) return call.accumulator.create()
    const number = kept[group] as number
    const value = mode === INTEGERS ? BigInt(number) : number
    return call.accumulator.load(
      operation === SUM ? { total: value, count: counts[group] as number, error: null } : { best: value, error: null },
    )
  }
  const addGenerally = (group: number, value: Value): void => {
    let state = states.get(group)
    if (state === undefined) {
      state = toState(group)
      states.set(group, state)
      modes[group] = GENERAL
    }
    call.accumulator.add(state, [value])
  }
  const combine = (old: number, value: number): number => {
    if (operation === SUM) return old + value
    const better = operation === MIN ? value < old : value > old
    return better ? value : old
  }
  /** False when the value does not fit the group's plain form. */
  const addPlainly = (group: number, value: number, mode: number): boolean => {
    const seen = modes[group] as number
    if (seen !== mode && seen !== UNSEEN) return false
    const next = seen === UNSEEN && operation !== SUM ? value : combine(kept[group] as number, value)
    if (mode === INTEGERS && (next > SAFE || next < -SAFE)) return false
    kept[group] = next
    counts[group] = (counts[group] as number) + 1
    modes[group] = mode
    return true
  }

  return {
    add([argument], selected, groups, from, to, read) {
      const { column, int64 } = argument as Argument
      const { kinds, numbers } = column
      const mode = modes
      const old = kept
      const count = counts
      for (let i = from; i < to; i++) {
        const group = groups[i] as number
        if (group < 0) continue
        const row = selected[i] as number
        const kind = kinds[row] as number
        if (kind <= NULL) continue
        const value = numbers[row] as number
        if (kind <= FLOAT && kind >= INT) {
          if (!int64 && mode[group] === FLOATS) {
            if (operation === SUM) {
              old[group] = (old[group] as number) + value
              count[group] = (count[group] as number) + 1
            } else if (operation === MIN ? value < (old[group] as number) : value > (old[group] as number))
              old[group] = value
            continue
          }
          if (addPlainly(group, value, int64 && kind === INT ? INTEGERS : FLOATS)) continue
        }
        addGenerally(group, read(argument as Argument, row))
      }
    },
    addValues(group, [value = null]) {
      if (value === null) return
      if (typeof value === 'number' && addPlainly(group, value, FLOATS)) return
      addGenerally(group, value)
    },
    result(group) {
      if (modes[group] !== FLOATS) return call.accumulator.result(toState(group))
      const value = kept[group] as number
      return call.functionName === 'avg' ? value / (counts[group] as number) : value
    },
    save: (group) => call.accumulator.save(toState(group)),
    load(group, saved) {
      states.set(group, call.accumulator.load(saved))
      modes[group] = GENERAL
    },
    reserve(size) {
      modes = grown(modes, size)
      kept = grown(kept, size)
      counts = grown(counts, size)
    },
    reset(size) {
      modes.fill(UNSEEN, 0, size)
      kept.fill(0, 0, size)
      counts.fill(0, 0, size)
      states.clear()
    },
  }
}

export function grown<T extends Float64Array | Uint8Array | Int32Array>(array: T, size: number): T {
  if (array.length >= size) return array
  const larger = new (array.constructor as new (n: number) => T)(Math.max(size, 2 * array.length, 64))
  larger.set(array)
  return larger
}
