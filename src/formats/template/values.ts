/**
 * Values while a template runs: SQL values plus what Go's templates tell apart and SQL does not. A literal, a length and
 * a loop counter are Go's `int`, a column is `int64`: `eq` compares them, `has` does not (spec/connectors.md 4.3).
 */
import { RowError } from '../../core/errors.ts'
import { getField, Instant, setField, type ValueObject } from '../../core/values.ts'

/** An integer of a Go type other than int64. `text` is its printed form when it has a name, as months have. */
export class GoInt {
  readonly value: bigint
  readonly type: string
  readonly text: string | undefined

  constructor(value: bigint, type = 'int', text?: string) {
    this.value = value
    this.type = type
    this.text = text
  }
}

/** A value with a text and methods only, such as a parsed version. */
export class Opaque {
  readonly type: string
  readonly text: string
  readonly members: ReadonlyMap<string, () => V>

  constructor(type: string, text: string, members: ReadonlyMap<string, () => V>) {
    this.type = type
    this.text = text
    this.members = members
  }
}

/** `undefined` is a missing value (Go's invalid value), `null` a nil that is there. Both print `<no value>`. */
export type V =
  | undefined
  | null
  | boolean
  | bigint
  | number
  | string
  | Uint8Array
  | Instant
  | GoInt
  | Opaque
  | V[]
  | Dict

export interface Dict {
  [key: string]: V
}

const smallInts: GoInt[] = []
for (let i = 0; i < 256; i++) smallInts.push(new GoInt(BigInt(i)))

/** Go's `int` of a whole JavaScript number. */
export function goInt(value: number): GoInt {
  return smallInts[value] ?? new GoInt(BigInt(value))
}

export function isDict(value: V): value is Dict {
  if (typeof value !== 'object' || value === null) return false
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

export const member = (dict: Dict, key: string): V => getField(dict as ValueObject, key) as V

export const setMember = (dict: Dict, key: string, value: V): void => setField(dict as ValueObject, key, value as never)

/** Go types of lists and maps that are not the usual `[]interface {}` and `map[string]interface {}`. */
const containerTypes = new WeakMap<object, string>()

export function typed<T extends V[] | Dict>(type: string, container: T): T {
  containerTypes.set(container, type)
  return container
}

/** `%T`. */
export function typeName(value: V): string {
  switch (typeof value) {
    case 'undefined':
      return '<nil>'
    case 'boolean':
      return 'bool'
    case 'bigint':
      return 'int64'
    case 'number':
      return 'float64'
    case 'string':
      return 'string'
  }
  if (value === null) return '<nil>'
  if (value instanceof GoInt || value instanceof Opaque) return value.type
  if (value instanceof Instant) return 'time.Time'
  if (value instanceof Uint8Array) return '[]uint8'
  return containerTypes.get(value) ?? (Array.isArray(value) ? '[]interface {}' : 'map[string]interface {}')
}

/** Go's reflect kind, as `kindOf` tells it. */
export function kindName(value: V): string {
  if (value == null) return 'invalid'
  if (typeof value !== 'object') return typeName(value)
  if (value instanceof GoInt) return value.text === undefined ? value.type : 'int'
  if (value instanceof Opaque) return 'ptr'
  if (value instanceof Instant) return 'struct'
  return Array.isArray(value) || value instanceof Uint8Array ? 'slice' : 'map'
}

/** What `if`, `and`, `or`, `not` make of a value. */
export function truth(value: V): boolean {
  switch (typeof value) {
    case 'undefined':
      return false
    case 'boolean':
      return value
    case 'bigint':
      return value !== 0n
    case 'number':
      return value !== 0
    case 'string':
      return value !== ''
  }
  if (value === null) return false
  if (value instanceof GoInt) return value.value !== 0n
  if (Array.isArray(value) || value instanceof Uint8Array) return value.length > 0
  if (isDict(value)) return Object.keys(value).length > 0
  return true
}

/** sprig's `empty`: like the opposite of {@link truth}. */
export const isEmpty = (value: V): boolean => !truth(value)

/** The integer of any integer type, or undefined. */
export function integerOf(value: V): bigint | undefined {
  return typeof value === 'bigint' ? value : value instanceof GoInt ? value.value : undefined
}

/** Deeper values than this are refused: they come from a template that puts a value into itself. */
export const MAX_VALUE_DEPTH = 200

export function tooDeep(): never {
  throw new RowError(`value is nested more than ${MAX_VALUE_DEPTH} levels deep`, 'LIMIT')
}

/** reflect.DeepEqual: types must match, so the int 1 and the int64 1 differ. */
export function sameDeep(a: V, b: V, depth = 0): boolean {
  if (a === b) return true
  if (a == null || b == null) return a == null && b == null
  if (typeof a !== 'object' || typeof b !== 'object') return false
  if (depth > MAX_VALUE_DEPTH) tooDeep()
  if (typeName(a) !== typeName(b)) return false
  if (a instanceof GoInt) return b instanceof GoInt && a.value === b.value
  if (a instanceof Opaque) return b instanceof Opaque && a.text === b.text
  if (a instanceof Instant) return b instanceof Instant && a.epochMs === b.epochMs && a.nanos === b.nanos
  if (a instanceof Uint8Array)
    return b instanceof Uint8Array && a.length === b.length && a.every((byte, i) => byte === b[i])
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((v, i) => sameDeep(v, b[i], depth + 1))
  }
  const other = b as Dict
  const keys = Object.keys(a)
  return (
    keys.length === Object.keys(other).length &&
    keys.every((k) => Object.hasOwn(other, k) && sameDeep(member(a, k), member(other, k), depth + 1))
  )
}

/** A copy that shares nothing that can change. */
export function deepCopy(value: V, depth = 0): V {
  if (typeof value !== 'object' || value === null) return value
  if (depth > MAX_VALUE_DEPTH) tooDeep()
  const type = containerTypes.get(value)
  if (Array.isArray(value)) {
    const list = value.map((v) => deepCopy(v, depth + 1))
    return type === undefined ? list : typed(type, list)
  }
  if (!isDict(value)) return value
  const copy: Dict = {}
  for (const key of Object.keys(value)) setMember(copy, key, deepCopy(member(value, key), depth + 1))
  return type === undefined ? copy : typed(type, copy)
}
