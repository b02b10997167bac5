/** HTTP push, 500 events a request, over 8 keep-alive connections; the sender is another process. */
import { createServer } from 'node:net'
import { join } from 'node:path'
import type { Bench, Bundle } from '../contract.ts'
import { readingTexts, writeLines } from '../events.ts'
import { checkLedger, figuresOf, marginalFigures, type RunResult, runSender, startRule } from '../measure.ts'
import { nopSink, rule, seedSql, stream } from '../rules.ts'
import { seedResults } from './seed.ts'

interface Input {
  readonly file: string
  readonly events: number
  readonly passing: number
}

export const httpPush: Bench = {
  name: 'http-push',
  docs: 'the same events pushed over HTTP, 500 a request, 8 connections -> nop; cold and marginal',
  async measures({ folder, events }) {
    const input = (events: number): Input => {
      const file = join(folder, `readings-${events}.jsonl`)
      writeLines(file, readingTexts({ events }))
      let passing = 0
      for (const _ of seedResults(events)) passing++
      return { file, events, passing }
    }
    const few = input(events(500_000))
    const many = input(few.events * 5)

    async function run(bundle: Bundle, { file, events, passing }: Input): Promise<RunResult> {
      const port = await freePort()
      const running = startRule(bundle, folder, {
        streams: [stream('s', { TYPE: 'httppush', DATASOURCE: '/readings' })],
        rule: rule(seedSql, nopSink({ sendSingle: true })),
        until: events,
        dataPort: port,
      })
      await running.ready
      const settings = { port, path: '/readings', file, perRequest: 500, connections: 8 }
      const { sent, refused } = await runSender<{ sent: number; refused: number }>('http-sender', settings)
      if (sent !== events) throw new Error(`${refused} events were refused, ${sent} accepted`)
      const result = await running.result
      checkLedger(result.ledgers, { received: events, emitted: passing, filtered: events - passing, sent: passing })
      return result
    }

    return [
      {
        name: 'cold',
        events: few.events,
        async run(bundle) {
          return figuresOf(await run(bundle, few), few.events)
        },
      },
      {
        name: 'marginal',
        events: many.events - few.events,
        budgets: [{ figure: 'eventsPerCpuSecond', atLeast: 1_500_000 }],
        async run(bundle) {
          return marginalFigures(await run(bundle, few), await run(bundle, many), many.events - few.events)
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
