/**
 * Reading snappy blocks and LZ4 frames. The libraries that write them read leniently (a cut payload gives wrong bytes instead
 * of an error), so reading is done here, with every bound checked.
 */
import { corrupt, tooLarge } from './limit.ts'

/** Output that grows up to a limit. */
interface Output {
  bytes: Uint8Array
  length: number
  readonly max: number
}

function grow(out: Output, more: number): void {
  const wanted = out.length + more
  if (wanted > out.max) throw tooLarge(out.max)
  if (wanted <= out.bytes.length) return
  const bytes = new Uint8Array(Math.min(out.max, Math.max(wanted, out.bytes.length * 2)))
  bytes.set(out.bytes.subarray(0, out.length))
  out.bytes = bytes
}

function copyLiteral(out: Output, source: Uint8Array, from: number, length: number): void {
  if (from + length > source.length) throw corrupt('unexpected end')
  grow(out, length)
  out.bytes.set(source.subarray(from, from + length), out.length)
  out.length += length
}

/** Repeats `length` bytes from `distance` back; the two may overlap. */
function copyMatch(out: Output, distance: number, length: number, start: number): void {
  const from = out.length - distance
  if (distance === 0 || from < start) throw corrupt('reference before the start')
  grow(out, length)
  const { bytes } = out
  for (let i = 0; i < length; i++) bytes[out.length + i] = bytes[from + i] as number
  out.length += length
}

/** One snappy block (no framing). Throws RowError DECODE or LIMIT. */
export function readSnappy(source: Uint8Array, maxBytes: number): Uint8Array {
  let at = 0
  const next = (): number => {
    if (at >= source.length) throw corrupt('unexpected end')
    return source[at++] as number
  }
  const little = (count: number): number => {
    let value = 0
    for (let i = 0; i < count; i++) value += next() * 256 ** i
    return value
  }
  let size = 0
  for (let shift = 0; ; shift += 7) {
    const byte = next()
    if (shift > 28) throw corrupt('malformed snappy length')
    size += (byte & 127) * 2 ** shift
    if (byte < 128) break
  }
  if (size > maxBytes) throw tooLarge(maxBytes)
  const out: Output = { bytes: new Uint8Array(size), length: 0, max: size }
  while (at < source.length) {
    const tag = next()
    const high = tag >> 2
    let length = high + 1
    switch (tag & 3) {
      case 0:
        if (high >= 60) length = little(high - 59) + 1
        if (length > size - out.length) throw corrupt('more bytes than announced')
        copyLiteral(out, source, at, length)
        at += length
        continue
      case 1:
        length = (high & 7) + 4
        if (length > size - out.length) throw corrupt('more bytes than announced')
        copyMatch(out, (high >> 3) * 256 + next(), length, 0)
        continue
      default:
        if (length > size - out.length) throw corrupt('more bytes than announced')
        copyMatch(out, little((tag & 3) === 2 ? 2 : 4), length, 0)
    }
  }
  if (out.length !== size) throw corrupt('fewer bytes than announced')
  return out.bytes
}

const LZ4_MAGIC = 0x184d2204

/** One LZ4 frame. Checksums are skipped, as the payload's transport has its own. Throws RowError DECODE or LIMIT. */
export function readLz4(source: Uint8Array, maxBytes: number): Uint8Array {
  const view = new DataView(source.buffer, source.byteOffset, source.byteLength)
  if (source.length < 7 || view.getUint32(0, true) !== LZ4_MAGIC) throw corrupt('not an LZ4 frame')
  const flags = source[4] as number
  if (flags >> 6 !== 1) throw corrupt('unknown LZ4 version')
  const independent = (flags & 32) !== 0
  const blockSum = (flags & 16) !== 0
  let at = 6 + (flags & 8 ? 8 : 0) + (flags & 1 ? 4 : 0) + 1
  const out: Output = { bytes: new Uint8Array(Math.min(maxBytes, source.length * 4)), length: 0, max: maxBytes }
  for (;;) {
    if (at + 4 > source.length) throw corrupt('unexpected end')
    const header = view.getUint32(at, true)
    at += 4
    if (header === 0) break
    const length = header & 0x7fffffff
    if (at + length > source.length) throw corrupt('unexpected end')
    if (header >>> 31) copyLiteral(out, source, at, length)
    else readLz4Block(source.subarray(at, at + length), out, independent ? out.length : 0)
    at += length + (blockSum ? 4 : 0)
  }
  if (at + (flags & 4 ? 4 : 0) > source.length) throw corrupt('unexpected end')
  return out.bytes.slice(0, out.length)
}

function readLz4Block(source: Uint8Array, out: Output, start: number): void {
  let at = 0
  const next = (): number => {
    if (at >= source.length) throw corrupt('unexpected end')
    return source[at++] as number
  }
  const extended = (nibble: number): number => {
    let length = nibble
    if (nibble === 15) {
      let byte: number
      do {
        byte = next()
        length += byte
      } while (byte === 255)
    }
    return length
  }
  while (at < source.length) {
    const token = next()
    const literal = extended(token >> 4)
    copyLiteral(out, source, at, literal)
    at += literal
    if (at >= source.length) return
    const distance = next() + next() * 256
    copyMatch(out, distance, extended(token & 15) + 4, start)
  }
}
