/** Reported situations about joins, tables and lookups, each with the result it should have given. */
import { afterEach, describe, expect, it } from 'vitest'
import type { ConnectorDefinition } from '../../src/connectors/contract.ts'
import { manualClock } from '../../src/core/clock.ts'
import type { Value, ValueObject } from '../../src/core/values.ts'
import { createEngine, type Engine, imbalance } from '../../src/engine/index.ts'
import { settle, withConnectors } from '../support/engine-harness.ts'
import { runStatement } from '../support/run-statement.ts'
import { B, eventTime, planOf, planText, resultsOf, stream } from './statements.ts'

type Rows = [number, ValueObject, string][]

const engines: Engine[] = []
afterEach(async () => {
  for (const engine of engines.splice(0)) await engine.close()
})
async function open(
  ...connectors: ConnectorDefinition[]
): Promise<{ engine: Engine; clock: ReturnType<typeof manualClock> }> {
  const clock = manualClock({ start: B })
  const engine = await createEngine({ clock, connectors: withConnectors(...connectors) })
  engines.push(engine)
  return { engine, clock }
}
const source = (name: string, more = ''): string =>
  `CREATE STREAM ${name} () WITH (TYPE="memory", DATASOURCE="${name}"${more})`

async function collect(engine: Engine, sql: string, options: ValueObject = {}) {
  const results: Value[] = []
  const query = await engine.query({ sql, options, onResult: (rows) => void results.push([...rows]) })
  return { results, query }
}

