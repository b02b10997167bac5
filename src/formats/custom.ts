/**
 * The custom format: a user's JavaScript module as codec, in the place of the reference's `.so` converters
 * (spec/connectors.md 12). The registered schema `file` of type `custom` holds the module; `schemaId` is `file` or
 * `file.message`. How a module is run (worker, sandbox) is the embedding side's choice: it gives {@link customFormat} a loader.
 */
import { IxionError, messageOf, RowError } from '../core/errors.ts'
import { encodeUtf8 } from '../core/utf8.ts'
import { isObject, type Value, type ValueObject } from '../core/values.ts'
import type { CustomCodec, CustomLoader, FormatDefinition, SchemaSource } from './contract.ts'
import { joinWriter } from './join-writer.ts'
import { checkRows, checkSize } from './limits.ts'

function open(schemaId: string | undefined, schemas: SchemaSource, load: CustomLoader | null): [CustomCodec, string] {
  const id = schemaId ?? ''
  const dot = id.indexOf('.')
  const name = dot < 0 ? id : id.slice(0, dot)
  const text = schemas.schemaText('custom', name)
  if (text === undefined) throw new IxionError('NOT_FOUND', `schema type custom id ${name} not found in registry`)
  if (!load) throw new IxionError('NOT_SUPPORTED', `cannot open ${name}: custom formats are not enabled here`)
  try {
    return [load(name, text), dot < 0 ? '' : id.slice(dot + 1)]
  } catch (error) {
    throw new IxionError('INVALID_DOCUMENT', `cannot open ${name}: ${messageOf(error)}`, {
      hint: 'Write CommonJS: exports.decode = (payload, message) => ..., exports.encode = (value, message) => ...',
      cause: error,
    })
  }
}

export function customFormat(load: CustomLoader | null): FormatDefinition {
  const encoder: FormatDefinition['encoder'] = (options, schemas) => {
    const [codec, message] = open(options.schemaId, schemas, load)
    const encode = codec.encode?.bind(codec)
    if (!encode) throw new IxionError('NOT_SUPPORTED', `custom format ${options.schemaId} exports no encode function`)
    return {
      encode: (value) => {
        let result: unknown
        try {
          result = encode(value, message)
        } catch (error) {
          throw new RowError(messageOf(error), 'ENCODE')
        }
        if (typeof result === 'string') return encodeUtf8(result)
        if (result instanceof Uint8Array) return result
        throw new RowError(`custom format ${options.schemaId} encoded to neither bytes nor text`, 'ENCODE')
      },
    }
  }
  return {
    name: 'custom',
    docs: 'CommonJS text registered as a schema of type custom: `exports.decode = (payload, message) => row or rows` and `exports.encode = (value, message) => text or bytes`. TextDecoder and TextEncoder are there; `require`, files and the process are not.',
    schemaless: false,
    decoder: (options, schemas) => {
      const [codec, message] = open(options.schemaId, schemas, load)
      const decode = codec.decode?.bind(codec)
      if (!decode) throw new IxionError('NOT_SUPPORTED', `custom format ${options.schemaId} exports no decode function`)
      return {
        decode: (payload) => {
          checkSize(payload, options)
          let result: Value
          try {
            result = decode(payload, message)
          } catch (error) {
            throw new RowError(messageOf(error), 'DECODE')
          }
          const rows = Array.isArray(result) ? result : [result]
          checkRows(rows.length, options)
          if (rows.every(isObject)) return rows as ValueObject[]
          throw new RowError(`custom format ${options.schemaId} decoded to something other than objects`, 'DECODE')
        },
      }
    },
    encoder,
    batchWriter: (options, schemas) => joinWriter(encoder(options, schemas)),
  }
}
