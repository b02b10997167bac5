import { createDecipheriv } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { item, makeSink, never, temporaryDirectory, testContext } from '../../../test/support/connectors.ts'
import { manualClock } from '../../core/clock.ts'
import type { IxionError } from '../../core/errors.ts'
import type { ValueObject } from '../../core/values.ts'
import type { SinkItem } from '../contract.ts'
import { file } from './index.ts'

let directory: Awaited<ReturnType<typeof temporaryDirectory>>
beforeEach(async () => {
  directory = await temporaryDirectory()
})
afterEach(() => directory.remove())

const at = (name: string) => join(directory.path, name)
const content = async (name: string) => (await readFile(at(name))).toString()
const items = (from: number, to: number): SinkItem[] =>
  Array.from({ length: to - from }, (_, i) => item(`{"n":${from + i}}`))

async function open(properties: ValueObject, context = testContext()) {
  const sink = makeSink(file.sink, { path: at('out'), ...properties }, context)
  await sink.connect(never())
  return sink
}

describe('layout', () => {
  it('lines are joined by line feeds, json is one array, csv has its header once', async () => {
    const lines = await open({})
    await lines.send(item('a'), never())
    await lines.sendMany?.([item('b'), item('c')], never())
    await lines.close()
    expect(await content('out')).toBe('a\nb\nc')

    const json = await open({ fileType: 'json' })
    await json.sendMany?.(items(0, 2), never())
    await json.close()
    expect(await content('out')).toBe('[{"n":0},{"n":1}]')

    const csv = await open({
      fileType: 'csv',
      format: 'delimited',
      hasHeader: true,
      rollingNamePattern: 'suffix',
      rollingCount: 2,
    })
    await csv.sendMany?.([item('a,b\n1,2'), item('a,b\n3,4'), item('a,b\n5,6')], never())
    await csv.close()
    const names = (await readdir(directory.path)).filter((name) => name.startsWith('out-')).sort()
    expect(await Promise.all(names.map(content))).toEqual(['a,b\n1,2\n3,4', 'a,b\n5,6'])
  })

  it('an item of many lines is many messages, cut exactly where a file is full', async () => {
    const sink = await open({ rollingNamePattern: 'suffix', rollingCount: 3 })
    const bulk: SinkItem = { ...item('1\n2\n3\n4\n5\n6\n7\n'), rows: 7, lines: true }
    await sink.send(item('0'), never())
    await sink.send(bulk, never())
    await sink.close()
    const names = (await readdir(directory.path)).sort()
    expect(await Promise.all(names.map(content))).toEqual(['0\n1\n2', '3\n4\n5', '6\n7'])
  })

  it('does not keep the memory of the payload', async () => {
    const sink = await open({})
    const payload = Buffer.from('first')
    await sink.send({ ...item(''), payload }, never())
    payload.fill('x')
    await sink.close()
    expect(await content('out')).toBe('first')
  })

  it('takes a hundred thousand lines in order', async () => {
    const sink = await open({})
    for (let i = 0; i < 100; i++) await sink.sendMany?.(items(i * 1000, i * 1000 + 1000), never())
    await sink.close()
    expect(await content('out')).toBe(Array.from({ length: 100_000 }, (_, i) => `{"n":${i}}`).join('\n'))
  })
})

describe('rolling', () => {
  it('by size; names never collide within a millisecond', async () => {
    const sink = await open(
      { rollingSize: 10, rollingCount: 0, rollingNamePattern: 'prefix' },
      testContext({ clock: manualClock({ start: 5000 }) }),
    )
    await sink.sendMany?.(items(0, 6), never())
    await sink.close()
    const names = (await readdir(directory.path)).sort()
    expect(names).toEqual(['5000-out', '5001-out', '5002-out'])
    expect(await content('5001-out')).toBe('{"n":2}\n{"n":3}')
  })

  it('by time, looked at every checkInterval; without a pattern the new file replaces the old', async () => {
    const clock = manualClock()
    const sink = await open({ rollingInterval: '10s', checkInterval: '4s' }, testContext({ clock }))
    await sink.send(item('old'), never())
    await clock.advance(8000)
    await sink.send(item('same file'), never())
    await sink.flush?.()
    expect(await content('out')).toBe('old\nsame file')
    await clock.advance(4000)
    await sink.send(item('new'), never())
    await sink.close()
    expect(await content('out')).toBe('new')
  })

  it('never replaces a file unless asked to', async () => {
    const clock = manualClock()
    const sink = await open({}, testContext({ clock }))
    await sink.send(item('first'), never())
    await clock.advance(3_600_000)
    await sink.send(item('an hour later'), never())
    await sink.close()
    expect(await content('out')).toBe('first\nan hour later')
  })

  it('keeps one file for each rendered path, and refuses more than maxOpenFiles', async () => {
    const sink = await open({ path: at('{{.a}}'), maxOpenFiles: 2 })
    for (const name of ['a', 'b', 'a']) await sink.send(item(name, { path: at(name) }), never())
    await expect(sink.send(item('c', { path: at('c') }), never())).rejects.toMatchObject({ code: 'LIMIT' })
    await sink.close()
    expect(await content('a')).toBe('a\na')
    expect(await content('b')).toBe('b')
  })
})

