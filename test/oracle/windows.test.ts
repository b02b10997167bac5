/**
 * Windows, grouped aggregates and joins against a model that recomputes each window from all events, as plainly as it can be
 * written. `IXION_ORACLE_RUNS` sets how many random streams each statement sees.
 */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { manualClock } from '../../src/core/clock.ts'
import { imbalance } from '../../src/core/ledger.ts'
import type { Value, ValueObject } from '../../src/core/values.ts'
import { runStatement } from '../support/run-statement.ts'

const runs = Number(process.env['IXION_ORACLE_RUNS'] ?? 40)

interface Event {
  readonly ts: number
  readonly k: string
  readonly v: number | null
  readonly stream: string
}

/** Starts at a whole minute, where windows of 1, 2, 3 and 5 seconds all align. */
const START = 1_700_000_040_000

/** Out of order, with equal timestamps, over one or two streams. */
const streamOf = (...streams: string[]): fc.Arbitrary<Event[]> =>
  fc
    .array(
      fc.record({
        step: fc.constantFrom(0, 0, 1, 200, 500, 1000, 2600),
        back: fc.constantFrom(0, 0, 0, 0, 300, 900, 2000),
        k: fc.constantFrom('a', 'b', 'c'),
        v: fc.oneof(
          { weight: 8, arbitrary: fc.integer({ min: -3, max: 9 }) },
          { weight: 1, arbitrary: fc.constant(null) },
        ),
        stream: fc.constantFrom(...streams),
      }),
      { maxLength: 60 },
    )
    .map((list) => {
      let now = START
      return list.map(({ step, back, k, v, stream }) => {
        now += step
        return { ts: Math.max(START, now - back), k, v, stream }
      })
    })

/** The events each advance of the watermark releases, in time order, and where it then stands. */
function releases(events: readonly Event[], tolerance: number, streams: readonly string[]) {
  const steps: { watermark: number; released: Event[] }[] = []
  let waiting: Event[] = []
  let last = Number.NEGATIVE_INFINITY
  const newest = new Map(streams.map((s) => [s, Number.NEGATIVE_INFINITY]))
  for (const event of events) {
    newest.set(event.stream, Math.max(newest.get(event.stream) as number, event.ts))
    if (event.ts >= last) waiting.push(event)
    const watermark = Math.min(...newest.values()) - tolerance
    if (!(watermark > last)) continue
    last = watermark
    const released = waiting.filter((e) => e.ts <= watermark).sort((a, b) => a.ts - b.ts)
    waiting = waiting.filter((e) => e.ts > watermark)
    steps.push({ watermark, released })
  }
  return { steps, all: steps.flatMap((s) => s.released), last }
}

/** The contents of [end - length, end) for every end up to the watermark. */
function alignedWindows(events: readonly Event[], last: number, length: number, hop: number): Event[][] {
  const [first] = events
  if (!first) return []
  const windows: Event[][] = []
  for (let end = (Math.floor(first.ts / hop) + 1) * hop; end <= last; end += hop) {
    windows.push(events.filter((e) => e.ts >= end - length && e.ts < end))
  }
  return windows
}

const groupsOf = (events: readonly Event[]): Event[][] =>
  [...new Set(events.map((e) => e.k))].map((k) => events.filter((e) => e.k === k))

/** `SELECT count(*) AS c, sum(v) AS s, avg(v) AS a, min(v) AS lo, max(v) AS hi`. */
function aggregate(events: readonly Event[]): ValueObject {
  const values = events.flatMap((e) => (e.v === null ? [] : [e.v]))
  const result: ValueObject = events.length ? { c: BigInt(events.length) } : {}
  if (values.length === 0) return result
  const sum = values.reduce((a, b) => a + b, 0)
  return { ...result, s: sum, a: sum / values.length, lo: Math.min(...values), hi: Math.max(...values) }
}

const grouped = (events: readonly Event[]): Value =>
  groupsOf(events).map((g): ValueObject => ({ k: (g[0] as Event).k, ...aggregate(g) }))

