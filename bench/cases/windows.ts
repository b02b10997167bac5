/** What the window benches share: a file of readings through a windowed rule into a nop sink. */
import { join } from 'node:path'
import type { BenchSettings, Budget, Measure } from '../contract.ts'
import { type ReadingOptions, readingText, readingTexts, START, writeLines } from '../events.ts'
import { checkLedger, figuresOf, runRule } from '../measure.ts'
import { fileStream, nopSink, rule, stream } from '../rules.ts'

export interface WindowMeasure extends ReadingOptions {
  /** Processing time, with the clock where the events are. Default: event time. */
  readonly processingTime?: boolean
  readonly name: string
  readonly sql: string
  readonly budgets?: readonly Budget[]
}

/** Every event arrives, none is lost, and every open window ends: a last event an hour later closes them. */
export function windowMeasure({ folder }: BenchSettings, options: WindowMeasure): Measure {
  const file = join(folder, `${options.name.replaceAll(/[^a-z0-9]+/gi, '-')}.jsonl`)
  const { events } = options
  let made = false
  const make = (): void => {
    if (made) return
    made = true
    const last = { id: 'dev_0', temp: 15, hum: 40, ts: START + events * (options.step ?? 1) + 3_600_000 }
    writeLines(file, withLast(options, readingText(last)))
  }
  return {
    name: options.name,
    events: events + 1,
    ...(options.budgets && { budgets: options.budgets }),
    async run(bundle) {
      make()
      const result = await runRule(
        bundle,
        folder,
        options.processingTime
          ? {
              feed: { file, start: START },
              streams: [stream('s', { TYPE: 'fed', DATASOURCE: 'file' })],
              rule: rule(options.sql, nopSink()),
            }
          : {
              streams: [fileStream('s', file, { TIMESTAMP: 'ts' })],
              rule: rule(options.sql, nopSink(), { isEventTime: true, lateTolerance: 0 }),
            },
      )
      const { rule: ledger } = result.ledgers
      checkLedger(result.ledgers, { received: events + 1 })
      const lost = Object.entries(ledger.dropped).filter(([reason]) => reason !== 'stopped')
      if (lost.length > 0) throw new Error(`dropped: ${JSON.stringify(ledger.dropped)}`)
      return figuresOf(result, events + 1)
    },
  }
}

function* withLast(options: ReadingOptions, last: string): Generator<string> {
  yield* readingTexts(options)
  yield last
}
