import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Driven, drive } from '../../test/support/drive.ts'
import { manualClock } from '../core/clock.ts'
import { makeRow, type Row, rowsBatch } from '../core/row.ts'
import { decodeState, encodeState } from '../core/state.ts'
import type { Operator, State } from './contract.ts'
import { type StreamTime, type WatermarkOptions, watermarkOperator } from './watermark.ts'

const stream = (emitter: string, more: Partial<StreamTime> = {}): StreamTime => ({
  emitter,
  latePolicy: 'drop',
  maxFutureSkew: null,
  idleTimeout: null,
  ...more,
})

function create(more: Partial<WatermarkOptions> = {}): Operator {
  return watermarkOperator({ streams: [stream('s')], lateTolerance: 5, sendWatermark: true, maxRows: 1000, ...more })
}

const row = (timestamp: number, emitter = 's'): Row => makeRow(emitter, { t: timestamp }, timestamp)

/** Released times, with markers as `w15`. */
const shown = (d: Driven): (number | string)[] =>
  d.events.flatMap((e): (number | string)[] =>
    'watermark' in e ? [`w${e.watermark}`] : e.kind === 'rows' ? e.rows.map((r) => r.timestamp) : [],
  )

const push = (d: Driven, ...times: number[]): void => {
  for (const t of times) d.push(rowsBatch([row(t)]))
}

describe('a watermark', () => {
  it('releases rows in time order and drops late ones (spec/sql.md 3.10)', () => {
    const d = drive(create(), manualClock())
    push(d, 20, 10, 30, 32, 32, 28, 40)
    expect(shown(d)).toEqual(['w15', 20, 'w25', 'w27', 28, 30, 32, 32, 'w35'])
    expect(Object.fromEntries(d.discarded)).toEqual({ late: 1 })
    expect(d.operator.held).toBe(1)
  })

  it('waits for every stream', () => {
    const d = drive(create({ streams: [stream('a'), stream('b')], lateTolerance: 0 }), manualClock())
    d.push(rowsBatch([row(10, 'a'), row(20, 'a')]))
    expect(shown(d)).toEqual([])
    d.push(rowsBatch([row(15, 'b')]))
    expect(shown(d)).toEqual([10, 15, 'w15'])
  })

  it('sends no markers and keeps released rows of one batch together without a window', () => {
    const d = drive(create({ sendWatermark: false, lateTolerance: 0 }), manualClock())
    d.push(rowsBatch([row(1), row(2), row(3)]))
    expect(d.batches).toHaveLength(1)
    expect(shown(d)).toEqual([1, 2, 3])
  })

  it('gives the same in any batch size, and after being saved and loaded at any point', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.integer({ min: 0, max: 60 }), fc.constantFrom('a', 'b')), { maxLength: 40 }),
        fc.integer({ min: 1, max: 9 }),
        (times, size) => {
          const rows = times.map(([t, emitter]) => row(t, emitter))
          const options = { streams: [stream('a'), stream('b')] }
          const single = drive(create(options), manualClock())
          for (const r of rows) single.push(rowsBatch([r]))
          const batched = drive(create(options), manualClock())
          for (let i = 0; i < rows.length; i += size) batched.push(rowsBatch(rows.slice(i, i + size)))
          expect(shown(batched)).toEqual(shown(single))
          expect(batched.discarded).toEqual(single.discarded)

          const restored: (number | string)[] = []
          let d = drive(create(options), manualClock())
          for (let i = 0; i < rows.length; i += size) {
            for (const r of rows.slice(i, i + size)) d.push(rowsBatch([r]))
            restored.push(...shown(d))
            const state = decodeState(encodeState(d.operator.save?.() as State))
            d = drive(create(options), manualClock(), 'UTC', state)
          }
          expect(restored).toEqual(shown(single))
          const accounted = [...single.discarded.values()].reduce((a, b) => a + b, 0)
          const released = shown(single).filter((x) => typeof x === 'number').length
          expect(released + accounted + (single.operator.held ?? 0)).toBe(rows.length)
        },
      ),
      { numRuns: 100 },
    )
  })

  it('counts only rows that are not due for the limit, however many come together', () => {
    const d = drive(create({ lateTolerance: 2, maxRows: 3, coalesce: true }), manualClock())
    d.push(rowsBatch([1, 2, 3, 4, 5, 6, 7, 8].map((time) => row(time))))
    expect(shown(d)).toEqual([1, 2, 3, 4, 5, 6, 'w6'])
    expect(Object.fromEntries(d.discarded)).toEqual({})
  })

  it('drops the oldest waiting row beyond its limit', () => {
    const d = drive(create({ lateTolerance: 100, maxRows: 2 }), manualClock())
    push(d, 1, 2, 3)
    expect(Object.fromEntries(d.discarded)).toEqual({ window_limit: 1 })
    expect(d.operator.held).toBe(2)
  })
})

