import { afterEach, describe, expect, it } from 'vitest'
import { connectors } from '../../src/connectors/index.ts'
import {
  type ConnectorDefinition,
  createEngine,
  type Engine,
  type ManualClock,
  manualClock,
  memoryStore,
  type Store,
  type ValueObject,
} from '../../src/engine/index.ts'
import { manualSink, manualSource } from '../support/engine-harness.ts'

const engines: Engine[] = []
afterEach(async () => {
  for (const engine of engines.splice(0)) await engine.close()
})
/** A store that outlives the engine, as a disk does. */
const disk = (): Store => ({ ...memoryStore(), close: async () => {} })

async function open(store: Store, clock: ManualClock, more: readonly ConnectorDefinition[] = []): Promise<Engine> {
  const engine = await createEngine({ clock, store, connectors: [...connectors, ...more] })
  engines.push(engine)
  return engine
}
const START = 1_700_000_040_000
const STREAM = 'CREATE STREAM s () WITH (TYPE="fed", DATASOURCE="in")'
const RULE = (options: ValueObject, sql = 'SELECT count(*) AS c FROM s GROUP BY COUNTWINDOW(3)'): ValueObject => ({
  id: 'r',
  sql,
  actions: [{ memory: { topic: 'out' } }],
  options: { qos: 1, checkpointInterval: '1s', ...options },
})

async function results(engine: Engine): Promise<ValueObject[]> {
  const seen: ValueObject[] = []
  await engine.execute('CREATE STREAM result () WITH (TYPE="memory", DATASOURCE="out", TEMP="true")')
  await engine.query({ sql: 'SELECT * FROM result', onResult: (rows) => void seen.push(...rows) })
  return seen
}

async function checkpoints(store: Store): Promise<string[]> {
  const keys: string[] = []
  for await (const [key] of store.table('checkpoints').entries('')) keys.push(key)
  return keys
}

