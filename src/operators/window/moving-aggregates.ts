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
  readonly #ordered = new OrderedSums()

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
    this.#ordered.clear()
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
    const exact = this.#fractions === 0 && !this.#inexact
    const total = exact ? this.#whole : this.#ordered.over(column, from, to)
    const result = this.#mean ? total / this.#numbers : total
    // What was inexact once stays so: the next range is begun anew.
    if (this.#inexact) this.forget()
    return result
  }
}

/**
 * The numbers of a range added in order. One pass adds up the ranges that begin at the next positions as well, whose additions do
 * not wait for each other: a range that then begins there has only its new values to add.
 */
class OrderedSums {
  #first = 0
  /** From #first + k up to #added[k]. */
  readonly #sums = new Float64Array(8)
  readonly #added = new Float64Array(8)

  constructor() {
    this.clear()
  }

  clear(): void {
    this.#added.fill(Number.POSITIVE_INFINITY)
  }

  over(column: Column, from: number, to: number): number {
    let k = from - this.#first
    if (!(k >= 0 && k < 8 && (this.#added[k] as number) <= to)) {
      this.#begin(column, from, to)
      k = 0
    }
    let sum = this.#sums[k] as number
    for (let i = this.#added[k] as number; i < to; i++) {
      const value = column[i]
      if (typeof value === 'number') sum += value
    }
    this.#sums[k] = sum
    this.#added[k] = to
    return sum
  }

  #begin(column: Column, from: number, to: number): void {
    this.#first = from
    const sums = this.#sums.fill(0)
    // Up to where all eight have begun, each by itself.
    const all = Math.min(from + 7, to)
    for (let k = 0; k < 8; k++) {
      this.#added[k] = Math.max(from + k, to)
      for (let i = from + k; i < all; i++) {
        const value = column[i]
        if (typeof value === 'number') (sums[k] as number) += value
      }
    }
    addEight(sums, column, all, to)
  }
}

/** Adds every value to each of the eight sums. */
function addEight(sums: Float64Array, column: Column, from: number, to: number): void {
  let a = sums[0] as number
  let b = sums[1] as number
  let c = sums[2] as number
  let d = sums[3] as number
  let e = sums[4] as number
  let f = sums[5] as number
  let g = sums[6] as number
  let h = sums[7] as number
  for (let i = from; i < to; i++) {
    const value = column[i]
    if (typeof value !== 'number') continue
    a += value
    b += value
    c += value
    d += value
    e += value
    f += value
    g += value
    h += value
  }
  sums[0] = a
  sums[1] = b
  sums[2] = c
  sums[3] = d
  sums[4] = e
  sums[5] = f
  sums[6] = g
  sums[7] = h
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
