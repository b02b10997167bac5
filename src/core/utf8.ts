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
  if (!slice) return encoder.encode(text)
  // A plain array over Buffer's storage: as a value a Buffer would compare and print differently.
  const buffer = Buffer.from(text, 'utf8')
  return new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.length)
}