describe('a rule with qos 1', () => {
  it('goes on from its last checkpoint in a new process', async () => {
    const clock = manualClock({ start: START })
    const store = disk()
    const source = manualSource('fed')
    const first = await open(store, clock, [source.connector])
    await first.execute(STREAM)
    await first.createRule(RULE({}))
    await clock.advance(0)
    await source.rows([{ v: 1 }, { v: 2 }])
    await clock.advance(1_000)
    // Behind the checkpoint: lost with the process, as its sender was not told otherwise.
    await source.rows([{ v: 3 }])
    await first.close()
    const second = await open(store, clock, [source.connector])
    const seen = await results(second)
    await clock.advance(0)
    expect(second.ruleLedger('r').rule).toMatchObject({ received: 2, inFlight: 2 })
    await source.rows([{ v: 3 }])
    await clock.advance(10)
    expect(seen).toEqual([{ c: 3n }])
  })

  it('answers a sender only when the state with its events is durable', async () => {
    const clock = manualClock({ start: START })
    const store = disk()
    const source = manualSource('fed')
    const engine = await open(store, clock, [source.connector])
    await engine.execute(STREAM)
    await engine.createRule(RULE({ checkpointInterval: '1h' }))
    await clock.advance(0)
    const answers: (Error | null)[] = []
    await source.rows([{ v: 1 }], (error) => void answers.push(error))
    await clock.advance(0)
    expect(answers).toEqual([])
    await clock.advance(1_000)
    expect(answers).toEqual([null])
    expect(await checkpoints(store)).toHaveLength(1)
    await source.rows([{ v: 2 }], (error) => void answers.push(error))
    await engine.stopRule('r')
    expect(answers[1]).toBeInstanceOf(Error)
  })

  it('answers no sender while results of its events wait in a sink', async () => {
    const clock = manualClock({ start: START })
    const source = manualSource('fed')
    const sink = manualSink('held')
    const engine = await open(disk(), clock, [source.connector, sink.connector])
    await engine.execute(STREAM)
    await engine.createRule({
      ...RULE({ checkpointInterval: '1h' }, 'SELECT v, lag(v) AS p FROM s'),
      actions: [{ held: {} }],
    })
    await clock.advance(0)
    sink.hold(true)
    const answers: (Error | null)[] = []
    await source.rows([{ v: 1 }], (error) => void answers.push(error))
    await clock.advance(5_000)
    expect(answers).toEqual([])
    sink.hold(false)
    await clock.advance(1_000)
    expect(answers).toEqual([null])
  })

  it('answers when results are sent where there is no state to lose', async () => {
    const clock = manualClock({ start: START })
    const source = manualSource('fed')
    const engine = await open(disk(), clock, [source.connector])
    await engine.execute(STREAM)
    await engine.createRule(RULE({}, 'SELECT v FROM s WHERE v > 1'))
    await clock.advance(0)
    const answers: (Error | null)[] = []
    await source.rows([{ v: 1 }, { v: 2 }], (error) => void answers.push(error))
    await clock.advance(20)
    expect(answers).toEqual([null])
  })

  it('keeps the last three checkpoints and removes them with the rule', async () => {
    const clock = manualClock({ start: START })
    const store = disk()
    const source = manualSource('fed')
    const engine = await open(store, clock, [source.connector])
    await engine.execute(STREAM)
    await engine.createRule(RULE({}))
    await clock.advance(10_000)
    expect(await checkpoints(store)).toHaveLength(3)
    await engine.deleteRule('r')
    expect(await checkpoints(store)).toEqual([])
  })

  it('takes one more on stop with enableSaveStateBeforeStop', async () => {
    const clock = manualClock({ start: START })
    const store = disk()
    const source = manualSource('fed')
    const engine = await open(store, clock, [source.connector])
    await engine.execute(STREAM)
    await engine.createRule(RULE({ checkpointInterval: '1h', enableSaveStateBeforeStop: true }))
    const seen = await results(engine)
    await clock.advance(0)
    await source.rows([{ v: 1 }, { v: 2 }])
    await engine.stopRule('r')
    await engine.startRule('r')
    await clock.advance(0)
    await source.rows([{ v: 3 }])
    await clock.advance(10)
    expect(seen).toEqual([{ c: 3n }])
  })

  it('saves windows of undecoded payloads too', async () => {
    const clock = manualClock({ start: START })
    const store = disk()
    const source = manualSource('fed', { emits: 'bytes', now: () => clock.now() })
    const sql = 'SELECT k, count(*) AS c, sum(v) AS s FROM s GROUP BY k, TUMBLINGWINDOW(ss, 10)'
    const first = await open(store, clock, [source.connector])
    await first.execute('CREATE STREAM s () WITH (TYPE="fed", DATASOURCE="in", FORMAT="json")')
    await first.createRule(RULE({ enableSaveStateBeforeStop: true }, sql))
    await clock.advance(1000)
    await source.json([
      { k: 'a', v: 1 },
      { k: 'b', v: 2 },
    ])
    await first.close()
    const second = await open(store, clock, [source.connector])
    const seen = await results(second)
    await clock.advance(0)
    await source.json([{ k: 'a', v: 5 }])
    await clock.advance(10_000)
    expect(seen).toEqual([
      { k: 'a', c: 2n, s: 6 },
      { k: 'b', c: 1n, s: 2 },
    ])
  })

  it('starts without state when its SQL has changed', async () => {
    const clock = manualClock({ start: START })
    const source = manualSource('fed')
    const engine = await open(disk(), clock, [source.connector])
    await engine.execute(STREAM)
    await engine.createRule(RULE({ enableSaveStateBeforeStop: true }))
    await clock.advance(0)
    await source.rows([{ v: 1 }])
    const changed = RULE({ enableSaveStateBeforeStop: true }, 'SELECT sum(v) AS c FROM s GROUP BY COUNTWINDOW(2)')
    await engine.updateRule('r', JSON.stringify(changed))
    expect(engine.ruleLedger('r').rule.inFlight).toBe(0)
  })

  it('survives a checkpoint that cannot be read, with the one before it', async () => {
    const clock = manualClock({ start: START })
    const store = disk()
    const source = manualSource('fed')
    const first = await open(store, clock, [source.connector])
    await first.execute(STREAM)
    await first.createRule(RULE({}))
    await clock.advance(0)
    await source.rows([{ v: 1 }])
    await clock.advance(2_000)
    await first.close()
    const newest = (await checkpoints(store)).at(-1) as string
    await store.table('checkpoints').set(newest, '[1,')
    const second = await open(store, clock, [source.connector])
    expect(second.ruleLedger('r').rule.inFlight).toBe(1)
  })

  it('leaves the checkpoints alone when it cannot start from them', async () => {
    const clock = manualClock({ start: START })
    const store = disk()
    const source = manualSource('fed')
    const first = await open(store, clock, [source.connector])
    await first.execute(STREAM)
    await first.createRule(RULE({ enableSaveStateBeforeStop: true }))
    await clock.advance(0)
    await source.rows([{ v: 1 }])
    await first.close()
    const table = store.table('checkpoints')
    const [key] = (await checkpoints(store)) as [string]
    const later = (await table.get(key))?.replace('"version":1', '"version":9') as string
    await table.set(key, later)
    const second = await open(store, clock, [source.connector])
    expect(second.ruleStatus('r').status).toBe('stopped by error')
    expect(await checkpoints(store)).toEqual([key])
    expect(await table.get(key)).toBe(later)
  })

  it('leaves a shared stream to the others when its checkpoints cannot be read', async () => {
    const clock = manualClock({ start: START })
    const store = disk()
    const table = store.table('checkpoints')
    const broken: Store = {
      ...store,
      table: (name) => (name !== 'checkpoints' ? store.table(name) : { ...table, entries: unreadable }),
    }
    const source = manualSource('fed')
    const engine = await open(broken, clock, [source.connector])
    await engine.execute('CREATE STREAM s () WITH (TYPE="fed", DATASOURCE="in", SHARED="true")')
    await engine.createRule({ ...RULE({ qos: 0 }, 'SELECT v FROM s'), id: 'other' })
    await expect(engine.createRule(RULE({}))).rejects.toThrow('the disk is gone')
    const seen = await results(engine)
    await clock.advance(0)
    await source.rows([{ v: 1 }])
    await clock.advance(10)
    expect(seen).toEqual([{ v: 1 }])
    expect(engine.rulesReading('s')).toEqual(['other'])
  })
})

async function* unreadable(): AsyncGenerator<readonly [string, string]> {
  yield Promise.reject(new Error('the disk is gone'))
}

it('a rule with qos 0 writes nothing', async () => {
  const clock = manualClock({ start: START })
  const store = disk()
  const source = manualSource('fed')
  const engine = await open(store, clock, [source.connector])
  await engine.execute(STREAM)
  await engine.createRule(RULE({ qos: 0 }))
  await clock.advance(10_000)
  expect(await checkpoints(store)).toEqual([])
})
