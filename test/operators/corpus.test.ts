/**
 * Statements over random events, each run in several ways that must agree: straight; through a saved and loaded state after every
 * few rows; in batches of 1, 7 and 1024; with rows and with accumulators in its window.
 */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { manualClock } from '../../src/core/clock.ts'
import type { Value, ValueObject } from '../../src/core/values.ts'
import { imbalance } from '../../src/engine/index.ts'
import { runStatement, type Statement } from '../support/run-statement.ts'

const s = 'CREATE STREAM s () WITH (TIMESTAMP="ts")'
const s2 = 'CREATE STREAM s2 () WITH (TIMESTAMP="ts")'
const table = 'CREATE TABLE t () WITH (RETAIN_SIZE="3", TYPE="memory")'

const aggregates = 'count(*) AS c, sum(v) AS sv, avg(v) AS av, max(v) AS mx, min(v) AS mn'

/** Event-time and un-windowed statements: the batch size may not show. */
const batchFree: Record<string, Omit<Statement, 'definitions'>> = {
  'analytic functions': { sql: 'SELECT v, lag(v) AS p, had_changed(true, k) AS h, acc_sum(v) AS a FROM s' },
  partitions: { sql: 'SELECT k, lag(v, 1, 0) OVER (PARTITION BY k) AS p FROM s WHERE v > 1' },
  latest: { sql: 'SELECT latest(v) AS l, changed_col(true, v) AS d FROM s' },
  'changed columns': { sql: 'SELECT changed_cols("c_", true, v, k) FROM s' },
  'hit counters': { sql: 'SELECT last_hit_count() AS n, v FROM s WHERE v > 2 AND last_hit_count() < 7' },
  'table join': { sql: 'SELECT s.v, t.w FROM s LEFT JOIN t ON s.k = t.k' },
  'event-time tumbling': { isEventTime: true, sql: `SELECT k, ${aggregates} FROM s GROUP BY k, TUMBLINGWINDOW(ss, 2)` },
  'event-time tumbling, WHERE': {
    isEventTime: true,
    sql: `SELECT k, ${aggregates} FROM s WHERE v > 1 GROUP BY k, TUMBLINGWINDOW(ss, 2) HAVING c > 1 ORDER BY k`,
  },
  'event-time hopping': { isEventTime: true, sql: `SELECT ${aggregates}, k FROM s GROUP BY HOPPINGWINDOW(ss, 3, 1)` },
  'event-time sliding': {
    isEventTime: true,
    sql: `SELECT ${aggregates} FROM s GROUP BY SLIDINGWINDOW(ss, 2) OVER (WHEN v > 2)`,
  },
  'event-time sliding with delay': {
    isEventTime: true,
    sql: `SELECT ${aggregates} FROM s GROUP BY SLIDINGWINDOW(ss, 2, 1)`,
  },
  'event-time session': {
    isEventTime: true,
    sql: `SELECT ${aggregates}, window_start() AS ws FROM s GROUP BY SESSIONWINDOW(ss, 6, 1)`,
  },
  'event-time state': { isEventTime: true, sql: 'SELECT v FROM s GROUP BY STATEWINDOW(v > 2, v < 1)' },
  'event-time join': {
    isEventTime: true,
    sql: 'SELECT s.v AS a, s2.v AS b FROM s LEFT JOIN s2 ON s.k = s2.k GROUP BY TUMBLINGWINDOW(ss, 2)',
  },
  'no window, event time': { isEventTime: true, lateTolerance: 1000, sql: 'SELECT v, ts FROM s' },
}