const AGGREGATES = 'count(*) AS c, sum(v) AS s, avg(v) AS a, min(v) AS lo, max(v) AS hi'
const definition = (name: string): string => `CREATE STREAM ${name} () WITH (TIMESTAMP="ts")`

/** Runs the statement in event time over the events. */
function actual(
  sql: string,
  events: readonly Event[],
  lateTolerance: number,
  streams: readonly string[] = ['s'],
): Value[] {
  const run = runStatement({ definitions: streams.map(definition), sql, isEventTime: true, lateTolerance })
  for (const { stream, ts, k, v } of events) run.push(stream, [{ ts, k, v }])
  run.stop()
  return run.emissions
}

/** Groups of empty windows are not sent; whole-window aggregates of empty windows are (D29). */
const nonEmpty = (list: readonly Value[]): Value[] => list.filter((e) => !Array.isArray(e) || e.length > 0)

const tolerances = fc.constantFrom(0, 500, 2000)
const check = (property: (events: Event[], tolerance: number) => void, events = streamOf('s')): void =>
  fc.assert(fc.property(events, tolerances, property), { numRuns: runs })

describe('event-time windows against recomputation', () => {
  it.each([1, 2, 5])('tumbling of %i s by group', (n) => {
    check((events, tolerance) => {
      const { all, last } = releases(events, tolerance, ['s'])
      const wanted = alignedWindows(all, last, n * 1000, n * 1000).map(grouped)
      const got = actual(`SELECT k, ${AGGREGATES} FROM s GROUP BY k, TUMBLINGWINDOW(ss, ${n})`, events, tolerance)
      expect(got).toEqual(nonEmpty(wanted))
    })
  })

  it.each([
    [2, 1],
    [3, 1],
    [5, 2],
    [1, 3],
  ])('hopping of %i s every %i s over the whole window', (length, hop) => {
    check((events, tolerance) => {
      const { all, last } = releases(events, tolerance, ['s'])
      const wanted = alignedWindows(all, last, length * 1000, hop * 1000).map((w): Value => [aggregate(w)])
      const got = actual(`SELECT ${AGGREGATES} FROM s GROUP BY HOPPINGWINDOW(ss, ${length}, ${hop})`, events, tolerance)
      expect(got).toEqual(wanted)
    })
  })

  it.each([1, 3])('sliding of %i s', (n) => {
    check((events, tolerance) => {
      const wanted: Value[] = []
      const seen: Event[] = []
      for (const { released } of releases(events, tolerance, ['s']).steps) {
        seen.push(...released)
        for (const { ts } of released) wanted.push(grouped(seen.filter((e) => e.ts >= ts - n * 1000 && e.ts <= ts)))
      }
      expect(actual(`SELECT k, ${AGGREGATES} FROM s GROUP BY k, SLIDINGWINDOW(ss, ${n})`, events, tolerance)).toEqual(
        wanted,
      )
    })
  })

  it('session with a timeout of 1 s', () => {
    check((events, tolerance) => {
      const { all, last } = releases(events, tolerance, ['s'])
      const sessions: Event[][] = []
      for (const e of all) {
        const open = sessions.at(-1)
        if (open && e.ts - (open.at(-1) as Event).ts <= 1000) open.push(e)
        else sessions.push([e])
      }
      const closed = sessions.filter((s) => last - (s.at(-1) as Event).ts > 1000)
      const got = actual(`SELECT ${AGGREGATES} FROM s GROUP BY SESSIONWINDOW(ss, 3600, 1)`, events, tolerance)
      expect(got).toEqual(closed.map((s): Value => [aggregate(s)]))
    })
  })

  it('WHERE over a window drops windows without a row left', () => {
    check((events, tolerance) => {
      const { all, last } = releases(events, tolerance, ['s'])
      const wanted = alignedWindows(all, last, 2000, 1000)
        .map((w) => w.filter((e) => e.v !== null && e.v > 3))
        .filter((w) => w.length > 0)
        .map((w): Value => [aggregate(w)])
      const got = actual(`SELECT ${AGGREGATES} FROM s WHERE v > 3 GROUP BY HOPPINGWINDOW(ss, 2, 1)`, events, tolerance)
      expect(got).toEqual(wanted)
    })
  })

  it('tumbling(n) is hopping(n, n)', () => {
    check((events, tolerance) => {
      const over = (window: string): Value[] =>
        actual(`SELECT k, ${AGGREGATES}, window_end() AS we FROM s GROUP BY k, ${window}`, events, tolerance)
      expect(over('TUMBLINGWINDOW(ss, 3)')).toEqual(over('HOPPINGWINDOW(ss, 3, 3)'))
    })
  })
})

