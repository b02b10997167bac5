/** Reading a file in large chunks, decompressed by its name, and cutting it at line ends. */
import { createReadStream } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { createGunzip, createInflate } from 'node:zlib'
import { IxionError, messageOf } from '../../core/errors.ts'

/** Bytes asked for at once. */
const CHUNK = 256 * 1024

/** Bytes in front of a chunk in a buffer of {@link readBuffers}, free for the start of a line from the chunk before. */
const ROOM = 16 * 1024

/** Memory to read into, used again: fresh memory for each chunk would cost more than the reading. */
export interface ReadBuffers {
  take(): Buffer
  /** Nobody looks at this buffer any more. One that is not given back is just not used again. */
  give(buffer: Buffer): void
}

export function readBuffers(): ReadBuffers {
  const spare: Buffer[] = []
  return {
    take: () => spare.pop() ?? Buffer.allocUnsafeSlow(ROOM + CHUNK),
    give: (buffer) => void spare.push(buffer),
  }
}

/**
 * The file's bytes from decompressed position `from`, chunk by chunk; the next chunk is read while the last is in use. A file
 * that shrinks meanwhile just ends earlier; one that grows is read to the end seen. With `buffers`, each chunk of a file that
 * is not compressed has a buffer for itself, {@link ROOM} bytes behind its start. Throws STORAGE.
 */
export async function* readChunks(
  file: string,
  from: number,
  signal: AbortSignal,
  buffers = readBuffers(),
): AsyncGenerator<Buffer> {
  try {
    if (isCompressed(file)) yield* skipBytes(decompressed(file), from)
    else yield* plainChunks(file, from, signal, buffers)
  } catch (error) {
    if (error instanceof IxionError) throw error
    throw new IxionError('STORAGE', `cannot read ${file}: ${messageOf(error)}`, { cause: error })
  }
}

export function isCompressed(file: string): boolean {
  return /\.(gz|zz|zst)$/i.test(file)
}

async function* plainChunks(
  file: string,
  from: number,
  signal: AbortSignal,
  buffers: ReadBuffers,
): AsyncGenerator<Buffer> {
  const handle = await open(file, 'r')
  let next: Promise<Buffer> | undefined
  try {
    let position = from
    next = readAt(handle, position, buffers.take())
    while (!signal.aborted) {
      const chunk: Buffer = await next
      next = undefined
      if (chunk.length === 0) return
      position += chunk.length
      next = readAt(handle, position, buffers.take())
      yield chunk
    }
  } finally {
    await next?.catch(() => {})
    await handle.close()
  }
}

async function readAt(handle: FileHandle, position: number, buffer: Buffer): Promise<Buffer> {
  const { bytesRead } = await handle.read(buffer, ROOM, CHUNK, position)
  return buffer.subarray(ROOM, ROOM + bytesRead)
}

async function* decompressed(file: string): AsyncGenerator<Buffer> {
  const raw = createReadStream(file, { highWaterMark: CHUNK })
  if (/\.zst$/i.test(file)) {
    yield* unzstd(raw)
    return
  }
  const unzip = /\.gz$/i.test(file) ? createGunzip({ chunkSize: CHUNK }) : createInflate({ chunkSize: CHUNK })
  raw.on('error', (error) => unzip.destroy(error))
  try {
    yield* raw.pipe(unzip) as AsyncIterable<Buffer>
  } finally {
    raw.destroy()
    unzip.destroy()
  }
}

async function* unzstd(raw: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const { Decompress } = await import('fzstd')
  let out: Buffer[] = []
  const stream = new Decompress((chunk) => {
    if (chunk.length > 0) out.push(Buffer.from(chunk))
  })
  for await (const chunk of raw) {
    stream.push(chunk)
    const ready = out
    out = []
    yield* ready
  }
  stream.push(new Uint8Array(0), true)
  yield* out
}

async function* skipBytes(chunks: AsyncIterable<Buffer>, count: number): AsyncGenerator<Buffer> {
  let left = count
  for await (const chunk of chunks) {
    if (left >= chunk.length) left -= chunk.length
    else {
      yield left > 0 ? chunk.subarray(left) : chunk
      left = 0
    }
  }
}

const LF = 10
const CR = 13

/** Text without byte order mark, in blocks that end with a line end (the last one may lack it). */
export interface LineBlock {
  readonly bytes: Buffer
  /** Decompressed position in the file behind this block. */
  readonly end: number
  /** The buffer to give back when nobody looks at `bytes` any more. */
  readonly buffer?: Buffer
}

