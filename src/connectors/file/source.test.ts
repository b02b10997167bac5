import { appendFile, mkdir, readdir, rename, truncate, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  eventually,
  makeSource,
  run,
  temporaryDirectory,
  testContext,
  textsOf,
} from '../../../test/support/connectors.ts'
import type { ValueObject } from '../../core/values.ts'
import type { Chunk } from '../contract.ts'
import { csvReader } from './csv.ts'
import { file } from './index.ts'
import { arrayPieces } from './json-array.ts'
import { lineBlocks } from './reading.ts'

let directory: Awaited<ReturnType<typeof temporaryDirectory>>
beforeEach(async () => {
  directory = await temporaryDirectory()
})
afterEach(() => directory.remove())

const write = (name: string, content: string | Buffer) => writeFile(join(directory.path, name), content)
const source = (name: string, properties: ValueObject = {}, context = testContext()) =>
  makeSource(file.source, name, { path: directory.path, ...properties }, context)

async function readAll(name: string, properties: ValueObject = {}, context = testContext()) {
  const running = await run(source(name, properties, context))
  expect(await running.done).toBe('ended')
  return running
}

const numbered = (count: number): string => Array.from({ length: count }, (_, i) => `{"n":${i}}\n`).join('')

describe('lines', () => {
  it('arrive as blocks cut at line ends, all of them, in order, with the path as metadata', async () => {
    await write('big.jsonl', numbered(100_000))
    const running = await readAll('big.jsonl', { fileType: 'lines' })
    expect(running.chunks.length).toBeLessThan(10)
    expect(running.chunks.every((chunk) => chunk.kind === 'bytes' && chunk.framing === 'lines')).toBe(true)
    expect(running.chunks[0]?.meta).toEqual([{ file: join(directory.path, 'big.jsonl') }])
    expect(running.texts()).toEqual(numbered(100_000).trim().split('\n'))
  })

  it('may end without a line end, with CRLF, and begin with a byte order mark', async () => {
    await write('odd.txt', '\ufeff{"a":1}\r\n{"a":2}\r\n\r\n{"a":3}')
    const running = await readAll('odd.txt', { fileType: 'lines' })
    const bytes = running.chunks
      .flatMap((chunk) => (chunk.kind === 'bytes' ? chunk.payloads.map(String) : []))
      .join('|')
    expect(bytes).not.toContain('\r')
    expect(running.texts()).toEqual(['{"a":1}', '{"a":2}', '{"a":3}'])
  })

  it('leave out lines at the start and the end', async () => {
    await write('trim.txt', 'head1\nhead2\na\nb\nc\nfoot\n')
    const trim = { fileType: 'lines', ignoreStartLines: 2, ignoreEndLines: 1 }
    expect((await readAll('trim.txt', trim)).texts()).toEqual(['a', 'b', 'c'])
    await write('short.txt', 'head1\nhead2\nx')
    expect((await readAll('short.txt', trim)).texts()).toEqual([])
  })

  it('are cut the same whatever the chunks are', async () => {
    const line = fc.stringMatching(/^[a-z]{0,6}\r?$/)
    await fc.assert(
      fc.asyncProperty(
        fc.array(line, { maxLength: 30 }),
        fc.boolean(),
        fc.nat(4),
        fc.nat(4),
        fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }),
        async (lines, ended, skipStart, skipEnd, sizes) => {
          const bytes = Buffer.from(lines.join('\n') + (ended && lines.length > 0 ? '\n' : ''))
          async function* chunks() {
            for (let at = 0, n = 0; at < bytes.length; n++) {
              const size = sizes[n % sizes.length] as number
              yield bytes.subarray(at, at + size)
              at += size
            }
          }
          let text = ''
          for await (const block of lineBlocks(chunks(), 0, { skipStart, skipEnd, maxLine: 1000, tooLong: () => {} })) {
            text += `${block.bytes.toString().replace(/\n$/, '')}\n`
          }
          const all = bytes.toString().split('\n')
          if (all.at(-1) === '') all.pop()
          const wanted = all
            .map((one) => one.replace(/\r$/, ''))
            .slice(skipStart, Math.max(skipStart, all.length - skipEnd))
          expect(text.split('\n').filter(Boolean)).toEqual(wanted.filter(Boolean))
        },
      ),
      { numRuns: 300 },
    )
  })

  it('beyond the limit are skipped and counted, the others come', async () => {
    const lost: string[] = []
    await write('long.txt', `a\n${'x'.repeat(700_000)}\nb\n`)
    const context = testContext({ lost: (count, error) => void lost.push(`${count} ${error.message}`) })
    const running = await readAll('long.txt', { fileType: 'lines', maxLineSize: '64KB' }, context)
    expect(running.texts()).toEqual(['a', 'b'])
    expect(lost).toEqual([expect.stringMatching(/^1 a line of 700000 bytes/)])
  })

  it('of compressed files are decompressed by the name', async () => {
    await write('a.jsonl.gz', gzipSync(numbered(50_000)))
    expect((await readAll('a.jsonl.gz', { fileType: 'lines' })).texts().length).toBe(50_000)
  })

  it('of a damaged gz file: what could be read, and a counted error', async () => {
    const lost: string[] = []
    const packed = gzipSync(numbered(200_000))
    await write('bad.gz', packed.subarray(0, packed.length / 2))
    const context = testContext({ lost: (_count, error) => void lost.push(error.message) })
    await readAll('bad.gz', { fileType: 'lines' }, context)
    expect(lost).toEqual([expect.stringContaining('unexpected end of file')])
  })

  it('wait while there is no room: one delivery at a time', async () => {
    await write('slow.jsonl', numbered(100_000))
    let open = 0
    let most = 0
    const running = await run(source('slow.jsonl', { fileType: 'lines' }), async () => {
      most = Math.max(most, ++open)
      await new Promise((resolve) => setTimeout(resolve, 3))
      open--
    })
    await running.done
    expect(most).toBe(1)
    expect(running.texts().length).toBe(100_000)
  })

  it('of a file truncated while it is read: no crash, no half line twice', async () => {
    await write('cut.jsonl', numbered(200_000))
    let first = true
    const running = await run(source('cut.jsonl', { fileType: 'lines' }), async () => {
      if (first) await truncate(join(directory.path, 'cut.jsonl'), 10)
      first = false
    })
    expect(await running.done).toBe('ended')
    const texts = running.texts()
    expect(new Set(texts).size).toBe(texts.length)
  })

  it('go on in the middle of the file after a rewind', async () => {
    await write('resume.jsonl', numbered(100_000))
    const first = source('resume.jsonl', { fileType: 'lines' })
    const controller = new AbortController()
    const seen: string[] = []
    await first.connect(controller.signal)
    await first.read((chunk: Chunk) => {
      seen.push(...textsOf(chunk))
      if (seen.length > 30_000) controller.abort()
    }, controller.signal)
    const second = source('resume.jsonl', { fileType: 'lines' })
    await second.rewind?.(first.offset?.() ?? null)
    const rest = await run(second)
    await rest.done
    expect([...seen, ...rest.texts()]).toEqual(numbered(100_000).trim().split('\n'))
  })
})

