/**
 * A tumbling window in processing time that keeps accumulators, fed with undecoded payloads: dictionary ids as groups, typed
 * arrays as accumulators. It is the window operator of its rule as well (timer, checkpoint, rows of the general lane), with the
 * behaviour and the saved form of operators/window/accumulating.ts.
 */

import type { ColumnarOutput } from '../../core/columnar-output.ts'
import { TEXT } from '../../core/columns.ts'
import type { IxionError } from '../../core/errors.ts'
import { makeRow, type Row } from '../../core/row.ts'
import { setField, type Value, type ValueObject } from '../../core/values.ts'
import type { Kernel, ScannedBatch, ScanSettings } from '../../kernel/kernel.ts'
import { encodeShape } from '../../kernel/shape.ts'
import { asRowError, inClause, nullIsFalse } from '../../operators/condition.ts'
import type { Emit, Operator, OperatorContext, State } from '../../operators/contract.ts'
import { groupKey, groupLimit } from '../../operators/group.ts'
import { type Aggregation, emitGroups, resultRow, rowScope } from '../../operators/window/aggregation.ts'
import type { WindowSpec } from '../../operators/window/contract.ts'
import type { SavedGroup, SavedWindow } from '../../operators/window/open-window.ts'
import { loadRow, saveRow } from '../../operators/window/row-buffer.ts'
import { WindowEnds } from '../../operators/window/tumbling-hopping.ts'
import type { LogicalPlan, PlanNode, WindowNode } from '../../plan/logical.ts'
import { expressionsOf, findNode, inputsOf } from '../../plan/nodes.ts'
import { some } from '../../plan/tree.ts'
import type { Expression } from '../../sql/ast.ts'
import { compileExpression } from '../expression.ts'
import { groupAccumulator } from './accumulate.ts'
import { type Argument, argumentAt, readCell } from './cells.ts'
import type { ColumnarEnvironment, PayloadChunk } from './contract.ts'
import { loopPlanOf, outputColumns } from './generate.ts'
import { GroupKeys } from './group-keys.ts'
import { createIntake, type RowTaker, scanSettings } from './intake.ts'
import { hasColumnarForm, loopFinder } from './loops.ts'
import { outputConstants } from './output-constants.ts'
import { type FirstRow, Pane } from './pane.ts'
import { columnPath, type OutputField, type SelectedRows, selectRows } from './select-plan.ts'

export interface ColumnarWindow {
  /** Takes the place of the plan's window operator. */
  readonly operator: Operator
  /**
   * Decodes, filters and aggregates a chunk. `received` = `filtered` + the events of `failed` calls + what `operator.held` grew
   * by.
   */
  process(
    delivery: { readonly chunk: PayloadChunk },
    output: Pick<ColumnarOutput, 'failed'>,
  ): { readonly received: number; readonly filtered: number }
}

export interface ColumnarWindowOptions {
  readonly spec: WindowSpec
  readonly aggregation: Aggregation
}

const MAX_DIMENSIONS = 8

/** Null when the plan's window, or an expression below it, has no columnar form. */
export function compileColumnarWindow(
  plan: LogicalPlan,
  environment: Omit<ColumnarEnvironment, 'sendSingle'>,
  options: ColumnarWindowOptions,
): ColumnarWindow | null {
  const window = findNode(plan.root, 'window')
  const [input] = window?.inputs ?? []
  if (!window?.incremental || !input || window.inputs.length !== 1 || environment.decode.wholeNumbersAsInt64)
    return null
  if (!isPlainTumbling(window) || sendsMeta(plan.root)) return null
  const { dimensions, calls } = window.incremental
  if (dimensions.length > MAX_DIMENSIONS) return null
  const outputs: OutputField[] = []
  const output = (expression: Expression): number =>
    outputs.push({ name: String(outputs.length), expression, missing: 'omit', null: 'null', visible: true }) - 1
  const keys = dimensions.map(output)
  const args: number[][] = []
  for (const { call } of calls) {
    const [only] = call.args
    if (only?.kind === 'wildcard') {
      if (call.name !== 'count' || call.args.length !== 1) return null
      args.push([])
    } else args.push(call.args.map(output))
  }
  const rows = selectRows(input, outputs)
  if (rows === null) return null
  const types = rows.columns.map((c) => c.type)
  const constants = outputConstants(outputs)
  // Nothing is encoded here, so text constants have no place to lie in: they cannot be grouped by or aggregated.
  if (constants.bytes.length > 0) return null
  const loopPlan = loopPlanOf(rows, constants.ranges, environment.expressions)
  if (!hasColumnarForm(loopPlan, types)) return null
  return createWindow({
    ...options,
    environment,
    rows,
    loopPlan,
    keys,
    args,
    keyColumn: readsOnlyKey(plan.root, window)
      ? ((columnPath(dimensions[0] as Expression) as string[])[0] as string)
      : null,
  })
}

