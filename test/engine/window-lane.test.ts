import { afterEach, describe, expect, it } from 'vitest'
import { decodeJsonText } from '../../src/core/json-decode.ts'
import type { ValueObject } from '../../src/core/values.ts'
import { createEngine, type Engine, imbalance, manualClock } from '../../src/engine/index.ts'
import { manualSink, manualSource, settle, withConnectors } from '../support/engine-harness.ts'
import { type Random, seeded } from '../support/random-json.ts'

const engines: Engine[] = []
afterEach(async () => {
  for (const engine of engines.splice(0)) await engine.close()
})

const SQL =
  'SELECT id, count(*) AS n, avg(temp) AS mean, max(temp) AS top, window_end() AS until FROM demo WHERE temp > -100 GROUP BY id, tumblingwindow(ss, 10)'

interface Setting {
  readonly sql?: string
  readonly action?: ValueObject
  /** More options of the stream, as in its statement. */
  readonly stream?: string
  readonly options?: ValueObject
}

async function run(emits: 'bytes' | 'rows', shared: boolean, setting: Setting = {}) {
  const { sql = SQL, action = {}, stream = '', options = {} } = setting
  const clock = manualClock({ start: 1_700_000_000_000 })
  const source = manualSource('fed', { emits, now: () => clock.now() })
  const sink = manualSink('watched')
  const engine = await createEngine({ clock, connectors: withConnectors(source.connector, sink.connector) })
  engines.push(engine)
  await engine.execute(
    `CREATE STREAM demo () WITH (TYPE="fed", DATASOURCE="d", FORMAT="json"${shared ? ', SHARED="true"' : ''}${stream})`,
  )
  await engine.createRule({ id: 'r', sql, actions: [{ watched: action }], options })
  await settle()
  return { clock, source, sink, engine }
}

const event = (i: number) => ({ id: `dev_${i % 7}`, temp: ((i * 37) % 400) / 10 - 5, other: 'x' })

/** Rows of seven devices; from `wild` on some have values that columns of numbers do not hold. */
function mixedEvents(random: Random, wild: boolean): string[] {
  const value = (): string => {
    if (!wild || random() < 0.9) return String(random.int(400) / 10)
    return random.pick(['null', '"hot"', '1795292668348461056', 'true', '{"a":1}', '1e308', '9007199254740991'])
  }
  return Array.from({ length: 1 + random.int(60) }, () => {
    const id =
      wild && random() < 0.1 ? random.pick(['1', '"1"', 'null', '"é<&"', '"a\\u0062"']) : `"dev_${random.int(7)}"`
    const extra = random() < 0.2 ? '' : `,"place":{"room":${random.int(3)}},"tag":"t${random.int(3)}"`
    return `{"id":${id},"temp":${value()},"load":${value()}${extra}}`
  })
}

const sessions = ['sessionwindow(ss, 10, 1)', 'sessionwindow(ss, 2, 1)', 'sessionwindow(ss, 60, 3)']
const windows = ['tumblingwindow(ss, 10)', 'hoppingwindow(ss, 10, 4)', 'hoppingwindow(ss, 3, 5)']
const statements = [
  'SELECT id, count(*) AS n, avg(temp) AS mean, max(temp) AS top, window_start() AS since, window_end() AS until FROM demo GROUP BY id, WINDOW',
  'SELECT id, sum(temp) / count(*) AS mean, min(load) + 1 AS low FROM demo WHERE temp > 5 GROUP BY id, WINDOW HAVING count(*) > 2',
  'SELECT tag, place->room AS room, count(temp) AS n, temp FROM demo GROUP BY place->room, tag, WINDOW HAVING avg(temp) > 18',
  "SELECT 'x' AS kind, CASE WHEN avg(temp) > 20 THEN 'hot' ELSE tag END AS state, event_time() AS at FROM demo GROUP BY tag, WINDOW",
  'SELECT count(*) AS n, sum(load) AS s, stddev(temp) AS spread FROM demo GROUP BY WINDOW',
  'SELECT id, last_value(tag, true) AS tag, max(temp) AS top FROM demo GROUP BY id, WINDOW HAVING max(temp) > min(load)',
  'SELECT *, count(*) AS n FROM demo GROUP BY id, WINDOW',
  'SELECT id, count(*) AS n FROM demo GROUP BY id, WINDOW ORDER BY n DESC LIMIT 3',
]

