/**
 * File to file: parse, filter, formula, JSON lines out. `cold` is the whole process from spawn with nothing warm; `marginal` is
 * what nine times as many further events cost (the difference of two runs), free of start-up and of the first compilation.
 */
import { join } from 'node:path'
import type { Bench, Bundle } from '../contract.ts'
import { type Expected, expected, readings, readingTexts, writeLines } from '../events.ts'
import { checkLedger, checkOutput, figuresOf, marginalFigures, type RunResult, runPeer, runRule } from '../measure.ts'
import { fileSink, fileStream, rule, seedResult, seedSql } from '../rules.ts'

interface Input {
  readonly file: string
  readonly events: number
  readonly results: Expected
}

export function* seedResults(events: number): Generator<string> {
  for (const reading of readings({ events })) {
    const text = seedResult(reading)
    if (text !== undefined) yield text
  }
}

function input(folder: string, events: number): Input {
  const file = join(folder, `readings-${events}.jsonl`)
  writeLines(file, readingTexts({ events }))
  return { file, events, results: expected(seedResults(events)) }
}

export const seed: Bench = {
  name: 'seed',
  docs: 'JSON lines of 60 bytes, file -> filter and formula -> file; cold and marginal',
  async measures({ folder, events }) {
    const few = input(folder, events(500_000))
    const many = input(folder, few.events * 10)
    const output = join(folder, 'results.jsonl')

    async function run(bundle: Bundle, { file, events, results }: Input): Promise<RunResult> {
      const result = await runRule(bundle, folder, {
        streams: [fileStream('s', file)],
        rule: rule(seedSql, fileSink(output)),
      })
      checkLedger(result.ledgers, {
        received: events,
        emitted: results.lines,
        filtered: events - results.lines,
        sent: results.lines,
      })
      await checkOutput(output, results)
      return result
    }

    return [
      {
        name: 'cold',
        events: few.events,
        async run(bundle) {
          return figuresOf(await run(bundle, few), few.events)
        },
        async peer(command) {
          const result = await runPeer(command, few.file, output)
          return { eventsPerCpuSecond: few.events / result.cpuSeconds, ...result }
        },
      },
      {
        name: 'marginal',
        events: many.events - few.events,
        budgets: [{ figure: 'eventsPerCpuSecond', atLeast: 4_000_000 }],
        async run(bundle) {
          const short = await run(bundle, few)
          const long = await run(bundle, many)
          return marginalFigures(short, long, many.events - few.events)
        },
        async peer(command) {
          const short = await runPeer(command, few.file, output)
          return marginalFigures(short, await runPeer(command, many.file, output), many.events - few.events)
        },
      },
    ]
  },
}
