/**
 * From payload chunks to decided rows: scans batches, runs a rule's loop over them, and hands on, in order, ranges of passing
 * rows and the messages that only the general evaluator can decide. Several rules may decide on the rows of one scan.
 */
import type { Column } from '../../core/columns.ts'
import { IxionError, RowError } from '../../core/errors.ts'
import type { ValueObject } from '../../core/values.ts'
import type { DecodeOptions, Decoder } from '../../formats/contract.ts'
import type { Kernel, ScanFailure, ScannedBatch, ScanSettings } from '../../kernel/kernel.ts'
import type { KernelShape } from '../../kernel/shape.ts'
import type { PayloadChunk } from './contract.ts'
import type { FindLoop } from './loops.ts'
import type { ColumnClass, WantedColumn } from './select-plan.ts'
import { fitsDeclaration } from './signature.ts'

/** Who takes the rows. */
export interface RowTaker {
  /** Before the loop runs over a batch: the address of constants in the kernel's memory. */
  begin(kernel: Kernel, batch: ScannedBatch): number
  /** After it: `count` rows are selected. */
  selected(kernel: Kernel, batch: ScannedBatch, count: number): void
  /** Selected rows number `from` to `to` are next. `refuse` gives one of them to the general evaluator. */
  passed(kernel: Kernel, batch: ScannedBatch, from: number, to: number, refuse: (row: number) => void): void
  /** A batch whose rows come in many small parts begins and ends. */
  mixed(begins: boolean): void
  /** A message for the general evaluator; false = filtered. `payload`: its number in the batch, -1 = it is of no batch. */
  message(message: ValueObject, timestamp: number, payload: number): boolean
  failed(error: Error, decoding: boolean): void
}

export interface DeciderOptions {
  readonly decoder: Decoder
  readonly types: readonly ColumnClass[]
  readonly findLoop: FindLoop
}

export interface IntakeOptions extends DeciderOptions {
  readonly decode: DecodeOptions
}

/** Takes what scans give, in order. */
export interface BatchTaker {
  /** Columns have declared types: the rows of a payload stand or fall together. */
  readonly typed: boolean
  /** Rows and failures of one scan. `list`: of its rows only these can pass; then there are no failures. */
  take(kernel: Kernel, batch: ScannedBatch, list?: readonly number[]): void
  /** A whole payload, for the general decoder. */
  payload(bytes: Uint8Array): void
}

/** One rule's decisions, between `open` and `close`. Not re-entrant. */
export interface Decider extends BatchTaker {
  open(taker: RowTaker, timestamp: number): void
  /** Rows of which it is known that none passes. */
  skip(rows: number): void
  close(): IntakeCounts
}

/** Limits of payloads, as the general decoder has them. */
export type ScanLimits = Pick<DecodeOptions, 'maxRows' | 'maxPayloadBytes'>

export interface IntakeCounts {
  readonly received: number
  readonly filtered: number
}

/** The general decoder's own limit. */
const MAX_DEPTH = 2000

export function scanSettings(
  columns: readonly WantedColumn[],
  shapeOf: (paths: readonly (readonly string[])[]) => KernelShape,
  computed: number,
  programBytes: number,
  decode: DecodeOptions,
): ScanSettings {
  return {
    shape: shapeOf(columns.map((c) => c.path)),
    computed,
    programBytes,
    maxDepth: Math.min(decode.maxDepth, MAX_DEPTH),
  }
}

/** Where a batch is scanned. Asked for before each one: a kernel whose dictionary grew is another one. */
export type ScanSource = () => { readonly kernel: Kernel; readonly settings: ScanSettings }

/** The kernels are the caller's until the call returns. Not re-entrant. */
export type Intake = (source: ScanSource, chunk: PayloadChunk, taker: RowTaker) => IntakeCounts

export function createIntake({ decode, ...options }: IntakeOptions): Intake {
  const decider = createDecider(options)
  return (source, chunk, taker) => {
    decider.open(taker, chunk.timestamp)
    scanChunk(source, chunk, decode, decider)
    return decider.close()
  }
}