describe('csv', () => {
  it('gives rows of text by header, by columns, or cols0', async () => {
    await write('h.csv', 'id, name\n1,"a ""quoted"", one"\n2\n3,x,y\n')
    expect((await readAll('h.csv', { fileType: 'csv', hasHeader: true })).texts()).toEqual([
      '{"id":"1","name":"a \\"quoted\\", one"}',
      '{"id":"2"}',
      '{"id":"3","name":"x"}',
    ])
    await write('c.csv', '1;2\r\n3;4')
    expect((await readAll('c.csv', { fileType: 'csv', columns: ['a', 'b'], delimiter: ';' })).texts()).toEqual([
      '{"a":"1","b":"2"}',
      '{"a":"3","b":"4"}',
    ])
    expect((await readAll('c.csv', { fileType: 'csv', delimiter: ';' })).texts()[0]).toBe('{"cols0":"1","cols1":"2"}')
  })

  it('ends at a malformed record, after the good ones, with a counted error', async () => {
    const lost: string[] = []
    const context = testContext({ lost: (_n, error) => void lost.push(error.message) })
    await write('bad.csv', 'a,b\nc,d"e\nf,g\n')
    expect((await readAll('bad.csv', { fileType: 'csv' }, context)).texts()).toEqual(['{"cols0":"a","cols1":"b"}'])
    expect(lost).toEqual([expect.stringContaining('bare " in non-quoted field')])
  })

  it('keeps columns named like members of objects as data', async () => {
    await write('p.csv', '__proto__,constructor\n1,2\n')
    const running = await readAll('p.csv', { fileType: 'csv', hasHeader: true })
    const row = running.chunks[0]?.kind === 'rows' ? (running.chunks[0].rows[0] as ValueObject) : {}
    expect(Object.keys(row)).toEqual(['__proto__', 'constructor'])
    expect(Object.getPrototypeOf(row)).toBe(Object.prototype)
  })

  it('reads back what was written, however it is cut', () => {
    const field = fc.string({ maxLength: 8 }).map((s) => s.replace(/\r/g, ''))
    fc.assert(
      fc.property(
        fc.array(fc.array(field, { minLength: 1, maxLength: 4 }), { maxLength: 10 }),
        fc.integer({ min: 1, max: 20 }),
        (records, size) => {
          const text = records.map((record) => record.map((one) => `"${one.replace(/"/g, '""')}"`).join(',')).join('\n')
          const reader = csvReader(',', 10_000)
          for (let i = 0; i < text.length; i += size) reader.push(text.slice(i, i + size))
          reader.end()
          expect(reader.take()).toEqual(records)
        },
      ),
    )
  })
})

