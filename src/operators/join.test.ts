import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { drive } from '../../test/support/drive.ts'
import { operations } from '../core/arithmetic.ts'
import { manualClock } from '../core/clock.ts'
import { collectionOf, makeRow, qualifiedColumn, type Row } from '../core/row.ts'
import type { Value, ValueObject } from '../core/values.ts'
import type { Evaluate } from './contract.ts'
import { type JoinStep, joinOperator } from './join.ts'

const column =
  (stream: string, name: string): Evaluate =>
  (row) =>
    qualifiedColumn(row, stream, name) ?? null
const equal =
  (a: Evaluate, b: Evaluate): Evaluate =>
  (row, scope) =>
    operations['='](a(row, scope), b(row, scope))

/** `l.k = r.k`, with or without the index. */
function step(kind: JoinStep['kind'], hash: boolean, left = 'l', right = 'r', alone = true): JoinStep {
  const [l, r] = [column(left, 'k'), column(right, 'k')]
  return { kind, left, right, on: equal(l, r), equality: hash ? { left: l, right: r, before: [], alone } : null }
}

const row = (emitter: string, message: ValueObject): Row => makeRow(emitter, message, 0)
const components = (r: Row): string[] => (r.parts ?? [r]).map((p) => `${p.emitter}${String(p.message['id'])}`)

function run(joins: readonly JoinStep[], rows: readonly Row[], maxRows = 1e6) {
  const d = drive(joinOperator({ joins, maxRows }), manualClock())
  d.push({ kind: 'collection', rows, window: null, events: 1 })
  const joined = d.batches.map((b) => (b.kind === 'collection' ? b.rows.map(components) : []))
  return { joined: joined[0] ?? null, errors: d.errors, discarded: Object.fromEntries(d.discarded) }
}

describe('the pairing table (spec/sql.md 4.4)', () => {
  const rows = [
    row('l', { id: 1, k: 1 }),
    row('l', { id: 2, k: 2 }),
    row('r', { id: 1, k: 1 }),
    row('r', { id: 2, k: 1 }),
    row('r', { id: 3, k: 9 }),
  ]
  it.each<[JoinStep['kind'], string[][]]>([
    [
      'inner',
      [
        ['l1', 'r1'],
        ['l1', 'r2'],
      ],
    ],
    ['left', [['l1', 'r1'], ['l1', 'r2'], ['l2']]],
    ['right', [['r1', 'l1'], ['r2', 'l1'], ['r3']]],
    ['full', [['l1', 'r1'], ['l1', 'r2'], ['l2'], ['r3']]],
    [
      'cross',
      [
        ['l1', 'r1'],
        ['l1', 'r2'],
        ['l1', 'r3'],
        ['l2', 'r1'],
        ['l2', 'r2'],
        ['l2', 'r3'],
      ],
    ],
  ])('%s', (kind, expected) => {
    expect(run([step(kind, false)], rows).joined).toEqual(expected)
  })

  it('emits nothing when nothing matches, and accounts for the event', () => {
    const { joined, discarded } = run([step('inner', false)], [row('l', { id: 1, k: 1 })])
    expect(joined).toBeNull()
    expect(discarded).toEqual({ filtered: 1 })
  })

  it('joins further sources to what is joined, all matches of each', () => {
    const third = [...rows.slice(0, 4), row('m', { id: 7, k: 1 }), row('m', { id: 8, k: 1 })]
    expect(run([step('inner', false), step('inner', false, 'l', 'm')], third).joined).toEqual([
      ['l1', 'r1', 'm7'],
      ['l1', 'r1', 'm8'],
      ['l1', 'r2', 'm7'],
      ['l1', 'r2', 'm8'],
    ])
    expect(run([step('inner', false), step('right', false, 'l', 'm')], third).joined?.[0]).toEqual(['m7', 'l1', 'r1'])
  })

  it('fails the whole window when ON is no boolean', () => {
    const { joined, errors } = run([{ ...step('left', false), on: () => 3 }], rows)
    expect(joined).toBeNull()
    expect(errors).toEqual(['run Join error: invalid join condition that returns non-bool value float64(3)'])
  })

  it('bounds the rows of one window', () => {
    const { errors } = run([step('cross', false)], rows, 5)
    expect(errors[0]).toMatch(/more than 5 rows/)
  })
})

const key: fc.Arbitrary<Value> = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 0, max: 4 }) },
  { weight: 3, arbitrary: fc.integer({ min: 0, max: 4 }).map(BigInt) },
  { weight: 1, arbitrary: fc.constantFrom<Value>(null, Number.NaN, -0, 2n ** 53n, 2n ** 53n + 1n, 2 ** 53) },
)
const mixedKey = fc.oneof(
  { weight: 9, arbitrary: key },
  { weight: 1, arbitrary: fc.constantFrom<Value>('a', true, []) },
)
const plainKey = fc.constantFrom<Value>('a', 'b', 'c', null)
const kinds: JoinStep['kind'][] = ['inner', 'left', 'right', 'full']

