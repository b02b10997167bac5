/**
 * A large JSON array in pieces: `[a,b,c,...]` becomes several smaller arrays of whole elements, so that neither the file nor its
 * rows must fit into memory. Only the structure is looked at (strings, brackets, commas); the format checks the elements.
 */
import { IxionError } from '../../core/errors.ts'

const QUOTE = 34
const BACKSLASH = 92
const COMMA = 44
const OPEN = 91
const CLOSE = 93

/** Payloads of about `size` bytes, each an array. A file that is no array is given whole, up to `maxBytes`. */
export async function* arrayPieces(
  chunks: AsyncIterable<Buffer>,
  size: number,
  maxBytes: number,
): AsyncGenerator<Buffer> {
  let depth = 0
  let inString = false
  let escaped = false
  let started = false
  let whole = false
  let ended = false
  let rest: Buffer[] = []
  let restLength = 0

  const limit = (): void => {
    if (restLength > maxBytes)
      throw new IxionError('LIMIT', `a document or array element is longer than ${maxBytes} bytes`)
  }
  const push = (bytes: Buffer): void => {
    if (bytes.length === 0) return
    rest.push(bytes)
    restLength += bytes.length
    limit()
  }
  const piece = (): Buffer => {
    const out = Buffer.concat([Buffer.from('['), ...rest, Buffer.from(']')])
    rest = []
    restLength = 0
    return out
  }

  for await (const chunk of chunks) {
    if (whole) {
      push(chunk)
      continue
    }
    /** Start of the bytes that belong to the open piece. */
    let from = 0
    for (let i = 0; i < chunk.length; i++) {
      const byte = chunk[i] as number
      if (!started) {
        if (byte === 0xef || byte === 0xbb || byte === 0xbf || byte === 32 || (byte >= 9 && byte <= 13)) continue
        started = true
        if (byte !== OPEN) {
          whole = true
          break
        }
        depth = 1
        from = i + 1
        continue
      }
      if (ended) {
        if (byte === 32 || (byte >= 9 && byte <= 13)) continue
        throw new IxionError('DECODE', 'the JSON array is followed by something else')
      }
      if (inString) {
        if (escaped) escaped = false
        else if (byte === BACKSLASH) escaped = true
        else if (byte === QUOTE) inString = false
        continue
      }
      if (byte === QUOTE) inString = true
      else if (byte === OPEN || byte === 123) depth++
      else if (byte === CLOSE || byte === 125) {
        depth--
        if (depth === 0) {
          push(chunk.subarray(from, i))
          yield piece()
          ended = true
        }
      } else if (byte === COMMA && depth === 1) {
        if (restLength + (i - from) >= size) {
          push(chunk.subarray(from, i))
          yield piece()
          from = i + 1
        }
      }
    }
    if (whole) push(chunk)
    else if (started && !ended) push(chunk.subarray(from))
  }
  if (whole) yield Buffer.concat(rest)
  else if (started && !ended) throw new IxionError('DECODE', 'the JSON array is cut off')
}
