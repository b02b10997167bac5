/** Schema files on disk: `schemas/<type>/<name>[@<version>].<ext>`, and a folder `<name>` of files they import. */
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { IxionError } from '../core/errors.ts'

/** Schema types and the extension of their files. A custom schema is a JavaScript module. */
export const schemaTypes: Readonly<Record<string, string>> = { protobuf: '.proto', custom: '.js' }

export const MAX_SCHEMA_BYTES = 1 << 20
const MAX_FILES = 1000
const MAX_FOLDER_DEPTH = 8

/** What a schema consists of. */
export interface SchemaContent {
  readonly content: string
  /** Files beside it, by path without extension relative to the schema's folder. */
  readonly supporting: Readonly<Record<string, string>>
  readonly version: string
}

export interface FoundSchema extends SchemaContent {
  readonly name: string
  readonly path: string
}

function fileNameOf(type: string, name: string, version: string): string {
  return `${name}${version && `@${version}`}${schemaTypes[type]}`
}

/** The schemas of one type in a directory that may not exist. What cannot be read is reported and left out. */
export async function scanSchemas(
  directory: string,
  type: string,
  problem: (text: string) => void,
): Promise<FoundSchema[]> {
  const extension = schemaTypes[type] ?? ''
  const folder = join(directory, type)
  const found: FoundSchema[] = []
  const entries = (await readdir(folder).catch(() => [])).sort()
  for (const entry of entries) {
    if (!entry.endsWith(extension)) {
      const bundle = type === 'protobuf' && !entry.startsWith('.') ? await readBundle(folder, entry) : null
      if (bundle && !entries.some((e) => e === `${entry}.proto` || e.startsWith(`${entry}@`))) found.push(bundle)
      continue
    }
    const [name = '', version = '', ...more] = entry.slice(0, -extension.length).split('@')
    if (more.length > 0 || !/^[a-zA-Z0-9_-]+$/.test(name)) {
      problem(`schema file ${entry} has a malformed name`)
      continue
    }
    try {
      const path = join(folder, entry)
      const supporting: Record<string, string> = {}
      await readFolder(join(folder, name), '', extension, supporting, MAX_FOLDER_DEPTH)
      found.push({ name, version, path, content: await readText(path), supporting })
    } catch (error) {
      problem(`schema file ${entry} cannot be read: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  return found
}

/** A folder of .proto files without a file of its own name: a schema that imports them all (spec/connectors.md 12.5). */
async function readBundle(folder: string, name: string): Promise<FoundSchema | null> {
  const supporting: Record<string, string> = {}
  await readFolder(join(folder, name), '', '.proto', supporting, MAX_FOLDER_DEPTH)
  const parts = Object.keys(supporting).sort()
  if (parts.length === 0 || !/^[a-zA-Z0-9_-]+$/.test(name)) return null
  const imports = parts.map((part) => `import ${JSON.stringify(`${name}/${part}.proto`)};`)
  return {
    name,
    version: '',
    path: join(folder, name),
    content: `syntax = "proto3";\n${imports.join('\n')}\n`,
    supporting,
  }
}

async function readText(path: string): Promise<string> {
  if ((await stat(path)).size > MAX_SCHEMA_BYTES) {
    throw new IxionError('LIMIT', `schema file ${path} exceeds ${MAX_SCHEMA_BYTES} bytes`)
  }
  return readFile(path, 'utf8')
}

async function readFolder(
  folder: string,
  prefix: string,
  extension: string,
  into: Record<string, string>,
  depth: number,
): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
  for (const entry of entries) {
    const path = join(folder, entry.name)
    if (entry.isDirectory() && depth > 0) await readFolder(path, `${prefix}${entry.name}/`, extension, into, depth - 1)
    if (!entry.isFile() || !entry.name.endsWith(extension)) continue
    if (Object.keys(into).length >= MAX_FILES)
      throw new IxionError('LIMIT', `more than ${MAX_FILES} files in ${folder}`)
    into[prefix + entry.name.slice(0, -extension.length)] = await readText(path)
  }
}

/** Writes a schema and its folder: complete under temporary names first, then renamed into place. The path of the file. */
export async function writeSchema(
  directory: string,
  type: string,
  name: string,
  schema: SchemaContent,
): Promise<string> {
  const extension = schemaTypes[type] ?? ''
  const folder = join(directory, type)
  const stage = join(folder, `.${name}.installing`)
  await rm(stage, { recursive: true, force: true })
  await mkdir(join(stage, 'files'), { recursive: true })
  await writeFile(join(stage, 'main'), schema.content)
  for (const [path, text] of Object.entries(schema.supporting)) {
    const target = join(stage, 'files', `${path}${extension}`)
    await mkdir(join(target, '..'), { recursive: true })
    await writeFile(target, text)
  }
  await removeSchema(directory, type, name)
  const path = join(folder, fileNameOf(type, name, schema.version))
  await rename(join(stage, 'main'), path)
  if (Object.keys(schema.supporting).length > 0) await rename(join(stage, 'files'), join(folder, name))
  await rm(stage, { recursive: true, force: true })
  return path
}

/** Removes the files of every version, and the folder. */
export async function removeSchema(directory: string, type: string, name: string): Promise<void> {
  const extension = schemaTypes[type] ?? ''
  const folder = join(directory, type)
  for (const entry of await readdir(folder).catch(() => [])) {
    const own = entry === `${name}${extension}` || (entry.startsWith(`${name}@`) && entry.endsWith(extension))
    if (own) await rm(join(folder, entry), { force: true })
  }
  await rm(join(folder, name), { recursive: true, force: true })
}

/**
 * A zip install: `<name><ext>` at the top and, when present, a folder `<name>/`; everything else is ignored
 * (spec/connectors.md 13). Throws IxionError INVALID_DOCUMENT or LIMIT.
 */
export async function unzipSchema(
  type: string,
  name: string,
  zip: Uint8Array,
): Promise<Omit<SchemaContent, 'version'>> {
  const { unzipSync } = await import('fflate')
  const extension = schemaTypes[type] ?? ''
  const main = `${name}${extension}`
  let total = 0
  let count = 0
  let files: Record<string, Uint8Array>
  try {
    files = unzipSync(zip, {
      filter: (file) => {
        if (file.name !== main && !(file.name.startsWith(`${name}/`) && file.name.endsWith(extension))) return false
        total += file.originalSize
        if (++count > MAX_FILES || total > 16 * MAX_SCHEMA_BYTES || file.originalSize > MAX_SCHEMA_BYTES) {
          throw new IxionError('LIMIT', `schema archive of ${name} is too large`)
        }
        return true
      },
    })
  } catch (error) {
    if (error instanceof IxionError) throw error
    throw new IxionError('INVALID_DOCUMENT', `cannot read the zip of schema ${name}`, { cause: error })
  }
  const content = Object.hasOwn(files, main) ? files[main] : undefined
  if (!content) throw new IxionError('INVALID_DOCUMENT', `schema file ${main} not found inside the zip`)
  const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)
  const supporting: Record<string, string> = {}
  for (const [path, bytes] of Object.entries(files)) {
    const parts = path.slice(name.length + 1, -extension.length).split('/')
    if (path === main || parts.some((part) => !/^[\w.-]+$/.test(part) || part === '..' || part === '__proto__'))
      continue
    supporting[parts.join('/')] = text(bytes)
  }
  return { content: text(content), supporting }
}
