import { afterEach, expect, it } from 'vitest'
import { createEngine, type Engine, imbalance, manualClock, type ValueObject } from '../../src/engine/index.ts'

const engines: Engine[] = []
afterEach(async () => {
  for (const engine of engines.splice(0)) await engine.close()
})

async function rule(sql: string, options: ValueObject) {
  const clock = manualClock({ start: 1_700_000_040_000 })
  const engine = await createEngine({ clock })
  engines.push(engine)
  await engine.execute('CREATE STREAM s () WITH (TYPE="memory", DATASOURCE="in")')
  await engine.createRule({ id: 'r', sql, options, actions: [{ nop: {} }] })
  return { engine, clock }
}
const rows = [{ k: 'a' }, { k: 'b' }, { k: 'c' }, { k: 'a' }]

it('rows of a partition beyond partitionLimit fail and are counted', async () => {
  const { engine } = await rule('SELECT lag(k) OVER (PARTITION BY k) AS p FROM s', { partitionLimit: 2 })
  await engine.feedRows('s', rows)
  expect(engine.ruleLedger('r').rule).toMatchObject({ received: 4, emitted: 3, dropped: { error: 1 } })
})

it.each([
  'SELECT k, count(*) AS c FROM s GROUP BY k, COUNTWINDOW(4)',
  'SELECT k, median(v) AS c FROM s GROUP BY k, COUNTWINDOW(4)',
])('more groups than groupLimit stop the rule with limitPolicy fail: %s', async (sql) => {
  const { engine, clock } = await rule(sql, { groupLimit: 2, limitPolicy: 'fail' })
  await engine.feedRows('s', rows)
  await clock.advance(10)
  expect(engine.ruleStatus('r')).toMatchObject({ status: 'stopped by error' })
  expect(engine.ruleStatus('r').message).toMatch(/more than 2 groups/)
  expect(imbalance(engine.ruleLedger('r').rule)).toBe(0)
})

it('windows of a rule within its limits drop the oldest rows and count them', async () => {
  const { engine, clock } = await rule('SELECT * FROM s GROUP BY TUMBLINGWINDOW(ss, 10)', { windowLimit: 2 })
  await engine.feedRows('s', rows)
  await clock.advance(10_000)
  const { rule: ledger } = engine.ruleLedger('r')
  expect(ledger).toMatchObject({ received: 4, emitted: 2, dropped: { window_limit: 2 }, inFlight: 0 })
})
