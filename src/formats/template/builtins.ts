/** The functions every Go template has: comparison, indexing, printing, escaping. `and`, `or` are in compile.ts. */
import { compareText } from '../../core/text-order.ts'
import { encodeUtf8 } from '../../core/utf8.ts'
import { Instant } from '../../core/values.ts'
import { define, type FunctionTable, refuse } from './function.ts'
import { printOperands } from './print.ts'
import { printf } from './printf.ts'
import { byteLength, byteSlice } from './utf8.ts'
import { GoInt, goInt, integerOf, isDict, kindName, member, Opaque, truth, typeName, type V } from './values.ts'

type BasicKind = 'bool' | 'int' | 'float' | 'string' | 'uint' | null

function basicKind(value: V): BasicKind {
  switch (typeof value) {
    case 'boolean':
      return 'bool'
    case 'bigint':
      return 'int'
    case 'number':
      return 'float'
    case 'string':
      return 'string'
  }
  return value instanceof GoInt ? (value.type.startsWith('uint') ? 'uint' : 'int') : null
}

function equals(a: V, b: V): boolean {
  const kind = basicKind(a)
  const other = basicKind(b)
  if (kind !== other) {
    // Integers of either sign kind compare by value.
    if ((kind === 'int' && other === 'uint') || (kind === 'uint' && other === 'int'))
      return integerOf(a) === integerOf(b)
    if (a != null && b != null) refuse(`incompatible types for comparison: ${typeName(a)} and ${typeName(b)}`)
    return false
  }
  if (kind === 'int' || kind === 'uint') return integerOf(a) === integerOf(b)
  if (kind !== null) return a === b
  if (a == null || b == null) return a == null && b == null
  if (kindName(a) !== kindName(b)) {
    refuse(`non-comparable types ${shown('%s', a)}: ${typeName(a)}, ${typeName(b)}: ${shown('%v', b)}`)
  }
  if (a instanceof Instant && b instanceof Instant)
    return a.epochMs === b.epochMs && a.nanos === b.nanos && a.zone === b.zone
  if (a instanceof Opaque) return a === b
  return refuse(`non-comparable type ${shown('%s', b)}: ${typeName(b)}`)
}

/** A value in a message; `%s` as the reference has it, strange as it looks for numbers. */
const shown = (verb: '%s' | '%v', value: V): string => printf(verb, [value], 100_000)

const badComparison = 'invalid type for comparison'

function less(a: V, b: V): boolean {
  const kind = basicKind(a)
  const other = basicKind(b)
  if (kind === null || other === null) return refuse(badComparison)
  if ((kind === 'int' || kind === 'uint') && (other === 'int' || other === 'uint'))
    return (integerOf(a) as bigint) < (integerOf(b) as bigint)
  if (kind !== other) refuse(`incompatible types for comparison: ${typeName(a)} and ${typeName(b)}`)
  if (kind === 'float') return (a as number) < (b as number)
  if (kind === 'string') return compareText(a as string, b as string) < 0
  return refuse(badComparison)
}

const lessOrEqual = (a: V, b: V): boolean => less(a, b) || equals(a, b)

/** A place in something of `length` elements. */
function place(index: V, length: number): number {
  if (index == null) refuse('cannot index slice/array with nil')
  const at = integerOf(index)
  if (at === undefined) return refuse(`cannot index slice/array with type ${typeName(index)}`)
  if (at < 0n || at > BigInt(length)) refuse(`index out of range: ${at}`)
  return Number(at)
}

/** `item[index]`, one step of `index`. */
function element(item: V, index: V): V {
  if (item == null) return refuse('index of nil pointer')
  if (typeof item === 'string') {
    const bytes = encodeUtf8(item)
    const at = place(index, bytes.length)
    if (at === bytes.length) refuse('reflect: string index out of range')
    return new GoInt(BigInt(bytes[at] as number), 'uint8')
  }
  if (item instanceof Uint8Array || Array.isArray(item)) {
    const at = place(index, item.length)
    if (at === item.length) refuse('reflect: slice index out of range')
    const found = item[at]
    return item instanceof Uint8Array ? new GoInt(BigInt(found as number), 'uint8') : found
  }
  if (isDict(item)) {
    if (index == null) return refuse('value is nil; should be of type string')
    if (typeof index !== 'string') return refuse(`value has type ${typeName(index)}; should be string`)
    const found = member(item, index)
    // An absent entry of a map of strings is the empty string.
    return found === undefined ? (typeName(item) === 'map[string]string' ? '' : null) : found
  }
  return refuse(`can't index item of type ${typeName(item)}`)
}

