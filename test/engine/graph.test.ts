import { afterEach, describe, expect, it } from 'vitest'
import { createEngine, type Engine, imbalance, manualClock, type ValueObject } from '../../src/engine/index.ts'

const start = 1_700_000_000_000
let clock: ReturnType<typeof manualClock>
let engine: Engine
async function open(): Promise<void> {
  clock = manualClock({ start })
  engine = await createEngine({ clock })
  await engine.execute('CREATE STREAM demo () WITH (TYPE="memory", DATASOURCE="in")')
}
afterEach(() => engine.close())

const flush = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
const demo = { type: 'source', nodeType: 'memory', props: { sourceType: 'stream', sourceName: 'demo' } }
const operator = (nodeType: string, props: ValueObject): ValueObject => ({ type: 'operator', nodeType, props })
const sink = (topic: string): ValueObject => ({ type: 'sink', nodeType: 'memory', props: { topic } })

/** Creates the rule `g` and collects what arrives at the memory topics of its sinks. */
async function run(
  nodes: ValueObject,
  edges: ValueObject,
  options: ValueObject = {},
): Promise<Record<string, ValueObject[]>> {
  const sources = Object.keys(nodes).filter((name) => (nodes[name] as ValueObject)['type'] === 'source')
  const seen: Record<string, ValueObject[]> = {}
  for (const node of Object.values(nodes) as ValueObject[]) {
    if (node['type'] !== 'sink') continue
    const topic = (node['props'] as { topic: string }).topic
    const rows: ValueObject[] = []
    seen[topic] = rows
    await engine.execute(`CREATE STREAM from_${topic} () WITH (TYPE="memory", DATASOURCE="${topic}")`)
    await engine.query({ sql: `SELECT * FROM from_${topic}`, onResult: (r) => void rows.push(...r) })
  }
  await engine.createRule({ id: 'g', graph: { nodes, topo: { sources, edges } }, options })
  return seen
}

