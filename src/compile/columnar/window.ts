/**
 * Tumbling, hopping and event-time session windows that keep accumulators, fed with undecoded payloads: which plans have this form, and the way of a
 * payload's rows into the groups of their windows (window-groups.ts), in event time by way of the watermark (event-time.ts).
 */
import type { ChunkOutput } from '../../core/columnar-output.ts'
import type { IxionError } from '../../core/errors.ts'
import { makeRow } from '../../core/row.ts'
import type { ValueObject } from '../../core/values.ts'
import { acquireKernel, type Kernel, kernelShape, releaseKernel } from '../../kernel/kernel.ts'
import { encodeShape, type KernelShape } from '../../kernel/shape.ts'
import { nullIsFalse } from '../../operators/condition.ts'
import type { Operator } from '../../operators/contract.ts'
import type { WatermarkOptions } from '../../operators/watermark.ts'
import { type Aggregation, rowScope } from '../../operators/window/aggregation.ts'
import type { WindowSpec } from '../../operators/window/contract.ts'
import type { LogicalPlan, PlanNode, SourceNode, WindowNode } from '../../plan/logical.ts'
import { expressionsOf, findNode, inputsOf } from '../../plan/nodes.ts'
import { some } from '../../plan/tree.ts'
import type { Expression } from '../../sql/ast.ts'
import { compileExpression } from '../expression.ts'
import type { ColumnarEnvironment, PayloadChunk } from './contract.ts'
import { createEventTime, type EventTime, type ReleaseTarget } from './event-time.ts'
import { type LoopPlan, loopPlanOf, outputColumns } from './generate.ts'
import { createDecider, type IntakeCounts, type RowTaker, type ScanSource, scanChunk, scanSettings } from './intake.ts'
import { everyRow, hasColumnarForm, loopFinder } from './loops.ts'
import { outputConstants } from './output-constants.ts'
import { compileResults, type ResultEncoder } from './results.ts'
import {
  columnPath,
  isPlainJson,
  type OutputField,
  pathKey,
  readColumns,
  type SelectedRows,
  selectRows,
  type WantedColumn,
  withDeclared,
} from './select-plan.ts'
import { createWindowGroups, type WindowGroups, type WindowResults } from './window-groups.ts'

export type { WindowResults } from './window-groups.ts'

/** A plan whose window has a columnar form. */
export interface ColumnarWindowPlan {
  /** In event time: makes what takes the place of the plan's watermark operator, before {@link create}. */
  readonly watermark: ((options: WatermarkOptions, timestampOf: (message: ValueObject) => number) => Operator) | null
  create(options: ColumnarWindowOptions): ColumnarWindow
}

export interface ColumnarWindow {
  /** Takes the place of the plan's window operator. */
  readonly operator: Operator
  /** Results that have a columnar form leave encoded. Not called: all leave as rows. */
  connect(results: WindowResults): void
  /**
   * Decodes a chunk and brings its rows into their windows, in event time by way of the watermark. `received` = `filtered` +
   * `outside` + the events of `failed` and `discarded` calls + what `held` of the operators grew by.
   */
  process(delivery: { readonly chunk: PayloadChunk }, output: Pick<ChunkOutput, 'failed' | 'discarded'>): WindowCounts
}

