/** Tumbling and hopping windows that keep one accumulator per aggregate and group, and no rows (spec/sql.md 5.5, D15). */
import type { Row, RowSource, WindowRange } from '../../core/row.ts'
import type { Value } from '../../core/values.ts'
import { asRowError } from '../condition.ts'
import type { Emit, Evaluate, Operator, OperatorContext, State } from '../contract.ts'
import { groupLimit } from '../group.ts'
import { type AggregateCall, type Aggregation, emitGroups, resultRow, rowKeyOf, rowScope } from './aggregation.ts'
import type { WindowSpec } from './contract.ts'
import { type GroupStates, groupStates } from './group-states.ts'
import { OpenWindow, type SavedGroup, type SavedWindow } from './open-window.ts'
import { loadRow, RowBuffer, saveRow } from './row-buffer.ts'
import { rowsOf } from './support.ts'
import { firstFilledOf, WindowEnds } from './tumbling-hopping.ts'

/** With more known keys than this, and than twice the groups of a window, those of no open window are forgotten. */
const MANY_KEYS = 1024

/** An open window. Its groups are numbered in first-seen order. */
class Pane extends OpenWindow {
  readonly states: readonly GroupStates[]
  /** The first row of each group. */
  readonly firsts = new RowBuffer()
  /** The key of each group, by the operator's number. */
  readonly keys: number[] = []
  /** By key: 1 + the group. */
  #groups = new Int32Array(16)

  constructor(calls: readonly AggregateCall[]) {
    super()
    this.states = calls.map(groupStates)
  }

  /** The group of a key; -1 = none yet. */
  find(key: number): number {
    return key < this.#groups.length ? (this.#groups[key] as number) - 1 : -1
  }

  add(key: number, first: Row): number {
    this.firsts.push(first)
    return this.#place(key)
  }

  /** The keys have other numbers. */
  renumber(numberOf: (key: number) => number): void {
    this.#groups = new Int32Array(16)
    for (const key of this.keys.splice(0)) this.#place(numberOf(key))
  }

  #place(key: number): number {
    if (key >= this.#groups.length) {
      const groups = new Int32Array(2 * key)
      groups.set(this.#groups)
      this.#groups = groups
    }
    const group = this.keys.push(key) - 1
    this.#groups[key] = group + 1
    return group
  }
}

