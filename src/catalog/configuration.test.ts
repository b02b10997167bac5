import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { memoryStore } from '../stores/memory.ts'
import { ConfigurationCatalog, type ConfigurationOptions } from './configuration.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ixion-configuration-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

function file(path: string, text: string): void {
  const full = join(folder, path)
  mkdirSync(join(full, '..'), { recursive: true })
  writeFileSync(full, text)
}
const open = (store = memoryStore(), more: Partial<ConfigurationOptions> = {}): Promise<ConfigurationCatalog> =>
  ConfigurationCatalog.open(store, { etcDir: join(folder, 'etc'), dataDir: join(folder, 'data'), ...more })

describe('configuration keys', () => {
  it('have built-in defaults for mqtt, file, httppush and simulator', async () => {
    const catalog = await open()
    expect(catalog.sourceProperties('mqtt', 'default')).toMatchObject({ server: 'tcp://127.0.0.1:1883', qos: 1 })
    expect(catalog.sourceProperties('file', 'default')).toEqual({ path: join(folder, 'data') })
    expect(catalog.sourceProperties('mqtt', 'other')).toBeUndefined()
    expect(catalog.sourceProperties('toString', 'default')).toBeUndefined()
  })

  it('come from files, whose default replaces the built-in one, and from the environment', async () => {
    file('etc/mqtt_source.yaml', 'default:\n  server: tcp://broker:1883\ndemo:\n  qos: 0\n')
    file('etc/sources/http.yaml', '# nothing but a comment\n')
    const catalog = await open(memoryStore(), {
      environment: { MQTT_SOURCE__DEFAULT__SERVER: 'tcp://env:1', MQTT_SOURCE__DEMO__TOPICS: '[a, 2, true]' },
    })
    expect(catalog.keysOf('sources', 'mqtt')).toEqual({
      default: { server: 'tcp://env:1' },
      demo: { qos: 0, topics: ['a', 2, true] },
    })
    expect(catalog.types('sources')).toEqual(['mqtt'])
  })

  it('of the environment change single properties of the built-in default', async () => {
    const catalog = await open(memoryStore(), { environment: { SIMULATOR__DEFAULT__INTERVAL: '50ms' } })
    expect(catalog.sourceProperties('simulator', 'default')).toMatchObject({ interval: '50ms', loop: true })
    expect(catalog.sourceProperties('mqtt', 'default')).toMatchObject({ qos: 1 })
  })

  it('that are stored win over files, survive, and uncover the file when deleted', async () => {
    file('etc/mqtt_source.yaml', 'demo:\n  qos: 0\n')
    const store = memoryStore()
    const first = await open(store)
    await first.setKey('sources', 'mqtt', 'demo', {
      qos: 2,
      interval: 1000,
      saslPassword: 'x',
      lookup: { cacheTtl: 5 },
    })
    const second = await open(store)
    expect(second.sourceProperties('mqtt', 'demo')).toEqual({
      qos: 2,
      interval: '1s',
      password: 'x',
      lookup: { cacheTtl: '5ms' },
    })
    await second.deleteKey('sources', 'mqtt', 'demo')
    expect(second.sourceProperties('mqtt', 'demo')).toEqual({ qos: 0 })
    await second.deleteKey('sources', 'mqtt', 'demo')
  })

  it('need a name', async () => {
    await expect((await open()).setKey('sinks', 'mqtt', 'a.b', {})).rejects.toThrow(/^Invalid confKey: id 'a\.b'/)
  })

  it('in a file that cannot be read are reported, and the others hold', async () => {
    file('etc/sources/bad.yaml', 'a: [\n')
    file('etc/sources/good.yaml', 'default:\n  x: 1\n')
    const problems: string[] = []
    const catalog = await open(memoryStore(), { problem: (text) => problems.push(text) })
    expect(problems).toEqual([expect.stringContaining('bad.yaml is not YAML')])
    expect(catalog.sourceProperties('good', 'default')).toEqual({ x: 1 })
  })

  it('called like members of Object.prototype are ordinary', async () => {
    const catalog = await open()
    await catalog.setKey('sinks', '__proto__', '__proto__', JSON.parse('{"__proto__":{"polluted":1}}'))
    expect(Object.keys(catalog.keysOf('sinks', '__proto__') ?? {})).toEqual(['__proto__'])
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
    expect(catalog.keysOf('sinks', 'constructor')).toBeUndefined()
  })
})

describe('named connections', () => {
  it('are provisioned from connection.yaml, which never overwrites and may delete', async () => {
    const store = memoryStore()
    const before = await open(store)
    await before.setConnection({ id: 'kept', typ: 'mqtt', props: { server: 'mine' } })
    await before.setConnection({ id: 'old', typ: 'mqtt', props: {} })
    file(
      'etc/connections/connection.yaml',
      'mqtt:\n  kept: {server: theirs}\n  fresh: {server: new, xOperation: create}\n  old: {xOperation: delete}\n  odd: {xOperation: shake}\n',
    )
    const problems: string[] = []
    const catalog = await open(store, { problem: (text) => problems.push(text) })
    expect(catalog.connections()).toEqual([
      { id: 'fresh', typ: 'mqtt', props: { server: 'new' } },
      { id: 'kept', typ: 'mqtt', props: { server: 'mine' } },
    ])
    expect(problems).toEqual(['connection mqtt.odd: xOperation must be create or delete, got shake'])
    expect(catalog.connectionProperties('kept')).toEqual({ server: 'mine' })
    expect(catalog.connectionProperties('none')).toBeUndefined()
  })
})
