/** Queries of embedding programs: temporary rules whose results go to a callback. */
import type { SinkDefinition } from '../connectors/contract.ts'
import type { LedgerReading } from '../core/ledger.ts'
import type { ValueObject } from '../core/values.ts'

/** A query of an embedding program: a temporary rule whose results go to a callback. */
export interface QueryOptions {
  readonly sql: string
  /** Called with the rows of each result; returning a promise holds the query back. */
  readonly onResult: (rows: readonly ValueObject[]) => void | Promise<void>
  /** Default: `query_1`, `query_2` ... */
  readonly id?: string
  /** Rule options (spec/rest-api.md 4.2). */
  readonly options?: ValueObject
}

export interface Query {
  readonly id: string
  /** Received, emitted, filtered, dropped by reason, in flight. */
  ledger(): LedgerReading
  stop(): Promise<void>
}

/** The sink of one query. */
export function callbackSink(id: string, onResult: QueryOptions['onResult']): SinkDefinition {
  return {
    name: `callback_${id}`,
    docs: 'Results of an embedded query.',
    takes: 'rows',
    options: {},
    create: () => ({
      async connect() {},
      async send(item) {
        await onResult((Array.isArray(item.value) ? item.value : [item.value]) as ValueObject[])
      },
      async close() {},
    }),
  }
}
