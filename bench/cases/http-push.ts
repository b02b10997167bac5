/** HTTP push, 500 events a request, over 8 keep-alive connections; the sender is another process. */
import { createServer } from 'node:net'
import { join } from 'node:path'
import type { Bench } from '../contract.ts'
import { readingTexts, writeLines } from '../events.ts'
import { checkLedger, figuresOf, runSender, startRule } from '../measure.ts'
import { nopSink, rule, seedSql, stream } from '../rules.ts'
import { seedResults } from './seed.ts'

export const httpPush: Bench = {
  name: 'http-push',
  docs: 'the same events pushed over HTTP, 500 a request, 8 connections -> nop',
  async measures({ folder, events: number }) {
    const events = number(500_000)
    const file = join(folder, 'readings.jsonl')
    writeLines(file, readingTexts({ events }))
    let emitted = 0
    for (const _ of seedResults(events)) emitted++
    return [
      {
        name: 'arrays of 500',
        events,
        budgets: [{ figure: 'afterStartEventsPerCpuSecond', atLeast: 1_500_000 }],
        async run(bundle) {
          const port = await freePort()
          const running = startRule(bundle, folder, {
            streams: [stream('s', { TYPE: 'httppush', DATASOURCE: '/readings' })],
            rule: rule(seedSql, nopSink({ sendSingle: true })),
            until: events,
            dataPort: port,
          })
          await running.ready
          const sender = await runSender<{ sent: number; refused: number }>('http-sender', {
            ...{ port, path: '/readings', file, perRequest: 500, connections: 8 },
          })
          if (sender.sent !== events) throw new Error(`${sender.refused} events were refused, ${sender.sent} accepted`)
          const result = await running.result
          checkLedger(result.ledgers, { received: events, emitted, filtered: events - emitted, sent: emitted })
          return figuresOf(result, events)
        },
      },
    ]
  },
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })
}
