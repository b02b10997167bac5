/** True when JSON text nests arrays and objects deeper than `limit`. For documents of users: code that walks them recurses. */
export function nestsDeeper(text: string, limit: number): boolean {
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === 0x22) {
      for (at++; at < text.length && text.charCodeAt(at) !== 0x22; at++) if (text.charCodeAt(at) === 0x5c) at++
    } else if (code === 0x7b || code === 0x5b) {
      if (++depth > limit) return true
    } else if (code === 0x7d || code === 0x5d) depth--
  }
  return false
}

/** Deepest nesting of a document that defines something (rule, configuration, import). */
export const MAX_DOCUMENT_DEPTH = 200
