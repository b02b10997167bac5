import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Expression } from '../sql/ast.ts'
import { printExpression } from '../sql/printer.ts'
import type { PlanNode } from './logical.ts'
import { inputsOf } from './nodes.ts'
import { plan, readable } from './plan.fixture.ts'
import { conjuncts } from './tree.ts'

const lines = (sql: string, options = {}): string[] =>
  readable(sql, options)
    .split('\n')
    .map((l) => l.trim())
const eventTime = { isEventTime: true }

describe('single stream', () => {
  test('WHERE runs directly above the source', () => {
    expect(readable('SELECT a FROM d WHERE b > 1')).toBe('project d.a\n  filter d.b > 1\n    source d (mqtt): a, b')
  })
  test.each([
    'tumblingwindow(ss, 10)',
    'hoppingwindow(ss, 10, 5)',
    'sessionwindow(ss, 10, 5)',
    'statewindow(a > 1, a < 0)',
  ])('WHERE and FILTER pass below a processing-time %s', (window) => {
    const [, first, second] = lines(`SELECT a FROM d WHERE b > 1 GROUP BY ${window} FILTER(WHERE c = "x")`)
    expect(first).toMatch(/^window .*processing time$/)
    expect(second).toBe('filter d.b > 1 AND d.c = "x"  (moved below the window)')
  })
  test.each(['countwindow(5)', 'slidingwindow(ss, 10)'])('WHERE stays above %s, FILTER on it', (window) => {
    const [, first, second] = lines(`SELECT a FROM d WHERE b > 1 GROUP BY ${window} FILTER(WHERE c = "x")`)
    expect(first).toBe('filter d.b > 1')
    expect(second).toMatch(/only rows with d.c = "x"$/)
  })
  test('WHERE stays above event-time windows', () => {
    const [, first, second, third] = lines('SELECT a FROM d WHERE b > 1 GROUP BY tumblingwindow(ss, 10)', eventTime)
    expect([first, second, third]).toEqual(['filter d.b > 1', 'window tumbling 10s, event time', 'watermark over d'])
  })
  test('nothing passes below analytic functions: the window keeps the condition', () => {
    const [, first, second] = lines('SELECT lag(a) AS l FROM d WHERE b > 1 GROUP BY tumblingwindow(ss, 10)')
    expect(first).toBe('window tumbling 10s, processing time, only rows with d.b > 1')
    expect(second).toBe('analytic lag(d.a)')
  })
  test('nothing passes below the watermark', () => {
    expect(lines('SELECT a FROM d WHERE b > 1', eventTime)[1]).toBe('filter d.b > 1')
  })
  test('what asks for the window stays above it', () => {
    const [, first, second, third] = lines(
      'SELECT a FROM d WHERE window_end() > 5 AND b > 1 GROUP BY tumblingwindow(ss, 10)',
    )
    expect(first).toBe('filter window_end() > 5')
    expect(second).toBe('window tumbling 10s, processing time')
    expect(third).toBe('filter d.b > 1  (moved below the window)')
  })
  test('aggregates in WHERE are computed and tested above the window, one column each (D13)', () => {
    const [, first, second, third] = lines(
      'SELECT a FROM d WHERE count(*) > 1 AND sum(a) > 2 AND b > 1 GROUP BY tumblingwindow(ss, 10)',
    )
    expect(first).toBe('filter count(*) > 1 AND sum(d.a) > 2 AND d.b > 1')
    expect(second).toBe('aggregate over the whole window count(*), sum(d.a)')
    expect(third).toBe('window tumbling 10s, processing time')
  })
})

