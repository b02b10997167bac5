/** Many hands on one definition at once: every acknowledged change is there or was followed by another; nothing runs unowned. */
import { afterEach, describe, expect, it } from 'vitest'
import { createEngine, type Engine, type Store } from '../../src/engine/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { manualSource, settle, withConnectors } from '../support/engine-harness.ts'

const engines: Engine[] = []
afterEach(async () => {
  for (const engine of engines.splice(0)) await engine.close()
})

/** Answers some turns late, as a disk does; survives the engine. */
function slowStore(random: () => number): Store {
  const store = memoryStore()
  const late = async <T>(work: Promise<T>): Promise<T> => {
    const result = await work
    await settle(Math.floor(random() * 4))
    return result
  }
  return {
    table(name) {
      const table = store.table(name)
      return {
        get: (key) => late(table.get(key)),
        set: (key, value) => late(table.set(key, value)),
        delete: (key) => late(table.delete(key)),
        batch: (changes) => late(table.batch(changes)),
        entries: (prefix) => table.entries(prefix),
      }
    },
    dropTable: (name) => store.dropTable(name),
    close: async () => {},
  }
}

function generator(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

async function open(store: Store) {
  const source = manualSource('fed')
  const engine = await createEngine({ store, connectors: withConnectors(source.connector), drainLimit: 100 })
  engines.push(engine)
  return { engine, source }
}

const document = (version: number, more: object = {}) =>
  JSON.stringify({ id: 'r', sql: `SELECT n, ${version} AS v FROM demo`, actions: [{ nop: {} }], ...more })
const bad = JSON.stringify({ id: 'r', sql: 'SELECT n FROM nowhere', actions: [{ nop: {} }] })

describe('one rule', () => {
  it('created, replaced, deleted, started and stopped by many at once ends as one of them said', async () => {
    const rounds = process.env['IXION_LOAD'] === 'full' ? 1000 : 100
    for (let seed = 1; seed <= rounds; seed++) {
      const random = generator(seed)
      const store = slowStore(random)
      const { engine, source } = await open(store)
      await engine.execute('CREATE STREAM demo () WITH (TYPE="fed", DATASOURCE="d")')
      const kinds: (() => Promise<unknown>)[] = [
        () => engine.createRule(document(1)),
        () => engine.createRule(bad),
        () => engine.updateRule('r', document(2)),
        () => engine.updateRule('r', document(3, { triggered: false })),
        () => engine.updateRule('r', bad),
        () => engine.deleteRule('r'),
        () => engine.startRule('r'),
        () => engine.stopRule('r'),
        () => engine.restartRule('r'),
        () => engine.changeTags('r', (tags) => [...tags, 'x']),
      ]
      const calls = Array.from({ length: 8 }, async () => {
        await settle(Math.floor(random() * 6))
        await (kinds[Math.floor(random() * kinds.length)] as () => Promise<unknown>)().catch((error) => {
          if (!(error instanceof Error)) throw error
        })
      })
      await Promise.all(calls)
      await settle(10)
      const listed = engine.listRules()
      const context = `seed ${seed}: ${JSON.stringify(listed)}`
      expect(listed.length, context).toBeLessThanOrEqual(1)
      const [rule] = listed
      // What is stored is managed and the other way round.
      expect(rule === undefined || engine.isStored('r'), context).toBe(true)
      expect(rule?.status.startsWith('error') ?? false, context).toBe(false)
      // A running rule has one source; nothing else has any.
      expect(source.open, context).toBe(rule?.status === 'running' ? 1 : 0)
      if (rule) {
        const { sql, triggered = true } = JSON.parse(engine.ruleText('r'))
        expect(triggered, context).toBe(rule.status === 'running')
        expect(engine.explainRule('r'), context).toContain(sql.match(/(\d) AS v/)[1])
      }
      await engine.close()
      const again = await open(store)
      await again.engine.startStoredRules()
      await settle(5)
      expect(
        again.engine.listRules().map((r) => [r.id, r.status]),
        context,
      ).toEqual(listed.map((r) => [r.id, r.status]))
      await again.engine.close()
      engines.length = 0
    }
  })

  it('updated a thousand times while rows come loses none that was accepted', async () => {
    const { engine, source } = await open(memoryStore())
    await engine.execute('CREATE STREAM demo () WITH (TYPE="fed", DATASOURCE="d")')
    const seen: number[] = []
    engine.subscribe('out', (_topic, rows) => void seen.push(...rows.map((r) => Number(r['n']))))
    const rule = (v: number): string =>
      JSON.stringify({ ...JSON.parse(document(v)), actions: [{ memory: { topic: 'out' } }] })
    await engine.createRule(rule(0))
    await settle()
    const accepted: number[] = []
    let n = 0
    let done = false
    const feeding = (async () => {
      while (!done) {
        await settle(1)
        if (source.open === 0) continue
        const id = n++
        await source.rows([{ n: id }], (error) => void (error || accepted.push(id)))
      }
    })()
    const updates = process.env['IXION_LOAD'] === 'full' ? 1000 : 100
    for (let v = 1; v <= updates; v++) {
      await engine.updateRule('r', rule(v))
      await settle(2)
    }
    done = true
    await feeding
    await settle(20)
    expect(new Set(seen)).toEqual(new Set(accepted))
    expect(seen.length).toBe(accepted.length)
    expect(accepted.length).toBeGreaterThan(updates / 2)
  })
})

describe('one stream', () => {
  it('created, replaced and dropped by many at once ends as one of them said', async () => {
    for (let seed = 1; seed <= 100; seed++) {
      const random = generator(seed)
      const store = slowStore(random)
      const { engine } = await open(store)
      const create = 'CREATE STREAM s () WITH (TYPE="fed", DATASOURCE="1")'
      const replace = 'CREATE STREAM s () WITH (TYPE="fed", DATASOURCE="2")'
      const acknowledged: string[] = []
      const kinds: (() => Promise<unknown>)[] = [
        () => engine.execute(create),
        () => engine.replaceStream('s', 'stream', replace),
        () => engine.execute('DROP STREAM s'),
      ]
      await Promise.all(
        Array.from({ length: 8 }, async () => {
          await settle(Math.floor(random() * 4))
          const kind = Math.floor(random() * kinds.length)
          try {
            await (kinds[kind] as () => Promise<unknown>)()
            acknowledged.push(['create', 'replace', 'drop'][kind] as string)
          } catch (error) {
            if (!(error instanceof Error)) throw error
          }
        }),
      )
      const last = acknowledged.at(-1)
      const wanted = last === undefined || last === 'drop' ? undefined : last === 'create' ? '1' : '2'
      const context = `seed ${seed}: ${acknowledged}`
      expect(engine.stream('s')?.definition.options.datasource, context).toBe(wanted)
      await engine.close()
      const again = await open(store)
      expect(again.engine.stream('s')?.definition.options.datasource, context).toBe(wanted)
      await again.engine.close()
      engines.length = 0
    }
  })
})
