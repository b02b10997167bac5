/** Situations users of edge engines reported: life cycle, connections, loss. Those of statements are in test/operators. */
import { connectAsync } from 'mqtt'
import { afterEach, describe, expect, it } from 'vitest'
import type { ConnectorDefinition } from '../../src/connectors/contract.ts'
import { IxionError } from '../../src/core/errors.ts'
import { createEngine, type Engine, type EngineOptions, imbalance } from '../../src/engine/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { eventually, freePort, startAedes } from '../support/connectors.ts'
import { manualSink, manualSource, settle, withConnectors } from '../support/engine-harness.ts'

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

async function open(options: EngineOptions = {}, ...more: ConnectorDefinition[]) {
  const fed = manualSource('fed', { emits: 'bytes' })
  const sink = manualSink('watched')
  const engine: Engine = await createEngine({
    connectors: withConnectors(fed.connector, sink.connector, ...more),
    drainLimit: 300,
    ...options,
  })
  cleanups.push(() => engine.close())
  if (!engine.stream('demo'))
    await engine.execute('CREATE STREAM demo () WITH (TYPE="fed", DATASOURCE="d", FORMAT="json")')
  return { engine, fed, sink }
}

const document = (more: object = {}) => ({
  id: 'r',
  sql: 'SELECT n FROM demo',
  actions: [{ watched: { sendSingle: true } }],
  ...more,
})
const keptStore = () => ({ ...memoryStore(), close: async () => {} })

describe('the life of a rule', () => {
  it('stopped before a restart of the process stays stopped after it', async () => {
    const store = keptStore()
    const { engine } = await open({ store })
    await engine.createRule(document())
    await engine.stopRule('r')
    await engine.createRule(document({ id: 'kept', triggered: false }))
    await engine.close()
    const again = await open({ store })
    await again.engine.startStoredRules()
    expect(again.engine.listRules().map((r) => [r.id, r.status])).toEqual([
      ['kept', 'stopped'],
      ['r', 'stopped'],
    ])
  })

  it('whose creation fails is not there, and its name is free', async () => {
    const { engine } = await open()
    await expect(engine.createRule(document({ sql: 'SELECT n FROM nowhere' }))).rejects.toThrow()
    expect(() => engine.ruleText('r')).toThrow('not found')
    await engine.createRule(document())
  })

  it('whose update fails goes on as it was', async () => {
    const { engine, fed, sink } = await open()
    await engine.createRule(document())
    await expect(engine.updateRule('r', JSON.stringify(document({ sql: 'SELECT FROM' })))).rejects.toThrow()
    await settle()
    await fed.json([{ n: 1 }])
    await settle()
    expect(sink.sent).toEqual(['{"n":1}'])
  })

  it('after an update no row shows the old projection', async () => {
    const { engine, fed, sink } = await open()
    await engine.createRule(document())
    await settle()
    await fed.json([{ n: 1 }])
    await engine.updateRule('r', JSON.stringify(document({ sql: 'SELECT n AS m FROM demo' })))
    await settle()
    await fed.json([{ n: 2 }])
    await settle()
    expect(sink.sent).toEqual(['{"n":1}', '{"m":2}'])
  })

  it('may have a numeric id with qos 1', async () => {
    const { engine, fed } = await open({ store: keptStore() })
    await engine.createRule(document({ id: '0000002', options: { qos: 1, checkpointInterval: 100 } }))
    await settle()
    await fed.json([{ n: 1 }])
    await settle()
    await engine.stopRule('0000002')
    await engine.startRule('0000002')
    expect(engine.ruleStatus('0000002').status).toBe('running')
  })

  it('one bad message does not stop it', async () => {
    const { engine, fed, sink } = await open()
    await engine.createRule(document({ sql: 'SELECT abs(n) AS n FROM demo' }))
    await settle()
    await fed.json(['{"n":', { n: 'text' }, { n: [1] }, { n: -3 }])
    await settle()
    expect(sink.sent).toEqual(['{"n":3}'])
    expect(engine.ruleStatus('r').status).toBe('running')
  })

  it('answers before stored rules are planned', async () => {
    const store = keptStore()
    const first = await open({ store })
    for (let i = 0; i < 20; i++) await first.engine.createRule(document({ id: `r${i}` }))
    await first.engine.close()
    const { engine } = await open({ store })
    const starting = engine.startStoredRules()
    expect(engine.listRules()).toHaveLength(20)
    expect(engine.ruleText('r7')).toContain('SELECT n FROM demo')
    await engine.deleteRule('r19')
    await starting
    expect(engine.listRules().filter((r) => r.status === 'running')).toHaveLength(19)
  })

  it('index out of range fails its row, not the rule', async () => {
    const { engine, fed, sink } = await open()
    await engine.createRule(document({ sql: 'SELECT arr[i] AS e FROM demo' }))
    await settle()
    await fed.json([
      { i: 1, arr: [10, 20, 30] },
      { i: 7, arr: [10] },
      { i: 0, arr: [9] },
    ])
    await settle()
    expect(sink.sent).toEqual(['{"e":20}', '{"e":9}'])
    expect(engine.ruleLedger('r').rule.dropped).toEqual({ error: 1 })
  })

  it('integers of 19 digits go through schema, struct and data template digit for digit', async () => {
    const { engine, fed, sink } = await open()
    await engine.execute(
      'CREATE STREAM ids (id BIGINT, d STRUCT(n BIGINT)) WITH (TYPE="fed", DATASOURCE="d", FORMAT="json")',
    )
    const dataTemplate = '{{.id}} {{.n}}'
    await engine.createRule(
      document({
        sql: 'SELECT id, d->n AS n FROM ids',
        actions: [{ watched: { sendSingle: true, dataTemplate } }, { watched: { sendSingle: true } }],
      }),
    )
    await settle()
    await fed.json(['{"id":1795292668348461056,"d":{"n":1795292668348461057}}'])
    await settle()
    expect([...sink.sent].sort()).toEqual([
      '1795292668348461056 1795292668348461057',
      '{"id":1795292668348461056,"n":1795292668348461057}',
    ])
  })
})