describe('joins', () => {
  const join = (kind: string, where: string, window = 'tumblingwindow(ss, 10)') =>
    lines(`SELECT b, v FROM d ${kind} JOIN e ON d.a = e.id WHERE ${where} GROUP BY ${window}`)
  test('INNER: single-source parts of WHERE and ON reach their source, the rest joins ON', () => {
    const all = lines(
      'SELECT b, v FROM d INNER JOIN e ON d.a = e.id AND d.c = "x" WHERE d.b > 1 AND e.v > 2 AND d.b > e.v GROUP BY tumblingwindow(ss, 10)',
    )
    expect(all.slice(1)).toEqual([
      'inner join d, e on d.b > e.v AND d.a = e.id',
      'window tumbling 10s, processing time',
      'filter d.b > 1 AND d.c = "x"  (moved below the join and the window)',
      'source d (mqtt): a, b, c',
      'filter e.v > 2  (moved below the join and the window)',
      'source e (mqtt): id, v',
    ])
  })
  test('INNER: what the window refuses is evaluated in ON', () => {
    const all = join('INNER', 'd.b > 1 AND d.b > e.v', 'slidingwindow(ss, 10)')
    expect(all[1]).toBe('inner join d, e on d.b > e.v AND d.a = e.id AND d.b > 1')
    expect(all[2]).toMatch(/^window/)
  })
  test('INNER: a part about the source of a later join stays in the filter above (D14)', () => {
    const all = lines(
      'SELECT d.b FROM d INNER JOIN e ON d.a = e.id LEFT JOIN f ON e.id = f.k WHERE d.b > 1 AND f.w > e.v GROUP BY slidingwindow(ss, 10)',
    )
    expect(all[1]).toBe('filter f.w > e.v')
    expect(all[2]).toBe('inner join d, e on d.a = e.id AND d.b > 1; left join (joined so far), f on e.id = f.k')
  })
  test('outer: single-source parts pass below the join and a periodic window, the rest stays above', () => {
    const all = join('LEFT', 'd.b > 1 AND e.v > 2 AND d.b > e.v')
    expect(all.filter((l) => l.startsWith('filter'))).toEqual([
      'filter d.b > e.v',
      'filter d.b > 1  (moved below the join and the window)',
      'filter e.v > 2  (moved below the join and the window)',
    ])
  })
  test('outer: everything stays above sliding, count and event-time windows', () => {
    const all = join('FULL', 'd.b > 1 AND e.v > 2', 'countwindow(5)')
    expect(all.filter((l) => l.startsWith('filter'))).toEqual(['filter d.b > 1 AND e.v > 2'])
  })
  test('scan tables refuse; an un-windowed stream beside them takes its part', () => {
    const all = lines('SELECT d.a, st.nm FROM d LEFT JOIN st ON d.a = st.id WHERE d.b > 1 AND st.sz > 2')
    expect(all.slice(1)).toEqual([
      'filter st.sz > 2',
      'left join d, st on d.a = st.id',
      'add table rows st (last 9999)',
      'filter d.b > 1  (moved below the join)',
      'source d (mqtt): a, b',
      'source st (file): id, nm, sz',
    ])
  })
  test('lookup: parts without the table pass, the rest filters above with ON conditions that are no keys', () => {
    const all = lines(
      'SELECT d.a FROM d LEFT JOIN lt ON d.a = lt.id AND lt.x > 3 AND d.c = "q" WHERE d.b > 1 AND lt.y = 2',
    )
    expect(all.slice(1)).toEqual([
      'filter lt.y = 2 AND lt.x > 3',
      'left lookup lt by id = d.a, columns: x, y',
      'filter d.b > 1 AND d.c = "q"  (moved below the lookup)',
      'source d (mqtt): a, b, c',
    ])
  })
})

test('switched off, WHERE stays above the window and lookup conditions are still evaluated', () => {
  const options = { planOptimizeStrategy: { optimizeControl: { disableOptimizeRules: ['predicatePushDown'] } } }
  expect(lines('SELECT a FROM d WHERE b > 1 GROUP BY tumblingwindow(ss, 10)', options)[1]).toBe('filter d.b > 1')
  const all = lines('SELECT d.a FROM d INNER JOIN lt ON d.a = lt.id AND lt.x > 3 WHERE d.b > 1', options)
  expect(all.slice(1, 3)).toEqual(['filter d.b > 1', 'filter lt.x > 3'])
})

