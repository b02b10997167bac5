// The measured process: one engine, its streams and one rule, from the built bundle. argv: the job file (measure.ts).
import { closeSync, openSync, readFileSync, readSync } from 'node:fs'

const job = JSON.parse(readFileSync(process.argv[2], 'utf8'))
const { builtinConnectors, createEngine, manualClock } = await import(job.engine)
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
const cpuSeconds = () => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}

// A job with `feed` is fed from a file by this program, and its clock stands where the events are: processing-time windows
// fire as they would over the seconds the events took.
const clock = job.feed && manualClock({ start: job.feed.start })
const fed = job.feed && fedSource()
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

function fedSource() {
  let take
  const create = () => ({
    connect: async () => {},
    read: (deliver, signal) =>
      new Promise((resolve) => {
        take = deliver
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
  return { connector: { name: 'fed', source }, deliver: (chunk) => take(chunk) }
}

/** The file in blocks of whole lines, each at the time of its last event; then on until the last window has fired. */
async function feed() {
  await clock.advance(0)
  const file = openSync(job.feed.file)
  const block = Buffer.allocUnsafe(64 * 1024)
  let kept = 0
  for (;;) {
    const read = readSync(file, block, kept, block.length - kept)
    if (read === 0) break
    const end = block.lastIndexOf(10, kept + read - 1) + 1
    const line = block.toString('latin1', block.lastIndexOf(10, end - 2) + 1, end)
    await clock.advanceTo(Math.floor(Number(/"ts":([\d.]+)/.exec(line)[1])))
    const payloads = [block.subarray(0, end)]
    await fed.deliver({ kind: 'bytes', framing: 'lines', payloads, meta: [null], timestamp: clock.now() })
    block.copyWithin(0, end, kept + read)
    kept += read - end
  }
  closeSync(file)
  await clock.advance(3_600_000)
}
