/** What the tests of all formats share. */
import { expect, test } from 'vitest'
import { IxionError, RowError } from '../core/errors.ts'
import type { DecodeOptions, Decoder, SchemaSource } from './contract.ts'

export const decodeOptions: DecodeOptions = {
  columns: null,
  wholeNumbersAsInt64: false,
  maxPayloadBytes: 1 << 20,
  maxDepth: 100,
  maxRows: 10_000,
}

export const noSchemas: SchemaSource = { schemaText: () => undefined }

/** Cut anywhere, stuffed with noise, or too large: a decoder answers with rows or a row error, and promptly. */
export function survivesHostileInput(name: string, decoder: Decoder, sample: Uint8Array): void {
  const attempt = (payload: Uint8Array): void => {
    try {
      decoder.decode(payload)
    } catch (error) {
      expect(error instanceof RowError || error instanceof IxionError, String(error)).toBe(true)
    }
  }
  test(`${name}: a payload cut at every byte`, () => {
    for (let n = 0; n < sample.length; n++) attempt(sample.subarray(0, n))
  })
  test(`${name}: a payload with every byte changed`, () => {
    for (let n = 0; n < sample.length; n++) {
      for (const byte of [0, 0x7f, 0x80, 0xff]) {
        const changed = sample.slice()
        changed[n] = byte
        attempt(changed)
      }
    }
  })
  test(`${name}: a payload beyond the limit`, () => {
    expect(() => decoder.decode(new Uint8Array(decodeOptions.maxPayloadBytes + 1))).toThrow('exceeds the limit')
  })
}
