import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { countLines } from '../runtime/delivery.ts'
import { countJsonRows } from './push-body.ts'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

describe('rows of a pushed body', () => {
  it('are the elements of an array, or one object', () => {
    fc.assert(
      fc.property(fc.array(fc.object({ maxDepth: 3 })), fc.constantFrom(0, 1, 2), (rows, indent) => {
        expect(countJsonRows(bytes(JSON.stringify(rows, null, indent)))).toBe(rows.length)
      }),
    )
    expect(countJsonRows(bytes(' {"a":[1,2],"b":"],}"} '))).toBe(1)
    expect(countJsonRows(bytes('[ ]'))).toBe(0)
    expect(countJsonRows(bytes('["a",[],{}]'))).toBe(3)
  })

  it.each(['', '7', '"a"', '[{"a":1}', '{"a":"', '[{}] x', '[{}]]', '{"a":"\\"}'])('%j is refused', (text) => {
    expect(() => countJsonRows(bytes(text))).toThrow(/^the body is not JSON rows: /)
  })

  it('are lines that hold something', () => {
    const body = bytes('{"a":1}\n\n  \r\n{"a":2}\r\n{"a":3}')
    expect(countLines(body)).toBe(3)
    expect(countLines(bytes(''))).toBe(0)
  })
})