function isPlainTumbling({ window, filter, eventTime, incremental }: WindowNode): boolean {
  return (
    window.kind === 'tumbling' &&
    !eventTime &&
    filter === null &&
    window.when === null &&
    window.partition.length === 0 &&
    incremental?.where === null
  )
}

function sendsMeta(root: PlanNode): boolean {
  return findNode(root, 'project')?.sendMeta ?? false
}

/** True when what follows the window reads no column but the one it groups by. */
function readsOnlyKey(root: PlanNode, window: WindowNode): boolean {
  const [key, ...more] = window.incremental?.dimensions ?? []
  const path = key && more.length === 0 ? columnPath(key) : null
  if (path?.length !== 1) return false
  const other = (e: Expression): boolean =>
    e.kind === 'wildcard' || e.kind === 'meta' || (e.kind === 'column' && e.name !== path[0])
  const only = (e: Expression): boolean => !some(e, other, { stopAtComputed: true })
  for (let node = root; node !== window; node = inputsOf(node)[0] as PlanNode) {
    if (!expressionsOf(node).every(only)) return false
  }
  return true
}

interface Parts extends ColumnarWindowOptions {
  readonly environment: Omit<ColumnarEnvironment, 'sendSingle'>
  readonly rows: SelectedRows
  readonly loopPlan: Parameters<typeof outputColumns>[0] & Parameters<typeof loopFinder>[0]
  /** Outputs of the loop that are dimensions, and arguments per call (none = count(*)). */
  readonly keys: readonly number[]
  readonly args: readonly (readonly number[])[]
  /** Set when of a group's first row only this column is read, which is its key. */
  readonly keyColumn: string | null
}

