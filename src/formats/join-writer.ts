/** Batch writer of formats without one of their own: the items one after the other (spec/connectors.md 4.5). */
import type { BatchWriter, Encoder } from './contract.ts'

export function concatBytes(parts: readonly Uint8Array[]): Uint8Array {
  const out = new Uint8Array(parts.reduce((size, part) => size + part.length, 0))
  let at = 0
  for (const part of parts) {
    out.set(part, at)
    at += part.length
  }
  return out
}

export function joinWriter(encoder: Encoder): BatchWriter {
  let parts: Uint8Array[] = []
  return {
    write: (value) => void parts.push(encoder.encode(value)),
    flush: () => {
      const batch = concatBytes(parts)
      parts = []
      return batch
    },
    get count() {
      return parts.length
    },
  }
}