export function accumulatingWindow(spec: WindowSpec, aggregation: Aggregation): Operator {
  const { calls, dimensions, where, maxGroups } = aggregation
  const ends = new WindowEnds(spec)
  /** Open windows by their end. */
  let panes = new Map<number, Pane>()
  let held = 0
  let context: OperatorContext

  const paneOf = (end: number): Pane => {
    let pane = panes.get(end)
    if (!pane) {
      pane = new Pane(calls)
      panes.set(end, pane)
    }
    return pane
  }
  const isFull = (pane: Pane): boolean => pane.keys.length >= maxGroups
  /** False when the window has no room for another group. */
  const addTo = (pane: Pane, key: number, row: Row): boolean => {
    let group = key < 0 ? -1 : pane.find(key)
    if (group < 0) {
      if (isFull(pane)) {
        if (spec.limits.policy === 'dropOldest') return false
        throw groupLimit(maxGroups)
      }
      group = pane.add(key, row)
    }
    for (let i = 0; i < calls.length; i++) pane.states[i]?.add(group, args[i] as readonly Value[])
    return true
  }
  /** Numbers of the keys, shared by the open windows. */
  let numbers = new Map<string, number>()
  const numberOf = (key: string): number => {
    let number = numbers.get(key)
    if (number === undefined) {
      number = numbers.size
      numbers.set(key, number)
    }
    return number
  }
  const forgetKeys = (groups: number): void => {
    if (numbers.size <= MANY_KEYS || numbers.size <= 2 * groups) return
    const keys = [...numbers.keys()]
    numbers = new Map()
    for (const pane of panes.values()) pane.renumber((key) => numberOf(keys[key] as string))
  }
  /** Arguments of the row at hand, by call; accumulators never keep the arrays. */
  const args: Value[][] = calls.map((call) => call.args.map(() => null))
  const readArguments = (row: Row): void => {
    for (let i = 0; i < calls.length; i++) {
      const call = calls[i] as AggregateCall
      const values = args[i] as Value[]
      for (let k = 0; k < values.length; k++) values[k] = (call.args[k] as Evaluate)(row, rowScope)
    }
  }
  const add = (row: Row, out: Emit): void => {
    if (ends.next === null) ends.begin(row.timestamp, context.timezone)
    const open = ends.covering(row.timestamp).map(paneOf)
    const last = open[open.length - 1]
    if (!last) {
      out.discard('filtered', 1)
      return
    }
    held++
    last.rows++
    try {
      if (where && !where(row, rowScope)) return
      const text = rowKeyOf(dimensions, row)
      // A new key that no window has room for gets no number.
      const key = open.every(isFull) ? (numbers.get(text) ?? -1) : numberOf(text)
      readArguments(row)
      for (const pane of open) if (!addTo(pane, key, row) && pane === last) last.overflow++
    } catch (error) {
      const failure = asRowError(error)
      for (const pane of open) pane.error ??= failure
    }
  }

  const fire = (out: Emit): void => {
    const end = ends.next as number
    const window = { start: ends.start(end), end, trigger: end }
    const pane = panes.get(end)
    panes.delete(end)
    ends.advance()
    if (pane?.error) out.fail(pane.error, 0)
    else emit(pane, window, out)
    if (!pane) return
    held -= pane.rows
    pane.settle(out)
    forgetKeys(pane.keys.length)
  }
  const resultsOf = ({ keys, firsts, states }: Pane): Row[][] | RowSource => {
    const at = (group: number): Row => {
      const results = states.map((s) => s.result(group))
      return resultRow(firsts.row(group), calls, results)
    }
    if (states.some((s) => s.fallible)) return keys.map((_, group) => [at(group)])
    return { length: keys.length, at, emitterAt: (group) => firsts.row(group).emitter }
  }
  const emit = (pane: Pane | undefined, window: WindowRange, out: Emit): void => {
    try {
      emitGroups(pane ? resultsOf(pane) : [], window, aggregation, out)
    } catch (error) {
      out.fail(asRowError(error), 0)
    }
  }
  const fireDue = (time: number, out: Emit): void => {
    const firstFilled = firstFilledOf(panes)
    for (;;) {
      ends.skipTo(time, firstFilled)
      if (ends.next === null || ends.next > time) return
      fire(out)
    }
  }

  return {
    name: 'inc_agg_window',
    get held() {
      return held
    },
    open(c) {
      context = c
      ends.setZone(c.timezone)
      if (spec.eventTime) return
      if (ends.next === null) ends.begin(c.now(), c.timezone)
      c.wakeAt(ends.next)
    },
    push(batch, out) {
      for (const row of rowsOf(batch)) add(row, out)
    },
    tick(now, out) {
      fireDue(now, out)
      context.wakeAt(ends.next)
    },
    watermark(time, out) {
      if (spec.eventTime) fireDue(time, out)
      out.watermark(time)
    },
    save() {
      const keys = [...numbers.keys()]
      const filled = [...panes].filter(([, pane]) => !pane.isBlank(pane.keys.length))
      const saved = filled.map(([end, pane]) => {
        const groups = pane.keys.map((key, group): SavedGroup => {
          const states = pane.states.map((s) => s.save(group))
          return [keys[key] as string, saveRow(pane.firsts.row(group)), states]
        })
        return pane.save(end, groups)
      })
      return { ends: ends.save(), panes: saved }
    },
    load(state) {
      const s = state as { ends: State; panes: SavedWindow[] }
      ends.load(s.ends)
      panes = new Map()
      numbers = new Map()
      held = 0
      for (const saved of s.panes) {
        const [end, , , , groups] = saved
        const pane = paneOf(Number(end))
        pane.load(saved)
        held += pane.rows
        for (const [key, first, states] of groups) {
          const group = pane.add(numberOf(key), loadRow(first))
          pane.states.forEach((own, i) => void own.load(group, states[i] as Value))
        }
      }
    },
  }
}
