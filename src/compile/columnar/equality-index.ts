/**
 * Many rules on one stream that begin with `column = "text"` (or IN of texts): a batch meets only the rules one of its rows can
 * satisfy (DESIGN.md, "How the hot path gets its speed").
 */
import { NOTHING_KINDS, TEXT } from '../../core/columns.ts'
import { encodeUtf8 } from '../../core/utf8.ts'
import type { ScannedBatch } from '../../kernel/kernel.ts'
import { conjuncts } from '../../plan/tree.ts'
import type { Expression } from '../../sql/ast.ts'
import type { ScanMember } from './contract.ts'
import { columnPath, pathKey } from './select-plan.ts'

/** Rows whose column is another text, null or missing fail the condition, before anything else of it is looked at. */
export interface TextEquality {
  /** Number of the column among the rule's. */
  readonly column: number
  readonly texts: readonly string[]
}

/** What the condition begins with, when that is an equality. */
export function textEquality(
  condition: Expression | null,
  columnIndex: ReadonlyMap<string, number>,
): TextEquality | null {
  const [first] = conjuncts(condition)
  if (!first) return null
  if (first.kind === 'parenthesis') return textEquality(first.expression, columnIndex)
  const found = sides(first)
  const path = found && columnPath(found.column)
  const column = path && columnIndex.get(pathKey(path))
  // A replacement character also stands for bytes that are no UTF-8.
  if (found === null || column == null || found.texts.some((t) => t.includes('\ufffd'))) return null
  return { column, texts: found.texts }
}

function sides(e: Expression): { readonly column: Expression; readonly texts: readonly string[] } | null {
  if (e.kind === 'in' && !e.negated && e.list?.every((x) => x.kind === 'string')) {
    return { column: e.left, texts: e.list.map((x) => (x.kind === 'string' ? x.value : '')) }
  }
  if (e.kind !== 'binary' || e.operator !== '=') return null
  if (e.right.kind === 'string') return { column: e.left, texts: [e.right.value] }
  return e.left.kind === 'string' ? { column: e.right, texts: [e.left.value] } : null
}

/** The members that compare one column. */
export interface EqualityGroup {
  /** Number of the column in the scan. */
  readonly position: number
  readonly members: readonly ScanMember[]
  /** By hash: a hit is a candidate, its loop decides. */
  readonly byHash: ReadonlyMap<number, readonly ScanMember[]>
}

export interface EqualityGroups {
  readonly groups: readonly EqualityGroup[]
  /** Members without an equality, or that look at whole payloads. */
  readonly others: readonly ScanMember[]
  /** Some member has columns of declared types. */
  readonly typed: boolean
}

/** Groups of members whose columns are at `places`. */
export function groupByEquality(places: ReadonlyMap<ScanMember, readonly number[]>): EqualityGroups {
  const others: ScanMember[] = []
  const groups = new Map<number, { members: ScanMember[]; byHash: Map<number, ScanMember[]> }>()
  for (const [member, positions] of places) {
    const { equality } = member
    if (!equality || member.typed) {
      others.push(member)
      continue
    }
    const position = positions[equality.column] as number
    let group = groups.get(position)
    if (!group) {
      group = { members: [], byHash: new Map() }
      groups.set(position, group)
    }
    group.members.push(member)
    for (const text of new Set(equality.texts)) {
      const bytes = encodeUtf8(text)
      const hash = hashOf(bytes, 0, bytes.length)
      const known = group.byHash.get(hash)
      if (known) known.push(member)
      else group.byHash.set(hash, [member])
    }
  }
  return {
    groups: [...groups].map(([position, group]) => ({ position, ...group })),
    others,
    typed: others.some((m) => m.typed),
  }
}

/** The members that a row of the batch may satisfy, and these rows; null = ask all of them about all rows. */
export function candidates(
  group: EqualityGroup,
  batch: ScannedBatch,
): ReadonlyMap<ScanMember, readonly number[]> | null {
  const column = batch.columns[group.position]
  if (!column || batch.failures.length > 0 || (column.kindMask & ~(NOTHING_KINDS | (1 << TEXT))) !== 0) return null
  const { kinds, starts, ends } = column
  const found = new Map<ScanMember, number[]>()
  for (let r = 0; r < batch.rowCount; r++) {
    if (kinds[r] !== TEXT) continue
    // Without the quotes.
    const hash = hashOf(batch.bytes, (starts[r] as number) + 1, (ends[r] as number) - 1)
    const members = group.byHash.get(hash)
    if (members) for (const member of members) note(found, member, r)
  }
  return found
}

/** Once, though two texts of a member may have one hash. */
function note(found: Map<ScanMember, number[]>, member: ScanMember, row: number): void {
  const rows = found.get(member)
  if (!rows) found.set(member, [row])
  else if (rows[rows.length - 1] !== row) rows.push(row)
}

/** FNV-1a. */
function hashOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0x811c9dc5
  for (let i = start; i < end; i++) hash = Math.imul(hash ^ (bytes[i] as number), 0x01000193)
  return hash
}
