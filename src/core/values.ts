/**
 * The values of streaming SQL and the few operations everything else needs on them.
 *
 * Runtime representation (see docs/decisions/0001-values.md). The kinds are told apart without boxing:
 *
 * | SQL kind   | JavaScript                                          |
 * | ---------- | --------------------------------------------------- |
 * | null       | `null` (an absent column is `undefined`)            |
 * | boolean    | `boolean`                                           |
 * | int64      | `bigint`, always within signed 64 bits              |
 * | float64    | `number`                                            |
 * | string     | `string`                                            |
 * | bytes      | `Uint8Array`                                        |
 * | time       | `Instant`                                           |
 * | array      | `Value[]`                                           |
 * | object     | plain object; read and written through get/setField |
 *
 * So `7n / 2n` is 3 and `7 / 2` is 3.5, as spec/sql.md 2.4 demands, whatever the planner knew. Columns (core/columns.ts)
 * hold the same values as typed arrays with a kind per value; there an int64 is a double while it is safe.
 */

/** One SQL value. An absent column is `undefined`, which is not a Value. */
export type Value = null | boolean | bigint | number | string | Uint8Array | Instant | Value[] | ValueObject

/** An SQL object. Never read `o[key]` with a key that comes from data: use {@link getField}. */
export interface ValueObject {
  [key: string]: Value
}

export type Kind = 'null' | 'bool' | 'int64' | 'float64' | 'string' | 'bytes' | 'time' | 'array' | 'object'

/**
 * An instant in time, to the nanosecond, with the zone it prints in (Go's time.Time as SQL sees it).
 * `zone` is an IANA name, 'UTC', or a fixed offset such as '+08:00'.
 */
export class Instant {
  readonly epochMs: number
  /** Nanoseconds beyond the millisecond, 0 to 999,999. */
  readonly nanos: number
  readonly zone: string

  constructor(epochMs: number, nanos = 0, zone = 'UTC') {
    this.epochMs = epochMs
    this.nanos = nanos
    this.zone = zone
  }
}

export function kindOf(value: Value | undefined): Kind {
  switch (typeof value) {
    case 'number':
      return 'float64'
    case 'bigint':
      return 'int64'
    case 'string':
      return 'string'
    case 'boolean':
      return 'bool'
    case 'undefined':
      return 'null'
    default:
      if (value === null) return 'null'
      if (Array.isArray(value)) return 'array'
      if (value instanceof Instant) return 'time'
      if (value instanceof Uint8Array) return 'bytes'
      return 'object'
  }
}

const goTypeNames: Record<Kind, string> = {
  null: '<nil>',
  bool: 'bool',
  int64: 'int64',
  float64: 'float64',
  string: 'string',
  bytes: '[]uint8',
  time: 'time.Time',
  array: '[]interface {}',
  object: 'map[string]interface {}',
}

/** The kind's name in messages (Go's %T), as in `invalid operation int64(12) = string(x)`. */
export function goTypeName(value: Value | undefined): string {
  return goTypeNames[kindOf(value)]
}

export function isObject(value: Value | undefined): value is ValueObject {
  return kindOf(value) === 'object'
}

/** Names that a plain object inherits: reading them needs an own-property check, writing `__proto__` needs care. */
const inherited = new Set(Object.getOwnPropertyNames(Object.prototype))

/** True when `key` may be read as `object[key]` without meeting Object.prototype. */
export function isPlainKey(key: string): boolean {
  return !inherited.has(key)
}

/** The member, or `undefined` when absent. Never sees inherited properties. */
export function getField(object: ValueObject, key: string): Value | undefined {
  const value = object[key]
  if (value === undefined) return undefined
  return inherited.has(key) && !Object.hasOwn(object, key) ? undefined : value
}

/** Sets an own member, also for keys such as `__proto__`. */
export function setField(object: ValueObject, key: string, value: Value): void {
  if (key === '__proto__') {
    Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true })
  } else {
    object[key] = value
  }
}

/** A shallow copy that keeps keys such as `__proto__` as data. */
export function copyFields(target: ValueObject, source: ValueObject): ValueObject {
  for (const key of Object.keys(source)) setField(target, key, source[key] as Value)
  return target
}

/** Wraps to signed 64 bits, as Go's int64 arithmetic does. */
export function wrapInt64(value: bigint): bigint {
  return BigInt.asIntN(64, value)
}

/** Go's reflect.DeepEqual on SQL values: kinds must match (1n and 1 differ). */
export function deepEqual(a: Value | undefined, b: Value | undefined): boolean {
  if (a === b) return true
  if (a == null || b == null) return (a ?? null) === (b ?? null)
  if (typeof a !== 'object' || typeof b !== 'object') return false
  if (Array.isArray(a)) {
    if (!Array.isArray(b) || a.length !== b.length) return false
    for (let i = 0; i < a.length; i++) if (!deepEqual(a[i], b[i])) return false
    return true
  }
  if (a instanceof Instant) return b instanceof Instant && a.epochMs === b.epochMs && a.nanos === b.nanos
  if (a instanceof Uint8Array) {
    if (!(b instanceof Uint8Array) || a.length !== b.length) return false
    for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false
    return true
  }
  if (Array.isArray(b) || b instanceof Instant || b instanceof Uint8Array) return false
  const keys = Object.keys(a)
  if (keys.length !== Object.keys(b).length) return false
  for (const key of keys) {
    if (!Object.hasOwn(b, key) || !deepEqual(a[key], b[key])) return false
  }
  return true
}
