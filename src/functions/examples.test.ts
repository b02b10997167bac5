import { deflateRawSync, deflateSync, gunzipSync, gzipSync, inflateRawSync, inflateSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { sameValue, show } from '../../test/conformance/values.ts'
import { compileExpression, newHitCounter, rowScope } from '../compile/expression.ts'
import { manualClock } from '../core/clock.ts'
import { makeRow, type Row } from '../core/row.ts'
import type { Value } from '../core/values.ts'
import type { Evaluate } from '../operators/contract.ts'
import { parseExpression } from '../sql/index.ts'
import type { CallContext, FunctionDefinition, FunctionExample } from './contract.ts'
import { builtinFunctions, listFunctions } from './index.ts'

const codecs = {
  gzip: { compress: gzipSync, decompress: gunzipSync },
  zlib: { compress: deflateSync, decompress: inflateSync },
  flate: { compress: deflateRawSync, decompress: inflateRawSync },
}
const codec = (algorithm: string) => codecs[algorithm as keyof typeof codecs]

const call: CallContext = {
  clock: manualClock({ start: 0 }),
  timezone: 'UTC',
  ruleId: 'rule1',
  ruleStart: 0,
  row: null,
  window: null,
  keyedState: { get: () => undefined },
  props: {},
  codecs: {
    compress: (algorithm, bytes) => codec(algorithm).compress(bytes),
    decompress: (algorithm, bytes) => codec(algorithm).decompress(bytes),
  },
}

function compile(expression: string): Evaluate {
  return compileExpression(parseExpression(expression, { functions: builtinFunctions }), {
    functions: builtinFunctions,
    call,
    states: new Map(),
    hits: newHitCounter(),
    aggregateHits: newHitCounter(),
  })
}

const rowOf = (message: FunctionExample['row'], i = 0): Row => makeRow('demo', message ?? {}, i)

/** What the example's expression gives: one value, or one per row for functions that keep state between rows. */
function evaluate(def: FunctionDefinition, example: FunctionExample): Value {
  const run = compile(example.expression)
  const rows = (example.rows ?? [example.row ?? {}]).map(rowOf)
  if (def.kind === 'aggregate') return run(rows[0] as Row, { window: null, group: rows })
  if (example.rows) return rows.map((row) => run(row, rowScope))
  return run(rows[0] as Row, rowScope)
}

/** Kinds whose code lives in the compiler or an operator: their examples are run there. */
const executable = new Set(['scalar', 'aggregate', 'analytic', 'multiColumn', 'setReturning'])

describe.each(listFunctions().map((def) => [def.name, def] as const))('%s', (_, def) => {
  test('has a sentence of documentation and an example', () => {
    expect(def.docs.length).toBeGreaterThan(10)
    expect(def.examples.length).toBeGreaterThan(0)
  })

  if (!executable.has(def.kind)) return
  test.each(def.examples.map((example) => [example.expression, example] as const))('%s', (_, example) => {
    if (example.error !== undefined) {
      expect(() => evaluate(def, example)).toThrow(example.error)
      return
    }
    const actual = evaluate(def, example)
    expect(sameValue(actual, example.result, 1e-12), `${show(actual)} instead of ${show(example.result)}`).toBe(true)
  })
})

test('names are unique, aliases included, and found in any case', () => {
  const names = listFunctions().flatMap((def) => [def.name, ...(def.aliases ?? [])])
  expect(new Set(names).size).toBe(names.length)
  for (const name of names) expect(builtinFunctions(name.toUpperCase())?.kind).toBeDefined()
})
