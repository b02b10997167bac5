/** The urlencoded format (spec/connectors.md 12.4): HTML form data, with Go's escaping. */
import { toText } from '../core/cast.ts'
import { RowError } from '../core/errors.ts'
import { goText } from '../core/go-text.ts'
import { compareText } from '../core/text-order.ts'
import { decodeUtf8, encodeUtf8 } from '../core/utf8.ts'
import { getField, isObject, setField, type Value, type ValueObject } from '../core/values.ts'
import type { DecodeOptions, Decoder, Encoder, FormatDefinition } from './contract.ts'
import { joinWriter } from './join-writer.ts'
import { checkSize } from './limits.ts'

/** The text, or undefined when a `%` is not followed by two hex digits. */
function unescapeQuery(text: string): string | undefined {
  const plain = text.replaceAll('+', ' ')
  if (!plain.includes('%')) return plain
  if (/%(?![0-9a-fA-F]{2})/.test(plain)) return undefined
  return plain.replace(/(?:%[0-9a-fA-F]{2})+/g, (run) =>
    decodeUtf8(Uint8Array.from(run.slice(1).split('%'), (hex) => Number.parseInt(hex, 16))),
  )
}

/** Unreserved bytes stay, a space is `+`, every other byte `%XX`. Unpaired surrogates become U+FFFD. */
export function escapeQuery(text: string): string {
  if (/^[A-Za-z0-9_.~-]*$/.test(text)) return text
  let out = ''
  for (const byte of encodeUtf8(text)) {
    const char = String.fromCharCode(byte)
    if (/[A-Za-z0-9_.~-]/.test(char)) out += char
    else out += byte === 32 ? '+' : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
  }
  return out
}

function decoder(options: DecodeOptions): Decoder {
  return {
    decode: (payload) => {
      checkSize(payload, options)
      const text = decodeUtf8(payload)
      const row: ValueObject = {}
      for (const pair of text.split('&')) {
        if (pair === '') continue
        const equals = pair.indexOf('=')
        const key = unescapeQuery(equals < 0 ? pair : pair.slice(0, equals))
        const value = unescapeQuery(equals < 0 ? '' : pair.slice(equals + 1))
        // A semicolon is no separator, and as in Go no part of a pair either.
        if (key === undefined || value === undefined || pair.includes(';')) {
          throw new RowError(`fail to parse url encoded value ${text}`, 'DECODE')
        }
        const known = getField(row, key)
        if (known === undefined) setField(row, key, value)
        else if (Array.isArray(known)) known.push(value)
        else setField(row, key, [known, value])
      }
      return [row]
    },
  }
}

const encoder: Encoder = {
  encode: (value) => {
    if (!isObject(value)) throw new RowError(`unsupported type ${goText(value)}, must be a map`, 'ENCODE')
    const pairs: string[] = []
    for (const key of Object.keys(value).sort(compareText)) {
      const member = value[key] as Value
      for (const item of Array.isArray(member) ? member : [member]) {
        pairs.push(`${escapeQuery(key)}=${escapeQuery(toText(item, 'all'))}`)
      }
    }
    return encodeUtf8(pairs.join('&'))
  },
}

export const urlencodedFormat: FormatDefinition = {
  name: 'urlencoded',
  docs: 'Form data `a=1&b=x`: single values are strings, repeated keys lists of strings.',
  schemaless: true,
  decoder,
  encoder: () => encoder,
  batchWriter: () => joinWriter(encoder),
}
