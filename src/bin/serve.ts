/**
 * The daemon: settings -> REST listener -> engine. `/ping` is answered as soon as the listener is open; the engine loads when
 * a request needs it or stored rules are waiting.
 */
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Engine } from '../engine/engine.ts'
import { applyLimits, createApp } from '../server/app.ts'
import { type ServeArguments, serveArguments, usage } from './arguments.ts'
import { createLog, type DaemonLog } from './log.ts'
import { loadSettings, type Paths, type Settings, type Tls } from './settings.ts'

/** The version of the reference whose API is served; clients check it. */
const COMPATIBLE_VERSION = '2.4.0'
/** Stored rules start after the first request, or after this time: the first answer does not wait for them. */
const WARM_UP_DELAY = 50

/** The daemon from its command line. Runs until a signal, `/stop` or a failure ends the process. */
export async function main(words: readonly string[]): Promise<void> {
  if (words.some((word) => /^--?h(elp)?$/.test(word))) {
    process.stdout.write(`${usage}\n`)
    return
  }
  try {
    await serve(serveArguments(words))
  } catch (error) {
    fail(messageOf(error))
  }
}

async function serve(given: ServeArguments): Promise<void> {
  const startedAt = Date.now()
  const paths = resolvePaths(given)
  const settings = await loadSettings(paths.etc, process.env)
  const { basic } = settings
  const host = given.host ?? basic.restIp
  const port = given.port ?? basic.restPort
  if (basic.prometheus && !basic.prometheusPort) fail('basic.prometheus is on but basic.prometheusPort is not set')
  const log = createLog({
    level: basic.debug ? 'debug' : basic.logLevel,
    console: basic.consoleLog,
    file: basic.fileLog,
    format: basic.logFormat,
    folder: paths.log,
    rotateSize: basic.rotateSize,
    rotateCount: basic.rotateCount,
  })
  for (const key of settings.unread) log.warn(`kuiper.yaml: ${key} has no effect: Ixion knows no such setting`)
  mkdirSync(paths.data, { recursive: true })

  const engine = engineLoader(settings, paths, log)
  const closing: (() => void)[] = []
  const stop = stopper(settings, log, engine, closing)
  let warm: (() => void) | null = null
  const app = createApp({
    settings: {
      version: COMPATIBLE_VERSION,
      dataDir: paths.data,
      etcDir: paths.etc,
      authentication: basic.authentication,
      metricsOnRest: basic.prometheusPort === basic.restPort,
      maxBodyBytes: basic.maxBodyBytes,
      auditLog: basic.enableRestAuditLog,
    },
    log,
    runtime: {
      setLogLevel: (level) => log.setLevel(level),
      setConsoleLog: (on) => log.setConsole(on),
      setFileLog: (on) => log.setFile(on),
    },
    engine: () => engine.open(),
    now: () => Date.now(),
    startedAt,
    stop: (code) => setTimeout(() => void stop(code), 1000),
  })
  const server = basic.restTls ? await secureServer(basic.restTls, paths) : createServer()
  server.on('request', (request, response) => {
    app.handle(request, response)
    if (warm) setImmediate(warm)
  })
  applyLimits(server)
  closing.push(() => closeServer(server))
  const bound = await listen(server, host, port)

  const scheme = basic.restTls ? 'https' : 'http'
  process.stdout.on('error', () => {})
  process.stderr.on('error', () => {})
  if (basic.embeddedBroker) await startBroker(basic.embeddedBrokerPort)
  process.stdout.write(
    `Serving kuiper (version - ${COMPATIBLE_VERSION}) on port ${bound}, and restful api on ${scheme}://${host.includes(':') ? `[${host}]` : host}:${bound}.\n`,
  )
  guardProcess(log)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => void stop(0))

  warm = () => {
    warm = null
    clearTimeout(timer)
    engine.startStored().catch((error) => {
      log.error('the stored definitions cannot be read', { error: messageOf(error) })
      process.exit(1)
    })
    if (basic.prometheus && basic.prometheusPort !== basic.restPort) {
      void serveMetrics(basic.prometheusPort, engine, startedAt, log, closing)
    }
  }
  const timer = setTimeout(warm, WARM_UP_DELAY)
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

