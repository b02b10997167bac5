/** Connectors that misbehave: they throw what and when they like, never answer, never close. One rule suffers, and is told. */
import { afterEach, describe, expect, it } from 'vitest'
import type { Chunk, ConnectorDefinition, Deliver, Sink, Source } from '../../src/connectors/contract.ts'
import { createEngine, type Engine, imbalance } from '../../src/engine/index.ts'
import { manualSink, manualSource, settle, withConnectors } from '../support/engine-harness.ts'

const never = (): Promise<never> => new Promise(() => {})
const DRAIN = 300
/** The drain limit and what closing may take beyond it, with room for a slow machine. */
const STOPPED_WITHIN = 3000

const engines: Engine[] = []
const problems: unknown[] = []
const note = (error: unknown): void => void problems.push(error)
process.on('unhandledRejection', note)
process.on('uncaughtException', note)
afterEach(async () => {
  for (const engine of engines.splice(0)) await engine.close()
  expect(problems.splice(0)).toEqual([])
})

function oddSink(name: string, odd: Partial<Sink>, create?: () => Sink): ConnectorDefinition {
  const sink: Sink = { connect: async () => {}, send: async () => {}, close: async () => {}, ...odd }
  return { name, sink: { name, docs: 'Misbehaves.', takes: 'bytes', options: {}, create: create ?? (() => sink) } }
}

function oddSource(name: string, odd: Partial<Source>, create?: () => Source): ConnectorDefinition {
  const read = (_deliver: Deliver, signal: AbortSignal): Promise<'ended'> =>
    new Promise((resolve) => signal.addEventListener('abort', () => resolve('ended')))
  const source: Source = { connect: async () => {}, read, close: async () => {}, ...odd }
  return {
    name,
    source: {
      ...{ name, docs: 'Misbehaves.', emits: 'bytes', pausable: true, bounded: false, options: {} },
      create: create ?? (() => source),
    },
  }
}

async function open(...connectors: ConnectorDefinition[]) {
  const fed = manualSource('fed', { emits: 'bytes' })
  const good = manualSink('good')
  const warnings: string[] = []
  const engine = await createEngine({
    connectors: withConnectors(fed.connector, good.connector, ...connectors),
    drainLimit: DRAIN,
    log: { debug() {}, info() {}, error() {}, warn: (message) => void warnings.push(message) },
  })
  engines.push(engine)
  await engine.execute('CREATE STREAM demo () WITH (TYPE="fed", DATASOURCE="d", FORMAT="json")')
  return { engine, fed, good, warnings }
}

async function stopsInTime(engine: Engine, id = 'r'): Promise<void> {
  const started = performance.now()
  await engine.stopRule(id)
  expect(performance.now() - started).toBeLessThan(STOPPED_WITHIN)
  expect(engine.ruleStatus(id).status).toBe('stopped')
  exact(engine, id)
  expect(engine.ruleLedger(id).rule.inFlight).toBe(0)
  for (const sink of Object.values(engine.ruleLedger(id).sinks)) expect(sink.inFlight).toBe(0)
}

function exact(engine: Engine, id = 'r'): void {
  const { rule, sinks } = engine.ruleLedger(id)
  expect(imbalance(rule)).toBe(0)
  for (const sink of Object.values(sinks)) expect(imbalance(sink)).toBe(0)
}

const numbers = (count: number) => Array.from({ length: count }, (_, n) => ({ n }))

