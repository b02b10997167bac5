/** A small function table for tests of the SQL layer, so that they need no real function. */
import type { ArgumentFacts, FunctionResolver, FunctionSignature } from '../../src/sql/functions.ts'

type Check = FunctionSignature['validate']

const exactly =
  (count: number): Check =>
  (args) =>
    args.length === count ? null : `Expect ${count} arguments but found ${args.length}.`
const numbers: Check = (args: readonly ArgumentFacts[]) => {
  const wrong = args.findIndex((a) => a.literal !== null && a.literal !== 'int' && a.literal !== 'float')
  return wrong < 0 ? null : `Expect number - float or int type for parameter ${wrong + 1}`
}
const any: Check = () => null

const table: Record<string, readonly [FunctionSignature['kind'], Check]> = {
  abs: ['scalar', (args) => exactly(1)(args) ?? numbers(args)],
  lower: ['scalar', exactly(1)],
  coalesce: ['scalar', any],
  isnull: ['scalar', exactly(1)],
  meta: ['context', exactly(1)],
  mqtt: ['context', exactly(1)],
  window_start: ['context', exactly(0)],
  count: ['aggregate', exactly(1)],
  sum: ['aggregate', exactly(1)],
  deduplicate: ['aggregate', exactly(2)],
  lag: ['analytic', any],
  had_changed: ['analytic', any],
  changed_cols: ['multiColumn', any],
  unnest: ['setReturning', exactly(1)],
  row_number: ['window', exactly(0)],
  last_hit_count: ['state', exactly(0)],
}

/** Built-ins in any case, an alias (`ceil`, `ceiling`) and a user function with capitals (`myFunc`). */
export const testFunctions: FunctionResolver = (name) => {
  if (name === 'myFunc') return { name, kind: 'scalar', validate: any }
  const lower = name.toLowerCase()
  if (lower === 'ceil' || lower === 'ceiling') {
    return { name: 'ceil', aliases: ['ceiling'], kind: 'scalar', validate: any }
  }
  const entry = Object.hasOwn(table, lower) ? table[lower] : undefined
  return entry && { name: lower, kind: entry[0], validate: entry[1] }
}
