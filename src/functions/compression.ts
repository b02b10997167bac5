/**
 * compress() and decompress() (spec/functions.json category transform). The codecs come with the call: this layer has no
 * library of its own.
 */
import { messageOf, RowError } from '../core/errors.ts'
import { goText, textOf } from '../core/go-text.ts'
import { encodeUtf8 } from '../core/utf8.ts'
import type { Value } from '../core/values.ts'
import {
  type CallContext,
  type CompressionCodecs,
  type CompressionMethod,
  compressionMethods,
  type ScalarFunction,
} from './contract.ts'
import { defineScalar, type ScalarOptions, text } from './helpers.ts'

const isMethod = (method: string): method is CompressionMethod =>
  (compressionMethods as readonly string[]).includes(method)

type Verb = 'compress' | 'decompress'

/** The method each call began with: it stays the same for the life of the call. */
const methodOfCall = new WeakMap<CallContext, string>()

function steady(verb: Verb, method: string, call: CallContext): CompressionMethod {
  const previous = methodOfCall.get(call)
  if (previous !== undefined && previous !== method) {
    throw new RowError(`${verb} type must be consistent, previous ${previous}, now ${method}`)
  }
  if (!isMethod(method)) throw new RowError(`unsupported ${verb}or: ${method}`)
  methodOfCall.set(call, method)
  return method
}

const apply =
  (verb: Verb, run: (codecs: CompressionCodecs, method: CompressionMethod, bytes: Uint8Array) => Uint8Array) =>
  (args: readonly Value[], call: CallContext): Value => {
    const [data = null, method] = args
    if (data === null) return null
    if (typeof data !== 'string' && !(data instanceof Uint8Array)) {
      throw new RowError(`require string or bytea parameter, but got ${goText(data)}`)
    }
    const chosen = steady(verb, textOf(method), call)
    if (!call.codecs) throw new RowError(`${verb}ion is not available here`)
    try {
      return run(call.codecs, chosen, typeof data === 'string' ? encodeUtf8(data) : data)
    } catch (error) {
      const reason = messageOf(error)
      throw new RowError(reason.startsWith('failed to ') ? reason : `failed to ${verb}: ${reason}`)
    }
  }

/** Tells by the first bytes what is not a gzip or zlib stream at all, in the reference's words. */
function checkHeader(method: CompressionMethod, bytes: Uint8Array): void {
  const [first = 0, second = 0, third = 0] = bytes
  if (method === 'gzip' && bytes.length >= 10 && (first !== 0x1f || second !== 0x8b || third !== 8)) {
    throw new RowError('gzip: invalid header')
  }
  if (
    method === 'zlib' &&
    bytes.length >= 2 &&
    ((first & 15) !== 8 || first >> 4 > 7 || (first * 256 + second) % 31 !== 0)
  ) {
    throw new RowError('zlib: invalid header')
  }
}

const define = (options: Omit<ScalarOptions, 'family' | 'args' | 'nulls' | 'returns'>): ScalarFunction =>
  defineScalar({
    family: 'transform',
    args: [text('data', { docs: 'text or bytes' }), text('method', { docs: compressionMethods.join(', ') })],
    nulls: 'custom',
    returns: 'bytes',
    ...options,
  })

export const compressionFunctions: readonly ScalarFunction[] = [
  define({
    name: 'compress',
    docs: 'The bytes compressed with zlib, gzip, flate or zstd. A call keeps the method of its first row.',
    examples: [
      { expression: 'cast(decompress(compress(a, "gzip"), "gzip"), "string")', row: { a: 'text' }, result: 'text' },
      {
        expression: 'compress(a, "lz4")',
        row: { a: 'text' },
        error: 'call func compress error: unsupported compressor: lz4',
      },
    ],
    run: apply('compress', (codecs, method, bytes) => codecs.compress(method, bytes)),
  }),
  define({
    name: 'decompress',
    docs: 'What compress() was given, as bytes. What would become larger than the engine allows is an error.',
    examples: [
      {
        expression: 'cast(decompress(a, "flate"), "string")',
        row: { a: new Uint8Array([0xcb, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00]) },
        result: 'hello',
      },
    ],
    run: apply('decompress', (codecs, method, bytes) => {
      checkHeader(method, bytes)
      return codecs.decompress(method, bytes)
    }),
  }),
]
