/** Reported situations about windows and event time, each with the result it should have given. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { manualClock } from '../../src/core/clock.ts'
import type { Value, ValueObject } from '../../src/core/values.ts'
import { imbalance } from '../../src/engine/index.ts'
import { runStatement } from '../support/run-statement.ts'
import { B, eventTime, overJson, planOf, planText, processingTime, stream } from './statements.ts'

type Rows = [number, ValueObject][]

describe('time windows', () => {
  it('end exactly: a row on the edge belongs to the next one, tumbling as hopping by its length (report 1, TC-01)', () => {
    const rows: Rows = [
      [0, { v: 10 }],
      [9999, { v: 20 }],
      [10_000, { v: 30 }],
      [20_000, { v: 40 }],
    ]
    for (const window of ['TUMBLINGWINDOW(ss,10)', 'HOPPINGWINDOW(ss,10,10)']) {
      const sql = `SELECT count(*) AS c, avg(v) AS a, window_end() AS we FROM S GROUP BY ${window}`
      expect(eventTime(sql, rows).out).toEqual([
        [{ c: 2n, a: 15, we: BigInt(B + 10_000) }],
        [{ c: 1n, a: 30, we: BigInt(B + 20_000) }],
      ])
    }
  })

  it('on processing time, too: the same windows and means from TUMBLINGWINDOW(n) and HOPPINGWINDOW(n, n) (report 1)', () => {
    const rows: Rows = [
      [3000, { v: 10 }],
      [9999, { v: 20 }],
      [10_000, { v: 30 }],
    ]
    for (const window of ['TUMBLINGWINDOW(ss,10)', 'HOPPINGWINDOW(ss,10,10)'])
      expect(
        processingTime(`SELECT avg(v) AS a, window_end() AS we FROM S GROUP BY ${window}`, rows, 20_000).out,
      ).toEqual([[{ a: 15, we: BigInt(B + 10_000) }], [{ a: 30, we: BigInt(B + 20_000) }]])
  })

  it('know start and end from event time alone, the first one too, whatever the clock says (report 2)', () => {
    const clock = manualClock({ start: B + 86_400_123 })
    const sql = 'SELECT window_start() AS ws, window_end() AS we FROM S GROUP BY TUMBLINGWINDOW(ss,10)'
    const run = runStatement({ definitions: [stream('S')], sql, isEventTime: true }, clock)
    for (const offset of [3000, 12_000, 22_000]) run.push('S', [{ ts: B + offset }])
    expect(run.emissions).toEqual([
      [{ ws: BigInt(B + 3000), we: BigInt(B + 10_000) }],
      [{ ws: BigInt(B + 10_000), we: BigInt(B + 20_000) }],
    ])
  })

  it('of a length that does not divide the minute align in the minute of the first row, then follow each other (TC-17)', () => {
    const sql = 'SELECT count(*) AS c, window_end() AS we FROM S GROUP BY TUMBLINGWINDOW(ss,7)'
    const ends = (offsets: number[]): Value[] =>
      eventTime(
        sql,
        offsets.map((o): [number, ValueObject] => [o, {}]),
      ).out.map((rows) => Number((rows as { we: bigint }[])[0]?.we) - B)
    expect(ends([58_000, 61_000, 64_000, 71_000])).toEqual([63_000, 70_000])
    // Started in another minute, other windows: as the reference.
    expect(ends([61_000, 64_000, 71_000])).toEqual([67_000])
  })

  it('may hop further than they are long; rows of the gap are filtered, not kept (report 17)', () => {
    const sql = 'SELECT collect(v) AS l, window_start() AS ws FROM S GROUP BY HOPPINGWINDOW(ss,10,60)'
    const rows = [45, 55, 65, 115].map((s): [number, ValueObject] => [s * 1000, { v: s }])
    const { out, ledger } = processingTime(sql, rows, 120_000)
    expect(out).toEqual([[{ l: [55], ws: BigInt(B + 50_000) }], [{ l: [115], ws: BigInt(B + 110_000) }]])
    expect(ledger).toMatchObject({ received: 4, inFlight: 0 })
    expect(imbalance(ledger)).toBe(0)
  })

  it('that overlap give a row whole to each of them, and to every rule (report 8)', () => {
    const sql = 'SELECT v + 1 AS v, k FROM S GROUP BY HOPPINGWINDOW(ss,4,2)'
    const run = runStatement({ definitions: [stream('S')], sql, isEventTime: true })
    const shared = { v: 1, k: 'a', ts: B + 1000 }
    run.push('S', [shared])
    run.push('S', [{ ts: B + 10_000 }])
    expect(run.emissions.slice(0, 2)).toEqual([[{ v: 2, k: 'a' }], [{ v: 2, k: 'a' }]])
    expect(shared).toEqual({ v: 1, k: 'a', ts: B + 1000 })
  })

  it('without rows collect an empty list, kept as rows or as accumulators', () => {
    const rows: Rows = [
      [1000, { v: 1 }],
      [25_000, { v: 2 }],
    ]
    const sql = 'SELECT collect(v) AS l, count(*) AS c FROM S GROUP BY TUMBLINGWINDOW(ss,10)'
    for (const incremental of [true, false])
      expect(eventTime(sql, rows, { incremental }).out).toEqual([[{ l: [1], c: 1n }], [{ l: [] }]])
  })

  it('fire once for each scheduled end, also when the process comes late to several of them (trap: late ticks)', () => {
    const sql = 'SELECT count(*) AS c, window_end() AS we FROM S GROUP BY TUMBLINGWINDOW(ss,1)'
    const clock = lateClock(B)
    const run = runStatement({ definitions: [stream('S')], sql }, clock)
    run.push('S', [{ v: 1 }])
    clock.jump(2600)
    expect(run.emissions).toEqual([[{ c: 1n, we: BigInt(B + 1000) }], [{ we: BigInt(B + 2000) }]])
  })

  it('of days begin at local midnight, those of hours in the hour of the first row (trap: alignment)', () => {
    const end = (window: string): number => {
      const rows: Rows = [
        [0, {}],
        [400_000_000, {}],
      ]
      const { out } = eventTime(`SELECT window_end() AS we FROM S GROUP BY ${window}`, rows)
      return Number((out[0] as { we: bigint }[])[0]?.we)
    }
    expect(new Date(end('TUMBLINGWINDOW(dd,1)')).toISOString()).toBe('2023-11-15T00:00:00.000Z')
    expect(new Date(end('TUMBLINGWINDOW(hh,1)')).toISOString()).toBe('2023-11-14T23:00:00.000Z')
  })
})

describe('event time', () => {
  it('counts what comes too late after a jump ahead (report 3, TC-03)', () => {
    const rows: Rows = [
      [100_000, {}],
      [1000, {}],
      [2000, {}],
      [110_000, {}],
    ]
    const sql = 'SELECT count(*) AS c, window_end() AS we FROM S GROUP BY TUMBLINGWINDOW(ss,10)'
    const { out, ledger } = eventTime(sql, rows)
    expect(out).toEqual([[{ c: 1n, we: BigInt(B + 110_000) }]])
    expect(ledger.dropped).toEqual({ late: 2 })
  })

  it('waits for rows out of order within the tolerance (report 4, TC-04)', () => {
    const rows: Rows = [
      [1000, { v: 1 }],
      [9000, { v: 2 }],
      [6000, { v: 4 }],
      [16_000, { v: 8 }],
    ]
    const sql = 'SELECT count(*) AS c, sum(v) AS s FROM S GROUP BY TUMBLINGWINDOW(ss,10)'
    expect(eventTime(sql, rows, { lateTolerance: 5000 }).out).toEqual([[{ c: 3n, s: 7 }]])
  })

  it('takes any order in any window without failing, and accounts for every row (report 4)', () => {
    const windows = [
      'TUMBLINGWINDOW(ss,2)',
      'HOPPINGWINDOW(ss,3,1)',
      'SLIDINGWINDOW(ss,2,1)',
      'SESSIONWINDOW(ss,5,1)',
      'STATEWINDOW(v > 2, v < 1)',
    ]
    const rows = fc.array(fc.tuple(fc.integer({ min: 0, max: 20_000 }), fc.integer({ min: 0, max: 4 })), {
      maxLength: 40,
    })
    const property = fc.property(
      fc.constantFrom(...windows),
      fc.integer({ min: 0, max: 3000 }),
      rows,
      (w, late, list) => {
        const sql = `SELECT count(*) AS c FROM S GROUP BY ${w}`
        const run = runStatement({ definitions: [stream('S')], sql, isEventTime: true, lateTolerance: late })
        for (const [offset, v] of list) run.push('S', [{ v, ts: B + offset }])
        expect(JSON.stringify(run.emissions, (_k, x) => (typeof x === 'bigint' ? Number(x) : x))).not.toContain('error')
        expect(imbalance(run.read())).toBe(0)
        expect(run.read().received).toBe(list.length)
        run.stop()
      },
    )
    fc.assert(property, { numRuns: 100 })
  })

  it('that is declared and not used is a warning when the rule is made (report 5)', () => {
    const warnings = (isEventTime: boolean) =>
      planOf('SELECT v FROM S', [stream('S')], { isEventTime }).warnings.map((w) => w.message)
    expect(warnings(false)).toEqual(['stream S declares TIMESTAMP ts, but the rule runs on processing time'])
    expect(warnings(true)).toEqual([])
  })

  it('that comes late to a window that has fired does not open it again, which is a warning', () => {
    const warnings = (sql: string) =>
      planOf(sql, [stream('S', ', LATE_POLICY="reopen"')], { isEventTime: true }).warnings.map((w) => w.message)
    expect(warnings('SELECT count(*) AS c FROM S GROUP BY TUMBLINGWINDOW(ss, 1)')).toEqual([
      'LATE_POLICY reopen of stream S has no effect in a rule with a window: late rows are dropped and counted',
    ])
    expect(warnings('SELECT v FROM S')).toEqual([])
  })

  it('goes on when the stream falls silent, if told to; what comes then is late (report 136, TC-18)', () => {
    const clock = manualClock({ start: B })
    const sql = 'SELECT count(*) AS c, window_end() AS we FROM S GROUP BY TUMBLINGWINDOW(ss,10)'
    const definitions = [stream('S', ', IDLE_TIMEOUT="5s"')]
    const run = runStatement({ definitions, sql, isEventTime: true }, clock)
    run.push('S', [{ ts: B + 1000 }])
    clock.advanceSync(9000)
    expect(run.emissions).toEqual([[{ c: 1n, we: BigInt(B + 10_000) }]])
    run.push('S', [{ ts: B + 2000 }])
    expect(run.read().dropped).toEqual({ late: 1 })
    run.stop()
  })

  it('is held back by a stream that went silent, or not, as IDLE_TIMEOUT says (trap: silent stream)', () => {
    const fired = (more: string): number => {
      const clock = manualClock({ start: B })
      const definitions = [stream('L', more), stream('R', more)]
      const sql = 'SELECT L.id FROM L LEFT JOIN R ON L.id = R.id GROUP BY TUMBLINGWINDOW(ss,10)'
      const run = runStatement({ definitions, sql, isEventTime: true }, clock)
      run.push('R', [{ id: 1, ts: B + 1000 }])
      run.push('L', [{ id: 1, ts: B + 1000 }])
      for (const offset of [4000, 8000, 12_000]) {
        clock.advanceSync(4000)
        run.push('L', [{ id: 1, ts: B + offset }])
      }
      run.stop()
      return run.emissions.length
    }
    expect(fired('')).toBe(0)
    expect(fired(', IDLE_TIMEOUT="5s"')).toBe(1)
  })

  it('is not pushed ahead by one fast clock, if told so (report 3, TC-19)', () => {
    const clock = manualClock({ start: B })
    const sql = 'SELECT count(*) AS c FROM S GROUP BY TUMBLINGWINDOW(ss,10)'
    const definitions = [stream('S', ', MAX_FUTURE_SKEW="60s"')]
    const run = runStatement({ definitions, sql, isEventTime: true }, clock)
    for (const offset of [0, 1000, 86_400_000, 2000, 10_000]) run.push('S', [{ ts: B + offset }])
    expect(run.emissions).toEqual([[{ c: 3n }]])
    expect(run.read().dropped).toEqual({ future_skew: 1 })
    run.stop()
  })

  it('of the past closes its windows by the data, not by the clock (report 119)', () => {
    const rows: Rows = [
      [-400 * 86_400_000, { v: 1 }],
      [-400 * 86_400_000 + 10_000, { v: 2 }],
    ]
    expect(eventTime('SELECT sum(v) AS s FROM S GROUP BY TUMBLINGWINDOW(ss,10)', rows).out).toEqual([[{ s: 1 }]])
  })
})

describe('sliding windows', () => {
  it('fire once per row that triggers, also at the same time (report 18, TC-16)', () => {
    const rows: Rows = [
      [0, { x: 1 }],
      [0, { x: 1 }],
      [2000, { x: 0 }],
    ]
    const sql = 'SELECT count(*) AS c FROM S GROUP BY SLIDINGWINDOW(ss,1) OVER (WHEN x = 1)'
    for (const incremental of [true, false]) expect(eventTime(sql, rows, { incremental }).out).toHaveLength(2)
  })

  it('forget old rows as they go: a hundred thousand rows in one window, one that triggers (report 19)', () => {
    const sql = 'SELECT count(*) AS c FROM S GROUP BY SLIDINGWINDOW(ss,50) OVER (WHEN v = 99999)'
    const clock = manualClock({ start: B })
    const run = runStatement({ definitions: [stream('S')], sql, incremental: false }, clock)
    for (let v = 0; v < 100_000; v++) {
      clock.advanceSync(1)
      run.push('S', [{ v }])
    }
    expect(run.emissions).toEqual([[{ c: 50_001n }]])
    expect(run.read().inFlight).toBe(50_001)
  })

  it('add and take away as they slide: thirty thousand rows that all trigger, fifteen thousand in each window (report 19)', () => {
    const sql = 'SELECT count(*) AS c, sum(v) AS s, max(v) AS m FROM S GROUP BY SLIDINGWINDOW(ss,15)'
    const clock = manualClock({ start: B })
    const run = runStatement({ definitions: [stream('S')], sql }, clock)
    for (let v = 1; v <= 30_000; v++) {
      clock.advanceSync(1)
      run.push('S', [{ v }])
    }
    expect(run.emissions).toHaveLength(30_000)
    // From 15,000 to 30,000, both included.
    expect(run.emissions.at(-1)).toEqual([{ c: 15_001n, s: 15_001 * 22_500, m: 30_000 }])
  })

  it('with a delay keep the rows before each trigger that is still to fire (report 20)', () => {
    const rows: Rows = [
      [1000, { v: 1 }],
      [9000, { v: 9 }],
      [10_500, { v: 9 }],
      [11_500, { v: 2 }],
      [12_200, { v: 3 }],
    ]
    const sql = 'SELECT collect(v) AS l FROM S GROUP BY SLIDINGWINDOW(ss,10,2) OVER (WHEN v = 9)'
    const wanted = [[{ l: [1, 9, 9] }], [{ l: [1, 9, 9, 2, 3] }]]
    expect(processingTime(sql, rows, 20_000).out).toEqual(wanted)
    expect(eventTime(sql, [...rows, [30_000, { v: 0 }]]).out).toEqual(wanted)
  })

  it('hold both edges without a delay, the left one only with a delay (trap: sliding edges)', () => {
    const rows: Rows = [
      [0, { v: 1 }],
      [2000, { v: 2 }],
      [3000, { v: 3 }],
    ]
    const more: Rows = [...rows, [20_000, { v: 4 }]]
    const sql = (window: string) => `SELECT collect(v) AS l FROM S GROUP BY ${window} OVER (WHEN v = 2)`
    expect(eventTime(sql('SLIDINGWINDOW(ss,2)'), more).out).toEqual([[{ l: [1, 2] }]])
    expect(eventTime(sql('SLIDINGWINDOW(ss,2,1)'), more).out).toEqual([[{ l: [1, 2] }]])
  })

  it('show the interval they cover before and after the trigger in the plan (report 7)', () => {
    const sql = 'SELECT min(v) AS m FROM S GROUP BY SLIDINGWINDOW(ss,10,5) OVER (WHEN v > 5) HAVING m > 5'
    expect(planText(sql)).toContain('window sliding 10s and 5s after, processing time, when S.v > 5')
    // Why it never fires: the look-back holds the low values from before the trigger.
    const rows = [1, 6, 7, 8].map((v, i): [number, ValueObject] => [i * 1000, { v }])
    expect(eventTime(sql, [...rows, [60_000, { v: 0 }]]).out).toEqual([])
  })
})

describe('state windows', () => {
  it('keep the rows from the one that begins to the one that emits, both included (report 13, TC-14)', () => {
    for (const windowVersion of ['', 'v2']) {
      const sql = 'SELECT a FROM S GROUP BY STATEWINDOW(a > 1, a > 5)'
      const run = runStatement({ definitions: [stream('S')], sql, windowVersion })
      for (const a of [0, 2, 3, 6, 4, 7]) run.push('S', [{ a }])
      expect(run.emissions).toEqual([
        [{ a: 2 }, { a: 3 }, { a: 6 }],
        [{ a: 4 }, { a: 7 }],
      ])
    }
  })

  it('need no option beside their statement, with one condition, two, or partitions (report 14)', async () => {
    const payloads = ['{"k":"a","v":2}', '{"k":"b","v":3}', '{"k":"a","v":9}', '{"k":"b","v":0}', '{"k":"a","v":0}']
    const values = async (window: string) =>
      (await overJson('', `SELECT v FROM S GROUP BY ${window}`, payloads)).out.map((rows) =>
        (rows as { v: number }[]).map((r) => r.v),
      )
    expect(await values('STATEWINDOW(v > 1, v > 5)')).toEqual([[2, 3, 9]])
    expect(await values('STATEWINDOW(v > 1)')).toEqual([[2], [3]])
    expect(await values('STATEWINDOW(v > 1) OVER (PARTITION BY k)')).toEqual([[2]])
  })

  it('keep the row that opened them and their begin across a restart (report 15)', () => {
    const sql = 'SELECT a, window_start() AS ws FROM S GROUP BY STATEWINDOW(a = 1, a = 9)'
    const clock = manualClock({ start: B })
    const first = runStatement({ definitions: [stream('S')], sql }, clock)
    first.push('S', [{ a: 1 }])
    clock.advanceSync(5000)
    first.push('S', [{ a: 4 }])
    const again = runStatement({ definitions: [stream('S')], sql }, clock, first.save())
    clock.advanceSync(5000)
    again.push('S', [{ a: 9 }])
    const ws = BigInt(B)
    expect(again.emissions).toEqual([
      [
        { a: 1, ws },
        { a: 4, ws },
        { a: 9, ws },
      ],
    ])
  })

  it('find how long a value stayed over its threshold (report 6)', () => {
    // A run over 30 that lasts ten seconds or more, with its peak.
    const sql =
      'SELECT max(t) AS peak, last_value(ts, true) - min(ts) AS lasted FROM S GROUP BY STATEWINDOW(t > 30, t <= 30) HAVING lasted >= 10000'
    const run = (...list: [number, number][]): Value[] =>
      eventTime(
        sql,
        list.map(([s, t]): [number, ValueObject] => [s * 1000, { t }]),
      ).out
    expect(run([0, 20], [1, 31], [8, 35], [12, 29], [20, 25])).toEqual([[{ peak: 35, lasted: 11_000 }]])
    expect(run([0, 20], [1, 31], [4, 35], [5, 29], [20, 25])).toEqual([])
  })
})

describe('count windows', () => {
  it('of one row with FILTER work with and without accumulators (report 16)', () => {
    const sql = 'SELECT count(*) AS c, sum(v) AS s FROM S GROUP BY COUNTWINDOW(1) FILTER (WHERE v > 1)'
    for (const incremental of [true, false]) {
      const run = runStatement({ definitions: [stream('S')], sql, incremental })
      for (const v of [1, 2, 3]) run.push('S', [{ v }])
      expect(run.emissions).toEqual([[{ c: 1n, s: 2 }], [{ c: 1n, s: 3 }]])
    }
    const planOptimizeStrategy = { enableIncrementalWindow: true }
    expect(() => planOf(sql, undefined, { planOptimizeStrategy })).not.toThrow()
  })
})

describe('aggregates of a window', () => {
  it('take a plain column beside them from the first row of the group; last_value takes the last (report 9)', () => {
    const rows: Rows = [
      [0, { k: 'a', v: 1 }],
      [1000, { k: 'a', v: 2 }],
      [20_000, { k: 'x', v: 3 }],
    ]
    const sql = 'SELECT v, last_value(v, true) AS l, count(*) AS c FROM S GROUP BY k, TUMBLINGWINDOW(ss,10)'
    for (const incremental of [true, false])
      expect(eventTime(sql, rows, { incremental }).out).toEqual([[{ v: 1, l: 2, c: 2n }]])
  })

  it('point out the plain column beside them, unless it is grouped by (report 9)', () => {
    const warnings = (sql: string) => planOf(sql).warnings.map((w) => w.hint)
    const window = 'TUMBLINGWINDOW(ss,10)'
    expect(warnings(`SELECT v, count(*) AS c FROM S GROUP BY k, ${window}`)).toEqual([
      'Add it to GROUP BY, or use last_value(v, true) for the newest.',
    ])
    expect(warnings(`SELECT k, v AS w, S.x, count(*) AS c FROM S GROUP BY k, w, x, ${window}`)).toEqual([])
    expect(warnings(`SELECT k, v FROM S GROUP BY ${window}`)).toEqual([])
  })

  it('may be named like their argument without adding up their own results (report 10)', () => {
    const rows = [5, 5, 5].map((v, i): [number, ValueObject] => [i * 1000, { v }])
    const sql = 'SELECT sum(v) AS v FROM S GROUP BY SLIDINGWINDOW(ss,60)'
    for (const incremental of [true, false])
      expect(eventTime(sql, [...rows, [100_000, { v: 0 }]], { incremental }).out.slice(0, 3)).toEqual([
        [{ v: 5 }],
        [{ v: 10 }],
        [{ v: 15 }],
      ])
  })

  it('count(column) counts the rows that have it, count(*) all (report 11)', () => {
    const rows: Rows = [
      [0, { v: 1 }],
      [1, {}],
      [2, { v: null }],
      [15_000, {}],
    ]
    const sql = 'SELECT count(v) AS n, count(*) AS c FROM S GROUP BY TUMBLINGWINDOW(ss,10)'
    for (const incremental of [true, false])
      expect(eventTime(sql, rows, { incremental }).out).toEqual([[{ n: 1n, c: 3n }]])
  })

  it('group by the expression behind an alias, row by row (report 12)', () => {
    const rows = ['press-1', 'lathe-1', 'press-2'].map((id, i): [number, ValueObject] => [i, { id }])
    const sql = 'SELECT substring(id, 0, 5) AS kind, collect(id) AS ids FROM S GROUP BY kind, TUMBLINGWINDOW(ss,10)'
    for (const incremental of [true, false])
      expect(eventTime(sql, [...rows, [20_000, { id: 'other' }]], { incremental }).out).toEqual([
        [
          { kind: 'press', ids: ['press-1', 'press-2'] },
          { kind: 'lathe', ids: ['lathe-1'] },
        ],
      ])
  })

  it('keep keys apart that look alike when printed: with commas, and 1 and "1" (trap: group keys, TC-34)', async () => {
    const rows = [
      { a: 'x,y', b: 'z' },
      { a: 'x', b: 'y,z' },
      { a: 1, b: '' },
      { a: '1', b: '' },
    ]
    const groups = [
      { a: 'x,y', b: 'z', c: 1 },
      { a: 'x', b: 'y,z', c: 1 },
      { a: 1, b: '', c: 1 },
      { a: '1', b: '', c: 1 },
    ]
    const sql = 'SELECT a, b, count(*) AS c FROM S GROUP BY a, b, TUMBLINGWINDOW(ss,10)'
    const timed: Rows = [...rows, { a: 'end', b: '' }].map((row, i) => [i < 4 ? i : 15_000, row])
    for (const incremental of [true, false]) expect(plain(eventTime(sql, timed, { incremental }).out)).toEqual([groups])
    const payloads = rows.map((row) => JSON.stringify(row))
    expect((await overJson('', sql, payloads, { until: 10_000 })).out).toEqual([groups])
  })

  it('give groups in the order in which they were first seen (trap: group order)', () => {
    const keys = ['m', 'z', 'a', 'm', 'b', 'z', 'k']
    const rows = keys.map((k, i): [number, ValueObject] => [i, { k }])
    const sql = 'SELECT k FROM S GROUP BY k, TUMBLINGWINDOW(ss,10)'
    const { out } = eventTime(sql, [...rows, [20_000, { k: 'end' }]])
    expect(out).toEqual([['m', 'z', 'a', 'b', 'k'].map((k) => ({ k }))])
  })

  it('over no rows are absent, count too, and collect is empty (trap: empty window, TC-11)', () => {
    const sql = 'SELECT count(*) AS c, sum(v) AS s, collect(v) AS l FROM S GROUP BY TUMBLINGWINDOW(ss,10)'
    expect(processingTime(sql, [], 10_000).out).toEqual([[{ l: [] }]])
    expect(processingTime(`${sql.replace('GROUP BY', 'GROUP BY k,')}`, [], 10_000).out).toEqual([])
  })

  it('filter and order groups by alias (reports 32 and 33, TC-28)', () => {
    const sql = 'SELECT color, count(*) AS c FROM S GROUP BY color, TUMBLINGWINDOW(ss,10) HAVING c > 1 ORDER BY c DESC'
    const rows = ['r', 'g', 'r', 'b', 'b', 'b'].map((color, i): [number, ValueObject] => [i * 100, { color }])
    const { out } = eventTime(sql, [...rows, [20_000, { color: 'x' }]])
    expect(out[0]).toEqual([
      { color: 'b', c: 3n },
      { color: 'r', c: 2n },
    ])
  })

  it('group by aliases of members whose names are keys of the document (report 27, TC-27)', () => {
    const sql =
      'SELECT m->Reason AS reason, m->AssetID AS assetId, count(*) AS n FROM S WHERE m->AssetID = 7 GROUP BY COUNTWINDOW(2), reason, assetId'
    const run = runStatement({ definitions: [stream('S')], sql })
    for (const Reason of [1, 2]) run.push('S', [{ m: { AssetID: 7, Reason } }])
    expect(run.emissions).toEqual([
      [
        { reason: 1, assetId: 7, n: 1n },
        { reason: 2, assetId: 7, n: 1n },
      ],
    ])
  })
})

describe('the same statements over JSON, as columns where they can be', () => {
  const window = 'TUMBLINGWINDOW(ss,10)'
  const counted: Rows = [0, 1000, 100_000, 1000, 2000, 110_000].map((offset, v) => [offset, { v }])
  const colors: Rows = ['r', 'g', 'r', 'b', 'b', 'b', 'x'].map((color, i) => [i < 6 ? i * 100 : 20_000, { color }])
  it.each<[string, string, Rows]>([
    ['edges', `SELECT count(*) AS c, avg(v) AS a, window_end() AS we FROM S GROUP BY ${window}`, counted],
    ['late rows', `SELECT count(*) AS c, sum(v) AS s FROM S GROUP BY ${window}`, counted],
    ['hopping', 'SELECT count(*) AS c, max(v) AS m FROM S GROUP BY HOPPINGWINDOW(ss,10,5)', counted],
    ['groups', `SELECT color, count(*) AS c FROM S GROUP BY color, ${window}`, colors],
    [
      'HAVING and ORDER BY',
      `SELECT color, count(*) AS c FROM S GROUP BY color, ${window} HAVING c > 1 ORDER BY c DESC`,
      colors,
    ],
    ['WHERE', `SELECT color, count(*) AS c FROM S WHERE color != "g" GROUP BY color, ${window}`, colors],
    ['sliding', 'SELECT count(*) AS c FROM S GROUP BY SLIDINGWINDOW(ss,1) OVER (WHEN v > 1)', counted],
    ['state', 'SELECT v FROM S GROUP BY STATEWINDOW(v > 0, v > 1)', counted],
  ])('give what rows give: %s (reports 1, 3, 12 and 32)', async (_, sql, rows) => {
    const payloads = rows.map(([offset, row]) => JSON.stringify({ ...row, ts: B + offset }))
    const options = { isEventTime: true, lateTolerance: 0 }
    const json = await overJson('', sql, payloads, { with: ', TIMESTAMP="ts"', options })
    const { out, ledger } = eventTime(sql, rows)
    expect(out.length).toBeGreaterThan(0)
    expect(json.out).toEqual(plain(out))
    expect(json.ledger).toMatchObject({ received: rows.length, dropped: { ...(rows === counted && { late: 2 }) } })
    expect(ledger.emitted).toBe(json.ledger.emitted)
  })
})

/** Values as their JSON says. */
function plain(out: readonly Value[]): Value[] {
  return JSON.parse(JSON.stringify(out, (_key, x) => (typeof x === 'bigint' ? Number(x) : x)))
}

/** A clock whose owner was busy: `jump` moves time first and fires what is due after it. */
function lateClock(start: number): ReturnType<typeof manualClock> & { jump(ms: number): void } {
  const inner = manualClock({ start })
  let ahead = 0
  return {
    ...inner,
    now: () => inner.now() + ahead,
    get pendingTimers() {
      return inner.pendingTimers
    },
    jump(ms) {
      const end = inner.now() + ms
      // All timers fire at the end of the pause, not when they were due.
      while (inner.now() < end) {
        ahead = end - inner.now() - 1
        inner.advanceSync(1)
      }
      ahead = 0
    },
  }
}
