import fc from 'fast-check'
import { expect, it } from 'vitest'
import { drive } from '../../test/support/drive.ts'
import { manualClock } from '../core/clock.ts'
import { makeRow, type Row, rowsBatch } from '../core/row.ts'
import { decodeState, encodeState } from '../core/state.ts'
import type { State } from './contract.ts'
import { cover, dedupTriggerOperator, type Slot } from './dedup-trigger.ts'

const create = (expire = 1_000_000) =>
  dedupTriggerOperator({
    name: 'r',
    start: { name: 's', evaluate: (row) => row.message['s'] },
    end: { name: 'e', evaluate: (row) => row.message['e'] },
    now: { name: 'n', evaluate: (row) => row.message['n'] },
    expire,
    maxWaiting: 100,
  })
const row = (s: number, e: number, n: number): Row => makeRow('d', { s: BigInt(s), e: BigInt(e), n: BigInt(n) }, 0)
const results = (d: ReturnType<typeof drive>) =>
  d.batches.map((b) => (b.kind === 'rows' ? b.rows[0]?.computed?.get('r') : undefined))
const range = (start: number, end: number) => ({ start_key: String(start), end_key: String(end) })

it('gives each part of an interval once (spec/sql.md 3.12)', () => {
  const d = drive(create(), manualClock())
  for (const r of [row(1, 3, 5), row(2, 6, 7), row(1, 8, 9), row(2, 5, 10)]) d.push(rowsBatch([r]))
  expect(results(d)).toEqual([[range(1, 3)], [range(3, 6)], [range(6, 8)], null])
})

it('holds a row until its end, also across a restart', async () => {
  const clock = manualClock()
  const first = drive(create(), clock)
  first.push(rowsBatch([row(1, 20, 5)]))
  expect(first.operator.held).toBe(1)
  const state = decodeState(encodeState(first.operator.save?.() as State))
  const d = drive(create(), clock, 'UTC', state)
  await clock.advance(14)
  expect(d.batches).toHaveLength(0)
  await clock.advance(1)
  expect(results(d)).toEqual([[range(1, 20)]])
})

it('names what is wrong with a row', () => {
  const d = drive(create(), manualClock())
  const bad = [makeRow('d', { s: 1n, e: 2n }, 0), makeRow('d', { s: 'x', e: 2n, n: 3n }, 0), row(3, 2, 1)]
  d.push(rowsBatch(bad))
  expect(d.errors).toEqual([
    'dedup_trigger n is missing',
    'dedup_trigger start time s is not int64',
    'dedup_trigger start time 3 is greater than end time 2',
  ])
  expect(d.failed).toBe(3)
})

it('covers every moment exactly once', () => {
  const slot = fc.tuple(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 1, max: 20 }))
  fc.assert(
    fc.property(fc.array(slot, { maxLength: 15 }), (list) => {
      let slots: readonly Slot[] = []
      const given = new Set<number>()
      for (const [start, length] of list) {
        const { ranges, slots: next } = cover(slots, start, start + length, -1)
        for (const [from, to] of ranges ?? []) {
          for (let t = from; t < to; t++) {
            expect(given.has(t)).toBe(false)
            given.add(t)
          }
        }
        for (let t = start; t < start + length; t++) expect(given.has(t)).toBe(true)
        for (let i = 1; i < next.length; i++) expect(next[i]?.[0]).toBeGreaterThanOrEqual(next[i - 1]?.[1] as number)
        slots = next
      }
    }),
  )
})
