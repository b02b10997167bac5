/** What connector tests share: a context, collecting consumers, brokers. Not part of the product. */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type {
  Chunk,
  ConnectorContext,
  Deliver,
  Sink,
  SinkDefinition,
  SinkItem,
  Source,
  SourceDefinition,
} from '../../src/connectors/contract.ts'
import { startEmbeddedBroker } from '../../src/connectors/embedded-broker.ts'
import { createResourcePool, type SharedResources } from '../../src/connectors/resource-pool.ts'
import { createTopicBus } from '../../src/connectors/topic-bus.ts'
import { systemClock } from '../../src/core/clock.ts'
import { validateOptions } from '../../src/core/validate.ts'
import type { ValueObject } from '../../src/core/values.ts'
import { makeCertificates } from './certificates.ts'

export interface TestContext extends ConnectorContext {
  readonly resources: SharedResources
  readonly logged: string[]
}

export function testContext(extra: Partial<ConnectorContext> = {}): TestContext {
  const logged: string[] = []
  const log = (message: string): void => void logged.push(message)
  return {
    clock: systemClock,
    log: { debug: log, info: log, warn: log, error: log },
    owner: 'test',
    dataDir: tmpdir(),
    etcDir: join(tmpdir(), 'etc'),
    topics: createTopicBus(),
    resources: createResourcePool(),
    dataServer: { host: '127.0.0.1', port: 0 },
    ...extra,
    logged,
  } as TestContext
}

export function makeSource(
  definition: SourceDefinition | undefined,
  datasource: string,
  properties: ValueObject,
  context: ConnectorContext,
): Source {
  if (!definition) throw new Error('no source')
  return definition.create(datasource, validateOptions(definition.options, properties, definition.name), context)
}

export function makeSink(
  definition: SinkDefinition | undefined,
  properties: ValueObject,
  context: ConnectorContext,
): Sink {
  if (!definition) throw new Error('no sink')
  return definition.create(validateOptions(definition.options, properties, definition.name), context)
}

export const item = (payload: string, dynamic: Record<string, string> = {}): SinkItem => ({
  payload: Buffer.from(payload),
  value: null,
  dynamic,
  rows: 1,
})

export const never = (): AbortSignal => new AbortController().signal

/** Payload texts of a chunk, one a document. */
export function textsOf(chunk: Chunk): string[] {
  if (chunk.kind === 'rows') return chunk.rows.map((row) => JSON.stringify(row))
  const payloads = chunk.payloads.map((payload) => Buffer.from(payload).toString())
  return chunk.framing === 'lines'
    ? payloads.flatMap((text) => text.replace(/\r?\n$/, '').split(/\r?\n/)).filter((line) => line !== '')
    : payloads
}

export interface Running {
  readonly chunks: Chunk[]
  texts(): string[]
  /** Resolves when `count` documents have come. */
  until(count: number): Promise<void>
  readonly done: Promise<'ended' | 'lost'>
  stop(): Promise<void>
}

/** The chunk with payloads of its own: the source may use its memory again once they are accepted. */
function kept(chunk: Chunk): Chunk {
  if (chunk.kind === 'rows' || chunk.packed) return chunk
  return { ...chunk, payloads: chunk.payloads.map((payload) => Buffer.from(payload)) }
}

/** Connects and reads a source; `answer` is what deliver returns (default: accepted at once). */
export async function run(source: Source, answer?: (chunk: Chunk) => void | Promise<void>): Promise<Running> {
  const controller = new AbortController()
  const chunks: Chunk[] = []
  const waiters = new Set<() => void>()
  const deliver: Deliver = (chunk) => {
    chunks.push(answer ? chunk : kept(chunk))
    for (const waiter of waiters) waiter()
    if (answer) return answer(chunk)
    chunk.settled?.(null)
  }
  await source.connect(controller.signal)
  const done = source.read(deliver, controller.signal)
  const texts = (): string[] => chunks.flatMap(textsOf)
  return {
    chunks,
    texts,
    until: (count) =>
      new Promise((resolve) => {
        const check = (): void => {
          if (texts().length < count) return
          waiters.delete(check)
          resolve()
        }
        waiters.add(check)
        check()
      }),
    done,
    async stop() {
      controller.abort()
      await done
      await source.close()
    },
  }
}

