/**
 * One scan for all stateless rules of a shared stream: the union of their columns is scanned once, and each rule's loop runs over
 * the batch and writes its own output. Window rules have kernels of their own, whose dictionaries last, and scan for themselves.
 */
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
import type { ColumnarCounts, ColumnarOutput, PayloadChunk, ScanMember } from './contract.ts'
import { candidates, groupByEquality } from './equality-index.ts'
import { type BatchTaker, scanChunk, scanSettings } from './intake.ts'
import { pathKey, type WantedColumn } from './select-plan.ts'

/** Columns of one scan; a rule that would exceed them scans for itself. */
const MAX_COLUMNS = 256

/** One rule in one scan. */
export interface ScanTurn {
  readonly member: ScanMember
  readonly output: ColumnarOutput
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
   * Counts by turn; null for a member that has to process the chunk for itself: not joined, or at work already because an
   * output call has led back to the stream.
   */
  process(chunk: PayloadChunk, turns: readonly ScanTurn[]): readonly (ColumnarCounts | null)[] {
    const open = turns.map(({ member, output }) => this.has(member) && member.open(chunk, output))
    const members = turns.filter((_, i) => open[i]).map((t) => t.member)
    if (members.length === 0) return turns.map(() => null)
    this.#settings ??= scanSettings(
      [...this.#columns.values()].map((c) => c.column),
      kernelShape,
      this.#computed,
      this.#programBytes,
      this.#limits,
    )
    const settings = this.#settings
    const source = { kernel: acquireKernel(), settings }
    let counts: (ColumnarCounts | null)[] = []
    try {
      scanChunk(() => source, chunk, this.#limits, this.#takerFor(members))
    } finally {
      // While the kernel is held: what is flushed lies in its memory.
      counts = turns.map(({ member }, i) => (open[i] ? member.close() : null))
      releaseKernel(source.kernel)
    }
    return counts
  }

  #takerFor(members: readonly ScanMember[]): BatchTaker {
    const take = (member: ScanMember, kernel: Kernel, batch: ScannedBatch): void => {
      const positions = this.#places.get(member) as readonly number[]
      member.take(kernel, { ...batch, columns: positions.map((p) => batch.columns[p] as Column) })
    }
    const payload = (bytes: Uint8Array): void => {
      for (const member of members) member.payload(bytes)
    }
    const typed = members.some((m) => m.typed)
    if (members.length < this.#places.size) {
      return { typed, payload, take: (kernel, batch) => members.forEach((m) => void take(m, kernel, batch)) }
    }
    this.#index ??= groupByEquality(this.#places)
    const { groups, others } = this.#index
    return {
      typed,
      payload,
      take(kernel, batch) {
        for (const member of others) take(member, kernel, batch)
        for (const group of groups) {
          const found = candidates(group, batch)
          for (const member of found ?? group.members) take(member, kernel, batch)
          if (found) for (const member of group.members) if (!found.has(member)) member.skip(batch.rowCount)
        }
      },
    }
  }
}