export interface LineRules {
  readonly skipStart: number
  readonly skipEnd: number
  readonly maxLine: number
  /** A line beyond `maxLine` went by. */
  readonly tooLong: (bytes: number) => void
  /** Each chunk lies in a buffer of {@link readBuffers}. */
  readonly buffered?: boolean
}

/** Whole lines only, `\r\n` as `\n`, without the lines to skip. `from` is the position the chunks start at. */
export async function* lineBlocks(
  chunks: AsyncIterable<Buffer>,
  from: number,
  rules: LineRules,
): AsyncGenerator<LineBlock> {
  let position = from
  let carry: Buffer | null = null
  let skipStart = from === 0 ? rules.skipStart : 0
  /** Set while a line beyond the limit goes by: its bytes so far. */
  let overlong = 0
  let first = from === 0
  let held: LineBlock[] = []
  let heldLines = 0

  /** Blocks whose lines are certainly not among the last `skipEnd`. */
  const release = function* (block: LineBlock): Generator<LineBlock> {
    if (rules.skipEnd === 0) {
      yield block
      return
    }
    held.push(block)
    heldLines += countLines(block.bytes)
    while (held.length > 0) {
      const oldest = held[0] as LineBlock
      const lines = countLines(oldest.bytes)
      if (heldLines - lines < rules.skipEnd) return
      heldLines -= lines
      held.shift()
      yield oldest
    }
  }

  for await (const chunk of chunks) {
    position += chunk.length
    let buffer = rules.buffered ? Buffer.from(chunk.buffer) : undefined
    let bytes: Buffer = chunk
    if (carry && buffer && carry.length <= ROOM) {
      bytes = buffer.subarray(ROOM - carry.length, ROOM + chunk.length)
      bytes.set(carry)
    } else if (carry) {
      bytes = Buffer.concat([carry, chunk])
      buffer = undefined
    }
    carry = null
    if (first) {
      if (bytes.length < 3 && bytes.length > 0 && bytes[0] === 0xef) {
        carry = bytes
        continue
      }
      if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) bytes = bytes.subarray(3)
      first = false
    }
    if (overlong > 0) {
      const feed = bytes.indexOf(LF)
      if (feed < 0) {
        overlong += bytes.length
        continue
      }
      rules.tooLong(overlong + feed)
      overlong = 0
      bytes = bytes.subarray(feed + 1)
    }
    const cut = bytes.lastIndexOf(LF) + 1
    const rest = bytes.subarray(cut)
    if (rest.length > rules.maxLine) overlong = rest.length
    else if (rest.length > 0 && buffer && rest.length <= ROOM) carry = Buffer.from(rest)
    else if (rest.length > 0) {
      carry = rest
      buffer = undefined
    }
    let whole = bytes.subarray(0, cut)
    while (skipStart > 0 && whole.length > 0) {
      whole = whole.subarray(whole.indexOf(LF) + 1)
      skipStart--
    }
    if (whole.length > 0)
      yield* release({ bytes: withoutCr(whole), end: position - rest.length, ...(buffer && { buffer }) })
  }
  if (overlong > 0) rules.tooLong(overlong)
  if (carry && skipStart === 0) {
    const last = carry.at(-1) === CR ? carry.subarray(0, -1) : carry
    yield* release({ bytes: last.length > 0 ? last : Buffer.from('\n'), end: position })
  }
  // What is still held holds the lines to leave out, at its end.
  let drop = rules.skipEnd
  const kept: LineBlock[] = []
  for (const block of held.reverse()) {
    const lines = countLines(block.bytes)
    if (drop >= lines) {
      drop -= lines
      continue
    }
    kept.push({ bytes: drop === 0 ? block.bytes : withoutLastLines(block.bytes, drop), end: block.end })
    drop = 0
  }
  held = []
  yield* kept.reverse()
}

function countLines(bytes: Buffer): number {
  let lines = 0
  let at = 0
  while (at < bytes.length) {
    const feed = bytes.indexOf(LF, at)
    lines++
    if (feed < 0) break
    at = feed + 1
  }
  return lines
}

function withoutLastLines(bytes: Buffer, count: number): Buffer {
  let end = bytes.length
  for (let i = 0; i < count && end > 0; i++) end = bytes.lastIndexOf(LF, end - 2) + 1
  return bytes.subarray(0, end)
}

/** `\r\n` as `\n`; without any `\r` the bytes themselves. */
function withoutCr(bytes: Buffer): Buffer {
  if (bytes.indexOf(CR) < 0) return bytes
  const out = Buffer.allocUnsafe(bytes.length)
  let length = 0
  for (let i = 0; i < bytes.length; i++) {
    if (bytes[i] === CR && bytes[i + 1] === LF) continue
    out[length++] = bytes[i] as number
  }
  return out.subarray(0, length)
}
