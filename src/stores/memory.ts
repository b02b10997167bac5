import type { KeyValueStore, Store } from './contract.ts'

/** A store that lives as long as the process: tests, trial runs, embedding programs that keep no state. */
export function memoryStore(): Store {
  const tables = new Map<string, Map<string, string>>()
  const tableOf = (name: string): Map<string, string> => {
    let table = tables.get(name)
    if (!table) {
      table = new Map()
      tables.set(name, table)
    }
    return table
  }
  return {
    table: (name): KeyValueStore => ({
      get: async (key) => tableOf(name).get(key),
      set: async (key, value) => void tableOf(name).set(key, value),
      delete: async (key) => void tableOf(name).delete(key),
      batch: async (changes) => {
        const table = tableOf(name)
        for (const [key, value] of changes) {
          if (value === null) table.delete(key)
          else table.set(key, value)
        }
      },
      async *entries(prefix) {
        const keys = [...tableOf(name).keys()].filter((k) => k.startsWith(prefix)).sort()
        for (const key of keys) {
          const value = tableOf(name).get(key)
          if (value !== undefined) yield [key, value] as const
        }
      },
    }),
    dropTable: async (name) => void tables.delete(name),
    close: async () => {},
  }
}