function fail(message: string): never {
  process.stderr.write(`${message}\n`)
  process.exit(1)
}

/** Folders from flags, `$KuiperBaseKey`, the working directory, or, for etc, the package. */
function resolvePaths(given: ServeArguments): Paths {
  const base = process.env['KuiperBaseKey'] ?? '.'
  const own = join(dirname(fileURLToPath(import.meta.url)), '..', 'etc')
  const near = join(base, 'etc')
  const etc = given.etc ?? (existsSync(near) ? near : existsSync(own) ? own : near)
  return {
    etc: resolve(etc),
    data: resolve(given.data ?? join(base, 'data')),
    log: resolve(given.log ?? join(base, 'log')),
  }
}

interface EngineLoader {
  open(): Promise<Engine>
  /** The engine if it was opened. */
  current(): Promise<Engine | null>
  startStored(): Promise<void>
}

function engineLoader(settings: Settings, paths: Paths, log: DaemonLog): EngineLoader {
  const { basic } = settings
  let opening: Promise<Engine> | null = null
  let store: Promise<import('../stores/contract.ts').Store> | null = null
  const openStore = (): Promise<import('../stores/contract.ts').Store> => {
    store ??= import('../stores/level.ts').then(({ levelStore }) => levelStore(join(paths.data, 'store')))
    store.catch(() => {
      store = null
    })
    return store
  }
  const zone = (name: string): string =>
    name === 'Local' || name === '' ? new Intl.DateTimeFormat('en').resolvedOptions().timeZone || 'UTC' : name
  const loader: EngineLoader = {
    open() {
      opening ??= load()
      opening.catch(() => {
        opening = null
      })
      return opening
    },
    current: async () => (opening ? opening.catch(() => null) : null),
    async startStored() {
      const opened = await openStore()
      if (opening || (await hasEntries(opened, ['rules', 'connections']))) await loader.open()
    },
  }
  const load = async (): Promise<Engine> => {
    const [opened, { Engine: Facade }] = await Promise.all([openStore(), import('../engine/engine.ts')])
    const engine = await Facade.open({
      store: opened,
      log,
      dataDir: paths.data,
      etcDir: paths.etc,
      timezone: zone(basic.timezone),
      ignoreCase: basic.ignoreCase,
      ruleDefaults: settings.rule,
      sinkDefaults: settings.sink,
      drainLimit: basic.gracefulShutdownTimeout,
      dataServer: {
        host: settings.source.httpServerIp,
        port: settings.source.httpServerPort,
        ...(settings.source.httpServerTls && { tls: settings.source.httpServerTls }),
      },
      allowPrivateNetwork: basic.enablePrivateNet,
      allowExternalFiles: basic.allowExternalFileAccess,
      environmentVariables: process.env,
      ...(basic.aesKey && { aesKey: Buffer.from(basic.aesKey, 'base64') }),
      ...(settings.security.tls && { defaultTls: settings.security.tls }),
      ...(settings.security.encryption && { defaultEncryption: settings.security.encryption }),
    })
    engine.startStoredRules().catch((error) => log.error('stored rules do not start', { error: messageOf(error) }))
    return engine
  }
  return loader
}

async function hasEntries(store: import('../stores/contract.ts').Store, tables: readonly string[]): Promise<boolean> {
  for (const table of tables) for await (const _ of store.table(table).entries('')) return true
  return false
}

