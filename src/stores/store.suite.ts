import { expect, it } from 'vitest'
import type { Store } from './contract.ts'

/** What every store does; run by the test file of each. */
export function storeSuite(open: () => Promise<Store>): void {
  const withStore = async (run: (store: Store) => Promise<void>): Promise<void> => {
    const store = await open()
    try {
      await run(store)
    } finally {
      await store.close()
    }
  }
  const all = async (table: ReturnType<Store['table']>, prefix = ''): Promise<(readonly [string, string])[]> => {
    const entries: (readonly [string, string])[] = []
    for await (const entry of table.entries(prefix)) entries.push(entry)
    return entries
  }

  it('gives back what was set, and undefined for what was not', () =>
    withStore(async (store) => {
      const table = store.table('rules')
      await table.set('a', 'one')
      await table.set('a', 'two')
      expect(await table.get('a')).toBe('two')
      expect(await table.get('b')).toBeUndefined()
      await table.delete('a')
      expect(await table.get('a')).toBeUndefined()
    }))

  it('keeps tables apart and lists by prefix in key order', () =>
    withStore(async (store) => {
      const rules = store.table('rules')
      await rules.set('b2', '2')
      await rules.set('b1', '1')
      await rules.set('a', '0')
      await store.table('rules2').set('b3', 'other')
      expect(await all(rules)).toEqual([
        ['a', '0'],
        ['b1', '1'],
        ['b2', '2'],
      ])
      expect(await all(rules, 'b')).toEqual([
        ['b1', '1'],
        ['b2', '2'],
      ])
      await store.dropTable('rules')
      expect(await all(rules)).toEqual([])
      expect(await store.table('rules2').get('b3')).toBe('other')
    }))

  it('applies a batch as a whole', () =>
    withStore(async (store) => {
      const table = store.table('t')
      await table.set('gone', 'x')
      await table.batch([
        ['gone', null],
        ['new', 'y'],
      ])
      expect(await all(table)).toEqual([['new', 'y']])
    }))
}
