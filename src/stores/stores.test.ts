import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { levelStore } from './level.ts'
import { memoryStore } from './memory.ts'
import { storeSuite } from './store.suite.ts'

describe('memory store', () => storeSuite(async () => memoryStore()))

describe('level store', () => {
  const folders: string[] = []
  const folder = async (): Promise<string> => {
    const path = await mkdtemp(join(tmpdir(), 'ixion-store-'))
    folders.push(path)
    return path
  }
  afterAll(() => Promise.all(folders.map((f) => rm(f, { recursive: true }))))

  storeSuite(async () => levelStore(await folder()))

  it('keeps everything across close and open', async () => {
    const path = await folder()
    const first = await levelStore(path)
    await first.table('t').set('k', 'v')
    await first.close()
    const second = await levelStore(path)
    expect(await second.table('t').get('k')).toBe('v')
    await second.close()
  })

  it('refuses a folder that another process holds, and says so', async () => {
    const path = await folder()
    const first = await levelStore(path)
    await expect(levelStore(path)).rejects.toThrow(/cannot open the store in .*lock/i)
    await first.close()
  })
})
