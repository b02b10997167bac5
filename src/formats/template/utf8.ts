/** Strings as Go sees them: UTF-8 bytes. Cutting inside a character leaves U+FFFD, since our strings hold characters. */
import { decodeUtf8, encodeUtf8 } from '../../core/utf8.ts'

function isAscii(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 0x7f) return false
  return true
}

export function byteLength(text: string): number {
  let size = text.length
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit <= 0x7f) continue
    if (unit <= 0x7ff) size++
    else if ((unit & 0xfc00) === 0xd800 && (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00) {
      // A pair is four bytes for two units.
      size += 2
      i++
    } else size += 2
  }
  return size
}

/** `text[from:to]` in bytes; both within 0 and the length. */
export function byteSlice(text: string, from: number, to: number): string {
  return isAscii(text) ? text.slice(from, to) : decodeUtf8(encodeUtf8(text).subarray(from, to))
}
