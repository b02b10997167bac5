import { afterEach, describe, expect, it } from 'vitest'
import { createEngine, type Engine, imbalance, manualClock } from '../../src/engine/index.ts'
import { manualSink, manualSource, settle, withConnectors } from '../support/engine-harness.ts'

const engines: Engine[] = []
afterEach(async () => {
  for (const engine of engines.splice(0)) await engine.close()
})

const SQL =
  'SELECT id, count(*) AS n, avg(temp) AS mean, max(temp) AS top, window_end() AS until FROM demo WHERE temp > -100 GROUP BY id, tumblingwindow(ss, 10)'

async function run(emits: 'bytes' | 'rows', shared: boolean) {
  const clock = manualClock({ start: 1_700_000_000_000 })
  const source = manualSource('fed', { emits, now: () => clock.now() })
  const sink = manualSink('watched')
  const engine = await createEngine({ clock, connectors: withConnectors(source.connector, sink.connector) })
  engines.push(engine)
  await engine.execute(
    `CREATE STREAM demo () WITH (TYPE="fed", DATASOURCE="d", FORMAT="json"${shared ? ', SHARED="true"' : ''})`,
  )
  await engine.createRule({ id: 'r', sql: SQL, actions: [{ watched: {} }] })
  await settle()
  return { clock, source, sink, engine }
}

const event = (i: number) => ({ id: `dev_${i % 7}`, temp: ((i * 37) % 400) / 10 - 5, other: 'x' })

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
