/** Peers and disks that fail: the rule lives on, every row is sent, waits, or is counted, and memory of it all is bounded. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { IxionError } from '../../src/core/errors.ts'
import { createEngine, type Engine, imbalance, type Store } from '../../src/engine/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { eventually } from '../support/connectors.ts'
import { manualSource, settle, withConnectors } from '../support/engine-harness.ts'

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

async function open(options: Parameters<typeof createEngine>[0] = {}) {
  const fed = manualSource('fed', { emits: 'bytes' })
  const engine = await createEngine({ connectors: withConnectors(fed.connector), drainLimit: 300, ...options })
  cleanups.push(() => engine.close())
  await engine.execute('CREATE STREAM demo () WITH (TYPE="fed", DATASOURCE="d", FORMAT="json")')
  return { engine, fed }
}

function exact(engine: Engine) {
  const { rule, sinks } = engine.ruleLedger('r')
  expect(imbalance(rule)).toBe(0)
  for (const sink of Object.values(sinks)) expect(imbalance(sink)).toBe(0)
  expect(engine.ruleStatus('r').status).toBe('running')
  return { rule, sink: Object.values(sinks)[0] as NonNullable<(typeof sinks)[string]> }
}

const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => ({ n: from + i }))

type Mood = (response: ServerResponse, n: number) => void

async function peer(mood: Mood) {
  const seen: number[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk) => {
      body += chunk
    })
    request.on('end', () => {
      const { n } = JSON.parse(body) as { n: number }
      seen.push(n)
      mood(response, seen.length)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  cleanups.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return { seen, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` }
}

const fine = (response: ServerResponse): void => void response.writeHead(200).end()

describe('a REST peer', () => {
  const moods: readonly (readonly [string, Mood])[] = [
    ['closes the connection', (r, n) => (n % 2 ? r.destroy() : fine(r))],
    [
      'closes in the middle of its answer',
      (r, n) => (n % 2 ? r.writeHead(200, { 'content-length': 100 }).write('x', () => r.destroy()) : fine(r)),
    ],
    ['is unavailable now and then', (r, n) => (n % 2 ? r.writeHead(503).end() : fine(r))],
    ['asks to come later', (r, n) => (n % 2 ? r.writeHead(429, { 'retry-after': '1' }).end() : fine(r))],
    ['hangs now and then', (r, n) => (n % 4 === 1 ? undefined : fine(r))],
    ['answers garbage', (r, n) => (n % 2 ? r.socket?.end('\x00\x01garbage\r\n\r\n') : fine(r))],
    ['answers with 20 MB', (r, n) => (n === 1 ? r.writeHead(503).end(Buffer.alloc(20 << 20)) : fine(r))],
  ]
  it.each(moods)('that %s gets every row at least once, in order of first arrival', async (_name, mood) => {
    const { engine, fed } = await open()
    const { seen, url } = await peer(mood)
    const rest = { url, method: 'post', sendSingle: true, timeout: 100, resendInterval: 5, bufferLength: 16 }
    await engine.createRule({ id: 'r', sql: 'SELECT n FROM demo', actions: [{ rest }] })
    for (let i = 0; i < 4; i++) await fed.json(numbers(i * 5, i * 5 + 5))
    await eventually(() => exact(engine).sink.inFlight === 0, 'all sent')
    const { sink } = exact(engine)
    // Answers that say no for good lose their row, counted; the others are sent again.
    expect(sink.emitted + (sink.dropped['sink_error'] ?? 0)).toBe(20)
    expect([...new Set(seen)]).toEqual(numbers(0, 20).map((r) => r.n))
    if (!_name.includes('MB')) expect(sink.emitted).toBe(20)
  })

  it('that answers 500 loses the row, counted, without resend', async () => {
    const { engine, fed } = await open()
    const { url, seen } = await peer((r, n) => (n % 2 ? r.writeHead(500).end() : fine(r)))
    await engine.createRule({
      id: 'r',
      sql: 'SELECT n FROM demo',
      actions: [{ rest: { url, method: 'post', sendSingle: true } }],
    })
    await fed.json(numbers(0, 10))
    await eventually(() => exact(engine).sink.inFlight === 0, 'all sent')
    expect(exact(engine).sink).toMatchObject({ received: 10, emitted: 5, dropped: { sink_error: 5 } })
    expect(seen).toHaveLength(10)
  })

  it('that is slow holds the source back, nothing else', async () => {
    const { engine, fed } = await open()
    const { url } = await peer((r) => void setTimeout(() => fine(r), 10))
    await engine.createRule({
      id: 'r',
      sql: 'SELECT n FROM demo',
      actions: [{ rest: { url, method: 'post', sendSingle: true, bufferLength: 5 } }],
      options: { bufferLength: 5 },
    })
    await engine.createRule({ id: 'quick', sql: 'SELECT n FROM demo', actions: [{ nop: {} }] })
    let settledAll = 0
    for (let i = 0; i < 10; i++) void fed.json(numbers(i * 5, i * 5 + 5)).then(() => settledAll++)
    await settle(5)
    expect(settledAll).toBeLessThan(10)
    expect(engine.ruleLedger('quick').rule.emitted).toBe(50)
    await eventually(() => exact(engine).sink.emitted === 50, 'all sent')
    expect(exact(engine).rule.dropped).toEqual({})
  })
})

/** A folder on a disk of 256 KB where this process may mount one, else undefined. */
function smallDisk(): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'ixion-disk-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', folder], { stdio: 'pipe' })
  } catch {
    rmSync(folder, { recursive: true })
    return undefined
  }
  cleanups.push(() => {
    execFileSync('umount', ['-l', folder], { stdio: 'pipe' })
    rmSync(folder, { recursive: true, force: true })
  })
  return folder
}

