/** Many rules on one shared stream: what each costs, how fast they start, and that changing them in parallel keeps them apart. */
import { readFileSync } from 'node:fs'
import { afterEach, describe, expect, it } from 'vitest'
import { createEngine, type Engine, imbalance } from '../../src/engine/index.ts'
import { eventually } from '../support/connectors.ts'
import { type Daemon, installation, startDaemon } from '../support/daemon.ts'
import { manualSource, settle, withConnectors } from '../support/engine-harness.ts'

const full = process.env['IXION_LOAD'] === 'full'
const RULES = full ? 4000 : 1000

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

function anonymous(d: Daemon): number {
  const text = readFileSync(`/proc/${d.child.pid}/smaps_rollup`, 'utf8')
  return Number(/^Anonymous:\s+(\d+) kB/m.exec(text)?.[1]) * 1024
}

const rule = (i: number): string =>
  JSON.stringify({ id: `r${i}`, sql: `SELECT n FROM demo WHERE tag = "t${i}"`, actions: [{ nop: {} }] })

async function inGroups<T>(count: number, size: number, work: (i: number) => Promise<T>): Promise<void> {
  for (let from = 0; from < count; from += size)
    await Promise.all(Array.from({ length: Math.min(size, count - from) }, (_, k) => work(from + k)))
}

describe(`${RULES} rules on one shared stream`, () => {
  it('start fast, cost little each, start again after a restart, and each sees its own rows', async () => {
    const folders = installation()
    cleanups.push(() => folders.remove())
    const start = async (): Promise<Daemon> => {
      const d = await startDaemon(folders)
      cleanups.push(async () => {
        d.child.kill('SIGKILL')
        await d.exit
      })
      return d
    }
    const d = await start()
    const sql = 'CREATE STREAM demo () WITH (TYPE="memory", DATASOURCE="in", FORMAT="json", SHARED="true")'
    expect((await d.request('POST', '/streams', JSON.stringify({ sql }))).status).toBe(201)
    for (let i = 0; i < 100; i++) expect((await d.request('POST', '/rules', rule(i))).status).toBe(201)
    const before = anonymous(d)
    const started = performance.now()
    await inGroups(RULES - 100, 8, async (i) => {
      expect((await d.request('POST', '/rules', rule(i + 100))).status).toBe(201)
    })
    const each = (performance.now() - started) / (RULES - 100)
    const bytes = (anonymous(d) - before) / (RULES - 100)
    const rows = Array.from({ length: RULES }, (_, i) => ({ tag: `t${i}`, n: i }))
    expect((await d.request('POST', '/streams/demo/data', JSON.stringify(rows))).status).toBe(200)
    for (const i of [0, 1, RULES >> 1, RULES - 1]) {
      const { rule: reading } = JSON.parse((await d.request('GET', `/rules/r${i}/ledger`)).body)
      expect(reading).toMatchObject({ received: RULES, emitted: 1, filtered: RULES - 1 })
    }
    d.child.kill('SIGKILL')
    await d.exit
    const restarted = performance.now()
    const second = await start()
    const answered = performance.now() - restarted
    await eventually(async () => {
      const list = JSON.parse((await second.request('GET', '/rules')).body) as { status: string }[]
      return list.length === RULES && list.every((r) => r.status === 'running')
    }, 'all running again')
    const running = performance.now() - restarted
    console.log(
      `${RULES} rules: ${each.toFixed(2)} ms and ${(bytes / 1024).toFixed(1)} KB each; after kill -9 answering in ${answered.toFixed(0)} ms, all running in ${running.toFixed(0)} ms`,
    )
    // The budget is 20 KB for an idle rule; here the garbage of a thousand requests is in the figure.
    expect(bytes).toBeLessThan(150 * 1024)
  }, 120_000)
})

describe('rules created, changed and deleted in parallel under load', () => {
  it('leave no source, no rule and no row behind', async () => {
    const source = manualSource('fed')
    const engine: Engine = await createEngine({ connectors: withConnectors(source.connector), drainLimit: 300 })
    cleanups.push(() => engine.close())
    for (const shared of ['true', 'false'])
      await engine.execute(`CREATE STREAM s${shared} () WITH (TYPE="fed", DATASOURCE="d", SHARED="${shared}")`)
    let going = true
    const load = (async () => {
      for (let n = 0; going; n++) {
        await settle(1)
        await source.rows([{ n }])
      }
    })()
    const document = (i: number, v: number): string =>
      JSON.stringify({ id: `r${i}`, sql: `SELECT n, ${v} AS v FROM s${i % 2 === 0}`, actions: [{ nop: {} }] })
    for (let round = 0; round < 3; round++) {
      await Promise.all(Array.from({ length: 50 }, (_, i) => engine.createRule(document(i, 0))))
      await Promise.all(
        Array.from({ length: 50 }, async (_, i) => {
          await engine.updateRule(`r${i}`, document(i, 1))
          const before = engine.ruleLedger(`r${i}`).rule
          expect(imbalance(before)).toBe(0)
          await engine.stopRule(`r${i}`)
          expect(imbalance(engine.ruleLedger(`r${i}`).rule)).toBe(0)
          await engine.startRule(`r${i}`)
        }),
      )
      await settle(5)
      // One for the shared stream, one for each of the other 25.
      expect(source.open).toBe(26)
      await Promise.all(Array.from({ length: 50 }, (_, i) => engine.deleteRule(`r${i}`)))
      expect(source.open).toBe(0)
      expect(engine.listRules()).toEqual([])
    }
    going = false
    await load
  }, 60_000)

  it('thousands of updates leave memory where it was', async () => {
    const source = manualSource('fed')
    const engine = await createEngine({ connectors: withConnectors(source.connector), drainLimit: 300 })
    cleanups.push(() => engine.close())
    await engine.execute('CREATE STREAM demo () WITH (TYPE="fed", DATASOURCE="d")')
    const { setFlagsFromString } = await import('node:v8')
    setFlagsFromString('--expose-gc')
    const { runInNewContext } = await import('node:vm')
    const collect = runInNewContext('gc') as () => void
    const heap = async (): Promise<number> => {
      await settle(5)
      collect()
      collect()
      return process.memoryUsage().heapUsed
    }
    const update = (v: number): Promise<void> =>
      engine.updateRule(
        'r',
        JSON.stringify({
          id: 'r',
          sql: `SELECT count(*) AS c, ${v} AS v FROM demo GROUP BY TUMBLINGWINDOW(ss, 10), n`,
          actions: [{ nop: {} }],
        }),
      )
    const rounds = full ? 5000 : 500
    for (let v = 0; v < rounds; v++) await update(v)
    const before = await heap()
    for (let v = 0; v < rounds; v++) await update(v)
    const grown = (await heap()) - before
    console.log(`${rounds} updates: heap grew by ${(grown / rounds / 1024).toFixed(2)} KB each`)
    expect(grown).toBeLessThan(4 << 20)
    expect(source.open).toBe(1)
  }, 120_000)
})