/** Asks again every 5 ms until it is so; after 20 s fails with `what` is not so. */
export async function eventually(
  check: () => boolean | Promise<boolean>,
  what: string | (() => string) = 'condition',
): Promise<void> {
  const limit = Date.now() + 20_000
  while (!(await check())) {
    if (Date.now() > limit) throw new Error(`still not: ${typeof what === 'string' ? what : what()}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

export async function temporaryDirectory(): Promise<{ path: string; remove(): Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), 'ixion-'))
  return { path, remove: () => rm(path, { recursive: true, force: true }) }
}

export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}

export interface TestBroker {
  readonly name: 'mosquitto' | 'aedes'
  readonly url: string
  /** Stops the broker process; with `start` the same port and (mosquitto) the same sessions come back. */
  stop(): Promise<void>
  start(): Promise<void>
  close(): Promise<void>
}

const mosquittoPaths = [
  '/usr/sbin/mosquitto',
  '/usr/local/sbin/mosquitto',
  '/opt/homebrew/sbin/mosquitto',
  '/usr/bin/mosquitto',
]

/** The mosquitto program, or undefined. MQTT 5 and persistent sessions across a broker restart need it. */
export function mosquittoBinary(): string | undefined {
  return [process.env['MOSQUITTO'] ?? '', ...mosquittoPaths].find((path) => path !== '' && existsSync(path))
}

export async function startAedes(): Promise<TestBroker> {
  const port = await freePort()
  let broker = await startEmbeddedBroker({ port })
  return {
    name: 'aedes',
    url: `tcp://127.0.0.1:${port}`,
    stop: () => broker.close(),
    async start() {
      broker = await startEmbeddedBroker({ port })
    },
    close: () => broker.close(),
  }
}

/** Fails, with what to do, when mosquitto is not installed. */
export async function startMosquitto(settings: readonly string[] = []): Promise<TestBroker> {
  const binary = mosquittoBinary()
  if (!binary)
    throw new Error('this test needs mosquitto: install it (apt-get install mosquitto) or set MOSQUITTO to its path')
  const directory = await temporaryDirectory()
  const port = await freePort()
  const user = process.getuid?.() === 0 ? ['user root'] : []
  const config = [
    `listener ${port} 127.0.0.1`,
    ...user,
    'allow_anonymous true',
    'persistence true',
    `persistence_location ${directory.path}/`,
    'max_queued_messages 0',
    ...settings,
  ]
  const file = join(directory.path, 'mosquitto.conf')
  await writeFile(file, `${config.join('\n')}\n`)
  let child: ReturnType<typeof spawn> | undefined
  const start = async (): Promise<void> => {
    child = spawn(binary, ['-c', file], { stdio: 'ignore' })
    await eventually(() => reachable(port), 'mosquitto listening')
  }
  const stop = async (): Promise<void> => {
    const running = child
    child = undefined
    if (!running) return
    const gone = new Promise((resolve) => running.once('exit', resolve))
    running.kill('SIGTERM')
    await gone
  }
  await start()
  return {
    name: 'mosquitto',
    url: `tcp://127.0.0.1:${port}`,
    start,
    stop,
    async close() {
      await stop()
      await directory.remove()
    },
  }
}

function reachable(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}

/** A certificate authority and a server certificate for localhost and 127.0.0.1, as files. */
export async function certificates() {
  const directory = await temporaryDirectory()
  const { ca, cert, key } = makeCertificates()
  for (const [name, text] of Object.entries({ 'ca.pem': ca, 'cert.pem': cert, 'key.pem': key })) {
    await writeFile(join(directory.path, name), text)
  }
  return {
    ca: join(directory.path, 'ca.pem'),
    cert: join(directory.path, 'cert.pem'),
    key: join(directory.path, 'key.pem'),
    remove: directory.remove,
  }
}
