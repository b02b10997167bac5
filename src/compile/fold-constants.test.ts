import { expect, test } from 'vitest'
import { builtinFunctions } from '../functions/index.ts'
import { parseExpression } from '../sql/index.ts'
import { printExpression } from '../sql/printer.ts'
import { foldConstants } from './fold-constants.ts'

const fold = (text: string) => printExpression(foldConstants(parseExpression(text, { functions: builtinFunctions })))

test.each([
  ['1 + 2 * 3', '7'],
  ['7 / 2', '3'],
  ['7 / 2.0', '3.5'],
  ['a + (1 + 2)', 'a + 3'],
  ['2 > 1', 'TRUE'],
  ['"a" < "b"', 'TRUE'],
  ['null = null', 'FALSE'],
  ['1 + null', 'null'],
  ['false AND a > 1', 'FALSE'],
  ['true OR a > 1', 'TRUE'],
  ['abs(1 + 1)', 'abs(2)'],
  ['1 IS NULL', 'FALSE'],
])('%s becomes %s', (text, folded) => {
  expect(fold(text)).toBe(folded)
})

test.each(['1 / 0', '1 + "a"', '1 AND true', 'a > 1 AND false', '"a" + "b"', 'a - 1'])('%s stays', (text) => {
  expect(fold(text)).toBe(text.replace('true', 'TRUE').replace('false', 'FALSE'))
})

test('a folded tree is folded already', () => {
  const folded = foldConstants(parseExpression('a + (1 + 2)', { functions: builtinFunctions }))
  expect(foldConstants(folded)).toBe(folded)
})
