/**
 * One scan for all stateless rules of a shared stream: the union of their columns is scanned once, and each rule's loop runs over
 * the batch and writes its own output. Window rules have kernels of their own, whose dictionaries last, and scan for themselves.
 */
import type { Column } from '../../core/columns.ts'
import type { DecodeOptions } from '../../formats/contract.ts'
import { acquireKernel, kernelShape, releaseKernel, type ScanSettings } from '../../kernel/kernel.ts'
import type { ColumnarCounts, ColumnarOutput, PayloadChunk, ScanMember } from './contract.ts'
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
  #settings: ScanSettings | null = null

  constructor(limits: DecodeOptions) {
    this.#limits = limits
  }

  /** False when there is no room for its columns. */
  join(member: ScanMember): boolean {
    const members = [...this.#places.keys(), member]
    if (union(members).columns.length > MAX_COLUMNS) return false
    this.#rebuild(members)
    return true
  }

  leave(member: ScanMember): void {
    if (this.#places.delete(member)) this.#rebuild([...this.#places.keys()])
  }

  has(member: ScanMember): boolean {
    return this.#places.has(member)
  }

  #rebuild(members: readonly ScanMember[]): void {
    const { columns, index } = union(members)
    this.#places.clear()
    for (const member of members) {
      const positions = member.columns.map((c) => index.get(pathKey(c.path)) as number)
      member.place(positions, columns.length)
      this.#places.set(member, positions)
    }
    const most = (of: (m: ScanMember) => number): number => Math.max(0, ...members.map(of))
    this.#settings =
      members.length === 0
        ? null
        : scanSettings(
            columns,
            kernelShape,
            most((m) => m.computed),
            most((m) => m.programBytes),
            this.#limits,
          )
  }

  /**
   * Counts by turn; null for a member that has to process the chunk for itself: not joined, or at work already because an
   * output call has led back to the stream.
   */
  process(chunk: PayloadChunk, turns: readonly ScanTurn[]): readonly (ColumnarCounts | null)[] {
    const settings = this.#settings
    const open = turns.map(({ member, output }) => this.has(member) && member.open(chunk, output))
    const members = turns.filter((_, i) => open[i]).map((t) => t.member)
    if (!settings || members.length === 0) return turns.map(() => null)
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
    const places = members.map((m) => this.#places.get(m) as readonly number[])
    return {
      typed: members.some((m) => m.typed),
      take(kernel, batch) {
        members.forEach((member, m) => {
          const columns = (places[m] as readonly number[]).map((p) => batch.columns[p] as Column)
          member.take(kernel, { ...batch, columns })
        })
      },
      payload(bytes) {
        for (const member of members) member.payload(bytes)
      },
    }
  }
}

function union(members: readonly ScanMember[]): {
  readonly columns: readonly WantedColumn[]
  readonly index: ReadonlyMap<string, number>
} {
  const columns: WantedColumn[] = []
  const index = new Map<string, number>()
  for (const member of members) {
    for (const column of member.columns) {
      const key = pathKey(column.path)
      if (!index.has(key)) index.set(key, columns.push(column) - 1)
    }
  }
  return { columns, index }
}
