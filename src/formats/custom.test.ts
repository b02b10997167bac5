import { describe, expect, test } from 'vitest'
import { decodeUtf8, encodeUtf8 } from '../core/utf8.ts'
import type { CustomCodec } from './contract.ts'
import { customFormat } from './custom.ts'
import { decodeOptions } from './format.suite.ts'
import { formatNamed, loadFormat } from './index.ts'

const schemas = {
  schemaText: (type: string, name: string) => (type === 'custom' && name === 'mine' ? 'text' : undefined),
}
const format = (codec: CustomCodec) => customFormat((name, text) => (text === 'text' && name === 'mine' ? codec : {}))
const decoder = (codec: CustomCodec) => format(codec).decoder({ ...decodeOptions, schemaId: 'mine.M' }, schemas)
const encoder = (codec: CustomCodec) => format(codec).encoder({ schemaId: 'mine.M' }, schemas)

describe('custom', () => {
  test('runs the functions of the module', () => {
    expect(
      decoder({ decode: (bytes, message) => ({ size: bytes.length, message }) }).decode(encodeUtf8('abc')),
    ).toEqual([{ size: 3, message: 'M' }])
    expect(decoder({ decode: () => [{ a: 1 }, { a: 2 }] }).decode(encodeUtf8(''))).toEqual([{ a: 1 }, { a: 2 }])
    expect(decodeUtf8(encoder({ encode: (value) => JSON.stringify(value) }).encode({ a: 1 }))).toBe('{"a":1}')
    expect([...encoder({ encode: () => new Uint8Array([1]) }).encode({})]).toEqual([1])
  })

  test('errors and wrong results become row errors', () => {
    const throws = (): never => {
      throw new Error('boom')
    }
    expect(() => decoder({ decode: throws }).decode(encodeUtf8(''))).toThrow('boom')
    expect(() => encoder({ encode: throws }).encode({})).toThrow('boom')
    expect(() => decoder({ decode: () => 5 as never }).decode(encodeUtf8(''))).toThrow(
      'decoded to something other than objects',
    )
    expect(() => encoder({ encode: () => 5 as never }).encode({})).toThrow('encoded to neither bytes nor text')
  })

  test('says what cannot be opened', () => {
    expect(() => decoder({})).toThrow('exports no decode function')
    expect(() => encoder({})).toThrow('exports no encode function')
    expect(() => customFormat(null).encoder({ schemaId: 'mine' }, schemas)).toThrow('cannot open mine')
    expect(() => customFormat(null).encoder({ schemaId: 'other' }, schemas)).toThrow(
      'schema type custom id other not found in registry',
    )
  })
})

test('formats are found in any case, empty is json', async () => {
  expect([formatNamed('').name, formatNamed('JSON').name, (await loadFormat('Protobuf')).name]).toEqual([
    'json',
    'json',
    'protobuf',
  ])
  expect(() => formatNamed('xml')).toThrow('format type xml not supported')
  expect(() => formatNamed('constructor')).toThrow('format type constructor not supported')
})