export function createDecider({ decoder, types, findLoop }: DeciderOptions): Decider {
  const typed = types.some((t) => t !== 'dynamic')
  const counts = new Uint32Array(2)

  // Since the last open.
  let taker: RowTaker
  let timestamp = 0
  let received = 0
  let filtered = 0

  function failed(error: unknown, decoding: boolean): void {
    if (!(error instanceof RowError) && !(error instanceof IxionError)) throw error
    taker.failed(error, decoding)
  }

  function generalRow(message: ValueObject, payload: number): void {
    let kept: boolean
    try {
      kept = taker.message(message, timestamp, payload)
    } catch (error) {
      failed(error, false)
      return
    }
    if (!kept) filtered++
  }

  /** A whole payload, as the general decoder sees it. */
  function generalPayload(bytes: Uint8Array, payload = -1): void {
    generalRows(() => decoder.decode(bytes), payload)
  }

  /** Rows of one payload: all of them are good, or none is. */
  function generalRows(decode: () => ValueObject[], payload: number): void {
    let rows: ValueObject[]
    try {
      rows = decode()
    } catch (error) {
      received++
      failed(error, true)
      return
    }
    received += rows.length
    for (const row of rows) generalRow(row, payload)
  }

  /** Rows and failures of one scan, in order. */
  function take(k: Kernel, batch: ScannedBatch, list?: readonly number[]): void {
    const { rowCount, failures } = batch
    const unfit = typed ? unfitPayloads(batch, types) : null
    received += rowCount
    let pass = 0
    let undecided = 0
    const constants = taker.begin(k, batch)
    const loop = findLoop(batch, list !== undefined)
    if (loop) {
      const { columns, computed, selected, undecided: bails, bytes, others } = batch
      loop(list?.length ?? rowCount, columns, computed, selected, bails, counts, bytes, constants, others, list)
      pass = counts[0] as number
      undecided = counts[1] as number
    } else {
      for (let r = 0; r < rowCount; r++) batch.undecided[r] = r
      undecided = rowCount
    }
    filtered += rowCount - pass - undecided
    taker.selected(k, batch, pass)
    const refuse = (row: number): void => undecidedRow(batch, row)
    const hand = (from: number, to: number): void => taker.passed(k, batch, from, to, refuse)
    if (undecided === 0 && failures.length === 0 && unfit === null) {
      if (pass > 0) hand(0, pass)
      return
    }
    taker.mixed(true)
    takeMixed(batch, pass, undecided, unfit, hand)
    taker.mixed(false)
  }

  /** The slow merge of passing rows, undecided rows and failed payloads. */
  function takeMixed(
    batch: ScannedBatch,
    pass: number,
    undecided: number,
    unfit: ReadonlySet<number> | null,
    hand: (from: number, to: number) => void,
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
        generalPayload(failedBytes(batch, failure), failure.payload)
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
        const end = row
        generalRows(() => decodeRows(batch, first, end), payload)
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
      if (nextPass > from) hand(from, nextPass)
      row = stop
    }
  }

  function undecidedRow(batch: ScannedBatch, row: number): void {
    let message: ValueObject
    try {
      message = decodeRow(batch, row)
    } catch (error) {
      failed(error, true)
      return
    }
    generalRow(message, batch.rowPayloads[row] as number)
  }

  function decodeRow(batch: ScannedBatch, row: number): ValueObject {
    const text = batch.bytes.slice(batch.rowStarts[row], batch.rowEnds[row])
    return decoder.decode(text)[0] as ValueObject
  }

  /** Rows of one payload whose values may not be of the declared types (spec/sql.md 2.2). */
  function decodeRows(batch: ScannedBatch, first: number, end: number): ValueObject[] {
    const rows: ValueObject[] = []
    for (let r = first; r < end; r++) rows.push(decodeRow(batch, r))
    return rows
  }

  function failedBytes(batch: ScannedBatch, failure: ScanFailure): Uint8Array {
    return batch.bytes.slice(failure.start, failure.end)
  }

  return {
    typed,
    take,
    payload: (bytes) => generalPayload(bytes),
    open(rows, time) {
      taker = rows
      timestamp = time
      received = filtered = 0
    },
    skip(rows) {
      received += rows
      filtered += rows
    },
    close: () => ({ received, filtered }),
  }
}

