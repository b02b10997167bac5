/** What the kernel writes for each selected row: assembly/encode.ts has the memory form. */
import type { EncodeJob, Kernel } from './kernel.ts'

export interface OutputColumn {
  /** The member's name as a JSON string literal and a colon, UTF-8: `"temp":`. */
  readonly key: Uint8Array
  /** Number of the column: those of the shape first, then the computed ones. */
  readonly column: number
  /** A missing value is left out, or written as null. */
  readonly missing: 'omit' | 'null'
  readonly null: 'omit' | 'null'
}

/** Columns in the order of the output's members. `open` and `close` stand around each row, braces included. */
export interface OutputProgram {
  readonly columns: readonly OutputColumn[]
  readonly open: Uint8Array
  readonly close: Uint8Array
  /** Bytes of values that computed columns of kind RAW point to. */
  readonly constants: Uint8Array
}

const ENTRY = 32
const HEADER = 16

const padded = (length: number): number => (length + 31) & ~15

/** Bytes that {@link loadProgram} needs. */
export function programBytes(program: OutputProgram): number {
  let size = HEADER + program.columns.length * ENTRY + 64 + padded(program.constants.length)
  for (const { key } of program.columns) size += padded(key.length)
  return size
}

export interface LoadedProgram extends EncodeJob {
  /** Address of the program's constants. */
  readonly constants: number
  readonly source: OutputProgram
}

/** Writes the program into the kernel for the batch that was just scanned, unless it lies there already. */
export function loadProgram(kernel: Kernel, program: OutputProgram): LoadedProgram {
  const kept = kernel.programOwner as LoadedProgram | null
  if (kept?.source === program) return kept
  const { address, bytes } = kernel.programRegion()
  const view = new DataView(bytes.buffer)
  if (program.open.length > 16 || program.close.length > 16) throw new RangeError('row texts are limited to 16 bytes')
  let entry = address + HEADER
  let text = entry + program.columns.length * ENTRY
  const put = (part: Uint8Array): number => {
    const here = text
    bytes.set(part, here)
    text += padded(part.length)
    return here
  }
  view.setUint32(address, program.columns.length, true)
  for (const column of program.columns) {
    const at = kernel.columnAddress(column.column)
    const flags = (column.missing === 'null' ? 1 : 0) | (column.null === 'omit' ? 2 : 0) | (at.text ? 4 : 0)
    view.setUint32(entry, put(column.key), true)
    view.setUint32(entry + 4, column.key.length, true)
    view.setUint32(entry + 8, at.kinds, true)
    view.setUint32(entry + 12, at.numbers, true)
    view.setUint32(entry + 16, at.starts, true)
    view.setUint32(entry + 20, at.ends, true)
    view.setUint32(entry + 24, flags, true)
    entry += ENTRY
  }
  const loaded: LoadedProgram = {
    program: address,
    open: put(program.open),
    openLength: program.open.length,
    close: put(program.close),
    closeLength: program.close.length,
    constants: put(program.constants),
    source: program,
  }
  kernel.programOwner = loaded
  return loaded
}
