/** Medians with their spread, and how they stand to the budgets. */
import type { Figures, Measure } from './contract.ts'

export interface Spread {
  readonly median: number
  readonly min: number
  readonly max: number
}

export interface Summary {
  readonly bench: string
  readonly measure: string
  readonly of: string
  readonly events: number
  readonly runs: number
  readonly figures: Readonly<Record<string, Spread>>
  readonly budgets: readonly { readonly figure: string; readonly limit: string; readonly met: boolean }[]
  readonly node: string
}

export function summaryOf(bench: string, measure: Measure, of: string, runs: readonly Figures[]): Summary {
  const figures: Record<string, Spread> = {}
  for (const name of Object.keys(runs[0] as Figures)) {
    const sorted = runs.map((r) => r[name] as number).sort((a, b) => a - b)
    const middle = sorted.length >> 1
    const median =
      sorted.length % 2 === 1
        ? (sorted[middle] as number)
        : ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2
    figures[name] = { median: round(median), min: round(sorted[0] as number), max: round(sorted.at(-1) as number) }
  }
  const budgets = (measure.budgets ?? []).flatMap(({ figure, atLeast, atMost }) => {
    const value = figures[figure]?.median
    if (value === undefined) return []
    const limit = atLeast !== undefined ? `at least ${shown(atLeast)}` : `at most ${shown(atMost as number)}`
    return [{ figure, limit, met: atLeast !== undefined ? value >= atLeast : value <= (atMost as number) }]
  })
  return {
    bench,
    measure: measure.name,
    of,
    events: measure.events,
    runs: runs.length,
    figures,
    budgets,
    node: process.version,
  }
}

export function printTable(summary: Summary, naming: boolean): void {
  const who = naming ? ` [${summary.of}]` : ''
  console.log(
    `\n${summary.bench}: ${summary.measure}${who}, ${shown(summary.events)} events, ${summary.runs} runs, Node.js ${summary.node}`,
  )
  for (const [name, { median, min, max }] of Object.entries(summary.figures)) {
    const budget = summary.budgets.find((b) => b.figure === name)
    const verdict = budget ? `   budget ${budget.limit}: ${budget.met ? 'met' : 'MISSED'}` : ''
    console.log(
      `  ${name.padEnd(30)} ${shown(median).padStart(12)}   ${shown(min).padStart(12)} to ${shown(max).padStart(12)}${verdict}`,
    )
  }
}

function round(n: number): number {
  return Math.abs(n) >= 1000 ? Math.round(n) : Number(n.toPrecision(4))
}

function shown(n: number): string {
  return round(n).toLocaleString('en-US', { maximumFractionDigits: 4 })
}
