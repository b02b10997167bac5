/** What a template function is: a signature, and code over already checked arguments. */
import { RowError } from '../../core/errors.ts'
import type { V } from './values.ts'

/** Types of parameters. `value` keeps a missing value apart from nil; `any` makes a missing value nil. */
export type ParameterType = 'any' | 'value' | 'string' | 'int' | 'bool' | 'float64' | 'time' | 'dict'

/** One rendering: its limits, and where time and chance come from. */
export interface Run {
  /** Epoch milliseconds. */
  now(): number
  /** In [0, 1). */
  random(): number
  /** IANA name or UTC: the zone of functions that format in local time. */
  readonly zone: string
  /** Longest text, in UTF-16 units, that may be made. */
  readonly maxLength: number
  /** Counts work; throws LIMIT when a rendering does too much. */
  charge(steps: number): void
  /** What `prop` looks up. */
  property(name: string): string | undefined
  /** Compiled patterns and the like, kept from one rendering to the next. */
  readonly cache: Map<string, unknown>
}

/**
 * Arguments arrive by type: `int` and `float64` as number, `dict` as Dict or undefined (a nil map), the rest as they are.
 * A thrown FunctionError or RowError becomes `error calling NAME: MESSAGE`.
 */
// biome-ignore lint/suspicious/noExplicitAny: the signature has checked each argument
export type Implementation = (args: any[], run: Run) => V

export interface TemplateFunction {
  readonly parameters: readonly ParameterType[]
  /** Type of further arguments, null when there are none. */
  readonly rest: ParameterType | null
  readonly call: Implementation
  /** True when it changes one of its arguments, so that rows must be copied first. */
  readonly mutates: boolean
}

/** `define('string int ...any', code)`. */
export function define(signature: string, call: Implementation, mutates = false): TemplateFunction {
  const words = signature === '' ? [] : signature.split(' ')
  const last = words.at(-1)
  const rest = last?.startsWith('...') ? (last.slice(3) as ParameterType) : null
  if (rest !== null) words.pop()
  return { parameters: words as ParameterType[], rest, call, mutates }
}

export type FunctionTable = Readonly<Record<string, TemplateFunction>>

/** A function that cannot do what it was asked. */
export function refuse(message: string): never {
  throw new RowError(message)
}
