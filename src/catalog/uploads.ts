/** Uploaded files under `data/uploads` (spec/rest-api.md 3.9); those sent as JSON are recorded for exports. */
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join, resolve, sep } from 'node:path'
import { IxionError, messageOf } from '../core/errors.ts'
import type { KeyValueStore, Store } from '../stores/contract.ts'

export class UploadCatalog {
  readonly folder: string
  readonly #table: KeyValueStore
  #temporary = 0

  constructor(store: Store, dataDir: string) {
    this.folder = resolve(dataDir, 'uploads')
    this.#table = store.table('uploads')
  }

  /** The path inside the folder. Throws INVALID_DOCUMENT for a name that leaves it. */
  #inside(name: string): string {
    const path = resolve(this.folder, name)
    if (name === '' || name.includes('\0') || !path.startsWith(this.folder + sep)) {
      throw new IxionError('INVALID_DOCUMENT', `the file name ${name} leaves the upload folder`, { path: 'name' })
    }
    return path
  }

  /** Writes the file, complete or not at all, and its record for exports; returns the absolute path. */
  async write(name: string, content: Uint8Array, record: string | null): Promise<string> {
    const path = this.#inside(name)
    const temporary = join(this.folder, `.${process.pid}-${++this.#temporary}.part`)
    try {
      await mkdir(dirname(path), { recursive: true })
      await writeFile(temporary, content)
      await rename(temporary, path)
    } catch (error) {
      await rm(temporary, { force: true }).catch(() => {})
      throw new IxionError('STORAGE', `cannot write ${path}: ${messageOf(error)}`, {
        hint: 'check free disk space and the folder',
      })
    }
    if (record !== null) await this.#table.set(name, record)
    return path
  }

  /** Absolute paths of the top level, sorted. */
  async list(): Promise<string[]> {
    const names = await readdir(this.folder).catch(() => [])
    return names
      .filter((n) => !n.endsWith('.part'))
      .sort()
      .map((n) => join(this.folder, n))
  }

  async delete(name: string): Promise<void> {
    try {
      await rm(this.#inside(name))
    } catch (error) {
      if (error instanceof IxionError) throw error
      throw new IxionError('INVALID_DOCUMENT', messageOf(error), { cause: error })
    }
    await this.#table.delete(name)
  }

  /** Records by name: `{"name","content"}` or `{"name","file"}` as JSON text. */
  async records(): Promise<Record<string, string>> {
    const all: Record<string, string> = {}
    for await (const [name, record] of this.#table.entries('')) all[name] = record
    return all
  }

  /** Forgets the records; the files stay. */
  async forget(): Promise<void> {
    for (const name of Object.keys(await this.records())) await this.#table.delete(name)
  }
}
