import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ValueObject } from '../core/values.ts'
import { compileTemplate } from './template/compile.ts'
import { createTransform, type TransformItem, type TransformOptions } from './transform.ts'

const compile = (text: string) => compileTemplate(text, { now: () => 0, random: () => 0 })

const transform = (options: TransformOptions, rows: ValueObject[]): TransformItem[] =>
  createTransform(options, compile)(rows)

const messageOf = (item: TransformItem | undefined): string =>
  item?.kind === 'error' ? item.error.message : `not an error: ${item?.kind}`

const two: ValueObject[] = [
  { a: 1n, b: 'x' },
  { a: 2n, b: 'y' },
]

describe('shape', () => {
  it('sends a list by default and single rows on request', () => {
    expect(transform({}, two)).toEqual([{ kind: 'list', rows: two }])
    expect(transform({ sendSingle: true }, two)).toEqual(two.map((row) => ({ kind: 'row', row })))
  })

  it('drops what is empty only when asked to', () => {
    expect(transform({}, [])).toEqual([{ kind: 'list', rows: [] }])
    expect(transform({ omitIfEmpty: true }, [])).toEqual([])
    expect(transform({ omitIfEmpty: true }, [{}])).toEqual([{ kind: 'list', rows: [{}] }])
    expect(transform({ omitIfEmpty: true, sendSingle: true }, [{}, { a: 1n }])).toEqual([
      { kind: 'row', row: { a: 1n } },
    ])
    expect(transform({ sendSingle: true }, [])).toEqual([])
  })
})

describe('selection', () => {
  it('keeps fields in order with null for a missing one, and never both kinds', () => {
    const [item] = transform({ sendSingle: true, fields: ['z', 'a'] }, two)
    expect(item).toEqual({ kind: 'row', row: { z: null, a: 1n } })
    expect(Object.keys((item as { row: ValueObject }).row)).toEqual(['z', 'a'])
    expect(() => transform({ fields: ['a'], excludeFields: ['b'] }, two)).toThrow(
      'field and excludeFields cannot both be set',
    )
  })

  it('takes fields away from a copy', () => {
    const row = Object.freeze({ a: 1n, b: 2n })
    expect(transform({ excludeFields: ['b', 'zz'] }, [row])).toEqual([{ kind: 'list', rows: [{ a: 1n }] }])
    expect(row).toEqual({ a: 1n, b: 2n })
  })

  it('takes a data field of the first row', () => {
    const rows = [{ d: [{ x: 1n }, { x: 2n }] }, { d: { x: 3n } }]
    expect(transform({ dataField: 'd' }, rows)).toEqual([{ kind: 'list', rows: rows[0]?.d }])
    expect(transform({ dataField: 'd', sendSingle: true }, rows)[1]).toEqual({ kind: 'row', row: { x: 3n } })
    expect(transform({ dataField: 'none' }, rows)).toEqual([{ kind: 'nothing' }])
    expect(messageOf(transform({ dataField: 'd' }, [{ d: 5n }])[0])).toBe('invalid transform result type 5')
    expect(messageOf(transform({ dataField: 'd', fields: ['x'] }, [{ d: 'text' }])[0])).toBe(
      'fail to TransItem data [map[d:text]] for error fail to decode data text for error unsupported type text',
    )
  })
})

describe('data template', () => {
  it('is the payload of a text format', () => {
    expect(transform({ sendSingle: true, dataTemplate: '{"v":{{.a}}}' }, two)).toEqual([
      { kind: 'text', text: '{"v":1}' },
      { kind: 'text', text: '{"v":2}' },
    ])
    expect(transform({ dataTemplate: '{{len .}} {{json .}}', format: 'delimited' }, two)).toEqual([
      { kind: 'text', text: '2 [{"a":1,"b":"x"},{"a":2,"b":"y"}]' },
    ])
  })

  it('is read again for other formats and before a selection', () => {
    expect(transform({ dataTemplate: '[{"v":1},{"v":2}]', format: 'protobuf' }, two)).toEqual([
      { kind: 'list', rows: [{ v: 1 }, { v: 2 }] },
    ])
    expect(transform({ dataTemplate: '{"v":1,"w":2}', fields: ['w'] }, two)).toEqual([{ kind: 'row', row: { w: 2 } }])
    expect(messageOf(transform({ dataTemplate: '{"v":', format: 'protobuf' }, two)[0])).toBe(
      'fail to decode data {"v": after applying dataTemplate for error unexpected end of JSON input',
    )
  })

  it('fails one row alone', () => {
    const items = transform({ sendSingle: true, dataTemplate: '{{upper .b}}' }, [{ b: 'x' }, { b: 1n }, { b: 'z' }])
    expect(items.map((i) => i.kind)).toEqual(['text', 'error', 'text'])
    expect(messageOf(items[1])).toBe(
      'fail to encode data map[b:1] with dataTemplate for error template: sink:1:8: executing "sink" at <.b>: ' +
        'wrong type for value; expected string; got int64',
    )
  })
})

describe('dynamic properties', () => {
  it('are rendered on the row, or on the list', () => {
    const topic = 'd/{{.b}}'
    expect(transform({ sendSingle: true, templates: [topic] }, two)[1]).toEqual({
      kind: 'row',
      row: two[1],
      properties: { [topic]: 'd/y' },
    })
    expect(transform({ templates: [topic] }, two)).toMatchObject([{ kind: 'error' }])
    const first = '{{index . 0 "b"}}'
    expect(transform({ templates: [first] }, two)).toMatchObject([{ kind: 'list', properties: { [first]: 'x' } }])
    expect(messageOf(transform({ templates: [first] }, [])[0])).toContain(
      'fail to calculate props {{index . 0 "b"}} through data [] with dataTemplate for error template: sink:1:2',
    )
  })
})

it('gives as many items as there are rows with sendSingle, else one', () => {
  const rows = fc.array(fc.dictionary(fc.constantFrom('a', 'b', '__proto__'), fc.oneof(fc.string(), fc.constant(null))))
  const options = fc.record(
    {
      dataTemplate: fc.constantFrom('{{.a}}', '{"a":1}', '{{index . 0}}', 'x'),
      dataField: fc.constantFrom('a', 'b'),
      fields: fc.constant(['a', '__proto__']),
      format: fc.constantFrom('json', 'protobuf'),
    },
    { requiredKeys: [] },
  )
  fc.assert(
    fc.property(rows, options, fc.boolean(), (input, given, sendSingle) => {
      const items = transform({ ...given, sendSingle }, input)
      expect(items).toHaveLength(sendSingle ? input.length : 1)
    }),
  )
})
