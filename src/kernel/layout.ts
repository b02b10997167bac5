/** Word offsets of the block shared with assembly/state.ts. */
export const CAPACITY = 1
export const COLUMNS = 2
export const ROWS = 3
export const SHAPE = 4
export const STACK = 5
export const MAX_DEPTH = 6
export const PAYLOADS = 7
export const PAYLOAD_COUNT = 8
export const FAILURES = 9
export const FAILURE_ROOM = 10
export const COLUMN_COUNT = 11
export const OTHERS = 12
export const ROW_COUNT = 16
export const DONE = 17
export const FAILED = 18
export const POSITION = 19
export const OVERFLOW = 20
export const SLOW_NUMBERS = 21

/** Bytes of one column per row of capacity: number 8, start 4, end 4, kind 1. */
export const COLUMN_BYTES = 17

const PAGE = 65536
const SLACK = 64

/** Where everything lies for one combination of sizes. All addresses are multiples of 16. */
export interface Layout {
  readonly program: number
  readonly stack: number
  readonly failures: number
  readonly payloads: number
  readonly masks: number
  readonly selected: number
  readonly undecided: number
  readonly ids: number
  readonly found: number
  readonly others: number
  readonly rows: number
  readonly columns: number
  readonly input: number
  readonly output: number
  readonly end: number
}

export interface Sizes {
  readonly shape: number
  readonly program: number
  readonly depth: number
  readonly failures: number
  readonly payloads: number
  /** Rows, a multiple of 16. */
  readonly capacity: number
  /** Scanned and computed columns together. */
  readonly columns: number
  readonly input: number
  readonly output: number
}

/** Regions one behind the other, each with slack for vector loads. */
function placement(base: number): { place: (bytes: number) => number; end: () => number } {
  let at = base
  return {
    place: (bytes) => {
      const here = at
      at = (at + bytes + SLACK + 15) & ~15
      return here
    },
    end: () => at,
  }
}

/** Ids of a dictionary: as many bits of a slot hold id + 1. */
export const MAX_IDS = 2 ** 22 - 1

/** The tables of assembly/dictionary.ts. */
export interface DictionaryTables {
  readonly ids: number
  readonly textBytes: number
  readonly block: number
  readonly slots: number
  readonly slotCount: number
  readonly entries: number
  readonly texts: number
  readonly scratch: number
  readonly scratchBytes: number
  readonly end: number
}

export function planDictionary(base: number, size: { ids: number; textBytes: number }): DictionaryTables {
  const { place, end } = placement(base)
  const slotCount = 2 ** Math.ceil(Math.log2(2 * size.ids))
  const scratchBytes = Math.min(size.textBytes, PAGE)
  return {
    ...size,
    block: place(36),
    slots: place(slotCount * 4),
    slotCount,
    entries: place(size.ids * 16),
    texts: place(size.textBytes),
    scratch: place(scratchBytes),
    scratchBytes,
    end: end(),
  }
}

export function planLayout(base: number, sizes: Sizes): Layout {
  const { place, end } = placement(base)
  place(sizes.shape)
  return {
    program: place(sizes.program),
    stack: place(sizes.depth),
    failures: place(sizes.failures * 20),
    payloads: place(sizes.payloads * 8),
    masks: place(sizes.columns * 4),
    selected: place(sizes.capacity * 4),
    undecided: place(sizes.capacity * 4),
    ids: place(sizes.capacity * 4),
    found: place(sizes.capacity * 4),
    others: place(sizes.capacity),
    rows: place(sizes.capacity * 12),
    columns: place(sizes.capacity * COLUMN_BYTES * sizes.columns),
    input: place(sizes.input),
    output: place(sizes.output),
    end: end(),
  }
}

export function pagesFor(bytes: number): number {
  return Math.ceil(bytes / PAGE)
}