describe('a full disk', () => {
  it('under the file sink: rows are counted as refused, the rule lives, and with room it goes on', async () => {
    const { engine, fed } = await open()
    const disk = smallDisk()
    // Where nothing may be mounted, the device that is always full.
    if (!disk && !existsSync('/dev/full')) return
    const path = disk ? join(disk, 'out.jsonl') : '/dev/full'
    const file = { path, fileType: 'lines', sendSingle: true, flushInterval: 10, rollingCount: 1_000_000 }
    await engine.createRule({ id: 'r', sql: 'SELECT n, pad FROM demo', actions: [{ file }] })
    const pad = 'x'.repeat(1000)
    for (let i = 0; i < 60; i++) {
      await fed.json(Array.from({ length: 10 }, (_, n) => ({ n: i * 10 + n, pad })))
      await settle(3)
    }
    await eventually(() => exact(engine).sink.inFlight === 0, 'all tried')
    await eventually(() => (exact(engine).sink.dropped['sink_error'] ?? 0) > 0, 'refusals counted')
    const { sink } = exact(engine)
    expect(sink.emitted + (sink.dropped['sink_error'] ?? 0)).toBe(600)
    if (disk) {
      const whole = readFileSync(path, 'utf8')
        .split('\n')
        .filter((line) => line.endsWith('"}')).length
      expect(whole).toBeGreaterThan(100)
      expect(sink.emitted).toBeLessThanOrEqual(600)
      // Room again: what comes now arrives.
      execFileSync('mount', ['-o', 'remount,size=4m', disk], { stdio: 'pipe' })
      await fed.json([{ n: 9999, pad: 'y' }])
      await eventually(
        () => readdirSync(disk).some((name) => readFileSync(join(disk, name), 'utf8').includes('9999')),
        'written again',
      )
    }
  })

  it('under the store: a definition is refused, what was there stays, stopping and starting work', async () => {
    let full = false
    const { engine, fed } = await open({ store: failingStore(() => full) })
    const rule = (v: number): string =>
      JSON.stringify({ id: 'r', sql: `SELECT n, ${v} AS v FROM demo`, actions: [{ memory: { topic: 'out' } }] })
    const seen: unknown[] = []
    engine.subscribe('out', (_topic, rows) => void seen.push(...rows.map((r) => Number(r['v']))))
    await engine.createRule(rule(1))
    full = true
    await expect(engine.updateRule('r', rule(2))).rejects.toThrow('no space')
    await expect(engine.createRule({ ...JSON.parse(rule(3)), id: 'other' })).rejects.toThrow('no space')
    await expect(engine.updateRule('third', rule(4).replace('"r"', '"third"'))).rejects.toThrow('no space')
    await expect(engine.execute('CREATE STREAM more () WITH (TYPE="fed", DATASOURCE="d")')).rejects.toThrow('no space')
    expect(engine.stream('more')).toBeUndefined()
    expect(engine.listRules().map((r) => [r.id, r.status])).toEqual([['r', 'running']])
    await settle()
    expect(fed.open).toBe(1)
    await fed.json([{ n: 1 }])
    await settle(10)
    expect(seen).toEqual([1])
    await engine.stopRule('r').catch(() => {})
    expect(engine.ruleStatus('r').status).toBe('stopped')
    expect(fed.open).toBe(0)
    full = false
    await engine.startRule('r')
    await engine.updateRule('r', rule(5))
    await settle()
    await fed.json([{ n: 1 }])
    await settle(10)
    expect(seen).toEqual([1, 5])
  })

  it('under the durable store: the same, and everything acknowledged is there after it was reopened', async () => {
    const disk = smallDisk()
    if (!disk) return
    const { levelStore } = await import('../../src/stores/level.ts')
    const folder = join(disk, 'store')
    mkdirSync(folder)
    const { engine } = await open({ store: await levelStore(folder) })
    const acknowledged: string[] = []
    let refused = 0
    for (let i = 0; i < 400 && refused < 5; i++) {
      const pad = 'x'.repeat(2000)
      await engine
        .createRule({
          id: `r${i}`,
          sql: `SELECT n FROM demo WHERE n != "${pad}"`,
          triggered: false,
          actions: [{ nop: {} }],
        })
        .then(
          (id) => acknowledged.push(id),
          (error) => {
            expect(error).toBeInstanceOf(IxionError)
            refused++
          },
        )
    }
    expect(refused).toBeGreaterThan(0)
    expect(acknowledged.length).toBeGreaterThan(5)
    expect(
      engine
        .listRules()
        .map((r) => r.id)
        .sort(),
    ).toEqual([...acknowledged].sort())
    await engine.close().catch(() => {})
    execFileSync('mount', ['-o', 'remount,size=8m', disk], { stdio: 'pipe' })
    const again = await createEngine({ store: await levelStore(folder) })
    cleanups.push(() => again.close())
    const found = new Set(again.listRules().map((r) => r.id))
    expect(acknowledged.filter((id) => !found.has(id))).toEqual([])
  })
})

function failingStore(full: () => boolean): Store {
  const store = memoryStore()
  const guard = <T>(work: () => Promise<T>): Promise<T> =>
    full() ? Promise.reject(new IxionError('STORAGE', 'the store failed: no space left')) : work()
  return {
    table(name) {
      const table = store.table(name)
      return {
        ...table,
        get: (key) => table.get(key),
        entries: (prefix) => table.entries(prefix),
        set: (key, value) => guard(() => table.set(key, value)),
        delete: (key) => guard(() => table.delete(key)),
        batch: (changes) => guard(() => table.batch(changes)),
      }
    },
    dropTable: (name) => store.dropTable(name),
    close: () => store.close(),
  }
}
