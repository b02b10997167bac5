/** Standard base64 (padded, alphabet `+/`), with Go's strictness: only CR and LF are skipped, padding is required. */

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
const digitOf = new Int16Array(128).fill(-1)
for (let i = 0; i < alphabet.length; i++) digitOf[alphabet.charCodeAt(i)] = i

export function encodeBase64(bytes: Uint8Array): string {
  let out = ''
  for (let i = 0; i < bytes.length; i += 3) {
    const left = bytes.length - i
    const group = ((bytes[i] as number) << 16) | ((bytes[i + 1] ?? 0) << 8) | (bytes[i + 2] ?? 0)
    out += alphabet[group >> 18]
    out += alphabet[(group >> 12) & 63]
    out += left > 1 ? alphabet[(group >> 6) & 63] : '='
    out += left > 2 ? alphabet[group & 63] : '='
  }
  return out
}

/** The bytes, or the UTF-8 offset of the first offending input byte. */
export function decodeBase64(text: string): Uint8Array | number {
  const out = new Uint8Array(Math.ceil((text.length * 3) / 4))
  let size = 0
  let group = 0
  let count = 0
  let i = 0
  const skipLines = (): void => {
    while (i < text.length && (text[i] === '\n' || text[i] === '\r')) i++
  }
  const byteOffset = (index: number): number => new TextEncoder().encode(text.slice(0, index)).length
  for (skipLines(); i < text.length; skipLines()) {
    const code = text.charCodeAt(i)
    if (code === 61) {
      // '=': only after two or three digits of the last group.
      if (count < 2) return byteOffset(i)
      if (count === 2) {
        i++
        skipLines()
        if (i >= text.length) return byteOffset(text.length)
        if (text[i] !== '=') return byteOffset(i)
      }
      i++
      skipLines()
      if (i < text.length) return byteOffset(i)
      group <<= 6 * (4 - count)
      out[size++] = group >> 16
      if (count === 3) out[size++] = (group >> 8) & 255
      return out.subarray(0, size)
    }
    const digit = code < 128 ? (digitOf[code] as number) : -1
    if (digit < 0) return byteOffset(i)
    group = (group << 6) | digit
    i++
    if (++count === 4) {
      out[size++] = group >> 16
      out[size++] = (group >> 8) & 255
      out[size++] = group & 255
      group = 0
      count = 0
    }
  }
  return count === 0 ? out.subarray(0, size) : byteOffset(text.length) - count
}