describe('a sink', () => {
  const thrown: readonly (readonly [string, unknown])[] = [
    ['an Error', new Error('no')],
    ['a text', 'no'],
    ['nothing', undefined],
    ['null', null],
    ['an object without a prototype', Object.create(null)],
  ]
  it.each(thrown)('that throws %s at once loses that message alone, counted', async (_name, value) => {
    const throwing = (): never => {
      throw value
    }
    const { engine, fed } = await open(
      oddSink('one', { send: throwing }),
      oddSink('many', { sendMany: throwing, send: throwing }),
      oddSink('late', { send: () => Promise.reject(value) }),
    )
    await engine.createRule({
      id: 'r',
      sql: 'SELECT n FROM demo',
      actions: [{ one: {} }, { many: {} }, { late: {} }, { good: {} }],
    })
    await fed.json(numbers(10))
    await settle(30)
    const { sinks, rule } = engine.ruleLedger('r')
    exact(engine)
    expect(rule.emitted).toBe(10)
    for (const name of ['one_0', 'many_1', 'late_2'])
      expect(sinks[name]).toMatchObject({ emitted: 0, dropped: { sink_error: 10 } })
    expect(sinks['good_3']).toMatchObject({ emitted: 10 })
    await stopsInTime(engine)
  })

  const stuck: readonly (readonly [string, Partial<Sink>])[] = [
    ['connect', { connect: never }],
    ['send', { send: never }],
    ['sendMany', { sendMany: never }],
    ['flush', { flush: never }],
    ['close', { close: never }],
    ['sendAndClose', { send: never, close: never }],
  ]
  it('that never answers, wherever, lets its rule stop in time, the rest counted', async () => {
    const { engine, fed } = await open(...stuck.map(([name, odd]) => oddSink(name, odd)))
    for (const [id] of stuck) {
      await engine.createRule({ id, sql: 'SELECT n FROM demo', actions: [{ [id]: {} }, { good: {} }] })
    }
    await fed.json(numbers(10))
    await settle(30)
    for (const [id] of stuck) exact(engine, id)
    await Promise.all(stuck.map(([id]) => stopsInTime(engine, id)))
    for (const [id] of stuck) await engine.startRule(id)
    await Promise.all(stuck.map(([id]) => engine.deleteRule(id)))
    expect(engine.listRules()).toEqual([])
  })

  it('that cannot be made is a refusal of the rule', async () => {
    const throwing = (): never => {
      throw new Error('no way')
    }
    const { engine } = await open(oddSink('odd', {}, throwing))
    await expect(engine.createRule({ id: 'r', sql: 'SELECT n FROM demo', actions: [{ odd: {} }] })).rejects.toThrow(
      'no way',
    )
    expect(engine.hasRule('r')).toBe(false)
    await engine.createRule({ id: 'r', sql: 'SELECT n FROM demo', actions: [{ good: {} }] })
  })

  it('that throws at close does not keep the rule', async () => {
    const throwing = (): never => {
      throw new Error('no')
    }
    const { engine, fed } = await open(oddSink('odd', { close: throwing, flush: throwing }))
    await engine.createRule({ id: 'r', sql: 'SELECT n FROM demo', actions: [{ odd: {} }] })
    await fed.json(numbers(3))
    await stopsInTime(engine)
  })
})

describe('the log', () => {
  it('hears of a sink that refuses everything now and then, not for every message', async () => {
    const { engine, fed, warnings } = await open(oddSink('odd', { send: () => Promise.reject(new Error('no')) }))
    await engine.createRule({ id: 'r', sql: 'SELECT n FROM demo', actions: [{ odd: {} }] })
    for (let i = 0; i < 20; i++) await fed.json(numbers(100))
    await settle(100)
    expect(engine.ruleLedger('r').sinks['odd_0']?.dropped).toEqual({ sink_error: 2000 })
    expect(warnings.length).toBeGreaterThan(0)
    expect(warnings.length).toBeLessThan(10)
  })
})

describe('an acknowledgement', () => {
  it('is refused for what a stopping rule could not take, given for what it took', async () => {
    const { engine, fed, good } = await open()
    await engine.createRule({
      ...{ id: 'r', sql: 'SELECT n FROM demo', options: { bufferLength: 5 } },
      actions: [{ good: { bufferLength: 10 } }],
    })
    good.hold(true)
    const outcomes: string[] = []
    for (let i = 0; i < 5; i++) {
      outcomes.push('open')
      const settled = (error: Error | null): void => void outcomes.splice(i, 1, error ? 'refused' : 'given')
      void fed.json(numbers(10), { settled })
    }
    await settle()
    expect(outcomes).toEqual(['given', 'given', 'open', 'open', 'open'])
    await stopsInTime(engine)
    expect(outcomes).toEqual(['given', 'given', 'refused', 'refused', 'refused'])
    expect(engine.ruleLedger('r').rule).toMatchObject({ received: 50, emitted: 20, dropped: { stopped: 30 } })
  })
})

