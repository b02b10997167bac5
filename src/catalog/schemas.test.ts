import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { strToU8, zipSync } from 'fflate'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { loadMessage, loadProtobuf } from '../formats/protobuf.ts'
import { memoryStore } from '../stores/memory.ts'
import { readSchemaInfo, SchemaRegistry } from './schemas.ts'

const proto = { type: 'protobuf', name: 's1', content: 'message A {}' }

describe('SchemaRegistry', () => {
  test('creates, shows, lists, deletes', async () => {
    const registry = await SchemaRegistry.open(memoryStore())
    await registry.create(proto)
    expect(registry.get('protobuf', 's1')).toEqual(proto)
    expect(registry.list('protobuf')).toEqual(['s1'])
    expect(registry.schemaText('protobuf', 's1')).toBe('message A {}')
    await expect(registry.create(proto)).rejects.toThrow('schema protobuf.s1 already registered')
    await registry.delete('protobuf', 's1')
    expect(registry.list('protobuf')).toEqual([])
    await expect(registry.delete('protobuf', 's1')).rejects.toThrow('schema protobuf.s1 not found')
    expect(() => registry.get('protobuf', 's1')).toThrow('schema type protobuf id s1 not found in registry')
    expect(() => registry.list('constructor')).toThrow('schema type constructor not found')
    expect(registry.schemaText('custom', '__proto__')).toBe(undefined)
  })

  test('an older version does not replace a newer one', async () => {
    const registry = await SchemaRegistry.open(memoryStore())
    expect(await registry.upsert({ ...proto, version: '2' })).toBe(true)
    expect(await registry.upsert({ ...proto, version: '2', content: 'message B {}' })).toBe(false)
    for (const version of ['1', '']) {
      await expect(registry.upsert({ ...proto, version })).rejects.toThrow(
        'schema protobuf.s1 already registered with a newer version 2',
      )
    }
    expect(registry.get('protobuf', 's1').content).toBe('message B {}')
  })

  test('two creations at once: one wins', async () => {
    const registry = await SchemaRegistry.open(memoryStore())
    const results = await Promise.allSettled([registry.create(proto), registry.create(proto)])
    expect(results.map((r) => r.status)).toEqual(['fulfilled', 'rejected'])
  })

  test('keeps schemas in the store', async () => {
    const store = memoryStore()
    await (await SchemaRegistry.open(store)).create({ ...proto, version: '1' })
    await store.table('schemas').set('protobuf/bad', '{')
    const problems: string[] = []
    const again = await SchemaRegistry.open(store, { problem: (text) => problems.push(text) })
    expect(again.list('protobuf')).toEqual(['s1'])
    expect(problems[0]).toContain('stored schema protobuf/bad cannot be read')
    expect(JSON.parse(again.documents().protobuf_s1 ?? '')).toEqual({ ...proto, version: '1' })
  })

  test('a schema in use is kept when the users are known', async () => {
    const registry = await SchemaRegistry.open(memoryStore(), { usersOf: () => ['stream demo'] })
    await registry.create(proto)
    await expect(registry.delete('protobuf', 's1')).rejects.toThrow('schema protobuf.s1 is used by stream demo')
  })

  test('a refused text changes nothing', async () => {
    const check = (): never => {
      throw new Error('no schema')
    }
    const registry = await SchemaRegistry.open(memoryStore(), { check })
    await expect(registry.create(proto)).rejects.toThrow('no schema')
    expect(registry.list('protobuf')).toEqual([])
  })

  test('documents are checked', () => {
    const read = (body: object) => readSchemaInfo(body as never, 'protobuf')
    expect(read({ Name: 's1', CONTENT: 'x', type: 'custom' })).toEqual({ type: 'custom', name: 's1', content: 'x' })
    const cases: [object, string][] = [
      [{ content: 'x' }, 'name is required'],
      [{ name: 'a', content: 'x', file: 'y' }, 'cannot specify both content and file'],
      [{ name: 'a', type: 'xml', content: 'x' }, 'unsupported schema type xml'],
      [{ name: 'a' }, 'must specify content or file'],
      [{ name: 'a', type: 'custom', soFile: 'x' }, 'soFile is required'],
      [{ name: 'a.b', content: 'x' }, 'contains invalid characters'],
      [{ name: '../a', content: 'x' }, 'contains invalid characters'],
      [{ name: 'a', content: 'x', version: '../1' }, 'schema version ../1 is invalid'],
      [{ name: 5 }, "'name' expected type 'string'"],
    ]
    for (const [body, message] of cases) expect(() => read(body)).toThrow(message)
  })
})