/** Scans a chunk from its first payload to its last. */
export function scanChunk(source: ScanSource, chunk: PayloadChunk, limits: ScanLimits, to: BatchTaker): void {
  const { maxRows, maxPayloadBytes } = limits

  /** An array with more rows than a batch holds, the first of which are in `batch`. */
  function takePartial(k: Kernel, settings: ScanSettings, batch: ScannedBatch): void {
    const range = to.typed ? null : k.checkRest()
    if (range === null || range.rows > maxRows || range.end - range.start > maxPayloadBytes) {
      const whole = k.partialRange()
      to.payload(batch.bytes.slice(whole.start, whole.end))
      return
    }
    let part = batch
    for (;;) {
      to.take(k, part)
      if (!part.partial) return
      part = k.scanRest(settings)
    }
  }

  function takeBatch(k: Kernel, settings: ScanSettings, batch: ScannedBatch): void {
    if (batch.partial) takePartial(k, settings, batch)
    else to.take(k, batch)
  }

  /** True when one payload alone has more rows than allowed. */
  function tooManyRows(batch: ScannedBatch): boolean {
    if (batch.rowCount <= maxRows || batch.partial) return false
    for (let r = maxRows; r < batch.rowCount; r++) {
      if (batch.rowPayloads[r] === batch.rowPayloads[r - maxRows]) return true
    }
    return false
  }

  function takeLines(text: Uint8Array): void {
    let at = 0
    while (at < text.length) {
      if (text.length - at > maxPayloadBytes) {
        // Never copied: a line beyond the limit only gives an error.
        const feed = text.indexOf(10, at)
        const line = text.subarray(at, feed < 0 ? text.length : feed)
        if (line.length > maxPayloadBytes) {
          for (const payload of linesOf(line)) to.payload(payload)
          at += line.length + 1
          continue
        }
      }
      const { kernel, settings } = source()
      const batch = kernel.scanLines(settings, text, at, true)
      if (batch === null) return
      const end = at + batch.consumed
      if (batch.consumed > maxPayloadBytes || tooManyRows(batch)) {
        for (const line of linesOf(text.subarray(at, end))) to.payload(line)
      } else takeBatch(kernel, settings, batch)
      at = end
    }
  }

  function takeListed(): void {
    const { packed, payloads } = chunk
    const total = packed ? packed.ranges.length / 2 : payloads.length
    const payloadAt = (i: number): Uint8Array =>
      packed ? packed.bytes.subarray(packed.ranges[2 * i], packed.ranges[2 * i + 1]) : (payloads[i] as Uint8Array)
    let at = 0
    while (at < total) {
      if (payloadAt(at).length > maxPayloadBytes) {
        to.payload(payloadAt(at++))
        continue
      }
      const { kernel, settings } = source()
      const batch = packed
        ? kernel.scanRanges(settings, packed.bytes, packed.ranges, at)
        : kernel.scanPayloads(settings, payloads, at)
      // A partial batch is one payload that is not finished yet.
      const end = at + (batch.partial ? 1 : batch.payloadsDone)
      if (tooManyRows(batch) || hasLarge(at, end, payloadAt)) {
        for (let i = at; i < end; i++) to.payload(payloadAt(i))
      } else takeBatch(kernel, settings, batch)
      at = end
    }
  }

  function hasLarge(from: number, to: number, payloadAt: (i: number) => Uint8Array): boolean {
    // Payloads above the limit are long: a batch of several holds at most one piece of bytes.
    if (maxPayloadBytes >= 1 << 20) return false
    for (let i = from; i < to; i++) if (payloadAt(i).length > maxPayloadBytes) return true
    return false
  }

  if (chunk.framing === 'lines' && !chunk.packed) for (const text of chunk.payloads) takeLines(text)
  else takeListed()
}

/** Payloads with a value that the declared type does not take as it is; null = none. */
function unfitPayloads(
  batch: ScannedBatch,
  types: readonly Parameters<typeof fitsDeclaration>[1][],
): ReadonlySet<number> | null {
  let unfit: Set<number> | null = null
  for (let c = 0; c < types.length; c++) {
    const type = types[c] as ColumnClass
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
