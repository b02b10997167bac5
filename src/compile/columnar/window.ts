/**
 * Tumbling and hopping windows that keep accumulators, fed with undecoded payloads: which plans have this form, and the way of a
 * payload's rows into the groups of their windows (window-groups.ts).
 */
import type { ColumnarOutput } from '../../core/columnar-output.ts'
import { makeRow } from '../../core/row.ts'
import type { ScanSettings } from '../../kernel/kernel.ts'
import { encodeShape } from '../../kernel/shape.ts'
import { nullIsFalse } from '../../operators/condition.ts'
import type { Operator } from '../../operators/contract.ts'
import { type Aggregation, rowScope } from '../../operators/window/aggregation.ts'
import type { WindowSpec } from '../../operators/window/contract.ts'
import type { LogicalPlan, PlanNode, WindowNode } from '../../plan/logical.ts'
import { expressionsOf, findNode, inputsOf } from '../../plan/nodes.ts'
import { some } from '../../plan/tree.ts'
import type { Expression } from '../../sql/ast.ts'
import { compileExpression } from '../expression.ts'
import type { ColumnarEnvironment, PayloadChunk } from './contract.ts'
import { type LoopPlan, loopPlanOf, outputColumns } from './generate.ts'
import { createIntake, type RowTaker, type ScanSource, scanSettings } from './intake.ts'
import { hasColumnarForm, loopFinder } from './loops.ts'
import { outputConstants } from './output-constants.ts'
import { compileResults, type ResultEncoder } from './results.ts'
import { columnPath, type OutputField, type SelectedRows, selectRows } from './select-plan.ts'
import { createWindowGroups, type WindowGroups, type WindowResults } from './window-groups.ts'

export type { WindowResults } from './window-groups.ts'

export interface ColumnarWindow {
  /** Takes the place of the plan's window operator. */
  readonly operator: Operator
  /** Results that have a columnar form leave encoded. Not called: all leave as rows. */
  connect(results: WindowResults): void
  /**
   * Decodes, filters and aggregates a chunk. `received` = `filtered` + `outside` (rows of no window: its hop is longer than it)
   * + the events of `failed` calls + what `operator.held` grew by.
   */
  process(delivery: { readonly chunk: PayloadChunk }, output: Pick<ColumnarOutput, 'failed'>): WindowCounts
}

export interface WindowCounts {
  readonly received: number
  readonly filtered: number
  readonly outside: number
}

export interface ColumnarWindowOptions {
  readonly spec: WindowSpec
  readonly aggregation: Aggregation
}

export interface ColumnarWindowEnvironment extends Omit<ColumnarEnvironment, 'sendSingle'> {
  /** Form of encoded results; null = results leave as rows. */
  readonly sendSingle: boolean | null
}

const MAX_DIMENSIONS = 8
/** A row is added to every open window. */
const MAX_OPEN_WINDOWS = 16

/** Null when the plan's window, or an expression below it, has no columnar form. */
export function compileColumnarWindow(
  plan: LogicalPlan,
  environment: ColumnarWindowEnvironment,
  options: ColumnarWindowOptions,
): ColumnarWindow | null {
  const planned = planWindow(plan, environment)
  return planned && createWindow(planned, environment, options)
}

interface PlannedWindow {
  readonly rows: SelectedRows
  readonly loopPlan: LoopPlan
  /** Columns of the loop: dimensions, and arguments per call (none = count(*)). */
  readonly keys: readonly number[]
  readonly args: readonly (readonly number[])[]
  /** Set when of a group's first row only this column is read, which is its key. */
  readonly keyColumn: string | null
  readonly results: ResultEncoder | null
}

function planWindow(plan: LogicalPlan, environment: ColumnarWindowEnvironment): PlannedWindow | null {
  const window = findNode(plan.root, 'window')
  const [input] = window?.inputs ?? []
  if (!window?.incremental || !input || window.inputs.length !== 1 || environment.decode.wholeNumbersAsInt64)
    return null
  if (!isPlain(window) || sendsMeta(plan.root)) return null
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
  const constants = outputConstants(outputs)
  // Nothing is encoded here, so text constants have no place to lie in: they cannot be grouped by or aggregated.
  if (constants.bytes.length > 0) return null
  const loopPlan = loopPlanOf(rows, constants.ranges, environment.expressions)
  if (
    !hasColumnarForm(
      loopPlan,
      rows.columns.map((c) => c.type),
    )
  )
    return null
  const { columns } = outputColumns(loopPlan)
  const { expressions, decode, sendSingle } = environment
  return {
    rows,
    loopPlan,
    keys: keys.map((key) => columns[key] as number),
    args: args.map((list) => list.map((arg) => columns[arg] as number)),
    keyColumn: readsOnlyKey(plan.root, window)
      ? ((columnPath(dimensions[0] as Expression) as string[])[0] as string)
      : null,
    results: sendSingle === null ? null : compileResults(plan.root, window, { expressions, decode, sendSingle }),
  }
}

function isPlain({ window, filter, eventTime, incremental }: WindowNode): boolean {
  const isAligned =
    window.kind === 'tumbling' || (window.kind === 'hopping' && window.length <= window.interval * MAX_OPEN_WINDOWS)
  return (
    isAligned &&
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

function createWindow(
  { rows, loopPlan, keys, args, keyColumn, results }: PlannedWindow,
  { decoder, decode, expressions }: ColumnarWindowEnvironment,
  options: ColumnarWindowOptions,
): ColumnarWindow {
  const { emitter } = rows.source
  const types = rows.columns.map((c) => c.type)
  const intake = createIntake({ decoder, decode, types, findLoop: loopFinder(loopPlan, types) })
  const holds = rows.filter && nullIsFalse('Where', compileExpression(rows.filter.condition, expressions))
  const groups = createWindowGroups({
    ...options,
    emitter,
    decoder,
    types,
    keys,
    args,
    where: null,
    keyColumn,
    results,
  })
  const source = scanSourceOf(groups, (kernel) => {
    const shapeOf = (paths: readonly (readonly string[])[]) => encodeShape(paths, kernel.heapBase)
    return scanSettings(rows.columns, shapeOf, outputColumns(loopPlan).computed, 64, decode)
  })
  let output: Pick<ColumnarOutput, 'failed'>

  const taker: RowTaker = {
    begin: () => 0,
    selected: (kernel, batch, count) => groups.identify(kernel, batch, count),
    passed: (_kernel, batch, from, to) => groups.add(batch, from, to),
    mixed: () => {},
    message(message, timestamp) {
      const row = makeRow(emitter, message, timestamp)
      if (holds && !holds(row, rowScope)) return false
      groups.addRow(row)
      return true
    },
    failed(error, decoding) {
      output.failed(error, 1, decoding)
    },
  }

  return {
    operator: groups.operator,
    connect: groups.connect,
    process({ chunk }, to) {
      output = to
      groups.at(chunk.timestamp)
      const counts = intake(source, chunk, taker)
      return { ...counts, outside: groups.finish() }
    },
  }
}

/** Scans in the kernel of the dictionary, with settings made for it. */
export function scanSourceOf(
  groups: WindowGroups,
  settingsFor: (kernel: ReturnType<WindowGroups['kernel']>) => ScanSettings,
): ScanSource {
  let current: ReturnType<ScanSource> | null = null
  return () => {
    const kernel = groups.kernel()
    if (current?.kernel !== kernel) current = { kernel, settings: settingsFor(kernel) }
    return current
  }
}
