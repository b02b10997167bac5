/** Situations users of stream engines have reported as surprising or lossy, with the results they should have given. */
import { describe, expect, it } from 'vitest'
import { manualClock } from '../../src/core/clock.ts'
import type { Value, ValueObject } from '../../src/core/values.ts'
import { runStatement, type Statement } from '../support/run-statement.ts'

/** A whole minute. */
const B = 1_700_000_040_000
const stream = (name: string, more = ''): string => `CREATE STREAM ${name} () WITH (TIMESTAMP="ts"${more})`

/** Event time: rows as [offset in ms, payload], each with its `ts`. */
function eventTime(
  sql: string,
  rows: readonly (readonly [number, ValueObject, string?])[],
  more: Partial<Statement> = {},
) {
  const run = runStatement({ definitions: [stream('S')], sql, isEventTime: true, ...more })
  for (const [offset, payload, name = 'S'] of rows) run.push(name, [{ ...payload, ts: B + offset }])
  run.stop()
  return { out: run.emissions, ledger: run.read() }
}

describe('windows', () => {
  it('end exactly: a row on the edge belongs to the next one', () => {
    const rows = [10, 20, 30, 40].map((v, i): [number, ValueObject] => [[0, 9999, 10_000, 20_000][i] as number, { v }])
    for (const window of ['TUMBLINGWINDOW(ss,10)', 'HOPPINGWINDOW(ss,10,10)']) {
      const { out } = eventTime(`SELECT count(*) AS c, avg(v) AS a, window_end() AS we FROM S GROUP BY ${window}`, rows)
      expect(out).toEqual([[{ c: 2n, a: 15, we: BigInt(B + 10_000) }], [{ c: 1n, a: 30, we: BigInt(B + 20_000) }]])
    }
  })

  it('count what comes too late after a jump ahead', () => {
    const rows: [number, ValueObject][] = [
      [100_000, {}],
      [1000, {}],
      [2000, {}],
      [110_000, {}],
    ]
    const { out, ledger } = eventTime(
      'SELECT count(*) AS c, window_end() AS we FROM S GROUP BY TUMBLINGWINDOW(ss,10)',
      rows,
    )
    expect(out).toEqual([[{ c: 1n, we: BigInt(B + 110_000) }]])
    expect(ledger.dropped).toEqual({ late: 2 })
  })

  it('without rows collect an empty list, kept as rows or as accumulators', () => {
    const rows: [number, ValueObject][] = [
      [1000, { v: 1 }],
      [25_000, { v: 2 }],
    ]
    const sql = 'SELECT collect(v) AS l, count(*) AS c FROM S GROUP BY TUMBLINGWINDOW(ss,10)'
    for (const incremental of [true, false])
      expect(eventTime(sql, rows, { incremental }).out).toEqual([[{ l: [1], c: 1n }], [{ l: [] }]])
  })

  it('wait for rows out of order within the tolerance', () => {
    const rows: [number, ValueObject][] = [
      [1000, { v: 1 }],
      [9000, { v: 2 }],
      [6000, { v: 4 }],
      [16_000, { v: 8 }],
    ]
    const sql = 'SELECT count(*) AS c, sum(v) AS s FROM S GROUP BY TUMBLINGWINDOW(ss,10)'
    expect(eventTime(sql, rows, { lateTolerance: 5000 }).out).toEqual([[{ c: 3n, s: 7 }]])
  })

  it('fire once per row that triggers, also at the same time', () => {
    const rows: [number, ValueObject][] = [
      [0, { x: 1 }],
      [0, { x: 1 }],
      [2000, { x: 0 }],
    ]
    const { out } = eventTime('SELECT count(*) AS c FROM S GROUP BY SLIDINGWINDOW(ss,1) OVER (WHEN x = 1)', rows)
    expect(out).toHaveLength(2)
  })

  it('of a state keep the rows from begin to emit', () => {
    const run = runStatement({ definitions: [stream('S')], sql: 'SELECT a FROM S GROUP BY STATEWINDOW(a > 1, a > 5)' })
    for (const a of [0, 2, 3, 6, 4, 7]) run.push('S', [{ a }])
    expect(run.emissions).toEqual([
      [{ a: 2 }, { a: 3 }, { a: 6 }],
      [{ a: 4 }, { a: 7 }],
    ])
  })

  it('close when the stream falls silent, if told to', () => {
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

  it('are not pushed ahead by one fast clock, if told so', () => {
    const clock = manualClock({ start: B })
    const sql = 'SELECT count(*) AS c FROM S GROUP BY TUMBLINGWINDOW(ss,10)'
    const definitions = [stream('S', ', MAX_FUTURE_SKEW="60s"')]
    const run = runStatement({ definitions, sql, isEventTime: true }, clock)
    for (const offset of [0, 1000, 86_400_000, 2000, 10_000]) run.push('S', [{ ts: B + offset }])
    expect(run.emissions).toEqual([[{ c: 3n }]])
    expect(run.read().dropped).toEqual({ future_skew: 1 })
    run.stop()
  })
})

describe('aggregates', () => {
  it('group by aliases of members', () => {
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

  it('filter and order groups by alias', () => {
    const sql = 'SELECT color, count(*) AS c FROM S GROUP BY color, TUMBLINGWINDOW(ss,10) HAVING c > 1 ORDER BY c DESC'
    const rows = ['r', 'g', 'r', 'b', 'b', 'b'].map((color, i): [number, ValueObject] => [i * 100, { color }])
    const { out } = eventTime(sql, [...rows, [20_000, { color: 'x' }]])
    expect(out[0]).toEqual([
      { color: 'b', c: 3n },
      { color: 'r', c: 2n },
    ])
  })
})

describe('joins', () => {
  it('know streams by alias and by name', () => {
    const rows: [number, ValueObject, string][] = [
      [0, { u: 'ada' }, 'failed'],
      [1000, { u: 'ada', ip: '203.0.113.7' }, 'okay'],
      [30_000, {}, 'failed'],
      [30_000, {}, 'okay'],
    ]
    const definitions = [stream('failed'), stream('okay')]
    for (const sql of [
      'SELECT f.u AS u, k.ip AS ip FROM failed AS f INNER JOIN okay AS k ON f.u = k.u GROUP BY TUMBLINGWINDOW(ss,10)',
      'SELECT failed.u AS u, okay.ip AS ip FROM failed INNER JOIN okay ON failed.u = okay.u GROUP BY TUMBLINGWINDOW(ss,10)',
    ]) {
      expect(eventTime(sql, rows, { definitions }).out).toEqual([[{ u: 'ada', ip: '203.0.113.7' }]])
    }
  })

  it('give every match over three streams', () => {
    const rows: [number, ValueObject, string][] = [
      [0, { id: 1, a: 10 }, 'L'],
      [1, { id: 1, b: 1 }, 'R'],
      [2, { id: 1, b: 2 }, 'R'],
      [3, { id: 1, c: 7 }, 'M'],
      ...['L', 'R', 'M'].map((s): [number, ValueObject, string] => [30_000, { id: 9 }, s]),
    ]
    const sql =
      'SELECT L.a, R.b, M.c FROM L INNER JOIN R ON L.id=R.id INNER JOIN M ON L.id=M.id GROUP BY TUMBLINGWINDOW(ss,2)'
    const { out } = eventTime(sql, rows, { definitions: [stream('L'), stream('R'), stream('M')] })
    const wanted: Value = [
      { a: 10, b: 1, c: 7 },
      { a: 10, b: 2, c: 7 },
    ]
    expect(out[0]).toEqual(wanted)
  })

  it('keep 19 digits through windows, join keys and saved state', () => {
    const id = 1795292668348461056n
    const definitions = [
      'CREATE STREAM L (id BIGINT, v BIGINT) WITH (TIMESTAMP="ts")',
      'CREATE STREAM R (id BIGINT, w BIGINT) WITH (TIMESTAMP="ts")',
    ]
    const sql = 'SELECT L.id AS id, L.v AS v, R.w AS w FROM L INNER JOIN R ON L.id = R.id GROUP BY COUNTWINDOW(3)'
    const clock = manualClock()
    const first = runStatement({ definitions, sql }, clock)
    first.push('L', [{ id, v: id + 1n }])
    first.push('R', [{ id: id + 1n, w: 1n }])
    const run = runStatement({ definitions, sql }, clock, first.save())
    run.push('R', [{ id, w: 2n }])
    expect(run.emissions).toEqual([[{ id, v: id + 1n, w: 2n }]])
  })
})
