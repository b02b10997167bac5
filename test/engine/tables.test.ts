import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { connectors } from '../../src/connectors/index.ts'
import {
  type ConnectorDefinition,
  createEngine,
  type Engine,
  imbalance,
  manualClock,
  memoryStore,
  type ValueObject,
} from '../../src/engine/index.ts'
import { eventually } from '../support/connectors.ts'
import { manualSource } from '../support/engine-harness.ts'

const engines: Engine[] = []
async function open(options: Parameters<typeof createEngine>[0] = {}): Promise<Engine> {
  const engine = await createEngine({ clock: manualClock({ start: 1_700_000_040_000 }), ...options })
  engines.push(engine)
  return engine
}
afterEach(async () => {
  for (const engine of engines.splice(0)) await engine.close()
})
const flush = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

async function collect(engine: Engine, sql: string, options: ValueObject = {}) {
  const results: ValueObject[][] = []
  const query = await engine.query({ sql, options, onResult: (rows) => void results.push([...rows]) })
  return { results, query }
}

const STREAM = 'CREATE STREAM s () WITH (TYPE="memory", DATASOURCE="in")'

it('joins with a memory lookup table that rules fill, before any rule reads it', async () => {
  const engine = await open()
  await engine.execute(STREAM)
  await engine.execute('CREATE STREAM updates () WITH (TYPE="memory", DATASOURCE="up")')
  await engine.execute('CREATE TABLE devices () WITH (TYPE="memory", DATASOURCE="dev", KIND="lookup", KEY="id")')
  await engine.createRule({ id: 'fill', sql: 'SELECT * FROM updates', actions: [{ memory: { topic: 'dev' } }] })
  await engine.feedRows('updates', [
    { id: 1, name: 'one' },
    { id: 1, name: 'uno' },
  ])
  await flush()
  const { results, query } = await collect(
    engine,
    'SELECT s.v, devices.name FROM s LEFT JOIN devices ON s.id = devices.id',
  )
  await engine.feedRows('s', [
    { id: 1, v: 10 },
    { id: 2, v: 20 },
  ])
  await flush()
  expect(results).toEqual([[{ v: 10, name: 'uno' }], [{ v: 20 }]])
  expect(query.ledger()).toMatchObject({ received: 2, emitted: 2, inFlight: 0 })
})

it('refuses to drop a lookup table in use, and drops it afterwards', async () => {
  const engine = await open()
  await engine.execute(STREAM)
  await engine.execute('CREATE TABLE devices () WITH (TYPE="memory", DATASOURCE="dev", KIND="lookup", KEY="id")')
  const { query } = await collect(engine, 'SELECT * FROM s INNER JOIN devices ON s.id = devices.id')
  await expect(engine.dropStream('devices', 'table')).rejects.toThrow(
    'lookup table devices is still in use, stop all using rules before dropping it',
  )
  await query.stop()
  expect(await engine.execute('DROP TABLE devices')).toBe('Table devices is dropped.')
})

it('waits for slow answers before a bounded rule ends', async () => {
  const answers: ((rows: ValueObject[]) => void)[] = []
  const slow: ConnectorDefinition = {
    name: 'slow',
    lookup: {
      name: 'slow',
      docs: 'Answers when told.',
      options: {},
      create: () => ({
        connect: async () => {},
        lookup: () => new Promise((resolve) => answers.push(resolve)),
        close: async () => {},
      }),
    },
  }
  const source = manualSource('fed')
  const engine = await open({ connectors: [...connectors, slow, source.connector] })
  await engine.execute('CREATE STREAM s () WITH (TYPE="fed", DATASOURCE="in")')
  await engine.execute('CREATE TABLE t () WITH (TYPE="slow", DATASOURCE="t", KIND="lookup")')
  await engine.createRule({
    id: 'r',
    sql: 'SELECT s.v, t.n FROM s INNER JOIN t ON s.id = t.id',
    actions: [{ nop: {} }],
  })
  await eventually(() => source.open === 1)
  await source.rows([{ id: 1, v: 1 }])
  source.end()
  for (let i = 0; i < 10; i++) await flush()
  expect(engine.ruleStatus('r').status).toBe('running')
  expect(engine.ruleLedger('r').rule.inFlight).toBe(1)
  answers[0]?.([{ n: 1 }])
  await eventually(() => engine.ruleStatus('r').status === 'stopped')
  expect(engine.ruleLedger('r').rule).toMatchObject({ received: 1, emitted: 1, inFlight: 0, dropped: {} })
})

it('does not create a lookup table that does not connect', async () => {
  const engine = await open()
  await expect(
    engine.execute('CREATE TABLE t () WITH (TYPE="memory", DATASOURCE="", KIND="lookup", KEY="id")'),
  ).rejects.toThrow(/Create table fails/)
  expect(engine.stream('t')).toBeUndefined()
})

