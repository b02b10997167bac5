/** Rows from outside into running streams, as if their connectors had read them. */
import type { Chunk } from '../connectors/contract.ts'
import { IxionError } from '../core/errors.ts'
import type { ValueObject } from '../core/values.ts'
import { countLines } from '../runtime/delivery.ts'
import type { StreamRunner } from '../runtime/stream-runner.ts'
import type { EngineEnvironment } from './environment.ts'
import { countJsonRows } from './push-body.ts'
import { Turns } from './turns.ts'

export class Feed {
  readonly #environment: EngineEnvironment
  readonly #runnersOf: (stream: string) => Promise<readonly StreamRunner[]>
  readonly #turns: Turns

  /** `runnersOf` gives every running source of a stream: shared, of rules, of trials. */
  constructor(environment: EngineEnvironment, runnersOf: (stream: string) => Promise<readonly StreamRunner[]>) {
    this.#environment = environment
    this.#runnersOf = runnersOf
    this.#turns = new Turns(environment.clock)
  }

  /** JSON texts of one row or an array of rows each; with `lines`, of one row a line. */
  payloads(stream: string, payloads: readonly Uint8Array[], framing?: 'lines', signal?: AbortSignal): Promise<number> {
    const content = { kind: 'bytes', fed: true, payloads, meta: [null], ...(framing && { framing }) } as const
    return this.#hand(stream, (timestamp) => ({ ...content, timestamp }), signal)
  }

  /** One request body, whose outline is checked first. Throws DECODE when it is no JSON rows. */
  async body(
    stream: string,
    body: Uint8Array,
    lines: boolean,
    signal?: AbortSignal,
  ): Promise<{ accepted: number; rules: number }> {
    this.#check(stream)
    const accepted = lines ? countLines(body) : countJsonRows(body)
    if (accepted === 0) return { accepted, rules: 0 }
    return { accepted, rules: await this.payloads(stream, [body], lines ? 'lines' : undefined, signal) }
  }

  rows(stream: string, rows: readonly ValueObject[], signal?: AbortSignal): Promise<number> {
    return this.#hand(stream, (timestamp) => ({ kind: 'rows', rows, meta: [null], timestamp }), signal)
  }

  /** How many rules' sources took the chunk, when they have accepted it. */
  async #hand(stream: string, chunkAt: (timestamp: number) => Chunk, signal?: AbortSignal): Promise<number> {
    this.#check(stream)
    const runners = await this.#runnersOf(stream)
    const chunk = chunkAt(this.#environment.clock.now())
    await Promise.all(runners.map((r) => this.#turns.hand(r, chunk, signal)))
    return runners.reduce((sum, r) => sum + r.attached, 0)
  }

  #check(stream: string): void {
    if (!this.#environment.streams.get(stream)) throw new IxionError('NOT_FOUND', `stream ${stream} is not found`)
  }
}
