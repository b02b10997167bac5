import { mkdir } from 'node:fs/promises'
import { IxionError, messageOf } from '../core/errors.ts'
import type { KeyValueStore, Store } from './contract.ts'

/** Between table and key; table names never contain it. */
const SEPARATOR = '\u0000'
/** Sorts after every key of a table. */
const AFTER = '\u0001'

/**
 * The embedded durable store: LevelDB in `folder`. Every write is synced before its promise resolves, so that an
 * acknowledged definition survives power loss; a write that was cut short is rolled back at the next open.
 */
export async function levelStore(folder: string): Promise<Store> {
  const { ClassicLevel } = await import('classic-level')
  let db: InstanceType<typeof ClassicLevel<string, string>>
  try {
    await mkdir(folder, { recursive: true })
    db = new ClassicLevel<string, string>(folder, { writeBufferSize: 256 * 1024, cacheSize: 512 * 1024 })
    await db.open()
  } catch (error) {
    const cause = (error as { cause?: Error }).cause ?? error
    throw new IxionError('STORAGE', `cannot open the store in ${folder}: ${messageOf(cause)}`, {
      hint: 'another process may hold it, or the folder is not writable',
      cause: error,
    })
  }
  const sync = { sync: true }
  const guard = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work
    } catch (error) {
      throw new IxionError('STORAGE', `the store failed: ${messageOf(error)}`, {
        hint: 'nothing was changed; check free disk space and the folder',
        cause: error,
      })
    }
  }
  return {
    table(name): KeyValueStore {
      const full = (key: string): string => name + SEPARATOR + key
      return {
        get: (key) => guard(db.get(full(key))),
        set: (key, value) => guard(db.put(full(key), value, sync)),
        delete: (key) => guard(db.del(full(key), sync)),
        batch: (changes) =>
          guard(
            db.batch(
              changes.map(([key, value]) =>
                value === null ? { type: 'del', key: full(key) } : { type: 'put', key: full(key), value },
              ),
              sync,
            ),
          ),
        async *entries(prefix) {
          const start = full(prefix)
          for await (const [key, value] of db.iterator({ gte: start, lt: name + AFTER })) {
            if (!key.startsWith(start)) break
            yield [key.slice(name.length + 1), value] as const
          }
        },
      }
    },
    dropTable: (name) => guard(db.clear({ gte: name + SEPARATOR, lt: name + AFTER })),
    close: () => guard(db.close()),
  }
}
