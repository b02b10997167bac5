/** Function calls: resolution, parse-time checks and OVER (spec/sql.md 1.12). */
import { goQuote } from '../core/go-text.ts'
import type { CallExpression, Expression, SortKey } from './ast.ts'
import type { ArgumentFacts, FunctionResolver, FunctionSignature } from './functions.ts'
import type { Token } from './lexer.ts'
import { nameOf } from './names.ts'
import { isBoolean } from './precedence.ts'
import { accept, className, is, type Reader, syntaxError, unexpected } from './reader.ts'
import { parseSortKeys } from './sort-keys.ts'
import { someExpression } from './walk.ts'
import { isWindowName } from './window-names.ts'

/** Functions of the reference that are native code, image or model plugins, by lower-case name. */
const nativeFunctions = ['onnx', 'tflite', 'labelimage', 'resize', 'thumbnail', 'image']

function hintFor(name: string): string | undefined {
  if (!nativeFunctions.includes(name.toLowerCase())) return undefined
  return `${name} is native code in eKuiper and not part of Ixion; register a function of your own (createEngine) instead`
}

/** At a name followed by `(`. */
export function parseCall(r: Reader): CallExpression {
  const token = r.next()
  if (isWindowName(token.text)) {
    throw syntaxError(
      `window ${token.text.toLowerCase()} can only be an item of GROUP BY`,
      token,
      'write the window as an item of its own after GROUP BY',
    )
  }
  const trigger = token.text.toLowerCase() === DEDUP_TRIGGER
  const signature = r.options.functions(token.text) ?? (trigger ? dedupTrigger : undefined)
  if (!signature) throw syntaxError(`function ${token.text} not found`, token, hintFor(token.text))
  const name = callName(signature, token.text)
  const multiColumn = signature.kind === 'multiColumn'
  if (multiColumn && r.clause !== 'select') {
    throw syntaxError(`function ${token.text} can only be used inside the select clause`, token)
  }
  const outer = r.inMeta
  r.inMeta = isBareNameCall(name)
  const written = parseArguments(r, name)
  r.inMeta = outer
  const problem = trigger ? checkTrigger(written) : checkArguments(r.options.functions, signature, name, written)
  if (problem) throw syntaxError(problem, token, isBareNameCall(name) && written.some(isDashed) ? DASH_HINT : undefined)

  const hidden: Expression = { kind: 'wildcard', stream: null, except: [], replace: [], at: token.at }
  const call: CallExpression = {
    kind: 'call',
    name,
    args: name === WHOLE_ROW_FUNCTION ? [hidden, ...written] : written,
    partition: [],
    when: null,
    order: [],
    id: r.nextCallId++,
    at: token.at,
    ...(multiColumn && { columnNames: written.map(nameOf) }),
  }
  return { ...call, ...parseOver(r, signature, name) }
}

const DASH_HINT = 'a dash is a minus; to use it in a name, put the name in backticks'

/** `meta(key)`: the argument is a name, not a value. */
function isBareNameCall(name: string): boolean {
  return name === 'meta' || name === 'mqtt'
}

function isDashed(e: Expression): boolean {
  return e.kind === 'binary' && e.operator === '-'
}

const DEDUP_TRIGGER = 'dedup_trigger'
const dedupTrigger: FunctionSignature = { name: DEDUP_TRIGGER, kind: 'trigger', validate: () => null }
/** The function that sees the row besides its arguments. */
export const WHOLE_ROW_FUNCTION = 'deduplicate'

/** `count` for COUNT, `ceiling` for CEILING (an alias of ceil), the registered spelling of a user function. */
function callName(signature: FunctionSignature, written: string): string {
  const lower = written.toLowerCase()
  if (signature.name === lower || signature.aliases?.includes(lower)) return lower
  return signature.name
}

/** After the name: `( a, b )`; a trailing comma is tolerated. */
export function parseArguments(r: Reader, name: string): Expression[] {
  r.next()
  const args: Expression[] = []
  while (!accept(r, ')')) {
    args.push(r.expression())
    if (accept(r, ',')) continue
    const close = r.next()
    if (is(close, ')')) break
    throw syntaxError(`found function call ${goQuote(name)}, expected ), but with ${goQuote(close.text)}.`, close)
  }
  return args
}

