/**
 * MQTT QoS 0 from a mosquitto broker whose queue is bounded; the publisher is another process. What the broker drops it
 * says itself: received + dropped by the broker = published.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { type Bench, type Figures, type Measure, Skipped } from '../contract.ts'
import { expected, numbers, START, writeLines } from '../events.ts'
import { checkLedger, checkOutput, figuresOf, type RunResult, runSender, startRule } from '../measure.ts'
import { fileSink, nopSink, rule, stream } from '../rules.ts'
import { freePort } from './http-push.ts'

const MAX_QUEUED = 100_000
let broker: ChildProcess | undefined

interface Message {
  readonly id: string
  readonly temp: number
  readonly i: number
}

/** 80 bytes each. */
function* messages(events: number): Generator<Message & { text: string }> {
  const random = numbers(2)
  for (let i = 0; i < events; i++) {
    const id = `dev_${random(10_000)}`
    const temp = (150 + random(200)) / 10
    const open = `{"id":"${id}","temp":${temp},"seq":${i},"ts":${START + i},"pad":"`
    yield { id, temp, i, text: `${open}${'x'.repeat(Math.max(0, 78 - open.length))}"}` }
  }
}

export const mqtt: Bench = {
  name: 'mqtt',
  docs: 'QoS 0, 80-byte JSON from mosquitto -> filter -> file lines; and 10,000 devices in 10 s windows',
  async measures({ folder, events: number }) {
    const events = number(300_000)
    const port = await startBroker(folder)
    const file = join(folder, 'messages.jsonl')
    const output = join(folder, 'results.jsonl')
    const all = [...messages(events)]
    writeLines(
      file,
      all.map((m) => m.text),
    )
    const passing = all.filter((m) => m.temp > 20)
    const results = expected(passing.map((m) => `{"id":"${m.id}","seq":${m.i},"temp":${m.temp}}`))

    const measure = (
      name: string,
      ruleDocument: ReturnType<typeof rule>,
      budget: number,
      perSecond: number | undefined,
      check: (result: RunResult) => Promise<void> | void,
    ): Measure => ({
      name,
      events,
      budgets: [{ figure: 'afterStartMicrosecondsPerEvent', atMost: budget }],
      async run(bundle): Promise<Figures> {
        const running = startRule(bundle, folder, {
          streams: [
            stream('s', {
              TYPE: 'mqtt',
              DATASOURCE: 'bench/readings',
              EXTRA: JSON.stringify({ server: `tcp://127.0.0.1:${port}`, qos: 0 }),
            }),
          ],
          rule: ruleDocument,
          until: 'told',
        })
        await running.ready
        const before = await runSender<{ dropped: number }>('mqtt-publisher', {
          port,
          topic: 'bench/none',
          file: '/dev/null',
        })
        const { published, dropped } = await runSender<{ published: number; dropped: number }>('mqtt-publisher', {
          ...{ port, topic: 'bench/readings', file, perSecond },
        })
        const lost = dropped - before.dropped
        running.finish()
        const result = await running.result
        const { received } = result.ledgers.rule
        if (received + lost !== published)
          throw new Error(`published ${published}, received ${received}, dropped by the broker ${lost}`)
        checkLedger(result.ledgers, { received })
        if (lost === 0) await check(result)
        const figures = figuresOf(result, received)
        return {
          afterStartMicrosecondsPerEvent: 1e6 / (figures['afterStartEventsPerCpuSecond'] as number),
          ...figures,
          droppedByBroker: lost,
        }
      },
    })
    const filtered = (result: RunResult): void =>
      checkLedger(result.ledgers, {
        received: events,
        emitted: results.lines,
        filtered: events - results.lines,
        sent: results.lines,
      })
    const filterRule = rule('SELECT id, temp, seq FROM s WHERE temp > 20', fileSink(output))
    const checkAll = async (result: RunResult): Promise<void> => {
      filtered(result)
      await checkOutput(output, results)
    }
    return [
      measure('filter, as fast as the broker', filterRule, 1.2, undefined, checkAll),
      measure('filter, 50,000 messages a second', filterRule, 1.2, 50_000, checkAll),
      measure(
        'per device 10 s windows',
        rule('SELECT id, count(*) AS n, avg(temp) AS t FROM s GROUP BY id, TUMBLINGWINDOW(ss, 10)', nopSink()),
        1.0,
        undefined,
        () => {},
      ),
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
  mkdirSync(folder, { recursive: true })
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
