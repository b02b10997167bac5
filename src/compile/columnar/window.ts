/**
 * A tumbling window in processing time that keeps accumulators, fed with undecoded payloads: dictionary ids as groups, typed
 * arrays as accumulators. It is the window operator of its rule as well (timer, checkpoint, rows of the general lane), with the
 * behaviour and the saved form of operators/window/accumulating.ts.
 */
import { type Column, type ColumnBatch, INT, NULL, RAW, TEXT, valueAt } from '../../core/columns.ts'
import { IxionError, RowError } from '../../core/errors.ts'
import { goText } from '../../core/go-text.ts'
import { decodeJsonText } from '../../core/json-decode.ts'
import { makeRow, type Row } from '../../core/row.ts'
import { decodeUtf8, encodeUtf8 } from '../../core/utf8.ts'
import { setField, type Value, type ValueObject } from '../../core/values.ts'
import type { Kernel, ScannedBatch, ScanSettings } from '../../kernel/kernel.ts'
import { encodeShape } from '../../kernel/shape.ts'
import { asRowError, inClause, nullIsFalse } from '../../operators/condition.ts'
import type { Emit, Operator, OperatorContext, State } from '../../operators/contract.ts'
import { groupKey } from '../../operators/group.ts'
import { type Aggregation, emitGroups, resultRow, rowScope } from '../../operators/window/aggregation.ts'
import type { WindowSpec } from '../../operators/window/contract.ts'
import { loadRow, saveRow } from '../../operators/window/row-buffer.ts'
import { WindowEnds } from '../../operators/window/tumbling-hopping.ts'
import type { LogicalPlan, PlanNode, WindowNode } from '../../plan/logical.ts'
import { expressionsOf, findNode, inputsOf } from '../../plan/nodes.ts'
import type { Expression } from '../../sql/ast.ts'
import { childrenOf } from '../../sql/walk.ts'
import { compileExpression } from '../expression.ts'
import { type Argument, groupAccumulator } from './accumulate.ts'
import type { ColumnarEnvironment, ColumnarOutput, PayloadChunk } from './contract.ts'
import { loopPlanOf, outputColumns } from './generate.ts'
import { createIntake, type RowTaker, scanSettings } from './intake.ts'
import { hasColumnarForm, loopFinder } from './loops.ts'
import { outputConstants } from './output-constants.ts'
import { type FirstRow, Pane } from './pane.ts'
import { columnPath, type OutputField, type SelectedRows, selectRows } from './select-plan.ts'
import { TextIds } from './text-ids.ts'

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
/** Ids are combined pairwise in one double. */
const MAX_IDS = 2 ** 22

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
  const only = (e: Expression): boolean => {
    if (e.kind === 'column') return e.name === path[0]
    if (e.kind === 'wildcard' || e.kind === 'meta') return false
    return e.kind === 'alias' ? only(e.expression) : childrenOf(e).every(only)
  }
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
  const mostIds = Math.min(MAX_IDS, (dimensions.length + 1) * 2 * maxGroups)
  const scanned = types.length

  let ids: TextIds | null = null
  let settings: { readonly kernel: Kernel; readonly scan: ScanSettings } | null = null
  /** Ids of numbers by dimension, and of pairs of ids by dimension from the second on. */
  const numberIds = keys.map(() => new Map<number, number>())
  const pairIds = keys.map(() => new Map<number, number>())
  const pairTexts: string[] = []
  let rowIds = new Int32Array(0)
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
  const textIds = (): TextIds => {
    ids ??= new TextIds(mostIds)
    return ids
  }
  const source = (): { readonly kernel: Kernel; readonly settings: ScanSettings } => {
    const { kernel } = textIds()
    if (settings?.kernel !== kernel) {
      const shapeOf = (paths: readonly (readonly string[])[]) => encodeShape(paths, kernel.heapBase)
      settings = { kernel, scan: scanSettings(rows.columns, shapeOf, computed, 64, decode) }
    }
    return { kernel, settings: settings.scan }
  }

  const argumentOf = (batch: ScannedBatch, index: number): Argument => {
    const column = columns[index] as number
    return column < scanned
      ? { column: batch.columns[column] as Column, int64: types[column] === 'int' }
      : { column: batch.computed[column - scanned] as Column, int64: true }
  }

  function idOfText(text: string): number {
    return textIds().idOf(encodeUtf8(text))
  }

  /** Group keys are texts (spec/sql.md 2.11): a value that is not plain text is printed first. */
  function idOfCell(dimension: number, argument: Argument, row: number, batch: ScannedBatch): number {
    const { column, int64 } = argument
    const kind = column.kinds[row] as number
    if (kind === TEXT) {
      return textIds().idOf(batch.bytes.subarray((column.starts[row] as number) + 1, (column.ends[row] as number) - 1))
    }
    const number = column.numbers[row] as number
    // One number has one text, as long as it is always of one kind; -0 shares its place in a map with 0.
    const cacheable = kind >= INT && kind < TEXT && (!int64 || kind === INT) && !Object.is(number, -0)
    const known = numberIds[dimension] as Map<number, number>
    const cached = cacheable ? known.get(number) : undefined
    if (cached !== undefined) return cached
    const id = idOfText(goText(readCell(batch, argument, row)))
    if (cacheable && id >= 0 && known.size < mostIds) known.set(number, id)
    return id
  }

  /** The id of the whole key from those of its parts. */
  function combine(dimension: number, left: number, right: number, last: boolean): number {
    if (left < 0 || right < 0) return -1
    const known = pairIds[dimension] as Map<number, number>
    const pair = left * MAX_IDS + right
    let id = known.get(pair)
    if (id !== undefined) return id
    const { dictionary } = textIds()
    const head = dimension === 1 ? `${decodeUtf8(dictionary.text(left))},` : (pairTexts[left] as string)
    const text = `${head}${decodeUtf8(dictionary.text(right))},`
    if (last) {
      id = idOfText(text)
      if (id < 0) return id
    } else id = pairTexts.push(text) - 1
    if (known.size >= mostIds) return -1
    known.set(pair, id)
    return id
  }

  /** The id of a whole key when the dictionary has no room for its parts: known keys are still found. */
  function idOfWholeKey(batch: ScannedBatch, row: number): number {
    let text = ''
    for (const key of keys) text += `${goText(readCell(batch, argumentOf(batch, key), row))},`
    return idOfText(text)
  }

  /** Ids of the keys of the selected rows. */
  function identify(kernel: Kernel, batch: ScannedBatch, count: number): void {
    for (let d = 0; d < keys.length; d++) {
      const argument = argumentOf(batch, keys[d] as number)
      const fast =
        kernel === textIds().kernel ? textIds().dictionary.ids(columns[keys[d] as number] as number, count) : null
      const last = d === keys.length - 1
      if (fast && d === 0) {
        rowIds.set(fast)
        for (let i = 0; i < count; i++) {
          if ((fast[i] as number) < 0) rowIds[i] = idOfCell(d, argument, batch.selected[i] as number, batch)
        }
        continue
      }
      for (let i = 0; i < count; i++) {
        let id = fast ? (fast[i] as number) : -1
        if (id < 0) id = idOfCell(d, argument, batch.selected[i] as number, batch)
        rowIds[i] = d === 0 ? id : combine(d, rowIds[i] as number, id, last)
      }
    }
  }

  /** -1 when the window has no room for another group. */
  function groupOf(id: number, first: () => FirstRow): number {
    if (id >= 0) {
      const group = pane.find(id)
      if (group >= 0) return group
      if (pane.size < maxGroups) return pane.add(id, first(), time)
    }
    if (spec.limits.policy !== 'dropOldest') {
      broken ??= new IxionError('LIMIT', `the window has more than ${maxGroups} groups`, {
        hint: 'raise groupLimit of the rule, group by fewer values, or set limitPolicy to dropOldest',
      })
    }
    return -1
  }

  function newGroup(batch: ScannedBatch, row: number, id: number): number {
    const known = id < 0 && keys.length > 1 ? idOfWholeKey(batch, row) : id
    return groupOf(known, () => firstOf(batch, row))
  }

  function firstOf(batch: ScannedBatch, row: number): FirstRow {
    if (keyColumn !== null) {
      const { column } = argumentOf(batch, keys[0] as number)
      if (column.kinds[row] === TEXT) return null
    }
    return batch.bytes.slice(batch.rowStarts[row], batch.rowEnds[row])
  }

  const taker: RowTaker = {
    begin: () => 0,
    selected(kernel, batch, count) {
      if (rowIds.length < count) {
        rowIds = new Int32Array(batch.selected.length)
        rowGroups = new Int32Array(batch.selected.length)
      }
      identify(kernel, batch, count)
    },
    passed(_kernel, batch, from, to) {
      let { table } = pane
      for (let i = from; i < to; i++) {
        const id = keys.length === 0 ? 0 : (rowIds[i] as number)
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
        const list = (args[c] as readonly number[]).map((index) => argumentOf(batch, index))
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
      const id = keys.length === 0 ? 0 : idOfText(keyOf(row))
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
      setField(message, keyColumn as string, decodeUtf8(textIds().dictionary.text(p.keys[group] as number)))
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
    if (fired.rows > fired.overflow) out.consumed(fired.rows - fired.overflow)
    if (fired.overflow) out.discard('group_limit', fired.overflow)
    fired.reset()
    spare ??= fired
    if (panes.size === 0) forgetIds()
  }

  /** Between windows, when the dictionary holds more than a window's worth of groups. */
  function forgetIds(): void {
    if (ids === null || (ids.size <= maxGroups && pairTexts.length <= maxGroups)) return
    ids.clear()
    for (const map of [...numberIds, ...pairIds]) map.clear()
    pairTexts.length = 0
  }

  function fireDue(now: number, out: Emit): void {
    if (held === 0) ends.skipTo(now)
    while (ends.next !== null && ends.next <= now) {
      fire(out)
      if (held === 0) ends.skipTo(now)
    }
  }

  function savePane([end, p]: readonly [number, Pane]): Value {
    const groups = p.keys.map((id, g): Value => {
      const key = keys.length === 0 ? '' : decodeUtf8(textIds().dictionary.text(id))
      return [key, saveRow(firstRow(p, g)), p.accumulators.map((a) => a.save(g))]
    })
    return [end, p.rows, p.overflow, p.error?.message ?? null, groups]
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
      const s = state as { ends: State; panes: [number, number, number, string | null, [string, Value, Value[]][]][] }
      ends.load(s.ends)
      panes = new Map()
      held = 0
      for (const [end, rowCount, overflow, error, groups] of s.panes) {
        const p = paneOf(Number(end))
        p.rows = Number(rowCount)
        p.overflow = Number(overflow)
        p.error = error === null ? null : new RowError(error)
        held += p.rows
        for (const [key, first, states] of groups) {
          const row = loadRow(first)
          const group = p.add(keys.length === 0 ? 0 : idOfText(key), row.message, row.timestamp)
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

/** A cell's value as the general decoder gives it. */
function readCell(batch: ScannedBatch, { column, int64 }: Argument, row: number): Value {
  if ((column.kinds[row] as number) <= NULL) return null
  if (column.kinds[row] === RAW)
    return decodeCell(batch.bytes, column.starts[row] as number, column.ends[row] as number)
  const single: ColumnBatch = { ...batch, columns: [column] }
  return valueAt(single, 0, row, decodeCell, int64) ?? null
}

function decodeCell(bytes: Uint8Array, start: number, end: number): Value {
  return decodeJsonText(decodeUtf8(bytes.subarray(start, end)))
}
