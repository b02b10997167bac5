/** Shared servers and connections by key, reference counted (connectors/contract.ts, ResourcePool). */
import type { ResourcePool } from './contract.ts'

export interface SharedResources extends ResourcePool {
  /** Keys in use with their number of users. */
  usage(): ReadonlyMap<string, number>
  /** Closes everything, whoever still uses it: for the end of the engine. */
  closeAll(): Promise<void>
}

interface Entry {
  users: number
  readonly made: Promise<{ close(): Promise<void> }>
}

export function createResourcePool(): SharedResources {
  const entries = new Map<string, Entry>()
  /** Resources being closed: the next user of the same key waits, so that a port or client id is free again. */
  const closing = new Map<string, Promise<void>>()

  const close = (key: string, entry: Entry): Promise<void> => {
    entries.delete(key)
    const done = entry.made
      .then((resource) => resource.close())
      .catch(() => {})
      .finally(() => closing.delete(key))
    closing.set(key, done)
    return done
  }

  return {
    async acquire<T extends { close(): Promise<void> }>(key: string, create: () => Promise<T>): Promise<T> {
      let entry = entries.get(key)
      if (!entry) {
        const before = closing.get(key)
        entry = { users: 0, made: before ? before.then(create) : create() }
        entries.set(key, entry)
      }
      entry.users++
      try {
        return (await entry.made) as T
      } catch (error) {
        // A failed one is forgotten, so the next user tries again.
        if (entries.get(key) === entry) entries.delete(key)
        throw error
      }
    },
    async release(key) {
      const entry = entries.get(key)
      if (!entry) return
      entry.users--
      if (entry.users === 0) await close(key, entry)
    },
    usage: () => new Map([...entries].map(([key, entry]) => [key, entry.users])),
    async closeAll() {
      await Promise.all([...entries].map(([key, entry]) => close(key, entry)))
    },
  }
}
