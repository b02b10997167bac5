/**
 * Count, sum, avg, max and min over a range of positions that moves forward: what enters and leaves is added and taken away where
 * that gives exactly what adding the range in order gives (integers, counts, extremes). Sums of fractions are added anew,
 * in order, for every range.
 */
import type { Value } from '../../core/values.ts'
import { wrapInt64 } from '../../core/values.ts'

type Column = readonly Value[]

/** The aggregate over [from, to) of a column; undefined = the accumulator has to say (mixed kinds, errors). */
export interface MovingAggregate {
  over(column: Column, from: number, to: number): Value | undefined
  /** Positions are to be numbered anew. */
  forget(): void
}

/** Null = the function has no such form. */
export function movingAggregate(functionName: string): MovingAggregate | null {
  switch (functionName) {
    case 'count':
      return new Count()
    case 'sum':
    case 'avg':
      return new Total(functionName === 'avg')
    case 'max':
    case 'min':
      return new Extreme(functionName === 'max')
    default:
      return null
  }
}

abstract class Moving implements MovingAggregate {
  #from = 0
  #to = 0

  protected abstract clear(): void
  protected abstract enter(value: Value, at: number): void
  protected abstract leave(value: Value, at: number): void
  protected abstract result(column: Column, from: number, to: number): Value | undefined

  forget(): void {
    this.clear()
    this.#from = 0
    this.#to = 0
  }

  over(column: Column, from: number, to: number): Value | undefined {
    if (from < this.#from || to < this.#to || from >= this.#to) {
      this.clear()
      this.#from = from
      this.#to = from
    }
    for (let i = this.#from; i < from; i++) this.leave(column[i] as Value, i)
    for (let i = this.#to; i < to; i++) this.enter(column[i] as Value, i)
    this.#from = from
    this.#to = to
    return to > from ? this.result(column, from, to) : undefined
  }
}

class Count extends Moving {
  #count = 0

  clear(): void {
    this.#count = 0
  }

  enter(value: Value): void {
    if (value !== null) this.#count++
  }

  leave(value: Value): void {
    if (value !== null) this.#count--
  }

  result(): Value {
    return BigInt(this.#count)
  }
}

/** Sums of whole numbers are exact in any order while the sum of their magnitudes is. */
class Total extends Moving {
  readonly #mean: boolean
  #numbers = 0
  #fractions = 0
  #whole = 0
  #magnitude = 0
  #integers = 0
  #integer = 0n
  #others = 0
  /** The magnitudes have been beyond what is exact. */
  #inexact = false

  constructor(mean: boolean) {
    super()
    this.#mean = mean
  }

  clear(): void {
    this.#numbers = 0
    this.#fractions = 0
    this.#whole = 0
    this.#magnitude = 0
    this.#integers = 0
    this.#integer = 0n
    this.#others = 0
    this.#inexact = false
  }

  enter(value: Value): void {
    if (typeof value === 'number') {
      this.#numbers++
      if (!Number.isSafeInteger(value)) this.#fractions++
      else {
        this.#whole += value
        this.#magnitude += Math.abs(value)
        if (this.#magnitude > Number.MAX_SAFE_INTEGER) this.#inexact = true
      }
    } else if (typeof value === 'bigint') {
      this.#integers++
      this.#integer = wrapInt64(this.#integer + value)
    } else if (value !== null) this.#others++
  }

  leave(value: Value): void {
    if (typeof value === 'number') {
      this.#numbers--
      if (!Number.isSafeInteger(value)) this.#fractions--
      else {
        this.#whole -= value
        this.#magnitude -= Math.abs(value)
      }
    } else if (typeof value === 'bigint') {
      this.#integers--
      this.#integer = wrapInt64(this.#integer - value)
    } else if (value !== null) this.#others--
  }

  result(column: Column, from: number, to: number): Value | undefined {
    if (this.#others > 0 || (this.#numbers > 0 && this.#integers > 0)) return undefined
    if (this.#integers > 0) {
      return this.#mean ? wrapInt64(this.#integer / BigInt(this.#integers)) : this.#integer
    }
    if (this.#numbers === 0) return null
    let total = this.#whole
    if (this.#fractions > 0 || this.#inexact) {
      total = this.#numbers === to - from ? sumOf(column as readonly number[], from, to) : sumOfKnown(column, from, to)
      // A sum of magnitudes that was inexact once stays so: begin again with the next range.
      if (this.#inexact) this.forget()
    }
    return this.#mean ? total / this.#numbers : total
  }
}

function sumOf(column: readonly number[], from: number, to: number): number {
  let sum = 0
  for (let i = from; i < to; i++) sum += column[i] as number
  return sum
}

function sumOfKnown(column: Column, from: number, to: number): number {
  let sum = 0
  for (let i = from; i < to; i++) {
    const value = column[i]
    if (typeof value === 'number') sum += value
  }
  return sum
}

/** Positions whose value no later one reaches, the extreme first. */
class Extreme extends Moving {
  readonly #largest: boolean
  #positions: number[] = []
  #values: (number | bigint)[] = []
  #head = 0
  #numbers = 0
  #integers = 0
  #others = 0

  constructor(largest: boolean) {
    super()
    this.#largest = largest
  }

  clear(): void {
    this.#positions = []
    this.#values = []
    this.#head = 0
    this.#numbers = 0
    this.#integers = 0
    this.#others = 0
  }

  enter(value: Value, at: number): void {
    if (typeof value === 'number' && !Number.isNaN(value)) this.#numbers++
    else if (typeof value === 'bigint') this.#integers++
    else {
      if (value !== null) this.#others++
      return
    }
    const values = this.#values
    // Of equal values the first stays in front.
    if (this.#largest) {
      while (values.length > this.#head && (values[values.length - 1] as number | bigint) < value) this.#pop()
    } else while (values.length > this.#head && (values[values.length - 1] as number | bigint) > value) this.#pop()
    values.push(value)
    this.#positions.push(at)
  }

  #pop(): void {
    this.#values.pop()
    this.#positions.pop()
  }

  leave(value: Value, at: number): void {
    if (typeof value === 'number' && !Number.isNaN(value)) this.#numbers--
    else if (typeof value === 'bigint') this.#integers--
    else if (value !== null) this.#others--
    if (this.#positions[this.#head] !== at) return
    this.#head++
    if (this.#head < 1024 || this.#head * 2 < this.#positions.length) return
    this.#positions = this.#positions.slice(this.#head)
    this.#values = this.#values.slice(this.#head)
    this.#head = 0
  }

  result(): Value | undefined {
    if (this.#others > 0 || (this.#numbers > 0 && this.#integers > 0)) return undefined
    return this.#values[this.#head] ?? null
  }
}