export interface WindowCounts extends IntakeCounts {
  /** Rows of no window: its hop is longer than it. */
  readonly outside: number
  /** Event time up to which windows are due; null in processing time. */
  readonly watermark: number | null
  /** What the rule stops for, and in which of its operators. */
  readonly broken: { readonly operator: 'watermark' | 'window'; readonly error: IxionError } | null
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
export function planColumnarWindow(
  plan: LogicalPlan,
  environment: ColumnarWindowEnvironment,
): ColumnarWindowPlan | null {
  const planned = planWindow(plan, environment)
  if (!planned) return null
  const { arrival } = planned
  return arrival
    ? eventTimeWindow(planned, arrival, environment)
    : { watermark: null, create: (options) => processingTimeWindow(planned, environment, options) }
}

interface PlannedWindow {
  readonly rows: SelectedRows
  readonly loopPlan: LoopPlan
  /** Columns of the loop: dimensions, arguments per call (none = count(*)), and the condition of aggregated rows. */
  readonly keys: readonly number[]
  readonly args: readonly (readonly number[])[]
  readonly where: number | null
  /** Set when of a group's first row only this column is read, which is its key. */
  readonly keyColumn: string | null
  readonly results: ResultEncoder | null
  readonly arrival: Arrival | null
}

/** What is read of rows that come in event time, before they wait for the watermark. */
interface Arrival {
  readonly columns: readonly WantedColumn[]
  /** Number of the column with the time. */
  readonly timeColumn: number
}

function planWindow(plan: LogicalPlan, environment: ColumnarWindowEnvironment): PlannedWindow | null {
  const window = findNode(plan.root, 'window')
  const [input] = window?.inputs ?? []
  if (!window?.incremental || !input || window.inputs.length !== 1 || environment.decode.wholeNumbersAsInt64)
    return null
  if (!isPlain(window) || sendsMeta(plan.root)) return null
  const { dimensions, calls, where } = window.incremental
  if (dimensions.length > MAX_DIMENSIONS) return null
  const outputs: OutputField[] = []
  const output = (expression: Expression, condition = false): number =>
    outputs.push({
      name: String(outputs.length),
      expression,
      missing: 'omit',
      null: 'null',
      visible: true,
      condition,
    }) - 1
  const keys = dimensions.map((d) => output(d))
  const args: number[][] = []
  for (const { call } of calls) {
    const [only] = call.args
    if (only?.kind === 'wildcard') {
      if (call.name !== 'count' || call.args.length !== 1) return null
      args.push([])
    } else args.push(call.args.map((arg) => output(arg)))
  }
  const condition = where && output(where, true)
  const source = window.eventTime ? eventTimeSource(input) : null
  const arrival = source && arrivalOf(source)
  if (window.eventTime ? !arrival : where) return null
  const rows = source ? releasedRows(source, outputs) : selectRows(input, outputs)
  if (rows === null) return null
  const constants = outputConstants(outputs)
  // Nothing is encoded here, so text constants have no place to lie in: they cannot be grouped by or aggregated.
  if (constants.bytes.length > 0) return null
  const loopPlan = loopPlanOf(rows, constants.ranges, environment.expressions)
  if (!hasColumnarForm(loopPlan, typesOf(rows))) return null
  const { columns } = outputColumns(loopPlan)
  const { expressions, decode, sendSingle } = environment
  return {
    rows,
    loopPlan,
    keys: keys.map((key) => columns[key] as number),
    args: args.map((list) => list.map((arg) => columns[arg] as number)),
    where: condition === null ? null : (columns[condition] as number),
    keyColumn: readsOnlyKey(plan.root, window)
      ? ((columnPath(dimensions[0] as Expression) as string[])[0] as string)
      : null,
    results: sendSingle === null ? null : compileResults(plan.root, window, { expressions, decode, sendSingle }),
    arrival,
  }
}

const typesOf = (rows: { readonly columns: readonly WantedColumn[] }) => rows.columns.map((c) => c.type)

function isPlain({ window, filter, eventTime }: WindowNode): boolean {
  const { kind, length, interval } = window
  const hasForm =
    kind === 'tumbling' ||
    (kind === 'hopping' && length <= interval * MAX_OPEN_WINDOWS) ||
    (kind === 'session' && eventTime && interval > 0)
  return hasForm && filter === null && window.when === null && window.partition.length === 0
}

function sendsMeta(root: PlanNode): boolean {
  return findNode(root, 'project')?.sendMeta ?? false
}

/** The one stream of plain JSON below a watermark. */
function eventTimeSource(input: PlanNode): SourceNode | null {
  if (input.kind !== 'watermark') return null
  const [source, ...others] = input.inputs
  return source?.kind === 'source' && others.length === 0 && source.columns && isPlainJson(source) ? source : null
}

/** Null where the time is no column of integers. */
function arrivalOf(source: SourceNode): Arrival | null {
  const { timestamp } = source.definition.options
  if (!timestamp) return null
  const at = { line: 0, column: 0 }
  const read = readColumns(source, [{ kind: 'column', stream: null, name: timestamp, at }])
  const all = read && withDeclared(source, read)
  if (!all) return null
  const timeColumn = all.columnIndex.get(pathKey([timestamp])) as number
  const type = all.columns[timeColumn]?.type
  return type === 'dynamic' || type === 'int' ? { columns: all.columns, timeColumn } : null
}

/** Declared columns have been checked when the rows came. */
function releasedRows(source: SourceNode, outputs: readonly OutputField[]): SelectedRows | null {
  const read = readColumns(
    source,
    outputs.map((o) => o.expression),
  )
  return read && { source, filter: null, outputs, ...read }
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

function groupsOf(
  planned: PlannedWindow,
  { decoder }: ColumnarWindowEnvironment,
  options: ColumnarWindowOptions,
): WindowGroups {
  const { rows } = planned
  return createWindowGroups({ ...planned, ...options, emitter: rows.source.emitter, decoder, types: typesOf(rows) })
}

/** Scans in the kernel of the dictionary, with settings made for it. */
function scanSourceOf(
  { rows, loopPlan }: PlannedWindow,
  { decode }: ColumnarWindowEnvironment,
  groups: WindowGroups,
): ScanSource {
  let current: { readonly kernel: Kernel; readonly settings: ReturnType<typeof scanSettings> } | null = null
  return () => {
    const kernel = groups.kernel()
    if (current?.kernel !== kernel) {
      const shapeOf = (paths: readonly (readonly string[])[]): KernelShape => encodeShape(paths, kernel.heapBase)
      const settings = scanSettings(rows.columns, shapeOf, outputColumns(loopPlan).computed, 64, decode)
      current = { kernel, settings }
    }
    return current
  }
}

function windowLeft(groups: WindowGroups): Pick<WindowCounts, 'outside' | 'broken'> {
  const { outside, broken } = groups.finish()
  return { outside, broken: broken && { operator: 'window', error: broken } }
}

function processingTimeWindow(
  planned: PlannedWindow,
  environment: ColumnarWindowEnvironment,
  options: ColumnarWindowOptions,
): ColumnarWindow {
  const { rows, loopPlan } = planned
  const { decoder, decode, expressions } = environment
  const { emitter } = rows.source
  const types = typesOf(rows)
  const decider = createDecider({ decoder, types, findLoop: loopFinder(loopPlan, types) })
  const holds = rows.filter && nullIsFalse('Where', compileExpression(rows.filter.condition, expressions))
  const groups = groupsOf(planned, environment, options)
  const source = scanSourceOf(planned, environment, groups)
  let output: Pick<ChunkOutput, 'failed'>

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
      decider.open(taker, chunk.timestamp)
      scanChunk(source, chunk, decode, decider)
      return { ...decider.close(), watermark: null, ...windowLeft(groups) }
    },
  }
}

