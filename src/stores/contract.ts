/** The key-value contract behind definitions, checkpoints, keyed state and sink caches. Keys and values are bytes-safe text. */
export interface KeyValueStore {
  get(key: string): Promise<string | undefined>
  /** Resolves when the value is durable (synced) for durable stores. */
  set(key: string, value: string): Promise<void>
  delete(key: string): Promise<void>
  /** All or nothing, durable when it resolves. `null` deletes. */
  batch(changes: readonly (readonly [key: string, value: string | null])[]): Promise<void>
  /** Entries whose key starts with `prefix`, in key order. */
  entries(prefix: string): AsyncIterable<readonly [key: string, value: string]>
}

/** A store divides into named tables; closing the store closes them. */
export interface Store {
  table(name: string): KeyValueStore
  dropTable(name: string): Promise<void>
  close(): Promise<void>
}
