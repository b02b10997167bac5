/** Functions that yield several columns (spec/sql.md 5.9, spec/functions.json category multicol). */
import { RowError } from '../core/errors.ts'
import { goText } from '../core/go-text.ts'
import { deepEqual, setField, type Value, type ValueObject } from '../core/values.ts'
import type { MultiColumnFunction } from './contract.ts'
import { any, checkLiterals, type Parameter, text } from './helpers.ts'

const parameters: readonly Parameter[] = [
  text('prefix'),
  { name: 'ignoreNull', type: 'bool', rejects: ['int', 'float', 'string', 'timeunit'] },
  any('value'),
  any('more', { variadic: true }),
]

const tooFew = (count: number): string => `expect more than two args but got ${count}`

/** The last value recorded under each column name. */
type Recorded = Map<string, Value>

const changedCols: MultiColumnFunction<Recorded> = {
  name: 'changed_cols',
  family: 'multicol',
  kind: 'multiColumn',
  deterministic: true,
  args: parameters,
  docs:
    'Every value that differs from the one last recorded under its column name, as a column named prefix and name. With ' +
    'ignoreNull nulls are passed over. changed_cols(prefix, ignoreNull, *) watches all columns of the row.',
  examples: [
    {
      expression: 'changed_cols("c_", true, a, b)',
      rows: [
        { a: 1n, b: 1n },
        { a: 1n, b: 2n },
        { a: 1n, b: 2n },
      ],
      result: [{ c_a: 1n, c_b: 1n }, { c_b: 2n }, {}],
    },
  ],
  validate: (args) => (args.length > 2 ? checkLiterals(parameters, args) : tooFew(args.length)),
  create: () => new Map(),
  step: (recorded, [prefix, ignoreNull, ...values], names, when) => {
    if (values.length === 0) {
      throw new RowError(tooFew([prefix, ignoreNull].filter((value) => value !== undefined).length))
    }
    if (typeof prefix !== 'string') throw new RowError(`first arg is not a string but got ${goText(prefix)}`)
    if (typeof ignoreNull !== 'boolean') throw new RowError(`second arg is not a bool but got ${goText(ignoreNull)}`)
    const changed: ValueObject = {}
    if (!when) return changed
    for (const [i, value] of values.entries()) {
      const name = names[i] as string
      if ((value === null && ignoreNull) || deepEqual(value, recorded.get(name))) continue
      recorded.set(name, value)
      setField(changed, prefix + name, value)
    }
    return changed
  },
  save: (recorded) => [...recorded],
  load: (saved) => new Map(saved as [string, Value][]),
}

export const multiColumnFunctions: readonly MultiColumnFunction[] = [changedCols]
