/**
 * MQTT QoS 0 from a mosquitto broker whose queue is bounded; the publisher is another process. What the broker drops it
 * says itself: received + dropped by the broker = published.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { type Bench, type Bundle, type Measure, Skipped } from '../contract.ts'
import { type Expected, expected, type Reading, readings, writeLines } from '../events.ts'
import {
  checkLedger,
  checkOutput,
  figuresOf,
  marginalFigures,
  type RunResult,
  runSender,
  startRule,
} from '../measure.ts'
import { fileSink, nopSink, rule, stream } from '../rules.ts'
import { freePort } from './http-push.ts'

const MAX_QUEUED = 100_000
let broker: ChildProcess | undefined

/** 80 bytes each. */
function messageText({ id, temp, hum, ts }: Reading): string {
  const open = `{"id":"${id}","temp":${temp},"hum":${hum},"ts":${ts},"pad":"`
  return `${open}${'x'.repeat(Math.max(0, 78 - open.length))}"}`
}

interface Input {
  readonly file: string
  readonly events: number
  readonly results: Expected
}

function input(folder: string, events: number): Input {
  const all = [...readings({ events, seed: 2 })]
  const file = join(folder, `messages-${events}.jsonl`)
  writeLines(file, all.map(messageText))
  const passing = all.filter((r) => r.temp > 20)
  return { file, events, results: expected(passing.map((r) => `{"id":"${r.id}","temp":${r.temp},"ts":${r.ts}}`)) }
}

interface MqttRun extends RunResult {
  readonly droppedByBroker: number
}

export const mqtt: Bench = {
  name: 'mqtt',
  docs: 'QoS 0, 80-byte JSON from mosquitto -> filter -> file lines; and 10,000 devices in 10 s windows',
  async measures({ folder, events }) {
    const port = await startBroker(folder)
    const output = join(folder, 'results.jsonl')
    const few = input(folder, events(300_000))
    const many = input(folder, few.events * 4)

    async function run(
      bundle: Bundle,
      document: ReturnType<typeof rule>,
      { file, events }: Input,
      perSecond?: number,
    ): Promise<MqttRun> {
      const extra = JSON.stringify({ server: `tcp://127.0.0.1:${port}`, qos: 0 })
      const running = startRule(bundle, folder, {
        streams: [stream('s', { TYPE: 'mqtt', DATASOURCE: 'bench/readings', EXTRA: extra })],
        rule: document,
        until: 'told',
      })
      await running.ready
      const settings = { port, topic: 'bench/readings', file, perSecond }
      const { dropped } = await runSender<{ dropped: number }>('mqtt-publisher', settings)
      running.finish()
      const result = await running.result
      const { received } = result.ledgers.rule
      if (received + dropped !== events)
        throw new Error(`published ${events}, received ${received}, dropped by the broker ${dropped}`)
      checkLedger(result.ledgers, { received })
      return { ...result, droppedByBroker: dropped }
    }

    const filter = rule('SELECT id, temp, ts FROM s WHERE temp > 20', fileSink(output))
    const perDevice = rule(
      'SELECT id, count(*) AS n, avg(temp) AS t FROM s GROUP BY id, TUMBLINGWINDOW(ss, 10)',
      nopSink(),
    )

    async function filtered(bundle: Bundle, from: Input, perSecond?: number): Promise<MqttRun> {
      const result = await run(bundle, filter, from, perSecond)
      if (result.droppedByBroker === 0) {
        const { lines } = from.results
        checkLedger(result.ledgers, {
          received: from.events,
          emitted: lines,
          filtered: from.events - lines,
          sent: lines,
        })
        await checkOutput(output, from.results)
      }
      return result
    }

    const cold = (name: string, make: (bundle: Bundle) => Promise<MqttRun>): Measure => ({
      name,
      events: few.events,
      async run(bundle) {
        const result = await make(bundle)
        const figures = figuresOf(result, result.ledgers.rule.received)
        return { ...figures, droppedByBroker: result.droppedByBroker }
      },
    })
    const marginal = (
      name: string,
      atMost: number,
      make: (bundle: Bundle, from: Input) => Promise<MqttRun>,
    ): Measure => ({
      name,
      events: many.events - few.events,
      budgets: [{ figure: 'microsecondsPerEvent', atMost }],
      async run(bundle) {
        const short = await make(bundle, few)
        const long = await make(bundle, many)
        const more = long.ledgers.rule.received - short.ledgers.rule.received
        return { ...marginalFigures(short, long, more), droppedByBroker: short.droppedByBroker + long.droppedByBroker }
      },
    })
    return [
      cold('filter, cold', (bundle) => filtered(bundle, few)),
      cold('filter, cold, 50,000 messages a second', (bundle) => filtered(bundle, few, 50_000)),
      marginal('filter, marginal', 1.2, filtered),
      marginal('10 s windows per device, marginal', 1.0, (bundle, from) => run(bundle, perDevice, from)),
    ]
  },
  async close() {
    broker?.kill()
    broker = undefined
  },
}

/** Starts mosquitto on a free port of 127.0.0.1. */
async function startBroker(folder: string): Promise<number> {
  const path = [...(process.env['PATH'] ?? '').split(':'), '/usr/sbin', '/usr/local/sbin']
    .map((p) => join(p, 'mosquitto'))
    .find(existsSync)
  if (!path) throw new Skipped('mosquitto is not installed')
  const port = await freePort()
  const config = join(folder, 'mosquitto.conf')
  writeFileSync(
    config,
    [
      `listener ${port} 127.0.0.1`,
      'allow_anonymous true',
      'persistence false',
      `max_queued_messages ${MAX_QUEUED}`,
      'max_queued_bytes 0',
      'sys_interval 1',
      'log_type error',
      '',
    ].join('\n'),
  )
  broker = spawn(path, ['-c', config], { stdio: ['ignore', 'ignore', 'inherit'] })
  for (let i = 0; i < 200; i++) {
    if (await answers(port)) return port
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
  throw new Error('mosquitto does not listen')
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}
