/**
 * One scan for all stateless rules of a shared stream: the union of their columns is scanned once, and each rule's loop runs over
 * the batch and writes its own output. Window rules have kernels of their own, whose dictionaries last, and scan for themselves.
 */

import type { ColumnarCounts, ColumnarOutput } from '../../core/columnar-output.ts'
import type { Column } from '../../core/columns.ts'
import type { DecodeOptions } from '../../formats/contract.ts'
import {
  acquireKernel,
  type Kernel,
  kernelShape,
  releaseKernel,
  type ScannedBatch,
  type ScanSettings,
} from '../../kernel/kernel.ts'
import type { PayloadChunk, ScanMember } from './contract.ts'
import { candidates, groupByEquality } from './equality-index.ts'
import { type BatchTaker, scanChunk, scanSettings } from './intake.ts'
import { pathKey, type WantedColumn } from './select-plan.ts'

/** Columns of one scan; a rule that would exceed them scans for itself. */
const MAX_COLUMNS = 256

export interface ScanResult {
  /** Rows of the chunk; a member that is not in `counts` has seen none of them, since none could pass. */
  readonly rows: number
  /** Null for a member that has to process the chunk for itself. */
  readonly counts: ReadonlyMap<ScanMember, ColumnarCounts | null>
}

export class SharedScan {
  readonly #limits: DecodeOptions
  /** Where each member's columns are among the scanned ones. */
  readonly #places = new Map<ScanMember, readonly number[]>()
  readonly #columns = new Map<string, { readonly column: WantedColumn; readonly position: number; users: number }>()
  #computed = 0
  #programBytes = 0
  /** Null when they have to be made anew. */
  #settings: ScanSettings | null = null
  #index: ReturnType<typeof groupByEquality> | null = null

  constructor(limits: DecodeOptions) {
    this.#limits = limits
  }

  /** False when there is no room for its columns. */
  join(member: ScanMember): boolean {
    const fresh = member.columns.filter((c) => !this.#columns.has(pathKey(c.path)))
    if (this.#columns.size + fresh.length > MAX_COLUMNS) return false
    this.#add(member)
    // Computed columns stand behind the scanned ones: theirs have moved.
    if (fresh.length > 0) for (const known of this.#places.keys()) this.#place(known)
    else this.#place(member)
    if (fresh.length > 0 || member.computed > this.#computed || member.programBytes > this.#programBytes) {
      this.#computed = Math.max(this.#computed, member.computed)
      this.#programBytes = Math.max(this.#programBytes, member.programBytes)
      this.#settings = null
    }
    return true
  }

  leave(member: ScanMember): void {
    if (!this.#places.delete(member)) return
    this.#index = null
    const keys = member.columns.map((c) => pathKey(c.path))
    let unused = false
    for (const key of keys) {
      const entry = this.#columns.get(key)
      if (entry && --entry.users === 0) unused = true
    }
    if (!unused) return
    // Nobody reads some column any more: the scan is made of what is left.
    const members = [...this.#places.keys()]
    this.#places.clear()
    this.#columns.clear()
    this.#settings = null
    for (const left of members) this.#add(left)
    for (const left of members) this.#place(left)
  }

  has(member: ScanMember): boolean {
    return this.#places.has(member)
  }

  #add(member: ScanMember): void {
    const positions = member.columns.map((column) => {
      const key = pathKey(column.path)
      let entry = this.#columns.get(key)
      if (!entry) {
        entry = { column, position: this.#columns.size, users: 0 }
        this.#columns.set(key, entry)
      }
      entry.users++
      return entry.position
    })
    this.#places.set(member, positions)
  }

  #place(member: ScanMember): void {
    this.#index = null
    member.place(this.#places.get(member) as readonly number[], this.#columns.size)
  }

  /**
   * Every member decides on the rows that may concern it. `begin` is asked for a member's output before the first of them: null =
   * not now. Not for members either that are at work already because an output call has led back to the stream.
   */
  process(chunk: PayloadChunk, begin: (member: ScanMember) => ColumnarOutput | null): ScanResult {
    this.#settings ??= scanSettings(
      [...this.#columns.values()].map((c) => c.column),
      kernelShape,
      this.#computed,
      this.#programBytes,
      this.#limits,
    )
    const source = { kernel: acquireKernel(this.#settings), settings: this.#settings }
    const work = new ScanWork(chunk, begin)
    try {
      scanChunk(() => source, chunk, this.#limits, this.#takerFor(work))
    } finally {
      // While the kernel is held: what is flushed lies in its memory.
      work.close()
      releaseKernel(source.kernel)
    }
    return { rows: work.rows, counts: work.counts }
  }

  #takerFor(work: ScanWork): BatchTaker {
    const places = this.#places
    this.#index ??= groupByEquality(places)
    const { groups, others, typed } = this.#index
    const take = (member: ScanMember, kernel: Kernel, batch: ScannedBatch): void => {
      if (!work.opened(member, batch.rowCount)) return
      const positions = places.get(member) as readonly number[]
      member.take(kernel, { ...batch, columns: positions.map((p) => batch.columns[p] as Column) })
    }
    return {
      typed,
      payload(bytes) {
        for (const member of places.keys()) if (work.opened(member, 0)) member.payload(bytes)
      },
      take(kernel, batch) {
        work.rows += batch.rowCount
        for (const member of others) take(member, kernel, batch)
        for (const group of groups) {
          for (const member of candidates(group, batch) ?? group.members) take(member, kernel, batch)
        }
      },
    }
  }
}

/** Who takes part in the scan of one chunk. */
class ScanWork {
  /** Rows scanned so far. */
  rows = 0
  readonly counts = new Map<ScanMember, ColumnarCounts | null>()
  /** Rows each open member has decided on. */
  readonly #taken = new Map<ScanMember, number>()
  readonly #chunk: PayloadChunk
  readonly #begin: (member: ScanMember) => ColumnarOutput | null

  constructor(chunk: PayloadChunk, begin: (member: ScanMember) => ColumnarOutput | null) {
    this.#chunk = chunk
    this.#begin = begin
  }

  /** Opens the member for its first rows; false when it takes no part. */
  opened(member: ScanMember, rows: number): boolean {
    const taken = this.#taken.get(member)
    if (taken === undefined) {
      if (this.counts.has(member)) return false
      const output = this.#begin(member)
      if (output === null || !member.open(this.#chunk, output)) {
        this.counts.set(member, null)
        return false
      }
    }
    this.#taken.set(member, (taken ?? 0) + rows)
    return true
  }

  close(): void {
    for (const [member, taken] of this.#taken) {
      member.skip(this.rows - taken)
      this.counts.set(member, member.close())
    }
  }
}