describe('a graph rule', () => {
  it('filters, computes columns and picks', async () => {
    await open()
    const seen = await run(
      {
        demo,
        hot: operator('filter', { expr: 'temp > 20' }),
        f: operator('function', { expr: 'abs(temp) AS size' }),
        pick: operator('pick', { fields: ['id', 'size * 2 AS double'] }),
        out: sink('out'),
      },
      { demo: ['hot'], hot: ['f'], f: ['pick'], pick: ['out'] },
    )
    await engine.feedRows('demo', [
      { id: 'a', temp: 10 },
      { id: 'b', temp: 25 },
    ])
    await flush()
    expect(seen).toEqual({ out: [{ id: 'b', double: 50 }] })
    expect(engine.ruleLedger('g').rule).toEqual({ received: 2, emitted: 1, filtered: 1, dropped: {}, inFlight: 0 })
    expect(engine.ruleTopo('g')).toEqual({
      sources: ['source_demo'],
      edges: {
        source_demo: ['op_hot'],
        op_hot: ['op_f'],
        op_f: ['op_pick'],
        op_pick: ['op_out_0_transform'],
        op_out_0_transform: ['sink_out'],
      },
    })
    expect(Object.fromEntries(engine.ruleStatus('g').counters)).toMatchObject({
      source_demo_0_records_in_total: 2,
      op_hot_0_records_out_total: 1,
      op_pick_0_records_out_total: 1,
      sink_out_0_records_out_total: 1,
    })
  })

  it('sends rows down several branches that do not see each other, and counts the copies', async () => {
    await open()
    const seen = await run(
      {
        demo,
        one: operator('function', { expr: 'abs(temp) AS x' }),
        two: operator('pick', { fields: ['abs(temp) + 1 AS y'] }),
        three: operator('pick', { fields: ['abs(temp) + 2 AS y'] }),
        a: sink('a'),
        b: sink('b'),
        c: sink('c'),
      },
      { demo: ['one', 'two', 'three'], one: ['a'], two: ['b'], three: ['c'] },
    )
    await engine.feedRows('demo', [{ temp: -1 }])
    await flush()
    expect(seen).toEqual({ a: [{ temp: -1, x: 1 }], b: [{ y: 2 }], c: [{ y: 3 }] })
    const ledger = engine.ruleLedger('g').rule
    expect(ledger).toMatchObject({ received: 3, copied: 2, emitted: 3 })
    expect(imbalance(ledger)).toBe(0)
  })

  it('switches rows to the outputs whose case holds; the others leave as filtered', async () => {
    await open()
    const seen = await run(
      {
        demo,
        sw: operator('switch', { cases: ['temp > 20', 'temp > 10', 'temp > 0'] }),
        hot: sink('hot'),
        warm: sink('warm'),
        both: sink('both'),
      },
      {
        demo: ['sw'],
        sw: [
          ['hot', 'both'],
          ['warm', 'both'],
        ],
      },
    )
    await engine.feedRows('demo', [{ temp: 30 }, { temp: 15 }, { temp: 5 }, { temp: -5 }, { temp: 'x' }])
    await flush()
    expect(seen).toEqual({
      hot: [{ temp: 30 }],
      warm: [{ temp: 30 }, { temp: 15 }],
      both: [{ temp: 30 }, { temp: 30 }, { temp: 15 }],
    })
    const ledger = engine.ruleLedger('g').rule
    expect(imbalance(ledger)).toBe(0)
    expect(ledger.dropped).toEqual({ error: 1 })
  })

  it('stops a switch at the first match when told to', async () => {
    await open()
    const seen = await run(
      {
        demo,
        sw: operator('switch', { cases: ['temp > 20', 'temp > 10'], stopAtFirstMatch: true }),
        hot: sink('hot'),
        warm: sink('warm'),
      },
      { demo: ['sw'], sw: [['hot'], ['warm']] },
    )
    await engine.feedRows('demo', [{ temp: 30 }, { temp: 15 }])
    await flush()
    expect(seen).toEqual({ hot: [{ temp: 30 }], warm: [{ temp: 15 }] })
  })

  it('groups windows, aggregates, filters groups as HAVING, and orders them', async () => {
    await open()
    const seen = await run(
      {
        demo,
        w: operator('window', { type: 'countwindow', size: 5 }),
        by: operator('groupBy', { dimensions: ['id'] }),
        n: operator('aggfunc', { expr: 'count(*) AS n' }),
        big: operator('filter', { expr: 'n > 1 AND avg(v) < 100' }),
        sort: operator('orderby', { sorts: [{ field: 'n', desc: true }, { field: 'id' }] }),
        pick: operator('pick', { fields: ['id', 'n', 'sum(v) AS total'], isAgg: true }),
        out: sink('out'),
        raw: sink('raw'),
      },
      { demo: ['w'], w: ['by'], by: ['n'], n: ['big'], big: ['sort'], sort: ['pick', 'raw'], pick: ['out'] },
    )
    const row = (id: string, v: number) => ({ id, v })
    await engine.feedRows('demo', [row('a', 1), row('b', 2), row('b', 3), row('c', 4), row('b', 5)])
    await engine.feedRows('demo', [row('a', 1), row('b', 2), row('b', 300), row('a', 4), row('c', 5)])
    await flush()
    expect(seen['out']).toEqual([
      { id: 'b', n: 3n, total: 10 },
      { id: 'a', n: 2n, total: 5 },
    ])
    expect(seen['raw']).toEqual([
      { id: 'b', v: 2, n: 3n },
      { id: 'a', v: 1, n: 2n },
    ])
    expect(imbalance(engine.ruleLedger('g').rule)).toBe(0)
  })

  it('aggregates a whole window, empty ones too', async () => {
    await open()
    const seen = await run(
      {
        demo,
        w: operator('window', { type: 'tumblingwindow', unit: 'ss', size: 1 }),
        n: operator('aggfunc', { expr: 'count(*) AS n' }),
        m: operator('aggfunc', { expr: 'count(*) AS m' }),
        out: sink('out'),
      },
      { demo: ['w'], w: ['n'], n: ['m'], m: ['out'] },
    )
    await engine.feedRows('demo', [{ a: 1 }, { a: 2 }])
    await clock.advance(2000)
    expect(seen['out']).toEqual([
      { a: 1, n: 2n, m: 2n },
      { n: null, m: null },
    ])
  })

  it('joins two streams in a window', async () => {
    await open()
    await engine.execute('CREATE STREAM other () WITH (TYPE="memory", DATASOURCE="other")')
    const seen = await run(
      {
        demo,
        other: { type: 'source', nodeType: 'memory', props: { sourceName: 'other' } },
        w: operator('window', { type: 'tumblingwindow', unit: 'ss', size: 1 }),
        j: operator('join', { from: 'demo', joins: [{ name: 'other', type: 'inner', on: 'demo.id = other.id' }] }),
        f: operator('function', { expr: 'upper(demo.name) AS name' }),
        out: sink('out'),
      },
      { demo: ['w'], other: ['w'], w: ['j'], j: ['f'], f: ['out'] },
    )
    await engine.feedRows('demo', [{ id: 1, name: 'a' }])
    await engine.feedRows('other', [{ id: 1, size: 7 }])
    await clock.advance(1000)
    expect(seen['out']).toEqual([{ id: 1, name: 'A', size: 7 }])
    expect(imbalance(engine.ruleLedger('g').rule)).toBe(0)
  })

  it('joins with a lookup table, in any order of nodes', async () => {
    await open()
    await engine.execute('CREATE TABLE names () WITH (TYPE="memory", DATASOURCE="names", KIND="lookup", KEY="id")')
    await engine.execute('CREATE STREAM feeder () WITH (TYPE="memory", DATASOURCE="feed")')
    await engine.createRule({ id: 'fill', sql: 'SELECT * FROM feeder', actions: [{ memory: { topic: 'names' } }] })
    const seen = await run(
      {
        out: sink('out'),
        pick: operator('pick', { fields: ['demo.id', 'names.name AS name'] }),
        j: operator('join', { from: 'demo', joins: [{ name: 'names', type: 'left', on: 'demo.id = names.id' }] }),
        demo,
        names: { type: 'source', nodeType: 'memory', props: { sourceType: 'table', sourceName: 'names' } },
      },
      { demo: ['j'], names: ['j'], j: ['pick'], pick: ['out'] },
    )
    await engine.feedRows('feeder', [{ id: 1, name: 'one' }])
    await flush()
    await engine.feedRows('demo', [{ id: 1 }, { id: 2 }])
    await flush()
    expect(seen['out']).toEqual([{ id: 1, name: 'one' }, { id: 2 }])
    expect(imbalance(engine.ruleLedger('g').rule)).toBe(0)
  })

  it('orders event time in front of a window without being told to', async () => {
    await open()
    const seen = await run(
      {
        src: { type: 'source', nodeType: 'memory', props: { datasource: 'raw', timestamp: 'ts' } },
        w: operator('window', { type: 'tumblingwindow', unit: 'ms', size: 10 }),
        n: operator('pick', { fields: ['count(*) AS n', 'window_end() AS e'] }),
        out: sink('out'),
      },
      { src: ['w'], w: ['n'], n: ['out'] },
      { isEventTime: true, lateTolerance: 0 },
    )
    await engine.execute('CREATE STREAM writer () WITH (TYPE="memory", DATASOURCE="writer")')
    await engine.createRule({ id: 'w', sql: 'SELECT * FROM writer', actions: [{ memory: { topic: 'raw' } }] })
    await engine.feedRows(
      'writer',
      [{ ts: 1 }, { ts: 8 }, { ts: 25 }].map((r) => ({ ts: BigInt(r.ts) })),
    )
    await flush()
    expect(seen['out']?.[0]).toEqual({ n: 2n, e: 10n })
  })

  it('ends when the last branch has ended', async () => {
    await open()
    await run(
      {
        src: {
          type: 'source',
          nodeType: 'simulator',
          props: { extra: JSON.stringify({ data: [{ a: 1 }, { a: 2 }], interval: 0, loop: false }) },
        },
        f: operator('filter', { expr: 'a > 1' }),
        a: sink('a'),
        b: sink('b'),
      },
      { src: ['f', 'b'], f: ['a'] },
    )
    await clock.advance(1000)
    expect(engine.ruleStatus('g')).toMatchObject({ status: 'stopped', message: 'done' })
    const ledger = engine.ruleLedger('g').rule
    expect(imbalance(ledger)).toBe(0)
  })

  it('refuses a graph whose document is wrong, saying where', async () => {
    await open()
    const create = (nodes: ValueObject, edges: ValueObject) => run(nodes, edges)
    await expect(create({ demo, out: sink('o1') }, { demo: ['nowhere'] })).rejects.toThrow(
      'node nowhere is not defined',
    )
    await expect(create({ demo, out: sink('o2') }, {})).rejects.toThrow('no edge defined for source node demo')
    await expect(
      create({ demo, a: operator('filter', { expr: 'x > 1' }), out: sink('o3') }, { demo: ['out'], a: ['out'] }),
    ).rejects.toThrow('operator a of type filter has no input')
    await expect(
      create(
        {
          demo,
          a: operator('watermark', { emitters: ['demo'] }),
          b: operator('filter', { expr: 'x' }),
          out: sink('o4'),
        },
        { demo: ['a'], a: ['b'], b: ['a', 'out'] },
      ),
    ).rejects.toThrow('the graph has a cycle through node')
    await expect(create({ demo, out: { ...sink('o5'), nodeType: 'nosink' } }, { demo: ['out'] })).rejects.toThrow(
      'sink nosink is not defined',
    )
    await expect(
      create({ demo, s: operator('switch', { cases: [] }), out: sink('o6') }, { demo: ['s'], s: [['out']] }),
    ).rejects.toThrow('parse switch s with map[cases:[]] error: switch node must have at least one case')
    expect(engine.listRules().filter((r) => r.id === 'g')).toEqual([])
  })
})