describe('flushing', () => {
  it('brings results to the disk after flushInterval, and at once with 0', async () => {
    const clock = manualClock()
    const sink = await open({ flushInterval: 500 }, testContext({ clock }))
    await sink.send(item('x'), never())
    expect(await content('out')).toBe('')
    await clock.advance(500)
    await sink.flush?.()
    expect(await content('out')).toBe('x')
    await sink.close()
    const direct = await open({ flushInterval: 0 })
    await direct.send(item('y'), never())
    expect(await content('out')).toBe('y')
    await direct.close()
  })

  // Only Linux has a device that is always full.
  it.runIf(existsSync('/dev/full'))('a full disk is a clear, retriable error, and memory stays bounded', async () => {
    const lost: number[] = []
    const context = testContext({ lost: (count) => void lost.push(count) })
    const sink = await open({ path: '/dev/full', flushInterval: 0 }, context)
    await sink.send(item('taken into the buffer'), never())
    for (let i = 0; i < 3; i++) {
      const failure = (await sink.sendMany?.([item('not taken')], never()).catch((error) => error)) as IxionError & {
        taken: number
      }
      expect(failure).toMatchObject({ code: 'STORAGE', taken: 0, message: expect.stringContaining('ENOSPC') })
      expect(failure.kind.retry).toBe(true)
    }
    await sink.close()
    expect(lost).toEqual([1])
  })
})

describe('layers', () => {
  it('gzip gives a readable file, also after many flushes', async () => {
    const sink = await open({ compression: 'gzip', flushInterval: 0 })
    await sink.sendMany?.(items(0, 50), never())
    await sink.close()
    expect(
      gunzipSync(await readFile(at('out')))
        .toString()
        .split('\n').length,
    ).toBe(50)
  })

  it('aes is a CFB stream with its iv in front', async () => {
    const key = Buffer.alloc(32, 7)
    const sink = await open({ encryption: 'aes', flushInterval: 0 }, testContext({ aesKey: key }))
    await sink.sendMany?.(items(0, 5), never())
    await sink.close()
    const bytes = await readFile(at('out'))
    const cipher = createDecipheriv('aes-256-cfb', key, bytes.subarray(0, 16))
    expect(cipher.update(bytes.subarray(16)).toString()).toBe('{"n":0}\n{"n":1}\n{"n":2}\n{"n":3}\n{"n":4}')
  })
})

describe('properties', () => {
  it.each([
    [{ path: '' }, 'path must be set'],
    [{ fileType: 'xml' }, 'fileType must be one of json, csv or lines'],
    [{ fileType: 'csv' }, 'format must be delimited when fileType is csv'],
    [{ rollingInterval: -1 }, 'rollingInterval must be positive'],
    [{ rollingCount: -1 }, 'rollingCount must be positive'],
    [{ checkInterval: 0 }, 'checkInterval must be positive'],
    [{ rollingCount: 0 }, 'one of rollingInterval, rollingCount, or rollingSize must be set'],
    [{ rollingNamePattern: 'x' }, 'rollingNamePattern must be one of prefix, suffix or none'],
    [{ rollingHook: 'h' }, 'rolling hook h is not registered'],
    [{ compression: 'lz4' }, 'compression must be one of gzip, zstd'],
    [{ encryption: 'aes' }, 'AES Key is not defined'],
  ] as [ValueObject, string][])('%j: %s', async (properties, message) => {
    await expect(open(properties)).rejects.toThrow(message)
  })
})
