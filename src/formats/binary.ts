/** The binary format (spec/connectors.md 12.3): the payload as it is, in the column `self`. */
import { toBytea } from '../core/cast.ts'
import { messageOf, RowError } from '../core/errors.ts'
import { goText } from '../core/go-text.ts'
import { getField, isObject } from '../core/values.ts'
import type { DecodeOptions, Encoder, FormatDefinition } from './contract.ts'
import { joinWriter } from './join-writer.ts'
import { checkSize } from './limits.ts'

export const binaryColumn = 'self'

function decoder(options: DecodeOptions) {
  return {
    decode: (payload: Uint8Array) => {
      checkSize(payload, options)
      return [{ [binaryColumn]: payload }]
    },
  }
}

const encoder: Encoder = {
  encode: (value) => {
    if (!isObject(value)) throw new RowError(`unsupported type ${goText(value)}, must be a map`, 'ENCODE')
    const self = getField(value, binaryColumn)
    if (self === undefined) throw new RowError(`field ${binaryColumn} not exist`, 'ENCODE')
    try {
      return toBytea(self, 'sameKind')
    } catch (error) {
      throw new RowError(messageOf(error), 'ENCODE')
    }
  },
}

export const binaryFormat: FormatDefinition = {
  name: 'binary',
  docs: 'Bytes passed through unread, in the column `self` (or in the one bytea column the stream declares).',
  schemaless: true,
  decoder,
  encoder: () => encoder,
  batchWriter: () => joinWriter(encoder),
}
