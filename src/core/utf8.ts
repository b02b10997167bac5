/** UTF-8 text <-> bytes, by the fastest means the platform has. Invalid bytes read as U+FFFD; a leading BOM is kept. */

const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
const encoder = new TextEncoder()

/** Node.js reads any Uint8Array with this method of Buffer, several times faster than TextDecoder on short payloads. */
const slice: ((this: Uint8Array, start: number, end: number) => string) | undefined =
  typeof Buffer === 'undefined' ? undefined : Reflect.get(Buffer.prototype, 'utf8Slice')

export function decodeUtf8(bytes: Uint8Array): string {
  return slice ? slice.call(bytes, 0, bytes.length) : decoder.decode(bytes)
}

export function encodeUtf8(text: string): Uint8Array {
  return slice ? Buffer.from(text, 'utf8') : encoder.encode(text)
}
