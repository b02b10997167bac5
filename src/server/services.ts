/** What the server is given by the program that runs it. */
import type { Engine } from '../engine/engine.ts'
import type { Logger } from '../engine/index.ts'
import type { Call, Reply } from './http.ts'

export interface ServerSettings {
  readonly version: string
  readonly dataDir: string
  readonly etcDir: string
  /** `basic.authentication` (spec/rest-api.md 12). */
  readonly authentication: boolean
  /** `/metrics` on the REST port: only when the Prometheus port is the REST port. */
  readonly metricsOnRest: boolean
  /** Largest request body, bytes. */
  readonly maxBodyBytes: number
  /** `basic.enableRestAuditLog` */
  readonly auditLog: boolean
}

/** Changes at run time (`PATCH /configs`); they live in memory only. */
export interface RuntimeConfiguration {
  setLogLevel(level: string): void
  setConsoleLog(on: boolean): void
  setFileLog(on: boolean): void
}

export interface Services {
  readonly settings: ServerSettings
  readonly log: Logger
  readonly runtime: RuntimeConfiguration
  /** Opens the engine on first use. */
  engine(): Promise<Engine>
  /** Wall clock, epoch ms, and the start of the process. */
  now(): number
  readonly startedAt: number
  /** Ends the process in order, after the answer is out; exit code 0, or 100 for a restart. */
  stop(exitCode: number): void
  /** Runs a request through the same routes (`/batch/req`). */
  dispatch(call: Omit<Call, 'params' | 'query'> & { readonly query: string }): Promise<Reply>
}
