/**
 * What the SQL layer asks of functions: kind and parse-time check. It declares the interface itself because sql imports
 * only core; the FunctionLookup of the functions layer satisfies it structurally.
 */
import type { Value } from '../core/values.ts'

/** What a parse-time check may know of an argument: its literal value, or that it is some expression. */
export interface ArgumentFacts {
  /** Comparisons and logic count as boolean, value null. */
  readonly literal: 'int' | 'float' | 'string' | 'boolean' | 'timeunit' | null
  readonly value: Value
  /** Set when the argument is a plain column or metadata reference. */
  readonly column: string | null
  readonly wildcard: boolean
  /** True when the argument contains an aggregate call. */
  readonly aggregate: boolean
}

export interface FunctionSignature {
  /** Lower case for a built-in, the registered spelling for a user function. */
  readonly name: string
  readonly aliases?: readonly string[]
  readonly kind:
    | 'scalar'
    | 'aggregate'
    | 'analytic'
    | 'multiColumn'
    | 'setReturning'
    | 'context'
    | 'window'
    | 'state'
    | 'trigger'
  /** Returns the message after `validate function NAME error: `, or null when fine. */
  readonly validate: (args: readonly ArgumentFacts[]) => string | null
}

/** Resolves a name as written; built-ins are case-insensitive. Undefined when unknown. */
export type FunctionResolver = (name: string) => FunctionSignature | undefined
