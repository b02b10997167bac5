import { afterEach, describe, expect, it } from 'vitest'
import type { SinkDefinition } from '../../src/connectors/contract.ts'
import {
  builtinConnectors,
  createEngine,
  type Engine,
  imbalance,
  manualClock,
  type ValueObject,
} from '../../src/engine/index.ts'

let engine: Engine
async function open(): Promise<void> {
  engine = await createEngine({ clock: manualClock({ start: 1_700_000_000_000 }) })
  await engine.execute('CREATE STREAM demo () WITH (TYPE="mqtt", DATASOURCE="in", FORMAT="json", SHARED="true")')
}
afterEach(() => engine.close())

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const flush = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** A stored rule; its results arrive at the memory topic of its name. */
async function rule(id: string, sql: string, options: ValueObject = {}): Promise<ValueObject[]> {
  const seen: ValueObject[] = []
  engine.subscribe(id, (_topic, rows) => void seen.push(...rows))
  await engine.createRule({ id, sql, actions: [{ memory: { topic: id } }], options })
  return seen
}
const counters = (id: string): Record<string, number | string> =>
  Object.fromEntries(engine.ruleStatus(id).counters.filter(([key]) => /records_(in|out)_total$/.test(key)))

describe('rules on a shared stream', () => {
  it('each get their own results and exact counts, on the columnar lane and off it', async () => {
    await open()
    const log = { r1: { nop: {} }, r2: { nop: {} } }
    await engine.createRule({ id: 'r1', sql: 'SELECT a FROM demo WHERE a > 1', actions: [log.r1] })
    await engine.createRule({ id: 'r2', sql: 'SELECT b, a + 1 AS c FROM demo', actions: [log.r2] })
    const all = await rule('r3', 'SELECT * FROM demo WHERE a > 1')
    const payloads = ['{"a":1,"b":"x"}', '{"a":2,"b":"y"}', '{"a":', '[{"a":3},{"a":"z","b":"w"}]'].map(bytes)
    expect(await engine.feed('demo', payloads)).toBe(3)
    await flush()
    expect(all).toEqual([{ a: 2, b: 'y' }, { a: 3 }])
    for (const id of ['r1', 'r2', 'r3']) {
      const ledger = engine.ruleLedger(id).rule
      expect([id, imbalance(ledger), ledger.received]).toEqual([id, 0, 5])
      expect(ledger.dropped).toEqual({ decode_error: 1, error: 1 })
    }
    expect(engine.ruleLedger('r1').rule).toMatchObject({ emitted: 2, filtered: 1 })
    expect(engine.ruleLedger('r2').rule).toMatchObject({ emitted: 3, filtered: 0 })
    expect(counters('r1')).toMatchObject({
      op_demo_2_decoder_0_records_in_total: 5,
      op_demo_2_decoder_0_records_out_total: 4,
      op_3_filter_0_records_in_total: 4,
      op_4_project_0_records_out_total: 2,
      sink_nop_0_0_records_out_total: 2,
    })
  })

  it('come and go while the stream runs', async () => {
    await open()
    for (const id of ['r1', 'r2', 'r3']) {
      await engine.createRule({ id, sql: `SELECT ${id === 'r2' ? 'b' : 'a'} FROM demo`, actions: [{ nop: {} }] })
    }
    const one = [bytes('{"a":1,"b":2}')]
    await engine.feed('demo', one)
    await engine.stopRule('r1')
    await engine.feed('demo', one)
    await engine.stopRule('r2')
    await engine.feed('demo', one)
    await engine.startRule('r1')
    await engine.feed('demo', one)
    const received = (id: string): number => engine.ruleLedger(id).rule.received
    expect(['r1', 'r2', 'r3'].map(received)).toEqual([1, 2, 4])
  })

  it.each(['true', 'false'])(
    'with all columns, also when they are more than a scan has (SHARED=%s)',
    async (shared) => {
      const seen: Record<string, string> = {}
      const lines: SinkDefinition = {
        name: 'lines',
        docs: 'collects messages by rule',
        takes: 'bytes',
        options: {},
        create: (_properties, { owner }) => ({
          async connect() {},
          async send({ payload }) {
            seen[owner] = (seen[owner] ?? '') + new TextDecoder().decode(payload as Uint8Array)
          },
          async close() {},
        }),
      }
      const clock = manualClock({ start: 1_700_000_000_000 })
      engine = await createEngine({ clock, connectors: [...builtinConnectors, { name: 'lines', sink: lines }] })
      await engine.execute(
        `CREATE STREAM demo () WITH (TYPE="mqtt", DATASOURCE="in", FORMAT="json", SHARED="${shared}")`,
      )
      const statements = { r1: 'SELECT * FROM demo', r2: 'SELECT * FROM demo WHERE a < 100', r3: 'SELECT a FROM demo' }
      for (const [id, sql] of Object.entries(statements)) {
        await engine.createRule({ id, sql, actions: [{ lines: { sendSingle: true } }], options: {} })
      }
      const all: string[] = []
      for (let k = 0; k < 5; k++) {
        const chunk = Array.from({ length: 40 }, (_, i) => `{"a":${40 * k + i},"b${40 * k + i}":"x","o":{"y":[${i}]}}`)
        all.push(...chunk)
        await engine.feed('demo', chunk.map(bytes))
        await flush()
      }
      const texts = Object.keys(statements).map((id) => Object.entries(seen).find(([owner]) => owner.includes(id))?.[1])
      expect(texts).toEqual(
        [all, all.slice(0, 100), all.map((text) => text.replace(/,.*/, '}'))].map((t) => t.join('')),
      )
      for (const [id, emitted] of [
        ['r1', 200],
        ['r2', 100],
        ['r3', 200],
      ] as const) {
        const { rule } = engine.ruleLedger(id)
        expect(rule).toMatchObject({ received: 200, emitted, filtered: 200 - emitted, dropped: {}, inFlight: 0 })
      }
    },
  )

  it('on the columnar lane fail for their own columns only, on the general lane for those of all rules', async () => {
    engine = await createEngine({ clock: manualClock({ start: 1_700_000_000_000 }) })
    await engine.execute(
      'CREATE STREAM demo (a BIGINT, b BIGINT) WITH (TYPE="mqtt", DATASOURCE="in", FORMAT="json", SHARED="true")',
    )
    const statements = { r1: 'SELECT a', r2: 'SELECT b', r3: 'SELECT concat("x", a) AS c' }
    for (const [id, select] of Object.entries(statements))
      await engine.createRule({ id, sql: `${select} FROM demo`, actions: [{ nop: {} }], options: {} })
    // A payload stands or falls as a whole, and one that falls is one event.
    await engine.feed('demo', ['{"a":1,"b":"x"}', '[{"a":2,"b":2},{"a":3,"b":"x"}]', '{"a":4,"b":4}'].map(bytes))
    await flush()
    const readings = Object.keys(statements).map((id) => {
      const { received, emitted, dropped, inFlight } = engine.ruleLedger(id).rule
      return { received, emitted, dropped, inFlight }
    })
    const failed = { received: 3, emitted: 1, dropped: { decode_error: 2 }, inFlight: 0 }
    expect(readings).toEqual([{ received: 4, emitted: 4, dropped: {}, inFlight: 0 }, failed, failed])
  })

  it('aggregate windows beside stateless rules', async () => {
    await open()
    const clock = engine.clock as ReturnType<typeof manualClock>
    const counts = await rule('w', 'SELECT b, count(*) AS n FROM demo GROUP BY b, TUMBLINGWINDOW(ss, 1)')
    await engine.createRule({ id: 'r1', sql: 'SELECT a FROM demo', actions: [{ nop: {} }] })
    await engine.feed('demo', ['{"a":1,"b":"x"}', '{"a":2,"b":"x"}', '{"a":3,"b":"y"}'].map(bytes))
    await clock.advance(1000)
    expect(counts).toEqual([
      { b: 'x', n: 2n },
      { b: 'y', n: 1n },
    ])
    for (const id of ['w', 'r1']) expect(imbalance(engine.ruleLedger(id).rule)).toBe(0)
  })
})
