/** rules.jsonl: whole rules on a hand-moved clock; the harness stands in for sources and sink. */

import type { ConnectorDefinition, SourceDefinition } from '../../../src/connectors/contract.ts'
import { connectors as builtin } from '../../../src/connectors/index.ts'
import { encodeJsonText } from '../../../src/core/json-encode.ts'
import type { Value, ValueObject } from '../../../src/core/values.ts'
import { createEngine, type Deliver, type Engine, type ManualClock, manualClock } from '../../../src/engine/index.ts'
import { type Case, fail, type Outcome, pass } from '../contract.ts'
import { fromTagged, sameValue, show } from '../values.ts'

const RULE = 'rule1'

interface Feed {
  readonly deliver: Deliver
  readonly end: () => void
}

/** Sources that deliver what the timeline says, by DATASOURCE. A file gives bytes, everything else rows. */
function harness(clock: ManualClock) {
  const feeds = new Map<string, Set<Feed>>()
  const emissions: Value[] = []
  const source = (name: string, emits: 'rows' | 'bytes'): SourceDefinition => ({
    name,
    docs: 'Recorded rows.',
    emits,
    pausable: true,
    bounded: false,
    // Of the real connector: its configuration keys apply.
    options: builtin.find((c) => c.name === name)?.source?.options ?? {},
    create: (datasource) => ({
      async connect() {},
      read: (deliver, signal) =>
        new Promise((resolve) => {
          const feed: Feed = { deliver, end: () => resolve('ended') }
          const list = feeds.get(datasource) ?? new Set()
          feeds.set(datasource, list.add(feed))
          signal.addEventListener('abort', () => {
            list.delete(feed)
            resolve('ended')
          })
        }),
      async close() {},
    }),
  })
  const connectors: ConnectorDefinition[] = [
    { name: 'mock', source: source('mock', 'rows') },
    { name: 'file', source: source('file', 'bytes') },
    {
      name: 'memory',
      sink: {
        name: 'memory',
        docs: 'Keeps results.',
        takes: 'rows',
        options: {},
        create: () => ({
          async connect() {},
          async send(item) {
            emissions.push(Array.isArray(item.value) ? item.value : [item.value])
          },
          async close() {},
        }),
      },
    },
  ]
  const deliver = async (datasource: string, rows: ValueObject[], meta: (ValueObject | null)[]): Promise<void> => {
    const timestamp = clock.now()
    for (const feed of feeds.get(datasource) ?? []) await feed.deliver({ kind: 'rows', rows, meta, timestamp })
  }
  const deliverFile = async (datasource: string, rows: ValueObject[]): Promise<void> => {
    const payloads = [new TextEncoder().encode(encodeJsonText(rows))]
    for (const feed of feeds.get(datasource) ?? [])
      await feed.deliver({ kind: 'bytes', payloads, meta: [null], timestamp: clock.now() })
  }
  const end = (): void => {
    for (const list of feeds.values()) for (const feed of list) feed.end()
  }
  return { connectors, deliver, deliverFile, end, emissions }
}

interface Definition {
  readonly name: string
  readonly kind: 'stream' | 'table'
  readonly sql: string
}

/** Runs the case once. `restoreEvery`: after so many rows the rule goes on from its saved state in a fresh run. */
async function runOnce(
  c: Case,
  options: ValueObject,
  restoreEvery = 0,
): Promise<{ emissions: Value[]; counters: Map<string, number | string>; topo: Value; engine: Engine }> {
  const clock = manualClock({ start: c['clock'].start })
  const h = harness(clock)
  const engine = await createEngine({ clock, connectors: h.connectors })
  const definitions = c['streams'] as Definition[]
  const byName = new Map(definitions.map((d) => [d.name, d]))
  for (const d of definitions) await engine.execute(d.sql)
  // The recorded options are a bare structure: what it leaves out is zero, not the default.
  const whole = { lateTolerance: 0, ...options }
  await engine.createRule({ id: RULE, sql: c['sql'], actions: [{ memory: {} }], options: whole })
  await clock.advance(0)
  let topo = engine.ruleTopo(RULE) as unknown as Value
  let rows = 0
  for (const step of c['timeline'] as Case[]) {
    await clock.advanceTo(step['at'])
    if (step['do'] === 'eof') {
      h.end()
      await clock.advance(0)
      await clock.advance(0)
      continue
    }
    const definition = byName.get(step['stream']) as Definition
    const stored = engine.stream(definition.name)?.definition
    const datasource = stored?.options.datasource ?? ''
    const inputs = c['input'][definition.name] as Case[]
    const picked = ((step['batch'] as number[] | undefined) ?? [step['i'] as number]).map((i) => inputs[i] as Case)
    const data = picked.map((p) => fromTagged(p['data']) as ValueObject)
    if (stored?.streamType === 'table' && (stored.options.type ?? 'file') === 'file') {
      await h.deliverFile(datasource, data)
    } else {
      const meta = picked.map((p) => (p['meta'] === undefined ? null : (fromTagged(p['meta']) as ValueObject)))
      await h.deliver(datasource, data, meta)
    }
    await clock.advance(0)
    rows++
    if (restoreEvery && rows % restoreEvery === 0) {
      const state = engine.ruleState(RULE)
      await engine.startRule(RULE, state)
      await clock.advance(0)
      topo = engine.ruleTopo(RULE) as unknown as Value
    }
  }
  const counters = new Map(engine.ruleStatus(RULE).counters)
  return { emissions: h.emissions, counters, topo, engine }
}

