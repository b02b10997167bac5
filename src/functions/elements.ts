/** What array functions and aggregates share: equality of elements, and the largest and smallest of a list. */
import { toInt64 } from '../core/cast.ts'
import { RowError } from '../core/errors.ts'
import { goText } from '../core/go-text.ts'
import { compareText } from '../core/text-order.ts'
import { goTypeName, Instant, type Value } from '../core/values.ts'

/** `int64(3)`, `string(a)`: a value in messages. */
export const typed = (value: Value): string => `${goTypeName(value)}(${goText(value)})`

const isComposite = (value: Value): boolean =>
  typeof value === 'object' && value !== null && !(value instanceof Instant)

const sameTime = (a: Instant, b: Instant): boolean => a.epochMs === b.epochMs && a.nanos === b.nanos

/** Equality of elements: kinds must match (1 is not 1.0). Arrays, objects and bytes cannot be compared with their like. */
export function sameElement(a: Value, b: Value): boolean {
  if (isComposite(a) && goTypeName(a) === goTypeName(b)) {
    throw new RowError(`runtime error: comparing uncomparable type ${goTypeName(a)}`)
  }
  if (a instanceof Instant && b instanceof Instant) return sameTime(a, b)
  return a === b
}

/** A set of elements by {@link sameElement}. */
export class ElementSet {
  readonly #plain = new Set<Value>()
  readonly #times: Instant[] = []

  constructor(elements: readonly Value[] = []) {
    for (const element of elements) this.add(element)
  }

  has(element: Value): boolean {
    if (isComposite(element)) throw new RowError(`runtime error: hash of unhashable type ${goTypeName(element)}`)
    return element instanceof Instant ? this.#times.some((time) => sameTime(time, element)) : this.#plain.has(element)
  }

  /** True when the element is new. */
  add(element: Value): boolean {
    if (this.has(element)) return false
    if (element instanceof Instant) this.#times.push(element)
    else this.#plain.add(element)
    return true
  }
}

/**
 * Keeps the largest or smallest element: the first fixes the kind, an int64 takes floats truncated, and what does not fit
 * is an error.
 */
export function extreme(best: Value, element: Value, largest: boolean): Value {
  if (element === null) return best
  switch (typeof (best ?? element)) {
    case 'bigint': {
      if (typeof element !== 'bigint' && typeof element !== 'number') break
      const value = toInt64(element, 'sameKind')
      return best === null || (largest ? value > (best as bigint) : value < (best as bigint)) ? value : best
    }
    case 'number':
      if (typeof element !== 'number') break
      return best === null || (largest ? element > (best as number) : element < (best as number)) ? element : best
    case 'string': {
      if (typeof element !== 'string') break
      if (best === null) return element
      const order = compareText(element, best as string)
      return (largest ? order > 0 : order < 0) ? element : best
    }
    default:
      throw new RowError(`found invalid arg ${typed(element)}`)
  }
  throw new RowError(`requires ${goTypeName(best)} but found ${typed(element)}`)
}
