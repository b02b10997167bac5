/**
 * The results of a window without an object per group: aggregates and first rows as columns, through HAVING and projection, to
 * the bytes of messages. A window with a value that has no columnar form is left to the general operators as a whole.
 */
import type { ResultOutput } from '../../core/columnar-output.ts'
import { type Column, INT } from '../../core/columns.ts'
import { RowError } from '../../core/errors.ts'
import type { WindowRange } from '../../core/row.ts'
import type { DecodeOptions } from '../../formats/contract.ts'
import {
  acquireKernel,
  type Kernel,
  kernelShape,
  releaseKernel,
  type ScannedBatch,
  type ScanSettings,
} from '../../kernel/kernel.ts'
import { loadProgram, type OutputProgram, programBytes } from '../../kernel/program.ts'
import type { HavingNode, PlanNode, ProjectNode, WindowNode } from '../../plan/logical.ts'
import { findNode } from '../../plan/nodes.ts'
import type { ExpressionContext } from '../expression.ts'
import type { GroupAccumulator, ResultClass } from './accumulate.ts'
import { type LoopPlan, loopPlanOf, outputColumns } from './generate.ts'
import { scanSettings } from './intake.ts'
import { type FindLoop, hasColumnarForm, loopFinder } from './loops.ts'
import { outputConstants, outputProgram } from './output-constants.ts'
import type { Pane } from './pane.ts'
import { type ColumnClass, outputFields, readColumns } from './select-plan.ts'

export interface ResultEncoder {
  /** Sends the results of a window; how many rows they are, or -1 when nothing was sent because they have no columnar form. */
  send(pane: Pane, window: WindowRange, output: ResultOutput): number
}

export interface ResultOptions {
  readonly expressions: ExpressionContext
  readonly decode: DecodeOptions
  /** Messages are single rows instead of the list of a window's rows. */
  readonly sendSingle: boolean
}

/** Calls with one value for all groups of a window (spec/sql.md 3.2). */
const windowCalls: readonly (readonly [name: string, value: (window: WindowRange) => number])[] = [
  ['window_start', (w) => w.start],
  ['window_end', (w) => w.end],
  ['window_trigger', (w) => w.trigger],
  ['event_time', (w) => w.trigger],
]

/** Null when HAVING or projection has no columnar form, or something else stands behind the window. */
export function compileResults(root: PlanNode, window: WindowNode, options: ResultOptions): ResultEncoder | null {
  const path = resultPath(root, window)
  const source = findNode(window, 'source')
  if (path === null || !source || !window.incremental) return null
  const { project, having } = path
  const outputs = outputFields(project)
  const read =
    outputs &&
    readColumns(source, [...(having ? [having.condition] : []), ...outputs.map((output) => output.expression)])
  if (!outputs || !read) return null
  const columnIndex = new Map(read.columnIndex)
  const own = read.columns.length
  const { calls } = window.incremental
  for (const { name } of calls) columnIndex.set(`computed ${name}`, columnIndex.size)
  for (const [name] of windowCalls) columnIndex.set(`call ${name}`, columnIndex.size)
  const constants = outputConstants(outputs)
  const plan: LoopPlan = {
    ...loopPlanOf({ filter: having, outputs, columnIndex }, constants.ranges, options.expressions),
    nullFails: true,
  }
  const typesOf = (classes: readonly ResultClass[]): ColumnClass[] => [
    ...read.columns.map((column) => column.type),
    ...classes,
    ...windowCalls.map(() => 'int' as const),
  ]
  if (!hasColumnarForm(plan, typesOf(calls.map(() => 'float')))) return null
  const { columns, computed } = outputColumns(plan)
  const program = outputProgram(outputs, columns, constants.bytes, ['{', options.sendSingle ? '}\n' : '},'])
  const added = columnIndex.size - own
  const finders = new Map<string, FindLoop>()
  const settings = scanSettings(read.columns, kernelShape, added + computed, programBytes(program), options.decode)
  return encoder({
    settings,
    added,
    program,
    sendSingle: options.sendSingle,
    loopsFor(classes) {
      const key = classes.join()
      let find = finders.get(key)
      if (!find) {
        find = loopFinder(plan, typesOf(classes))
        finders.set(key, find)
      }
      return find
    },
  })
}

/** Only HAVING may stand between the window and a projection of its groups. */
function resultPath(root: PlanNode, window: WindowNode): { project: ProjectNode; having: HavingNode | null } | null {
  if (root.kind !== 'project' || root.limit !== null || root.sendMeta) return null
  const { input } = root
  if (input === window) return { project: root, having: null }
  return input.kind === 'having' && input.input === window ? { project: root, having: input } : null
}

interface EncoderParts {
  readonly settings: ScanSettings
  /** Columns beside those of the first rows: aggregates, then the window's values. */
  readonly added: number
  readonly program: OutputProgram
  readonly sendSingle: boolean
  loopsFor(classes: readonly ResultClass[]): FindLoop
}

