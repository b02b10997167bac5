/**
 * compress() and decompress() (spec/functions.json category transform). The codecs come with the call: this layer has no
 * library of its own.
 */
import { messageOf, RowError } from '../core/errors.ts'
import { goText, textOf } from '../core/go-text.ts'
import { encodeUtf8 } from '../core/utf8.ts'
import type { Value } from '../core/values.ts'
import type { CallContext, CompressionCodecs, ScalarFunction } from './contract.ts'
import { defineScalar, type ScalarOptions, text } from './helpers.ts'

/** Most bytes decompress() gives. */
const MAX_BYTES = 64 * 1024 * 1024

const methods: ReadonlySet<string> = new Set(['zlib', 'gzip', 'flate', 'zstd'])

type Verb = 'compress' | 'decompress'

/** The method each call began with: it stays the same for the life of the call. */
const methodOfCall = new WeakMap<CallContext, string>()

function steady(verb: Verb, method: string, call: CallContext): string {
  const previous = methodOfCall.get(call)
  if (previous !== undefined && previous !== method) {
    throw new RowError(`${verb} type must be consistent, previous ${previous}, now ${method}`)
  }
  if (!methods.has(method)) throw new RowError(`unsupported ${verb}or: ${method}`)
  methodOfCall.set(call, method)
  return method
}

const apply =
  (verb: Verb, run: (codecs: CompressionCodecs, method: string, bytes: Uint8Array) => Uint8Array) =>
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

const define = (options: Omit<ScalarOptions, 'family' | 'args' | 'nulls' | 'returns'>): ScalarFunction =>
  defineScalar({
    family: 'transform',
    args: [text('data', { docs: 'text or bytes' }), text('method', { docs: [...methods].join(', ') })],
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
    docs: `What compress() was given, as bytes. More than ${MAX_BYTES} bytes are an error.`,
    examples: [
      {
        expression: 'cast(decompress(a, "flate"), "string")',
        row: { a: new Uint8Array([0xcb, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00]) },
        result: 'hello',
      },
    ],
    run: apply('decompress', (codecs, method, bytes) => codecs.decompress(method, bytes, MAX_BYTES)),
  }),
]
