/** Text order of SQL: Go compares strings byte by byte (spec/sql.md 2.4), which is the order of code points. */

/** True for a unit of a surrogate pair, which stands for a code point above every other unit. */
const isSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdfff

/** Negative, zero or positive, as a sort callback. UTF-16 order differs only where a surrogate meets U+E000 to U+FFFF. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i)
    const y = b.charCodeAt(i)
    if (x === y) continue
    const high = isSurrogate(x)
    return high === isSurrogate(y) ? x - y : high ? 1 : -1
  }
  return a.length - b.length
}
