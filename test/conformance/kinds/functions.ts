/**
 * functions.jsonl: each case through the registered definitions. Scalar calls go through applyScalar, parse-time refusals
 * through the definition's own check. Fields: spec/functions.md.
 */

import { loadCodecs } from '../../../src/compile/codecs.ts'
import { compileExpression, newHitCounter, rowScope } from '../../../src/compile/expression.ts'
import { manualClock } from '../../../src/core/clock.ts'
import { messageOf, RowError } from '../../../src/core/errors.ts'
import { encodeJsonText } from '../../../src/core/json-encode.ts'
import { makeRow } from '../../../src/core/row.ts'
import { encodeUtf8 } from '../../../src/core/utf8.ts'
import type { Value, ValueObject } from '../../../src/core/values.ts'
import { applyScalar } from '../../../src/functions/call.ts'
import type { ArgumentInfo, CallContext, FunctionDefinition, ScalarFunction } from '../../../src/functions/contract.ts'
import { builtinFunctions } from '../../../src/functions/index.ts'
import { parseExpression, parseSelect } from '../../../src/sql/index.ts'
import { type Case, fail, type Outcome, pass } from '../contract.ts'
import { fromTagged, sameValue, show } from '../values.ts'
import { evaluateMeta, runRows, runWindowRefusal } from './function-rows.ts'
import { runAggregate, runSetReturning, runSteps } from './function-sequences.ts'

export const RELATIVE_TOLERANCE = 1e-12

const codecs = await loadCodecs()

/** Names with the environment's prefix become property names, as the daemon does at start. */
function propsOf(environment: Record<string, string> = {}): ValueObject {
  const prefix = 'KUIPER_PROPS_'
  return Object.fromEntries(
    Object.entries(environment)
      .filter(([name]) => name.startsWith(prefix))
      .map(([name, value]) => [name.slice(prefix.length).toLowerCase(), value]),
  )
}

export function callContext(c: Case): CallContext {
  const stored = (c['kv'] ?? {}) as Record<string, unknown>
  return {
    clock: manualClock({ start: 1_600_000_000_000 }),
    timezone: c['tz'] ?? 'UTC',
    ruleId: c['ctx']?.ruleId ?? 'rule',
    ruleStart: c['ctx']?.ruleStart ?? 0,
    row: null,
    window: null,
    keyedState: { get: (key) => (Object.hasOwn(stored, key) ? fromTagged(stored[key]) : undefined) },
    props: propsOf(c['ctx']?.env),
    codecs,
  }
}

/** `{"$col"}`, `{"$timeunit"}` or a literal, as the parser would describe it. */
function argumentInfo(tagged: unknown): ArgumentInfo {
  const none = { column: null, wildcard: false, aggregate: false }
  if (tagged !== null && typeof tagged === 'object') {
    if ('$col' in tagged) {
      const column = String(tagged.$col)
      return { ...none, literal: null, value: null, column, wildcard: column === '*' }
    }
    if ('$timeunit' in tagged) return { ...none, literal: 'timeunit', value: String(tagged.$timeunit) }
  }
  const value = fromTagged(tagged)
  const kinds = { bigint: 'int', number: 'float', string: 'string', boolean: 'boolean' } as const
  return { ...none, literal: kinds[typeof value as keyof typeof kinds] ?? null, value }
}

/** The refusal of the parser for the equivalent SQL; of the definition's own check where there is none. */
function refusal(def: FunctionDefinition | undefined, c: Case): string | null {
  if (c['sql'] !== undefined) {
    try {
      const isWindow = /window$/.test(c['fn'])
      const sql = isWindow ? `SELECT * FROM demo GROUP BY ${c['sql']}` : `SELECT ${c['sql']} FROM demo`
      parseSelect(sql, { functions: builtinFunctions })
      return null
    } catch (error) {
      return messageOf(error)
    }
  }
  if (def === undefined) return `function ${c['fn']} not found`
  return def.validate((c['args'] as unknown[]).map(argumentInfo))
}

function runValidate(def: FunctionDefinition | undefined, c: Case): Outcome {
  const expected = String(c['error'] ?? '')
  const actual = refusal(def, c)
  if (actual === null) return c['error'] === undefined ? pass : fail(`accepted, expected ${expected}`)
  return actual.includes(expected) && expected !== '' ? pass : fail(`${actual}, expected ${expected || 'acceptance'}`)
}

const errorOf = (c: Case): string | undefined => c['errorFull'] ?? c['error']

