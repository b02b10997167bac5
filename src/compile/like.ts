/** LIKE patterns: `%` any run, `_` any one character, anchored, case-sensitive (spec/sql.md 2.5). */

/**
 * Matches in time linear in text times pattern, whatever the pattern. With `raw`, regular-expression characters keep their
 * meaning as in the reference (defect D10); such a pattern goes to the regular-expression engine.
 */
export function likeMatcher(pattern: string, raw: boolean): (text: string) => boolean {
  if (raw) {
    const source = pattern.replaceAll('\\', '\\\\').replaceAll('%', '.*').replaceAll('_', '.')
    const expression = new RegExp(`^${source}$`, 's')
    return (text) => expression.test(text)
  }
  const pieces = pattern.split('%')
  const first = pieces[0] as string
  const last = pieces[pieces.length - 1] as string
  if (!pattern.includes('_')) {
    if (pieces.length === 1) return (text) => text === pattern
    if (pieces.length === 2) {
      if (last === '') return (text) => text.startsWith(first)
      if (first === '') return (text) => text.endsWith(last)
      return (text) => text.length >= first.length + last.length && text.startsWith(first) && text.endsWith(last)
    }
    if (pieces.length === 3 && first === '' && last === '') {
      const middle = pieces[1] as string
      return (text) => text.includes(middle)
    }
  }
  const parts = pieces.map((piece) => [...piece])
  return (text) => matchPieces([...text], parts)
}

function pieceAt(text: readonly string[], at: number, piece: readonly string[]): boolean {
  for (let i = 0; i < piece.length; i++) {
    const want = piece[i]
    if (text[at + i] === undefined || (want !== '_' && want !== text[at + i])) return false
  }
  return true
}

/** Pieces between `%` signs, each placed as early as it fits: greedy from the left is exact for LIKE. */
function matchPieces(text: readonly string[], pieces: readonly (readonly string[])[]): boolean {
  const first = pieces[0] as readonly string[]
  const last = pieces[pieces.length - 1] as readonly string[]
  if (!pieceAt(text, 0, first)) return false
  if (pieces.length === 1) return text.length === first.length
  let at = first.length
  for (const piece of pieces.slice(1, -1)) {
    while (at + piece.length <= text.length && !pieceAt(text, at, piece)) at++
    if (at + piece.length > text.length) return false
    at += piece.length
  }
  return text.length - last.length >= at && pieceAt(text, text.length - last.length, last)
}
