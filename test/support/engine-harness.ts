/** Connectors moved by hand: a source that is fed, and a sink that can be held, failed and released. */
import type {
  ByteChunk,
  Chunk,
  ConnectorDefinition,
  Deliver,
  Sink,
  SinkItem,
  Source,
} from '../../src/connectors/contract.ts'
import { connectors } from '../../src/connectors/index.ts'
import type { ValueObject } from '../../src/core/values.ts'

const text = new TextEncoder()

export interface ManualSource {
  readonly connector: ConnectorDefinition
  /** Delivers to every open source of the connector, as its reader would; resolves when all have room again. */
  deliver(chunk: Chunk): Promise<void>
  rows(rows: readonly ValueObject[], settled?: (error: Error | null) => void): Promise<void>
  json(documents: readonly unknown[], more?: Partial<ByteChunk>): Promise<void>
  lose(): void
  end(): void
  readonly open: number
}

export function manualSource(
  name: string,
  options: { emits?: 'bytes' | 'rows'; pausable?: boolean; now?: () => number } = {},
): ManualSource {
  const readers = new Set<{ deliver: Deliver; finish: (outcome: 'ended' | 'lost') => void }>()
  const now = options.now ?? (() => 0)
  const source: ManualSource = {
    connector: {
      name,
      source: {
        name,
        docs: 'Fed by a test.',
        emits: options.emits ?? 'rows',
        pausable: options.pausable ?? true,
        bounded: false,
        options: {},
        create: (): Source => ({
          connect: async () => {},
          read: (deliver, signal) =>
            new Promise((resolve) => {
              const reader = { deliver, finish: resolve }
              readers.add(reader)
              signal.addEventListener('abort', () => {
                readers.delete(reader)
                resolve('ended')
              })
            }),
          close: async () => {},
        }),
      },
    },
    async deliver(chunk) {
      await Promise.all([...readers].map((r) => r.deliver(chunk)))
    },
    rows: (rows, settled) =>
      source.deliver({ kind: 'rows', rows, meta: [null], timestamp: now(), ...(settled && { settled }) }),
    json: (documents, more = {}) =>
      source.deliver({
        kind: 'bytes',
        payloads: documents.map((d) => text.encode(typeof d === 'string' ? d : JSON.stringify(d))),
        meta: [null],
        timestamp: now(),
        ...more,
      }),
    lose() {
      for (const r of readers) r.finish('lost')
      readers.clear()
    },
    end() {
      for (const r of readers) r.finish('ended')
      readers.clear()
    },
    get open() {
      return readers.size
    },
  }
  return source
}

export interface ManualSink {
  readonly connector: ConnectorDefinition
  /** Payload texts, or JSON of values, in the order they were sent. */
  readonly sent: string[]
  /** While true, nothing is taken. */
  hold(held: boolean): void
  /** The next `count` sends fail with this. */
  failNext(count: number, error: () => Error): void
}

export function manualSink(name: string, takes: 'bytes' | 'rows' = 'bytes'): ManualSink {
  const sent: string[] = []
  let waiting: (() => void)[] = []
  let held = false
  let failures = 0
  let failure: () => Error = () => new Error('failed')
  const decoder = new TextDecoder()
  const create = (): Sink => ({
    connect: async () => {},
    async send(item: SinkItem, signal: AbortSignal) {
      while (held && !signal.aborted) {
        await new Promise<void>((resolve) => {
          waiting.push(resolve)
          signal.addEventListener('abort', () => resolve(), { once: true })
        })
      }
      if (signal.aborted) throw new Error('aborted')
      if (failures > 0) {
        failures--
        throw failure()
      }
      sent.push(
        item.payload
          ? decoder.decode(item.payload)
          : JSON.stringify(item.value, (_k, v) => (typeof v === 'bigint' ? Number(v) : v)),
      )
    },
    close: async () => {},
  })
  return {
    connector: { name, sink: { name, docs: 'Watched by a test.', takes, options: {}, create } },
    sent,
    hold(value) {
      held = value
      if (!value) for (const resume of waiting.splice(0)) resume()
      waiting = []
    },
    failNext(count, error) {
      failures = count
      failure = error
    },
  }
}

export function withConnectors(...more: ConnectorDefinition[]): ConnectorDefinition[] {
  return [...connectors, ...more]
}

/** Lets everything that is ready run. */
export async function settle(turns = 5): Promise<void> {
  for (let i = 0; i < turns; i++) await new Promise((resolve) => setImmediate(resolve))
}
