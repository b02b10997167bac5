/** Runs benches and prints their figures: a table, or with --json one JSON line per measure. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { benches } from './cases/index.ts'
import { type Bench, type Contender, type Figures, type Measure, Skipped } from './contract.ts'
import { printTable, type Summary, summaryOf } from './report.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: 'boolean', default: false },
    runs: { type: 'string', default: '5' },
    events: { type: 'string' },
    vs: { type: 'string' },
    dist: { type: 'string', multiple: true, default: ['dist'] },
    keep: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

const names = positionals.length > 0 ? positionals : values.help ? [] : benches.map((b) => b.name)
const unknown = names.filter((name) => !benches.some((b) => b.name === name))
if (values.help || unknown.length > 0) {
  if (unknown.length > 0) console.error(`no such bench: ${unknown.join(', ')}`)
  console.error(
    "npm run bench -- [NAME ...] [--json] [--runs N] [--events N] [--vs 'COMMAND {input} {output}'] [--dist FOLDER ...] [--keep]\n",
  )
  for (const bench of benches) console.error(`  ${bench.name.padEnd(12)} ${bench.docs}`)
  process.exit(unknown.length > 0 ? 2 : 0)
}
const runs = positive('runs', values.runs) as number
const events = positive('events', values.events)
const contenders: Contender[] = values.dist.map((folder) => ({
  kind: 'bundle',
  name: folder,
  folder: resolve(folder),
}))
if (values.vs) contenders.push({ kind: 'command', name: 'peer', command: values.vs })

let failed = false
for (const bench of benches.filter((b) => names.includes(b.name))) await runBench(bench)
process.exit(failed ? 1 : 0)

async function runBench(bench: Bench): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), `ixion-bench-${bench.name}-`))
  try {
    const measures = await bench.measures({ folder, events: (ordinary) => events ?? ordinary })
    for (const measure of measures) await runMeasure(bench, measure)
  } catch (error) {
    report(bench, error)
  } finally {
    await bench.close?.()
    if (values.keep) console.error(`${bench.name}: kept ${folder}`)
    else rmSync(folder, { recursive: true, force: true })
  }
}

/** Contenders in turn, so that a change of the machine's speed meets them all. */
async function runMeasure(bench: Bench, measure: Measure): Promise<void> {
  const results = new Map<Contender, Figures[]>(contenders.map((c) => [c, []]))
  try {
    for (let i = 0; i < runs; i++) {
      for (const [contender, figures] of results) {
        if (contender.kind === 'bundle') figures.push(await measure.run(contender))
        else if (measure.peer) figures.push(await measure.peer(contender.command))
      }
    }
  } catch (error) {
    report(bench, error, measure)
    return
  }
  for (const [contender, figures] of results) {
    if (figures.length === 0) continue
    const judged = contender.kind === 'bundle' ? measure : { ...measure, budgets: [] }
    const summary = summaryOf(bench.name, judged, contender.name, figures)
    if (values.json) console.log(JSON.stringify(summary))
    else printTable(summary, contenders.length > 1)
  }
  if (!values.json && contenders.length > 1) printRatios(results)
}

/** Pair by pair against the first contender. */
function printRatios(results: ReadonlyMap<Contender, readonly Figures[]>): void {
  const [[first, base], ...others] = [...results] as [[Contender, Figures[]], ...[Contender, Figures[]][]]
  for (const [contender, figures] of others) {
    const ratios = figures
      .map((f, i) => (f['cpuSeconds'] as number) / ((base[i] as Figures)['cpuSeconds'] as number))
      .sort((a, b) => a - b)
    if (ratios.length > 0)
      console.log(
        `  CPU of ${contender.name} / ${first.name}, pair by pair: ${ratios[0]?.toFixed(3)} to ${ratios.at(-1)?.toFixed(3)}, median ${ratios[ratios.length >> 1]?.toFixed(3)}`,
      )
  }
}

function report(bench: Bench, error: unknown, measure?: Measure): void {
  const name = measure ? `${bench.name}: ${measure.name}` : bench.name
  const text = error instanceof Error ? error.message : String(error)
  if (error instanceof Skipped) console.error(`${name}: skipped: ${text}`)
  else {
    failed = true
    console.error(`${name}: FAILED: ${text}`)
  }
}

function positive(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const n = Number(text)
  if (Number.isInteger(n) && n > 0) return n
  console.error(`--${name} takes a whole number above 0`)
  process.exit(2)
}

export type { Summary }
