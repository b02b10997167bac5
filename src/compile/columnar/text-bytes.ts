/** Comparisons of UTF-8 text where it lies. Byte order is the order of SQL strings (spec/sql.md 2.4). */
import { decodeUtf8 } from '../../core/utf8.ts'
import { likeMatcher } from '../like.ts'

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

/** LIKE on bytes: prefixes, suffixes and whole texts are compared in place, other patterns on the decoded text. */
export function likeBytes(pattern: string, raw: boolean): (bytes: Uint8Array, start: number, end: number) => boolean {
  const [first, last, ...more] = pattern.split('%')
  if (!raw && !pattern.includes('_') && more.length === 0 && first !== undefined) {
    const want = new TextEncoder().encode(first || last)
    if (last === undefined) return (bytes, start, end) => equalBytes(bytes, start, end, want)
    if (last === '') {
      return (bytes, start, end) => end - start >= want.length && equalBytes(bytes, start, start + want.length, want)
    }
    if (first === '') {
      return (bytes, start, end) => end - start >= want.length && equalBytes(bytes, end - want.length, end, want)
    }
  }
  const matcher = likeMatcher(pattern, raw)
  return (bytes, start, end) => matcher(decodeUtf8(bytes.subarray(start, end)))
}
