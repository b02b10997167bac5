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
  /** Null for a member that has to process the chunk for itself; see also {@link SharedScan.takeOut}. */
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
  /** Members that want all columns. What one of them or any other member reads, all of them know. */
  readonly #wildcards = new Set<ScanMember>()
  #names: ReadonlySet<string> = new Set()
  readonly #out: ScanMember[] = []
  /** The columns have to be put together anew before the next chunk. */
  #isStale = false
  #running = 0

  constructor(limits: DecodeOptions) {
    this.#limits = limits
  }

  /** False when there is no room for its columns. */
  join(member: ScanMember): boolean {
    const { wildcard } = member
    const fresh = member.columns.filter((c) => !this.#columns.has(pathKey(c.path)))
    if (this.#columns.size + fresh.length > MAX_COLUMNS) return false
    const isFirst = wildcard !== null && this.#wildcards.size === 0
    if (wildcard) {
      this.#wildcards.add(member)
      wildcard.watch(() => {
        this.#isStale = true
      })
    }
    if (isFirst || (this.#wildcards.size > 0 && !this.#isKnown(member))) {
      this.#places.set(member, [])
      this.#renew()
      return true
    }
    this.#add(member)
    // Computed columns stand behind the scanned ones: theirs have moved.
    if (fresh.length > 0) for (const known of this.#places.keys()) this.#place(known)
    else this.#place(member)
    if (fresh.length > 0 || member.computed > this.#computed || member.programBytes > this.#programBytes) {
      this.#needs(member)
      this.#settings = null
    }
    return true
  }

  leave(member: ScanMember): void {
    if (!this.#places.delete(member)) return
    this.#index = null
    member.wildcard?.watch(null)
    if (this.#wildcards.delete(member) || this.#wildcards.size > 0) {
      this.#isStale = true
      return
    }
    const keys = member.columns.map((c) => pathKey(c.path))
    let unused = false
    for (const key of keys) {
      const entry = this.#columns.get(key)
      if (entry && --entry.users === 0) unused = true
    }
    // Nobody reads some column any more: the scan is made of what is left.
    if (unused) this.#renew()
  }

  /** Members that can no longer take part, from the last chunk on, which they process for themselves. */
  takeOut(): readonly ScanMember[] {
    return this.#out.splice(0)
  }

  /** True when the wildcard members know all columns of the rows that this one reads, and this one knows theirs. */
  #isKnown({ columns, wildcard }: ScanMember): boolean {
    if (this.#isStale || !columns.every((c) => this.#names.has(c.path[0] as string))) return false
    return !wildcard || (isSubset(wildcard.names, this.#names) && wildcard.know(this.#names))
  }

  /** Puts the columns together anew, at the latest before the next chunk. */
  #renew(): void {
    this.#isStale = this.#running > 0
    if (this.#isStale) return
    const names = new Set<string>()
    for (const { columns, wildcard } of this.#places.keys()) {
      for (const { path } of columns) names.add(path[0] as string)
      for (const name of wildcard?.names ?? []) names.add(name)
    }
    for (const member of this.#wildcards) {
      if (member.wildcard?.know(names)) continue
      member.wildcard?.watch(null)
      this.#wildcards.delete(member)
      this.#places.delete(member)
      this.#out.push(member)
    }
    this.#names = names
    const members = [...this.#places.keys()]
    this.#places.clear()
    this.#columns.clear()
    this.#settings = null
    this.#index = null
    for (const member of members) {
      this.#add(member)
      this.#needs(member)
    }
    for (const member of members) this.#place(member)
  }

  #needs({ computed, programBytes }: ScanMember): void {
    this.#computed = Math.max(this.#computed, computed)
    this.#programBytes = Math.max(this.#programBytes, programBytes)
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
    if (this.#isStale) this.#renew()
    this.#settings ??= {
      ...scanSettings(
        [...this.#columns.values()].map((c) => c.column),
        kernelShape,
        this.#computed,
        this.#programBytes,
        this.#limits,
      ),
      others: this.#wildcards.size > 0,
    }
    const source = { kernel: acquireKernel(this.#settings), settings: this.#settings }
    const work = new ScanWork(chunk, (member) => (this.#hasMoved(member) ? null : begin(member)))
    this.#running++
    try {
      scanChunk(() => source, chunk, this.#limits, this.#takerFor(work))
    } finally {
      // While the kernel is held: what is flushed lies in its memory.
      work.close()
      this.#running--
      releaseKernel(source.kernel)
    }
    return { rows: work.rows, counts: work.counts }
  }

  /** True for a member whose columns may have changed since they were placed. */
  #hasMoved(member: ScanMember): boolean {
    return this.#isStale && (member.wildcard !== null || this.#places.get(member)?.length !== member.columns.length)
  }

  #takerFor(work: ScanWork): BatchTaker {
    const places = this.#places
    this.#index ??= groupByEquality(places)
    const { groups, others, typed } = this.#index
    const take = (member: ScanMember, kernel: Kernel, batch: ScannedBatch, list?: readonly number[]): void => {
      if (!work.opened(member, batch.rowCount)) return
      const positions = places.get(member) as readonly number[]
      member.take(kernel, withColumns(batch, positions), list)
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
          const found = candidates(group, batch)
          if (found) for (const [member, list] of found) take(member, kernel, batch, list)
          else for (const member of group.members) take(member, kernel, batch)
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

function isSubset(names: ReadonlySet<string>, of: ReadonlySet<string>): boolean {
  for (const name of names) if (!of.has(name)) return false
  return true
}

/** The batch as a member sees it. Member by member: a spread costs ten times as much. */
function withColumns(b: ScannedBatch, positions: readonly number[]): ScannedBatch {
  return {
    rowCount: b.rowCount,
    columns: positions.map((p) => b.columns[p] as Column),
    bytes: b.bytes,
    rowStarts: b.rowStarts,
    rowEnds: b.rowEnds,
    rowPayloads: b.rowPayloads,
    failures: b.failures,
    payloadsDone: b.payloadsDone,
    consumed: b.consumed,
    partial: b.partial,
    computed: b.computed,
    selected: b.selected,
    undecided: b.undecided,
    others: b.others,
  }
}
