import { expect, it } from 'vitest'
import { encodeUtf8 } from '../core/utf8.ts'
import type { Delivery } from './delivery.ts'
import { Inbox } from './inbox.ts'
import { addLine, addLines, freeLines, lineItem, linesItem } from './line-buffers.ts'

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString()

it('a dropping inbox keeps the text of a chunk whose memory the source uses again', () => {
  for (const policy of ['dropOldest', 'dropNewest'] as const) {
    const inbox = new Inbox({ policy, maxEvents: 10, maxBytes: 1000, dropped: () => {} })
    const memory = encodeUtf8('{"a":1}')
    const packed = encodeUtf8('{"b":1}')
    const chunk = { kind: 'bytes', payloads: [memory], meta: [null], timestamp: 0 } as const
    inbox.put({ kind: 'chunk', chunk, bytes: 7 } as Delivery)
    const ranges = new Uint32Array([0, 7])
    inbox.put({ kind: 'chunk', chunk: { ...chunk, packed: { bytes: packed, ranges } }, bytes: 7 } as Delivery)
    memory.fill(0)
    packed.fill(0)
    const first = inbox.take()?.delivery as Delivery & { kind: 'chunk' }
    const second = inbox.take()?.delivery as Delivery & { kind: 'chunk' }
    expect(textOf(first.chunk.payloads[0] as Uint8Array)).toBe('{"a":1}')
    expect(textOf(second.chunk.packed?.bytes as Uint8Array)).toBe('{"b":1}')
  }
})

it('lines are gathered while there is room, and an item that is kept never shares memory', () => {
  const first = linesItem(encodeUtf8('a\nb\n'), 2)
  expect(addLine(first, encodeUtf8('c'))).toBe(true)
  expect(addLines(first, encodeUtf8('d\n'), 1)).toBe(true)
  expect([textOf(first.payload), first.rows]).toEqual(['a\nb\nc\nd\n', 4])
  expect(addLine(first, new Uint8Array(first.buffer.length))).toBe(false)
  const second = lineItem(new Uint8Array(70_000))
  expect(second.buffer).not.toBe(first.buffer)
  freeLines(second)
  expect(lineItem(new Uint8Array(65_000)).buffer).toBe(second.buffer)
  expect(textOf(first.payload)).toBe('a\nb\nc\nd\n')
  const large = lineItem(new Uint8Array(200_000).fill(65))
  expect([large.rows, large.payload.length, large.payload.at(-1)]).toEqual([1, 200_001, 10])
})
