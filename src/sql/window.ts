/** Windows in GROUP BY (spec/sql.md 1.14). */
import { goQuote } from '../core/go-text.ts'
import type { Expression, TimeUnit, Window, WindowKind } from './ast.ts'
import { parseArguments, parsePartition, parseWhen } from './calls.ts'
import { explainExpression } from './explain.ts'
import { accept, is, type Reader, syntaxError } from './reader.ts'
import { windowKinds } from './window-names.ts'

/** At the name of a window followed by `(`. */
export function parseWindow(r: Reader): Window {
  const token = r.peek()
  const name = token.text.toLowerCase()
  r.next()
  const args = parseArguments(r, name)
  const shape = windowShape(name, args)
  if (typeof shape === 'string') throw syntaxError(shape, token)
  const filter = parseFilter(r)
  return { ...shape, filter, ...parseOver(r), at: token.at }
}

type Shape = Pick<Window, 'kind' | 'unit' | 'length' | 'interval' | 'delay' | 'begin' | 'emit'>

/** What the arguments say, or the message of what is wrong with them. */
function windowShape(name: string, args: readonly Expression[]): Shape | string {
  const kind = windowKinds.get(name) as WindowKind
  const none = { unit: null, length: 0, interval: 0, delay: 0, begin: null, emit: null }
  switch (kind) {
    case 'state': {
      const [begin, emit] = args
      if (!begin || args.length > 2) return `The arguments for ${name} should be 1 or 2.\n`
      return { ...none, kind, begin, emit: emit ?? null }
    }
    case 'count':
      return countShape(args, { ...none, kind })
    case 'sliding': {
      if (args.length !== 2 && args.length !== 3) return `The arguments for ${name} should be 2 or 3.\n`
      const time = timeArguments(name, args)
      return typeof time === 'string'
        ? time
        : { ...none, kind, unit: time.unit, length: time.first, delay: time.second }
    }
    default: {
      const count = kind === 'tumbling' ? 2 : 3
      if (args.length !== count) return `The arguments for ${name} should be ${count}.\n`
      const time = timeArguments(name, args)
      if (typeof time === 'string') return time
      if (kind !== 'tumbling' && time.second <= 0) return notPositive(name, 2)
      return { ...none, kind, unit: time.unit, length: time.first, interval: time.second }
    }
  }
}

function timeArguments(
  name: string,
  [unit, ...rest]: readonly Expression[],
): string | { unit: TimeUnit; first: number; second: number } {
  if (unit?.kind !== 'timeUnit') {
    return `The 1st argument for ${name} is expecting timer literal expression. One value of [dd|hh|mi|ss|ms].\n`
  }
  const numbers: number[] = []
  for (const [i, e] of rest.entries()) {
    if (e.kind !== 'integer') return `The ${i + 1} argument for ${name} is expecting interger literal expression. \n`
    numbers.push(Number(e.value))
  }
  const [first = 0, second = 0] = numbers
  if (first <= 0) return notPositive(name, 1)
  if (second < 0) return notPositive(name, 2)
  return { unit: unit.unit, first, second }
}

function notPositive(name: string, index: number): string {
  return `The ${index} argument for ${name} should be greater than 0.\n`
}

function countShape(args: readonly Expression[], shape: Shape): Shape | string {
  const [length, interval] = args
  if (!length || args.length > 2) return 'Invalid parameter count.'
  if (!interval) {
    if (length.kind === 'integer' && length.value > 0n) return { ...shape, length: Number(length.value) }
    return `Invalid parameter value ${explainExpression(length)}.`
  }
  if (length.kind === 'integer' && interval.kind === 'integer' && length.value < interval.value) {
    return `The second parameter value ${interval.value} should be less than the first parameter ${length.value}.`
  }
  if (length.kind === 'integer' && interval.kind === 'integer' && interval.value > 0n) {
    return { ...shape, length: Number(length.value), interval: Number(interval.value) }
  }
  return `Invalid parameter value ${explainExpression(length)}, ${explainExpression(interval)}.`
}

function parseFilter(r: Reader): Expression | null {
  if (!accept(r, 'FILTER')) return null
  const open = r.next()
  if (!is(open, '(')) throw syntaxError(`Found ${goQuote(open.text)} after FILTER, expect parentheses.`, open)
  const where = r.next()
  if (!is(where, 'WHERE')) throw syntaxError(`Found ${goQuote(where.text)} after FILTER(, expect WHERE.`, where)
  const condition = r.expression()
  const close = r.next()
  if (!is(close, ')')) throw syntaxError(`Found ${goQuote(close.text)} after FILTER, expect right parentheses.`, close)
  return condition
}

function parseOver(r: Reader): Pick<Window, 'when' | 'partition'> {
  if (!accept(r, 'OVER')) return { when: null, partition: [] }
  const open = r.next()
  if (!is(open, '(')) throw syntaxError(`Found ${goQuote(open.text)} after OVER, expect parentheses.`, open)
  const when = parseWhen(r)
  const partition = parsePartition(r)
  const close = r.next()
  if (!is(close, ')')) throw syntaxError(`Found ${goQuote(close.text)} after OVER, expect right parentheses.`, close)
  return { when, partition }
}