describe('SchemaRegistry with files', () => {
  let root: string
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'schemas-'))
  })
  afterEach(() => rm(root, { recursive: true, force: true }))

  test('installs files, of the newest version only, and removes them', async () => {
    const directory = join(root, 'data')
    const registry = await SchemaRegistry.open(memoryStore(), { directory })
    await registry.create({ ...proto, version: '1' })
    await registry.upsert({ ...proto, version: '2', content: 'message B {}' })
    expect(await readdir(join(directory, 'protobuf'))).toEqual(['s1@2.proto'])
    expect(registry.get('protobuf', 's1').file).toBe(join(directory, 'protobuf', 's1@2.proto'))
    expect(await readFile(join(directory, 'protobuf', 's1@2.proto'), 'utf8')).toBe('message B {}')
    await registry.delete('protobuf', 's1')
    expect(await readdir(join(directory, 'protobuf'))).toEqual([])
  })

  test('finds files at start: its own win, preinstalled ones by a greater version', async () => {
    const [directory, preinstalled] = [join(root, 'data'), join(root, 'etc')]
    for (const dir of [directory, preinstalled]) await mkdir(join(dir, 'protobuf'), { recursive: true })
    const files: [string, string][] = [
      [join(directory, 'protobuf', 'a@1.proto'), 'data a'],
      [join(preinstalled, 'protobuf', 'a@2.proto'), 'etc a'],
      [join(directory, 'protobuf', 'b.proto'), 'data b'],
      [join(preinstalled, 'protobuf', 'b.proto'), 'etc b'],
      [join(preinstalled, 'protobuf', 'c@1@2.proto'), 'malformed'],
      [join(preinstalled, 'protobuf', 'd.txt'), 'no schema'],
    ]
    for (const [path, text] of files) await writeFile(path, text)
    await mkdir(join(preinstalled, 'protobuf', 'a', 'deep'), { recursive: true })
    await writeFile(join(preinstalled, 'protobuf', 'a', 'deep', 'part.proto'), 'part')
    const problems: string[] = []
    const registry = await SchemaRegistry.open(memoryStore(), {
      directory,
      preinstalled,
      problem: (text) => problems.push(text),
    })
    expect(registry.list('protobuf')).toEqual(['a', 'b'])
    expect([registry.schemaText('protobuf', 'a'), registry.schemaText('protobuf', 'b')]).toEqual(['etc a', 'data b'])
    expect(registry.schemaText('protobuf', 'a/deep/part')).toBe('part')
    expect(problems).toEqual(['schema file c@1@2.proto has a malformed name'])
  })

  test('a folder of messages is a schema of its own', async () => {
    await mkdir(join(root, 'protobuf', 'multi'), { recursive: true })
    await writeFile(join(root, 'protobuf', 'multi', 'a.proto'), 'syntax = "proto3"; message A { int32 x = 1; }')
    await writeFile(join(root, 'protobuf', 'multi', 'b.proto'), 'syntax = "proto3"; message B { int32 y = 1; }')
    const registry = await SchemaRegistry.open(memoryStore(), { directory: root })
    await loadProtobuf()
    expect(loadMessage('multi.B', registry).fields.map((f) => f.name)).toEqual(['y'])
  })

  test('installs from a location, zip archives with their folder', async () => {
    const zip = zipSync({
      's1.proto': strToU8('main'),
      's1/x/part.proto': strToU8('part'),
      's1/../../evil.proto': strToU8('evil'),
      'other.proto': strToU8('other'),
    })
    const files: Record<string, Uint8Array> = { 'file:///s1.proto': strToU8('plain'), 'http://h/s1.zip': zip }
    const directory = join(root, 'data')
    const registry = await SchemaRegistry.open(memoryStore(), {
      directory,
      fetchFile: async (l) => files[l] ?? strToU8('no zip'),
    })
    await registry.upsert({ type: 'protobuf', name: 's1', file: 'file:///s1.proto' })
    expect(registry.schemaText('protobuf', 's1')).toBe('plain')
    await registry.upsert({ type: 'protobuf', name: 's1', file: 'http://h/s1.zip' })
    expect([registry.schemaText('protobuf', 's1'), registry.schemaText('protobuf', 's1/x/part')]).toEqual([
      'main',
      'part',
    ])
    expect((await readdir(root)).sort()).toEqual(['data'])
    await expect(registry.upsert({ type: 'protobuf', name: 'no', file: 'http://h/s1.zip' })).rejects.toThrow(
      'schema file no.proto not found inside the zip',
    )
    await expect(registry.upsert({ type: 'protobuf', name: 'no', file: 'http://h/x.zip' })).rejects.toThrow(
      'cannot read the zip of schema no',
    )
    const bare = await SchemaRegistry.open(memoryStore())
    await expect(bare.create({ type: 'protobuf', name: 'a', file: 'x' })).rejects.toThrow(
      'schema file x cannot be fetched here',
    )
  })
})