describe('joins against recomputation', () => {
  const kinds: Record<string, (left: Event[], right: Event[]) => ValueObject[]> = {
    INNER: (l, r) => l.flatMap((a) => r.filter((b) => b.k === a.k).map((b) => pair(a, b))),
    LEFT: (l, r) =>
      l.flatMap((a) =>
        orAlone(
          r.filter((b) => b.k === a.k).map((b) => pair(a, b)),
          pair(a, null),
        ),
      ),
    RIGHT: (l, r) =>
      r.flatMap((b) =>
        orAlone(
          l.filter((a) => a.k === b.k).map((a) => pair(a, b)),
          pair(null, b),
        ),
      ),
    FULL: (l, r) => [
      ...l.flatMap((a) =>
        orAlone(
          r.filter((b) => b.k === a.k).map((b) => pair(a, b)),
          pair(a, null),
        ),
      ),
      ...r.filter((b) => !l.some((a) => a.k === b.k)).map((b) => pair(null, b)),
    ],
    CROSS: (l, r) => l.flatMap((a) => r.map((b) => pair(a, b))),
  }
  const orAlone = (matches: ValueObject[], alone: ValueObject): ValueObject[] => (matches.length ? matches : [alone])
  const pair = (a: Event | null, b: Event | null): ValueObject => ({
    ...(a && { ta: a.ts }),
    ...(b && { tb: b.ts }),
  })

  it.each(Object.keys(kinds))('%s join of two streams in tumbling windows', (kind) => {
    check(
      (events, tolerance) => {
        const { all, last } = releases(events, tolerance, ['s', 's2'])
        const wanted = alignedWindows(all, last, 2000, 2000)
          .map(
            (w) =>
              kinds[kind]?.(
                w.filter((e) => e.stream === 's'),
                w.filter((e) => e.stream === 's2'),
              ) ?? [],
          )
          .filter((rows) => rows.length > 0)
        const on = kind === 'CROSS' ? '' : 'ON s.k = s2.k'
        const sql = `SELECT s.ts AS ta, s2.ts AS tb FROM s ${kind} JOIN s2 ${on} GROUP BY TUMBLINGWINDOW(ss, 2)`
        expect(actual(sql, events, tolerance, ['s', 's2'])).toEqual(wanted)
      },
      streamOf('s', 's2'),
    )
  })
})

describe('processing-time windows against recomputation', () => {
  /** Events arrive at their own time, in order. */
  const inOrder = streamOf('s').map((events) => [...events].sort((a, b) => a.ts - b.ts))
  const arriving = (sql: string, events: readonly Event[], until: number): Value[] => {
    const clock = manualClock({ start: START })
    const run = runStatement({ definitions: ['CREATE STREAM s () WITH ()'], sql }, clock)
    for (const { ts, k, v } of events) {
      clock.advanceSync(ts - clock.now())
      run.push('s', [{ k, v }])
    }
    clock.advanceSync(until - clock.now())
    run.stop()
    return run.emissions
  }

  it.each([1, 2, 3])('tumbling of %i s, empty windows included', (n) => {
    fc.assert(
      fc.property(inOrder, (events) => {
        const until = (events.at(-1)?.ts ?? START) + 5000
        const wanted: Value[] = []
        for (let end = START + n * 1000; end <= until; end += n * 1000) {
          wanted.push([aggregate(events.filter((e) => e.ts >= end - n * 1000 && e.ts < end))])
        }
        expect(arriving(`SELECT ${AGGREGATES} FROM s GROUP BY TUMBLINGWINDOW(ss, ${n})`, events, until)).toEqual(wanted)
      }),
      { numRuns: runs },
    )
  })

  it('count windows', () => {
    fc.assert(
      fc.property(inOrder, fc.integer({ min: 1, max: 5 }), (events, n) => {
        const wanted: Value[] = []
        for (let i = n; i <= events.length; i += n) wanted.push([aggregate(events.slice(i - n, i))])
        expect(arriving(`SELECT ${AGGREGATES} FROM s GROUP BY COUNTWINDOW(${n})`, events, START)).toEqual(wanted)
      }),
      { numRuns: runs },
    )
  })

  it('sliding windows see what has come', () => {
    fc.assert(
      fc.property(inOrder, (events) => {
        const wanted = events.map(
          (e, i): Value => [aggregate(events.slice(0, i + 1).filter((x) => x.ts >= e.ts - 2000))],
        )
        expect(arriving(`SELECT ${AGGREGATES} FROM s GROUP BY SLIDINGWINDOW(ss, 2)`, events, START)).toEqual(wanted)
      }),
      { numRuns: runs },
    )
  })
})