/** Compares a computed result, or the failure to compute it, with what a case expects. */
export function judge(c: Case, compute: () => Value): Outcome {
  let actual: Value
  try {
    actual = compute()
  } catch (error) {
    if (!(error instanceof RowError)) throw error
    const expected = errorOf(c)
    if (expected === undefined) return fail(`failed with ${messageOf(error)}, expected ${JSON.stringify(c['expect'])}`)
    // A panic of the reference has no text worth keeping.
    if (c['panic'] || messageOf(error).includes(expected)) return pass
    return fail(`${messageOf(error)}, expected ${expected}`)
  }
  if (errorOf(c) !== undefined) return fail(`gave ${show(actual)}, expected ${errorOf(c)}`)
  const expected = fromTagged(c['expect'])
  const same = c['unordered']
    ? sameSet(actual, expected)
    : sameValue(actual, expected, c['approx'] ? RELATIVE_TOLERANCE : 0)
  if (!same) return fail(`${show(actual)}, expected ${show(expected)}`)
  return judgeJson(c, actual)
}

/** Arrays with the same elements, at any depth, in any order. */
function sameSet(actual: Value, expected: Value): boolean {
  if (!Array.isArray(actual) || !Array.isArray(expected)) return sameValue(actual, expected)
  if (actual.length !== expected.length) return false
  const rest = [...expected]
  return actual.every((element) => {
    const at = rest.findIndex((other) => sameSet(element, other))
    if (at >= 0) rest.splice(at, 1)
    return at >= 0
  })
}

function judgeJson(c: Case, actual: Value): Outcome {
  if (c['json'] === undefined && !c['jsonError']) return pass
  let text: string
  try {
    text = encodeJsonText(actual)
  } catch (error) {
    return c['jsonError'] ? pass : fail(`JSON: ${messageOf(error)}, expected ${c['json']}`)
  }
  const close = c['approx'] && sameValue(Number(text), Number(c['json']), RELATIVE_TOLERANCE)
  return text === c['json'] || close ? pass : fail(`JSON: ${text}, expected ${c['json'] ?? 'a failure'}`)
}

function runScalar(def: ScalarFunction, c: Case): Outcome {
  const call = callContext(c)
  const tagged = c['args'] as unknown[]
  // An argument that is an error ends the evaluation before the call.
  for (const arg of tagged) {
    if (arg !== null && typeof arg === 'object' && '$error' in arg) {
      return judge(c, () => {
        throw new RowError(String(arg.$error))
      })
    }
  }
  const args = tagged.map(fromTagged)
  const direct = judge(c, () => applyScalar(def, args, call))
  if (!direct.ok || c['sql'] === undefined) return direct
  const viaSql = judge(c, () => evaluateSql(c['sql'], args, callContext(c)))
  return viaSql.ok ? viaSql : fail(`as SQL: ${viaSql.detail}`)
}

/** The expression over one row whose columns a, b, c ... hold the arguments. */
function evaluateSql(sql: string, args: readonly Value[], call: CallContext): Value {
  const message = Object.fromEntries(args.map((arg, i) => [String.fromCharCode(97 + i), arg]))
  const expression = parseExpression(sql, { functions: builtinFunctions })
  const evaluate = compileExpression(expression, {
    functions: builtinFunctions,
    call,
    states: new Map(),
    hits: newHitCounter(),
    aggregateHits: newHitCounter(),
  })
  return evaluate(makeRow('demo', message, call.clock.now()), rowScope)
}

export function run(c: Case): Outcome {
  const def = builtinFunctions(c['fn'])
  if (c['extension'] && def === undefined) return fail('not built: plugin functions of the reference')
  if (c['phase'] === 'validate') {
    return def === undefined && c['fn'].endsWith('window') ? runWindowRefusal(c) : runValidate(def, c)
  }
  if (def === undefined) return fail(`not built: function ${c['fn']}`)
  if (c['form'] === 'rows') return runRows(c, callContext(c))
  if (c['seq'] !== undefined) return runSteps(def, c, callContext(c), judge)
  if (c['roundtrip'] !== undefined) return runRoundTrip(def as ScalarFunction, c)
  switch (def.kind) {
    case 'scalar':
      return runScalar(def, c)
    case 'aggregate':
      return runAggregate(def, c, callContext(c), judge)
    case 'setReturning':
      return runSetReturning(def, c, callContext(c), judge)
    case 'context':
      return judge(c, () => evaluateMeta(c, callContext(c)))
    default:
      return fail(`not built: ${def.kind} cases`)
  }
}

/** Compressed bytes differ by implementation: undoing it must give what went in. */
function runRoundTrip(def: ScalarFunction, c: Case): Outcome {
  const call = callContext(c)
  const [data, method] = (c['args'] as unknown[]).map(fromTagged) as [Value, Value]
  const back = builtinFunctions(c['roundtrip']) as ScalarFunction
  const result = applyScalar(back, [applyScalar(def, [data, method], call), method], call)
  const expected = typeof data === 'string' ? encodeUtf8(data) : data
  return sameValue(result, expected) ? pass : fail(`${show(result)}, expected ${show(expected)}`)
}
