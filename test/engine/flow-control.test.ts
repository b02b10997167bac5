import { afterEach, describe, expect, it } from 'vitest'
import { IxionError } from '../../src/core/errors.ts'
import { createEngine, type Engine, imbalance, manualClock } from '../../src/engine/index.ts'
import {
  type ManualSink,
  type ManualSource,
  manualSink,
  manualSource,
  settle,
  withConnectors,
} from '../support/engine-harness.ts'

const engines: Engine[] = []
afterEach(async () => {
  for (const engine of engines.splice(0)) await engine.close()
})

interface Bench {
  readonly engine: Engine
  readonly clock: ReturnType<typeof manualClock>
  readonly source: ManualSource
  readonly sink: ManualSink
}

async function bench(
  options: { pausable?: boolean; emits?: 'bytes' | 'rows'; takes?: 'bytes' | 'rows'; with?: string } = {},
): Promise<Bench> {
  const clock = manualClock({ start: 1_700_000_000_000 })
  const source = manualSource('fed', { now: () => clock.now(), ...options })
  const sink = manualSink('watched', options.takes)
  const engine = await createEngine({
    clock,
    connectors: withConnectors(source.connector, sink.connector),
    drainLimit: 1000,
  })
  engines.push(engine)
  await engine.execute(`CREATE STREAM demo () WITH (TYPE="fed", DATASOURCE="d", FORMAT="json"${options.with ?? ''})`)
  return { engine, clock, source, sink }
}

const rule = (more: object = {}, sink: object = {}) => ({
  id: 'r',
  sql: 'SELECT n FROM demo WHERE n >= 0',
  actions: [{ watched: { sendSingle: true, bufferLength: 10, ...sink } }],
  options: { bufferLength: 20 },
  ...more,
})

const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => ({ n: from + i }))

/** Exact at every moment: nothing is counted twice, nothing is missing. */
function exact(engine: Engine): void {
  const { rule: reading, sinks } = engine.ruleLedger('r')
  expect(imbalance(reading)).toBe(0)
  for (const s of Object.values(sinks)) expect(imbalance(s)).toBe(0)
}

describe('a stalled sink', () => {
  it('pauses a source that can be paused; nothing is lost', async () => {
    const { engine, source, sink } = await bench()
    await engine.createRule(rule())
    sink.hold(true)
    await source.rows(numbers(0, 15))
    await settle()
    exact(engine)
    let accepted = false
    const second = source.rows(numbers(15, 30)).then(() => {
      accepted = true
    })
    await settle()
    expect(accepted).toBe(false)
    expect(engine.ruleLedger('r').rule).toMatchObject({ received: 30, inFlight: 15 })
    exact(engine)
    sink.hold(false)
    await second
    await settle()
    expect(sink.sent.map((t) => JSON.parse(t).n)).toEqual(numbers(0, 30).map((r) => r.n))
    expect(engine.ruleLedger('r').rule).toEqual({ received: 30, emitted: 30, filtered: 0, dropped: {}, inFlight: 0 })
    exact(engine)
  })

  it('makes a source that cannot be paused drop its oldest rows, each counted', async () => {
    const { engine, source, sink } = await bench({ pausable: false })
    await engine.createRule(rule())
    sink.hold(true)
    for (let i = 0; i < 100; i++) await source.rows(numbers(i * 10, i * 10 + 10))
    exact(engine)
    const { rule: reading, sinks } = engine.ruleLedger('r')
    expect(reading.received).toBe(1000)
    expect(reading.inFlight).toBeLessThanOrEqual(20)
    expect(reading.dropped['buffer_full']).toBe(1000 - reading.inFlight - reading.emitted)
    expect(sinks['watched_0']?.inFlight).toBeLessThanOrEqual(20)
    sink.hold(false)
    await settle(20)
    expect(JSON.parse(sink.sent.at(-1) as string)).toEqual({ n: 999 })
    exact(engine)
    expect(engine.ruleLedger('r').rule.inFlight).toBe(0)
  })

  it('keeps what waits and drops what comes under BUFFER_FULL_POLICY dropNewest', async () => {
    const { engine, source, sink } = await bench({ with: ', BUFFER_FULL_POLICY="dropNewest"' })
    await engine.createRule(rule())
    sink.hold(true)
    for (let i = 0; i < 10; i++) await source.rows(numbers(i * 10, i * 10 + 10))
    exact(engine)
    sink.hold(false)
    await settle(20)
    const seen = sink.sent.map((t) => JSON.parse(t).n)
    expect(seen).toEqual(numbers(0, seen.length).map((r) => r.n))
    expect(engine.ruleLedger('r').rule.dropped['buffer_full']).toBe(100 - seen.length)
    exact(engine)
  })

  it('does not make a stopping rule hang: what could not be sent is counted as stopped', async () => {
    const { engine, clock, source, sink } = await bench()
    await engine.createRule(rule())
    sink.hold(true)
    await source.rows(numbers(0, 15))
    await settle()
    const stopping = engine.stopRule('r')
    await clock.advance(2000)
    await stopping
    expect(engine.ruleStatus('r').status).toBe('stopped')
    exact(engine)
    const { sinks, rule: reading } = engine.ruleLedger('r')
    expect(reading.inFlight).toBe(0)
    expect(sinks['watched_0']).toMatchObject({ emitted: 0, inFlight: 0, dropped: { stopped: 15 } })
  })
})

