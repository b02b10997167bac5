// The measured process: one engine, its streams and one rule, from the built bundle. argv: the job file (measure.ts).
import { readFileSync } from 'node:fs'

const job = JSON.parse(readFileSync(process.argv[2], 'utf8'))
const { createEngine } = await import(job.engine)
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
const cpuSeconds = () => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}

const engine = await createEngine({
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
  if (job.until !== 'ended') {
    const connected = () =>
      engine.ruleStatus(id).counters.some(([name, value]) => /^source_.*_connection_status$/.test(name) && value === 1)
    while (!connected()) await wait(5)
  }
  startCpuSeconds = cpuSeconds()
  process.send({ ready: true })
  const told = new Promise((resolve) => process.on('message', resolve))
  if (job.until === 'told') await told
  else if (job.until === 'ended') while (engine.ruleStatus(id).status === 'running') await wait(5)
  else while (engine.ruleLedger(id).rule.received < job.until) await wait(10)
  if (job.until === 'ended') {
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
