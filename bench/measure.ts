/**
 * One run of one rule in a fresh process (programs/rule.mjs), measured from the outside and by the process itself:
 *
 * - CPU seconds: user and system time of all its threads, from spawn to exit;
 * - resident memory: the kernel's high-water mark; anonymous memory: the largest of samples taken every 25 ms;
 * - the ledger of rule and sinks after the end, which must balance.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createReadStream, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { LedgerReading } from '../src/core/ledger.ts'
import { imbalance } from '../src/core/ledger.ts'
import { type Bundle, type Figures, Skipped } from './contract.ts'
import type { Expected } from './events.ts'

const program = (name: string): string => fileURLToPath(new URL(`programs/${name}.mjs`, import.meta.url))

export interface RuleJob {
  readonly streams: readonly string[]
  readonly rule: Readonly<Record<string, unknown>> & { readonly id: string }
  /** `ended`: the source ends by itself. A number: so many events have been received. `told`: {@link Running.finish}. */
  readonly until: 'ended' | 'told' | number
  /** What the program feeds itself. */
  readonly feed?: Feed
  /** Port of the data server on 127.0.0.1. */
  readonly dataPort?: number
}

/** Files of lines by the DATASOURCE of a stream of type `fed`, in blocks, the clock following them. */
export interface Feed {
  readonly files: Readonly<Record<string, string>>
  readonly blocks: readonly (readonly [datasource: string, bytes: number, events: number, time: number])[]
  /** Where the clock begins, epoch ms. */
  readonly start: number
  /** The CPU used so far is noted after so many events, and then every so many ({@link RunResult.samples}). */
  readonly sample?: { readonly after: number; readonly every: number }
}

export interface Ledgers {
  readonly rule: LedgerReading
  readonly sinks: Readonly<Record<string, LedgerReading>>
}

export interface RunResult {
  /** Whole process, spawn to exit. */
  readonly cpuSeconds: number
  /** Until the rule runs: start-up, loading, planning. Part of `cpuSeconds`. */
  readonly startCpuSeconds: number
  /** Time in the system's own code (reading, writing, page faults). Part of `cpuSeconds`. */
  readonly systemSeconds: number
  readonly wallSeconds: number
  readonly peakResidentMB: number
  readonly peakAnonymousMB: number
  readonly ledgers: Ledgers
  /** CPU seconds since spawn at the points of {@link Feed.sample}. */
  readonly samples: readonly number[]
}

export interface Running {
  /** The rule runs and its source is connected. */
  readonly ready: Promise<void>
  readonly result: Promise<RunResult>
  /** Ends a `told` run. */
  finish(): void
}

const MB = 1024 * 1024

/** Extra node flags for the measured process (`--cpu-prof ...`). */
const nodeFlags = (process.env['IXION_BENCH_NODE_FLAGS'] ?? '').split(' ').filter(Boolean)

export function startRule(bundle: Bundle, folder: string, job: RuleJob): Running {
  const engine = join(bundle.folder, 'engine.mjs')
  if (!existsSync(engine)) throw new Skipped(`${engine} is not built`)
  const file = join(folder, 'job.json')
  writeFileSync(file, JSON.stringify({ engine, ...job }))
  const child = spawn(process.execPath, [...nodeFlags, program('rule'), file], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const anonymous = sampleAnonymous(child)
  let report: (RunResult & { readonly failure?: string; readonly refused?: boolean }) | undefined
  let isReady = (): void => {}
  let isNotReady = (_error: Error): void => {}
  const ready = new Promise<void>((resolve, reject) => {
    isReady = resolve
    isNotReady = reject
  })
  ready.catch(() => {})
  child.on('message', (message: { readonly ready?: true; readonly report?: RunResult }) => {
    if (message.ready) isReady()
    if (message.report) report = message.report
  })
  const result = new Promise<RunResult>((resolve, reject) => {
    child.on('close', (code) => {
      const peakAnonymousMB = anonymous()
      const problem = report?.refused
        ? new Skipped(report.failure)
        : new Error(report?.failure ?? `the measured process ended with code ${code}`)
      if (code !== 0 || !report || report.failure) {
        isNotReady(problem)
        reject(problem)
        return
      }
      resolve({ ...report, peakAnonymousMB })
    })
  })
  result.catch(() => {})
  return {
    ready,
    result,
    finish: () => void child.send('finish'),
  }
}

/** Runs a rule whose source ends by itself. */
export const runRule = (bundle: Bundle, folder: string, job: Omit<RuleJob, 'until'>): Promise<RunResult> =>
  startRule(bundle, folder, { ...job, until: 'ended' }).result

/** Samples the anonymous memory of a process; the function returned stops and gives the largest, MB. */
export function sampleAnonymous(child: ChildProcess): () => number {
  let most = 0
  const sample = (): void => {
    most = Math.max(most, anonymousMB(child.pid as number))
  }
  const timer = setInterval(sample, 25)
  return () => {
    clearInterval(timer)
    return most
  }
}

export function anonymousMB(pid: number): number {
  return procNumber(pid, 'smaps_rollup', /^Anonymous:\s+(\d+)/m) / 1024
}

export function residentMB(pid: number): number {
  return procNumber(pid, 'status', /^VmRSS:\s+(\d+)/m) / 1024
}

function procNumber(pid: number, file: string, pattern: RegExp): number {
  try {
    return Number(pattern.exec(readFileSync(`/proc/${pid}/${file}`, 'utf8'))?.[1] ?? 0)
  } catch {
    return 0
  }
}

/** CPU seconds of a running process so far, in steps of the kernel's clock tick. */
export function cpuSecondsOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) / 100
}