it('finds by hash exactly what trying every pair finds, errors included', () => {
  const rowsOf = (emitter: string, keys: readonly Value[]): Row[] => keys.map((k, id) => row(emitter, { id, k }))
  fc.assert(
    fc.property(
      fc.oneof(
        fc.tuple(fc.array(key, { maxLength: 14 }), fc.array(key, { maxLength: 14 })),
        fc.tuple(fc.array(mixedKey, { maxLength: 14 }), fc.array(mixedKey, { maxLength: 14 })),
        fc.tuple(fc.array(plainKey, { maxLength: 14 }), fc.array(plainKey, { maxLength: 14 })),
      ),
      fc.constantFrom(...kinds),
      fc.constantFrom(...kinds),
      fc.boolean(),
      ([left, right], first, second, alone) => {
        const rows = [...rowsOf('l', left), ...rowsOf('r', right), ...rowsOf('m', right.slice(0, 5))]
        const joins = (hash: boolean) => [step(first, hash, 'l', 'r', alone), step(second, hash, 'l', 'm', alone)]
        expect(run(joins(true), rows)).toEqual(run(joins(false), rows))
      },
    ),
    { numRuns: 500 },
  )
})

it('finds the same beside tables, whose index it keeps until they change', () => {
  const table = (emitter: string, keys: readonly Value[]): Row[] => keys.map((k, id) => row(emitter, { id, k }))
  const keys = fc.array(mixedKey, { minLength: 3, maxLength: 40 })
  fc.assert(
    fc.property(
      keys,
      keys,
      fc.array(mixedKey, { maxLength: 6 }),
      fc.constantFrom(...kinds),
      (r, changed, items, kind) => {
        const d = drive(joinOperator({ joins: [step(kind, true)], maxRows: 1e6 }), manualClock())
        const first = table('r', r)
        for (const tableRows of [first, first, table('r', changed)]) {
          for (const k of items) {
            const rows = [row('l', { id: 0, k })]
            const before = { batches: d.batches.length, errors: d.errors.length }
            const apart = { rows, tables: new Map([['r', tableRows]]) }
            d.push({ kind: 'collection', rows: [...rows, ...tableRows], window: null, events: 1, apart })
            const wanted = run([step(kind, false)], [...rows, ...tableRows])
            const [got] = d.batches.slice(before.batches)
            expect(got?.kind === 'collection' ? got.rows.map(components) : null).toEqual(wanted.joined)
            expect(d.errors.slice(before.errors)).toEqual(wanted.errors)
          }
        }
      },
    ),
    { numRuns: 100 },
  )
})

it('reads the keys of an unchanged table once', () => {
  let read = 0
  const base = step('inner', true)
  const equality = {
    ...base.equality,
    right: (r: Row) => {
      read++
      return r.message['k'] ?? null
    },
  } as JoinStep['equality']
  const d = drive(joinOperator({ joins: [{ ...base, equality }], maxRows: 1e6 }), manualClock())
  const tables = new Map([['r', Array.from({ length: 1000 }, (_, id) => row('r', { id, k: id }))]])
  for (let i = 0; i < 10; i++) {
    d.push({
      kind: 'collection',
      rows: [],
      window: null,
      events: 1,
      apart: { rows: [row('l', { id: i, k: i })], tables },
    })
  }
  expect(d.batches).toHaveLength(10)
  expect(read).toBe(1000)
})

it.each([
  ['one evaluation of ON per pair that matches', false, 10_000],
  ['none where ON is nothing but the equality', true, 0],
])('joins two inputs of 10,000 rows with %s', (_, alone, evaluations) => {
  const n = 10_000
  let evaluated = 0
  const base = step('inner', true, 'l', 'r', alone)
  const on: Evaluate = (r, scope) => {
    evaluated++
    return base.on?.(r, scope) ?? null
  }
  const rows: Row[] = []
  for (let i = 0; i < n; i++) rows.push(row('l', { id: i, k: i }), row('r', { id: i, k: n - 1 - i }))
  expect(run([{ ...base, on }], rows).joined).toHaveLength(n)
  expect(evaluated).toBe(evaluations)
})

it('gives the same of rows that are made on demand', () => {
  const n = 6000
  const rows: Row[] = []
  for (let i = 0; i < n; i++) rows.push(row(i % 2 ? 'l' : 'r', { id: i, k: `k${(i * 7919) % 1999}` }))
  const source = {
    length: n,
    at: (i: number) => ({ ...(rows[i] as Row) }),
    emitterAt: (i: number) => rows[i]?.emitter ?? '',
  }
  for (const kind of kinds) {
    for (const steps of [
      [step(kind, true)],
      [step(kind, true, 'l', 'r', false)],
      [step(kind, true), step('inner', true)],
    ]) {
      const d = drive(joinOperator({ joins: steps, maxRows: 1e6 }), manualClock())
      d.push(collectionOf(source, null, 0))
      d.push({ kind: 'collection', rows, window: null, events: 0 })
      const [onDemand, atOnce] = d.batches.map((b) => (b.kind === 'collection' ? b.rows.map(components) : []))
      expect(onDemand?.length).toBeGreaterThan(1000)
      expect(onDemand).toEqual(atOnce)
    }
  }
})
