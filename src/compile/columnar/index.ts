/**
 * The columnar lane: a stateless rule over JSON as one synchronous chain from payload bytes to message bytes. Results are
 * those of the general lane, by construction for the rows it cannot decide and by differential test for the others.
 */
import type { Column } from '../../core/columns.ts'
import { IxionError, RowError } from '../../core/errors.ts'
import { quoteJson } from '../../core/json-encode.ts'
import { encodeUtf8 } from '../../core/utf8.ts'
import type { ValueObject } from '../../core/values.ts'
import type { Kernel, ScanFailure, ScannedBatch, ScanSettings } from '../../kernel/kernel.ts'
import { acquireKernel, kernelShape, releaseKernel } from '../../kernel/kernel.ts'
import { loadProgram, type OutputProgram, programBytes } from '../../kernel/program.ts'
import type { LogicalPlan } from '../../plan/logical.ts'
import type { Expression } from '../../sql/ast.ts'
import type { ColumnarChain, ColumnarCounts, ColumnarEnvironment, ColumnarOutput, PayloadChunk } from './contract.ts'
import { generalLane } from './general.ts'
import { generateLoop, type Loop, type LoopPlan, outputColumns, Unsupported } from './generate.ts'
import { OutputText } from './output-text.ts'
import { type SelectedPlan, selectPlan } from './select-plan.ts'
import { fitsDeclaration, signatureKey, signatureOf } from './signature.ts'

export type { ColumnarChain, ColumnarCounts, ColumnarEnvironment, ColumnarOutput, PayloadChunk } from './contract.ts'

/** Loops kept per rule; a stream that shows more combinations of kinds than this starts over. */
const MAX_LOOPS = 32

/** Null when the plan, or one of its expressions, has no columnar form. */
export function compileColumnar(plan: LogicalPlan, environment: ColumnarEnvironment): ColumnarChain | null {
  if (environment.decode.wholeNumbersAsInt64) return null
  const selected = selectPlan(plan.root)
  if (selected === null) return null
  const constants = outputConstants(selected)
  const loopPlan: LoopPlan = {
    filter: selected.filter?.condition ?? null,
    outputs: selected.outputs,
    columnIndex: selected.columnIndex,
    constants: constants.ranges,
    functions: environment.expressions.functions,
    rawLike: environment.expressions.rawLike ?? false,
  }
  if (!hasColumnarForm(loopPlan, selected)) return null
  return createChain(selected, loopPlan, constants.bytes, environment)
}

/** Tries the kinds a stream most likely has: numbers everywhere, or text where a column's neighbours are text. */
function hasColumnarForm(plan: LoopPlan, selected: SelectedPlan): boolean {
  const attempt = (mask: number): boolean => {
    try {
      generateLoop(
        plan,
        selected.columns.map((c) => signatureOf(mask, c.type)),
      )
      return true
    } catch (error) {
      if (error instanceof Unsupported) return false
      throw error
    }
  }
  const everyKind = -1 >>> 19
  return attempt(everyKind) || attempt(TEXT_ONLY)
}
const TEXT_ONLY = 1 << 7

/** Text literals of the outputs, as the JSON text that the kernel copies. */
function outputConstants(plan: SelectedPlan): { bytes: Uint8Array; ranges: LoopPlan['constants'] } {
  const ranges = new Map<string, { offset: number; length: number }>()
  const parts: number[] = []
  const visit = (e: Expression): void => {
    if (e.kind === 'string' && !ranges.has(e.value)) {
      const bytes = encodeUtf8(quoteJson(e.value))
      ranges.set(e.value, { offset: parts.length, length: bytes.length })
      parts.push(...bytes)
    }
    if (e.kind === 'alias' || e.kind === 'parenthesis') visit(e.expression)
    if (e.kind === 'case') {
      for (const b of e.branches) visit(b.then)
      if (e.otherwise) visit(e.otherwise)
    }
  }
  for (const o of plan.outputs) visit(o.expression)
  return { bytes: Uint8Array.from(parts), ranges }
}

