/**
 * JSON paths (spec/functions.json, json_path_query): `json_path_*` functions and property templates compile a path once
 * and evaluate it on rows.
 */
import { RowError } from '../errors.ts'
import { goText } from '../go-text.ts'
import { decodeJsonText } from '../json-decode.ts'
import { Instant, type Value } from '../values.ts'
import { parseExpression } from './parse.ts'

export interface JsonPath {
  /** An object, an array or JSON text. Throws RowError when a plain path does not fit or the data is something else. */
  evaluate(data: Value): Value
}

export interface JsonPathOptions {
  /** Compiles the pattern of `=~`; throws RowError on a malformed one. Without it such expressions are refused. */
  readonly regexp?: (source: string) => (text: string) => boolean
}

/** Throws RowError `parsing error: ...` with the position when the path is malformed. */
export function compileJsonPath(path: string, options: JsonPathOptions = {}): JsonPath {
  const run = parseExpression(path, options.regexp ?? noRegexp)
  return {
    evaluate: (data) => run({ root: documentOf(data), current: null, wildcards: null }),
  }
}

function documentOf(data: Value): Value {
  if (data === null) throw new RowError('invalid data nil for jsonpath')
  if (typeof data === 'string') {
    try {
      return decodeJsonText(data)
    } catch {
      throw new RowError(`data '${data}' is not a valid json string`)
    }
  }
  if (data instanceof Uint8Array) return Array.from(data, BigInt)
  if (typeof data !== 'object' || data instanceof Instant)
    throw new RowError(`invalid data ${goText(data)} for jsonpath`)
  return data
}

function noRegexp(): never {
  throw new RowError('regular expressions are not available here')
}
