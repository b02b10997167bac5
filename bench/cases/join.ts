/** Two inputs of 10,000 rows joined by key in one window: 10,000 pairs. */
import { join as path } from 'node:path'
import type { Bench } from '../contract.ts'
import { START, writeLines } from '../events.ts'
import { checkLedger, figuresOf, runRule } from '../measure.ts'
import { fileStream, nopSink, rule } from '../rules.ts'

export const join: Bench = {
  name: 'join',
  docs: 'two inputs of 10,000 rows joined by key in a window of 10 s',
  async measures({ folder, events: number }) {
    const rows = number(10_000)
    const left = path(folder, 'left.jsonl')
    const right = path(folder, 'right.jsonl')
    const time = (i: number): number => START + Math.floor((i * 9000) / rows)
    const later = START + 3_600_000
    function* side(key: string, id: (i: number) => number): Generator<string> {
      for (let i = 0; i < rows; i++) yield `{"id":"dev_${id(i)}","${key}":${i},"ts":${time(i)}}`
      yield `{"id":"last","${key}":0,"ts":${later}}`
    }
    writeLines(
      left,
      side('a', (i) => i),
    )
    writeLines(
      right,
      side('b', (i) => rows - 1 - i),
    )
    return [
      {
        name: `${rows} x ${rows}`,
        events: 2 * rows + 2,
        async run(bundle) {
          const result = await runRule(bundle, folder, {
            streams: [fileStream('l', left, { TIMESTAMP: 'ts' }), fileStream('r', right, { TIMESTAMP: 'ts' })],
            rule: rule(
              'SELECT l.id, l.a, r.b FROM l INNER JOIN r ON l.id = r.id GROUP BY TUMBLINGWINDOW(ss, 10)',
              nopSink(),
              { isEventTime: true, lateTolerance: 0 },
            ),
          })
          checkLedger(result.ledgers, { received: 2 * rows + 2 })
          const sent = Object.values(result.ledgers.sinks)[0]?.emitted ?? 0
          if (sent < rows) throw new Error(`${sent} pairs instead of ${rows}`)
          return figuresOf(result, 2 * rows + 2)
        },
      },
    ]
  },
}