function outputProgram(
  plan: SelectedPlan,
  columns: readonly number[],
  constants: Uint8Array,
  single: boolean,
): OutputProgram {
  const visible = plan.outputs.filter((o) => o.visible)
  return {
    columns: visible.map((o, i) => ({
      key: encodeUtf8(`${quoteJson(o.name)}:`),
      column: columns[i] as number,
      missing: o.missing,
      null: o.null,
    })),
    open: encodeUtf8(single ? '{' : '[{'),
    close: encodeUtf8(single ? '}\n' : '}]\n'),
    constants,
  }
}

function createChain(
  plan: SelectedPlan,
  loopPlan: LoopPlan,
  constants: Uint8Array,
  environment: ColumnarEnvironment,
): ColumnarChain {
  const { decoder, decode } = environment
  const { columns, computed } = outputColumns(loopPlan)
  const program = outputProgram(plan, columns, constants, environment.sendSingle)
  const types = plan.columns.map((c) => c.type)
  const typed = types.some((t) => t !== 'dynamic')
  const general = generalLane(plan, environment)
  const loops = new Map<string, Loop | null>()
  /** Kinds of the last batch's columns, and the loop for them; undefined before the first. */
  const lastMasks = new Uint32Array(types.length)
  let lastLoop: Loop | null | undefined
  const counts = new Uint32Array(2)
  const out = new OutputText()
  const settings: ScanSettings = {
    shape: kernelShape(plan.columns.map((c) => c.path)),
    computed,
    programBytes: programBytes(program),
    maxDepth: Math.min(decode.maxDepth, MAX_DEPTH),
  }
  let active = false
  let nested: ColumnarChain | null = null

  // Of the process call in progress.
  let output: ColumnarOutput
  let timestamp = 0
  let received = 0
  let emitted = 0
  let filtered = 0

  const write = (bytes: Uint8Array, rows: number): void => {
    emitted += rows
    out.bytes(bytes, rows, output)
  }

  function failed(error: unknown, decoding: boolean): void {
    if (!(error instanceof RowError) && !(error instanceof IxionError)) throw error
    out.flush(output)
    output.failed(error, 1, decoding)
  }

  function generalRow(message: ValueObject): void {
    const result = general(message, timestamp)
    if (result === null) filtered++
    else if (typeof result === 'string') {
      emitted++
      out.text(result, output)
    } else failed(result, false)
  }

  /** A whole payload, as the general decoder sees it. */
  function generalPayload(payload: Uint8Array): void {
    let rows: ValueObject[]
    try {
      rows = decoder.decode(payload)
    } catch (error) {
      received++
      failed(error, true)
      return
    }
    received += rows.length
    for (const row of rows) generalRow(row)
  }

  function loopFor(batch: ScannedBatch): Loop | null {
    let known = lastLoop !== undefined
    for (let i = 0; i < lastMasks.length; i++) {
      const { kindMask } = batch.columns[i] as Column
      if (lastMasks[i] === kindMask) continue
      lastMasks[i] = kindMask
      known = false
    }
    if (!known) lastLoop = findLoop(batch)
    return lastLoop as Loop | null
  }

  function findLoop(batch: ScannedBatch): Loop | null {
    const key = signatureKey(batch.columns, types)
    let loop = loops.get(key)
    if (loop === undefined) {
      if (loops.size >= MAX_LOOPS) loops.clear()
      try {
        loop = generateLoop(
          loopPlan,
          batch.columns.map((c, i) => signatureOf(c.kindMask, types[i] as (typeof types)[number])),
        )
      } catch (error) {
        if (!(error instanceof Unsupported)) throw error
        loop = null
      }
      loops.set(key, loop)
    }
    return loop
  }

  /** Rows and failures of one scan, in order. */
  function take(k: Kernel, batch: ScannedBatch): void {
    const { rowCount, failures } = batch
    const unfit = typed ? unfitPayloads(batch, types) : null
    received += rowCount
    let pass = 0
    let undecided = 0
    const job = loadProgram(k, program)
    const loop = loopFor(batch)
    if (loop) {
      loop(rowCount, batch.columns, batch.computed, batch.selected, batch.undecided, counts, batch.bytes, job.constants)
      pass = counts[0] as number
      undecided = counts[1] as number
    } else {
      for (let r = 0; r < rowCount; r++) batch.undecided[r] = r
      undecided = rowCount
    }
    filtered += rowCount - pass - undecided
    const encode = (from: number, to: number): void => {
      for (let at = from; at < to; ) {
        const n = k.encode(job, at, to, write)
        if (n === 0) undecidedRow(batch, batch.selected[at] as number)
        at += n || 1
      }
    }
    if (undecided === 0 && failures.length === 0 && unfit === null) {
      out.flush(output)
      encode(0, pass)
      return
    }
    takeMixed(batch, pass, undecided, unfit, encode)
  }

  /** The slow merge of passing rows, undecided rows and failed payloads. */
  function takeMixed(
    batch: ScannedBatch,
    pass: number,
    undecided: number,
    unfit: ReadonlySet<number> | null,
    encode: (from: number, to: number) => void,
  ): void {
    const { selected, undecided: bails, rowPayloads, failures, rowCount } = batch
    // The failures' bytes, and undecided rows, lie in memory that encoding does not touch.
    let nextPass = 0
    let nextBail = 0
    let nextFailure = 0
    let row = 0
    while (row < rowCount || nextFailure < failures.length) {
      const failure = failures[nextFailure]
      if (failure && (row >= rowCount || failure.payload < (rowPayloads[row] as number))) {
        nextFailure++
        generalPayload(failedBytes(batch, failure))
        continue
      }
      const payload = rowPayloads[row] as number
      if (unfit?.has(payload)) {
        const first = row
        while (row < rowCount && rowPayloads[row] === payload) {
          // what the loop has counted for these rows is taken back
          if (selected[nextPass] === row && nextPass < pass) nextPass++
          else if (bails[nextBail] === row && nextBail < undecided) nextBail++
          else filtered--
          row++
        }
        received -= row - first
        generalRows(batch, first, row)
        continue
      }
      if (nextBail < undecided && bails[nextBail] === row) {
        nextBail++
        undecidedRow(batch, row++)
        continue
      }
      // as many passing rows as come before anything else
      let stop = nextBail < undecided ? (bails[nextBail] as number) : rowCount
      if (failure) stop = firstRow(rowPayloads, row, stop, (payload) => payload >= failure.payload)
      if (unfit) stop = firstRow(rowPayloads, row, stop, (payload) => unfit.has(payload))
      const from = nextPass
      while (nextPass < pass && (selected[nextPass] as number) < stop) nextPass++
      out.collect()
      encode(from, nextPass)
      row = stop
    }
    out.flush(output)
  }

  function undecidedRow(batch: ScannedBatch, row: number): void {
    let message: ValueObject
    try {
      message = decodeRow(batch, row)
    } catch (error) {
      failed(error, true)
      return
    }
    generalRow(message)
  }

  function decodeRow(batch: ScannedBatch, row: number): ValueObject {
    const text = batch.bytes.slice(batch.rowStarts[row], batch.rowEnds[row])
    return decoder.decode(text)[0] as ValueObject
  }

  /** Rows of one payload whose values may not be of the declared types: all of them are good, or none is (spec/sql.md 2.2). */
  function generalRows(batch: ScannedBatch, first: number, end: number): void {
    const rows: ValueObject[] = []
    try {
      for (let r = first; r < end; r++) rows.push(decodeRow(batch, r))
    } catch (error) {
      received++
      failed(error, true)
      return
    }
    received += rows.length
    for (const row of rows) generalRow(row)
  }

  function failedBytes(batch: ScannedBatch, failure: ScanFailure): Uint8Array {
    return batch.bytes.slice(failure.start, failure.end)
  }

  /** An array with more rows than a batch holds, the first of which are in `batch`. */
  function takePartial(k: Kernel, batch: ScannedBatch): void {
    const range = typed ? null : k.checkRest()
    if (range === null || range.rows > decode.maxRows || range.end - range.start > decode.maxPayloadBytes) {
      const whole = k.partialRange()
      generalPayload(batch.bytes.slice(whole.start, whole.end))
      return
    }
    let part = batch
    for (;;) {
      take(k, part)
      if (!part.partial) return
      part = k.scanRest(settings)
    }
  }

  function takeBatch(k: Kernel, batch: ScannedBatch): void {
    if (batch.partial) takePartial(k, batch)
    else take(k, batch)
  }

  /** True when one payload alone has more rows than allowed. */
  function tooManyRows(batch: ScannedBatch): boolean {
    if (batch.rowCount <= decode.maxRows || batch.partial) return false
    for (let r = decode.maxRows; r < batch.rowCount; r++) {
      if (batch.rowPayloads[r] === batch.rowPayloads[r - decode.maxRows]) return true
    }
    return false
  }

  function takeLines(k: Kernel, text: Uint8Array): void {
    let at = 0
    while (at < text.length) {
      const batch = k.scanLines(settings, text, at, true)
      if (batch === null) return
      const end = at + batch.consumed
      if (batch.consumed > decode.maxPayloadBytes || tooManyRows(batch)) {
        for (const line of linesOf(text.subarray(at, end))) generalPayload(line)
      } else takeBatch(k, batch)
      at = end
    }
  }

  function takeListed(k: Kernel, chunk: PayloadChunk): void {
    const { packed, payloads } = chunk
    const total = packed ? packed.ranges.length / 2 : payloads.length
    const payloadAt = (i: number): Uint8Array =>
      packed ? packed.bytes.subarray(packed.ranges[2 * i], packed.ranges[2 * i + 1]) : (payloads[i] as Uint8Array)
    let at = 0
    while (at < total) {
      if (payloadAt(at).length > decode.maxPayloadBytes) {
        generalPayload(payloadAt(at++))
        continue
      }
      const batch = packed
        ? k.scanRanges(settings, packed.bytes, packed.ranges, at)
        : k.scanPayloads(settings, payloads, at)
      // A partial batch is one payload that is not finished yet.
      const end = at + (batch.partial ? 1 : batch.payloadsDone)
      if (tooManyRows(batch) || hasLarge(at, end, payloadAt)) {
        for (let i = at; i < end; i++) generalPayload(payloadAt(i))
      } else takeBatch(k, batch)
      at = end
    }
  }

  function hasLarge(from: number, to: number, payloadAt: (i: number) => Uint8Array): boolean {
    // Payloads above the limit are long: a batch of several holds at most one piece of bytes.
    if (decode.maxPayloadBytes >= 1 << 20) return false
    for (let i = from; i < to; i++) if (payloadAt(i).length > decode.maxPayloadBytes) return true
    return false
  }

  return {
    process(delivery, to): ColumnarCounts {
      if (active) {
        nested ??= createChain(plan, loopPlan, constants, environment)
        return nested.process(delivery, to)
      }
      const { chunk } = delivery
      const kernel = acquireKernel()
      active = true
      output = to
      timestamp = chunk.timestamp
      received = emitted = filtered = 0
      try {
        if (chunk.framing === 'lines' && !chunk.packed) for (const text of chunk.payloads) takeLines(kernel, text)
        else takeListed(kernel, chunk)
        out.flush(to)
      } finally {
        active = false
        releaseKernel(kernel)
      }
      return { received, emitted, filtered }
    },
  }
}

