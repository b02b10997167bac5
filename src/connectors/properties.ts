/** Reading validated properties (core/validate.ts): typed, with `undefined` for what is absent. */
import { getField, isObject, type ValueObject } from '../core/values.ts'

export function text(properties: ValueObject, name: string): string | undefined {
  const value = getField(properties, name)
  return typeof value === 'string' ? value : undefined
}

/** An int, float, duration (ms) or size (bytes). */
export function number(properties: ValueObject, name: string): number | undefined {
  const value = getField(properties, name)
  return typeof value === 'number' ? value : typeof value === 'bigint' ? Number(value) : undefined
}

export function flag(properties: ValueObject, name: string): boolean {
  return getField(properties, name) === true
}

export function map(properties: ValueObject, name: string): ValueObject | undefined {
  const value = getField(properties, name)
  return isObject(value) ? value : undefined
}

/** The text members of a map property; other members are left out. */
export function textMap(properties: ValueObject, name: string): Map<string, string> {
  const result = new Map<string, string>()
  const members = map(properties, name)
  for (const key of Object.keys(members ?? {})) {
    const value = getField(members as ValueObject, key)
    if (typeof value === 'string') result.set(key, value)
  }
  return result
}

/** The text elements of a list property. */
export function textList(properties: ValueObject, name: string): string[] | undefined {
  const value = getField(properties, name)
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === 'string') : undefined
}
