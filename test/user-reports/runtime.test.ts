/** Reported situations about the life of rules, loss, and what can be seen of both, in one process. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, describe, expect, it } from 'vitest'
import type { ConnectorDefinition } from '../../src/connectors/contract.ts'
import { manualClock } from '../../src/core/clock.ts'
import { IxionError } from '../../src/core/errors.ts'
import { createEngine, type Engine, type EngineOptions, imbalance } from '../../src/engine/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { eventually, freePort } from '../support/connectors.ts'
import { manualSink, manualSource, settle, withConnectors } from '../support/engine-harness.ts'
import { startRestServer } from '../support/rest-server.ts'

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
  it('stopped before a restart of the process stays stopped after it (report 95)', async () => {
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

  it('whose creation fails is not there, and its name is free (report 96)', async () => {
    const { engine } = await open()
    await expect(engine.createRule(document({ sql: 'SELECT n FROM nowhere' }))).rejects.toThrow()
    expect(() => engine.ruleText('r')).toThrow('not found')
    await engine.createRule(document())
  })

  it('whose update fails goes on as it was (report 97)', async () => {
    const { engine, fed, sink } = await open()
    await engine.createRule(document())
    await expect(engine.updateRule('r', JSON.stringify(document({ sql: 'SELECT FROM' })))).rejects.toThrow()
    await settle()
    await fed.json([{ n: 1 }])
    await settle()
    expect(sink.sent).toEqual(['{"n":1}'])
  })

  it('after an update no row shows the old projection (report 98)', async () => {
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

  it('may have a numeric id with qos 1 (report 74)', async () => {
    const { engine, fed } = await open({ store: keptStore() })
    await engine.createRule(document({ id: '0000002', options: { qos: 1, checkpointInterval: 100 } }))
    await settle()
    await fed.json([{ n: 1 }])
    await settle()
    await engine.stopRule('0000002')
    await engine.startRule('0000002')
    expect(engine.ruleStatus('0000002').status).toBe('running')
  })

  it('one bad message does not stop it (report 93)', async () => {
    const { engine, fed, sink } = await open()
    await engine.createRule(document({ sql: 'SELECT abs(n) AS n FROM demo' }))
    await settle()
    await fed.json(['{"n":', { n: 'text' }, { n: [1] }, { n: -3 }])
    await settle()
    expect(sink.sent).toEqual(['{"n":3}'])
    expect(engine.ruleStatus('r').status).toBe('running')
  })

  it('is answered about before stored rules are planned (report 91)', async () => {
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

  it('whose index is out of range fails the row, not the rule (report 23)', async () => {
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

  it('takes integers of 19 digits through schema, struct and data template digit for digit (report 35, TC-33)', async () => {
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

describe('loss', () => {
  it('a sink that was never reachable does not stop its rule; what waits arrives later (report 59)', async () => {
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

  it('unparsable messages release their place: acknowledged, counted, the stream goes on (report 123)', async () => {
    const { engine, fed } = await open()
    await engine.createRule(document())
    await settle()
    let given = 0
    for (let i = 0; i < 2000; i++) await fed.json(['garbage'], { settled: (error) => void (error ?? given++) })
    expect(given).toBe(2000)
    await settle()
    expect(engine.ruleLedger('r').rule).toMatchObject({ received: 2000, dropped: { decode_error: 2000 } })
  })

  it('one blocked sink does not starve the rules beside it under dropOldest on a shared stream (reports 56 and 122)', async () => {
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

  it('the decision of a peer is told apart: refused for good is dropped, away is tried again (reports 60, 61 and 132)', async () => {
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

  it('a policy to drop and a rule that must not drop are refused together (report 56)', async () => {
    const { engine } = await open()
    await engine.execute(
      'CREATE STREAM lossy () WITH (TYPE="fed", DATASOURCE="d", FORMAT="json", BUFFER_FULL_POLICY="dropOldest")',
    )
    const careful = { sql: 'SELECT n FROM lossy', options: { disableBufferFullDiscard: true } }
    await expect(engine.createRule(document(careful))).rejects.toThrow(
      'disableBufferFullDiscard contradicts BUFFER_FULL_POLICY="dropOldest" of stream lossy',
    )
    await engine.createRule(document({ ...careful, sql: 'SELECT n FROM demo' }))
  })

  it('payloads that cannot be decoded reach the sink as errors with sendError (report 82)', async () => {
    const { engine, fed, sink } = await open()
    await engine.createRule(document({ options: { sendError: true } }))
    await settle()
    await fed.json(['{"n":', { n: 1 }])
    await settle()
    expect(sink.sent).toHaveLength(2)
    expect(sink.sent[0]).toMatch(/line 1/)
    expect(sink.sent[1]).toBe('{"n":1}')
  })

  it('a changed rule tries the new peer, not the one that failed before (report 133)', async () => {
    const other = manualSink('other')
    const { engine, fed, sink } = await open({}, other.connector)
    sink.failNext(1e9, () => new IxionError('CONNECTION', 'away'))
    const retry = { sendSingle: true, resendInterval: 5 }
    await engine.createRule(document({ actions: [{ watched: retry }] }))
    await settle()
    await fed.json([{ n: 1 }])
    await settle()
    await engine.updateRule('r', JSON.stringify(document({ actions: [{ other: retry }] })))
    sink.failNext(0, () => new Error())
    await settle()
    await fed.json([{ n: 2 }])
    await eventually(() => other.sent.length === 1, 'sent to the new peer')
    expect([sink.sent, other.sent]).toEqual([[], ['{"n":2}']])
  })
})

describe('what can be seen of a rule', () => {
  it('when it is made is in the log, where it is probably not meant so (report 5)', async () => {
    const warned: unknown[] = []
    const warn = (message: string, fields?: object) => void warned.push([message, fields])
    const { engine } = await open({ log: { debug() {}, info() {}, warn, error() {} } })
    await engine.execute('CREATE STREAM timed () WITH (TYPE="fed", DATASOURCE="d", TIMESTAMP="ts")')
    const timed = document({ sql: 'SELECT n FROM timed', triggered: false })
    await engine.createRule(timed)
    await engine.updateRule('r', JSON.stringify({ ...timed, options: { isEventTime: true } }))
    expect(warned).toEqual([
      [
        'stream timed declares TIMESTAMP ts, but the rule runs on processing time',
        { rule: 'r', line: 1, column: 15, hint: expect.stringContaining('isEventTime') },
      ],
    ])
  })

  const counters = (engine: Engine, id = 'r') => Object.fromEntries(engine.ruleStatus(id).counters)

  it('tells running from connected: its source keeps trying while the rule runs (report 94)', async () => {
    const away: ConnectorDefinition = {
      name: 'away',
      source: {
        ...{ name: 'away', docs: 'Never there.', emits: 'rows', pausable: true, bounded: false, options: {} },
        create: () => ({
          connect: () => Promise.reject(new IxionError('CONNECTION', 'nobody listens')),
          read: () => Promise.resolve('ended'),
          close: async () => {},
        }),
      },
    }
    const { engine } = await open({}, away)
    await engine.execute('CREATE STREAM far () WITH (TYPE="away", DATASOURCE="d")')
    await engine.createRule(document({ sql: 'SELECT n FROM far' }))
    await settle()
    expect(engine.ruleStatus('r').status).toBe('running')
    expect(counters(engine)).toMatchObject({
      source_far_0_connection_status: -1,
      source_far_0_connection_last_disconnected_message: expect.stringContaining('nobody listens'),
    })
  })

  it('has the error it stopped by, with its cause (reports 70 and 92)', async () => {
    const { engine, fed } = await open()
    await engine.createRule(
      document({
        sql: 'SELECT n, count(*) AS c FROM demo GROUP BY n, TUMBLINGWINDOW(hh, 1)',
        options: { groupLimit: 2, limitPolicy: 'fail' },
      }),
    )
    await settle()
    await fed.json([{ n: 1 }, { n: 2 }, { n: 3 }])
    await settle()
    expect(engine.ruleStatus('r')).toMatchObject({
      status: 'stopped by error',
      message: expect.stringContaining('the window has more than 2 groups'),
    })
  })

  it.each([
    ['columnar', 'SELECT abs(n) AS m FROM demo WHERE n != 0'],
    ['general', 'SELECT *, abs(n) AS m FROM demo WHERE n != 0'],
  ])(
    'moves a counter for each thing that happens to an event, on the %s lane (reports 104 and 131)',
    async (_, sql) => {
      const { engine, fed, sink } = await open()
      await engine.createRule(document({ sql }))
      await settle()
      await fed.json(['{"n":', { n: 'text' }, { n: 0 }, { n: -3 }, { n: 4 }])
      sink.failNext(1, () => new IxionError('REFUSED', 'no'))
      await fed.json([{ n: 5 }])
      await settle()
      expect(counters(engine)).toMatchObject({
        source_demo_0_records_in_total: 6,
        op_2_decoder_0_exceptions_total: 1,
        op_3_filter_0_exceptions_total: 1,
        op_3_filter_0_records_out_total: 3,
        op_4_project_0_records_out_total: 3,
        sink_watched_0_0_records_out_total: 2,
        sink_watched_0_0_exceptions_total: 1,
        op_3_filter_0_last_exception: expect.stringContaining('run Where error'),
      })
      const { rule, sinks } = engine.ruleLedger('r')
      expect(rule).toEqual({
        received: 6,
        emitted: 3,
        filtered: 1,
        dropped: { decode_error: 1, error: 1 },
        inFlight: 0,
      })
      expect(sinks['watched_0']).toMatchObject({ emitted: 2, dropped: { sink_error: 1 } })
    },
  )

  it('shows when its source heard something last (report 117)', async () => {
    const clock = manualClock({ start: 1_700_000_000_000 })
    const { engine, fed } = await open({ clock })
    await engine.createRule(document())
    await settle()
    await fed.json([{ n: 1 }])
    await clock.advance(60_000)
    expect(counters(engine)['source_demo_0_last_invocation']).toBe(1_700_000_000_000)
    await fed.json([{ n: 2 }])
    expect(counters(engine)['source_demo_0_last_invocation']).toBe(1_700_000_060_000)
  })
})

describe('what is kept', () => {
  it('of a definition that can no longer be read is reported, and its name can be used again (report 110)', async () => {
    const store = keptStore()
    await store.table('rules').set('old', '{"from": "another version"')
    await store.table('streams').set('past', 'CREATE STREAM past OF ANOTHER VERSION')
    const logged: string[] = []
    const log = (message: string) => void logged.push(message)
    const { engine } = await open({ store, log: { debug() {}, info() {}, warn: log, error: log } })
    expect(logged).toEqual(['a stored stream no longer parses', 'a stored rule cannot be read'])
    await engine.deleteRule('old')
    await engine.createRule(document({ id: 'old' }))
    await engine.execute('CREATE STREAM past () WITH (TYPE="fed", DATASOURCE="d")')
    await engine.execute('DROP STREAM past')
  })

  it('by ten thousand updates of a rule is nothing: sources, timers and handles stay, the heap does not grow (report 87, TC-42)', async () => {
    const clock = manualClock({ start: 1_700_000_000_000 })
    const { engine, fed } = await open({ clock })
    const update = (v: number): Promise<void> =>
      engine.updateRule(
        'r',
        JSON.stringify(
          document({ sql: `SELECT count(*) AS c, ${v} AS v FROM demo GROUP BY TUMBLINGWINDOW(ss, 10), n` }),
        ),
      )
    const taken = async () => {
      await settle()
      const heap = await heapUsed()
      return { open: fed.open, timers: clock.pendingTimers, handles: process.getActiveResourcesInfo().length, heap }
    }
    for (let v = 0; v < 3000; v++) await update(v)
    const before = await taken()
    for (let v = 0; v < 7000; v++) await update(v)
    const { heap, ...after } = await taken()
    expect(after).toEqual({ open: 1, timers: before.timers, handles: before.handles })
    // One kilobyte an update would be seven megabytes.
    expect(heap - before.heap).toBeLessThan(4 << 20)
  }, 120_000)

  it('by thousands of requests for the state of rules is nothing (report 88)', async () => {
    const server = await startRestServer()
    cleanups.push(() => server.close())
    await server.engine.execute('CREATE STREAM demo () WITH (TYPE="memory", DATASOURCE="d", FORMAT="json")')
    await server.engine.createRule(document({ actions: [{ nop: {} }] }))
    const paths = [
      '/rules',
      '/rules/r',
      '/rules/r/status',
      '/rules/r/ledger',
      '/streams/demo',
      '/metrics',
      '/rules/none',
    ]
    const ask = async (count: number): Promise<number> => {
      for (let i = 0; i < count; i++) await server.request('GET', paths[i % paths.length] as string)
      return heapUsed()
    }
    const before = await ask(1000)
    expect((await ask(3000)) - before).toBeLessThan(2 << 20)
  })

  it('by group keys that never come again is nothing once their window has gone (report 129)', async () => {
    const clock = manualClock({ start: 1_700_000_000_000 })
    const { engine, fed } = await open({ clock })
    await engine.createRule(
      document({ sql: 'SELECT k, count(*) AS c FROM demo GROUP BY k, TUMBLINGWINDOW(ss, 1)', actions: [{ nop: {} }] }),
    )
    await settle()
    let key = 0
    const windows = async (count: number): Promise<number> => {
      for (let w = 0; w < count; w++) {
        await fed.json(Array.from({ length: 500 }, () => ({ k: `device-${key++}-with-a-name-of-some-length` })))
        await clock.advance(1000)
      }
      return heapUsed()
    }
    const before = await windows(20)
    const after = await windows(200)
    expect(engine.ruleLedger('r').rule).toMatchObject({ received: 110_000, emitted: 110_000, inFlight: 0 })
    // The keys alone would be more than three megabytes.
    expect(after - before).toBeLessThan(2 << 20)
  })
})

/** After everything that can be collected was. */
async function heapUsed(): Promise<number> {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  await settle()
  collect()
  collect()
  return process.memoryUsage().heapUsed
}
