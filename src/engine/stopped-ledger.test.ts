import { expect, it } from 'vitest'
import { manualClock } from '../core/clock.ts'
import { createEngine, imbalance } from './index.ts'

it('counts what a window held when its rule stopped once, as dropped', async () => {
  const engine = await createEngine({ clock: manualClock({ start: 1_700_000_000_000 }) })
  await engine.execute('CREATE STREAM demo () WITH (TYPE="memory", DATASOURCE="in", FORMAT="json")')
  await engine.createRule({
    id: 'r',
    sql: 'SELECT count(*) AS n FROM demo GROUP BY TUMBLINGWINDOW(ss, 10)',
    actions: [{ nop: {} }],
  })
  await engine.feedRows('demo', [{ temp: 1 }, { temp: 2 }])
  const running = engine.ruleLedger('r').rule
  expect(running).toMatchObject({ received: 2, inFlight: 2 })
  await engine.stopRule('r')
  const stopped = engine.ruleLedger('r').rule
  expect(stopped).toMatchObject({ received: 2, inFlight: 0, dropped: { stopped: 2 } })
  expect([imbalance(running), imbalance(stopped)]).toEqual([0, 0])
  await engine.close()
})
