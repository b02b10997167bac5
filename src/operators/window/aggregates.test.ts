import fc from 'fast-check'
import { expect, it } from 'vitest'
import '../../../test/support/seed.ts'
import type { Value } from '../../core/values.ts'
import type { AggregateFunction } from '../../functions/contract.ts'
import { builtinFunctions } from '../../functions/index.ts'
import type { AggregateCall } from './aggregation.ts'
import { groupStates } from './group-states.ts'
import { aggregateGroups } from './grouped-aggregates.ts'
import { movingAggregate } from './moving-aggregates.ts'

const names = ['count', 'sum', 'avg', 'max', 'min'] as const

function callOf(functionName: string): AggregateCall {
  const { accumulator } = builtinFunctions(functionName) as AggregateFunction
  return {
    name: functionName,
    functionName,
    args: [() => null],
    accumulator: accumulator as AggregateCall['accumulator'],
  }
}

/** What adding the values one by one gives, or the error. */
function added(functionName: string, values: readonly Value[]): Value | { error: string } {
  const { accumulator } = callOf(functionName)
  const state = accumulator.create()
  for (const value of values) accumulator.add(state, [value])
  return outcome(() => accumulator.result(state))
}

function outcome(result: () => Value): Value | { error: string } {
  try {
    return result()
  } catch (error) {
    return { error: (error as Error).message }
  }
}

const whole = fc.oneof(fc.integer({ min: -5, max: 5 }), fc.constantFrom(-0, 2 ** 53 - 1, -(2 ** 53), 1e300))
const fraction = fc.double({ noNaN: true, noDefaultInfinity: true, min: -100, max: 100 })
const integer = fc.oneof(fc.bigInt({ min: -9n, max: 9n }), fc.constantFrom(2n ** 63n - 1n, -(2n ** 63n)))
const odd = fc.constantFrom<Value>('text', true, Number.NaN, Number.POSITIVE_INFINITY, [])
const column = fc.oneof(
  ...[[whole], [whole, fraction], [fraction], [integer], [whole, fraction, integer, odd]].map((kinds) =>
    fc.array(
      fc.oneof(
        { weight: 8, arbitrary: fc.oneof<fc.Arbitrary<Value>[]>(...kinds) },
        { weight: 1, arbitrary: fc.constant(null) },
      ),
      {
        minLength: 1,
        maxLength: 60,
      },
    ),
  ),
)

it.each(names)('%s over a range that moves is what its values give, added in order', (name) => {
  const steps = fc.array(fc.tuple(fc.nat(3), fc.nat(12), fc.nat(40)), { minLength: 1, maxLength: 60 })
  fc.assert(
    fc.property(column, steps, (values, list) => {
      const moving = movingAggregate(name)
      let from = 0
      for (const [ahead, length, back] of list) {
        // Now and then somewhere behind, as windows of another kind would.
        from = back === 0 ? 0 : (from + ahead) % values.length
        const to = Math.min(values.length, from + length)
        const got = moving?.over(values, from, to)
        if (got !== undefined) expect(got).toBe(added(name, values.slice(from, to)))
        else if (to > from) expect(plainNumbers(values.slice(from, to))).toBe(false)
        if (back === 40) moving?.forget()
      }
    }),
    { numRuns: 300 },
  )
})

const plainNumbers = (values: readonly Value[]): boolean =>
  values.every((v) => v === null || (typeof v === 'number' && !Number.isNaN(v)))

it('finds eight ranges in one pass, and goes on from each', () => {
  const values = Array.from({ length: 500 }, (_, i) => Math.sin(i))
  const sums = movingAggregate('sum')
  for (let to = 1; to <= values.length; to++) {
    const from = Math.max(0, to - 100)
    expect(sums?.over(values, from, to)).toBe(added('sum', values.slice(from, to)))
  }
})

it.each([...names, 'collect'])('%s of groups is what the values of each give, added in order', (name) => {
  fc.assert(
    fc.property(
      column,
      fc.array(fc.integer({ min: -1, max: 3 }), { minLength: 60, maxLength: 60 }),
      fc.nat(20),
      (values, of, start) => {
        const from = Math.min(start, values.length - 1)
        const groups = Int32Array.from(of.slice(0, values.length - from))
        const results = aggregateGroups(callOf(name), [values], { from, to: values.length, groups, count: 4 })
        for (let group = 0; group < 4; group++) {
          const own = values.filter((_, i) => i >= from && groups[i - from] === group)
          if (own.length > 0) expect(outcome(() => results.of(group))).toStrictEqual(added(name, own))
        }
      },
    ),
    { numRuns: 200 },
  )
})

it.each([...names, 'collect'])('%s of groups that run on is what the values give, also from a saved state', (name) => {
  const steps = fc.array(fc.tuple(fc.nat(40), fc.nat(30)), { maxLength: 80 })
  fc.assert(
    fc.property(column, steps, (values, list) => {
      const call = callOf(name)
      let states = groupStates(call)
      const model = new Map<number, Value[]>()
      for (const [group, then] of list) {
        const value = values[(group * 7 + then) % values.length] as Value
        states.add(group, [value])
        model.set(group, [...(model.get(group) ?? []), value])
        if (then > 0) continue
        const loaded = groupStates(call)
        for (const g of model.keys()) loaded.load(g, states.save(g))
        states = loaded
      }
      for (const [group, own] of model) {
        const result = outcome(() => states.result(group))
        expect(result).toStrictEqual(added(name, own))
        if (!states.fallible)
          expect(JSON.stringify(result, (_, v) => (typeof v === 'bigint' ? 0 : v))).not.toMatch('error')
      }
    }),
    { numRuns: 300 },
  )
})
