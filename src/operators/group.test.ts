import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Instant, type Value } from '../core/values.ts'
import { groupKey } from './group.ts'

const texts = fc.oneof(
  fc.string({ maxLength: 4 }),
  fc.constantFrom('1', '1.5', 'true', '<nil>', '[1]', 'map[]', '\u0000', '\u00001', '\u0000"x', '1:1', ',', ''),
)
const leaves: fc.Arbitrary<Value> = fc.oneof(
  texts,
  fc.constantFrom<Value>(null, true, false, 0, 1, 1.5, 1n, 2n ** 60n, new Uint8Array([1]), new Instant(1000)),
)
const values = fc.oneof(
  leaves,
  fc.array(leaves, { maxLength: 2 }),
  fc.dictionary(fc.constantFrom('a', 'b', ''), leaves, { maxKeys: 2, noNullPrototype: true }),
)

/** Equality of values with their kinds; numbers are equal by value. */
function equal(a: Value, b: Value): boolean {
  const number = (v: Value): boolean => typeof v === 'number' || typeof v === 'bigint'
  // biome-ignore lint/suspicious/noDoubleEquals: 1 and 1n are equal here
  if (number(a) && number(b)) return (a as number) == (b as number)
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((v, i) => equal(v, b[i] as Value))
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return a === b
  if (a.constructor !== b.constructor) return false
  if (a instanceof Uint8Array && b instanceof Uint8Array) return a.join() === b.join()
  if (a instanceof Instant && b instanceof Instant) return a.epochMs === b.epochMs
  const [m, n] = [a as Record<string, Value>, b as Record<string, Value>]
  const names = Object.keys(m)
  return names.length === Object.keys(n).length && names.every((k) => k in n && equal(m[k] as Value, n[k] as Value))
}

describe('the key of a group', () => {
  it('is shared by equal lists of values and by no others', () => {
    const keys = fc.integer({ min: 1, max: 3 }).chain((n) => {
      const list = fc.array(values, { minLength: n, maxLength: n })
      return fc.tuple(list, list)
    })
    fc.assert(
      fc.property(keys, ([a, b]) => {
        expect(groupKey(a) === groupKey(b)).toBe(a.every((v, i) => equal(v, b[i] as Value)))
      }),
      { numRuns: 5000 },
    )
  })

  it('tells a number from its text, a boolean from its name, null from <nil>', () => {
    for (const [a, b] of [
      [1, '1'],
      [true, 'true'],
      [null, '<nil>'],
      [[1], ['1']],
      [{ a: 1 }, { a: '1' }],
    ] as const) {
      expect(groupKey([a as Value])).not.toBe(groupKey([b as Value]))
    }
    expect(groupKey([1])).toBe(groupKey([1n]))
  })
})
