/** Column types of streams: their names, their texts, and DEFAULT values (spec/sql.md 1.16). */

import { parseGoBool, parseGoFloat, parseGoInt } from '../core/go-number.ts'
import { floatText } from '../core/go-text.ts'
import type { BasicType, FieldType, StreamField } from './ast.ts'

export const basicTypes: ReadonlyMap<string, BasicType> = new Map(
  (['bigint', 'float', 'string', 'bytea', 'datetime', 'boolean'] as const).map((name) => [name, name]),
)

/** `bigint`, `array(float)`, `struct(a string, b array(bigint))`. */
export function typeText(type: FieldType): string {
  switch (type.kind) {
    case 'array':
      return `array(${typeText(type.element)})`
    case 'struct':
      return `struct(${type.fields.map((f) => `${f.name} ${typeText(f.type)}`).join(', ')})`
    default:
      return type.kind
  }
}

type Default = NonNullable<StreamField['default']>

/** The DEFAULT literal's text as a value of the column's type. */
export function defaultValue(text: string, type: FieldType): { value: Default } | { problem: string } {
  const cannot = (target: string) => ({ problem: `cannot convert string(${text}) to ${target}` })
  switch (type.kind) {
    case 'bigint': {
      const value = parseGoInt(text, 0)
      return typeof value === 'bigint' ? { value } : cannot('int64')
    }
    case 'float': {
      const value = parseGoFloat(text)
      return typeof value === 'number' ? { value } : cannot('float64')
    }
    case 'string':
      return { value: text }
    case 'boolean': {
      const value = parseGoBool(text)
      return value === undefined ? cannot('bool') : { value }
    }
    case 'array':
      return { problem: 'DEFAULT clause is not supported for *ast.ArrayType' }
    case 'struct':
      return { problem: 'DEFAULT clause is not supported for *ast.RecType' }
    default:
      return { problem: `DEFAULT clause is not supported for ${type.kind}` }
  }
}

/** A DEFAULT value as text, which {@link defaultValue} reads back. */
export function defaultText(value: Default): string {
  return typeof value === 'number' ? floatText(value) : String(value)
}
