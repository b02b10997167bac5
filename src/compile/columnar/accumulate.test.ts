import fc from 'fast-check'
import { expect, it } from 'vitest'
import '../../../test/support/seed.ts'
import { BIG, type Column, FLOAT, INT, NULL, TEXT } from '../../core/columns.ts'
import type { Value } from '../../core/values.ts'
import type { AggregateFunction } from '../../functions/contract.ts'
import { builtinFunctions } from '../../functions/index.ts'
import type { AggregateCall } from '../../operators/window/aggregation.ts'
import { type GroupAccumulator, GroupAggregates, type GroupedRows } from './accumulate.ts'

const GROUPS = 4
/** Integers of the second column are int64. */
const COLUMNS = 2

/** A call and its column; null = count(*). */
type Call = readonly [name: string, column: number | null]
type Step = readonly [group: number, values: readonly Value[]]

function callOf([functionName]: Call): AggregateCall {
  const { accumulator } = builtinFunctions(functionName) as AggregateFunction
  return { name: functionName, functionName, args: [], accumulator: accumulator as AggregateCall['accumulator'] }
}

const argumentsOf = ([, column]: Call, values: readonly Value[]): Value[] => [
  column === null ? true : (values[column] as Value),
]

/** What the function's own accumulator gives. */
function modelOf(call: Call, steps: readonly Step[]): unknown {
  const { accumulator } = callOf(call)
  const state = accumulator.create()
  for (const [, values] of steps) accumulator.add(state, argumentsOf(call, values))
  return outcome(() => accumulator.result(state))
}

function outcome(result: () => Value): unknown {
  try {
    return result()
  } catch (error) {
    return (error as Error).message
  }
}

function kindOf(value: Value): number {
  if (value === null) return NULL
  if (typeof value === 'bigint') return BigInt(Number(value)) === value && Math.abs(Number(value)) < 2 ** 53 ? INT : BIG
  if (typeof value === 'number' && Number.isFinite(value)) return FLOAT
  return TEXT
}

function batchOf(steps: readonly Step[]): GroupedRows {
  const columns = Array.from({ length: COLUMNS }, (_, c): Column => {
    const cells = steps.map(([, values]) => values[c] as Value)
    return {
      path: [],
      kinds: Uint8Array.from(cells, kindOf),
      numbers: Float64Array.from(cells, (v) => (typeof v === 'bigint' || typeof v === 'number' ? Number(v) : 0)),
      starts: new Uint32Array(0),
      ends: new Uint32Array(0),
      kindMask: 0,
    }
  })
  return {
    // One too many at each end.
    selected: Uint32Array.from([0, ...steps.keys(), 0]),
    groups: Int32Array.from([0, ...steps.map(([group]) => group), 0]),
    from: 1,
    to: steps.length + 1,
    argument: (c) => ({ column: columns[c] as Column, int64: c === 1 }),
    read: ({ column }, row) => (steps[row] as Step)[1][columns.indexOf(column)] as Value,
  }
}

const float = fc.oneof(
  fc.integer({ min: -5, max: 5 }),
  fc.double({ noNaN: true, min: -100, max: 100 }),
  fc.constant(-0),
)
const odd = fc.constantFrom<Value>('text', true, null, Number.NaN, Number.POSITIVE_INFINITY)
const integer = fc.oneof(
  fc.bigInt({ min: -9n, max: 9n }),
  fc.constantFrom(2n ** 53n - 1n, 1n - 2n ** 53n, 2n ** 63n - 1n, -(2n ** 63n)),
)
const rarely = (weight: number, usual: fc.Arbitrary<Value>, other: fc.Arbitrary<Value>): fc.Arbitrary<Value> =>
  fc.oneof({ weight, arbitrary: usual }, { weight: 1, arbitrary: other })
const steps = fc
  .constantFrom(4, 30)
  .chain((weight) =>
    fc.array(
      fc.tuple(
        fc.integer({ min: -1, max: GROUPS - 1 }),
        fc.tuple(rarely(weight, float, odd), rarely(weight, integer, fc.oneof(odd, float))),
      ),
      { maxLength: 120 },
    ),
  )
const calls = fc.uniqueArray(
  fc.constantFrom<Call[]>(
    ['count', null],
    ...['count', 'sum', 'avg', 'min', 'max', 'collect'].flatMap((name): Call[] => [
      [name, 0],
      [name, 1],
    ]),
  ),
  { minLength: 1, maxLength: 6, comparator: (a, b) => a.join() === b.join() },
)

it('gives what the functions give of the values of each group, in batches, single rows, and from a saved state', () => {
  const cuts = fc.array(fc.tuple(fc.integer({ min: GROUPS, max: 40 }), fc.constantFrom('batch', 'rows', 'reload')), {
    minLength: 20,
    maxLength: 20,
  })
  fc.assert(
    fc.property(calls, steps, cuts, fc.constantFrom(2, 5, undefined), (list, drawn, parts, mostCounted) => {
      // A group has a row, or it would not be there.
      const all = [...Array.from({ length: GROUPS }, (_, group): Step => [group, [null, null]]), ...drawn]
      const fresh = (): GroupAggregates => {
        const columns = list.map(([, column]) => (column === null ? [] : [column]))
        const made = new GroupAggregates(list.map(callOf), columns, mostCounted)
        made.reserve(GROUPS)
        return made
      }
      let aggregates = fresh()
      // What was cleared leaves nothing behind.
      aggregates.add(batchOf(all))
      aggregates.clear(GROUPS)
      let at = 0
      for (const [length, how] of parts) {
        const part = all.slice(at, at + length)
        at += length
        if (how === 'rows') {
          for (const [group, values] of part) {
            if (group < 0) continue
            aggregates.addValues(
              group,
              list.map((call) => argumentsOf(call, values)),
            )
          }
        } else aggregates.add(batchOf(part))
        if (how !== 'reload') continue
        const loaded = fresh()
        for (const [c, call] of aggregates.calls.entries()) {
          for (let group = 0; group < GROUPS; group++) loaded.calls[c]?.load(group, call.save(group))
        }
        aggregates = loaded
      }
      const seen = all.slice(0, at)
      for (const [c, call] of list.entries()) {
        const accumulator = aggregates.calls[c] as GroupAccumulator
        const model = Array.from({ length: GROUPS }, (_, group) =>
          modelOf(
            call,
            seen.filter(([g]) => g === group),
          ),
        )
        expect(model.map((_, group) => outcome(() => accumulator.result(group)))).toStrictEqual(model)
        const column = filled(GROUPS)
        let kind: string | null = null
        try {
          kind = accumulator.resultClass(GROUPS)
        } catch {
          continue
        }
        if (kind === null || !accumulator.fill(column, 0, GROUPS)) continue
        const read = [...column.kinds].map((k, i) => {
          if (k === NULL) return null
          const number = column.numbers[i] as number
          return kind === 'int' ? BigInt(number) : number
        })
        expect(read).toStrictEqual(model)
      }
    }),
    { numRuns: 500 },
  )
})

function filled(rows: number): Column {
  return {
    path: [],
    kinds: new Uint8Array(rows),
    numbers: new Float64Array(rows),
    starts: new Uint32Array(rows),
    ends: new Uint32Array(rows),
    kindMask: 0,
  }
}
