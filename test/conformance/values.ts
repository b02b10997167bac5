/**
 * Tagged JSON of the recorded cases <-> engine values. A JSON integer is an int64, `{"$float":"3"}` an integral float64,
 * `$int`, `$gint`, `$uint`, `$bytes`, `$time`, `$time_ns`, `$strs`, `$rawstr`, `$duration_ms`, `$map` as documented with the data.
 */
import { deepEqual, Instant, kindOf, setField, type Value, type ValueObject } from '../../src/core/values.ts'

export function fromTagged(tagged: unknown): Value {
  if (tagged === null || tagged === undefined) return null
  if (typeof tagged === 'number') return Number.isInteger(tagged) ? BigInt(tagged) : tagged
  if (typeof tagged !== 'object') return tagged as Value
  if (Array.isArray(tagged)) return tagged.map(fromTagged)
  const object = tagged as Record<string, unknown>
  const keys = Object.keys(object)
  if (keys.length === 1 && keys[0]?.startsWith('$')) {
    const value = object[keys[0]] as never
    switch (keys[0]) {
      case '$float':
        return value === '+Inf' ? Infinity : value === '-Inf' ? -Infinity : Number(value)
      case '$int':
      case '$gint':
      case '$uint':
        return BigInt(value)
      case '$bytes':
        return new Uint8Array(Buffer.from(value, 'base64'))
      case '$rawstr':
        return Buffer.from(value, 'base64').toString('latin1')
      case '$strs':
        return (value as unknown[]).map(fromTagged)
      case '$time':
        return typeof value === 'number' ? new Instant(value) : instantOf(String(value))
      case '$time_ns': {
        const nanos = BigInt(value)
        return new Instant(Number(nanos / 1000000n), Number(nanos % 1000000n))
      }
      case '$duration_ms':
        return value
      case '$map':
        return Object.fromEntries((value as [unknown, unknown][]).map(([k, v]) => [String(k), fromTagged(v)]))
    }
  }
  const result: ValueObject = {}
  for (const key of keys) setField(result, key, fromTagged(object[key]))
  return result
}

function instantOf(rfc3339: string): Instant {
  const match = /^(.*?:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)$/.exec(rfc3339)
  if (!match) throw new Error(`not an RFC 3339 time: ${rfc3339}`)
  const [, base, fraction = '', zone] = match
  const nanos = Number(fraction.padEnd(9, '0').slice(0, 9))
  return new Instant(Date.parse(`${base}${zone}`) + Math.floor(nanos / 1e6), nanos % 1e6, zone === 'Z' ? 'UTC' : zone)
}

/** Equality of results: kinds matter, NaN equals NaN, row key order does not matter. `relative` allows rounding of floats. */
export function sameValue(actual: Value | undefined, expected: Value | undefined, relative = 0): boolean {
  if (typeof actual === 'number' && typeof expected === 'number') {
    if (Number.isNaN(expected)) return Number.isNaN(actual)
    if (Object.is(actual, expected)) return true
    return actual === expected || (relative > 0 && Math.abs(actual - expected) <= relative * Math.abs(expected))
  }
  if (Array.isArray(actual) && Array.isArray(expected)) {
    return actual.length === expected.length && actual.every((v, i) => sameValue(v, expected[i], relative))
  }
  if (kindOf(actual) === 'object' && kindOf(expected) === 'object') {
    const a = actual as ValueObject
    const b = expected as ValueObject
    const keys = Object.keys(a)
    return (
      keys.length === Object.keys(b).length && keys.every((k) => Object.hasOwn(b, k) && sameValue(a[k], b[k], relative))
    )
  }
  return deepEqual(actual, expected)
}

/** For failure details: a short readable form that shows kinds (3n is int64, 3 is float64). */
export function show(value: Value | undefined): string {
  if (value === undefined) return 'missing'
  if (typeof value === 'bigint') return `${value}n`
  if (value === null || typeof value !== 'object')
    return typeof value === 'number' ? String(value) : JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(show).join(', ')}]`
  if (value instanceof Instant) return `time(${value.epochMs}ms ${value.nanos}ns ${value.zone})`
  if (value instanceof Uint8Array) return `bytes(${Buffer.from(value).toString('base64')})`
  return `{${Object.keys(value)
    .map((k) => `${k}: ${show(value[k])}`)
    .join(', ')}}`
}
