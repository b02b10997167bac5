import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { callForTests, columns, integers } from '../../test/support/arbitrary-values.ts'
import { decodeState, encodeState } from '../core/state.ts'
import type { Value } from '../core/values.ts'
import { aggregateFunctions } from './aggregate.ts'
import type { Accumulator, AggregateFunction } from './contract.ts'
import { builtinFunctions } from './index.ts'

const call = callForTests()

type Outcome = { value: Value } | { error: string }

function outcomeOf(run: () => Value): Outcome {
  try {
    return { value: run() }
  } catch (error) {
    expect((error as Error).name).toBe('RowError')
    return { error: (error as Error).message }
  }
}

const aggregate = (name: string): AggregateFunction => builtinFunctions(name) as AggregateFunction
const run = (name: string, ...lists: Value[][]): Value => aggregate(name).run(lists, call)

/** NaN is the same as NaN here. */
const same = (a: Outcome, b: Outcome): boolean => encodeState(a as Value) === encodeState(b as Value)

/** Arguments of a call over the rows: the column, and for those that take more a constant. */
function argumentsOf(def: AggregateFunction, column: Value[], flag: boolean, share: number): Value[][] {
  const fill = (value: Value): Value[] => column.map(() => value)
  switch (def.name) {
    case 'deduplicate':
      return [column.map((value) => ({ value })), column, fill(flag)]
    case 'last_value':
      return [column, fill(flag)]
    case 'percentile_cont':
    case 'percentile_disc':
      return [column, fill(share)]
    default:
      return [column]
  }
}

describe.each(aggregateFunctions.map((def) => [def.name, def] as const))('%s', (_, def) => {
  const accumulator = def.accumulator as Accumulator<unknown>

  test('row by row, saved and loaded at any point, gives what it gives over the whole group', () => {
    fc.assert(
      fc.property(
        columns,
        fc.boolean(),
        fc.constantFrom(0, 0.25, 0.5, 1, 1.5, -1),
        fc.array(fc.nat(30)),
        (column, flag, share, saves) => {
          const args = argumentsOf(def, column, flag, share)
          const whole = outcomeOf(() => def.run(args, call))
          const stepwise = outcomeOf(() => {
            let state = accumulator.create()
            column.forEach((_value, row) => {
              accumulator.add(
                state,
                args.map((list) => list[row] as Value),
              )
              if (saves.includes(row)) state = accumulator.load(decodeState(encodeState(accumulator.save(state))))
            })
            return accumulator.result(state)
          })
          expect(same(whole, stepwise)).toBe(true)
        },
      ),
    )
  })

  test('a result is not changed by rows added later, nor by the caller', () => {
    fc.assert(
      fc.property(columns, columns, (column, more) => {
        const state = accumulator.create()
        const feed = (list: Value[]): void => {
          const args = argumentsOf(def, list, true, 0.5)
          for (const row of list.keys()) {
            accumulator.add(
              state,
              args.map((values) => values[row] as Value),
            )
          }
        }
        feed(column)
        const first = outcomeOf(() => accumulator.result(state))
        const kept = encodeState(first as Value)
        feed(more)
        outcomeOf(() => accumulator.result(state))
        expect(encodeState(first as Value)).toBe(kept)
      }),
    )
  })
})

test('no row gives null, except from collect', () => {
  for (const def of aggregateFunctions) {
    const nothing = argumentsOf(def, [], true, 0.5)
    expect([def.name, def.run(nothing, call)]).toEqual([def.name, def.name === 'collect' ? [] : null])
  }
})

test('sums of integers wrap at 64 bits and means truncate towards zero', () => {
  fc.assert(
    fc.property(fc.array(integers, { minLength: 1 }), (list) => {
      const sum = BigInt.asIntN(
        64,
        list.reduce((a, b) => a + b, 0n),
      )
      expect(run('sum', list)).toBe(sum)
      expect(run('avg', list)).toBe(sum / BigInt(list.length))
    }),
  )
})

test('the extremes are members of the list and bound it', () => {
  fc.assert(
    fc.property(fc.array(integers, { minLength: 1 }), (list) => {
      const [low, high] = [run('min', list), run('max', list)] as [bigint, bigint]
      expect(list.every((value) => low <= value && value <= high)).toBe(true)
      expect(list.includes(low) && list.includes(high)).toBe(true)
    }),
  )
})

test('collect gives every value and deduplicate the first of each text', () => {
  fc.assert(
    fc.property(columns, (column) => {
      expect(encodeState(run('collect', column))).toBe(encodeState(column))
    }),
  )
  expect(run('deduplicate', [{ a: 1n }, { a: '1' }, { a: 2n }], [1n, '1', 2n], [true, true, true])).toEqual([
    { a: 1n },
    { a: 2n },
  ])
})

test('merging keeps keys such as __proto__ as data', () => {
  const merged = run('merge_agg', [JSON.parse('{"__proto__": {"polluted": 1}}'), { a: 1n }])
  expect(Object.keys(merged as object)).toEqual(['__proto__', 'a'])
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
})
