/** How templates print values: Go's `%v` for text, `print`, `println`. */
import { RowError } from '../../core/errors.ts'
import { goText } from '../../core/go-text.ts'
import { compareText } from '../../core/text-order.ts'
import { Instant } from '../../core/values.ts'
import { type Dict, GoInt, MAX_VALUE_DEPTH, member, Opaque, tooDeep, type V } from './values.ts'

/** The text of a value where one is printed: a nil or missing one shows as `<no value>`. */
export function displayText(value: V, limit: number): string {
  return value == null ? '<no value>' : valueText(value, limit)
}

/** `%v`; `limit` bounds the length of the result. */
export function valueText(value: V, limit: number): string {
  return typeof value === 'object' ? containerText(value, limit, 0) : goText(value)
}

export function tooLong(limit: number): never {
  throw new RowError(`result is longer than ${limit} bytes`, 'LIMIT')
}

function containerText(value: V, limit: number, depth: number): string {
  if (typeof value !== 'object') return goText(value)
  if (value === null) return '<nil>'
  if (value instanceof GoInt) return value.text ?? String(value.value)
  if (value instanceof Opaque) return value.text
  if (value instanceof Instant || value instanceof Uint8Array) return goText(value)
  if (depth > MAX_VALUE_DEPTH) tooDeep()
  let out = Array.isArray(value) ? '[' : 'map['
  let separator = ''
  const add = (text: string): void => {
    out += separator + text
    separator = ' '
    if (out.length > limit) tooLong(limit)
  }
  if (Array.isArray(value)) for (const v of value) add(containerText(v, limit, depth + 1))
  else for (const key of sortedKeys(value)) add(`${key}:${containerText(member(value, key), limit, depth + 1)}`)
  return `${out}]`
}

export function sortedKeys(dict: Dict): string[] {
  return Object.keys(dict).sort(compareText)
}

/** Go's Sprint: a space between two operands when neither is a string. */
export function printOperands(values: readonly V[], limit: number): string {
  let out = ''
  for (let i = 0; i < values.length; i++) {
    const value = values[i]
    if (i > 0 && typeof value !== 'string' && typeof values[i - 1] !== 'string') out += ' '
    out += valueText(value, limit)
  }
  return out
}
