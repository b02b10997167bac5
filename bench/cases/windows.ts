/**
 * What the window benches share: events through a windowed rule into a nop sink, measured after warm-up.
 *
 * How flat the cost is: one process runs one rule, takes the events that compile the hot code, and then notes its own CPU every
 * hundredth of the events that follow. Every hundredth has the same composition (so many windows, each with every group), so
 * whatever makes one dearer than another is the number of events before it, or chance. Garbage collection is in all figures.
 */
import { closeSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { BenchSettings, Budget, Bundle, Figures, Measure } from '../contract.ts'
import { numbers, START } from '../events.ts'
import { checkLedger, type Feed, type RunResult, runRule } from '../measure.ts'
import { nopSink, rule, stream } from '../rules.ts'

export interface WindowJob {
  readonly sql: string
  /** Streams by their key: the file's events go to them in turn. Default: `s`. */
  readonly streams?: readonly string[]
  /** Processing time, with the clock where the events are. Default: event time. */
  readonly processingTime?: boolean
  /** Every device comes once in so many events of a stream, in the same scattered order each time, as devices that report regularly do. */
  readonly devices: number
  /** Each time in another order: no memory is visited in the order of the last time. */
  readonly shuffled?: boolean
  /** Time between two events of a stream, ms; may be a fraction. */
  readonly step: number
  /** A silence of `ms` after every so many events of a stream. */
  readonly pause?: { readonly every: number; readonly ms: number }
  readonly warmUp: number
  /** Events after warm-up. */
  readonly events: number
  /** Rows the sink must have got from so many events, all windows but the last one's closed by a last event an hour later. */
  readonly results: (events: number) => number
}

/** Events delivered at once. */
const BLOCK = 1000
const SAMPLES = 100
/**
 * Processes a flatness is made of; each cost is the median of theirs. A ratio of single runs would say how unsteady the machine
 * is: of four costs one is always dear by chance.
 */
const ROUNDS = 7

/** Cost per event over ten hundredths of the run in different places, over its first and last tenth, and over all of it. */
export function flatOverEvents(settings: BenchSettings, name: string, given: WindowJob): Measure {
  const job = prepare(settings, name, given)
  return {
    name: `${name}, flat over events`,
    events: given.events,
    budgets: flatBudget,
    async run(bundle) {
      const rounds: Figures[] = []
      for (let i = 0; i < ROUNDS; i++) {
        const result = await job(bundle)
        rounds.push({ ...costsOver(result.samples, given.events), ...warmFigures(result, given.events) })
      }
      return withFlatness(rounds)
    },
  }
}

function costsOver(samples: readonly number[], events: number): Figures {
  const part = events / SAMPLES
  const cost = (from: number, to: number): number =>
    (((samples[to] as number) - (samples[from] as number)) * 1e6) / ((to - from) * part)
  const tenth = SAMPLES / 10
  let spread = 0
  // Not the first hundredth: in it the measuring itself is compiled.
  for (let i = tenth / 2; i < SAMPLES; i += tenth) spread += cost(i, i + 1) / 10
  return {
    [`at${part}Microseconds`]: spread,
    [`atFirst${part * tenth}Microseconds`]: cost(0, tenth),
    [`atLast${part * tenth}Microseconds`]: cost(SAMPLES - tenth, SAMPLES),
    [`at${events}Microseconds`]: cost(0, SAMPLES),
  }
}

/** Cost per event after warm-up in one process for each size, the largest one's memory. */
export function flatOver(
  settings: BenchSettings,
  name: string,
  what: string,
  sizes: readonly number[],
  jobOf: (size: number) => WindowJob,
  budgets: readonly Budget[] = flatBudget,
): Measure {
  const jobs = sizes.map((size) => {
    const given = jobOf(size)
    return { size, given, run: prepare(settings, `${name} ${size}`, given) }
  })
  return {
    name: `${name}, flat over ${what}`,
    events: Math.max(...jobs.map((j) => j.given.events)),
    budgets,
    async run(bundle) {
      const rounds: Figures[] = []
      for (let i = 0; i < ROUNDS; i++) {
        const costs: Record<string, number> = {}
        let last: Figures = {}
        for (const { size, given, run } of jobs) {
          last = warmFigures(await run(bundle), given.events)
          costs[`of${size}Microseconds`] = last['microsecondsPerEvent'] as number
        }
        const { cpuSeconds, peakAnonymousMB, peakResidentMB } = last as Record<string, number>
        rounds.push({ ...costs, cpuSeconds, peakAnonymousMB, peakResidentMB } as Figures)
      }
      return withFlatness(rounds)
    },
  }
}

/** One rule after warm-up, against a budget. */
export function warmMeasure(
  settings: BenchSettings,
  name: string,
  given: WindowJob,
  budgets: readonly Budget[],
): Measure {
  const run = prepare(settings, name, given)
  return { name, events: given.events, budgets, run: async (bundle) => warmFigures(await run(bundle), given.events) }
}

const flatBudget: readonly Budget[] = [{ figure: 'flatness', atMost: 1.2 }]

/** The medians of several rounds, and the dearest of their costs over the cheapest. */
function withFlatness(rounds: readonly Figures[]): Figures {
  const medians: Record<string, number> = {}
  for (const name of Object.keys(rounds[0] as Figures)) {
    const values = rounds.map((round) => round[name] as number).sort((a, b) => a - b)
    medians[name] = values[values.length >> 1] as number
  }
  const costs = Object.keys(medians).flatMap((name) =>
    /^(at|of).*Microseconds$/.test(name) ? [medians[name] as number] : [],
  )
  return { flatness: Math.max(...costs) / Math.min(...costs), ...medians }
}

function warmFigures({ samples, peakAnonymousMB, peakResidentMB }: RunResult, events: number): Figures {
  const cpuSeconds = (samples.at(-1) as number) - (samples[0] as number)
  return {
    eventsPerCpuSecond: events / cpuSeconds,
    microsecondsPerEvent: (cpuSeconds * 1e6) / events,
    cpuSeconds,
    peakAnonymousMB,
    peakResidentMB,
  }
}

/** Makes the input when first run. Every event must arrive, none be lost, and every result leave. */
function prepare({ folder }: BenchSettings, name: string, job: WindowJob): (bundle: Bundle) => Promise<RunResult> {
  const streams = job.streams ?? ['s']
  const time: Record<string, string> = job.processingTime ? {} : { TIMESTAMP: 'ts' }
  const options = { windowLimit: 2_000_000, ...(!job.processingTime && { isEventTime: true, lateTolerance: 0 }) }
  const total = job.warmUp + job.events
  let feed: Feed | undefined
  return async (bundle) => {
    feed ??= writeFeed(join(folder, name.replaceAll(/[^a-z0-9]+/gi, '-')), streams, job)
    const result = await runRule(bundle, folder, {
      feed,
      streams: streams.map((s) => stream(s, { TYPE: 'fed', DATASOURCE: s, ...time })),
      rule: rule(job.sql, nopSink(), options),
    })
    const received = total + streams.length
    checkLedger(result.ledgers, { received, sent: job.results(total) })
    const { stopped = 0, ...lost } = result.ledgers.rule.dropped
    if (Object.keys(lost).length > 0 || stopped > streams.length)
      throw new Error(`dropped: ${JSON.stringify(result.ledgers.rule.dropped)}`)
    return result
  }
}

/** A file a stream; the last event of each is an hour later, so that the windows before it end. */
function writeFeed(path: string, streams: readonly string[], job: WindowJob): Feed {
  const total = job.warmUp + job.events
  const files: Record<string, string> = {}
  const blocks: Feed['blocks'][number][] = []
  const handles = streams.map((s) => {
    files[s] = `${path}-${s}.jsonl`
    return openSync(files[s], 'w')
  })
  const random = numbers(1)
  const order = new Uint32Array(job.devices).map((_, i) => i)
  const shuffle = (): void => {
    for (let i = order.length - 1; i > 0; i--) {
      const other = random(i + 1)
      const id = order[i] as number
      order[i] = order[other] as number
      order[other] = id
    }
  }
  const line = (i: number, ts: number): string => {
    const id = order[i % job.devices]
    return `{"id":"dev_${id}","temp":${(150 + random(200)) / 10},"hum":${40 + random(50)},"ts":${ts}}\n`
  }
  const write = (stream: number, text: string, events: number, ts: number): void => {
    blocks.push([streams[stream] as string, writeSync(handles[stream] as number, text), events, ts])
  }
  const timeOf = (i: number): number =>
    START + Math.floor(i * job.step + (job.pause ? Math.floor(i / job.pause.every) * job.pause.ms : 0))
  const perBlock = BLOCK / streams.length
  for (let i = 0; i < total / streams.length; i += perBlock) {
    for (let s = 0; s < streams.length; s++) {
      let text = ''
      for (let k = i; k < i + perBlock; k++) {
        // Streams of one job have the same order.
        if (s === 0 && k % job.devices === 0 && (k === 0 || job.shuffled)) shuffle()
        text += line(k, timeOf(k))
      }
      write(s, text, perBlock, timeOf(i + perBlock - 1))
    }
  }
  const end = timeOf(total) + 3_600_000
  for (let s = 0; s < streams.length; s++) write(s, line(0, end), 1, end)
  for (const handle of handles) closeSync(handle)
  return { files, blocks, start: START, sample: { after: job.warmUp, every: job.events / SAMPLES } }
}
