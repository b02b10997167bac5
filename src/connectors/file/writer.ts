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
  /** Copies the bytes. */
  append(bytes: Uint8Array): void
  /** Hands what waits to the operating system. After an error it still waits; the next call tries again. */
  flush(): Promise<void>
  /** Writes the rest and makes it durable. */
  close(): Promise<void>
  /** Gives up what could not be written. */
  abandon(): Promise<void>
}

const BLOCK = 256 * 1024

type Encode = (bytes: Buffer, last: boolean) => Promise<Buffer>

/** Creates or empties the file, and its directory when missing. Throws the system's error. */
export async function fileWriter(name: string, layers: Layers): Promise<FileWriter> {
  await mkdir(dirname(name), { recursive: true })
  const handle = await open(name, 'w')
  const encode = layers.compression || layers.key ? encoder(layers) : undefined
  let parts: Buffer[] = []
  /** The part being filled, and how far. */
  let block: Buffer | null = null
  let filled = 0
  let waiting = 0
  /** Encoded bytes the disk has not taken. */
  let pending: Buffer | null = null
  let position = 0
  /** The encoder has got its last bytes. */
  let finished = false
  const isDevice = !(await handle.stat()).isFile()

  const endBlock = (): void => {
    if (block && filled > 0) parts.push(block.subarray(0, filled))
    block = null
    filled = 0
  }
  const drain = async (last: boolean): Promise<void> => {
    if (!pending && (waiting > 0 || last)) {
      endBlock()
      const plain = parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts, waiting)
      parts = []
      waiting = 0
      pending = encode ? await encode(plain, last) : plain
    }
    while (pending && pending.length > 0) position += await writeSome()
    pending = null
  }
  const writeSome = async (): Promise<number> => {
    const bytes = pending as Buffer
    const { bytesWritten } = await handle.write(bytes, 0, bytes.length, position)
    pending = bytes.subarray(bytesWritten)
    return bytesWritten
  }

  return {
    name,
    get waiting() {
      return waiting + (pending?.length ?? 0)
    },
    append(bytes) {
      waiting += bytes.length
      if (block && filled + bytes.length > block.length) endBlock()
      if (bytes.length > BLOCK / 4) {
        endBlock()
        parts.push(Buffer.from(bytes))
        return
      }
      block ??= Buffer.allocUnsafeSlow(BLOCK)
      block.set(bytes, filled)
      filled += bytes.length
    },
    async flush() {
      if (pending) await drain(false)
      await drain(false)
    },
    async close() {
      if (pending) await drain(false)
      if (!finished) await drain(true)
      finished = true
      await drain(false)
      if (!isDevice) await handle.sync()
      await handle.close()
    },
    abandon: () => handle.close().catch(() => {}),
  }
}

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
