/**
 * Infix operators of JSON path expressions. An operator may have a number, a bool, a text and a general form; the form is
 * chosen by the operands: exact kinds first, then whatever both can be converted to.
 */
import { RowError } from '../errors.ts'
import { parseGoFloat, truncateToInt64 } from '../go-number.ts'
import { goText } from '../go-text.ts'
import { compareText } from '../text-order.ts'
import { deepEqual, goTypeName, type Value } from '../values.ts'

export interface Infix {
  readonly precedence: number
  /** Decides on the left operand alone; undefined = the right one is needed. */
  readonly short?: (left: Value) => Value | undefined
  readonly apply: (left: Value, right: Value) => Value
}

interface Forms {
  readonly number?: (l: number, r: number) => Value
  readonly bool?: (l: boolean, r: boolean) => Value
  readonly text?: (l: string, r: string) => Value
  readonly general?: (l: Value, r: Value) => Value
}

/** Numbers, and text that reads as one; undefined otherwise. */
export function toFloat(value: Value): number | undefined {
  switch (typeof value) {
    case 'number':
      return value
    case 'bigint':
      return Number(value)
    case 'string': {
      const parsed = parseGoFloat(value)
      return typeof parsed === 'number' ? parsed : undefined
    }
    default:
      return undefined
  }
}

export function toBool(value: Value): boolean | undefined {
  if (typeof value === 'boolean') return value
  if (value === null || value === 'false' || value === 'FALSE') return false
  if (value === 'true' || value === 'TRUE') return true
  const number = toFloat(value)
  return number === undefined ? undefined : number !== 0
}

/** What `?` and `??` call false: null and the zero of each kind (an empty array or object is not). */
export function isZero(value: Value): boolean {
  return value === null || value === false || value === '' || value === 0n || Object.is(value, 0)
}

function choose(name: string, forms: Forms): (l: Value, r: Value) => Value {
  const { number, bool, text, general } = forms
  return (l, r) => {
    if (number && typeof l === 'number' && typeof r === 'number') return number(l, r)
    if (bool && typeof l === 'boolean' && typeof r === 'boolean') return bool(l, r)
    if (text && typeof l === 'string' && typeof r === 'string') return text(l, r)
    if (number) {
      const x = toFloat(l)
      const y = x === undefined ? undefined : toFloat(r)
      if (x !== undefined && y !== undefined) return number(x, y)
    }
    if (bool) {
      const x = toBool(l)
      const y = x === undefined ? undefined : toBool(r)
      if (x !== undefined && y !== undefined) return bool(x, y)
    }
    if (text && !general && l !== null && r !== null) return text(goText(l), goText(r))
    if (general) return general(l, r)
    throw new RowError(`invalid operation (${goTypeName(l)}) ${name} (${goTypeName(r)})`)
  }
}

const bits = (f: (l: bigint, r: bigint) => bigint) => ({
  number: (l: number, r: number) => Number(BigInt.asIntN(64, f(truncateToInt64(l), truncateToInt64(r)))),
})

const shift = (f: (l: bigint, by: bigint) => bigint) =>
  bits((l, r) => {
    const by = BigInt.asUintN(64, r)
    return f(l, by > 64n ? 64n : by)
  })

const compare = (holds: (order: number) => boolean, number: (l: number, r: number) => boolean): Forms => ({
  number,
  text: (l, r) => holds(compareText(l, r)),
})

const table: Record<string, [precedence: number, forms: Forms]> = {
  '+': [120, { number: (l, r) => l + r, text: (l, r) => l + r }],
  '-': [120, { number: (l, r) => l - r }],
  '*': [150, { number: (l, r) => l * r }],
  '/': [150, { number: (l, r) => l / r }],
  '%': [150, { number: (l, r) => l % r }],
  '**': [200, { number: (l, r) => (l === 1 || (l === -1 && Math.abs(r) === Infinity) ? 1 : l ** r) }],
  '>': [
    40,
    compare(
      (o) => o > 0,
      (l, r) => l > r,
    ),
  ],
  '>=': [
    40,
    compare(
      (o) => o >= 0,
      (l, r) => l >= r,
    ),
  ],
  '<': [
    40,
    compare(
      (o) => o < 0,
      (l, r) => l < r,
    ),
  ],
  '<=': [
    40,
    compare(
      (o) => o <= 0,
      (l, r) => l <= r,
    ),
  ],
  '==': [40, { number: (l, r) => l === r, bool: (l, r) => l === r, general: (l, r) => deepEqual(l, r) }],
  '!=': [40, { number: (l, r) => l !== r, bool: (l, r) => l !== r, general: (l, r) => !deepEqual(l, r) }],
  '^': [60, bits((l, r) => l ^ r)],
  '&': [60, bits((l, r) => l & r)],
  '|': [60, bits((l, r) => l | r)],
  '<<': [90, shift((l, by) => l << by)],
  '>>': [90, shift((l, by) => l >> by)],
  '&&': [21, { bool: (l, r) => l && r }],
  '||': [20, { bool: (l, r) => l || r }],
  '??': [0, { general: (l, r) => (isZero(l) ? r : l) }],
  in: [
    40,
    {
      general: (l, r) => {
        if (!Array.isArray(r)) {
          throw new RowError(`expected type []interface{} for in operator but got ${goTypeName(r)}`)
        }
        return r.some((element) => deepEqual(l, element))
      },
    },
  ],
}

const shorts: Record<string, (left: Value) => Value | undefined> = {
  '&&': (l) => (l === false ? false : undefined),
  '||': (l) => (l === true ? true : undefined),
  '??': (l) => (isZero(l) ? undefined : l),
}

export const infixOperators: ReadonlyMap<string, Infix> = new Map(
  Object.entries(table).map(([name, [precedence, forms]]) => {
    const short = shorts[name]
    return [name, { precedence, apply: choose(name, forms), ...(short && { short }) }]
  }),
)

/** `=~` and `!~` build a matcher from their operands; `?` is the ternary. */
const otherOperators = ['=~', '!~', '?']

const allOperators = [...infixOperators.keys(), ...otherOperators]
const symbols: ReadonlySet<string> = new Set(allOperators.join(''))

export function isOperatorSymbol(character: string): boolean {
  return symbols.has(character)
}

export function isOperatorPrefix(text: string): boolean {
  return allOperators.some((name) => name.startsWith(text))
}
