/** Memory, simulator, log, nop and logToMemory, the topic bus and the resource pool. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { eventually, item, makeSink, makeSource, never, run, testContext } from '../../test/support/connectors.ts'
import { manualClock } from '../core/clock.ts'
import type { Value, ValueObject } from '../core/values.ts'
import type { Chunk, SinkItem } from './contract.ts'
import { connectors } from './index.ts'
import { log } from './log/index.ts'
import { logToMemory, queryMailbox } from './log-to-memory/index.ts'
import { memory } from './memory/index.ts'
import { nop } from './nop/index.ts'
import { createResourcePool } from './resource-pool.ts'
import { simulator } from './simulator/index.ts'
import { topicMatcher } from './topic-bus.ts'

const rows = (value: Value): SinkItem => ({
  payload: null,
  value,
  dynamic: {},
  rows: Array.isArray(value) ? value.length : 1,
})

describe('memory topics', () => {
  it('reach every matching stream, lists as rows, with the topic as metadata', async () => {
    const context = testContext()
    const exact = await run(makeSource(memory.source, 'a/b', {}, context))
    const pattern = await run(makeSource(memory.source, 'a/+', {}, context))
    const other = await run(makeSource(memory.source, 'x/#', {}, context))
    const sink = makeSink(memory.sink, { topic: 'a/b' }, context)
    await sink.send(rows([{ n: 1 }, { n: 2 }]), never())
    await sink.send({ ...rows({ n: 3 }), dynamic: { topic: 'x/y/z' } }, never())
    expect(exact.texts()).toEqual(['{"n":1}', '{"n":2}'])
    expect(pattern.texts()).toEqual(['{"n":1}', '{"n":2}'])
    expect(other.texts()).toEqual(['{"n":3}'])
    expect(other.chunks[0]?.meta).toEqual([{ topic: 'x/y/z' }])
    for (const one of [exact, pattern, other]) await one.stop()
    await sink.send(rows({ n: 4 }), never())
  })

  it('make the publisher wait for the slowest stream, and no longer once it has stopped', async () => {
    const context = testContext()
    let release = (): void => {}
    const full = new Promise<void>((resolve) => {
      release = resolve
    })
    const slow = await run(makeSource(memory.source, 't', {}, context), () => full)
    const quick = await run(makeSource(memory.source, 't', {}, context))
    const sink = makeSink(memory.sink, { topic: 't' }, context)
    let sent = false
    const sending = sink.send(rows({ n: 1 }), never()).then(() => {
      sent = true
    })
    await eventually(() => quick.texts().length === 1)
    expect(sent).toBe(false)
    release()
    await sending
    const never_ = new Promise<void>(() => {})
    await slow.stop()
    const stuck = await run(makeSource(memory.source, 't', {}, context), () => never_)
    const second = sink.send(rows({ n: 2 }), never())
    await eventually(() => stuck.chunks.length === 1)
    await stuck.stop()
    await second
    await quick.stop()
  })

  it('match as MQTT filters do, anchored', () => {
    const cases: [string, string, boolean][] = [
      ['a/+/c', 'a/b/c', true],
      ['a/+/c', 'a/b/d/c', false],
      ['a/#', 'a/b/c', true],
      ['a/#', 'a', true],
      ['a/#', 'xa/b', false],
      ['#', 'anything/at/all', true],
      ['#', '$SYS/x', false],
      ['+', 'a', true],
      ['+', 'a/b', false],
    ]
    for (const [filter, topic, matches] of cases)
      expect([filter, topic, topicMatcher(filter)(topic)]).toEqual([filter, topic, matches])
  })

  it('are refused when malformed', async () => {
    const context = testContext()
    expect(() => makeSource(memory.source, '', {}, context)).toThrow('topic is required')
    expect(() => makeSource(memory.source, 'a/#/b', {}, context)).toThrow(
      'invalid topic a/#/b: # must at the last level',
    )
    expect(() => makeSink(memory.sink, { topic: 'a/+' }, context)).toThrow('invalid memory topic a/+: wildcard found')
    expect(() => makeSink(memory.sink, { topic: 'a', rowkindField: 'k' }, context)).toThrow(
      'keyField is required when rowkindField is set',
    )
  })
})

describe('memory lookup table', () => {
  const open = async (context = testContext(), properties: ValueObject = { key: 'id' }) => {
    const table = memory.lookup?.create('devices', properties, context)
    if (!table) throw new Error('no lookup')
    await table.connect(never())
    const sink = makeSink(memory.sink, { topic: 'devices', rowkindField: 'op', keyField: 'id' }, context)
    return { table, sink, context, find: (keys: string[], values: Value[]) => table.lookupNow?.(null, keys, values) }
  }

  it('follows inserts, updates and deletes; finds by key, by other columns, numbers by value', async () => {
    const { sink, find, table } = await open()
    await sink.send(rows({ id: 1, name: 'a', op: 'insert' }), never())
    await sink.send(rows({ id: 2, name: 'b' }), never())
    await sink.send(rows({ id: 1, name: 'c', op: 'update' }), never())
    expect(find(['id'], [1n])).toEqual([{ id: 1, name: 'c', op: 'update' }])
    expect(find(['id', 'name'], [1, 'a'])).toEqual([])
    expect(find(['name'], ['b'])).toEqual([{ id: 2, name: 'b' }])
    await sink.send(rows({ id: 2, op: 'delete' }), never())
    expect(find(['id'], [2])).toEqual([])
    expect(find(['id'], ['1'])).toEqual([])
    await table.close()
  })

  it('rejects bad row kinds and missing keys; in a list such rows are plain rows', async () => {
    const { sink, find, table } = await open()
    await expect(sink.send(rows({ id: 1, op: 'fly' }), never())).rejects.toThrow('invalid rowkind fly')
    await expect(sink.send(rows({ id: 1, op: 3 }), never())).rejects.toThrow('rowkind field op is not a string')
    await expect(sink.send(rows({ n: 1 }), never())).rejects.toThrow('key field id not found')
    await sink.send(rows([{ id: 5, op: 'fly' }, { n: 1 }]), never())
    expect(find(['id'], [5])).toHaveLength(1)
    await table.close()
  })

  it('is bounded, shared by topic and key, and apart for another key', async () => {
    const lost: number[] = []
    const context = testContext({ lost: (n) => void lost.push(n) })
    const first = await open(context, { key: 'id', maxRows: 2 })
    const second = await open(context, { key: 'id', maxRows: 2 })
    const byName = await open(context, { key: 'name' })
    for (const id of [1, 2, 3]) await first.sink.send(rows({ id, name: `n${id}` }), never())
    expect(second.find(['id'], [2])).toHaveLength(1)
    expect(first.find(['id'], [3])).toEqual([])
    expect(lost).toEqual([1])
    expect(byName.find(['name'], ['n3'])).toHaveLength(1)
    expect(context.resources.usage().size).toBe(2)
    for (const one of [first, second, byName]) await one.table.close()
    expect(context.resources.usage().size).toBe(0)
  })
})

describe('simulator', () => {
  it('sends its rows once, or again and again, one per interval', async () => {
    const clock = manualClock()
    const context = testContext({ clock })
    const data = [{ a: 1 }, { a: 2 }]
    const once = await run(makeSource(simulator.source, '', { data, interval: 0 }, context))
    expect(await once.done).toBe('ended')
    expect(once.texts()).toEqual(['{"a":1}', '{"a":2}'])
    const looping = await run(makeSource(simulator.source, '', { data, loop: true, interval: '1s' }, context))
    await clock.advance(2500)
    expect(looping.texts()).toEqual(['{"a":1}', '{"a":2}', '{"a":1}'])
    await looping.stop()
    const empty = await run(makeSource(simulator.source, '', { data: [], loop: true }, context))
    expect(await empty.done).toBe('ended')
  })

  it('waits while there is no room, and goes on where it was after a rewind', async () => {
    const chunks: Chunk[] = []
    const source = makeSource(
      simulator.source,
      '',
      { data: [{ a: 1 }, { a: 2 }, { a: 3 }], interval: 0 },
      testContext(),
    )
    await source.rewind?.(1)
    const running = await run(source, async (chunk) => void chunks.push(chunk))
    await running.done
    expect(running.texts()).toEqual(['{"a":2}', '{"a":3}'])
    expect(source.offset?.()).toBe(3)
  })

  it('as lookup table needs all keys to match', async () => {
    const table = simulator.lookup?.create(
      '',
      {
        data: [
          { a: 1, b: 1 },
          { a: 1, b: 2 },
        ],
      },
      testContext(),
    )
    expect(table?.lookupNow?.(null, ['a', 'b'], [1n, 2])).toEqual([{ a: 1, b: 2 }])
  })
})

describe('log, nop, logToMemory', () => {
  it('write results where they belong', async () => {
    const context = testContext({ owner: 'r1' })
    await makeSink(log.sink, {}, context).send(item('{"a":1}'), never())
    await makeSink(nop.sink, {}, context).send(item('silent'), never())
    await makeSink(nop.sink, { log: true }, context).send(item('said'), never())
    expect(context.logged).toEqual(['sink result for rule r1: {"a":1}', 'sink result for rule r1: said'])
    const { mailbox, key } = await queryMailbox('r1', context.resources)
    const sink = makeSink(logToMemory.sink, {}, context)
    await sink.connect(never())
    for (let i = 0; i < 10_005; i++) await sink.send(item(`${i}`), never())
    const { results, dropped } = mailbox.take()
    expect([results.length, results[0], dropped]).toEqual([10_000, '5', 5])
    expect(mailbox.take()).toEqual({ results: [], dropped: 0 })
    await sink.close()
    await context.resources.release(key)
    expect(context.resources.usage().size).toBe(0)
  })
})

describe('resource pool', () => {
  it('opens once, closes with the last user, and never overlaps an old and a new one', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.boolean(), { maxLength: 30 }), async (steps) => {
        const pool = createResourcePool()
        let open = 0
        let users = 0
        const create = async () => {
          open++
          expect(open).toBe(1)
          return {
            async close() {
              await Promise.resolve()
              open--
            },
          }
        }
        const work: Promise<unknown>[] = []
        for (const take of steps) {
          if (take) {
            users++
            work.push(pool.acquire('k', create))
          } else if (users > 0) {
            users--
            work.push(pool.release('k'))
          }
        }
        await Promise.all(work)
        expect(open).toBe(users > 0 ? 1 : 0)
        await pool.closeAll()
        expect(open).toBe(0)
      }),
    )
  })

  it('forgets one that could not be made', async () => {
    const pool = createResourcePool()
    await expect(pool.acquire('k', () => Promise.reject(new Error('no')))).rejects.toThrow('no')
    await pool.acquire('k', async () => ({ close: async () => {} }))
    expect(pool.usage().get('k')).toBe(1)
  })
})

describe('the list of connectors', () => {
  it('has one definition a name, every option explained, secrets marked', () => {
    expect(new Set(connectors.map(({ name }) => name)).size).toBe(connectors.length)
    for (const connector of connectors) {
      for (const role of [connector.source, connector.sink, connector.lookup]) {
        if (!role) continue
        expect(role.name).toBe(connector.name)
        expect(role.docs).not.toBe('')
        for (const [name, option] of Object.entries(role.options)) {
          expect([name, option.docs.length > 10]).toEqual([name, true])
          if (/password|token|secret|private/i.test(name) && option.type === 'string' && !name.endsWith('Path')) {
            expect([name, option.secret]).toEqual([name, true])
          }
        }
      }
    }
  })
})