/** Every event in exactly one place, and the counts as they must be. */
export function checkLedger(
  ledgers: Ledgers,
  wanted: { readonly received: number; readonly emitted?: number; readonly filtered?: number; readonly sent?: number },
): void {
  for (const [name, ledger] of Object.entries({ rule: ledgers.rule, ...ledgers.sinks })) {
    const off = imbalance(ledger)
    if (off !== 0) throw new Error(`the ledger of ${name} is off by ${off}: ${JSON.stringify(ledger)}`)
  }
  const { rule } = ledgers
  for (const key of ['received', 'emitted', 'filtered'] as const) {
    const want = wanted[key]
    if (want !== undefined && rule[key] !== want)
      throw new Error(`${key} is ${rule[key]} and should be ${want}: ${JSON.stringify(rule)}`)
  }
  if (wanted.sent === undefined) return
  for (const [name, ledger] of Object.entries(ledgers.sinks)) {
    if (ledger.emitted !== wanted.sent)
      throw new Error(`${name} has sent ${ledger.emitted} rows and should have sent ${wanted.sent}`)
  }
}

/** Every byte of an output file. */
export async function checkOutput(file: string, wanted: Expected): Promise<void> {
  const hash = createHash('sha256')
  let lines = 0
  let last = 10
  for await (const chunk of createReadStream(file, { highWaterMark: MB }) as AsyncIterable<Buffer>) {
    if (last === 10 && lines > 0) hash.update('\n')
    let feed = chunk.indexOf(10)
    while (feed >= 0) {
      lines++
      feed = chunk.indexOf(10, feed + 1)
    }
    last = chunk[chunk.length - 1] as number
    hash.update(last === 10 ? chunk.subarray(0, -1) : chunk)
  }
  if (last !== 10) lines++
  if (lines !== wanted.lines) throw new Error(`${file} has ${lines} lines and should have ${wanted.lines}`)
  if (hash.digest('hex') !== wanted.hash) throw new Error(`${file} does not hold the expected text`)
}

/** The figures every rule measure has. */
export function figuresOf(result: RunResult, events: number): Figures {
  return {
    eventsPerCpuSecond: events / result.cpuSeconds,
    microsecondsPerEvent: (result.cpuSeconds * 1e6) / events,
    afterStartEventsPerCpuSecond: events / (result.cpuSeconds - result.startCpuSeconds),
    cpuSeconds: result.cpuSeconds,
    startCpuSeconds: result.startCpuSeconds,
    systemSeconds: result.systemSeconds,
    wallSeconds: result.wallSeconds,
    peakResidentMB: result.peakResidentMB,
    peakAnonymousMB: result.peakAnonymousMB,
    rowsIn: result.ledgers.rule.received,
    rowsFiltered: result.ledgers.rule.filtered,
    rowsDropped: Object.values(result.ledgers.rule.dropped).reduce((sum, n) => sum + n, 0),
    rowsInFlight: result.ledgers.rule.inFlight,
    rowsOut: Object.values(result.ledgers.sinks)[0]?.emitted ?? 0,
  }
}

export interface Times {
  readonly cpuSeconds: number
  readonly wallSeconds: number
}

/**
 * What further events cost: the difference of a long and a short run, free of start-up and of the first compilation. `events`
 * is by how many the long run has more.
 */
export function marginalFigures(short: Times, long: Times, events: number): Figures {
  const cpuSeconds = long.cpuSeconds - short.cpuSeconds
  return {
    eventsPerCpuSecond: events / cpuSeconds,
    microsecondsPerEvent: (cpuSeconds * 1e6) / events,
    cpuSeconds,
    wallSeconds: long.wallSeconds - short.wallSeconds,
    ...('peakAnonymousMB' in long && { peakAnonymousMB: (long as RunResult).peakAnonymousMB }),
    ...('peakResidentMB' in long && { peakResidentMB: (long as RunResult).peakResidentMB }),
  }
}

/** Another engine's command over the same files: CPU of the command and its children, as the shell accounts for them. */
export async function runPeer(command: string, input: string, output: string): Promise<Times> {
  const line = command.replaceAll('{input}', input).replaceAll('{output}', output)
  const started = performance.now()
  const child = spawn('bash', ['-c', `TIMEFORMAT='cpu %U %S'; time (${line})`], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let errors = ''
  child.stderr?.on('data', (text) => {
    errors = (errors + text).slice(-10_000)
  })
  const code = await new Promise((resolve) => child.on('close', resolve))
  const wallSeconds = (performance.now() - started) / 1000
  const times = /cpu ([\d.]+) ([\d.]+)\s*$/.exec(errors)
  if (code !== 0 || !times) throw new Error(`${line} ended with code ${code}: ${errors}`)
  if (!existsSync(output) || statSync(output).size === 0) throw new Error(`${line} wrote nothing to ${output}`)
  return { cpuSeconds: Number(times[1]) + Number(times[2]), wallSeconds }
}

/** Starts a load generator; resolves with what it prints at its end, as JSON. Its CPU is not part of any figure. */
export async function runSender<T>(name: string, settings: unknown): Promise<T> {
  const child = spawn(process.execPath, [program(name), JSON.stringify(settings)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let text = ''
  child.stdout?.on('data', (part) => {
    text += part
  })
  const code = await new Promise((resolve) => child.on('close', resolve))
  if (code !== 0) throw new Error(`${name} ended with code ${code}`)
  return JSON.parse(text) as T
}
