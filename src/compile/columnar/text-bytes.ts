/** Comparisons of UTF-8 text where it lies. Byte order is the order of SQL strings (spec/sql.md 2.4). */

export function equalBytes(bytes: Uint8Array, start: number, end: number, want: Uint8Array): boolean {
  if (end - start !== want.length) return false
  for (let i = 0; i < want.length; i++) if (bytes[start + i] !== want[i]) return false
  return true
}

export function compareBytes(
  bytes: Uint8Array,
  start: number,
  end: number,
  other: Uint8Array,
  from: number,
  to: number,
): number {
  const length = Math.min(end - start, to - from)
  for (let i = 0; i < length; i++) {
    const difference = (bytes[start + i] as number) - (other[from + i] as number)
    if (difference !== 0) return difference
  }
  return end - start - (to - from)
}