/** The general decoder's own limit. */
const MAX_DEPTH = 2000

/** Payloads with a value that the declared type does not take as it is; null = none. */
function unfitPayloads(
  batch: ScannedBatch,
  types: readonly Parameters<typeof fitsDeclaration>[1][],
): ReadonlySet<number> | null {
  let unfit: Set<number> | null = null
  for (let c = 0; c < types.length; c++) {
    const type = types[c] as (typeof types)[number]
    const column = batch.columns[c] as Column
    if (fitsDeclaration(column.kindMask, type)) continue
    unfit ??= new Set()
    for (let r = 0; r < batch.rowCount; r++) {
      if (!fitsDeclaration(1 << (column.kinds[r] as number), type)) unfit.add(batch.rowPayloads[r] as number)
    }
  }
  return unfit
}

/** First row from `row` on whose payload passes the test, else `end`. */
function firstRow(rowPayloads: Uint32Array, row: number, end: number, test: (payload: number) => boolean): number {
  while (row < end && !test(rowPayloads[row] as number)) row++
  return row
}

function* linesOf(text: Uint8Array): Iterable<Uint8Array> {
  let start = 0
  while (start < text.length) {
    const feed = text.indexOf(10, start)
    const end = feed < 0 ? text.length : feed
    const line = text.subarray(start, end)
    if (line.some((byte) => byte !== 32 && byte !== 9 && byte !== 13)) yield line
    start = end + 1
  }
}