describe('joins of streams', () => {
  it('know them by alias and by name, with dotted column names in backticks too (report 36, TC-35)', () => {
    const rows: Rows = [
      [0, { u: 'ada', 'u.id': 1 }, 'failed'],
      [1000, { u: 'ada', 'u.id': 1, ip: '203.0.113.7' }, 'okay'],
      [30_000, {}, 'failed'],
      [30_000, {}, 'okay'],
    ]
    const definitions = [stream('failed'), stream('okay')]
    const aliased = 'FROM failed AS f INNER JOIN okay AS k'
    for (const sql of [
      `SELECT f.u AS u, k.ip AS ip ${aliased} ON f.u = k.u`,
      'SELECT failed.u AS u, okay.ip AS ip FROM failed INNER JOIN okay ON failed.u = okay.u',
      `SELECT failed.u AS u, okay.ip AS ip ${aliased} ON f.u = okay.u`,
      `SELECT f.u AS u, k.ip AS ip ${aliased} ON f.\`u.id\` = k.\`u.id\``,
    ]) {
      const { out } = eventTime(`${sql} GROUP BY TUMBLINGWINDOW(ss,10)`, rows, { definitions })
      expect(out).toEqual([[{ u: 'ada', ip: '203.0.113.7' }]])
    }
  })

  it('give every match over three of them, wherever the conditions stand (reports 47 and 48, TC-36)', () => {
    const rows: Rows = [
      [0, { id: 1, a: 10 }, 'L'],
      [1, { id: 1, b: 1 }, 'R'],
      [2, { id: 1, b: 2 }, 'R'],
      [3, { id: 1, c: 7 }, 'M'],
      [4, { id: 2, c: 8 }, 'M'],
      ...['L', 'R', 'M'].map((s): [number, ValueObject, string] => [30_000, { id: 9 }, s]),
    ]
    for (const joins of [
      'INNER JOIN R ON L.id=R.id INNER JOIN M ON L.id=M.id',
      'INNER JOIN R INNER JOIN M ON L.id=R.id AND R.id=M.id',
      'INNER JOIN R INNER JOIN M ON L.id=M.id AND L.id=R.id',
      'CROSS JOIN R INNER JOIN M ON M.id=R.id AND R.id=L.id',
    ]) {
      const sql = `SELECT L.a, R.b, M.c FROM L ${joins} GROUP BY TUMBLINGWINDOW(ss,2)`
      const { out } = eventTime(sql, rows, { definitions: [stream('L'), stream('R'), stream('M')] })
      expect(out[0]).toEqual([
        { a: 10, b: 1, c: 7 },
        { a: 10, b: 2, c: 7 },
      ])
    }
  })

  it('keep 19 digits through windows, join keys and saved state (report 35, TC-33)', () => {
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

describe('lookup joins', () => {
  it('come after the join of the streams beside them (report 46)', async () => {
    const { engine, clock } = await open()
    for (const name of ['a', 'b', 'names']) await engine.execute(source(name))
    await engine.execute('CREATE TABLE dev () WITH (TYPE="memory", DATASOURCE="dev", KIND="lookup", KEY="id")')
    await engine.createRule({ id: 'fill', sql: 'SELECT * FROM names', actions: [{ memory: { topic: 'dev' } }] })
    await engine.feedRows('names', [{ id: 1, name: 'one' }])
    await settle()
    const on = 'INNER JOIN b ON a.id = b.id INNER JOIN dev ON a.id = dev.id'
    const lookupFirst = 'INNER JOIN dev ON a.id = dev.id INNER JOIN b ON a.id = b.id'
    const sql = (joins: string) => `SELECT a.v, b.w, dev.name FROM a ${joins} GROUP BY TUMBLINGWINDOW(ss,1)`
    const first = await collect(engine, sql(on))
    const second = await collect(engine, sql(lookupFirst))
    await engine.feedRows('a', [
      { id: 1, v: 10 },
      { id: 2, v: 20 },
    ])
    await engine.feedRows('b', [
      { id: 1, w: 5 },
      { id: 2, w: 6 },
    ])
    await clock.advance(1000)
    for (const { results } of [first, second]) expect(results).toEqual([[{ v: 10, w: 5, name: 'one' }]])
  })

  it('show in the plan by which columns they ask, and what is tested afterwards (report 49)', () => {
    const table = 'CREATE TABLE dev (id BIGINT, site STRING) WITH (TYPE="memory", KIND="lookup", KEY="id")'
    const text = planText('SELECT S.v FROM S INNER JOIN dev ON S.id = dev.id AND dev.site != S.site', [
      'CREATE STREAM S () WITH ()',
      table,
    ])
    expect(text).toContain('inner lookup dev by id = S.id')
    expect(text).toMatch(/filter .*dev\.site != S\.site/)
  })

  it('by columns declared as a number and as text are a warning: they never match (report 49)', () => {
    const warnings = (type: string) =>
      planOf('SELECT S.v FROM S INNER JOIN dev ON S.id = dev.id', [
        'CREATE STREAM S (id BIGINT, v FLOAT) WITH ()',
        `CREATE TABLE dev (id ${type}) WITH (TYPE="memory", KIND="lookup", KEY="id")`,
      ]).warnings.map((w) => [w.message, w.hint])
    expect(warnings('STRING')).toEqual([
      [
        'S.id is declared bigint and dev.id string: they never compare',
        'Convert one of them with cast(S.id, "string").',
      ],
    ])
    expect(warnings('BIGINT')).toEqual([])
    expect(warnings('FLOAT')).toEqual([])
  })

  it('whose peer fails in any way fail their row; the rule goes on (report 50)', async () => {
    const answers: (() => unknown)[] = [
      () => Promise.reject(new Error('connection refused')),
      () => {
        throw new TypeError('nothing there')
      },
      () => Promise.resolve([{ id: 4, name: 'four' }]),
    ]
    const failing: ConnectorDefinition = {
      name: 'failing',
      lookup: {
        name: 'failing',
        docs: 'Answers what it is told to.',
        options: {},
        create: () => ({
          connect: async () => {},
          lookup: () => (answers.shift() as () => never)(),
          close: async () => {},
        }),
      },
    }
    const { engine } = await open(failing)
    await engine.execute(source('s'))
    await engine.execute('CREATE TABLE t () WITH (TYPE="failing", DATASOURCE="t", KIND="lookup")')
    const { results, query } = await collect(engine, 'SELECT s.id, t.name FROM s INNER JOIN t ON s.id = t.id')
    await engine.feedRows('s', [{ id: 1 }, { id: 2 }, { id: 4 }])
    await settle(20)
    expect(results).toEqual([[{ id: 4, name: 'four' }]])
    expect(query.ledger()).toMatchObject({ received: 3, emitted: 1, dropped: { error: 2 } })
    expect(imbalance(query.ledger())).toBe(0)
  })
})

describe('tables', () => {
  it('with a KEY keep the newest rows whatever their key, which is a warning, or one row a key (report 51)', async () => {
    const definitions = [
      'CREATE STREAM S () WITH ()',
      'CREATE TABLE state () WITH (TYPE="memory", DATASOURCE="st", KEY="id")',
    ]
    const sql = 'SELECT state.v FROM S INNER JOIN state ON S.id = state.id'
    const warnings = (keyedTables: boolean) => planOf(sql, definitions, { keyedTables }).warnings.map((w) => w.message)
    expect(warnings(false)).toEqual([
      'KEY of the table state has no effect: the newest rows are kept, whatever their id',
    ])
    expect(warnings(true)).toEqual([])
  })

  it('give an event the last known state of another sensor, without a window (report 53)', async () => {
    const { engine } = await open()
    await engine.execute(source('door'))
    await engine.execute('CREATE TABLE climate () WITH (TYPE="memory", DATASOURCE="cl", KEY="room")')
    const sql = 'SELECT door.room AS room, climate.temp AS temp FROM door LEFT JOIN climate ON door.room = climate.room'
    const { results } = await collect(engine, sql, { keyedTables: true })
    await engine.feedRows('door', [{ room: 'a' }])
    await engine.feedRows('climate', [
      { room: 'a', temp: 20 },
      { room: 'b', temp: 5 },
    ])
    await engine.feedRows('climate', [{ room: 'a', temp: 21 }])
    await engine.feedRows('door', [{ room: 'a' }, { room: 'b' }])
    await settle()
    expect(results).toEqual([[{ room: 'a' }], [{ room: 'a', temp: 21 }], [{ room: 'b', temp: 5 }]])
  })

  it('are not needed to merge partial updates: latest per key has every field (report 52)', () => {
    const last = (column: string) => `latest(${column}) OVER (PARTITION BY id) AS ${column}`
    const updates = [
      { id: 'a', t: 1 },
      { id: 'b', t: 9 },
      { id: 'a', h: 50 },
      { id: 'a', t: 2 },
      { id: 'b', h: 60 },
    ]
    expect(resultsOf(`SELECT id, ${last('t')}, ${last('h')} FROM S`, updates)).toEqual([
      [{ id: 'a', t: 1 }],
      [{ id: 'b', t: 9 }],
      [{ id: 'a', t: 1, h: 50 }],
      [{ id: 'a', t: 2, h: 50 }],
      [{ id: 'b', t: 9, h: 60 }],
    ])
  })
})