function checkArguments(
  functions: FunctionResolver,
  signature: FunctionSignature,
  name: string,
  args: readonly Expression[],
): string | null {
  const problem =
    name === 'meta' && args.length === 1 && metaKey(args[0] as Expression) === null
      ? 'Expect meta reference type for parameter 1'
      : signature.validate(args.map((arg) => factsOf(arg, functions, signature.kind === 'multiColumn')))
  return problem && `validate function ${name} error: ${problem}`
}

/** The key of `key` and `key->sub->sub`; null when `e` is no metadata path. */
function metaKey(e: Expression): string | null {
  let root = e
  while (root.kind === 'member') root = root.object
  return root.kind === 'meta' ? root.key : null
}

/** The arguments of a multi-column function are named fields, so their literal kinds are not looked at. */
function factsOf(e: Expression, functions: FunctionResolver, opaque: boolean): ArgumentFacts {
  const [literal, value] = opaque ? [null, null] : literalOf(e)
  return {
    literal,
    value,
    column: e.kind === 'column' || e.kind === 'null' ? nameOf(e) : metaKey(e),
    wildcard: e.kind === 'wildcard',
    aggregate: hasCallOfKind(e, 'aggregate', functions),
  }
}

function literalOf(e: Expression): [ArgumentFacts['literal'], ArgumentFacts['value']] {
  switch (e.kind) {
    case 'integer':
      return ['int', e.value]
    case 'float':
      return ['float', e.value]
    case 'string':
      return ['string', e.value]
    case 'timeUnit':
      return ['timeunit', e.unit]
    case 'boolean':
      return ['boolean', e.value]
    default:
      return [isBoolean(e) ? 'boolean' : null, null]
  }
}

/** True when `e` is or contains a call of a function of that kind. */
export function hasCallOfKind(e: Expression, kind: FunctionSignature['kind'], functions: FunctionResolver): boolean {
  return someExpression(e, (part) => part.kind === 'call' && functions(part.name)?.kind === kind)
}

function checkTrigger(args: readonly Expression[]): string | null {
  if (args.length !== 4) return 'dedup_trigger function should have 4 arguments'
  const wrong = args.slice(0, 3).findIndex((arg) => arg.kind !== 'column' && arg.kind !== 'null')
  if (wrong >= 0) return `dedup_trigger function should have fieldRef as the ${wrong + 1} argument`
  return args[3]?.kind === 'integer' ? null : 'dedup_trigger function should have integer as the fourth argument'
}

type Over = Pick<CallExpression, 'partition' | 'when' | 'order'>

function parseOver(r: Reader, signature: FunctionSignature, name: string): Partial<Over> {
  const over = accept(r, 'OVER')
  if (!over) return {}
  const analytic = signature.kind === 'analytic'
  if (!analytic && !isRowFunction(signature)) {
    throw syntaxError(`Found OVER after non analytic function ${name}`, over)
  }
  const open = r.next()
  if (!is(open, '(')) throw syntaxError(`Found ${goQuote(className(open))} after OVER, expect parentheses.`, open)
  const partition = parsePartition(r)
  const order: SortKey[] = analytic ? [] : parseSortKeys(r)
  const when = analytic ? parseWhen(r) : null
  const close = r.next()
  if (partition.length === 0 && order.length === 0 && !when) {
    throw syntaxError(`Found ${goQuote(className(close))} after OVER (, expect partition by or when.`, close)
  }
  if (!is(close, ')')) {
    throw syntaxError(
      `Found ${goQuote(className(close))}, expect right parentheses after OVER `,
      close,
      'PARTITION BY comes before WHEN',
    )
  }
  return { partition, when, order }
}

/** row_number: a function over the rows of a window, allowed in the field list only. */
export function isRowFunction(signature: FunctionSignature): boolean {
  return signature.kind === 'window' && signature.name === 'row_number'
}

export function parsePartition(r: Reader): Expression[] {
  if (!accept(r, 'PARTITION')) return []
  const by: Token = r.next()
  if (!is(by, 'BY')) throw unexpected(by, 'expected by after partition.')
  const list: Expression[] = []
  do list.push(r.expression())
  while (accept(r, ','))
  return list
}

export function parseWhen(r: Reader): Expression | null {
  return accept(r, 'WHEN') ? r.expression() : null
}
