// The measured process: one engine, its streams and one rule, from the built bundle. argv: the job file (measure.ts).
import { closeSync, openSync, readFileSync, readSync } from 'node:fs'

const job = JSON.parse(readFileSync(process.argv[2], 'utf8'))
const { builtinConnectors, createEngine, manualClock } = await import(job.engine)
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
const cpuSeconds = () => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}

// A job with `feed` is fed from files by this program, and its clock stands where the events are: processing-time windows
// fire as they would over the seconds the events took.
const clock = job.feed && manualClock({ start: job.feed.start })
const fed = job.feed && fedSource()
const samples = []
const engine = await createEngine({
  ...(job.feed && { clock, connectors: [...builtinConnectors, fed.connector] }),
  allowPrivateNetwork: true,
  ...(job.dataPort && { dataServer: { host: '127.0.0.1', port: job.dataPort } }),
  ...(process.env.IXION_BENCH_LOG && { log: consoleLog() }),
})
const { id } = job.rule
let startCpuSeconds = 0
let failure
let refused = false
try {
  for (const sql of job.streams) await engine.execute(sql)
  await engine.createRule(job.rule)
} catch (error) {
  failure = `${id}: ${error.message}`
  refused = error.code === 'NOT_SUPPORTED'
}
if (!failure) {
  if (job.until !== 'ended' && !job.feed) {
    const connected = () =>
      engine.ruleStatus(id).counters.some(([name, value]) => /^source_.*_connection_status$/.test(name) && value === 1)
    while (!connected()) await wait(5)
  }
  startCpuSeconds = cpuSeconds()
  process.send({ ready: true })
  const told = new Promise((resolve) => process.on('message', resolve))
  if (job.feed) await feed()
  else if (job.until === 'told') await told
  else if (job.until === 'ended') while (engine.ruleStatus(id).status === 'running') await wait(5)
  else while (engine.ruleLedger(id).rule.received < job.until) await wait(10)
  if (job.until === 'ended' && !job.feed) {
    while (engine.ruleStatus(id).status === 'stopping') await wait(1)
    const { status, message } = engine.ruleStatus(id)
    if (status !== 'stopped') failure = `${status}: ${message}`
  } else await engine.stopRule(id)
}
const { rule, sinks } = failure ? {} : engine.ruleLedger(id)
await engine.close()
const report = {
  failure,
  refused,
  ledgers: { rule, sinks },
  samples,
  startCpuSeconds,
  wallSeconds: performance.now() / 1000,
  peakResidentMB: process.resourceUsage().maxRSS / 1024,
  systemSeconds: process.cpuUsage().system / 1e6,
  cpuSeconds: cpuSeconds(),
}
process.send({ report }, () => process.exit(0))

function consoleLog() {
  const write = (message, fields) => console.error(message, fields ?? '')
  return { debug() {}, info: write, warn: write, error: write }
}

/** Streams of type `fed`, told apart by their DATASOURCE. */
function fedSource() {
  const takers = new Map()
  const create = (name) => ({
    connect: async () => {},
    read: (deliver, signal) =>
      new Promise((resolve) => {
        takers.set(name, deliver)
        signal.addEventListener('abort', () => resolve('ended'))
      }),
    close: async () => {},
  })
  const source = {
    name: 'fed',
    docs: 'Fed by the bench.',
    emits: 'bytes',
    pausable: true,
    bounded: false,
    options: {},
    create,
  }
  return { connector: { name: 'fed', source }, deliver: (name, chunk) => takers.get(name)(chunk) }
}

/** The blocks in turn, each at the time of its last event; then on until the last window has fired. */
async function feed() {
  const { files, blocks, sample } = job.feed
  await clock.advance(0)
  const handles = new Map(Object.entries(files).map(([name, path]) => [name, openSync(path)]))
  const room = Buffer.allocUnsafe(Math.max(...blocks.map(([, bytes]) => bytes)))
  let taken = 0
  for (const [name, bytes, events, time] of blocks) {
    await clock.advanceTo(time)
    readSync(handles.get(name), room, 0, bytes)
    const payloads = [room.subarray(0, bytes)]
    await fed.deliver(name, { kind: 'bytes', framing: 'lines', payloads, meta: [null], timestamp: clock.now() })
    taken += events
    if (sample && taken >= sample.after && (taken - sample.after) % sample.every === 0) {
      // Whatever these events have started is theirs.
      await clock.advance(0)
      samples.push(cpuSeconds())
    }
  }
  for (const handle of handles.values()) closeSync(handle)
  await clock.advance(3_600_000)
}
