/**
 * zstd frames (RFC 8878). Node.js does it itself from 22.15 on; before, fzstd reads and zstd-codec (WebAssembly) writes, both
 * loaded on first use. Frame sizes are checked here first: a reader would allocate whatever a header announces.
 */
import { concatBytes } from '../join-writer.ts'
import { corrupt, tooLarge } from './limit.ts'

type Transform = (bytes: Uint8Array) => Uint8Array
type NativeZstd = (bytes: Uint8Array, options?: object) => Uint8Array

const MAGIC = 0xfd2fb528
const MAX_BLOCK = 1 << 17
/** Windows up to the default of the reference's encoder are always allowed. */
const MIN_WINDOW_LIMIT = 8 << 20

interface Frame {
  readonly bytes: Uint8Array
  /** Announced size of the content, null when the header has none. */
  readonly size: number | null
}

/** Splits into frames, skippable ones left out, without decompressing. Throws RowError DECODE or LIMIT. */
function readFrames(bytes: Uint8Array, maxBytes: number): Frame[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const frames: Frame[] = []
  const need = (end: number): void => {
    if (end > bytes.length) throw corrupt('unexpected end of zstd frame')
  }
  let at = 0
  while (at < bytes.length) {
    const from = at
    need(at + 8)
    const magic = view.getUint32(at, true)
    if ((magic & 0xfffffff0) >>> 0 === 0x184d2a50) {
      at += 8 + view.getUint32(at + 4, true)
      need(at)
      continue
    }
    if (magic !== MAGIC) throw corrupt('not a zstd frame')
    const flags = bytes[at + 4] as number
    const single = (flags & 32) !== 0
    const sizeBytes = flags >> 6 ? 1 << (flags >> 6) : single ? 1 : 0
    const dictionaryBytes = [0, 1, 2, 4][flags & 3] as number
    at += 5
    let window = 0
    if (!single) {
      need(at + 1)
      const descriptor = bytes[at++] as number
      const base = 2 ** (10 + (descriptor >> 3))
      window = base + (base / 8) * (descriptor & 7)
    }
    at += dictionaryBytes
    need(at + sizeBytes)
    let size = 0
    for (let i = sizeBytes - 1; i >= 0; i--) size = size * 256 + (bytes[at + i] as number)
    if (sizeBytes === 2) size += 256
    at += sizeBytes
    if (size > maxBytes || window > Math.max(maxBytes, MIN_WINDOW_LIMIT)) throw tooLarge(maxBytes)
    for (let last = false; !last; ) {
      need(at + 3)
      const header = (bytes[at] as number) | ((bytes[at + 1] as number) << 8) | ((bytes[at + 2] as number) << 16)
      last = (header & 1) === 1
      const kind = (header >> 1) & 3
      const length = header >> 3
      if (kind === 3 || length > MAX_BLOCK) throw corrupt('malformed zstd block')
      at += 3 + (kind === 1 ? 1 : length)
      need(at)
    }
    if (flags & 4) at += 4
    need(at)
    frames.push({ bytes: bytes.subarray(from, at), size: sizeBytes > 0 ? size : null })
  }
  if (bytes.length === 0) throw corrupt('unexpected end of zstd frame')
  return frames
}

/** Throws RowError DECODE for what is not zstd, LIMIT beyond `maxBytes`. */
export async function zstdDecompressor(maxBytes: number): Promise<Transform> {
  const zlib = await import('node:zlib')
  const native: NativeZstd | undefined = Reflect.get(zlib, 'zstdDecompressSync')
  if (native) {
    return (bytes) => {
      readFrames(bytes, maxBytes)
      return native(bytes, { maxOutputLength: maxBytes })
    }
  }
  const { Decompress, decompress } = await import('fzstd')
  return (bytes) => {
    const parts: Uint8Array[] = []
    let total = 0
    const add = (part: Uint8Array): void => {
      total += part.length
      if (total > maxBytes) throw tooLarge(maxBytes)
      parts.push(part)
    }
    for (const frame of readFrames(bytes, maxBytes)) {
      if (frame.size === null) new Decompress((part) => add(part.slice())).push(frame.bytes, true)
      else if (frame.size > 0) add(decompress(frame.bytes, new Uint8Array(Math.min(frame.size, maxBytes - total + 1))))
    }
    return concatBytes(parts)
  }
}

/** `windowSize` in bytes bounds the window where Node.js compresses; the fallback keeps to its own, smaller one. */
export async function zstdCompressor(windowSize: number): Promise<Transform> {
  const zlib = await import('node:zlib')
  const native: NativeZstd | undefined = Reflect.get(zlib, 'zstdCompressSync')
  if (native) {
    const parameter: number | undefined = Reflect.get(zlib.constants, 'ZSTD_c_windowLog')
    const windowLog = Math.min(27, Math.max(10, Math.ceil(Math.log2(windowSize))))
    return (bytes) => native(bytes, parameter === undefined ? {} : { params: { [parameter]: windowLog } })
  }
  const { ZstdCodec } = (await import('zstd-codec')).default
  return new Promise((resolve) => {
    ZstdCodec.run((zstd) => {
      const simple = new zstd.Simple()
      resolve((bytes) => {
        const packed = simple.compress(bytes, 3)
        if (!packed) throw new Error('zstd could not compress')
        return packed
      })
    })
  })
}
