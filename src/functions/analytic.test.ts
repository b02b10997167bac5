import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { callForTests, scalars, values } from '../../test/support/arbitrary-values.ts'
import { decodeState, encodeState } from '../core/state.ts'
import type { Value } from '../core/values.ts'
import { analyticFunctions } from './analytic.ts'
import type { AnalyticFunction, MultiColumnFunction } from './contract.ts'
import { incrementalFunctions } from './incremental.ts'
import { builtinFunctions } from './index.ts'
import { multiColumnFunctions } from './multi-column.ts'

const call = callForTests()

interface Step {
  readonly args: Value[]
  readonly when: boolean
}

function argumentsFor(name: string): fc.Arbitrary<Value[]> {
  const flag = fc.boolean()
  switch (name) {
    case 'lag':
      return fc.tuple(values, fc.constant(2n as Value), fc.constant('none' as Value), fc.constant(true as Value))
    case 'latest':
      return fc.tuple(values, fc.constant(0n as Value))
    case 'changed_col':
      return fc.tuple(flag, values)
    case 'had_changed':
      return fc.tuple(flag, values, values)
    case 'changed_cols':
      return fc.tuple(fc.constant('p_' as Value), flag, values, values)
    case 'inc_last_value':
      return fc.tuple(values, flag)
    default:
      return name.startsWith('acc_')
        ? fc.oneof(fc.tuple(scalars), fc.tuple(scalars, flag, flag))
        : fc.tuple(fc.oneof(scalars, values))
  }
}

const names = ['__proto__', 'b']

function answers(
  def: AnalyticFunction | MultiColumnFunction,
  steps: readonly Step[],
  saves: readonly number[],
): Value[] {
  let state = def.create()
  return steps.map(({ args, when }, i) => {
    if (saves.includes(i)) state = def.load(decodeState(encodeState(def.save(state))))
    try {
      return def.kind === 'analytic' ? def.step(state, args, when, call) : def.step(state, args, names, when, call)
    } catch (error) {
      expect((error as Error).name).toBe('RowError')
      return { error: (error as Error).message }
    }
  })
}

const all = [...analyticFunctions, ...incrementalFunctions, ...multiColumnFunctions]

describe.each(all.map((def) => [def.name, def] as const))('%s', (_, def) => {
  const steps = fc.array(fc.record({ args: argumentsFor(def.name), when: fc.boolean() }), { maxLength: 12 })

  test('saving and loading between rows changes no answer', () => {
    fc.assert(
      fc.property(steps, fc.array(fc.nat(12)), (list, saves) => {
        expect(encodeState(answers(def, list, saves))).toBe(encodeState(answers(def, list, [])))
      }),
    )
  })

  test('a row for which WHEN does not hold leaves later answers alone', () => {
    fc.assert(
      fc.property(steps, (list) => {
        // lag takes its size and default from the first row of all; acc_* end at a reset whatever WHEN says.
        if (def.name === 'lag' || def.name.startsWith('acc_')) return
        const without = answers(
          def,
          list.filter(({ when }) => when),
          [],
        )
        const withThem = answers(def, list, []).filter((_answer, i) => list[i]?.when)
        expect(encodeState(withThem)).toBe(encodeState(without))
      }),
    )
  })
})

function sequence(name: string, rows: Value[][]): Value[] {
  const def = builtinFunctions(name) as AnalyticFunction
  return answers(
    def,
    rows.map((args) => ({ args, when: true })),
    [],
  )
}

test('lag gives the value of so many rows before', () => {
  fc.assert(
    fc.property(fc.array(fc.bigInt({ min: 0n, max: 9n })), fc.integer({ min: 1, max: 4 }), (list, offset) => {
      const expected = list.map((_value, i) => (i < offset ? 'none' : (list[i - offset] as Value)))
      expect(
        sequence(
          'lag',
          list.map((value) => [value, BigInt(offset), 'none']),
        ),
      ).toEqual(expected)
    }),
  )
})

test('lag refuses an offset that would keep too many rows', () => {
  expect(sequence('lag', [[1n, 10n ** 12n]])).toEqual([{ error: expect.stringContaining('cannot look back') }])
  expect(sequence('lag', [[1n, -1n]])).toEqual([{ error: 'the index should not be a nagtive integer' }])
})

test('acc_* with begin and reset runs from begin through reset', () => {
  const rows = [1n, 4n, 5n, 8n, 2n, 9n].map((a): Value[] => [a, a > 3n, a > 7n])
  expect(sequence('acc_sum', rows)).toEqual([0, 4, 9, 17, 0, 9])
})