describe('windows of thousands of rows and groups', () => {
  const n = 6000
  const key = (i: number): string => `k${(i * 7919) % (n - 7)}`
  const rowOf = (i: number): ValueObject => ({ ts: START + i, k: key(i), v: i % 11 })
  const run = (sql: string, incremental = true): { emissions: Value[]; imbalance: number } => {
    const streams = sql.includes('s2') ? ['s', 's2'] : ['s']
    const r = runStatement({ definitions: streams.map(definition), sql, isEventTime: true, incremental })
    for (const stream of streams) for (let i = 0; i < n; i++) r.push(stream, [rowOf(i)])
    for (const stream of streams) r.push(stream, [{ ts: START + 3_600_000, k: 'end', v: 0 }])
    r.stop()
    return { emissions: nonEmpty(r.emissions), imbalance: imbalance(r.read()) }
  }

  it.each(['SESSIONWINDOW(ss, 3600, 1)', 'HOPPINGWINDOW(ms, 6000, 100)'])(
    'the same by accumulators as of rows: %s',
    (w) => {
      const sql = `SELECT k, ${AGGREGATES}, collect(v) AS all FROM s GROUP BY k, ${w}`
      const plain = `SELECT k, ${AGGREGATES}, window_end() AS we FROM s GROUP BY k, ${w} HAVING count(*) > 0`
      for (const statement of [sql, plain]) {
        const got = run(statement)
        expect(got).toEqual(run(statement, false))
        expect(got.imbalance).toBe(0)
      }
    },
  )

  it('keys that come and go leave nothing behind that shows', () => {
    const { emissions } = run('SELECT k, count(*) AS c, sum(v) AS s FROM s GROUP BY k, SLIDINGWINDOW(ms, 3)')
    const wanted = Array.from({ length: n }, (_, i) =>
      Array.from({ length: Math.min(i, 3) + 1 }, (_, j) => i - Math.min(i, 3) + j).map((j) => ({
        k: key(j),
        c: 1n,
        s: j % 11,
      })),
    )
    expect(emissions.slice(0, n)).toEqual(wanted)
  })

  it('a join and a window of plain rows', () => {
    const rows = Array.from({ length: n }, (_, i) => rowOf(i))
    const plain = run('SELECT * FROM s GROUP BY TUMBLINGWINDOW(ss, 60)')
    expect(plain).toEqual({ emissions: [rows], imbalance: 0 })
    const joined = run('SELECT s.k, s2.v FROM s INNER JOIN s2 ON s.ts = s2.ts GROUP BY TUMBLINGWINDOW(ss, 60)')
    expect(joined).toEqual({ emissions: [rows.map(({ k, v }) => ({ k, v }))], imbalance: 0 })
    const limited = run('SELECT k FROM s GROUP BY TUMBLINGWINDOW(ss, 60) LIMIT 5000')
    expect(limited.emissions).toEqual([rows.slice(0, 5000).map(({ k }) => ({ k }))])
  })
})