describe('acknowledgement', () => {
  it('is given only after every consumer of a shared stream has taken the chunk', async () => {
    const { engine, source, sink } = await bench({ with: ', SHARED="true"' })
    await engine.createRule(rule())
    await engine.createRule({ ...rule(), id: 'quick', actions: [{ nop: {} }] })
    await settle()
    sink.hold(true)
    await source.rows(numbers(0, 15))
    await settle()
    const acknowledged: (Error | null)[] = []
    const second = source.rows(numbers(15, 20), (error) => void acknowledged.push(error))
    await settle()
    expect(acknowledged).toEqual([])
    sink.hold(false)
    await second
    expect(acknowledged).toEqual([null])
    exact(engine)
  })
})

describe('a failing sink', () => {
  it('drops and counts a message that is refused for good', async () => {
    const { engine, source, sink } = await bench()
    await engine.createRule(rule())
    sink.failNext(2, () => new IxionError('ENCODE', 'no'))
    await source.rows(numbers(0, 5))
    await settle()
    expect(sink.sent.map((t) => JSON.parse(t).n)).toEqual([2, 3, 4])
    expect(engine.ruleLedger('r').sinks['watched_0']).toMatchObject({ emitted: 3, dropped: { sink_error: 2 } })
    exact(engine)
  })

  it('repeats the same message in order while the peer is away, with resendInterval', async () => {
    const { engine, clock, source, sink } = await bench()
    await engine.createRule(rule({}, { resendInterval: 50 }))
    sink.failNext(3, () => new IxionError('CONNECTION', 'away'))
    await source.rows(numbers(0, 3))
    await settle()
    expect(sink.sent).toEqual([])
    await clock.advance(200)
    expect(sink.sent.map((t) => JSON.parse(t).n)).toEqual([0, 1, 2])
    exact(engine)
  })
})

describe('bad payloads', () => {
  it.each([
    ['columnar', 'bytes'],
    ['general', 'rows'],
  ] as const)('are counted with their reason on the %s lane', async (_lane, takes) => {
    const { engine, source, sink } = await bench({ emits: 'bytes', takes })
    await engine.createRule(rule())
    await source.json([
      { n: 1 },
      '{"n": 2',
      'nonsense',
      '{"n":"text"}',
      [{ n: 3 }, { n: -4 }],
      '{"n":12345678901234567890}',
      '"just text"',
    ])
    await settle()
    const { rule: reading } = engine.ruleLedger('r')
    exact(engine)
    expect(reading.dropped).toEqual({ decode_error: 3, error: 1 })
    expect(reading).toMatchObject({ received: 8, emitted: 3, filtered: 1, inFlight: 0 })
    expect(sink.sent.length).toBe(3)
  })
})