function eventTimeWindow(
  planned: PlannedWindow,
  { columns, timeColumn }: Arrival,
  environment: ColumnarWindowEnvironment,
): ColumnarWindowPlan {
  const { decoder, decode } = environment
  const { emitter } = planned.rows.source
  const types = columns.map((c) => c.type)
  const arriving = createDecider({ decoder, types, findLoop: everyRow })
  const releasing = createDecider({
    decoder,
    types: typesOf(planned.rows),
    findLoop: loopFinder(planned.loopPlan, typesOf(planned.rows)),
  })
  const settings = scanSettings(columns, kernelShape, 0, 64, decode)
  let eventTime: EventTime
  let target: ReleaseTarget
  let output: Pick<ChunkOutput, 'failed' | 'discarded'>

  const taker: RowTaker = {
    begin: () => 0,
    selected: () => {},
    passed(_kernel, batch, from, to, refuse) {
      eventTime.receive(batch, from, to, refuse)
    },
    mixed: () => {},
    message(message) {
      eventTime.receiveMessage(message)
      return true
    },
    failed(error, decoding) {
      output.failed(error, 1, decoding)
    },
  }
  /** Rows that are due leave after each scan: what waits is what has to. */
  const batches: typeof arriving = {
    ...arriving,
    take(kernel, batch) {
      arriving.take(kernel, batch)
      eventTime.release()
    },
  }

  return {
    watermark(options, timestampOf) {
      eventTime = createEventTime({ watermark: options, emitter, decoder, timeColumn, timestampOf }, () => target)
      return eventTime.operator
    },
    create(options) {
      const groups = groupsOf(planned, environment, options)
      let results: WindowResults | null = null
      target = {
        groups,
        decider: releasing,
        source: scanSourceOf(planned, environment, groups),
        released: (rows) => results?.released(rows),
      }
      return {
        operator: groups.operator,
        connect(to) {
          results = to
          groups.connect(to)
        },
        process({ chunk }, to) {
          output = to
          eventTime.begin({
            failed: (error) => to.failed(error, 1, true),
            discarded: (reason, events) => to.discarded(reason, events),
          })
          arriving.open(taker, chunk.timestamp)
          const kernel = acquireKernel(settings)
          try {
            scanChunk(() => ({ kernel, settings }), chunk, decode, batches)
          } finally {
            releaseKernel(kernel)
          }
          eventTime.release()
          const { watermark, broken } = eventTime.finish()
          const left = windowLeft(groups)
          const early = broken && { operator: 'watermark' as const, error: broken }
          return { ...arriving.close(), watermark, ...left, broken: early ?? left.broken }
        },
      }
    },
  }
}
