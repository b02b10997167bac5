/** The protobuf format (spec/connectors.md 12.5): one message a payload, its schema in the registry. */
import { RowError } from '../core/errors.ts'
import { goText } from '../core/go-text.ts'
import { isObject } from '../core/values.ts'
import type { DecodeOptions, Decoder, EncodeOptions, Encoder, FormatDefinition, SchemaSource } from './contract.ts'
import { joinWriter } from './join-writer.ts'
import { checkSize } from './limits.ts'
import { decodeMessage } from './protobuf/decode.ts'
import { encodeMessage } from './protobuf/encode.ts'
import { loadMessage, loadProtobuf } from './protobuf/schema.ts'

export { checkSchemaText, inferColumns, loadMessage, loadProtobuf } from './protobuf/schema.ts'

function decoder(options: DecodeOptions, schemas: SchemaSource): Decoder {
  const plan = loadMessage(options.schemaId ?? '', schemas)
  const wanted = options.columns && new Set(options.columns.keys())
  return {
    decode: (payload) => {
      checkSize(payload, options)
      return [decodeMessage(plan, payload, wanted, options.maxDepth)]
    },
  }
}

function encoder(options: EncodeOptions, schemas: SchemaSource): Encoder {
  const plan = loadMessage(options.schemaId ?? '', schemas)
  return {
    encode: (value) => {
      if (!isObject(value)) throw new RowError(`unsupported type ${goText(value)}, must be a map`, 'ENCODE')
      return encodeMessage(plan, value)
    },
  }
}

export const protobufFormat: FormatDefinition = {
  name: 'protobuf',
  docs: 'Protocol Buffers: one message a payload, described by a registered schema (schema id FILE.MESSAGE).',
  schemaless: false,
  load: loadProtobuf,
  decoder,
  encoder,
  batchWriter: (options, schemas) => joinWriter(encoder(options, schemas)),
}