function lengthOf(item: V): number {
  if (item === null) return refuse('len of nil pointer')
  if (item === undefined) return refuse('reflect: call of reflect.Value.Type on zero Value')
  if (typeof item === 'string') return byteLength(item)
  if (Array.isArray(item) || item instanceof Uint8Array) return item.length
  if (isDict(item)) return Object.keys(item).length
  return refuse(`len of type ${typeName(item)}`)
}

function sliced(item: V, indexes: readonly V[]): V {
  if (item == null) return refuse('slice of untyped nil')
  if (indexes.length > 3) refuse(`too many slice indexes: ${indexes.length}`)
  const isText = typeof item === 'string'
  if (isText && indexes.length === 3) refuse('cannot 3-index slice a string')
  if (!isText && !Array.isArray(item) && !(item instanceof Uint8Array)) {
    return refuse(`can't slice item of type ${typeName(item)}`)
  }
  const length = isText ? byteLength(item) : item.length
  const places = indexes.map((i) => place(i, length))
  const [from = 0, to = length, limit = length] = places
  if (from > to) refuse(`invalid slice index: ${from} > ${to}`)
  if (to > limit) refuse(`invalid slice index: ${to} > ${limit}`)
  return isText ? byteSlice(item, from, to) : item.slice(from, to)
}

/** The text that `html`, `js`, `urlquery` escape. */
function operandText(args: readonly V[], limit: number): string {
  if (args.length === 1 && typeof args[0] === 'string') return args[0]
  return printOperands(
    args.map((a) => (a == null ? '<no value>' : a)),
    limit,
  )
}

const htmlEscapes: Record<string, string> = {
  '\0': '\ufffd',
  '"': '&#34;',
  "'": '&#39;',
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
}
const htmlSpecial = /[\0"'&<>]/g

const jsEscapes: Record<string, string> = {
  '\\': '\\\\',
  "'": "\\'",
  '"': '\\"',
  '<': '\\u003C',
  '>': '\\u003E',
  '&': '\\u0026',
  '=': '\\u003D',
}
const jsSpecial = /[\\'"<>&=\x00-\x1f]|[^\x00-\x7f]/gu
const printable = /^[\p{L}\p{M}\p{N}\p{P}\p{S}]$/u

function jsEscape(char: string): string {
  const known = jsEscapes[char]
  if (known !== undefined) return known
  if (char > '\x7f' && printable.test(char)) return char
  return `\\u${(char.codePointAt(0) as number).toString(16).toUpperCase().padStart(4, '0')}`
}

const queryKept = /^[A-Za-z0-9\-_.~]$/

/** Go's url.QueryEscape. */
function queryEscape(text: string): string {
  let out = ''
  for (const byte of encodeUtf8(text)) {
    const char = String.fromCharCode(byte)
    if (char === ' ') out += '+'
    else out += queryKept.test(char) ? char : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
  }
  return out
}

export const builtins: FunctionTable = {
  call: define('value ...value', ([target]) =>
    refuse(target == null ? 'call of nil' : `non-function of type ${typeName(target)}`),
  ),
  eq: define('value ...value', ([first, ...others]) => {
    if (others.length === 0) refuse('missing argument for comparison')
    for (const other of others) if (equals(first, other)) return true
    return false
  }),
  ne: define('value value', ([a, b]) => !equals(a, b)),
  lt: define('value value', ([a, b]) => less(a, b)),
  le: define('value value', ([a, b]) => lessOrEqual(a, b)),
  gt: define('value value', ([a, b]) => !lessOrEqual(a, b)),
  ge: define('value value', ([a, b]) => !less(a, b)),
  not: define('value', ([value]) => !truth(value)),
  index: define('value ...value', ([item, ...indexes]) => {
    if (item == null) return refuse('index of untyped nil')
    let found: V = item
    for (const index of indexes) found = element(found, index)
    return found
  }),
  slice: define('value ...value', ([item, ...indexes]) => sliced(item, indexes)),
  len: define('value', ([item]) => goInt(lengthOf(item))),
  print: define('...any', (args, run) => printOperands(args, run.maxLength)),
  printf: define('string ...any', ([format, ...args], run) => printf(format, args, run.maxLength)),
  println: define('...any', (args, run) => `${args.map((a) => printOperands([a], run.maxLength)).join(' ')}\n`),
  html: define('...any', (args, run) =>
    operandText(args, run.maxLength).replace(htmlSpecial, (c) => htmlEscapes[c] as string),
  ),
  js: define('...any', (args, run) => operandText(args, run.maxLength).replace(jsSpecial, jsEscape)),
  urlquery: define('...any', (args, run) => queryEscape(operandText(args, run.maxLength))),
}