describe('a source', () => {
  const stuck: readonly (readonly [string, Partial<Source>])[] = [
    ['connect', { connect: never }],
    ['read', { read: never }],
    ['close', { close: never }],
    ['everything', { connect: never, read: never, close: never }],
  ]
  it('that never answers, wherever, lets its rule stop in time', async () => {
    const { engine } = await open(...stuck.map(([name, odd]) => oddSource(name, odd)))
    const ids: string[] = []
    for (const [name] of stuck) {
      for (const shared of [true, false]) {
        const id = `${name}${shared}`
        ids.push(id)
        await engine.execute(
          `CREATE STREAM ${id} () WITH (TYPE="${name}", DATASOURCE="d", FORMAT="json", SHARED="${shared}")`,
        )
        await engine.createRule({ id, sql: `SELECT n FROM ${id}`, actions: [{ good: {} }] })
      }
    }
    await settle()
    await Promise.all(ids.map((id) => stopsInTime(engine, id)))
    for (const id of ids) await engine.startRule(id)
    await settle()
    await Promise.all(ids.map((id) => stopsInTime(engine, id)))
  })

  it('that throws anything at any place is tried again, its rule runs', async () => {
    const throwing = (): never => {
      throw undefined
    }
    const { engine } = await open(
      oddSource('a', { connect: throwing }),
      oddSource('b', { read: throwing }),
      oddSource('c', { read: () => Promise.reject(null) }),
      oddSource('d', { close: throwing }),
    )
    for (const type of ['a', 'b', 'c', 'd']) {
      await engine.execute(`CREATE STREAM ${type} () WITH (TYPE="${type}", DATASOURCE="d", FORMAT="json")`)
      await engine.createRule({ id: type, sql: `SELECT n FROM ${type}`, actions: [{ good: {} }] })
      await settle()
      expect(engine.ruleStatus(type).status).toBe('running')
      await stopsInTime(engine, type)
    }
  })

  it('that goes on delivering after its end is not heard any more', async () => {
    let deliver: Deliver = () => {}
    const { engine, good } = await open(
      oddSource('odd', {
        read: (given, signal) => {
          deliver = given
          return new Promise((resolve) => signal.addEventListener('abort', () => resolve('ended')))
        },
      }),
    )
    await engine.execute('CREATE STREAM odd () WITH (TYPE="odd", DATASOURCE="d", FORMAT="json")')
    await engine.createRule({ id: 'r', sql: 'SELECT n FROM odd', actions: [{ good: {} }] })
    await settle()
    const outcomes: (Error | null)[] = []
    const chunk: Chunk = {
      ...{ kind: 'bytes', payloads: [Buffer.from('{"n":1}')], meta: [null], timestamp: 0 },
      settled: (error) => void outcomes.push(error),
    }
    deliver(chunk)
    await settle()
    expect(outcomes).toEqual([null])
    await stopsInTime(engine)
    await deliver(chunk)
    await settle()
    expect(outcomes).toHaveLength(2)
    expect(outcomes[1]).toBeInstanceOf(Error)
    exact(engine)
    expect(good.sent).toEqual(['[{"n":1}]'])
  })

  it('that delivers without waiting for room cannot grow the queue without end', async () => {
    const { engine, fed, good } = await open()
    await engine.createRule({
      ...{ id: 'r', sql: 'SELECT n FROM demo' },
      ...{ actions: [{ good: { bufferLength: 10 } }], options: { bufferLength: 20 } },
    })
    good.hold(true)
    for (let i = 0; i < 50; i++) void fed.json(numbers(10))
    await settle()
    exact(engine)
    good.hold(false)
    await settle(100)
    expect(engine.ruleLedger('r').rule).toMatchObject({ received: 500, emitted: 500, inFlight: 0 })
  })
})