describe('two rules on one topic of one broker', () => {
  it('both get everything, in either start order, and after either was stopped and started', async () => {
    const broker = await startAedes()
    cleanups.push(() => broker.close())
    const { engine } = await open()
    await engine.execute(
      `CREATE STREAM m () WITH (TYPE="mqtt", DATASOURCE="t", FORMAT="json", EXTRA="{\\"server\\":\\"${broker.url}\\"}")`,
    )
    const client = await connectAsync(broker.url)
    cleanups.push(() => client.end(true))
    const emitted = (id: string): number => engine.ruleLedger(id).rule.emitted
    const connected = (): Promise<void> =>
      eventually(
        () =>
          ['a', 'b'].every((id) =>
            engine.ruleStatus(id).counters.some(([name, v]) => name === 'source_m_0_connection_status' && v === 1),
          ),
        'connected',
      )
    for (const id of ['a', 'b'])
      await engine.createRule(document({ id, sql: 'SELECT n FROM m', actions: [{ nop: {} }] }))
    for (const again of [null, 'a', 'b']) {
      if (again) {
        await engine.stopRule(again)
        await engine.startRule(again)
      }
      await connected()
      const before = { a: emitted('a'), b: emitted('b') }
      await eventually(async () => {
        await client.publishAsync('t', '{"n":1}', { qos: 1 })
        return emitted('a') >= before.a + 3 && emitted('b') >= before.b + 3
      }, `both got theirs, after ${again}`)
    }
  })
})

describe('loss', () => {
  it('a sink that was never reachable does not stop its rule; what waits arrives later', async () => {
    const { engine, fed } = await open()
    const port = await freePort()
    const rest = {
      url: `http://127.0.0.1:${port}/`,
      method: 'post',
      sendSingle: true,
      resendInterval: 20,
      enableCache: true,
    }
    await engine.createRule(document({ actions: [{ rest }] }))
    await settle()
    await fed.json([{ n: 1 }, { n: 2 }])
    await settle()
    expect(engine.ruleStatus('r').status).toBe('running')
    const { createServer } = await import('node:http')
    const bodies: string[] = []
    const server = createServer((request, response) => {
      request.on('data', (chunk) => bodies.push(String(chunk)))
      request.on('end', () => response.end())
    })
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
    cleanups.push(() => {
      server.closeAllConnections()
      server.close()
    })
    await eventually(() => bodies.length === 2, 'both arrived')
    expect(bodies).toEqual(['{"n":1}', '{"n":2}'])
  })

  it('unparsable messages release their place: acknowledged, counted, the stream goes on', async () => {
    const { engine, fed } = await open()
    await engine.createRule(document())
    await settle()
    let given = 0
    for (let i = 0; i < 2000; i++) await fed.json(['garbage'], { settled: (error) => void (error ?? given++) })
    expect(given).toBe(2000)
    await settle()
    expect(engine.ruleLedger('r').rule).toMatchObject({ received: 2000, dropped: { decode_error: 2000 } })
  })

  it('one blocked sink does not starve the rules beside it under dropOldest on a shared stream', async () => {
    const { engine, fed, sink } = await open()
    await engine.execute(
      'CREATE STREAM s () WITH (TYPE="fed", DATASOURCE="d", FORMAT="json", SHARED="true", BUFFER_FULL_POLICY="dropOldest")',
    )
    sink.hold(true)
    await engine.createRule(
      document({
        sql: 'SELECT n FROM s',
        options: { bufferLength: 10 },
        actions: [{ watched: { bufferLength: 10, sendSingle: true } }],
      }),
    )
    await engine.createRule(document({ id: 'beside', sql: 'SELECT n FROM s', actions: [{ nop: {} }] }))
    await settle()
    for (let i = 0; i < 100; i++) await fed.json([{ n: i }])
    await settle()
    expect(engine.ruleLedger('beside').rule.emitted).toBe(100)
    const { rule } = engine.ruleLedger('r')
    expect(imbalance(rule)).toBe(0)
    expect(rule.dropped['buffer_full']).toBeGreaterThan(50)
    sink.hold(false)
  })

  it('the decision of a peer is told apart: refused for good is dropped, away is tried again', async () => {
    const { engine, fed, sink } = await open()
    await engine.createRule(document({ actions: [{ watched: { sendSingle: true, resendInterval: 5 } }] }))
    await settle()
    sink.failNext(1, () => new IxionError('REFUSED', 'no'))
    await fed.json([{ n: 1 }])
    await settle(20)
    sink.failNext(2, () => new IxionError('CONNECTION', 'away'))
    await fed.json([{ n: 2 }])
    await eventually(() => sink.sent.length === 1, 'sent again')
    expect(engine.ruleLedger('r').sinks['watched_0']).toMatchObject({ emitted: 1, dropped: { sink_error: 1 } })
  })
})
