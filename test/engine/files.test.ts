import { createDecipheriv } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { deflateSync, gunzipSync, gzipSync } from 'node:zlib'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createEngine, type Engine } from '../../src/engine/index.ts'
import { manualSink, withConnectors } from '../support/engine-harness.ts'

const key = Buffer.from('0123456789abcdef')
let folder = ''
let engine: Engine
const sink = manualSink('watched')

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'ixion-files-'))
  sink.sent.length = 0
  engine = await createEngine({ aesKey: key, connectors: withConnectors(sink.connector) })
})
afterEach(async () => {
  await engine.close()
  rmSync(folder, { recursive: true, force: true })
})

async function written(properties: Record<string, string>): Promise<Buffer> {
  const path = join(folder, 'out')
  await engine.execute('CREATE STREAM demo () WITH (TYPE="memory", DATASOURCE="demo")')
  await engine.createRule({
    id: 'r',
    sql: 'SELECT * FROM demo',
    actions: [{ file: { path, sendSingle: true, ...properties } }],
  })
  await engine.feedRows('demo', [{ a: 1 }, { a: 2 }])
  await engine.stopRule('r')
  return readFileSync(path)
}

async function read(file: string, content: Uint8Array | string, extra: object, options = ''): Promise<unknown[]> {
  writeFileSync(join(folder, file), content)
  const properties = JSON.stringify({ path: folder, ...extra }).replaceAll('"', '\\"')
  await engine.execute(
    `CREATE STREAM demo () WITH (TYPE="file", DATASOURCE="${file}", EXTRA="${properties}"${options})`,
  )
  await engine.createRule({ id: 'r', sql: 'SELECT * FROM demo', actions: [{ watched: { sendSingle: true } }] })
  await vi.waitFor(() => expect(engine.ruleStatus('r')).toMatchObject({ status: 'stopped' }))
  return sink.sent.map((text) => JSON.parse(text as string))
}

it('a file is compressed once, as a whole', async () => {
  expect(gunzipSync(await written({ compression: 'gzip' })).toString()).toBe('{"a":1}\n{"a":2}')
})

it('a file is encrypted once, as a whole, after compression', async () => {
  const bytes = await written({ compression: 'gzip', encryption: 'aes' })
  const decipher = createDecipheriv('aes-128-cfb', key, bytes.subarray(0, 16))
  const plain = Buffer.concat([decipher.update(bytes.subarray(16)), decipher.final()])
  expect(gunzipSync(plain).toString()).toBe('{"a":1}\n{"a":2}')
})

it.each([
  ['gzip', gzipSync],
  ['zlib', deflateSync],
] as const)('whole files are opened with the property decompression: %s', async (decompression, pack) => {
  expect(await read('in.dat', pack('[{"a":1},{"a":2}]'), { decompression })).toEqual([{ a: 1 }, { a: 2 }])
})

it('a csv file is split at the DELIMITER of the stream', async () => {
  expect(await read('in.csv', 'a;b\n1,5;x\n', { fileType: 'csv', hasHeader: true }, ', DELIMITER=";"')).toEqual([
    { a: '1,5', b: 'x' },
  ])
})

it('a packed file is decoded by the FORMAT of the stream', async () => {
  const rows = await read('in.txt.gz', gzipSync('1;x'), {}, ', FORMAT="delimited", DELIMITER=";"')
  expect(rows).toEqual([{ col0: '1', col1: 'x' }])
})