it('connects stored lookup tables again at start', async () => {
  const store = { ...memoryStore(), close: async () => {} }
  const first = await open({ store })
  await first.execute('CREATE TABLE devices () WITH (TYPE="memory", DATASOURCE="dev", KIND="lookup", KEY="id")')
  await first.close()
  const engine = await open({ store })
  await engine.execute(STREAM)
  await engine.execute('CREATE STREAM up () WITH (TYPE="memory", DATASOURCE="up")')
  await engine.createRule({ id: 'fill', sql: 'SELECT * FROM up', actions: [{ memory: { topic: 'dev' } }] })
  await engine.feedRows('up', [{ id: 'x', n: 5 }])
  await flush()
  const { results } = await collect(engine, 'SELECT devices.n AS n FROM s INNER JOIN devices ON s.id = devices.id')
  await engine.feedRows('s', [{ id: 'x' }])
  await flush()
  expect(results).toEqual([[{ n: 5 }]])
})

it('reads a file table before the streams, keeps its rows in the ledger, and goes on after its end', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'ixion-table-'))
  writeFileSync(
    join(dataDir, 'names.json'),
    JSON.stringify([
      { id: 1, name: 'one' },
      { id: 2, name: 'two' },
    ]),
  )
  const engine = await open({ dataDir })
  await engine.execute(STREAM)
  await engine.execute('CREATE TABLE names () WITH (DATASOURCE="names.json", FORMAT="json")')
  const { results, query } = await collect(engine, 'SELECT s.v, names.name FROM s INNER JOIN names ON s.id = names.id')
  await eventually(() => query.ledger().received === 2)
  await eventually(() => engine.listRules().every((r) => r.status === 'running'))
  await flush()
  await engine.feedRows('s', [
    { id: 2, v: 1 },
    { id: 3, v: 2 },
  ])
  await eventually(() => query.ledger().received === 4)
  await flush()
  expect(results).toEqual([[{ v: 1, name: 'two' }]])
  const ledger = query.ledger()
  expect(imbalance(ledger)).toBe(0)
  expect(ledger).toMatchObject({ emitted: 1, filtered: 1, inFlight: 2 })
})

it('keeps one row per key of a table when asked to', async () => {
  const engine = await open()
  await engine.execute(STREAM)
  await engine.execute('CREATE TABLE state () WITH (TYPE="memory", DATASOURCE="st", KEY="id")')
  const sql = 'SELECT state.id AS id, state.v AS v FROM s INNER JOIN state ON s.id = state.id'
  const keyed = await collect(engine, sql, { keyedTables: true })
  const latest = await collect(engine, sql)
  for (const row of [
    { id: 'a', v: 1 },
    { id: 'b', v: 2 },
    { id: 'a', v: 3 },
  ])
    await engine.feedRows('state', [row])
  await engine.feedRows('s', [{ id: 'b' }, { id: 'a' }])
  await flush()
  expect(keyed.results).toEqual([[{ id: 'b', v: 2 }], [{ id: 'a', v: 3 }]])
  expect(latest.results).toEqual([[{ id: 'a', v: 3 }]])
})

it('hands late rows to a memory topic', async () => {
  const engine = await open()
  await engine.execute('CREATE STREAM e () WITH (TYPE="memory", DATASOURCE="in", TIMESTAMP="ts", LATE_POLICY="side")')
  await engine.execute('CREATE STREAM lates () WITH (TYPE="memory", DATASOURCE="late/windowed/e")')
  const late = await collect(engine, 'SELECT * FROM lates')
  await engine.createRule({
    id: 'windowed',
    sql: 'SELECT count(*) AS c FROM e GROUP BY TUMBLINGWINDOW(ss, 10)',
    actions: [{ nop: {} }],
    options: { isEventTime: true, lateTolerance: 0 },
  })
  for (const ts of [100_000, 1_000, 110_000]) await engine.feedRows('e', [{ ts }])
  await flush()
  expect(late.results).toEqual([[{ ts: 1_000 }]])
  expect(engine.ruleLedger('windowed').rule.dropped).toEqual({ late: 1 })
  expect(imbalance(engine.ruleLedger('windowed').rule)).toBe(0)
})

it('shows the operators of the plan in status though the window does their work', async () => {
  const clock = manualClock({ start: 1_700_000_040_000 })
  const engine = await open({ clock })
  await engine.execute(STREAM)
  await engine.createRule({
    id: 'r',
    sql: 'SELECT k, count(*) AS c FROM s GROUP BY k, TUMBLINGWINDOW(ss, 1)',
    actions: [{ nop: {} }],
  })
  await engine.feedRows('s', [{ k: 'a' }, { k: 'b' }, { k: 'a' }])
  await clock.advance(1_000)
  expect(Object.fromEntries(engine.ruleStatus('r').counters)).toMatchObject({
    op_2_window_0_records_in_total: 3,
    op_2_window_0_records_out_total: 1,
    op_3_aggregate_0_records_in_total: 1,
    op_3_aggregate_0_records_out_total: 1,
    op_4_project_0_records_in_total: 1,
  })
})
