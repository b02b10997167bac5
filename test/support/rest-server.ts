/** A REST server inside the test process, on a loopback port of its own. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Engine } from '../../src/engine/engine.ts'
import type { EngineOptions } from '../../src/engine/settings.ts'
import { applyLimits, createApp } from '../../src/server/app.ts'
import type { ServerSettings } from '../../src/server/services.ts'

export interface Answer {
  readonly status: number
  readonly body: string
  readonly headers: Headers
}

export interface RestServer {
  readonly url: string
  readonly engine: Engine
  /** Exit codes the server asked for. */
  readonly stops: readonly number[]
  request(method: string, path: string, body?: string, headers?: Record<string, string>): Promise<Answer>
  close(): Promise<void>
}

export async function startRestServer(
  options: EngineOptions = {},
  settings: Partial<ServerSettings> = {},
): Promise<RestServer> {
  const engine = await Engine.open({ drainLimit: 500, dataServer: { host: '127.0.0.1', port: 0 }, ...options })
  const stops: number[] = []
  const app = createApp({
    settings: {
      version: '2.4.0',
      dataDir: options.dataDir ?? '.',
      etcDir: options.etcDir ?? '.',
      authentication: false,
      metricsOnRest: true,
      maxBodyBytes: 1 << 24,
      auditLog: false,
      ...settings,
    },
    log: { debug() {}, info() {}, warn() {}, error() {} },
    runtime: {
      setLogLevel() {},
      setConsoleLog() {},
      setFileLog() {},
    },
    engine: async () => engine,
    now: Date.now,
    startedAt: Date.now(),
    stop: (code) => void stops.push(code),
  })
  const server = createServer(app.handle)
  applyLimits(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    engine,
    stops,
    async request(method, path, body, headers = {}) {
      const response = await fetch(url + path, {
        method,
        headers,
        redirect: 'manual',
        ...(body !== undefined && { body }),
      })
      return { status: response.status, body: await response.text(), headers: response.headers }
    },
    async close() {
      server.closeAllConnections()
      server.close()
      await engine.close()
    },
  }
}
