/** SHARED streams: one source and one decode for all rules; opened by the first, closed with the last (spec/sql.md 6.7). */
import type { ColumnType } from '../formats/contract.ts'
import type { Consumer } from '../runtime/delivery.ts'
import type { Attachment, StreamRunner } from '../runtime/stream-runner.ts'
import { unionColumns } from './column-types.ts'
import type { StatelessLane } from './columnar-lane.ts'
import type { EngineEnvironment } from './environment.ts'
import { SharedLanes } from './shared-lanes.ts'
import { createDecoder, createSourceRun, decodeOptions, type ResolvedSource } from './source-run.ts'

interface SharedStream {
  readonly runner: Promise<StreamRunner>
  readonly wanted: Map<Consumer, ReadonlyMap<string, ColumnType> | null>
  readonly lanes: SharedLanes
  resolved: ResolvedSource
}

export class SharedStreams {
  readonly #environment: EngineEnvironment
  readonly #streams = new Map<string, SharedStream>()
  /** Streams being closed: the next first rule waits, so that ports and client ids are free again. */
  readonly #closing = new Map<string, Promise<void>>()

  constructor(environment: EngineEnvironment) {
    this.#environment = environment
  }

  /** `names` are those of the chain's nodes as the attaching rule's topology has them. */
  async attach(
    resolved: ResolvedSource,
    attachment: Attachment,
    columns: ReadonlyMap<string, ColumnType> | null,
    names: readonly string[],
  ): Promise<StreamRunner> {
    const { name } = resolved.definition
    await this.#closing.get(name)
    let stream = this.#streams.get(name)
    if (!stream) {
      const wanted = new Map([[attachment.consumer as Consumer, columns]])
      const lanes = new SharedLanes(decodeOptions(this.#environment, resolved, null))
      stream = {
        wanted,
        lanes,
        resolved,
        runner: createSourceRun(this.#environment, resolved, { names, columns, metaUnused: false, scanner: lanes }),
      }
      this.#streams.set(name, stream)
      try {
        const runner = await stream.runner
        runner.attach(attachment)
        return runner
      } catch (error) {
        this.#streams.delete(name)
        throw error
      }
    }
    const runner = await stream.runner
    stream.wanted.set(attachment.consumer, columns)
    await this.#redecode(stream)
    runner.attach(attachment)
    return runner
  }

  /** The decoder takes what all attached rules want together. */
  async #redecode(stream: SharedStream): Promise<void> {
    const runner = await stream.runner
    const columns = unionColumns([...stream.wanted.values()])
    if (stream.resolved.facts.decoder)
      runner.chain.setDecoder(await createDecoder(this.#environment, stream.resolved, columns))
  }

  /** The consumer takes part in scans of the stream's chunks. */
  shareScan(name: string, consumer: Consumer, lane: StatelessLane): void {
    this.#streams.get(name)?.lanes.add(consumer, lane)
  }

  async detach(name: string, consumer: Consumer): Promise<void> {
    const stream = this.#streams.get(name)
    if (!stream) return
    stream.lanes.remove(consumer)
    const runner = await stream.runner
    runner.detach(consumer)
    stream.wanted.delete(consumer)
    if (runner.attached > 0) {
      await this.#redecode(stream)
      return
    }
    if (this.#streams.get(name) !== stream) return
    this.#streams.delete(name)
    const closed = runner.stop().finally(() => this.#closing.delete(name))
    this.#closing.set(name, closed)
    await closed
  }

  /** Starts sources that have not been started; a running one is left alone. */
  startAll(): void {
    for (const stream of this.#streams.values()) void stream.runner.then((r) => r.start()).catch(() => {})
  }

  async runner(name: string): Promise<StreamRunner | undefined> {
    return this.#streams.get(name)?.runner
  }

  /** Running shared streams, for metrics and the data feed. */
  async list(): Promise<StreamRunner[]> {
    return Promise.all([...this.#streams.values()].map((s) => s.runner))
  }
}