async function secureServer(tls: Tls, paths: Paths): Promise<Server> {
  const { createServer: createSecure } = await import('node:https')
  const read = (path: string): Buffer => {
    try {
      return readFileSync(resolve(dirname(paths.etc), path))
    } catch (error) {
      return fail(`basic.restTls: cannot read ${path}: ${messageOf(error)}`)
    }
  }
  return createSecure({ cert: read(tls.certfile), key: read(tls.keyfile) }) as unknown as Server
}

function listen(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolvePort) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const why =
        error.code === 'EADDRINUSE'
          ? 'the port is in use; stop the other program or choose another basic.restPort'
          : error.message
      fail(`cannot listen on ${host}:${port}: ${why}`)
    })
    server.listen(port, host, () => {
      server.removeAllListeners('error')
      const address = server.address()
      resolvePort(typeof address === 'object' && address ? address.port : port)
    })
  })
}

function closeServer(server: Server): void {
  server.close()
  server.closeIdleConnections()
}

/** Runs until the process ends: rules still send to it while they drain. */
async function startBroker(port: number): Promise<void> {
  const { startEmbeddedBroker } = await import('../connectors/embedded-broker.ts')
  const { url } = await startEmbeddedBroker({ port })
  process.stdout.write(`Serving an embedded MQTT broker on ${url}\n`)
}

async function serveMetrics(
  port: number,
  engine: EngineLoader,
  startedAt: number,
  log: DaemonLog,
  closing: (() => void)[],
): Promise<void> {
  const { exposition } = await import('../server/prometheus.ts')
  const server = createServer((request, response) => {
    if (request.url?.split('?')[0] !== '/metrics') {
      response.writeHead(404, { 'Content-Type': 'text/plain; charset=utf-8' }).end('404 page not found\n')
      return
    }
    engine
      .open()
      .then((opened) => {
        response.writeHead(200, { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8' })
        response.end(exposition(opened, { startedAt }))
      })
      .catch((error) => response.writeHead(500).end(messageOf(error)))
  })
  applyLimits(server)
  server.on('error', (error) => log.error('metrics are not served', { port, error: error.message }))
  server.listen(port, '0.0.0.0', () => {
    process.stdout.write(`Serving prometheus metrics on port http://localhost:${port}/metrics\n`)
  })
  closing.push(() => closeServer(server))
}

/** Sources stop, accepted rows drain, each rule's ledger is printed; a second call exits at once. */
function stopper(
  settings: Settings,
  log: DaemonLog,
  engine: EngineLoader,
  closing: readonly (() => void)[],
): (code: number) => Promise<void> {
  let stopping = false
  return async (code) => {
    if (stopping) process.exit(code === 0 ? 130 : code)
    stopping = true
    log.info('stopping')
    // One more second than rules may take: the limit itself is theirs.
    setTimeout(() => {
      log.error('stopping takes too long, leaving')
      process.exit(code)
    }, settings.basic.gracefulShutdownTimeout + 1000).unref()
    for (const close of closing) close()
    let failed = false
    try {
      const opened = await engine.current()
      await opened?.close()
      for (const { rule, state, ledger } of opened?.ledgers() ?? []) {
        process.stdout.write(`ledger ${JSON.stringify({ rule, state, ...ledger.rule, sinks: ledger.sinks })}\n`)
      }
    } catch (error) {
      failed = true
      log.error('the end was not clean', { error: messageOf(error) })
    }
    process.exitCode = failed && code === 0 ? 1 : code
    process.stdout.write('', () => process.exit())
  }
}

/** An error nobody caught: logged; the process lives on unless they pour in. */
function guardProcess(log: DaemonLog): void {
  let recent: number[] = []
  const caught = (kind: string) => (error: unknown) => {
    log.error(kind, { error: error instanceof Error ? (error.stack ?? error.message) : String(error) })
    const now = Date.now()
    recent = [...recent.filter((t) => now - t < 10_000), now]
    if (recent.length > 100) process.exit(1)
  }
  process.on('uncaughtException', caught('uncaught exception'))
  process.on('unhandledRejection', caught('unhandled rejection'))
}
