import fc from 'fast-check'
import { expect, it } from 'vitest'
import { drive } from '../../../test/support/drive.ts'
import '../../../test/support/seed.ts'
import { manualClock } from '../../core/clock.ts'
import { makeRow } from '../../core/row.ts'
import type { WindowSpec } from './contract.ts'
import { createWindow } from './index.ts'

const spec = (rows: number): WindowSpec => ({
  kind: 'session',
  unit: 'ms',
  length: 20,
  interval: 5,
  delay: 0,
  eventTime: true,
  when: null,
  onHit: null,
  begin: null,
  emit: null,
  partition: [],
  halfOpen: false,
  sendTwice: false,
  limits: { rows, bytes: 1e9, partitions: 1, policy: 'dropOldest' },
})

it('gives the same whether it goes on from the last watermark or looks at all its rows again', () => {
  const steps = fc.array(
    fc.record({ times: fc.array(fc.nat(6), { maxLength: 4 }), silence: fc.constantFrom(0, 0, 0, 3, 7, 30) }),
    { maxLength: 40 },
  )
  fc.assert(
    fc.property(steps, fc.constantFrom(3, 8, 1000), (list, rows) => {
      const going = drive(createWindow(spec(rows)), manualClock())
      let again = drive(createWindow(spec(rows)), manualClock())
      const shown: unknown[] = []
      let now = 0
      for (const { times, silence } of list) {
        const batch = [...times].sort((a, b) => a - b).map((t) => makeRow('s', { t: now + t }, now + t))
        now += (times.length ? Math.max(...times) : 0) + silence
        for (const driven of [going, again]) {
          if (batch.length) driven.push({ kind: 'rows', rows: batch, events: batch.length })
          driven.watermark(now)
        }
        shown.push(...again.batches)
        again = drive(createWindow(spec(rows)), manualClock(), 'UTC', again.operator.save?.())
      }
      expect(going.batches).toEqual(shown)
      expect(going.operator.save?.()).toEqual(again.operator.save?.())
    }),
    { numRuns: 300 },
  )
})
