/**
 * The sample of `npm start`: a broker on this machine, a small simulated fleet that publishes to it, and, the first time, a
 * stream and a rule created over REST. Results of the rule are printed as they arrive at the broker.
 */
import { type EmbeddedBroker, startEmbeddedBroker } from '../connectors/embedded-broker.ts'

const BROKER_PORT = 11883
const RESULTS = 'alerts/hot'
const devices = ['press-1', 'press-2', 'oven-1', 'oven-2', 'chiller-1']

export interface Sample {
  readonly broker: EmbeddedBroker
  /** Creates stream and rule unless they exist; prints where to look. `rest` is the daemon's address. */
  define(rest: string): Promise<void>
  close(): Promise<void>
}

/** Starts broker and fleet. Throws CONNECTION when the broker's port is taken. */
export async function startSample(print: (line: string) => void, port = BROKER_PORT): Promise<Sample> {
  const broker = await startEmbeddedBroker({ port })
  const { connectAsync } = await import('mqtt')
  const client = await connectAsync(broker.url)
  client.on('error', () => {})
  client.on('message', (topic, payload) => print(`${topic} ${payload}`))
  await client.subscribeAsync('alerts/#')
  const fleet = simulatedFleet()
  const timer = setInterval(() => {
    for (const { device, ...state } of fleet())
      client.publish(`fleet/${device}/state`, JSON.stringify({ device, ...state }))
  }, 1000)
  return {
    broker,
    define: (rest) => define(rest, broker.url, print),
    async close() {
      clearInterval(timer)
      await client.endAsync(true).catch(() => {})
      await broker.close()
    },
  }
}

/** Temperatures that wander between 15 and 45 degrees, one reading per device and call. */
function simulatedFleet(): () => { device: string; temp: number; vibration: number }[] {
  let step = 0
  return () => {
    step++
    return devices.map((device, i) => ({
      device,
      temp: Math.round((30 + 15 * Math.sin(step / (7 + i) + i)) * 10) / 10,
      vibration: Math.round((1 + Math.sin(step * (i + 1))) * 100) / 100,
    }))
  }
}

async function define(rest: string, broker: string, print: (line: string) => void): Promise<void> {
  const extra = JSON.stringify({ server: broker }).replaceAll('"', '\\"')
  await create(`${rest}/streams`, {
    sql: `CREATE STREAM fleet () WITH (TYPE="mqtt", DATASOURCE="fleet/+/state", FORMAT="JSON", SHARED="true", EXTRA="${extra}")`,
  })
  await create(`${rest}/rules`, {
    id: 'hot',
    name: 'Hot machines, in Fahrenheit',
    sql: 'SELECT device, trunc(temp * 1.8 + 32, 1) AS temp_f, vibration FROM fleet WHERE temp > 40',
    actions: [{ mqtt: { server: broker, topic: RESULTS, sendSingle: true } }],
  })
  const lines = [
    '',
    `Ixion runs. A simulated fleet publishes to ${broker}; rule "hot" keeps what is above 40 degrees.`,
    `  rules      ${rest}/rules`,
    `  status     ${rest}/rules/hot/status`,
    `  ledger     ${rest}/rules/hot/ledger`,
    `  stream     ${rest}/streams/fleet`,
    `What reaches topics alerts/# follows. Ctrl-C stops.`,
    '',
  ]
  for (const line of lines) print(line)
}

/** An existing definition of that name stays as it is: the user may have changed it. */
async function create(url: string, document: Record<string, unknown>): Promise<void> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(document),
  })
  const text = await response.text()
  if (!response.ok && !/already exists?/.test(text)) throw new Error(`the sample could not be created: ${text}`)
}