function encoder({ settings, added, program, sendSingle, loopsFor }: EncoderParts): ResultEncoder {
  const counts = new Uint32Array(2)
  function encodeGroups(
    text: ResultText,
    kernel: Kernel,
    pane: Pane,
    window: WindowRange,
    findLoop: FindLoop,
  ): boolean {
    const { firsts, aggregates, size } = pane
    const ranges = firsts.ranges.subarray(0, 2 * size)
    for (let at = 0; at < size; ) {
      const scanned = kernel.scanRanges(settings, firsts.bytes, ranges, at)
      const rows = scanned.rowCount
      if (rows === 0 || scanned.partial || scanned.failures.length > 0 || rows !== scanned.payloadsDone) return false
      const results = scanned.computed.slice(0, added)
      if (!fillResults(results, aggregates.calls, window, at, at + rows)) return false
      const batch: ScannedBatch = {
        ...scanned,
        columns: [...scanned.columns, ...results],
        computed: scanned.computed.slice(added),
      }
      const job = loadProgram(kernel, program)
      const loop = findLoop(batch)
      const { columns, computed, selected, undecided, bytes, others } = batch
      loop?.(rows, columns, computed, selected, undecided, counts, bytes, job.constants, others)
      if (!loop || counts[1] !== 0) return false
      const passed = counts[0] as number
      for (let done = 0; done < passed; ) {
        const n = kernel.encode(job, done, passed, (bytes, encoded) => text.add(bytes, encoded))
        if (n === 0) return false
        done += n
      }
      at += rows
    }
    return true
  }

  function encodeWindow(text: ResultText, pane: Pane, window: WindowRange): boolean {
    const classes = pane.aggregates.calls.map((a) => a.resultClass(pane.size))
    if (classes.includes(null)) return false
    const kernel = acquireKernel(settings)
    try {
      return encodeGroups(text, kernel, pane, window, loopsFor(classes as ResultClass[]))
    } finally {
      releaseKernel(kernel)
    }
  }

  return {
    send(pane, window, output) {
      if (pane.size === 0 || pane.objects.size > 0) return -1
      const text = idleTexts.pop() ?? new ResultText()
      text.clear(sendSingle)
      try {
        if (!encodeWindow(text, pane, window)) return -1
        return sendSingle ? text.sendLines(output) : text.sendList(output)
      } catch (error) {
        // An aggregate that fails does so again where the failure is reported.
        if (error instanceof RowError) return -1
        throw error
      } finally {
        idleTexts.push(text)
      }
    },
  }
}

function fillResults(
  results: readonly Column[],
  accumulators: readonly GroupAccumulator[],
  window: WindowRange,
  from: number,
  to: number,
): boolean {
  for (const column of results) column.kindMask = 0
  for (let i = 0; i < accumulators.length; i++) {
    if (!accumulators[i]?.fill(results[i] as Column, from, to)) return false
  }
  windowCalls.forEach(([, value], i) => {
    const column = results[accumulators.length + i] as Column
    column.kinds.fill(INT, 0, to - from)
    column.numbers.fill(value(window), 0, to - from)
    column.kindMask = 1 << INT
  })
  return true
}

const FIRST_SIZE = 64 * 1024
/** A buffer that one large window needed is not kept. */
const KEEP_SIZE = 8 * 1024 * 1024

/** Rules share them: there are as many as windows that fire inside each other. */
const idleTexts: ResultText[] = []

/** The encoded rows of one window, with the places where they may be cut: all of them are sent, or none. */
class ResultText {
  #buffer = new Uint8Array(FIRST_SIZE)
  #length = 0
  #rows = 0
  readonly #ends: number[] = []
  readonly #endRows: number[] = []

  /** `lines`: rows end with a line feed; otherwise with a comma, in a list. */
  clear(lines: boolean): void {
    if (this.#buffer.length > KEEP_SIZE) this.#buffer = new Uint8Array(FIRST_SIZE)
    this.#rows = this.#ends.length = this.#endRows.length = 0
    this.#length = lines ? 0 : 1
    if (!lines) this.#buffer[0] = 91
  }

  add(bytes: Uint8Array, rows: number): void {
    const needed = this.#length + bytes.length
    if (needed > this.#buffer.length) {
      const larger = new Uint8Array(Math.max(needed, 2 * this.#buffer.length))
      larger.set(this.#buffer.subarray(0, this.#length))
      this.#buffer = larger
    }
    this.#buffer.set(bytes, this.#length)
    this.#length = needed
    this.#rows += rows
    this.#ends.push(needed)
    this.#endRows.push(this.#rows)
  }

  sendLines(output: ResultOutput): number {
    let start = 0
    let sent = 0
    for (let i = 0; i < this.#ends.length; i++) {
      const end = this.#ends[i] as number
      const rows = this.#endRows[i] as number
      output.lines(this.#buffer.subarray(start, end), rows - sent)
      start = end
      sent = rows
    }
    return this.#rows
  }

  sendList(output: ResultOutput): number {
    if (this.#rows === 0) return 0
    this.#buffer[this.#length - 1] = 93
    output.message(this.#buffer.slice(0, this.#length), this.#rows)
    return this.#rows
  }
}
