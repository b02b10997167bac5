import { afterEach, describe, expect, it } from 'vitest'
import { createEngine, type Engine, imbalance, manualClock, type ValueObject } from '../../src/engine/index.ts'

const engines: Engine[] = []
async function open(options: Parameters<typeof createEngine>[0] = {}): Promise<Engine> {
  const engine = await createEngine({ clock: manualClock({ start: 1_700_000_000_000 }), ...options })
  engines.push(engine)
  return engine
}
afterEach(async () => {
  for (const engine of engines.splice(0)) await engine.close()
})

const flush = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe('a stateless rule', () => {
  it('filters, computes, and accounts for every event', async () => {
    const engine = await open()
    await engine.execute('CREATE STREAM demo () WITH (TYPE="memory", DATASOURCE="in", FORMAT="json")')
    const results: ValueObject[][] = []
    const query = await engine.query({
      sql: 'SELECT id, temp * 1.8 + 32 AS temp_f FROM demo WHERE temp > 20',
      onResult: (rows) => void results.push([...rows]),
    })
    await engine.feedRows('demo', [
      { id: 'a', temp: 10 },
      { id: 'b', temp: 25 },
      { id: 'c', temp: 'hot' },
      { id: 'd', temp: 30 },
    ])
    await flush()
    expect(results).toEqual([[{ id: 'b', temp_f: 77 }], [{ id: 'd', temp_f: 86 }]])
    expect(query.ledger()).toEqual({ received: 4, emitted: 2, filtered: 1, dropped: { error: 1 }, inFlight: 0 })
  })

  it('runs a stored rule with memory sink and shared stream, and reports status and topo', async () => {
    const engine = await open()
    await engine.execute('CREATE STREAM demo () WITH (TYPE="memory", DATASOURCE="in", FORMAT="json", SHARED="true")')
    for (const id of ['r1', 'r2']) {
      await engine.createRule({
        id,
        sql: `SELECT temp, "${id}" AS rule FROM demo WHERE temp > 20`,
        actions: [{ memory: { topic: 'out' } }],
      })
    }
    await engine.execute('CREATE STREAM result () WITH (TYPE="memory", DATASOURCE="out", FORMAT="json")')
    const seen: ValueObject[] = []
    await engine.query({ sql: 'SELECT * FROM result', onResult: (rows) => void seen.push(...rows) })
    await engine.feedRows('demo', [{ temp: 21 }, { temp: 3 }])
    await flush()
    expect(seen).toEqual([
      { temp: 21, rule: 'r1' },
      { temp: 21, rule: 'r2' },
    ])
    const status = engine.ruleStatus('r1')
    expect(status.status).toBe('running')
    expect(Object.fromEntries(status.counters)).toMatchObject({
      source_demo_0_records_in_total: 2,
      op_2_filter_0_records_in_total: 2,
      op_2_filter_0_records_out_total: 1,
      op_3_project_0_records_out_total: 1,
      sink_memory_0_0_records_out_total: 1,
    })
    expect(engine.ruleTopo('r1')).toEqual({
      sources: ['source_demo'],
      edges: {
        source_demo: ['op_2_filter'],
        op_2_filter: ['op_3_project'],
        op_3_project: ['op_memory_0_0_transform'],
        op_memory_0_0_transform: ['sink_memory_0'],
      },
    })
    const ledger = engine.ruleLedger('r1')
    expect(imbalance(ledger.rule)).toBe(0)
    expect(ledger.rule).toMatchObject({ received: 2, emitted: 1, filtered: 1 })
  })

  it('refuses an unknown sink property by name', async () => {
    const engine = await open()
    await engine.execute('CREATE STREAM demo () WITH (TYPE="memory", DATASOURCE="in")')
    await expect(
      engine.createRule({ id: 'r', sql: 'SELECT * FROM demo', actions: [{ memory: { topic: 'a', tpoic: 1 } }] }),
    ).rejects.toThrow(/'tpoic' is not a property/)
    expect(engine.listRules()).toEqual([])
  })
})
