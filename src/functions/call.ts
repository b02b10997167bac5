/** Calling a scalar function: its null rule, then its code, with the error prefix of the reference. */
import { messageOf, RowError } from '../core/errors.ts'
import type { Value } from '../core/values.ts'
import type { CallContext, NullRule, ScalarFunction } from './contract.ts'
import { isNullOrEmpty } from './helpers.ts'

/**
 * A domain error (ln, log, sqrt): reported without `call func NAME error: ` and, unlike other failures of scalar
 * functions, not turned into null inside aggregate statements (spec/functions.json ln).
 */
export class DomainError extends RowError {}

const nullResults: Readonly<Record<Exclude<NullRule, 'custom'>, Value>> = {
  nullIfAny: null,
  falseIfAny: false,
  zeroIfAny: 0n,
}

/** The result of a call. Throws RowError and nothing else. */
export function applyScalar(def: ScalarFunction, args: readonly Value[], call: CallContext): Value {
  if (def.nulls !== 'custom') {
    for (let i = 0; i < args.length; i++) {
      if (isNullOrEmpty(args[i] as Value)) return nullResults[def.nulls]
    }
  }
  try {
    return def.run(args, call)
  } catch (error) {
    if (error instanceof DomainError) throw error
    throw new RowError(`call func ${def.name} error: ${messageOf(error)}`)
  }
}
