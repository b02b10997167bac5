import { expect, it } from 'vitest'
import { drive } from '../../test/support/drive.ts'
import { manualClock } from '../core/clock.ts'
import { makeRow, type Row, rowsBatch } from '../core/row.ts'
import { decodeState, encodeState } from '../core/state.ts'
import type { State } from './contract.ts'
import { joinAlignOperator } from './join-align.ts'

const row = (emitter: string, id: number, v = 0): Row => makeRow(emitter, { id, v }, 0)
const shown = (rows: readonly Row[]): string[] =>
  rows.map((r) => `${r.emitter}${String(r.message['id'])}.${String(r.message['v'])}`)

it('keeps the newest rows and accounts for the ones that leave', () => {
  const d = drive(joinAlignOperator([{ emitter: 't', size: 2, key: null }]), manualClock())
  d.push(rowsBatch([row('t', 1), row('t', 2), row('t', 3)]))
  expect(Object.fromEntries(d.discarded)).toEqual({ filtered: 1 })
  d.push(rowsBatch([row('s', 9)]))
  d.push(rowsBatch([row('t', 4)]))
  expect(d.consumed).toBe(1)
  expect(d.operator.held).toBe(2)
  expect(d.batches).toHaveLength(1)
  expect(d.batches[0]).toMatchObject({ kind: 'collection', window: null, events: 1 })
  expect(d.batches[0]?.kind === 'collection' && shown(d.batches[0].rows)).toEqual(['s9.0', 't2.0', 't3.0'])
})

it('keeps one row per key when the table is keyed, and forgets the longest untouched key', () => {
  const table = { emitter: 't', size: 2, key: (r: Row) => r.message['id'] ?? null }
  const d = drive(joinAlignOperator([table]), manualClock())
  d.push(rowsBatch([row('t', 1), row('t', 2), row('t', 1, 5), row('t', 3)]))
  d.push(rowsBatch([row('s', 9)]))
  expect(d.batches[0]?.kind === 'collection' && shown(d.batches[0].rows)).toEqual(['s9.0', 't1.5', 't3.0'])
})

it('goes on from saved state', () => {
  const tables = [{ emitter: 't', size: 2, key: null }]
  const first = drive(joinAlignOperator(tables), manualClock())
  first.push(rowsBatch([row('t', 1), row('t', 2)]))
  const state = decodeState(encodeState(first.operator.save?.() as State))
  const d = drive(joinAlignOperator(tables), manualClock(), 'UTC', state)
  d.push(rowsBatch([row('t', 3), row('s', 9)]))
  expect(d.batches[0]?.kind === 'collection' && shown(d.batches[0].rows)).toEqual(['s9.0', 't2.0', 't3.0'])
})
