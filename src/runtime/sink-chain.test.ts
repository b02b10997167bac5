import { describe, expect, it } from 'vitest'
import { manualClock } from '../core/clock.ts'
import { RowError } from '../core/errors.ts'
import { Ledger } from '../core/ledger.ts'
import type { Value, ValueObject } from '../core/values.ts'
import { NodeMetrics } from './metrics.ts'
import { createSinkChain } from './sink-chain.ts'

/** Sends rows through a chain whose encoder refuses the value 2; the messages and the ledger. */
function send(rows: readonly ValueObject[], sendError: boolean) {
  const clock = manualClock()
  const node = (name: string): NodeMetrics => new NodeMetrics('op', name, clock)
  const messages: string[] = []
  const ledger = new Ledger()
  const chain = createSinkChain({
    clock,
    takes: 'bytes',
    batch: null,
    byteSteps: [],
    sendError,
    transform: {
      metrics: node('transform'),
      identity: null,
      run: (result) => result.rows.map((value) => ({ value, text: null, dynamic: {}, rows: 1 })),
    },
    encode: {
      metrics: node('encode'),
      run: (value) => {
        const { v } = value as ValueObject
        if (v === 2) throw new RowError('two has no text')
        return new TextEncoder().encode(String(v))
      },
    },
  })
  chain.start(
    (items) => {
      for (const { payload } of items) messages.push(new TextDecoder().decode(payload as Uint8Array))
    },
    ledger,
    null,
  )
  chain.offer({ rows, meta: null })
  return { messages, ledger: ledger.read(0) }
}

describe('a result that cannot be encoded', () => {
  const rows = [1, 2, 3].map((v) => ({ v }))

  it('is counted', () => {
    const { messages, ledger } = send(rows, false)
    expect(messages).toEqual(['1', '3'])
    expect(ledger).toMatchObject({ received: 3, dropped: { error: 1 } })
  })

  it('leaves its error in its place with sendError', () => {
    const { messages, ledger } = send(rows, true)
    expect(messages).toEqual(['1', 'two has no text', '3'])
    expect(ledger).toMatchObject({ received: 4, dropped: { error: 1 } })
  })
})

describe('a batch', () => {
  it('is full after so many results, whatever messages they become', () => {
    const clock = manualClock()
    const node = (name: string): NodeMetrics => new NodeMetrics('op', name, clock)
    const values: Value[] = []
    const chain = createSinkChain({
      clock,
      takes: 'rows',
      batch: { metrics: node('batch'), writerMetrics: null, size: 2, linger: 0, writer: null },
      byteSteps: [],
      encode: null,
      transform: {
        metrics: node('transform'),
        identity: null,
        run: (result) => result.rows.map((value) => ({ value, text: null, dynamic: {}, rows: 1 })),
      },
    })
    chain.start((items) => values.push(...items.map((item) => item.value)), new Ledger(), null)
    const window = (...rows: number[]) => chain.offer({ rows: rows.map((v) => ({ v })), meta: null })
    window(1, 2, 3)
    expect(chain.heldRows).toBe(3)
    window(4)
    window(5)
    expect(values).toEqual([[{ v: 1 }, { v: 2 }, { v: 3 }, { v: 4 }]])
    chain.finish()
    expect(values[1]).toEqual([{ v: 5 }])
  })
})
