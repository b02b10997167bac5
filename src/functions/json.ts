/** to_json and parse_json (spec/functions.json category json); JSON path functions are in json-path.ts. */
import { RowError } from '../core/errors.ts'
import { goText } from '../core/go-text.ts'
import { encodeJsonText } from '../core/json-encode.ts'
import { jsonSyntaxError } from '../core/json-syntax.ts'
import { decodeUtf8 } from '../core/utf8.ts'
import type { Value, ValueObject } from '../core/values.ts'
import { setField } from '../core/values.ts'
import type { ScalarFunction } from './contract.ts'
import { any, defineScalar, text } from './helpers.ts'

const family = 'json'
/** Deepest nesting parse_json accepts. */
const MAX_DEPTH = 1000

/** Parsed JSON as values: every number a float, lone surrogates as U+FFFD. */
function settle(value: unknown, source: string, depth: number): Value {
  if (typeof value === 'string') return wellFormed(value)
  if (typeof value === 'number') {
    if (Number.isFinite(value)) return value
    const number = source.match(/-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g)?.find((n) => !Number.isFinite(Number(n)))
    throw new RowError(`fail to parse json: json: cannot unmarshal number ${number} into Go value of type float64`)
  }
  if (value === null || typeof value !== 'object') return value as Value
  if (depth >= MAX_DEPTH) throw new RowError(`fail to parse json: nested deeper than ${MAX_DEPTH} levels`, 'LIMIT')
  if (Array.isArray(value)) return value.map((element) => settle(element, source, depth + 1))
  const result: ValueObject = {}
  for (const [key, member] of Object.entries(value))
    setField(result, wellFormed(key), settle(member, source, depth + 1))
  return result
}

function wellFormed(value: string): string {
  return /[\ud800-\udfff]/.test(value)
    ? value.replace(/[\ud800-\udbff][\udc00-\udfff]|[\ud800-\udfff]/g, (unit) => (unit.length === 2 ? unit : '\ufffd'))
    : value
}

export const jsonFunctions: readonly ScalarFunction[] = [
  defineScalar({
    name: 'to_json',
    family,
    args: [any('x')],
    docs: 'The JSON text of x: keys sorted, no blanks, bytes as base64, times as RFC 3339.',
    examples: [{ expression: 'to_json(a)', row: { a: { b: 1n, a: [1.5, null] } }, result: '{"a":[1.5,null],"b":1}' }],
    returns: 'string',
    run: ([x]) => {
      try {
        return encodeJsonText(x as Value)
      } catch {
        throw new RowError(`fail to convert ${goText(x)} to json`)
      }
    },
  }),
  defineScalar({
    name: 'parse_json',
    family,
    args: [text('s')],
    nulls: 'custom',
    docs: 'The value of a JSON text; every number becomes a float.',
    examples: [
      { expression: 'parse_json(a)', row: { a: '{"x":1}' }, result: { x: 1 } },
      {
        expression: 'parse_json(a)',
        row: { a: '{' },
        error: 'call func parse_json error: fail to parse json: unexpected end of JSON input',
      },
    ],
    run: ([s]) => {
      if (s === null) return null
      const source = s instanceof Uint8Array ? decodeUtf8(s) : s
      if (typeof source !== 'string') throw new RowError(`fail to convert ${goText(s)} to string`)
      let parsed: unknown
      try {
        parsed = JSON.parse(source)
      } catch (error) {
        throw new RowError(`fail to parse json: ${jsonSyntaxError(source) ?? (error as Error).message}`)
      }
      return settle(parsed, source, 0)
    },
  }),
]
