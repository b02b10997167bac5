import { describe, expect, it } from 'vitest'
import { type Driven, drive } from '../../test/support/drive.ts'
import { manualClock } from '../core/clock.ts'
import { makeRow, type Row, rowsBatch } from '../core/row.ts'
import { decodeState, encodeState } from '../core/state.ts'
import type { Value, ValueObject } from '../core/values.ts'
import type { State } from './contract.ts'
import { type LookupOptions, lookupOperator } from './lookup.ts'

/** A table whose answers are given by hand. */
function slowTable() {
  const asked: { key: Value; answer: (rows: readonly ValueObject[]) => void; fail: (error: Error) => void }[] = []
  return {
    asked,
    table: {
      lookup: (_columns: unknown, _keys: unknown, [key]: readonly Value[]) =>
        new Promise<readonly ValueObject[]>((answer, fail) => asked.push({ key: key as Value, answer, fail })),
    },
  }
}

function options(more: Partial<LookupOptions>): LookupOptions {
  return {
    name: 't',
    emitter: 't',
    table: slowTable().table,
    join: 'inner',
    keys: [{ column: 'id', value: (r) => r.message['k'] ?? null }],
    columns: null,
    cache: null,
    maxInFlight: 2,
    ...more,
  }
}

const row = (k: Value): Row => makeRow('s', { k }, 0)
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
const shown = (d: Driven): Value[] =>
  d.batches.map((b) =>
    b.kind === 'collection' ? b.rows.map((r) => (r.parts ?? [r]).map((p) => p.message as Value)) : [],
  )

describe('a lookup join', () => {
  it('keeps the order of rows whatever the order of answers', async () => {
    const { asked, table } = slowTable()
    const d = drive(lookupOperator(options({ table })), manualClock())
    d.push(rowsBatch([row(1), row(2)]))
    asked[1]?.answer([{ v: 'b' }])
    await settle()
    expect(d.batches).toHaveLength(0)
    expect(d.operator.held).toBe(2)
    asked[0]?.answer([{ v: 'a' }, { v: 'A' }])
    await settle()
    expect(shown(d)).toEqual([
      [
        [{ k: 1 }, { v: 'a' }],
        [{ k: 1 }, { v: 'A' }],
      ],
      [[{ k: 2 }, { v: 'b' }]],
    ])
    expect(d.operator.held).toBe(0)
  })

  it('has a bounded number of questions on their way and says when it is full', async () => {
    const { asked, table } = slowTable()
    const d = drive(lookupOperator(options({ table })), manualClock())
    d.push(rowsBatch([row(1), row(2), row(3)]))
    expect(asked).toHaveLength(2)
    expect(d.operator.full).toBe(true)
    asked[0]?.answer([{}])
    await settle()
    expect(asked).toHaveLength(3)
    for (const a of asked) a.answer([{}])
    await settle()
    expect(d.operator.full).toBe(false)
    expect(d.operator.settled?.()).toBeNull()
    expect(d.batches).toHaveLength(3)
  })

  it('asks nothing for a null key; LEFT keeps the row, INNER drops it', () => {
    const { asked, table } = slowTable()
    const inner = drive(lookupOperator(options({ table })), manualClock())
    inner.push(rowsBatch([row(null)]))
    expect(Object.fromEntries(inner.discarded)).toEqual({ filtered: 1 })
    const left = drive(lookupOperator(options({ table, join: 'left' })), manualClock())
    left.push(rowsBatch([row(null)]))
    expect(shown(left)).toEqual([[[{ k: null }]]])
    expect(asked).toHaveLength(0)
  })

  it('answers at once from a table in memory', () => {
    const table = { lookup: async () => [], lookupNow: () => [{ v: 1 }] }
    const d = drive(lookupOperator(options({ table })), manualClock())
    d.push(rowsBatch([row(1)]))
    expect(shown(d)).toEqual([[[{ k: 1 }, { v: 1 }]]])
  })

  it('gives one collection for a window, and fails it as a whole', async () => {
    const { asked, table } = slowTable()
    const d = drive(lookupOperator(options({ table })), manualClock())
    const window = { start: 0, end: 10, trigger: 10 }
    d.push({ kind: 'collection', rows: [row(1), row(2)], window, events: 0 })
    asked[0]?.answer([{ v: 1 }])
    asked[1]?.fail(new Error('refused'))
    await settle()
    expect(d.errors).toEqual(['refused'])
    expect(d.batches).toHaveLength(0)
  })

  it('keeps answers for their time, and missing ones only when told', async () => {
    const clock = manualClock()
    let questions = 0
    const table = {
      lookup: async (_c: unknown, _k: unknown, [key]: readonly Value[]) => {
        questions++
        return key === 1 ? [{ v: 1 }] : []
      },
    }
    const ask = async (d: Driven, k: Value): Promise<void> => {
      d.push(rowsBatch([row(k)]))
      await settle()
    }
    const d = drive(lookupOperator(options({ table, cache: { ttl: 100, missing: false, maxEntries: 10 } })), clock)
    await ask(d, 1)
    await ask(d, 1)
    expect(questions).toBe(1)
    await clock.advance(100)
    await ask(d, 1)
    expect(questions).toBe(2)
    await ask(d, 2)
    await ask(d, 2)
    expect(questions).toBe(4)
    const bounded = drive(lookupOperator(options({ table, cache: { ttl: 0, missing: true, maxEntries: 1 } })), clock)
    for (const k of [2, 2, 1, 2]) await ask(bounded, k)
    expect(questions).toBe(7)
  })

  it('keeps answers of keys apart that look alike', async () => {
    const asked: (readonly Value[])[] = []
    const table = {
      lookup: async (_columns: unknown, _keys: unknown, values: readonly Value[]) => {
        asked.push(values)
        return [{ v: asked.length }]
      },
    }
    const keys = ['k', 'l'].map((column) => ({ column, value: (r: Row) => r.message[column] ?? null }))
    const cache = { ttl: 0, missing: false, maxEntries: 10 }
    const d = drive(lookupOperator(options({ table, keys, cache })), manualClock())
    for (const [k, l] of [
      ['x\u0000string:y', 'z'],
      ['x', 'y\u0000string:z'],
      [['a b'], 'z'],
      [['a', 'b'], 'z'],
    ] as const) {
      d.push(rowsBatch([makeRow('s', { k: k as Value, l }, 0)]))
      await settle()
    }
    expect(asked).toHaveLength(4)
  })

  it('asks again for what was on its way when the state was saved', async () => {
    const first = slowTable()
    const d = drive(lookupOperator(options({ table: first.table })), manualClock())
    d.push(rowsBatch([row(1)]))
    const state = decodeState(encodeState(d.operator.save?.() as State))
    const table = { lookup: async () => [{ v: 1 }] }
    const clock = manualClock()
    const restored = drive(lookupOperator(options({ table })), clock, 'UTC', state)
    await clock.advance(0)
    await settle()
    expect(shown(restored)).toEqual([[[{ k: 1 }, { v: 1 }]]])
  })
})