function createWindow(parts: Parts): ColumnarWindow {
  const { spec, aggregation, environment, rows, loopPlan, keys, args, keyColumn } = parts
  const { calls, dimensions, maxGroups } = aggregation
  const { decoder, decode, expressions } = environment
  const { emitter } = rows.source
  const types = rows.columns.map((c) => c.type)
  const { columns, computed } = outputColumns(loopPlan)
  const findLoop = loopFinder(loopPlan, types)
  const intake = createIntake({ decoder, decode, types, findLoop })
  const holds = rows.filter && nullIsFalse('Where', compileExpression(rows.filter.condition, expressions))
  const keyColumns = keys.map((key) => columns[key] as number)
  const argColumns = args.map((list) => list.map((arg) => columns[arg] as number))

  let groupKeys: GroupKeys | null = null
  let settings: { readonly kernel: Kernel; readonly scan: ScanSettings } | null = null
  let rowGroups = new Int32Array(0)

  const ends = new WindowEnds(spec)
  let panes = new Map<number, Pane>()
  let spare: Pane | null = null
  let held = 0
  let context: OperatorContext
  let output: Pick<ColumnarOutput, 'failed'>
  /** The pane of the chunk in progress. */
  let pane: Pane
  let time = 0
  let broken: IxionError | null = null

  const newPane = (): Pane => new Pane(calls.map((call, i) => groupAccumulator(call, args[i]?.length === 0)))
  const paneOf = (end: number): Pane => {
    let found = panes.get(end)
    if (!found) {
      found = spare ?? newPane()
      spare = null
      panes.set(end, found)
    }
    return found
  }
  const paneAt = (timestamp: number): Pane => {
    if (ends.next === null) ends.begin(timestamp, context.timezone)
    return paneOf(ends.covering(timestamp)[0] as number)
  }
  const allKeys = (): GroupKeys => {
    // Twice the groups of a window, and their parts.
    groupKeys ??= new GroupKeys(keyColumns, types, (dimensions.length + 1) * 2 * maxGroups)
    return groupKeys
  }
  const source = (): { readonly kernel: Kernel; readonly settings: ScanSettings } => {
    const { kernel } = allKeys()
    if (settings?.kernel !== kernel) {
      const shapeOf = (paths: readonly (readonly string[])[]) => encodeShape(paths, kernel.heapBase)
      settings = { kernel, scan: scanSettings(rows.columns, shapeOf, computed, 64, decode) }
    }
    return { kernel, settings: settings.scan }
  }

  /** -1 when the window has no room for another group. */
  function groupOf(id: number, first: () => FirstRow): number {
    if (id >= 0) {
      const group = pane.find(id)
      if (group >= 0) return group
      if (pane.size < maxGroups) return pane.add(id, first(), time)
    }
    if (spec.limits.policy !== 'dropOldest') {
      broken ??= groupLimit(maxGroups)
    }
    return -1
  }

  function newGroup(batch: ScannedBatch, row: number, id: number): number {
    const known = id < 0 && keys.length > 1 ? allKeys().idOfWhole(batch, row) : id
    return groupOf(known, () => firstOf(batch, row))
  }

  function firstOf(batch: ScannedBatch, row: number): FirstRow {
    if (keyColumn !== null) {
      const { column } = argumentAt(batch, types, keyColumns[0] as number)
      if (column.kinds[row] === TEXT) return null
    }
    return batch.bytes.slice(batch.rowStarts[row], batch.rowEnds[row])
  }

  const taker: RowTaker = {
    begin: () => 0,
    selected(kernel, batch, count) {
      if (rowGroups.length < count) rowGroups = new Int32Array(batch.selected.length)
      if (keys.length > 0) allKeys().identify(kernel, batch, count)
    },
    passed(_kernel, batch, from, to) {
      const { ids } = allKeys()
      let { table } = pane
      for (let i = from; i < to; i++) {
        const id = keys.length === 0 ? 0 : (ids[i] as number)
        let group = id >= 0 && id < table.length ? (table[id] as number) - 1 : -1
        if (group < 0) {
          group = newGroup(batch, batch.selected[i] as number, id)
          table = pane.table
          if (group < 0) pane.overflow++
        }
        rowGroups[i] = group
      }
      pane.rows += to - from
      held += to - from
      const read = (argument: Argument, row: number): Value => readCell(batch, argument, row)
      for (let c = 0; c < calls.length; c++) {
        const list = (argColumns[c] as readonly number[]).map((index) => argumentAt(batch, types, index))
        pane.accumulators[c]?.add(list, batch.selected, rowGroups, from, to, read)
      }
    },
    mixed: () => {},
    message(message, timestamp) {
      const row = makeRow(emitter, message, timestamp)
      if (holds && !holds(row, rowScope)) return false
      addRow(row)
      return true
    },
    failed(error, decoding) {
      output.failed(error, 1, decoding)
    },
  }

  function addRow(row: Row): void {
    pane.rows++
    held++
    try {
      const id = keys.length === 0 ? 0 : allKeys().idOf(keyOf(row))
      const values = calls.map((call) => call.args.map((arg) => arg(row, rowScope)))
      const group = groupOf(id, () => row.message)
      if (group < 0) pane.overflow++
      else for (let c = 0; c < calls.length; c++) pane.accumulators[c]?.addValues(group, values[c] as Value[])
    } catch (error) {
      pane.error ??= asRowError(error)
    }
  }

  function keyOf(row: Row): string {
    try {
      return groupKey(dimensions.map((d) => d(row, rowScope)))
    } catch (error) {
      throw inClause('Group By', error)
    }
  }

  function firstRow(p: Pane, group: number): Row {
    const first = p.firsts[group] as FirstRow
    let message: ValueObject
    if (first === null) {
      message = {}
      setField(message, keyColumn as string, allKeys().textOf(p.keys[group] as number))
    } else message = first instanceof Uint8Array ? (decoder.decode(first)[0] as ValueObject) : first
    return makeRow(emitter, message, p.times[group] as number)
  }

  function fire(out: Emit): void {
    const end = ends.next as number
    const window = { start: ends.start(end), end, trigger: end }
    const fired = panes.get(end)
    panes.delete(end)
    ends.advance()
    if (fired?.error) out.fail(fired.error, 0)
    else {
      try {
        const groups: Row[][] = []
        for (let g = 0; g < (fired?.size ?? 0); g++) {
          const results = (fired as Pane).accumulators.map((a) => a.result(g))
          groups.push([resultRow(firstRow(fired as Pane, g), calls, results)])
        }
        emitGroups(groups, window, aggregation, out)
      } catch (error) {
        out.fail(asRowError(error), 0)
      }
    }
    if (!fired) return
    held -= fired.rows
    fired.settle(out)
    fired.reset()
    spare ??= fired
    if (panes.size === 0) forgetKeys()
  }

  /** Between windows, when the dictionary holds more than a window's worth of groups. */
  function forgetKeys(): void {
    if (groupKeys !== null && groupKeys.size > maxGroups) groupKeys.clear()
  }

  function fireDue(now: number, out: Emit): void {
    if (held === 0) ends.skipTo(now)
    while (ends.next !== null && ends.next <= now) {
      fire(out)
      if (held === 0) ends.skipTo(now)
    }
  }

  function savePane([end, p]: readonly [number, Pane]): Value {
    const groups = p.keys.map((id, g): SavedGroup => {
      const key = keys.length === 0 ? '' : allKeys().textOf(id)
      return [key, saveRow(firstRow(p, g)), p.accumulators.map((a) => a.save(g))]
    })
    return p.save(end, groups)
  }

  const operator: Operator = {
    name: 'inc_agg_window',
    get held() {
      return held
    },
    open(c) {
      context = c
      ends.setZone(c.timezone)
      if (ends.next === null) ends.begin(c.now(), c.timezone)
      c.wakeAt(ends.next)
    },
    push(batch) {
      if (batch.kind !== 'rows') throw new Error('a window takes single rows')
      for (const row of batch.rows) {
        time = row.timestamp
        pane = paneAt(time)
        addRow(row)
      }
      rethrow()
    },
    tick(now, out) {
      fireDue(now, out)
      context.wakeAt(ends.next)
    },
    watermark: (at, out) => out.watermark(at),
    save: () => ({ ends: ends.save(), panes: [...panes].filter(([, p]) => p.rows > 0).map(savePane) }),
    load(state) {
      const s = state as { ends: State; panes: SavedWindow[] }
      ends.load(s.ends)
      panes = new Map()
      held = 0
      for (const saved of s.panes) {
        const [end, , , , groups] = saved
        const p = paneOf(Number(end))
        p.load(saved)
        held += p.rows
        for (const [key, first, states] of groups) {
          const row = loadRow(first)
          const group = p.add(keys.length === 0 ? 0 : allKeys().idOf(key), row.message, row.timestamp)
          for (const [i, a] of p.accumulators.entries()) a.load(group, states[i] as Value)
        }
      }
    },
  }

  function rethrow(): void {
    if (broken === null) return
    const error = broken
    broken = null
    throw error
  }

  return {
    operator,
    process({ chunk }, to) {
      output = to
      time = chunk.timestamp
      pane = paneAt(time)
      const counts = intake(source, chunk, taker)
      rethrow()
      return counts
    },
  }
}
