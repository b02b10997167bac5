/** Conditions on values they were not made for: the texts are those of eKuiper. */
import { describe, expect, it } from 'vitest'
import type { Value, ValueObject } from '../../src/core/values.ts'
import { runStatement } from '../support/run-statement.ts'

/** The value of `expression` for one row, or the text of its error. */
function resultOf(expression: string, row: ValueObject): Value | undefined {
  const run = runStatement({ definitions: ['CREATE STREAM S () WITH ()'], sql: `SELECT ${expression} AS v FROM S` })
  run.push('S', [row])
  run.stop()
  const [first] = run.emissions.flat() as ValueObject[]
  const error = first?.['error']
  return typeof error === 'string' ? error.replace(/^.*, err:/, '') : first?.['v']
}

describe('BETWEEN', () => {
  it('takes parts of columns as bounds', () => {
    const row = { a: 2, list: [1, 5], limits: { low: 1, high: 3 } }
    expect(resultOf('a BETWEEN 1 AND list[1]', row)).toBe(true)
    expect(resultOf('a BETWEEN list[0] AND limits->high', row)).toBe(true)
    expect(resultOf('a NOT BETWEEN limits->low AND list[0] AND true', row)).toBe(true)
  })

  it('names the values it cannot compare', () => {
    expect(resultOf('d BETWEEN 1 AND 2', { d: true })).toBe('between operator cannot compare bool(true) and int64(1)')
    expect(resultOf('d NOT BETWEEN 1 AND 2', { d: [] })).toBe('NOT BETWEEN is an invalid operation for []interface {}')
  })
})

describe('IN', () => {
  it('is not for lists and objects', () => {
    expect(resultOf('a IN (1, 2)', { a: { b: 1 } })).toBe('IN is an invalid operation for map[string]interface {}')
    expect(resultOf('a NOT IN (1, 2)', { a: [1] })).toBe('NOT IN is an invalid operation for []interface {}')
  })
})

describe('bit operators', () => {
  it('show both operands as floats when one is', () => {
    expect(resultOf('a & 4', { a: 9 })).toBe('invalid operation float64(9) & float64(4)')
    expect(resultOf('4 | a', { a: 9.5 })).toBe('invalid operation float64(4) | float64(9.5)')
  })
})