/** The recording's source fed native Go ints, whose kind error texts name; integers here are int64. */
function expectedEmission(recorded: unknown): Value {
  const [row] = Array.isArray(recorded) ? recorded : []
  if (typeof row?.error !== 'string') return fromTagged(recorded)
  return [{ error: row.error.replace(/\bint\((-?\d+)\)/g, 'int64($1)') }]
}

function compareEmissions(actual: readonly Value[], expect: readonly unknown[]): string | null {
  const wanted = expect.map(expectedEmission)
  for (const [i, want] of wanted.entries()) {
    const got = actual[i]
    if (got === undefined) return `only ${actual.length} emissions, expected ${wanted.length}: ${show(want)} is missing`
    if (!sameValue(got, want, 1e-12)) return `emission ${i}: ${show(got)}, expected ${show(want)}`
  }
  const extra = actual.slice(wanted.length).find((e) => !Array.isArray(e) || e.length > 0)
  return extra === undefined ? null : `one emission too many: ${show(extra)}`
}

function compareMetrics(actual: ReadonlyMap<string, number | string>, expect: Record<string, unknown>): string | null {
  for (const [name, want] of Object.entries(expect)) {
    const got = actual.get(name)
    const same = name.endsWith('_process_latency_us') ? Number(got) >= Number(want) : String(got) === String(want)
    if (!same) return `metric ${name}: ${got}, expected ${want}`
  }
  return null
}

/** The recorded topologies have the sink directly behind the last operator. */
function withoutSinkChain(topo: Value): Value {
  const { sources, edges } = topo as unknown as { sources: string[]; edges: Record<string, string[]> }
  const chain = /^op_memory_0_\d+_/
  const follow = (target: string): string[] => (chain.test(target) ? (edges[target] ?? []).flatMap(follow) : [target])
  const kept = Object.entries(edges).filter(([from]) => !chain.test(from))
  return { sources, edges: Object.fromEntries(kept.map(([from, to]) => [from, to.flatMap(follow)])) } as Value
}

async function check(c: Case, options: ValueObject, restoreEvery: number, whole: boolean): Promise<string | null> {
  const result = await runOnce(c, options, restoreEvery)
  try {
    const wrong = compareEmissions(result.emissions, c['expect'])
    if (wrong || !whole) return wrong
    if (c['metrics']) {
      const difference = compareMetrics(result.counters, c['metrics'])
      if (difference) return difference
    }
    if (c['topo']) {
      const topo = withoutSinkChain(result.topo)
      if (!sameValue(topo, c['topo'])) return `topo ${JSON.stringify(topo)}, expected ${JSON.stringify(c['topo'])}`
    }
    return null
  } finally {
    await result.engine.close()
  }
}

/** Straight, with the other options, and through saved state after every row and every three rows: all must give the same. */
export async function run(c: Case): Promise<Outcome> {
  const wrong = await check(c, c['options'], 0, true)
  if (wrong) return fail(wrong)
  for (const other of (c['alsoOptions'] ?? []) as ValueObject[]) {
    const difference = await check(c, other, 0, false)
    if (difference) return fail(`with ${JSON.stringify(other)}: ${difference}`)
  }
  for (const every of [1, 3]) {
    const difference = await check(c, c['options'], every, false)
    if (difference) return fail(`restored after every ${every} rows: ${difference}`)
  }
  return pass
}