describe('properties', () => {
  const comparison = fc
    .tuple(
      fc.constantFrom('d.a', 'd.b', 'e.id', 'e.v', 'd.a', 'f.k'),
      fc.constantFrom('d.b', 'e.v', '1', '2', '3', 'f.w'),
    )
    .map(([l, r]) => `${l} > ${r}`)
  const condition = fc.array(comparison, { minLength: 1, maxLength: 6 }).map((parts) => parts.join(' AND '))
  const window = fc.constantFrom(
    'tumblingwindow(ss, 10)',
    'slidingwindow(ss, 10)',
    'countwindow(3)',
    'sessionwindow(ss, 9, 3)',
  )
  const kind = fc.constantFrom('INNER', 'LEFT', 'RIGHT', 'FULL')

  /** Every condition a plan evaluates, split at AND. */
  const evaluated = (node: PlanNode): Expression[] => {
    const own =
      node.kind === 'filter'
        ? conjuncts(node.condition)
        : node.kind === 'window'
          ? conjuncts(node.filter)
          : node.kind === 'join'
            ? node.joins.flatMap((j) => conjuncts(j.on))
            : []
    return [...own, ...inputsOf(node).flatMap(evaluated)]
  }

  test('no condition is lost, repeated or placed where one of its sources is missing', () => {
    fc.assert(
      fc.property(condition, condition, kind, kind, window, (where, on, first, second, w) => {
        const onFirst = on.replaceAll('f.', 'e.').replaceAll('e.k', 'e.id').replaceAll('e.w', 'e.v')
        const sql = `SELECT d.b FROM d ${first} JOIN e ON ${onFirst} ${second} JOIN f ON d.a = f.k WHERE ${where} GROUP BY ${w}`
        const { root } = plan(sql)
        const written = [...where.split(' AND '), ...onFirst.split(' AND '), 'd.a = f.k'].sort()
        expect(evaluated(root).map(printExpression).sort()).toEqual(written)
        const available = (node: PlanNode): Set<string> => {
          const below = new Set(inputsOf(node).flatMap((n) => [...available(n)]))
          if (node.kind === 'source') return new Set([node.emitter])
          if (node.kind === 'join') {
            expect(JSON.stringify(node.joins[0]?.on, (_, v) => (typeof v === 'bigint' ? Number(v) : v))).not.toContain(
              '"f"',
            )
          }
          const mine = node.kind === 'filter' ? conjuncts(node.condition).map(printExpression) : []
          for (const text of mine) {
            for (const [, source] of text.matchAll(/([def])\./g)) expect(below).toContain(source)
          }
          return below
        }
        available(root)
      }),
    )
  })

  test('a row of a single stream is kept by the rewritten plan exactly when WHERE and FILTER keep it', () => {
    const column = fc.constantFrom('a', 'b', 'q')
    const atom = fc
      .tuple(column, fc.constantFrom('>', '<', '='), fc.integer({ min: 0, max: 3 }))
      .map((x) => x.join(' '))
    const tree = fc.letrec<{ node: string }>((tie) => ({
      node: fc.oneof(
        { maxDepth: 3 },
        atom,
        fc.tuple(tie('node'), fc.constantFrom('AND', 'OR'), tie('node')).map(([l, op, r]) => `(${l}) ${op} (${r})`),
      ),
    })).node
    const row = fc.record({
      a: fc.integer({ min: 0, max: 3 }),
      b: fc.integer({ min: 0, max: 3 }),
      q: fc.integer({ min: 0, max: 3 }),
    })
    fc.assert(
      fc.property(tree, tree, window, fc.boolean(), row, (where, filter, w, event, values) => {
        if (event && w.startsWith('count')) return
        const sql = `SELECT a FROM s WHERE ${where} GROUP BY ${w} FILTER(WHERE ${filter})`
        const all = evaluated(plan(sql, { isEventTime: event }).root)
        const direct = Function('a', 'b', 'q', `return (${js(where)}) && (${js(filter)})`)(values.a, values.b, values.q)
        expect(all.every((e) => evaluate(e, values))).toBe(direct)
      }),
    )
  })
})

const js = (sql: string): string => sql.replaceAll(' = ', ' === ').replaceAll('AND', '&&').replaceAll('OR', '||')

function evaluate(e: Expression, row: Record<string, number>): unknown {
  switch (e.kind) {
    case 'integer':
      return Number(e.value)
    case 'column':
      return row[e.name]
    case 'parenthesis':
      return evaluate(e.expression, row)
    case 'binary': {
      const [l, r] = [evaluate(e.left, row), evaluate(e.right, row)] as [number, number]
      if (e.operator === 'AND') return l && r
      if (e.operator === 'OR') return l || r
      return e.operator === '>' ? l > r : e.operator === '<' ? l < r : l === r
    }
    default:
      throw new Error(e.kind)
  }
}