describe('windows fed with undecoded payloads', () => {
  const cases = statements.flatMap((sql) => windows.map((window) => sql.replace('WINDOW', window)))
  it.each(cases)('%s', async (sql) => {
    for (const [round, sendSingle] of [false, true, false, true].entries()) {
      const random = seeded(100 + round)
      const byBytes = await run('bytes', false, { sql, action: { sendSingle } })
      const byRows = await run('rows', false, { sql, action: { sendSingle } })
      for (let step = 0; step < 25; step++) {
        const events = mixedEvents(random, round > 1 && step > 10)
        await byBytes.source.json(events)
        await byRows.source.rows(events.map((text) => decodeJsonText(text) as ValueObject))
        for (const { engine, clock } of [byBytes, byRows]) {
          await clock.advance(1300)
          expect(imbalance(engine.ruleLedger('r').rule)).toBe(0)
        }
        await settle()
        expect(byBytes.engine.ruleStatus('r').message).toBe('')
        expect(byBytes.sink.sent).toEqual(byRows.sink.sent)
        expect(byBytes.engine.ruleLedger('r')).toMatchObject({
          rule: byRows.engine.ruleLedger('r').rule,
          sinks: byRows.engine.ruleLedger('r').sinks,
        })
      }
      expect(byBytes.sink.sent).not.toEqual([])
      expect(operatorCounters(byBytes.engine)).toEqual(operatorCounters(byRows.engine))
    }
  })
})

/** Events around `now`, most of them in order; in `wild` rounds some without a usable time. */
function timedEvents(random: Random, now: number, wild: boolean): string[] {
  return mixedEvents(random, wild).map((text, i) => {
    const time = now + i * 20 - (random() < 0.3 ? random.int(4000) : 0) + (random() < 0.02 ? 100_000 : 0)
    const ts = wild && random() < 0.05 ? random.pick(['null', '"soon"', String(time + 0.5), `"${time}"`]) : String(time)
    return wild && random() < 0.02 ? text : `{"ts":${ts},${text.slice(1)}`
  })
}

describe('event-time windows fed with undecoded payloads', () => {
  const settings: readonly Pick<Setting, 'stream' | 'options'>[] = [
    { options: { lateTolerance: 0 } },
    { options: {}, stream: ', MAX_FUTURE_SKEW="60s"' },
    { options: { lateTolerance: 3000 }, stream: ', IDLE_TIMEOUT="2s"' },
    { options: { lateTolerance: 5000, windowLimit: 60 }, stream: ', LATE_POLICY="side"' },
  ]
  const cases = statements
    .flatMap((sql) => [...windows, ...sessions].map((window) => sql.replace('WINDOW', window)))
    .flatMap((sql) => [sql, sql.includes('WHERE') ? sql : sql.replace(' GROUP BY', ' WHERE temp > 10 GROUP BY')])
  it.each([...new Set(cases)])('%s', async (sql) => {
    for (const [round, { stream = '', options = {} }] of settings.entries()) {
      const random = seeded(200 + round)
      const setting: Setting = {
        sql,
        action: { sendSingle: round % 2 === 1 },
        stream: `, TIMESTAMP="ts"${stream}`,
        options: { isEventTime: true, ...options },
      }
      const byBytes = await run('bytes', false, setting)
      const byRows = await run('rows', false, setting)
      for (let step = 0; step < 25; step++) {
        const events = timedEvents(random, byBytes.clock.now(), step > 15)
        await byBytes.source.json(events)
        await byRows.source.rows(events.map((text) => decodeJsonText(text) as ValueObject))
        if (step === 12) {
          // Decoded rows among the others: both kinds wait and leave in one order.
          const rows = timedEvents(random, byBytes.clock.now(), false).map(
            (text) => decodeJsonText(text) as ValueObject,
          )
          await byBytes.source.rows(rows)
          await byRows.source.rows(rows)
        }
        for (const { engine, clock } of [byBytes, byRows]) {
          await clock.advance(1300)
          expect(imbalance(engine.ruleLedger('r').rule)).toBe(0)
        }
        await settle()
        expect(byBytes.engine.ruleStatus('r').message).toBe('')
        expect(byBytes.sink.sent).toEqual(byRows.sink.sent)
        expect(byBytes.engine.ruleLedger('r').rule).toEqual(byRows.engine.ruleLedger('r').rule)
      }
    }
  })
})

/** How many records went into and out of each operator behind the window's input, by name. */
function operatorCounters(engine: Engine): Record<string, unknown> {
  const own = engine
    .ruleStatus('r')
    .counters.map(([name, value]) => [name.replace(/^op_\d+_/, 'op_'), value] as const)
    .filter(([name]) => /^(op|sink)_(?!decoder|filter).*_(records_(in|out)|exceptions)_total$/.test(name))
  return Object.fromEntries(own)
}

