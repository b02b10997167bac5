/**
 * The typed door to the SIMD kernel: JSON text in, columns out; columns in, JSON text out. An instance serves many
 * rules, because every call is synchronous and everything in its memory is rewritten by the next scan. Needs nothing of Node.js.
 */
import { type Column, FLOAT } from '../core/columns.ts'
import type {
  ColumnAddress,
  DictionarySize,
  FailureCode,
  Kernel,
  KernelDictionary,
  ScanFailure,
  ScannedBatch,
  ScanSettings,
} from './contract.ts'
import { kernelBinary } from './generated/binary.ts'
import {
  CAPACITY,
  COLUMN_BYTES,
  COLUMN_COUNT,
  COLUMNS,
  type DictionaryTables,
  DONE,
  FAILED,
  FAILURE_ROOM,
  FAILURES,
  type Layout,
  MAX_DEPTH,
  OTHERS,
  OVERFLOW,
  PAYLOAD_COUNT,
  PAYLOADS,
  POSITION,
  pagesFor,
  planDictionary,
  planLayout,
  ROW_COUNT,
  ROWS,
  SHAPE,
  SLOW_NUMBERS,
  STACK,
} from './layout.ts'
import { encodeShape, type KernelShape } from './shape.ts'

/** The part of the WebAssembly API used here; Node.js and browsers share it, the type libraries in use lack it. */
interface WebAssemblyApi {
  readonly Module: new (binary: Uint8Array<ArrayBuffer>) => object
  readonly Instance: new (module: object) => { readonly exports: object }
}
const { Module, Instance } = (globalThis as unknown as { WebAssembly: WebAssemblyApi }).WebAssembly

export type {
  ColumnAddress,
  DictionarySize,
  EncodeJob,
  FailureCode,
  Kernel,
  KernelDictionary,
  ScanFailure,
  ScannedBatch,
  ScanSettings,
  WriteRows,
} from './contract.ts'

interface Exports {
  readonly memory: { readonly buffer: ArrayBuffer; grow(pages: number): number }
  header(): number
  heapBase(): number
  scanLines(start: number, end: number): void
  scanPayloads(from: number): void
  scanMore(position: number, payload: number): number
  checkRest(position: number): number
  kindMasks(out: number, rows: number): void
  encodeRows(
    program: number,
    selected: number,
    from: number,
    to: number,
    out: number,
    limit: number,
    open: number,
    openLength: number,
    close: number,
    closeLength: number,
  ): number
  rowsEncoded(): number
  textId(dictionary: number, start: number, length: number): number
  columnIds(
    dictionary: number,
    kinds: number,
    starts: number,
    ends: number,
    selected: number,
    count: number,
    out: number,
    found: number,
  ): number
}

/** Rows of one batch at most, failures of one batch at most, bytes scanned in one piece (more when one payload is longer). */
const MAX_ROWS = 2048
const MAX_FAILURES = 256
const PIECE = 128 * 1024
const OUTPUT = 128 * 1024
/** Memory above this is given back after the call that needed it. */
const KEEP_BYTES = 16 * 1024 * 1024

const failureCodes: readonly FailureCode[] = ['syntax', 'syntax', 'notAnObject', 'tooDeep', 'undecided']

/** The one that was used last at the end. */
const idle: Kernel[] = []
/** So many are kept, so that a few kinds of work in turn find their memory laid out. */
const MOST_IDLE = 4
let compiled: object | null = null

/**
 * An instance for one synchronous piece of work, given back with {@link releaseKernel}. Rules share them: with the settings of the
 * work one is found, if there is one, whose memory is laid out for it.
 */
export function acquireKernel(settings: ScanSettings | null = null): Kernel {
  const at = settings === null ? idle.length - 1 : idle.findIndex((kernel) => kernel.settings === settings)
  if (at >= 0) return idle.splice(at, 1)[0] as Kernel
  return (idle.length < MOST_IDLE ? null : idle.shift()) ?? createKernel()
}

export function releaseKernel(kernel: Kernel): void {
  if (kernel.memoryBytes <= KEEP_BYTES) idle.push(kernel)
}

/** Every instance has its heap at the same place, so a shape fits them all. */
export function kernelShape(paths: readonly (readonly string[])[]): KernelShape {
  const kernel = acquireKernel()
  const shape = encodeShape(paths, kernel.heapBase)
  releaseKernel(kernel)
  return shape
}

function decodeBase64(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text)
  const bytes = new Uint8Array(binary.length)
  for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i)
  return bytes
}

