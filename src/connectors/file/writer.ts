/** One file being written: bytes are gathered, then compressed and encrypted (in this order) and appended. */
import { createCipheriv, randomBytes } from 'node:crypto'
import { mkdir, open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import * as zlib from 'node:zlib'
import { IxionError } from '../../core/errors.ts'

export interface Layers {
  readonly compression: '' | 'gzip' | 'zstd'
  /** AES key; undefined = no encryption. */
  readonly key: Uint8Array | undefined
  readonly zstdFrame: ((bytes: Uint8Array) => Promise<Uint8Array>) | undefined
}

export interface FileWriter {
  readonly name: string
  /** Bytes that have not been handed to the disk. */
  readonly waiting: number
  /** Copies the bytes. Not while a flush is under way. */
  append(bytes: Uint8Array): void
  /** Hands what waits to the operating system. After an error it still waits; the next call tries again. */
  flush(): Promise<void>
  /** Writes the rest and makes it durable. */
  close(): Promise<void>
  /** Gives up what could not be written. */
  abandon(): Promise<void>
}

/** Memory kept between writes; a file written to less is given none. */
const KEEP = 64 * 1024

type Encode = (bytes: Buffer, last: boolean) => Promise<Buffer>

/** Creates or empties the file, and its directory when missing. Throws the system's error. */
export async function fileWriter(name: string, layers: Layers): Promise<FileWriter> {
  await mkdir(dirname(name), { recursive: true })
  const handle = await open(name, 'w')
  const encode = layers.compression || layers.key ? encoder(layers) : undefined
  /** What was appended: `block[written .. filled]` waits. */
  let block: Buffer = noBytes
  let filled = 0
  let written = 0
  /** Encoded bytes the disk has not taken. */
  let pending: Buffer = noBytes
  let position = 0
  /** The encoder has got its last bytes. */
  let finished = false
  const isDevice = !(await handle.stat()).isFile()

  const grow = (needed: number): void => {
    const larger = Buffer.allocUnsafeSlow(Math.max(4096, 2 * block.length, needed))
    block.copy(larger, 0, written, filled)
    block = larger
    filled -= written
    written = 0
  }
  const emptied = (): void => {
    if (filled < KEEP) block = noBytes
    filled = written = 0
  }
  const writePlain = async (): Promise<void> => {
    while (written < filled) {
      const { bytesWritten } = await handle.write(block, written, filled - written, position)
      written += bytesWritten
      position += bytesWritten
    }
    emptied()
  }
  const writePending = async (): Promise<void> => {
    while (pending.length > 0) {
      const { bytesWritten } = await handle.write(pending, 0, pending.length, position)
      pending = pending.subarray(bytesWritten)
      position += bytesWritten
    }
  }
  const drain = async (last: boolean): Promise<void> => {
    if (!encode) return writePlain()
    await writePending()
    if (filled === 0 && (!last || finished)) return
    pending = await encode(block.subarray(0, filled), last)
    finished = last
    emptied()
    await writePending()
  }

  return {
    name,
    get waiting() {
      return filled - written + pending.length
    },
    append(bytes) {
      if (filled + bytes.length > block.length) grow(filled - written + bytes.length)
      block.set(bytes, filled)
      filled += bytes.length
    },
    flush: () => drain(false),
    async close() {
      await drain(true)
      if (!isDevice) await handle.sync()
      await handle.close()
    },
    abandon: () => handle.close().catch(() => {}),
  }
}

const noBytes = Buffer.alloc(0)

/** Each block is a gzip member or zstd frame of its own; a file of several is a valid file of the same kind. */
function encoder(layers: Layers): Encode {
  const compress = compressor(layers)
  const { key } = layers
  const iv = key ? randomBytes(16) : undefined
  const cipher = key && iv ? createCipheriv(`aes-${key.length * 8}-cfb`, key, iv) : undefined
  let first = true
  return async (bytes, last) => {
    const needed = bytes.length > 0 || (last && first)
    const packed = needed && compress ? await compress(bytes) : bytes
    if (!cipher) {
      first = false
      return packed
    }
    const out = [cipher.update(packed)]
    if (first && iv) out.unshift(iv)
    if (last) out.push(cipher.final())
    first = false
    return Buffer.concat(out)
  }
}

type Compress = (bytes: Buffer) => Promise<Buffer>

function compressor(layers: Layers): Compress | undefined {
  if (layers.compression === '') return undefined
  if (layers.compression === 'gzip') return promisify<Buffer, Buffer>(zlib.gzip)
  const native = (zlib as unknown as { zstdCompress?: typeof zlib.gzip }).zstdCompress
  if (native) return promisify<Buffer, Buffer>(native)
  const { zstdFrame } = layers
  if (zstdFrame) return async (bytes) => Buffer.from(await zstdFrame(bytes))
  throw new IxionError('NOT_SUPPORTED', 'unsupported compressor for file: zstd', { path: 'compression' })
}
