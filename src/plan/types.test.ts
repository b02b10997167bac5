import { expect, test } from 'vitest'
import { builtinFunctions } from '../functions/index.ts'
import { nodeOf, plan } from './plan.fixture.ts'
import { typeOf, typeScopeOf } from './types.ts'

const typed = (expression: string, from = 'd'): string => {
  const p = plan(`SELECT ${expression} AS result FROM ${from}`)
  const [field] = nodeOf(p, 'project').fields
  return field ? typeOf(field.expression, typeScopeOf(p, builtinFunctions)) : ''
}

test.each([
  ['1', 'int64'],
  ['1.5', 'float64'],
  ['a', 'int64'],
  ['a / 2', 'int64'],
  ['a / 2.0', 'float64'],
  ['a + b', 'float64'],
  ['a > b AND c = "x"', 'bool'],
  ['a & 1', 'unknown'],
  ['arr', 'array'],
  ['arr[0] + 1', 'int64'],
  ['arr[0:1]', 'array'],
  ['null', 'null'],
  ['CASE WHEN a > 1 THEN a ELSE 2 END', 'int64'],
  ['CASE WHEN a > 1 THEN a ELSE 2.5 END', 'number'],
  ['CASE WHEN a > 1 THEN a ELSE c END', 'unknown'],
  ['sum(a)', 'int64'],
  ['max(b)', 'float64'],
  ['max(c)', 'string'],
  ['meta(topic)', 'unknown'],
])('%s is %s', (expression, type) => {
  expect(typed(expression)).toBe(type)
})

test('struct members have their declared type', () => {
  expect(typed('st->y->q + 1', 'nested')).toBe('int64')
  expect(typed('st->y', 'nested')).toBe('object')
})
test('schemaless columns are unknown, and so is what is done with them, except that arithmetic gives a number', () => {
  expect(typed('a', 's')).toBe('unknown')
  expect(typed('a + 1', 's')).toBe('number')
  expect(typed('a * 1.8 + 32', 's')).toBe('float64')
})
test('delimited rows are text whatever is declared', () => {
  const p = plan(
    'SELECT a FROM csv',
    {},
    {
      stream: (name) => ({
        kind: 'createStream',
        streamType: 'stream',
        name,
        fields: [{ name: 'a', type: { kind: 'bigint' } }],
        options: { format: 'delimited' },
      }),
    },
  )
  const [field] = nodeOf(p, 'project').fields
  expect(field && typeOf(field.expression, typeScopeOf(p, builtinFunctions))).toBe('unknown')
})
