import { afterEach, describe, expect, it } from 'vitest'
import { createEngine, type Engine, manualClock, type Store, type ValueObject } from '../../src/engine/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'

const start = Date.parse('2024-01-01T05:59:00Z')
let clock: ReturnType<typeof manualClock>
let engine: Engine
async function open(options: Parameters<typeof createEngine>[0] = {}): Promise<void> {
  clock = manualClock({ start })
  engine = await createEngine({ clock, ...options })
  if (!engine.stream('demo')) await engine.execute('CREATE STREAM demo () WITH (TYPE="memory", DATASOURCE="in")')
}
afterEach(() => engine.close())

const rule = (options: ValueObject, more: ValueObject = {}): ValueObject => ({
  id: 'r',
  sql: 'SELECT * FROM demo',
  actions: [{ memory: { topic: 'out' } }],
  options,
  ...more,
})
const status = () => {
  const { status: state, message } = engine.ruleStatus('r')
  return message === '' ? state : `${state}, ${message}`
}
const waiting = 'stopped: waiting for next schedule.'

describe('a scheduled rule', () => {
  it('runs at once when created, waits outside its schedule, and runs in its turn', async () => {
    await open()
    await engine.createRule(rule({ cron: '0 6 * * *', duration: '30s' }))
    expect(status()).toBe('running')
    expect(engine.ruleStatus('r').nextStartTimestamp).toBe(Date.parse('2024-01-01T06:00:00Z'))
    await clock.advance(10_000)
    expect(status()).toBe(`${waiting}, schedule terminated`)
    await clock.advance(60_000)
    expect(status()).toBe('running')
    await clock.advance(30_000)
    expect(status()).toBe(`${waiting}, schedule terminated`)
  })

  it('waits after a boot and after a restart', async () => {
    const store = keptStore()
    await open({ store })
    await engine.createRule(rule({ cronDatetimeRange: [{ begin: '2024-01-01 06:00:00', end: '2024-01-01 07:00:00' }] }))
    await engine.restartRule('r')
    expect(status()).toBe(waiting)
    await engine.close()
    await open({ store })
    await engine.startStoredRules()
    expect(status()).toBe(waiting)
    await clock.advance(70_000)
    expect(status()).toBe('running')
  })

  it('stays stopped when a user stops it, until it is started', async () => {
    await open()
    await engine.createRule(rule({ cronDatetimeRange: [{ begin: '2024-01-01 00:00:00', end: '2024-01-02 00:00:00' }] }))
    await engine.stopRule('r')
    await clock.advance(60_000)
    expect(status()).toBe('stopped, canceled manually')
    await engine.startRule('r')
    expect(status()).toBe('running')
  })

  it('stops while it waits, too', async () => {
    await open()
    await engine.createRule(rule({ cronDatetimeRange: [{ beginTimestamp: 1, endTimestamp: 2 }] }))
    await clock.advance(10_000)
    expect(status()).toBe(`${waiting}, schedule terminated`)
    await engine.stopRule('r')
    expect(status()).toBe('stopped, canceled manually')
  })

  it('ends after its duration when there is no pattern', async () => {
    await open()
    await engine.createRule(rule({ duration: '15s' }))
    await clock.advance(10_000)
    expect(status()).toBe('running')
    await clock.advance(10_000)
    expect(status()).toBe('stopped, duration terminated')
    await clock.advance(100_000)
    expect(status()).toBe('stopped, duration terminated')
    expect(engine.ruleText('r')).not.toContain('"triggered":false')
  })

  it('reads a finite source once a turn', async () => {
    await open()
    const extra = JSON.stringify(JSON.stringify({ data: [{ a: 1 }], interval: 0, loop: false }))
    await engine.execute(`CREATE STREAM few () WITH (TYPE="simulator", EXTRA=${extra})`)
    await engine.createRule(rule({ cron: '*/5 * * * *', duration: '4m' }, { sql: 'SELECT * FROM few' }))
    let runs = 0
    engine.subscribe('out', () => void runs++)
    await clock.advance(1000)
    expect(status()).toBe('stopped, done')
    await clock.advance(30_000)
    expect(status()).toBe('stopped, done')
    await clock.advance(10 * 60_000)
    expect(runs).toBeGreaterThanOrEqual(2)
    expect(runs).toBeLessThanOrEqual(3)
  })

  it('is looked at no more when it is deleted', async () => {
    await open()
    const before = clock.pendingTimers
    await engine.createRule(rule({ duration: '15s' }))
    expect(clock.pendingTimers).toBe(before + 1)
    await engine.deleteRule('r')
    expect(clock.pendingTimers).toBe(before)
  })
})

describe('a rule that stops by an error', () => {
  /** Its stream is not there when the engine boots. */
  async function broken(restartStrategy: ValueObject): Promise<void> {
    const store = keptStore()
    await open({ store })
    await engine.createRule(rule({ restartStrategy }))
    await engine.dropStream('demo', 'stream')
    await engine.close()
    clock = manualClock({ start })
    engine = await createEngine({ clock, store })
    await engine.startStoredRules()
  }
  const missing = 'stopped by error, fail to get stream demo, please check if stream is created'

  it('stays so without a restart strategy', async () => {
    await broken({ attempts: 0 })
    expect(status()).toBe(missing)
    expect(clock.pendingTimers).toBe(0)
  })

  it('is tried again with growing pauses, and runs when the cause is gone', async () => {
    await broken({ attempts: 3, delay: 1000, multiplier: 2, jitter: 0 })
    expect(status()).toBe(missing)
    await clock.advance(2500)
    expect(status()).toBe(missing)
    await engine.execute('CREATE STREAM demo () WITH (TYPE="memory", DATASOURCE="in")')
    await clock.advance(600)
    expect(status()).toBe('running')
  })

  it('is given up after its attempts', async () => {
    await broken({ attempts: 2, delay: 1000, multiplier: 1, jitter: 0 })
    await clock.advance(2000)
    expect(clock.pendingTimers).toBe(0)
    await engine.execute('CREATE STREAM demo () WITH (TYPE="memory", DATASOURCE="in")')
    await clock.advance(60_000)
    expect(status()).toBe(missing)
    await engine.startRule('r')
    expect(status()).toBe('running')
  })

  it('starts again after an error at run time, with the reason in between', async () => {
    await open()
    await engine.createRule(
      rule(
        { windowLimit: 2, limitPolicy: 'fail', restartStrategy: { attempts: 1, delay: 1000, jitter: 0 } },
        { sql: 'SELECT a FROM demo GROUP BY TUMBLINGWINDOW(ss, 10)' },
      ),
    )
    await engine.feedRows('demo', [{ a: 1 }, { a: 2 }, { a: 3 }])
    await clock.advance(0)
    expect(status()).toMatch(/^stopped by error, .*window/)
    await clock.advance(1000)
    expect(status()).toBe('running')
  })

  it('is left alone when a user stops it', async () => {
    await broken({ attempts: 5, delay: 1000, jitter: 0 })
    await engine.stopRule('r')
    await engine.execute('CREATE STREAM demo () WITH (TYPE="memory", DATASOURCE="in")')
    await clock.advance(60_000)
    expect(status()).toBe(missing)
  })
})

/** A store that survives the engine. */
function keptStore(): Store {
  return Object.assign(memoryStore(), { close: async () => {} })
}
