import { describe, expect, test } from 'vitest'
import { encodeUtf8 } from '../core/utf8.ts'
import type { ValueObject } from '../core/values.ts'
import { decodeOptions, noSchemas } from './format.suite.ts'
import { createFieldMerger, createPayloadDecoder, type PayloadOptions } from './merge.ts'

const base64 = (text: string): string => Buffer.from(text).toString('base64')

describe('createPayloadDecoder', () => {
  const reports: string[] = []
  const step = (more: Partial<PayloadOptions> = {}) =>
    createPayloadDecoder({ format: 'json', payloadField: 'data', ...more }, decodeOptions, noSchemas, (r) =>
      reports.push(r),
    )

  test('a payload is merged over its row; bytes, base64 and plain text alike', async () => {
    const run = await step()
    const row = { data: base64('{"a":1,"b":2}'), a: 9, id: 5 }
    expect(run(row)).toEqual([{ a: 1, b: 2, id: 5 }])
    expect(row.a).toBe(9)
    expect(run({ data: encodeUtf8('{"a":1}'), id: 5 })).toEqual([{ a: 1, id: 5 }])
    expect(run({ data: '{"a":1}' })).toEqual([{ a: 1 }])
  })

  test('a list gives one row each', async () => {
    expect((await step())({ data: '[{"a":1},{"a":2}]', id: 5 })).toEqual([
      { a: 1, id: 5 },
      { a: 2, id: 5 },
    ])
  })

  test('an absent payload is reported, a bad one fails the row', async () => {
    const run = await step()
    expect(run({ id: 5 })).toEqual([])
    expect(reports.pop()).toBe('payload field data not found, ignore it')
    expect(() => run({ data: 5n })).toThrow('payload is not bytes: cannot convert int64(5) to bytea')
    expect(() => run({ data: 'no json' })).toThrow('cannot parse JSON')
  })

  test('a batch is merged into one row, bad elements are skipped', async () => {
    const run = await step({ payloadBatchField: 'frames' })
    const frames: ValueObject[] = [
      { data: '{"a":1}', x: 1 },
      { y: 1 },
      { data: 'bad' },
      { data: '[{"b":2},{"a":3}]', x: 2 },
    ]
    expect(run({ ts: 7, frames })).toEqual([{ ts: 7, a: 3, b: 2, x: 2 }])
    expect(reports.splice(0).length).toBe(2)
    expect(() => run({ frames: 'x' })).toThrow('payload batch field is not array: x')
    expect(() => run({ frames: [1n] })).toThrow('unsupported payload received, must be a slice of maps: [1]')
  })

  test('the inner format has its own delimiter', async () => {
    const run = await step({ format: 'delimited', payloadDelimiter: ';' })
    expect(run({ data: 'x;y' })).toEqual([{ col0: 'x', col1: 'y' }])
    await expect(step({ format: '' })).rejects.toThrow('payloadFormat is missing')
    await expect(step({ format: 'xml' })).rejects.toThrow('format type xml not supported')
  })
})

describe('createFieldMerger', () => {
  test('keeps the newest payload of each value', async () => {
    const merger = await createFieldMerger('json', 'id', { ...decodeOptions, maxRows: 2 }, noSchemas)
    expect(merger.flush()).toBe(null)
    for (const text of ['{"id":1,"a":1}', '{"id":2,"b":2}', '{"id":1,"a":3}']) merger.add(encodeUtf8(text))
    expect(merger.count).toBe(2)
    expect(() => merger.add(encodeUtf8('{"id":3}'))).toThrow('more than 2 values of id')
    expect(merger.flush()).toEqual({ id: 2, a: 3, b: 2 })
    expect(merger.count).toBe(0)
    await expect(createFieldMerger('delimited', 'id', decodeOptions, noSchemas)).rejects.toThrow(
      'does not support partial decode',
    )
  })
})
