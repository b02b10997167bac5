import fc from 'fast-check'
import { expect, it } from 'vitest'
import '../../../test/support/seed.ts'
import { makeRow, type Row } from '../../core/row.ts'
import { RowBuffer } from './row-buffer.ts'

const row = fc
  .record({
    emitter: fc.constantFrom('l', 'l', 'l', 'r'),
    message: fc.oneof(
      fc.record({ id: fc.string({ maxLength: 3 }), v: fc.integer() }),
      fc.record({ v: fc.double(), id: fc.constant('x') }),
      fc.record({ ['__proto__']: fc.constant(1), w: fc.constant(null) }),
    ),
    time: fc.nat(50),
    meta: fc.constantFrom(null, null, { topic: 't' }),
  })
  .map(({ emitter, message, time, meta }) => makeRow(emitter, message, time, meta))
const step = fc.oneof(
  { weight: 6, arbitrary: fc.array(row, { minLength: 1, maxLength: 5 }) },
  { weight: 2, arbitrary: fc.nat(4) },
)

it('is a list of rows in time order, with the values kept beside them', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const buffer = new RowBuffer(1)
      let model: { row: Row; number: number }[] = []
      let number = 0
      for (const s of steps) {
        if (typeof s === 'number') {
          const count = Math.min(s, model.length)
          buffer.lowerBound(0)
          model = model.slice(count)
          buffer.evict(count)
        } else
          for (const r of s) {
            buffer.push(r)
            buffer.beside(0).push(number)
            model.push({ row: r, number: number++ })
          }
        buffer.lowerBound(0)
        model.sort((a, b) => a.row.timestamp - b.row.timestamp || a.number - b.number)
        const source = buffer.source(0, buffer.length)
        expect(Array.from({ length: source.length }, (_, i) => source.at(i))).toEqual(model.map((m) => m.row))
        expect(buffer.beside(0).slice(buffer.head)).toEqual(model.map((m) => m.number))
        const fresh = new RowBuffer()
        for (const m of model) fresh.push(m.row)
        expect(buffer.bytes).toBe(fresh.bytes)
      }
    }),
    { numRuns: 200 },
  )
})

it('keeps its rows through thousands that come and go', () => {
  const buffer = new RowBuffer(1)
  for (let i = 0; i < 10_000; i++) {
    buffer.push(makeRow('s', { i }, i))
    buffer.beside(0).push(i)
    if (buffer.length > 100) buffer.evict(1)
    expect(buffer.beside(0)[buffer.head]).toBe(buffer.row(0).message['i'])
  }
  expect(buffer.length).toBe(100)
  expect(buffer.row(0)).toEqual(makeRow('s', { i: 9900 }, 9900))
})
