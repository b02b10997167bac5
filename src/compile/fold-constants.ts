/**
 * Constant folding: operators over literals become literals, when an expression is compiled; plans keep the written form, which
 * EXPLAIN and error messages show. What would fail stays as written, so it fails at the same moment with the same message.
 */
import { operations } from '../core/arithmetic.ts'
import { RowError } from '../core/errors.ts'
import type { Value } from '../core/values.ts'
import type { Expression } from '../sql/ast.ts'
import { mapChildren } from '../sql/walk.ts'

/** By tree, so that folding again what is inside a folded tree costs nothing. */
const known = new WeakMap<Expression, Expression>()

/** `e` itself where nothing in it can be folded. Aliases and computed values are not entered. */
export function foldConstants(e: Expression): Expression {
  const before = known.get(e)
  if (before) return before
  let changed = false
  const mapped = mapChildren(e, (child) => {
    const folded = foldConstants(child)
    changed ||= folded !== child
    return folded
  })
  const folded = foldNode(changed ? mapped : e)
  known.set(e, folded)
  known.set(folded, folded)
  return folded
}

function foldNode(e: Expression): Expression {
  switch (e.kind) {
    case 'parenthesis':
      return literalValue(e.expression) === undefined ? e : e.expression
    case 'binary': {
      const left = literalValue(e.left)
      if (left === undefined) return e
      // AND, OR decide without their right side.
      if (e.operator === 'AND' && left === false) return { kind: 'boolean', value: false, at: e.at }
      if (e.operator === 'OR' && left === true) return { kind: 'boolean', value: true, at: e.at }
      const right = literalValue(e.right)
      if (right === undefined) return e
      try {
        return literal(operations[e.operator](left, right), e) ?? e
      } catch (error) {
        if (error instanceof RowError) return e
        throw error
      }
    }
    case 'isNull': {
      const value = literalValue(e.operand)
      return value === undefined ? e : { kind: 'boolean', value: (value === null) !== e.negated, at: e.at }
    }
    default:
      return e
  }
}

/** The value of a literal; undefined when `e` is none. */
function literalValue(e: Expression): Value | undefined {
  switch (e.kind) {
    case 'integer':
    case 'float':
    case 'string':
    case 'boolean':
      return e.value
    case 'null':
      return null
    default:
      return undefined
  }
}

function literal(value: Value, { at }: Expression): Expression | null {
  switch (typeof value) {
    case 'bigint':
      return { kind: 'integer', value, at }
    case 'number':
      return { kind: 'float', value, at }
    case 'string':
      return { kind: 'string', value, at }
    case 'boolean':
      return { kind: 'boolean', value, at }
    default:
      return value === null ? { kind: 'null', at } : null
  }
}