describe('whole files', () => {
  it('are one payload, without byte order mark', async () => {
    await write('one.json', '\ufeff[{"a":1},{"a":2}]')
    expect((await readAll('one.json')).texts()).toEqual(['[{"a":1},{"a":2}]'])
  })

  it('that are large json arrays come in pieces with every element once', async () => {
    const element = (i: number) => ({ i, text: `a]b"c,{[\\${i}`, nested: [i, { x: [i] }] })
    const all = Array.from({ length: 90_000 }, (_, i) => element(i))
    await write('array.json', JSON.stringify(all, null, 1))
    const running = await readAll('array.json')
    expect(running.chunks.length).toBeGreaterThan(1)
    expect(running.texts().flatMap((text) => JSON.parse(text))).toEqual(all)
  })

  it('array pieces are the array, whatever the chunks are', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.json({ maxDepth: 3 }), { maxLength: 12 }),
        fc.integer({ min: 1, max: 30 }),
        async (elements, size) => {
          const text = Buffer.from(` [${elements.join(' , ')}] \n`)
          async function* chunks() {
            for (let i = 0; i < text.length; i += size) yield text.subarray(i, i + size)
          }
          const seen: unknown[] = []
          for await (const piece of arrayPieces(chunks(), 20, 1 << 20)) seen.push(...JSON.parse(String(piece)))
          expect(seen).toEqual(elements.map((one) => JSON.parse(one)))
        },
      ),
    )
  })

  it('beyond the limit are not loaded but counted', async () => {
    const lost: string[] = []
    await write('huge.bin', 'x'.repeat(5000))
    await readAll(
      'huge.bin',
      { maxFileSize: 4000, format: 'binary' },
      testContext({ lost: (_n, e) => void lost.push(e.message) }),
    )
    expect(lost).toEqual([expect.stringContaining('longer than 4000 bytes')])
  })

  it('that are empty are skipped', async () => {
    await write('empty.json', '')
    const context = testContext()
    expect((await readAll('empty.json', {}, context)).texts()).toEqual([])
    expect(context.logged.join()).toContain('is empty')
  })
})

