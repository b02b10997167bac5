/**
 * Values as JSON for checkpoints and keyed state: what JSON cannot say is tagged, objects whose key starts with `$` are
 * escaped, and a version leads so that a later build can read older state.
 */
import { decodeBase64, encodeBase64 } from './base64.ts'
import { IxionError } from './errors.ts'
import { Instant, setField, type Value, type ValueObject } from './values.ts'

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

/** Raised whenever the tags below change meaning. */
const STATE_VERSION = 1
/** The deepest payload (json-decode.ts) in a row in an operator's state. */
const MAX_DEPTH = 2100

/**
 * JSON text of a state. Tags: `$i` integer (of any size: a payload's is exact), `$f` float that JSON lacks, `$b` bytes, `$t` time,
 * `$o` an escaped object.
 */
export function encodeState(value: Value): string {
  return JSON.stringify([STATE_VERSION, tag(value, 0)])
}

/** Reads what {@link encodeState} wrote. Throws IxionError STORAGE for anything else. */
export function decodeState(text: string): Value {
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch (cause) {
    throw new IxionError('STORAGE', 'stored state is not JSON', { cause, hint: 'Delete the state of the rule.' })
  }
  if (!Array.isArray(parsed) || parsed.length !== 2) throw unreadable('it has no version')
  if (parsed[0] !== STATE_VERSION) throw unreadable(`its version is ${String(parsed[0])}`)
  return untag(parsed[1] as Json, 0)
}

function unreadable(reason: string): IxionError {
  return new IxionError('STORAGE', `stored state cannot be read: ${reason}`, {
    hint: `This build reads version ${STATE_VERSION}; delete the state of the rule or use the build that wrote it.`,
  })
}

function tag(value: Value, depth: number): Json {
  if (depth > MAX_DEPTH) throw new IxionError('LIMIT', `state is nested deeper than ${MAX_DEPTH} levels`)
  switch (typeof value) {
    case 'bigint':
      return { $i: String(value) }
    case 'number':
      return Number.isFinite(value) && !Object.is(value, -0)
        ? value
        : { $f: Object.is(value, -0) ? '-0' : String(value) }
    case 'string':
    case 'boolean':
      return value
  }
  if (value === null) return null
  if (value instanceof Uint8Array) return { $b: encodeBase64(value) }
  if (value instanceof Instant) return { $t: [value.epochMs, value.nanos, value.zone] }
  if (Array.isArray(value)) {
    // A loop: with callbacks in between, the stack has room for half the depth.
    const list: Json[] = []
    for (const element of value) list.push(tag(element, depth + 1))
    return list
  }
  const members: { [key: string]: Json } = {}
  let needsEscape = false
  for (const key of Object.keys(value)) {
    if (key.startsWith('$')) needsEscape = true
    setField(members as ValueObject, key, tag(value[key] as Value, depth + 1) as Value)
  }
  return needsEscape ? { $o: members } : members
}

function untag(json: Json, depth: number): Value {
  if (depth > MAX_DEPTH) throw unreadable(`it is nested deeper than ${MAX_DEPTH} levels`)
  if (json === null || typeof json !== 'object') return json
  if (Array.isArray(json)) {
    const list: Value[] = []
    for (const element of json) list.push(untag(element, depth + 1))
    return list
  }
  const keys = Object.keys(json)
  if (keys.length === 1 && keys[0]?.startsWith('$')) {
    const body = json[keys[0]] as Json
    switch (keys[0]) {
      case '$i':
        if (typeof body === 'string' && /^-?\d+$/.test(body)) return BigInt(body)
        break
      case '$f':
        if (typeof body === 'string') return Number(body)
        break
      case '$b': {
        const bytes = typeof body === 'string' ? decodeBase64(body) : 0
        if (typeof bytes !== 'number') return bytes
        break
      }
      case '$t': {
        const [ms, nanos, zone] = Array.isArray(body) ? body : []
        if (typeof ms === 'number' && typeof nanos === 'number' && typeof zone === 'string')
          return new Instant(ms, nanos, zone)
        break
      }
      case '$o':
        if (body !== null && typeof body === 'object' && !Array.isArray(body)) return membersOf(body, depth)
    }
    throw unreadable(`it holds a malformed ${keys[0]} entry`)
  }
  return membersOf(json, depth)
}

function membersOf(json: { [key: string]: Json }, depth: number): ValueObject {
  const result: ValueObject = {}
  for (const key of Object.keys(json)) setField(result, key, untag(json[key] as Json, depth + 1))
  return result
}
