/**
 * Properties given by people, checked against their description (core/options.ts). Rules: spec/connectors.md 2.1.
 *
 * Names match exactly first, then without regard to case, then by alias. Kinds are strict: a number never becomes a string
 * and text never becomes a number; only numeric kinds convert into each other (a fraction given for an int is cut off).
 * All problems are collected and reported at once, in the reference's wording where it has one.
 */
import { parseDuration } from './duration.ts'
import { IxionError, messageOf } from './errors.ts'
import type { OptionSpec, OptionSpecs, OptionType } from './options.ts'
import { goTypeName, isObject, setField, type Value, type ValueObject } from './values.ts'

export interface ValidateRules {
  /**
   * `refuse` (default): an unknown property is an error. `drop`: it is left out silently, as the reference does; for maps
   * that hold the properties of several readers. `keep`: it is copied unchecked.
   */
  readonly unknown?: 'refuse' | 'drop' | 'keep'
}

/**
 * The properties of `given` under the names of `specs`, with defaults, as: `int`, `float`, `duration` (ms) and `size` (bytes)
 * -> number; `string`, `bool`; `list` -> array; `map` -> object; `any` untouched. Absent without default = absent.
 * `null` counts as absent. Text holding a `{{template}}` passes unchecked where the option is dynamic.
 * Throws IxionError('INVALID_PROPERTY') whose `path` is `where` and the first bad property.
 */
export function validateOptions(
  specs: OptionSpecs,
  given: ValueObject,
  where: string,
  rules: ValidateRules = {},
): ValueObject {
  const problems: Problem[] = []
  const result = readMembers(specs, given, '', rules.unknown ?? 'refuse', problems, where)
  const first = problems[0]
  if (first) {
    const text = problems.map((p) => `* ${p.text}`).join('\n')
    throw new IxionError('INVALID_PROPERTY', `${problems.length} error(s) decoding:\n\n${text}`, {
      path: where ? `${where}.${first.path}` : first.path,
      hint: `Correct ${problems.map((p) => p.path).join(', ')}${where ? ` of ${where}` : ''}.`,
    })
  }
  return result
}

interface Problem {
  readonly path: string
  readonly text: string
}

function readMembers(
  specs: OptionSpecs,
  given: ValueObject,
  prefix: string,
  unknown: 'refuse' | 'drop' | 'keep',
  problems: Problem[],
  where: string,
): ValueObject {
  const result: ValueObject = {}
  const names = matchNames(specs, given)
  for (const name of Object.keys(specs)) {
    const spec = specs[name] as OptionSpec
    const path = prefix + name
    const key = names.get(name)
    const value = key === undefined ? null : (given[key] as Value)
    if (value !== null && value !== undefined) {
      const read = readValue(spec, value, path, unknown, problems, where)
      if (read !== undefined) result[name] = read
    } else if (spec.required) {
      problems.push({ path, text: `'${path}' is required${where ? ` in ${where}` : ''}` })
    } else if (spec.default !== undefined) {
      result[name] = structuredClone(spec.default)
    } else if (spec.members) {
      const nested = readMembers(spec.members, {}, `${path}.`, unknown, [], where)
      if (Object.keys(nested).length > 0) result[name] = nested
    }
  }
  if (unknown === 'drop') return result
  const used = new Set(names.values())
  const spellings = new Set(Object.keys(specs).flatMap((n) => [n, ...(specs[n]?.aliases ?? [])].map(lower)))
  for (const key of Object.keys(given)) {
    // A second spelling of a property that was read (`Topic` beside `topic`) is ignored, not unknown.
    if (used.has(key) || spellings.has(lower(key))) continue
    if (unknown === 'keep') {
      setField(result, key, given[key] as Value)
      continue
    }
    const close = closeNames(key, Object.keys(specs))
    const hint = close.length > 0 ? `; did you mean ${close.map((n) => `'${n}'`).join(' or ')}?` : ''
    problems.push({
      path: prefix + key,
      text: `'${prefix}${key}' is not a property${where ? ` of ${where}` : ''}${hint}`,
    })
  }
  return result
}

const lower = (s: string): string => s.toLowerCase()

/** Property name -> the key of `given` that supplies it. */
function matchNames(specs: OptionSpecs, given: ValueObject): Map<string, string> {
  const byLower = new Map<string, string>()
  for (const key of Object.keys(given)) if (!byLower.has(lower(key))) byLower.set(lower(key), key)
  const names = new Map<string, string>()
  for (const name of Object.keys(specs)) {
    for (const spelling of [name, ...(specs[name]?.aliases ?? [])]) {
      const key = Object.hasOwn(given, spelling) ? spelling : byLower.get(lower(spelling))
      if (key !== undefined) {
        names.set(name, key)
        break
      }
    }
  }
  return names
}

