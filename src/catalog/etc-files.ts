/** Configuration files of the etc folder: YAML objects with environment overrides (spec/rest-api.md 11.3). */
import { readFileSync } from 'node:fs'
import { IxionError, messageOf } from '../core/errors.ts'
import { isObject, setField, type Value, type ValueObject } from '../core/values.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** Largest configuration file, bytes. */
const MAX_BYTES = 4 * 1024 * 1024
const MAX_DEPTH = 16

/**
 * The object in a YAML file; empty when there is no file or nothing but comments in it (then the YAML library is not even
 * loaded). Throws INVALID_DOCUMENT that names the file and the place.
 */
export async function readYamlFile(path: string): Promise<ValueObject> {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {}
    throw new IxionError('STORAGE', `cannot read ${path}: ${messageOf(error)}`)
  }
  if (text.length > MAX_BYTES) throw new IxionError('LIMIT', `${path} is larger than ${MAX_BYTES} bytes`)
  if (!/^[^\S\n]*[^\s#]/m.test(text)) return {}
  const { parse } = await import('yaml')
  let value: unknown
  try {
    value = parse(text, { maxAliasCount: 100 })
  } catch (error) {
    throw new IxionError('INVALID_DOCUMENT', `${path} is not YAML: ${messageOf(error)}`, { path })
  }
  if (value === null || value === undefined) return {}
  const clean = plain(value, path, 0)
  if (!isObject(clean)) throw new IxionError('INVALID_DOCUMENT', `${path} must hold keys and values`, { path })
  return clean
}

/** YAML results as plain values: no dates, maps or sets. */
function plain(value: unknown, path: string, depth: number): Value {
  if (depth > MAX_DEPTH) throw new IxionError('LIMIT', `${path} is nested deeper than ${MAX_DEPTH} levels`)
  if (value === null || value === undefined) return null
  if (Array.isArray(value)) return value.map((v) => plain(v, path, depth + 1))
  if (value instanceof Date) return value.toISOString()
  if (typeof value === 'object') {
    const result: ValueObject = {}
    for (const [key, v] of Object.entries(value)) setField(result, key, plain(v, path, depth + 1))
    return result
  }
  return value as Value
}

/**
 * Lays `<BASE>__<KEY>__<KEY>=value` over `tree`. Keys match without regard to case. Throws INVALID_DOCUMENT when a part would
 * descend into a scalar.
 */
export function applyEnvironment(tree: ValueObject, base: string, environment: Environment): ValueObject {
  const prefix = `${base.toUpperCase()}__`
  for (const name of Object.keys(environment).sort()) {
    const value = environment[name]
    if (!name.toUpperCase().startsWith(prefix) || value === undefined) continue
    const keys = name.slice(prefix.length).split('__')
    if (keys.some((k) => k === '')) continue
    let node = tree
    for (const [i, part] of keys.entries()) {
      const key = Object.keys(node).find((k) => k.toLowerCase() === part.toLowerCase()) ?? part.toLowerCase()
      if (i === keys.length - 1) {
        setField(node, key, environmentValue(value))
        break
      }
      const below = node[key]
      if (below !== undefined && below !== null && !isObject(below)) {
        throw new IxionError(
          'INVALID_DOCUMENT',
          `the environment variable ${name} descends into ${key}, which is a value`,
          {
            path: name,
            hint: `Unset ${name} or give ${key} members.`,
          },
        )
      }
      if (!isObject(below)) setField(node, key, {})
      node = node[key] as ValueObject
    }
  }
  return tree
}

/** `[a,b]` a list, then integer, boolean, float, text. */
function environmentValue(text: string): Value {
  const value = text.trim()
  if (value.startsWith('[') && value.endsWith(']')) {
    const inner = value.slice(1, -1).trim()
    return inner === '' ? [] : inner.split(',').map(environmentValue)
  }
  if (/^[+-]?\d{1,15}$/.test(value)) return Number(value)
  if (/^(t|true|T|TRUE|True)$/.test(value)) return true
  if (/^(f|false|F|FALSE|False)$/.test(value)) return false
  if (/^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(value)) return Number(value)
  return value
}
