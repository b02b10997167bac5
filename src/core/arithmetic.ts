/**
 * Binary operators of SQL (spec/sql.md 2.4), on values already evaluated. AND and OR here see both operands; the
 * short-circuit is the evaluator's. A null operand gives false for logic and comparison, null for arithmetic.
 */
import { toInstant } from './cast.ts'
import { RowError } from './errors.ts'
import { goText } from './go-text.ts'
import { goTypeName, Instant, kindOf, type Value, wrapInt64 } from './values.ts'

export type ArithmeticOperator = '+' | '-' | '*' | '/' | '%'
export type ComparisonOperator = '=' | '!=' | '<' | '<=' | '>' | '>='
export type LogicOperator = '&' | '|' | '^' | 'AND' | 'OR'
export type BinaryOperation = (left: Value, right: Value) => Value

function invalid(operator: string, left: Value, right: Value): never {
  throw new RowError(
    `invalid operation ${goTypeName(left)}(${goText(left)}) ${operator} ${goTypeName(right)}(${goText(right)})`,
  )
}

function unsupported(operator: string, left: Value): never {
  throw new RowError(`${operator} is an invalid operation for ${goTypeName(left)}`)
}

/** For operands that are not both numbers: which of the two messages applies. */
function mismatch(operator: string, left: Value, right: Value): never {
  const kind = kindOf(left)
  return kind === 'array' || kind === 'object' || kind === 'bytes'
    ? unsupported(operator, left)
    : invalid(operator, left, right)
}

function dividedByZero(): never {
  throw new RowError('divided by zero')
}

const floats: Record<ArithmeticOperator, (l: number, r: number) => number> = {
  '+': (l, r) => l + r,
  '-': (l, r) => l - r,
  '*': (l, r) => l * r,
  '/': (l, r) => (r === 0 ? dividedByZero() : l / r),
  '%': (l, r) => (r === 0 ? dividedByZero() : l % r),
}

const ints: Record<ArithmeticOperator, (l: bigint, r: bigint) => bigint> = {
  '+': (l, r) => wrapInt64(l + r),
  '-': (l, r) => wrapInt64(l - r),
  '*': (l, r) => wrapInt64(l * r),
  '/': (l, r) => (r === 0n ? dividedByZero() : wrapInt64(l / r)),
  '%': (l, r) => (r === 0n ? dividedByZero() : l % r),
}

function arithmetic(operator: ArithmeticOperator): BinaryOperation {
  const onFloats = floats[operator]
  const onInts = ints[operator]
  return (left, right) => {
    if (typeof left === 'number') {
      if (typeof right === 'number') return onFloats(left, right)
      if (typeof right === 'bigint') return onFloats(left, Number(right))
    } else if (typeof left === 'bigint') {
      if (typeof right === 'bigint') return onInts(left, right)
      if (typeof right === 'number') return onFloats(Number(left), right)
    }
    if (left === null || right === null) return null
    return mismatch(operator, left, right)
  }
}

/** -1, 0, 1, or NaN (unordered). Callers have excluded nulls. */
const ordered: Record<ComparisonOperator, (order: number) => boolean> = {
  '=': (o) => o === 0,
  '!=': (o) => o !== 0,
  '<': (o) => o < 0,
  '<=': (o) => o <= 0,
  '>': (o) => o > 0,
  '>=': (o) => o >= 0,
}

/** Byte order of the UTF-8 forms: code-unit order, except that surrogates sort above the rest of the BMP. */
export function compareText(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i)
    const y = b.charCodeAt(i)
    if (x !== y) {
      const highX = x >= 0xd800 && x <= 0xdfff
      const highY = y >= 0xd800 && y <= 0xdfff
      return highX === highY ? (x < y ? -1 : 1) : highX ? 1 : -1
    }
  }
  return a.length === b.length ? 0 : a.length < b.length ? -1 : 1
}

function compareNumbers(a: number, b: number): number {
  return a === b ? 0 : a < b ? -1 : a > b ? 1 : NaN
}

function compareInstants(a: Instant, b: Instant): number {
  return compareNumbers(a.epochMs, b.epochMs) || compareNumbers(a.nanos, b.nanos)
}

function comparison(operator: ComparisonOperator): BinaryOperation {
  const test = ordered[operator]
  const boolean = operator === '=' || operator === '!='
  return (left, right) => {
    if (left === null || right === null) return false
    switch (typeof left) {
      case 'number':
        if (typeof right === 'number') return test(compareNumbers(left, right))
        if (typeof right === 'bigint') return test(compareNumbers(left, Number(right)))
        return invalid(operator, left, right)
      case 'bigint':
        if (typeof right === 'bigint') return test(left === right ? 0 : left < right ? -1 : 1)
        if (typeof right === 'number') return test(compareNumbers(Number(left), right))
        return invalid(operator, left, right)
      case 'string':
        return typeof right === 'string' ? test(compareText(left, right)) : invalid(operator, left, right)
      case 'boolean':
        if (typeof right !== 'boolean' || !boolean) return invalid(operator, left, right)
        return (left === right) === (operator === '=')
    }
    if (left instanceof Instant) {
      let instant: Instant
      try {
        instant = right instanceof Instant ? right : toInstant(right)
      } catch {
        return invalid(operator, left, right)
      }
      return test(compareInstants(left, instant))
    }
    return mismatch(operator, left, right)
  }
}

function logic(operator: LogicOperator): BinaryOperation {
  const bits: ((l: bigint, r: bigint) => bigint) | null =
    operator === '&' ? (l, r) => l & r : operator === '|' ? (l, r) => l | r : operator === '^' ? (l, r) => l ^ r : null
  return (left, right) => {
    if (left === null || right === null) return false
    if (typeof left === 'boolean' && typeof right === 'boolean') {
      if (operator === '&' || operator === 'AND') return left && right
      if (operator === '|' || operator === 'OR') return left || right
      return left !== right
    }
    if (bits && typeof left === 'bigint' && typeof right === 'bigint') return bits(left, right)
    if (typeof left === 'number' && typeof right === 'bigint') return invalid(operator, left, Number(right))
    if (typeof left === 'bigint' && typeof right === 'number') return invalid(operator, Number(left), right)
    return mismatch(operator, left, right)
  }
}

/** Every binary operator of SQL by its spelling. */
export const operations: Record<ArithmeticOperator | ComparisonOperator | LogicOperator, BinaryOperation> = {
  '+': arithmetic('+'),
  '-': arithmetic('-'),
  '*': arithmetic('*'),
  '/': arithmetic('/'),
  '%': arithmetic('%'),
  '=': comparison('='),
  '!=': comparison('!='),
  '<': comparison('<'),
  '<=': comparison('<='),
  '>': comparison('>'),
  '>=': comparison('>='),
  '&': logic('&'),
  '|': logic('|'),
  '^': logic('^'),
  AND: logic('AND'),
  OR: logic('OR'),
}