interface Views {
  readonly buffer: ArrayBufferLike
  readonly layout: Layout
  readonly capacity: number
  readonly inputSize: number
  readonly payloadRoom: number
  readonly settings: ScanSettings
  readonly shape: KernelShape
  readonly columns: readonly Column[]
  readonly computed: readonly Column[]
  readonly rowStarts: Uint32Array
  readonly rowEnds: Uint32Array
  readonly rowPayloads: Uint32Array
  readonly selected: Uint32Array
  readonly undecided: Uint32Array
  readonly others: Uint8Array
}

const noFailures: ScanFailure[] = []
const latin1 = new TextDecoder('latin1')

/** A kernel with its own memory (about 0.5 MB when used), and with a dictionary of a fixed size where asked for. */
export function createKernel(dictionarySize: DictionarySize | null = null): Kernel {
  compiled ??= new Module(decodeBase64(kernelBinary))
  const kernel = new Instance(compiled).exports as unknown as Exports
  const { memory } = kernel
  const headerWord = kernel.header() >> 2
  const firstByte = (kernel.heapBase() + 63) & ~63
  const tables = dictionarySize && planDictionary(firstByte, dictionarySize)
  const heapBase = tables ? tables.end : firstByte
  let buffer: ArrayBufferLike = memory.buffer
  let bytes = new Uint8Array(buffer)
  let words = new Uint32Array(buffer)
  let loaded: KernelShape | null = null
  let views: Views | null = null
  let programOwner: unknown = null
  let rest = { position: 0, start: 0, end: 0, rows: 0 }

  const get = (field: number): number => words[headerWord + field] as number
  const set = (field: number, value: number): void => {
    words[headerWord + field] = value
  }

  function reserve(end: number): void {
    const missing = pagesFor(end) - pagesFor(buffer.byteLength)
    if (missing > 0) memory.grow(missing)
    if (buffer !== memory.buffer) {
      buffer = memory.buffer
      bytes = new Uint8Array(buffer)
      words = new Uint32Array(buffer)
      views = null
    }
  }

  function columnAddress(index: number): ColumnAddress {
    const { layout, capacity, columns } = views as Views
    const numbers = layout.columns + index * COLUMN_BYTES * capacity
    return {
      numbers,
      starts: numbers + 8 * capacity,
      ends: numbers + 12 * capacity,
      kinds: numbers + 16 * capacity,
      text: index < columns.length,
    }
  }

  function openDictionary(t: DictionaryTables): KernelDictionary {
    reserve(t.end)
    // Seeded, so that nobody can send keys that collide. Ids do not depend on it.
    const [seed] = crypto.getRandomValues(new Uint32Array(1))
    words.set([0, t.slotCount - 1, t.ids, 0, t.textBytes, t.slots, t.entries, t.texts, seed as number], t.block >> 2)
    const count = t.block >> 2
    return {
      get size() {
        return words[count] as number
      },
      ids(column, rows) {
        const { layout } = views as Views
        const { kinds, starts, ends } = columnAddress(column)
        kernel.columnIds(t.block, kinds, starts, ends, layout.selected, rows, layout.ids, layout.found)
        return new Int32Array(buffer, layout.ids, rows)
      },
      id(text) {
        if (text.length > t.scratchBytes) return -1
        bytes.set(text, t.scratch)
        return kernel.textId(t.block, t.scratch, text.length)
      },
      text(id) {
        const entry = t.entries + 16 * id
        const length = bytes[entry] as number
        if (length < LONG_TEXT) return bytes.subarray(entry + 1, entry + 1 + length)
        const start = words[(entry >> 2) + 1] as number
        return bytes.subarray(start, start + (words[(entry >> 2) + 2] as number))
      },
      clear() {
        words[count] = 0
        words[count + 3] = 0
        words.fill(0, t.slots >> 2, (t.slots >> 2) + t.slotCount)
      },
    }
  }

  function columnView(layout: Layout, capacity: number, index: number, path: readonly string[]): Column {
    const base = layout.columns + index * COLUMN_BYTES * capacity
    return {
      path,
      numbers: new Float64Array(buffer, base, capacity),
      starts: new Uint32Array(buffer, base + 8 * capacity, capacity),
      ends: new Uint32Array(buffer, base + 12 * capacity, capacity),
      kinds: new Uint8Array(buffer, base + 16 * capacity, capacity),
      kindMask: 0,
    }
  }

  /** Lays memory out for a scan of up to `input` bytes and `payloads` payloads. */
  function prepare(settings: ScanSettings, input: number, payloads: number): Views {
    const { shape, computed, programBytes, maxDepth, others } = settings
    let capacity = 64
    while (capacity < MAX_ROWS && capacity * 16 < input) capacity *= 2
    const inputSize = input <= PIECE ? PIECE : 2 ** Math.ceil(Math.log2(input + 1))
    const payloadRoom = payloads <= 64 ? 64 : MAX_ROWS
    const v = views
    if (
      v !== null &&
      v.shape === shape &&
      v.capacity === capacity &&
      v.inputSize === inputSize &&
      v.payloadRoom >= payloadRoom &&
      v.settings.computed === computed &&
      v.settings.programBytes === programBytes &&
      v.settings.maxDepth === maxDepth &&
      v.settings.others === others
    ) {
      return v
    }
    programOwner = null
    const layout = planLayout(heapBase, {
      shape: shape.image.length,
      program: programBytes,
      depth: maxDepth,
      failures: MAX_FAILURES,
      payloads: payloadRoom,
      capacity,
      columns: shape.paths.length + computed,
      input: inputSize,
      output: OUTPUT,
    })
    reserve(layout.end)
    if (loaded !== shape) {
      bytes.set(shape.image, heapBase)
      loaded = shape
    }
    set(CAPACITY, capacity)
    set(COLUMNS, layout.columns)
    set(ROWS, layout.rows)
    set(SHAPE, heapBase)
    set(STACK, layout.stack)
    set(MAX_DEPTH, maxDepth)
    set(PAYLOADS, layout.payloads)
    set(FAILURES, layout.failures)
    set(FAILURE_ROOM, MAX_FAILURES)
    set(COLUMN_COUNT, shape.paths.length)
    set(OTHERS, others ? layout.others : 0)
    views = {
      buffer,
      layout,
      capacity,
      inputSize,
      payloadRoom,
      settings,
      shape,
      columns: shape.paths.map((path, i) => columnView(layout, capacity, i, path)),
      computed: Array.from({ length: computed }, (_, i) =>
        columnView(layout, capacity, shape.paths.length + i, [`$${i}`]),
      ),
      rowStarts: new Uint32Array(buffer, layout.rows, capacity),
      rowEnds: new Uint32Array(buffer, layout.rows + 4 * capacity, capacity),
      rowPayloads: new Uint32Array(buffer, layout.rows + 8 * capacity, capacity),
      selected: new Uint32Array(buffer, layout.selected, capacity),
      undecided: new Uint32Array(buffer, layout.undecided, capacity),
      others: new Uint8Array(buffer, layout.others, capacity),
    }
    return views
  }

  /** Numbers beyond the kernel's exact rules take JavaScript's conversion. */
  function convertSlowNumbers(v: Views, rows: number): void {
    for (const column of v.columns) {
      for (let r = 0; r < rows; r++) {
        if (column.kinds[r] !== SLOW_KIND) continue
        column.numbers[r] = Number(latin1.decode(bytes.subarray(column.starts[r], column.ends[r])))
        column.kinds[r] = FLOAT
      }
    }
  }

  function collect(v: Views, consumedFrom: number): ScannedBatch {
    const rowCount = get(ROW_COUNT)
    if (get(SLOW_NUMBERS) > 0) convertSlowNumbers(v, rowCount)
    kernel.kindMasks(v.layout.masks, rowCount)
    for (let i = 0; i < v.columns.length; i++)
      (v.columns[i] as Column).kindMask = words[(v.layout.masks >> 2) + i] as number
    const failed = get(FAILED)
    const failures: ScanFailure[] = failed === 0 ? noFailures : []
    for (let i = 0, at = v.layout.failures >> 2; i < failed; i++, at += 5) {
      const start = words[at + 1] as number
      failures.push({
        payload: words[at] as number,
        start,
        end: words[at + 2] as number,
        position: (words[at + 3] as number) - start,
        code: failureCodes[words[at + 4] as number] ?? 'syntax',
      })
    }
    const partial = get(OVERFLOW) !== 0
    return {
      rowCount,
      columns: v.columns,
      computed: v.computed,
      bytes,
      rowStarts: v.rowStarts,
      rowEnds: v.rowEnds,
      rowPayloads: v.rowPayloads,
      selected: v.selected,
      undecided: v.undecided,
      others: v.others,
      failures,
      payloadsDone: get(DONE),
      consumed: get(POSITION) - consumedFrom,
      partial,
    }
  }

  function scanListed(v: Views, count: number, end: number): ScannedBatch {
    bytes.fill(0, end, end + 32)
    set(PAYLOAD_COUNT, count)
    kernel.scanPayloads(0)
    const batch = collect(v, 0)
    const list = v.layout.payloads >> 2
    if (batch.partial) notePartial(words[list] as number, words[list + 1] as number)
    return batch
  }

  function notePartial(start: number, end: number): void {
    rest = { position: get(POSITION), start, end, rows: get(ROW_COUNT) }
    bytes[end] = 0
  }

  function skipBlank(at: number): number {
    while (bytes[at] === 32 || bytes[at] === 9 || bytes[at] === 13 || bytes[at] === 10) at++
    return at
  }

  return {
    heapBase,
    get settings() {
      return views?.settings ?? null
    },
    get memoryBytes() {
      return buffer.byteLength
    },
    scanLines(settings, text, from, last) {
      const end = lineBoundary(text, from, last)
      if (end <= from) return null
      const v = prepare(settings, end - from, 0)
      const { input } = v.layout
      bytes.set(from === 0 && end === text.length ? text : text.subarray(from, end), input)
      const inputEnd = input + end - from
      bytes.fill(0, inputEnd, inputEnd + 32)
      kernel.scanLines(input, inputEnd)
      const batch = collect(v, input)
      if (batch.partial) {
        const start = skipBlank(input)
        const feed = bytes.indexOf(10, start)
        notePartial(start, feed < 0 || feed >= inputEnd ? inputEnd : feed)
        return { ...batch, consumed: Math.min(rest.end + 1 - input, end - from) }
      }
      return batch
    },

    scanPayloads(settings, payloads, from) {
      let size = 0
      let count = 0
      while (from + count < payloads.length && count < MAX_ROWS) {
        const more = (payloads[from + count] as Uint8Array).length + 1
        if (count > 0 && size + more > PIECE) break
        size += more
        count++
      }
      const v = prepare(settings, size, count)
      let at = v.layout.input
      let list = v.layout.payloads >> 2
      for (let i = 0; i < count; i++) {
        const payload = payloads[from + i] as Uint8Array
        bytes.set(payload, at)
        words[list++] = at
        at += payload.length
        words[list++] = at++
      }
      return scanListed(v, count, at)
    },

    scanRanges(settings, source, ranges, from) {
      const total = ranges.length / 2
      const first = ranges[2 * from] as number
      let count = 1
      while (from + count < total && count < MAX_ROWS && (ranges[2 * (from + count) + 1] as number) - first <= PIECE)
        count++
      const last = ranges[2 * (from + count) - 1] as number
      const v = prepare(settings, last - first, count)
      const { input } = v.layout
      bytes.set(source.subarray(first, last), input)
      const list = v.layout.payloads >> 2
      for (let i = 0; i < 2 * count; i++) words[list + i] = input - first + (ranges[2 * from + i] as number)
      return scanListed(v, count, input + last - first)
    },

    checkRest() {
      const before = rest.rows
      const end = kernel.checkRest(rest.position)
      if (end !== rest.end) return null
      return { start: rest.start, end, rows: before + get(ROW_COUNT) }
    },

    partialRange: () => rest,

    scanRest(settings) {
      const v = views as Views
      if (v.shape !== settings.shape) throw new RangeError('the shape changed inside a payload')
      const end = kernel.scanMore(rest.position, 0)
      if (end === 0) rest.position = get(POSITION)
      return collect(v, 0)
    },

    get programOwner() {
      return programOwner
    },
    set programOwner(owner) {
      programOwner = owner
    },

    programRegion() {
      const v = views as Views
      return { address: v.layout.program, bytes }
    },

    columnAddress,
    dictionary: tables && openDictionary(tables),

    encode(job, from, to, write) {
      const { layout } = views as Views
      const { output, selected } = layout
      const end = kernel.encodeRows(
        job.program,
        selected,
        from,
        to,
        output,
        output + OUTPUT,
        job.open,
        job.openLength,
        job.close,
        job.closeLength,
      )
      const rows = kernel.rowsEncoded() - from
      if (rows === 0) return 0
      write(bytes.subarray(output, end), rows)
      return rows
    },
  }

  function lineBoundary(text: Uint8Array, start: number, last: boolean): number {
    if (text.length - start <= PIECE) {
      if (last) return text.length
      return text.lastIndexOf(10) + 1
    }
    const cut = text.lastIndexOf(10, start + PIECE - 1) + 1
    if (cut > start) return cut
    const next = text.indexOf(10, start + PIECE)
    return next >= 0 ? next + 1 : last ? text.length : start
  }
}

const SLOW_KIND = 13
/** In the place of the length of a dictionary's entry: its text lies elsewhere. */
const LONG_TEXT = 255
