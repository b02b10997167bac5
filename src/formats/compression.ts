/**
 * Compression of single payloads (spec/connectors.md 14): each payload is one complete stream or frame. gzip, zlib, flate and
 * zstd are the reference's; snappy (a bare block) and lz4 (a frame) are additions. Reading stops at a limit, so that a small
 * payload cannot become a large one.
 */
import { IxionError, messageOf, RowError } from '../core/errors.ts'
import type { OptionSpecs } from '../core/options.ts'
import { validateOptions } from '../core/validate.ts'
import type { ValueObject } from '../core/values.ts'
import { readLz4, readSnappy } from './compression/blocks.ts'
import { corrupt, tooLarge } from './compression/limit.ts'
import { zstdCompressor, zstdDecompressor } from './compression/zstd.ts'

export type Transform = (bytes: Uint8Array) => Uint8Array

interface Algorithm {
  compressor(properties: { windowSize: number }): Promise<Transform>
  decompressor(maxBytes: number): Promise<Transform>
}

/** `compressionProps` of a sink. */
const compressionOptions: OptionSpecs = {
  windowSize: {
    type: 'size',
    default: 8 << 20,
    minimum: 1024,
    maximum: 1 << 29,
    docs: 'zstd: how far back a repetition may lie.',
  },
}

type ZlibName = 'gzip' | 'gunzip' | 'deflate' | 'inflate' | 'deflateRaw' | 'inflateRaw'

function zlibAlgorithm(pack: ZlibName, unpack: ZlibName): Algorithm {
  return {
    compressor: async () => (await import('node:zlib'))[`${pack}Sync`],
    decompressor: async (maxBytes) => {
      const run = (await import('node:zlib'))[`${unpack}Sync`]
      return (bytes) => run(bytes, { maxOutputLength: maxBytes })
    },
  }
}

const algorithms: Readonly<Record<string, Algorithm>> = {
  gzip: zlibAlgorithm('gzip', 'gunzip'),
  zlib: zlibAlgorithm('deflate', 'inflate'),
  flate: zlibAlgorithm('deflateRaw', 'inflateRaw'),
  zstd: {
    compressor: ({ windowSize }) => zstdCompressor(windowSize),
    decompressor: zstdDecompressor,
  },
  snappy: {
    compressor: async () => (await import('snappyjs')).default.compress,
    decompressor: async (maxBytes) => (bytes) => readSnappy(bytes, maxBytes),
  },
  lz4: {
    compressor: async () => (await import('lz4js')).default.compress,
    decompressor: async (maxBytes) => (bytes) => readLz4(bytes, maxBytes),
  },
}

export const compressionNames: readonly string[] = Object.keys(algorithms)

function find(name: string, what: 'compressor' | 'decompressor'): Algorithm {
  const algorithm = Object.hasOwn(algorithms, name) ? algorithms[name] : undefined
  if (algorithm) return algorithm
  throw new IxionError('INVALID_PROPERTY', `get ${what} ${name} fail with error: unsupported ${what}: ${name}`, {
    hint: `Use one of ${compressionNames.join(', ')}.`,
  })
}

const plain = (bytes: Uint8Array): Uint8Array => new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** Loads what the algorithm needs. Throws IxionError INVALID_PROPERTY for an unknown one; the transform throws RowError ENCODE. */
export async function compressor(name: string, properties: ValueObject = {}): Promise<Transform> {
  const algorithm = find(name, 'compressor')
  const checked = validateOptions(compressionOptions, properties, 'compressionProps', { unknown: 'drop' })
  const run = await algorithm.compressor(checked as { windowSize: number })
  return (bytes) => {
    try {
      return plain(run(bytes))
    } catch (error) {
      throw new RowError(`failed to compress: ${messageOf(error)}`, 'ENCODE')
    }
  }
}

/**
 * Loads what the algorithm needs. The transform throws RowError LIMIT beyond `maxBytes` of output, DECODE for damaged input.
 */
export async function decompressor(name: string, maxBytes: number): Promise<Transform> {
  const run = await find(name, 'decompressor').decompressor(maxBytes)
  return (bytes) => {
    try {
      return plain(run(bytes))
    } catch (error) {
      if (error instanceof RowError) throw error
      if (Reflect.get(Object(error), 'code') === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(maxBytes)
      throw corrupt(messageOf(error))
    }
  }
}
