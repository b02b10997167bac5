/** A sink item's payload as text, for logs. */
import type { SinkItem } from './contract.ts'

/** Longer payloads are cut in logs. */
const LONGEST = 64 * 1024

export function payloadText(item: SinkItem): string {
  const payload = item.payload
  if (!payload) return ''
  const text = Buffer.from(payload.buffer, payload.byteOffset, Math.min(payload.byteLength, LONGEST)).toString()
  return payload.byteLength > LONGEST ? `${text}... (${payload.byteLength} bytes)` : text
}
