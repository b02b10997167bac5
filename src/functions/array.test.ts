import fc from 'fast-check'
import { expect, test } from 'vitest'
import { callForTests, integers } from '../../test/support/arbitrary-values.ts'
import type { Value } from '../core/values.ts'
import { applyScalar } from './call.ts'
import type { ScalarFunction } from './contract.ts'
import { builtinFunctions } from './index.ts'

const call = callForTests()
const apply = (name: string, ...args: Value[]): Value =>
  applyScalar(builtinFunctions(name) as ScalarFunction, args, call)

/** Few different elements, so that they meet; 1 and 1.0 are two of them. */
const elements = fc.array(fc.constantFrom<Value>(1n, 2n, 1, 2, '1', true, null, 'x'))
const some = fc.array(fc.constantFrom<Value>(1n, 2n, 1, 2, '1', true, null, 'x'), { minLength: 1 })

const distinct = (list: readonly Value[]): Value[] => [...new Set(list)]

test('union, except, intersect and distinct keep the order elements are first seen in', () => {
  fc.assert(
    fc.property(elements, elements, (a, b) => {
      expect(apply('array_union', a, b)).toEqual(distinct([...a, ...b]))
      expect(apply('array_except', a, b)).toEqual(distinct(a.filter((x) => !b.includes(x))))
    }),
  )
  fc.assert(
    fc.property(some, some, (a, b) => {
      expect(apply('array_intersect', a, b)).toEqual(distinct(b.filter((x) => a.includes(x))))
      expect(apply('array_distinct', a)).toEqual(distinct(a))
    }),
  )
})

test('array_contains, array_position and array_remove agree', () => {
  fc.assert(
    fc.property(elements, fc.constantFrom<Value>(1n, 1, '1', null), (list, value) => {
      const position = apply('array_position', list, value)
      expect(apply('array_contains', list, value)).toBe(position !== -1n)
      expect(apply('array_remove', list, value)).toEqual(list.filter((x) => x !== value))
      expect(position).toBe(BigInt(list.indexOf(value)))
      expect(apply('array_last_position', list, value)).toBe(BigInt(list.lastIndexOf(value)))
    }),
  )
})

test('no function changes the array it is given', () => {
  fc.assert(
    fc.property(some, (list) => {
      const before = [...list]
      for (const name of ['array_shuffle', 'array_sort', 'array_distinct', 'array_flatten']) apply(name, list)
      apply('array_remove', list, 1n)
      apply('array_union', list, list)
      expect(list).toEqual(before)
    }),
  )
})

test('array_shuffle keeps the elements', () => {
  fc.assert(
    fc.property(fc.array(integers, { minLength: 1 }), (list) => {
      const shuffled = apply('array_shuffle', list) as bigint[]
      const order = (x: bigint, y: bigint): number => (x < y ? -1 : x > y ? 1 : 0)
      expect([...shuffled].sort(order)).toEqual([...list].sort(order))
    }),
  )
})

test('sequence ends at or before stop, in steps', () => {
  fc.assert(
    fc.property(fc.integer({ min: -50, max: 50 }), fc.integer({ min: -50, max: 50 }), (start, stop) => {
      const made = apply('sequence', BigInt(start), BigInt(stop)) as bigint[]
      expect(made.length).toBe(Math.abs(stop - start) + 1)
      expect(made.at(-1)).toBe(BigInt(stop))
    }),
  )
})

test('arrays too big to make are refused', () => {
  expect(() => apply('repeat', 'x', 10n ** 9n)).toThrow('more than 1000000 elements')
  expect(() => apply('sequence', 0n, 10n ** 18n)).toThrow('more than 1000000 elements')
  expect(() => apply('sequence', -(2n ** 63n), 2n ** 63n - 1n)).toThrow('more than 1000000 elements')
  expect(() => apply('repeat', 'x', -1n)).toThrow('len out of range')
})

test('array_map reaches functions of one argument only', () => {
  expect(apply('array_map', 'abs', [-1n, 2.5])).toEqual([1n, 2.5])
  expect(() => apply('array_map', 'power', [1n])).toThrow('validate power arguments failed')
  expect(() => apply('array_map', 'avg', [1n])).toThrow('first argument should be a scalar function.')
  for (const name of ['constructor', '__proto__', 'compress', 'ABS', 'geohashDecode']) {
    expect(() => apply('array_map', name, [1n])).toThrow(`unknown built-in function: ${name}.`)
  }
})
