/** Functions that turn one row into several (spec/sql.md 5.10, spec/functions.json category multirow). */
import { RowError } from '../core/errors.ts'
import { isObject } from '../core/values.ts'
import type { SetReturningFunction } from './contract.ts'
import { expectCount, isNullOrEmpty } from './helpers.ts'

function define(
  options: Pick<SetReturningFunction, 'name' | 'args' | 'docs' | 'examples' | 'run'>,
): SetReturningFunction {
  return {
    ...options,
    kind: 'setReturning',
    family: 'multirow',
    deterministic: true,
    validate: (args) => expectCount(1, args.length),
  }
}

export const setReturningFunctions: readonly SetReturningFunction[] = [
  define({
    name: 'unnest',
    args: [{ name: 'array', type: 'array' }],
    docs:
      'One row for each element. The members of an element that is an object become columns of its row, over those of the ' +
      'same name; any other element is the column of the function. An empty array gives no rows; null, and what is not an array, are errors.',
    examples: [{ expression: 'unnest(a)', row: { a: [1n, 2n] }, result: [1n, 2n] }],
    run: ([value = null]) => value,
  }),
  define({
    name: 'extract',
    args: [{ name: 'object', type: 'object' }],
    docs: 'The members of the object become columns of the row, over those of the same name. Null and {} are errors.',
    examples: [{ expression: 'extract(o)', row: { o: { k: 1n } }, result: [{ k: 1n }] }],
    run: ([value = null]) => {
      if (isNullOrEmpty(value)) return null
      if (!isObject(value)) throw new RowError('extract should use map')
      return [value]
    },
  }),
]
