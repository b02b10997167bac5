import { describe, expect, test } from 'vitest'
import { builtinFunctions } from '../functions/index.ts'
import { printExpression } from '../sql/printer.ts'
import { canAggregateIncrementally, toIncremental } from './index.ts'
import { nodeOf, plan, readable } from './plan.fixture.ts'

const verdict = (sql: string, options = {}) => canAggregateIncrementally(plan(sql, options), builtinFunctions)

describe('a window may aggregate incrementally', () => {
  test.each([
    'SELECT count(*) FROM d GROUP BY tumblingwindow(ss, 10)',
    'SELECT a, avg(b) FROM d GROUP BY a, hoppingwindow(ss, 10, 5) HAVING max(b) > 1 ORDER BY a',
    'SELECT c, sum(b) FROM d WHERE b > 1 GROUP BY countwindow(5)',
    'SELECT sum(b) AS m, m + 1 AS n FROM d GROUP BY slidingwindow(ss, 5)',
    'SELECT lag(a) AS l, sum(l) FROM d GROUP BY c, sessionwindow(ss, 10, 2)',
  ])('%s', (sql) => {
    expect(verdict(sql)).toEqual({ possible: true })
  })
  test.each([
    ['SELECT a FROM d GROUP BY tumblingwindow(ss, 10)', 'the statement does not aggregate'],
    ['SELECT count(*) FROM d', 'there is no window'],
    ['SELECT a FROM d GROUP BY a, tumblingwindow(ss, 10)', 'the statement has no aggregate function'],
    ['SELECT count(*) FROM d GROUP BY statewindow(a > 1)', 'a state window keeps its rows'],
    ['SELECT count(*) FROM d GROUP BY countwindow(5, 2)', 'a count window with an interval keeps its rows'],
    [
      'SELECT count(*), a FROM d GROUP BY countwindow(5) ORDER BY a',
      'ORDER BY chooses the first row of the whole window',
    ],
    [
      'SELECT count(*) FROM d WHERE count(*) > 1 GROUP BY countwindow(5)',
      "the aggFunc operator needs the window's rows",
    ],
    [
      'SELECT count(*), row_number() FROM d GROUP BY countwindow(5)',
      "the windowFunction operator needs the window's rows",
    ],
    [
      'SELECT count(*) FROM d INNER JOIN e ON d.a = e.id GROUP BY countwindow(5)',
      "the join operator needs the window's rows",
    ],
  ])('but not %s: %s', (sql, reason) => {
    expect(verdict(sql)).toEqual({ possible: false, reason })
  })
})

describe('converted', () => {
  test('aggregates of the projection, then of HAVING and ORDER BY, become columns; grouping moves into the window', () => {
    const before = plan(
      'SELECT c, sum(b) AS m FROM d GROUP BY c, tumblingwindow(ss, 10) HAVING max(b) > 1 ORDER BY min(b), m',
    )
    const after = toIncremental(before, builtinFunctions)
    if (!after) throw new Error('not converted')
    const { incremental } = nodeOf(after, 'window')
    expect(incremental?.calls.map((c) => `${c.name} ${printExpression(c.call)}`)).toEqual([
      'inc_agg_col_1 sum(d.b)',
      'inc_agg_col_2 max(d.b)',
      'inc_agg_col_3 min(d.b)',
    ])
    expect(incremental?.dimensions).toHaveLength(1)
    expect(incremental?.where).toBeNull()
    expect(nodeOf(after, 'project').aggregate).toBe(false)
    expect(nodeOf(after, 'having').condition).toMatchObject({ left: { kind: 'computed', name: 'inc_agg_col_2' } })
    expect(nodeOf(after, 'order').keys[1]?.expression).toMatchObject({
      kind: 'alias',
      expression: { kind: 'computed', name: 'inc_agg_col_1' },
    })
    expect(nodeOf(before, 'window').incremental).toBeNull()
  })
  test('WHERE above the window decides which rows are aggregated, not which the window sees', () => {
    const after = toIncremental(plan('SELECT sum(b) FROM d WHERE a > 1 GROUP BY countwindow(5)'), builtinFunctions)
    expect(after && nodeOf(after, 'window').incremental?.where).toMatchObject({ kind: 'binary', operator: '>' })
    expect(after?.root).toMatchObject({ kind: 'project', input: { kind: 'window' } })
  })
  test('twice is once', () => {
    const after = toIncremental(plan('SELECT sum(b) FROM d GROUP BY countwindow(5)'), builtinFunctions)
    expect(after && toIncremental(after, builtinFunctions)).toBe(after)
  })
})

describe('the option enableIncrementalWindow', () => {
  const options = { planOptimizeStrategy: { enableIncrementalWindow: true } }
  test('converts what the reference converts', () => {
    expect(readable('SELECT count(a), b FROM d GROUP BY countwindow(2), b', options)).toContain(
      'keeps count(d.a) per d.b',
    )
  })
  test('leaves other windows and aggregates alone', () => {
    expect(readable('SELECT count(a) FROM d GROUP BY sessionwindow(ss, 10, 2)', options)).not.toContain('keeps')
    expect(readable('SELECT count(a), stddev(b) FROM d GROUP BY countwindow(2)', options)).not.toContain('keeps')
  })
  test('makes count windows possible under event time', () => {
    const event = { ...options, isEventTime: true }
    expect(readable('SELECT count(a) FROM d GROUP BY countwindow(2)', event)).toContain('keeps count(d.a)')
  })
})
