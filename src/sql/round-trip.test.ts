import fc from 'fast-check'
import { expect, test } from 'vitest'
import { testFunctions } from '../../test/support/sql-functions.ts'
import type { Expression, Statement } from './ast.ts'
import { explainExpression } from './explain.ts'
import { parseExpression, parseSelect, parseStatement } from './index.ts'
import { printExpression, printStatement } from './printer.ts'
import { anyDefinition, anyExpression, anySelect } from './trees.fixture.ts'
import { mapExpression, mapStatement } from './walk.ts'

const options = { functions: testFunctions, sources: ['demo', 't1', 'my-stream', 'a/b'] }

/** Without positions and call numbers. */
function bare<T>(tree: T): T {
  if (Array.isArray(tree)) return tree.map(bare) as T
  if (tree === null || typeof tree !== 'object') return tree
  const entries = Object.entries(tree).filter(([key]) => key !== 'at' && key !== 'id')
  return Object.fromEntries(entries.map(([key, value]) => [key, bare(value)])) as T
}

test('an expression parses back from its text', () => {
  fc.assert(
    fc.property(anyExpression, (e) => {
      expect(bare(parseExpression(printExpression(e), options))).toEqual(bare(e))
    }),
    { numRuns: 1000 },
  )
})

test('a SELECT parses back from its text', () => {
  fc.assert(
    fc.property(anySelect, (s) => {
      expect(bare(parseSelect(printStatement(s), { functions: testFunctions }))).toEqual(bare(s))
    }),
    { numRuns: 500 },
  )
})

test('a definition parses back from its text', () => {
  fc.assert(
    fc.property(anyDefinition, (d) => {
      const back: Statement = parseStatement(printStatement(d), options)
      expect(back).toEqual(d)
    }),
    { numRuns: 500 },
  )
})

test('a tree that lacks parentheses gets them, and keeps its meaning', () => {
  const at = { line: 1, column: 1 }
  const a: Expression = { kind: 'column', stream: null, name: 'a', at }
  const one: Expression = { kind: 'integer', value: -1n, at }
  const sum: Expression = { kind: 'binary', operator: '+', left: a, right: a, at }
  const product: Expression = { kind: 'binary', operator: '*', left: sum, right: sum, at }
  const minus: Expression = { kind: 'binary', operator: '-', left: product, right: one, at }
  const isNull: Expression = { kind: 'isNull', negated: false, operand: minus, at }
  const both: Expression = { kind: 'binary', operator: '+', left: isNull, right: a, at }
  expect(printExpression(both)).toBe('((a + a) * (a + a) - (-1) IS NULL) + a')
  const stripped = mapExpression(parseExpression(printExpression(both), options), (e) =>
    e.kind === 'parenthesis' ? e.expression : e,
  )
  expect(bare(stripped)).toEqual(bare(both))
})

test('every expression has an EXPLAIN text, and the identity map changes nothing', () => {
  fc.assert(
    fc.property(anyExpression, anySelect, (e, s) => {
      expect(explainExpression(e)).toBeTypeOf('string')
      expect(mapExpression(e, (part) => part)).toEqual(e)
      expect(mapStatement(s, (part) => part)).toEqual(s)
    }),
  )
})

test('what only internal trees hold prints as what the user wrote', () => {
  const at = { line: 1, column: 1 }
  const origin = parseExpression('lag(a)', options)
  const alias: Expression = { kind: 'alias', name: 'my alias', expression: origin, at }
  const cached: Expression = { kind: 'computed', name: '$$a_lag_0', origin, at }
  const total: Expression = { kind: 'computed', name: '$$agg_ref_0', origin, at }
  expect([alias, cached, total].map(printExpression)).toEqual(['`my alias`', 'lag(a)', 'lag(a)'])
  expect([alias, cached, total].map(explainExpression)).toEqual([
    '$$alias.my alias,aliasRef:Call:{ name:lag, args:[$$default.a] }',
    'Call:{ name:lag, args:[$$default.a] }',
    '$$default.$$agg_ref_0',
  ])
})