/** Processing-time windows: rows carry the time at which they come, so that they come one by one. */
const timed: Record<string, Omit<Statement, 'definitions'>> = {
  tumbling: { sql: `SELECT k, ${aggregates}, window_end() AS we FROM s GROUP BY k, TUMBLINGWINDOW(ss, 2)` },
  'tumbling, whole window': {
    sql: `SELECT ${aggregates}, window_start() AS ws FROM s WHERE v > 1 GROUP BY TUMBLINGWINDOW(ss, 1)`,
  },
  'tumbling, rows': { sql: 'SELECT * FROM s GROUP BY TUMBLINGWINDOW(ss, 2)' },
  hopping: { sql: `SELECT k, ${aggregates}, window_start() AS ws FROM s GROUP BY k, HOPPINGWINDOW(ss, 3, 1)` },
  sliding: { sql: `SELECT ${aggregates}, window_start() AS ws FROM s GROUP BY SLIDINGWINDOW(ss, 2)` },
  'sliding, groups': {
    sql: `SELECT k, ${aggregates} FROM s WHERE v > 0 GROUP BY k, SLIDINGWINDOW(ss, 2) OVER (WHEN v > 1)`,
  },
  'sliding with delay': { sql: `SELECT ${aggregates}, window_end() AS we FROM s GROUP BY SLIDINGWINDOW(ss, 1, 1)` },
  'sliding v2': { windowVersion: 'v2', sql: `SELECT ${aggregates} FROM s GROUP BY SLIDINGWINDOW(ss, 2)` },
  session: { sql: `SELECT ${aggregates}, window_start() AS ws FROM s GROUP BY SESSIONWINDOW(ss, 4, 1)` },
  count: { sql: `SELECT ${aggregates} FROM s GROUP BY COUNTWINDOW(3)` },
  'count, groups and filter': {
    sql: `SELECT k, ${aggregates} FROM s WHERE v > 1 GROUP BY k, COUNTWINDOW(4) FILTER (WHERE v > 0)`,
  },
  'count with interval': { sql: `SELECT ${aggregates} FROM s GROUP BY COUNTWINDOW(4, 2)` },
  'state by partition': { sql: 'SELECT v, k FROM s GROUP BY STATEWINDOW(v > 2, v < 1) OVER (PARTITION BY k)' },
  'having with hits': {
    sql: 'SELECT count(*) AS c, last_agg_hit_count() AS n FROM s GROUP BY COUNTWINDOW(2) HAVING last_agg_hit_count() < 5',
  },
  'order and limit': { sql: 'SELECT k, count(*) AS c FROM s GROUP BY k, COUNTWINDOW(6) ORDER BY c DESC LIMIT 2' },
  'row numbers': { sql: 'SELECT v, row_number() AS n FROM s GROUP BY COUNTWINDOW(3)' },
  'analytic in a window': { sql: 'SELECT count(*) AS c, sum(lag(v)) AS p FROM s GROUP BY TUMBLINGWINDOW(ss, 2)' },
}

interface Event {
  readonly stream: string
  readonly gap: number
  readonly row: ValueObject
}

const value: fc.Arbitrary<Value> = fc.oneof(
  { weight: 12, arbitrary: fc.integer({ min: 0, max: 4 }) },
  { weight: 2, arbitrary: fc.constant(null) },
)
const events: fc.Arbitrary<Event[]> = fc
  .array(
    fc.record({
      stream: fc.constantFrom('s', 's', 's', 's2', 't'),
      gap: fc.constantFrom(0, 0, 100, 400, 900, 1700),
      early: fc.constantFrom(0, 0, 0, 300, 1500),
      v: value,
      k: fc.constantFrom('a', 'b'),
    }),
    { maxLength: 40 },
  )
  .map((list) => {
    let ts = 1_000_000
    return list.map(({ stream, gap, early, v, k }) => {
      ts += gap
      return { stream, gap, row: stream === 't' ? { k, w: v } : { v, k, ts: ts - early } }
    })
  })

function definitionsFor(sql: string): string[] {
  return [s, ...(/\bs2\b/.test(sql) ? [s2] : []), ...(/\bJOIN t\b/.test(sql) ? [table] : [])]
}

/** Every `size` events of one stream in a row arrive as one delivery. */
function run(statement: Statement, list: readonly Event[], how: { size?: number; restoreEvery?: number } = {}) {
  const clock = manualClock({ start: 1_000_000 })
  const emissions: Value[] = []
  let instance = runStatement(statement, clock)
  let balanced = true
  const check = (): void => {
    if (imbalance(instance.read()) !== 0) balanced = false
  }
  for (let i = 0; i < list.length; ) {
    const { stream, gap } = list[i] as Event
    const rows: ValueObject[] = []
    const { size = 1 } = how
    if (size === 1) clock.advanceSync(gap)
    while (i < list.length && rows.length < size && list[i]?.stream === stream) rows.push((list[i++] as Event).row)
    instance.push(stream, rows)
    check()
    if (how.restoreEvery && i % how.restoreEvery === 0) {
      const state = instance.save()
      emissions.push(...instance.emissions)
      instance.stop()
      instance = runStatement(statement, clock, state)
      check()
    }
  }
  clock.advanceSync(10_000)
  check()
  const result = { emissions: [...emissions, ...instance.emissions], balanced }
  instance.stop()
  return result
}

const runs = Number(process.env['IXION_CORPUS_RUNS'] ?? 15)

describe.each(Object.entries({ ...batchFree, ...timed }))('%s', (name, partial) => {
  const statement: Statement = { ...partial, definitions: definitionsFor(partial.sql) }

  it('gives the same straight, restored from saved state, and with rows instead of accumulators', () => {
    fc.assert(
      fc.property(events, (list) => {
        const straight = run(statement, list)
        expect(straight.balanced).toBe(true)
        for (const restoreEvery of [1, 3]) expect(run(statement, list, { restoreEvery })).toEqual(straight)
        expect(run({ ...statement, incremental: false }, list)).toEqual(straight)
      }),
      { numRuns: runs },
    )
  })

  if (name in batchFree) {
    it('gives the same in batches of 1, 7 and 1024', () => {
      fc.assert(
        fc.property(events, (list) => {
          const single = run(statement, list)
          for (const size of [7, 1024]) expect(run(statement, list, { size })).toEqual(single)
        }),
        { numRuns: runs },
      )
    })
  }
})
