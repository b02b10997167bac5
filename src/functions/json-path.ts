/** Functions that look into objects, arrays and JSON text by a path (spec/functions.json category json). */
import { RE2JS } from 're2js'
import { messageOf, RowError } from '../core/errors.ts'
import { goText } from '../core/go-text.ts'
import { compileJsonPath, type JsonPath } from '../core/json-path/index.ts'
import type { Value } from '../core/values.ts'
import type { ScalarFunction } from './contract.ts'
import { defineScalar, type ScalarOptions, text } from './helpers.ts'

/** Compiled paths kept; a path is a literal of the statement, so there are few. */
const MAX_PATHS = 500
const paths = new Map<string, JsonPath>()

function regexp(source: string): (value: string) => boolean {
  try {
    const pattern = RE2JS.compile(source)
    return (value) => pattern.matcher(value).find()
  } catch (error) {
    throw new RowError(messageOf(error))
  }
}

function pathOf(source: string): JsonPath {
  let path = paths.get(source)
  if (!path) {
    path = compileJsonPath(source, { regexp })
    if (paths.size >= MAX_PATHS) paths.clear()
    paths.set(source, path)
  }
  return path
}

function query([data = null, path]: readonly Value[]): Value {
  if (typeof path !== 'string') throw new RowError(`invalid jsonPath, must be a string but got ${goText(path)}`)
  return pathOf(path).evaluate(data)
}

const define = (options: Omit<ScalarOptions, 'family' | 'args' | 'nulls'>): ScalarFunction =>
  defineScalar({
    family: 'json',
    args: [{ name: 'json', type: 'object|array|string' }, text('path', { literalOnly: true })],
    nulls: 'custom',
    ...options,
  })

export const jsonPathFunctions: readonly ScalarFunction[] = [
  define({
    name: 'json_path_query',
    docs:
      'What a JSON path finds in an object, an array or JSON text. A plain path such as $.a[0] gives the value and fails when ' +
      'there is none; wildcards, slices, unions, filters and .. give an array. The path may be an expression: $.a + 1.',
    examples: [
      { expression: 'json_path_query(o, "$.a[0]")', row: { o: { a: [1n, 2n] } }, result: 1n },
      {
        expression: 'json_path_query(o, "$.a[?(@.w > 1)].n")',
        row: {
          o: {
            a: [
              { w: 1n, n: 'x' },
              { w: 2n, n: 'y' },
            ],
          },
        },
        result: ['y'],
      },
      {
        expression: 'json_path_query(o, "$.b")',
        row: { o: { a: 1n } },
        error: 'call func json_path_query error: unknown key b',
      },
    ],
    run: query,
  }),
  define({
    name: 'json_path_query_first',
    docs: 'The first of what a JSON path finds; the result of the path must be an array. Null when it is empty.',
    examples: [{ expression: 'json_path_query_first(o, "$.a[*]")', row: { o: { a: [1n, 2n] } }, result: 1n }],
    run: (args) => {
      const found = query(args)
      if (!Array.isArray(found)) throw new RowError(`query result (${goText(found)}) is not an array`)
      return found[0] ?? null
    },
  }),
  define({
    name: 'json_path_exists',
    docs: 'Whether a JSON path finds something that is neither null nor an empty array. False when it fails.',
    examples: [
      { expression: 'json_path_exists(o, "$.a")', row: { o: { a: 1n } }, result: true },
      { expression: 'json_path_exists(o, "$.b")', row: { o: { a: 1n } }, result: false },
    ],
    returns: 'bool',
    run: (args) => {
      try {
        const found = query(args)
        return Array.isArray(found) ? found.length > 0 : found !== null
      } catch (error) {
        if (error instanceof RowError) return false
        throw error
      }
    },
  }),
]