function readValue(
  spec: OptionSpec,
  value: Value,
  path: string,
  unknown: 'refuse' | 'drop' | 'keep',
  problems: Problem[],
  where: string,
): Value | undefined {
  if (spec.dynamic && typeof value === 'string' && value.includes('{{')) return value
  const count = problems.length
  let read = readType(spec.type, value, path, spec, problems)
  if (problems.length > count || read === undefined) return undefined
  if (spec.members && isObject(read)) {
    read = readMembers(spec.members, read, `${path}.`, unknown, problems, where)
  } else if (spec.element && Array.isArray(read)) {
    const element = spec.element
    read = read.map((item, i) => readType(element, item, `${path}[${i}]`, spec, problems) ?? null)
  }
  if (typeof read === 'number') {
    const { minimum, maximum } = spec
    if ((minimum !== undefined && read < minimum) || (maximum !== undefined && read > maximum)) {
      const unit = spec.unit ?? (spec.type === 'duration' ? 'ms' : spec.type === 'size' ? 'bytes' : '')
      const range =
        minimum === undefined
          ? `at most ${maximum}`
          : maximum === undefined
            ? `at least ${minimum}`
            : `between ${minimum} and ${maximum}`
      problems.push({ path, text: `'${path}' must be ${range}${unit && ` ${unit}`}, got ${read}` })
    }
  }
  if (spec.oneOf) {
    const text = String(read)
    const found = spec.oneOf.find((o) => o === text) ?? spec.oneOf.find((o) => lower(o) === lower(text))
    if (found === undefined) {
      problems.push({ path, text: `'${path}' must be one of ${spec.oneOf.join(', ')}, got ${shown(read, spec)}` })
    } else if (typeof read === 'string') {
      read = found
    }
  }
  return read
}

/** The value as `type`, or undefined after adding a problem. */
function readType(
  type: OptionType,
  value: Value,
  path: string,
  spec: OptionSpec,
  problems: Problem[],
): Value | undefined {
  const fail = (text: string): undefined => {
    problems.push({ path, text })
  }
  const unconvertible = (expected: string): undefined =>
    fail(
      `'${path}' expected type '${expected}', got unconvertible type '${goTypeName(value)}', value: '${shown(value, spec)}'`,
    )
  switch (type) {
    case 'any':
      return value
    case 'string':
      return typeof value === 'string' ? value : unconvertible('string')
    case 'bool':
      return typeof value === 'boolean' ? value : unconvertible('bool')
    case 'int':
    case 'float': {
      if (typeof value !== 'number' && typeof value !== 'bigint')
        return unconvertible(type === 'int' ? 'int' : 'float64')
      const number = Number(value)
      if (!Number.isFinite(number)) return unconvertible(type === 'int' ? 'int' : 'float64')
      return type === 'int' ? Math.trunc(number) + 0 : number
    }
    case 'duration':
      if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'bigint')
        return unconvertible('duration')
      try {
        return parseDuration(value)
      } catch (error) {
        return fail(`error decoding '${path}': ${messageOf(error)}`)
      }
    case 'size': {
      const size = parseSize(value)
      return size ?? fail(`'${path}' must be a number of bytes or text such as 64KB, got ${shown(value, spec)}`)
    }
    case 'list':
      return Array.isArray(value)
        ? value
        : fail(`'${path}': source data must be an array or slice, got ${goTypeName(value)}`)
    case 'map':
      return isObject(value) ? value : fail(`'${path}' expected a map, got '${goTypeName(value)}'`)
  }
}

function shown(value: Value | undefined, spec: OptionSpec): string {
  if (spec.secret) return '*'
  if (value !== null && typeof value === 'object') return goTypeName(value)
  const text = String(value)
  return text.length > 100 ? `${text.slice(0, 100)}...` : text
}

const sizeUnits: Readonly<Record<string, number>> = { '': 1, b: 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3, t: 1024 ** 4 }

/** Bytes from a number, or from text such as `64KB`, `8 MiB`, `1.5g` (units are powers of 1024); undefined = unreadable. */
export function parseSize(value: Value): number | undefined {
  if (typeof value === 'bigint' || typeof value === 'number') {
    const bytes = Math.trunc(Number(value))
    return bytes >= 0 && Number.isSafeInteger(bytes) ? bytes : undefined
  }
  if (typeof value !== 'string') return undefined
  const match = /^\s*(\d{1,15}(?:\.\d{1,9})?)\s*(?:([kmgt])i?b?|b?)\s*$/i.exec(value)
  if (!match) return undefined
  const bytes = Math.trunc(Number(match[1]) * (sizeUnits[lower(match[2] ?? '')] ?? 1))
  return Number.isSafeInteger(bytes) ? bytes : undefined
}

/** Up to three names that differ from `name` by little: swapped, missing or extra letters, or a common beginning. */
export function closeNames(name: string, names: readonly string[]): string[] {
  const wanted = lower(name).slice(0, 64)
  const allowed = Math.max(1, Math.floor(wanted.length / 3))
  return names
    .map((candidate) => ({ candidate, distance: editDistance(wanted, lower(candidate)) }))
    .filter(
      ({ candidate, distance }) =>
        distance <= allowed ||
        (wanted.length >= 4 && (lower(candidate).startsWith(wanted) || wanted.startsWith(lower(candidate)))),
    )
    .sort((a, b) => a.distance - b.distance || (a.candidate < b.candidate ? -1 : 1))
    .slice(0, 3)
    .map(({ candidate }) => candidate)
}

function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const current = [i]
    for (let j = 1; j <= b.length; j++) {
      const change = (previous[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1)
      current.push(Math.min(change, (previous[j] as number) + 1, (current[j - 1] as number) + 1))
    }
    previous = current
  }
  return previous[b.length] as number
}