it('stops the rule at its limit when told to', () => {
  const d = drive(create({ lateTolerance: 100, maxRows: 2, limitPolicy: 'fail' }), manualClock())
  expect(() => push(d, 1, 2, 3)).toThrow(/more than 2 rows wait for the watermark/)
})

describe('LATE_POLICY', () => {
  it('side hands late rows on and still counts them', () => {
    const late: number[] = []
    const d = drive(
      create({ streams: [stream('s', { latePolicy: 'side' })], onLate: (r) => void late.push(r.timestamp) }),
      manualClock(),
    )
    push(d, 20, 10)
    expect(late).toEqual([10])
    expect(Object.fromEntries(d.discarded)).toEqual({ late: 1 })
  })

  it('reopen passes late rows on out of order where no window has closed over them', () => {
    const options = { streams: [stream('s', { latePolicy: 'reopen' as const })], sendWatermark: false }
    const d = drive(create(options), manualClock())
    push(d, 20, 30, 10)
    expect(shown(d)).toEqual([20, 10])
    expect(d.discarded.size).toBe(0)
  })

  it('reopen drops late rows in a rule with a window', () => {
    const d = drive(create({ streams: [stream('s', { latePolicy: 'reopen' })] }), manualClock())
    push(d, 20, 10)
    expect(Object.fromEntries(d.discarded)).toEqual({ late: 1 })
  })
})

it('MAX_FUTURE_SKEW sets one fast clock aside', () => {
  const clock = manualClock({ start: 1_000 })
  const d = drive(create({ streams: [stream('s', { maxFutureSkew: 60_000 })], lateTolerance: 0 }), clock)
  push(d, 0, 1_000, 86_400_000, 2_000, 10_000)
  expect(shown(d)).toEqual([0, 'w0', 1_000, 'w1000', 2_000, 'w2000', 10_000, 'w10000'])
  expect(Object.fromEntries(d.discarded)).toEqual({ future_skew: 1 })
})

describe('IDLE_TIMEOUT', () => {
  it('lets the other streams go on', async () => {
    const clock = manualClock()
    const streams = [stream('a'), stream('b', { idleTimeout: 1_000 })]
    const d = drive(create({ streams, lateTolerance: 0 }), clock)
    d.push(rowsBatch([row(10, 'a')]))
    expect(shown(d)).toEqual([])
    await clock.advance(1_000)
    expect(shown(d)).toEqual([10, 'w10'])
  })

  it('moves event time with the clock when all streams are silent', async () => {
    const clock = manualClock({ start: 50_000 })
    const d = drive(create({ streams: [stream('s', { idleTimeout: 5_000 })], lateTolerance: 0 }), clock)
    push(d, 1_000)
    await clock.advance(9_000)
    expect(d.watermarks.at(-1)).toBe(10_000)
    push(d, 3_000)
    expect(Object.fromEntries(d.discarded)).toEqual({ late: 1 })
  })
})
