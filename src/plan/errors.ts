import { IxionError } from '../core/errors.ts'
import type { Position } from '../sql/ast.ts'

/** A statement that parses but cannot be planned. `message` is the reference's text where it has one. */
export function planError(message: string, at?: Position | null, hint?: string): IxionError {
  return new IxionError('SQL_PLAN', message, {
    ...(at && { line: at.line, column: at.column }),
    ...(hint !== undefined && { hint }),
  })
}

/** The candidate nearest to `name` (at most two edits, fewer for short names), for "did you mean". */
export function nearest(name: string, candidates: Iterable<string>): string | null {
  const limit = name.length <= 2 ? 0 : name.length <= 4 ? 1 : 2
  const wanted = name.toLowerCase()
  let best: string | null = null
  let bestDistance = limit + 1
  for (const candidate of candidates) {
    if (candidate === name || Math.abs(candidate.length - name.length) > limit) continue
    const distance = editDistance(wanted, candidate.toLowerCase())
    if (distance < bestDistance) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}

/** Edits with neighbouring letters swapped counted as one; names longer than 64 characters are not compared. */
function editDistance(a: string, b: string): number {
  if (a.length > 64 || b.length > 64) return Infinity
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, j) => j)]
  for (let i = 1; i <= a.length; i++) {
    const above = rows[i - 1] as number[]
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1]
      let cost = Math.min(
        (above[j] as number) + 1,
        (row[j - 1] as number) + 1,
        (above[j - 1] as number) + (same ? 0 : 1),
      )
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        cost = Math.min(cost, (rows[i - 2]?.[j - 2] as number) + 1)
      }
      row.push(cost)
    }
    rows.push(row)
  }
  return rows[a.length]?.[b.length] as number
}
