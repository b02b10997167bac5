import { afterEach, describe, expect, it } from 'vitest'
import { createEngine, type Engine, manualClock, type ValueObject } from '../../src/engine/index.ts'

let clock: ReturnType<typeof manualClock>
let engine: Engine
async function open(): Promise<void> {
  clock = manualClock({ start: 1_700_000_000_000 })
  engine = await createEngine({ clock })
  await engine.execute('CREATE STREAM demo () WITH (TYPE="memory", DATASOURCE="in")')
}
afterEach(() => engine.close())

/** Listens until the trial is gone. */
function watch(id: string): string[] {
  const seen: string[] = []
  void (async () => {
    for await (const text of engine.trials.results(id) as AsyncIterable<string>) seen.push(text)
    seen.push('end')
  })()
  return seen
}
const trial = (more: ValueObject = {}): string =>
  JSON.stringify({
    id: 't1',
    sql: 'SELECT temp * 2 AS d FROM demo WHERE temp > 10',
    mockSource: { demo: { data: [{ temp: 5 }, { temp: 15 }], interval: 100, loop: true } },
    sinkProps: { sendSingle: true },
    ...more,
  })

describe('a trial run', () => {
  it('shows the results of mocked sources from its start to its deletion', async () => {
    await open()
    expect(await engine.trials.create(trial())).toBe('t1')
    const seen = watch('t1')
    await clock.advance(1000)
    expect(seen).toEqual([])
    await engine.trials.start('t1')
    await clock.advance(350)
    expect(seen).toEqual(['{"d":30}', '{"d":30}'])
    await engine.trials.stop('t1')
    await clock.advance(1000)
    expect(seen).toEqual(['{"d":30}', '{"d":30}', 'end'])
    expect(engine.trials.results('t1')).toBeUndefined()
    expect(engine.listRules()).toEqual([])
  })

  it('shows errors of rows as bare text', async () => {
    await open()
    const mockSource = { demo: { data: [{ temp: 'hot' }], interval: 100 } }
    await engine.trials.create(trial({ sql: 'SELECT abs(temp) AS d FROM demo', mockSource, sinkProps: {} }))
    const seen = watch('t1')
    await engine.trials.start('t1')
    await clock.advance(10)
    expect(seen).toHaveLength(1)
    expect(seen[0]).toMatch(/^run Select error: alias: d expr: /)
  })

  it('reads an unmocked stream from its own connector, as feeds do', async () => {
    await open()
    await engine.trials.create(trial({ mockSource: {}, sinkProps: {} }))
    const seen = watch('t1')
    await engine.trials.start('t1')
    expect(await engine.feedRows('demo', [{ temp: 11 }])).toBe(1)
    await clock.advance(10)
    expect(seen).toEqual(['[{"d":22}]'])
  })

  it('is replaced by one of the same id', async () => {
    await open()
    await engine.trials.create(trial())
    const first = watch('t1')
    await engine.trials.start('t1')
    await engine.trials.create(trial({ sql: 'SELECT temp FROM demo' }))
    const second = watch('t1')
    await engine.trials.start('t1')
    await clock.advance(50)
    expect(first.at(-1)).toBe('end')
    expect(second).toEqual(['{"temp":5}'])
  })

  it('ends by itself after five minutes, and can be started again', async () => {
    await open()
    await engine.trials.create(trial())
    await engine.trials.start('t1')
    await clock.advance(5 * 60_000 + 1)
    expect(clock.pendingTimers).toBe(0)
    const seen = watch('t1')
    await engine.trials.start('t1')
    await clock.advance(150)
    expect(seen).toEqual(['{"d":30}'])
  })

  it('drops the oldest results of a listener that does not listen', async () => {
    await open()
    const data = Array.from({ length: 1500 }, (_, i) => ({ temp: i + 11 }))
    await engine.trials.create(trial({ mockSource: { demo: { data, interval: 0 } } }))
    const results = engine.trials.results('t1') as AsyncIterableIterator<string>
    await engine.trials.start('t1')
    await clock.advance(1000)
    const first = await results.next()
    expect(first.value).toBe('{"d":1022}')
  })

  it('is refused with the reason', async () => {
    await open()
    await expect(engine.trials.create('{')).rejects.toThrow(/^fail to parse rule definition {: /)
    await expect(engine.trials.create(trial({ id: 'a b' }))).rejects.toThrow(/invalid characters/)
    await expect(engine.trials.create(trial({ sql: 'SELECT * FROM none' }))).rejects.toThrow(
      'fail to run rule t1: fail to get stream none, please check if stream is created',
    )
    await expect(engine.trials.start('none')).rejects.toThrow('try to start test rule none but it is not found')
    await engine.trials.stop('none')
  })
})
