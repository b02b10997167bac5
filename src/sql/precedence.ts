/** How tightly operators bind (spec/sql.md 1.8), and which forms are conditions. */
import type { BinaryOperator, Expression } from './ast.ts'

/** 1 is loosest; all are left-associative. */
export const binaryLevels: Record<BinaryOperator, number> = {
  OR: 1,
  AND: 2,
  '=': 3,
  '!=': 3,
  '<': 3,
  '<=': 3,
  '>': 3,
  '>=': 3,
  '+': 4,
  '-': 4,
  '|': 4,
  '^': 4,
  '*': 5,
  '/': 5,
  '%': 5,
  '&': 5,
}

export function binaryLevel(operator: BinaryOperator): number {
  return binaryLevels[operator]
}

/** True for what yields a boolean by its form: comparisons, logic, IN, BETWEEN, LIKE, IS NULL, TRUE, FALSE. */
export function isBoolean(e: Expression): boolean {
  switch (e.kind) {
    case 'boolean':
    case 'in':
    case 'between':
    case 'like':
    case 'isNull':
      return true
    case 'binary':
      return binaryLevels[e.operator] <= 3
    default:
      return false
  }
}
