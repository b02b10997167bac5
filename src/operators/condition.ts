import { RowError } from '../core/errors.ts'
import { goText } from '../core/go-text.ts'
import type { Row } from '../core/row.ts'
import { goTypeName, type Value } from '../core/values.ts'
import type { Evaluate, EvaluationScope } from './contract.ts'

export type Predicate = (row: Row, scope: EvaluationScope) => boolean

/** Null is false; any other non-boolean is an error (spec/sql.md 2.10). `clause` names it in messages: `Where`. */
export function nullIsFalse(clause: string, condition: Evaluate): Predicate {
  return (row, scope) => {
    const value = evaluateIn(clause, condition, row, scope)
    return value !== null && requireBoolean(clause, 'invalid condition that returns non-bool value', value)
  }
}

/** Null is an error too: HAVING and ON (D30). */
export function nullIsError(clause: string, text: string, condition: Evaluate): Predicate {
  return (row, scope) => requireBoolean(clause, text, evaluateIn(clause, condition, row, scope))
}

/** Null, error and anything but true are false: window triggers and state conditions. */
export function trueOrNot(condition: Evaluate): Predicate {
  return (row, scope) => {
    try {
      return condition(row, scope) === true
    } catch (error) {
      if (error instanceof RowError) return false
      throw error
    }
  }
}

function evaluateIn(clause: string, condition: Evaluate, row: Row, scope: EvaluationScope): Value {
  try {
    return condition(row, scope)
  } catch (error) {
    throw inClause(clause, error)
  }
}

function requireBoolean(clause: string, text: string, value: Value): boolean {
  if (typeof value === 'boolean') return value
  throw new RowError(`run ${clause} error: ${text} ${goTypeName(value)}(${goText(value)})`)
}

/** Prefixes a row error with the clause it happened in; other errors pass unchanged. */
export function inClause(clause: string, error: unknown): unknown {
  return error instanceof RowError ? new RowError(`run ${clause} error: ${error.message}`, error.code) : error
}

/** The row error, or a rethrow of what is a defect rather than data. */
export function asRowError(error: unknown): RowError {
  if (error instanceof RowError) return error
  throw error
}