describe('directories', () => {
  it('are read in the order of modification, then watched: new and moved-in files come once', async () => {
    await write('b.jsonl', '{"n":2}\n')
    await write('a.jsonl', '{"n":1}\n')
    await utimes(join(directory.path, 'a.jsonl'), 1000, 1000)
    await mkdir(join(directory.path, 'sub'))
    const running = await run(source('', { fileType: 'lines' }))
    await running.until(2)
    expect(running.texts()).toEqual(['{"n":1}', '{"n":2}'])
    await write('c.jsonl', '{"n":3}\n')
    await running.until(3)
    const outside = await temporaryDirectory()
    await writeFile(join(outside.path, 'old'), '{"n":4}\n')
    await utimes(join(outside.path, 'old'), 500, 500)
    await rename(join(outside.path, 'old'), join(directory.path, 'old.jsonl'))
    await running.until(4)
    await appendFile(join(directory.path, 'c.jsonl'), '{"n":5}\n')
    await running.until(6)
    expect(running.texts().slice(4)).toEqual(['{"n":3}', '{"n":5}'])
    await running.stop()
    await outside.remove()
  })

  it('only newer files are read after a rewind', async () => {
    await write('old.jsonl', '{"n":1}\n')
    await utimes(join(directory.path, 'old.jsonl'), 1000, 1000)
    const rewound = source('', { fileType: 'lines' })
    await rewound.rewind?.({ lastModifyTime: 1_000_000 })
    await write('new.jsonl', '{"n":2}\n')
    const running = await run(rewound)
    await running.until(1)
    expect(running.texts()).toEqual(['{"n":2}'])
    expect(rewound.offset?.()).toMatchObject({ lastModifyTime: expect.any(Number) })
    await running.stop()
  })

  it('are read again every interval', async () => {
    await write('x.jsonl', '{"n":1}\n')
    const running = await run(source('x.jsonl', { fileType: 'lines', interval: 5 }))
    await running.until(3)
    await running.stop()
    expect(new Set(running.texts())).toEqual(new Set(['{"n":1}']))
  })
})

describe('after reading', () => {
  it('a file is deleted only when its rows were accepted', async () => {
    await write('d.jsonl', '{"n":1}\n')
    const held: Chunk[] = []
    const running = await run(
      source('d.jsonl', { fileType: 'lines', actionAfterRead: 1 }),
      (chunk) => void held.push(chunk),
    )
    await running.done
    expect(await readdir(directory.path)).toEqual(['d.jsonl'])
    held[0]?.settled?.(null)
    await eventually(async () => (await readdir(directory.path)).length === 0)
  })

  it('a file whose rows were refused stays', async () => {
    await write('d.jsonl', '{"n":1}\n')
    const running = await run(source('d.jsonl', { fileType: 'lines', actionAfterRead: 1 }), (chunk) =>
      chunk.settled?.(new Error('no')),
    )
    await running.done
    expect(await readdir(directory.path)).toEqual(['d.jsonl'])
  })

  it('a file is moved, and never over another one', async () => {
    await mkdir(join(directory.path, 'done'))
    await write('done/m.jsonl', 'precious')
    await write('m.jsonl', '{"n":1}\n')
    const moved = { fileType: 'lines', actionAfterRead: 2, moveTo: join(directory.path, 'done') }
    const running = await run(source('m.jsonl', moved))
    await running.done
    await eventually(async () => (await readdir(join(directory.path, 'done'))).length === 2)
    expect(await readdir(directory.path)).toEqual(['done'])
  })
})

describe('properties', () => {
  it('are refused with the reference texts', async () => {
    expect(() => makeSource(file.source, 'x', {}, testContext())).toThrow('missing property Path')
    expect(() => source('x', { actionAfterRead: 3 })).toThrow('invalid actionAfterRead: 3')
    expect(() => source('x', { actionAfterRead: 2 })).toThrow('missing moveTo when actionAfterRead is 2')
    expect(() => source('x', { fileType: 'csv', decompression: 'gzip' })).toThrow(
      'decompression is not supported for csv file type',
    )
    await expect(run(source('nowhere'))).rejects.toThrow(`file ${join(directory.path, 'nowhere')} not exist`)
    await write('plain', '')
    await expect(run(source('plain', { actionAfterRead: 2, moveTo: join(directory.path, 'plain') }))).rejects.toThrow(
      'is not a directory',
    )
  })
})
