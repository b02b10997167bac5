/** The codecs behind compress() and decompress(): loaded before a rule that calls them starts, as calls cannot wait. */
import { compressor, decompressor, type Transform } from '../formats/compression.ts'
import { type CompressionCodecs, type CompressionMethod, compressionMethods } from '../functions/contract.ts'

/** Most bytes decompress() gives. */
const MAX_BYTES = 64 * 1024 * 1024

/** Every method's codec; the zstd one is a WebAssembly module on older Node.js, so load them only for rules that need them. */
export async function loadCodecs(maxBytes = MAX_BYTES): Promise<CompressionCodecs> {
  const load = async (open: (method: CompressionMethod) => Promise<Transform>) =>
    Object.fromEntries(
      await Promise.all(compressionMethods.map(async (method) => [method, await open(method)] as const)),
    ) as Record<CompressionMethod, Transform>
  const pack = await load((method) => compressor(method))
  const unpack = await load((method) => decompressor(method, maxBytes))
  return {
    compress: (method, bytes) => pack[method](bytes),
    decompress: (method, bytes) => unpack[method](bytes),
  }
}
