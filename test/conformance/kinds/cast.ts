/** cast.jsonl: conversions, times and durations through src/core. Widths of Go integers are not kept: all are int64. */
import { stringify as yamlText } from 'yaml'
import {
  type CastMode,
  toBool,
  toBytea,
  toEpochMs,
  toFloat64,
  toInstant,
  toInt64,
  toSlice,
  toText,
  toUint64,
} from '../../../src/core/cast.ts'
import { durationText, parseDuration } from '../../../src/core/duration.ts'
import { goText, textOf } from '../../../src/core/go-text.ts'
import { formatTime, goLayout } from '../../../src/core/time-format.ts'
import { padFraction } from '../../../src/core/time-parse.ts'
import { Instant, isObject, type Value, type ValueObject, wrapInt64 } from '../../../src/core/values.ts'
import { type Case, fail, type Outcome, pass } from '../contract.ts'
import { fromTagged, sameValue, show } from '../values.ts'

/** A duration member of a configuration is a number of milliseconds or Go text. */
const duration = (value: Value): number => parseDuration(value as string | number | bigint)

function durationMembers(input: ValueObject): ValueObject {
  return Object.fromEntries(
    Object.entries(input).map(([key, value]) => {
      if (!/^(interval|duration)/.test(key)) return [key, value]
      try {
        return [key, duration(value)]
      } catch (error) {
        throw new Error(
          `1 error(s) decoding:\n\n* error decoding '${key[0]?.toUpperCase()}${key.slice(1)}': ${(error as Error).message}`,
        )
      }
    }),
  )
}

function convert(target: string, c: Case, input: Value): Value {
  const mode = c['mode'] as CastMode
  const context = { zone: c['timezone'] ?? 'UTC' }
  const text = String(input)
  switch (target) {
    case 'stringAlways':
      return textOf(input)
    case 'string':
      return toText(input, mode)
    case 'int':
    case 'int8':
    case 'int16':
    case 'int32':
    case 'int64':
      return toInt64(input, mode)
    case 'uint8':
    case 'uint16':
    case 'uint32':
    case 'uint64':
      return toUint64(input, mode)
    case 'float32':
    case 'float64':
      return toFloat64(input, mode)
    case 'bool':
      return toBool(input, mode)
    case 'bytea':
      return toBytea(input, mode)
    case 'slice of string':
      return toSlice(input, 'string', (element) => {
        // The recorded converter refuses null and formats everything else.
        if (element === null) throw new Error(goText(element))
        return goText(element)
      })
    case 'time':
      return toInstant(input, context, c['format'] ?? '')
    case 'unixMilli':
      return toEpochMs(input, context, c['format'] ?? '')
    case 'formatTime':
      return formatTime(input as Instant, c['format'])
    case 'goTimeLayout':
      return goLayout(text)
    case 'padFractionalSeconds':
      return padFraction(text)
    case 'duration':
      return duration(input)
    case 'config struct with durations':
      return durationMembers(input as ValueObject)
    case 'duration conf from json':
    case 'duration conf from yaml': {
      const members = JSON.parse(text) as { duration: number | string; id: number }
      return { duration: parseDuration(members.duration), id: BigInt(members.id) }
    }
    case 'duration conf to json':
    case 'duration conf to yaml': {
      const members = input as ValueObject
      const plain = { duration: durationText(members['duration'] as number), id: Number(members['id']) }
      return target.endsWith('json') ? JSON.stringify(plain) : yamlText(plain)
    }
    case 'string-keyed map':
      return input
    case 'arithmetic operand (ints -> int64, floats -> float64)':
      return typeof input === 'bigint' ? wrapInt64(input) : input
    default:
      throw new Error(`not built: ${target}`)
  }
}

/** A Go value outside SQL's kinds stands for any unsupported kind. */
const inputOf = (tagged: unknown): Value =>
  tagged !== null && typeof tagged === 'object' && '$go' in tagged ? {} : fromTagged(tagged)

/** Times are compared as instants: the recorded ones do not keep the zone. */
const sameOutcome = (actual: Value, expected: Value): boolean =>
  actual instanceof Instant && expected instanceof Instant
    ? actual.epochMs === expected.epochMs && actual.nanos === expected.nanos
    : isObject(actual) && isObject(expected)
      ? Object.keys(expected).every((key) => sameOutcome(actual[key] as Value, expected[key] as Value))
      : sameValue(actual, expected)

export function run(c: Case): Outcome {
  for (const target of [c['to']].flat() as string[]) {
    let actual: Value
    try {
      actual = convert(target, c, inputOf(c['input']))
    } catch (error) {
      const message = (error as Error).message
      if (c['error'] === true) continue
      if (c['error'] === undefined) return fail(`${target}: failed with ${message}`)
      // Plain Go ints arise only in recorded test inputs.
      const expected = String(c['error']).replace(/\bint\(/, 'int64(')
      if (message !== expected) return fail(`${target}: ${message}, expected ${expected}`)
      continue
    }
    if (c['error'] !== undefined) return fail(`${target}: gave ${show(actual)}, expected an error`)
    const expected = fromTagged(c['value'])
    if (!sameOutcome(actual, expected)) return fail(`${target}: ${show(actual)}, expected ${show(expected)}`)
  }
  return pass
}