describe('event time that jumps', () => {
  const aggregates = 'SELECT max(ts) AS ts, window_end() AS until FROM demo GROUP BY id, WINDOW'
  const rowsOnly = 'SELECT ts, window_end() AS until FROM demo GROUP BY WINDOW'
  it.each([aggregates, rowsOnly])(
    'reaches every window with rows, and passes over the others at once: %s',
    async (sql) => {
      for (const [window, ends] of [
        ['tumblingwindow(ss, 10)', [10_000]],
        ['hoppingwindow(ss, 10, 5)', [5000, 10_000]],
      ] as const) {
        const random = seeded(3)
        // Up to thousands of windows, and once a time that no clock shows.
        let time = 1_700_000_000_000
        const times = Array.from({ length: 60 }, () => {
          time += random.pick([1, 4000, 60_000, 9_990_000, 50_000_000, 3e10])
          return time
        })
        times.push(8e15)
        const want = times.slice(0, -1).flatMap((ts) => {
          const size = ends[0] as number
          const first = Math.floor(ts / size) * size + size
          return ends.map((_, i) => ({ ts, until: first + i * size }))
        })
        for (const emits of ['bytes', 'rows'] as const) {
          const { source, sink } = await run(emits, false, {
            sql: sql.replace('WINDOW', window),
            action: { sendSingle: true },
            stream: ', TIMESTAMP="ts"',
            options: { isEventTime: true, lateTolerance: 0 },
          })
          const rows = times.map((ts) => ({ id: String(ts), ts }))
          await (emits === 'bytes' ? source.json(rows) : source.rows(rows))
          await settle()
          const got = sink.sent.flatMap((text) => JSON.parse(text) as { ts?: number })
          const sorted = want.toSorted((a, b) => a.until - b.until || a.ts - b.ts)
          expect(got.filter((row) => row.ts !== undefined)).toEqual(sorted)
        }
      }
    },
  )
})

describe('a rule that stops at a limit of its window', () => {
  const sql = 'SELECT id, count(*) AS n FROM demo GROUP BY id, tumblingwindow(ss, 10)'
  const time = 1_700_000_000_000
  // The last one ends the window.
  const rows = Array.from({ length: 9 }, (_, i) => ({ ts: time + i + (i === 8 ? 30_000 : 0), id: `d${i % 4}` }))
  it.each([
    ['groups', sql, { groupLimit: 3 }, ''],
    ['groups in event time', sql, { groupLimit: 3, isEventTime: true, lateTolerance: 0 }, ', TIMESTAMP="ts"'],
    ['rows that wait', sql, { windowLimit: 5, isEventTime: true, lateTolerance: 5000 }, ', TIMESTAMP="ts"'],
  ])('%s: says what rows say, and counts every event', async (_title, statement, options, stream) => {
    const messages: string[] = []
    for (const emits of ['bytes', 'rows'] as const) {
      const { source, sink, engine } = await run(emits, false, {
        sql: statement,
        stream,
        options: { limitPolicy: 'fail', ...options },
      })
      await (emits === 'bytes' ? source.json(rows) : source.rows(rows))
      await settle()
      const ledger = engine.ruleLedger('r').rule
      expect(ledger).toMatchObject({ emitted: 0, inFlight: 0 })
      expect(imbalance(ledger)).toBe(0)
      expect(sink.sent).toEqual([])
      // Rows need no decoder: operators have other numbers.
      messages.push(engine.ruleStatus('r').message.replace(/^operator \d+_/, 'operator _'))
    }
    expect(messages[0]).toMatch(/^operator _\w+: .*more than \d/)
    expect(messages[0]).toBe(messages[1])
  })
})

describe('a tumbling window per device', () => {
  it('gives the same groups from undecoded payloads as from rows, with an exact ledger at every step', async () => {
    const byBytes = await run('bytes', false)
    const byRows = await run('rows', false)
    const byShared = await run('bytes', true)
    for (let step = 0; step < 40; step++) {
      const batch = Array.from({ length: 25 }, (_, i) => event(step * 25 + i))
      await byBytes.source.json(step % 2 ? [batch] : batch)
      await byShared.source.json(batch)
      await byRows.source.rows(batch)
      if (step % 10 === 3) {
        await byBytes.source.json(['{"id":1', { id: 'dev_0', temp: 'hot' }])
        await byShared.source.json(['{"id":1', { id: 'dev_0', temp: 'hot' }])
        await byRows.source.rows([{ id: 'dev_0', temp: 'hot' }])
      }
      for (const { engine, clock } of [byBytes, byRows, byShared]) {
        await clock.advance(700)
        expect(imbalance(engine.ruleLedger('r').rule)).toBe(0)
      }
    }
    for (const { clock } of [byBytes, byRows, byShared]) {
      await clock.advance(10_000)
      await settle()
    }
    expect(byBytes.sink.sent.length).toBeGreaterThan(2)
    expect(byBytes.sink.sent).toEqual(byRows.sink.sent)
    expect(byShared.sink.sent).toEqual(byRows.sink.sent)
    expect(byBytes.engine.ruleLedger('r').rule).toMatchObject({
      received: 1008,
      emitted: 1000,
      dropped: { decode_error: 4, error: 4 },
      inFlight: 0,
    })
    expect(byShared.engine.ruleLedger('r').rule).toEqual(byBytes.engine.ruleLedger('r').rule)
    const counters = Object.fromEntries(byBytes.engine.ruleStatus('r').counters)
    expect(counters).toMatchObject({ op_2_decoder_0_records_in_total: 1008, op_3_filter_0_records_in_total: 1004 })
  })
})
