/** Tumbling and hopping windows that keep one accumulator per aggregate and group, and no rows (spec/sql.md 5.5, D15). */
import type { Row, WindowRange } from '../../core/row.ts'
import type { Value } from '../../core/values.ts'
import { asRowError, inClause } from '../condition.ts'
import type { Emit, Evaluate, Operator, OperatorContext, State } from '../contract.ts'
import { groupKey, groupLimit, keyOf } from '../group.ts'
import { type AggregateCall, type Aggregation, emitGroups, resultRow, rowScope } from './aggregation.ts'
import type { WindowSpec } from './contract.ts'
import { OpenWindow, type SavedGroup, type SavedWindow } from './open-window.ts'
import { loadRow, saveRow } from './row-buffer.ts'
import { rowsOf } from './support.ts'
import { WindowEnds } from './tumbling-hopping.ts'

interface Group {
  readonly first: Row
  readonly states: unknown[]
}

class Pane extends OpenWindow {
  readonly groups = new Map<string, Group>()
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
      pane = new Pane()
      panes.set(end, pane)
    }
    return pane
  }
  /** False when the window has no room for another group. */
  const addTo = (pane: Pane, key: string, row: Row): boolean => {
    let group = pane.groups.get(key)
    if (!group) {
      if (pane.groups.size >= maxGroups) {
        if (spec.limits.policy === 'dropOldest') return false
        throw groupLimit(maxGroups)
      }
      group = { first: row, states: calls.map((call) => call.accumulator.create()) }
      pane.groups.set(key, group)
    }
    for (let i = 0; i < calls.length; i++) calls[i]?.accumulator.add(group.states[i], args[i] as readonly Value[])
    return true
  }
  const rowKey = (row: Row): string => {
    if (dimensions.length === 0) return ''
    try {
      if (dimensions.length === 1) return keyOf((dimensions[0] as Evaluate)(row, rowScope))
      return groupKey(dimensions.map((d) => d(row, rowScope)))
    } catch (error) {
      throw inClause('Group By', error)
    }
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
      const key = rowKey(row)
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
  }
  const emit = (pane: Pane | undefined, window: WindowRange, out: Emit): void => {
    try {
      const groups: Row[][] = []
      for (const { first, states } of pane?.groups.values() ?? []) {
        const results = calls.map((call, i) => call.accumulator.result(states[i]))
        groups.push([resultRow(first, calls, results)])
      }
      emitGroups(groups, window, aggregation, out)
    } catch (error) {
      out.fail(asRowError(error), 0)
    }
  }
  const fireDue = (time: number, out: Emit): void => {
    if (held === 0) ends.skipTo(time)
    while (ends.next !== null && ends.next <= time) {
      fire(out)
      if (held === 0) ends.skipTo(time)
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
    save: () => ({
      ends: ends.save(),
      panes: [...panes].map(([end, pane]) => {
        const groups = [...pane.groups].map(
          ([key, g]): SavedGroup => [key, saveRow(g.first), calls.map((c, i) => c.accumulator.save(g.states[i]))],
        )
        return pane.save(end, groups)
      }),
    }),
    load(state) {
      const s = state as { ends: State; panes: SavedWindow[] }
      ends.load(s.ends)
      panes = new Map()
      held = 0
      for (const saved of s.panes) {
        const [end, , , , groups] = saved
        const pane = paneOf(Number(end))
        pane.load(saved)
        held += pane.rows
        for (const [key, first, states] of groups) {
          const loaded = calls.map((c, i) => c.accumulator.load(states[i] as Value))
          pane.groups.set(key, { first: loadRow(first), states: loaded })
        }
      }
    },
  }
}
