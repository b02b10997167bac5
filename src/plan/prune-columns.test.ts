import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { expressionsOf, walkPlan } from './nodes.ts'
import { decoded, nodeOf, plan } from './plan.fixture.ts'
import { walk } from './tree.ts'

const columns = (sql: string, options = {}) => decoded(plan(sql, options))

describe('a source decodes', () => {
  test('what the statement names, in every clause', () => {
    const sql =
      'SELECT q1, lag(q2) OVER (PARTITION BY q3 WHEN q4 > 1) FROM s WHERE q5 > 1 GROUP BY q6, slidingwindow(ss, 5) FILTER(WHERE q7 > 1) OVER (WHEN q8 > 1) HAVING sum(q9) > 1 ORDER BY q0'
    expect(columns(sql)).toEqual({ s: ['q0', 'q1', 'q2', 'q3', 'q4', 'q5', 'q6', 'q7', 'q8', 'q9'] })
  })
  test('the conditions and partitions of a state window (D16)', () => {
    const sql = 'SELECT q1 FROM s GROUP BY statewindow(q2 > 1, q3 > 1) OVER (PARTITION BY q4)'
    expect(columns(sql)).toEqual({ s: ['q1', 'q2', 'q3', 'q4'] })
  })
  test('a struct whole when it is read whole (D17), else its members', () => {
    const column = (sql: string) => nodeOf(plan(sql), 'source').columns
    expect(column('SELECT st FROM nested')).toMatchObject([{ name: 'st', paths: null }])
    expect(column('SELECT * FROM nested')).toMatchObject([{ name: 'a' }, { name: 'st', paths: null }])
    expect(column('SELECT st->x AS x, st->y->z AS z FROM nested WHERE st.y.z = "1"')).toMatchObject([
      { name: 'st', paths: [['x'], ['y', 'z']] },
    ])
    expect(column('SELECT st->y->z, st->y FROM nested')).toMatchObject([{ paths: [['y']] }])
    expect(column('SELECT st->x, st FROM nested')).toMatchObject([{ paths: null }])
    expect(column('SELECT o->x FROM s')).toMatchObject([{ name: 'o', paths: [['x']] }])
  })
  test('everything for *, with or without event time, alone or beside columns (D18, D19)', () => {
    expect(columns('SELECT * FROM s', { isEventTime: true })).toEqual({ s: null })
    expect(columns('SELECT a, * FROM s')).toEqual({ s: null })
    expect(columns('SELECT * FROM d')).toEqual({ d: ['a', 'arr', 'b', 'c', 'ts'] })
  })
  test('all of one source for a qualified wildcard (D20, D21)', () => {
    expect(columns('SELECT d.* FROM d')).toEqual({ d: ['a', 'arr', 'b', 'c', 'ts'] })
    expect(columns('SELECT e.*, d.b FROM d INNER JOIN e ON d.a = e.id GROUP BY countwindow(2)')).toEqual({
      d: ['a', 'b'],
      e: ['a', 'id', 'ts', 'v'],
    })
    expect(columns('SELECT s.* FROM s')).toEqual({ s: null })
  })
  test('nothing of an EXCEPT or replaced column unless something else reads it', () => {
    expect(columns('SELECT * EXCEPT(a, b) FROM d')).toEqual({ d: ['arr', 'c', 'ts'] })
    expect(columns('SELECT * EXCEPT(a, b) FROM d WHERE a > 1')).toEqual({ d: ['a', 'arr', 'c', 'ts'] })
    expect(columns('SELECT * REPLACE(b + 1 AS b) FROM d')).toEqual({ d: ['a', 'arr', 'b', 'c', 'ts'] })
    expect(columns('SELECT * EXCEPT(a), count(*) FROM d GROUP BY countwindow(2)').d).toContain('a')
  })
  test('for count(*) the declared columns, to be checked only; nothing of a schemaless stream', () => {
    const source = nodeOf(plan('SELECT count(*), a FROM d GROUP BY countwindow(2)'), 'source')
    expect(source.columns?.filter((c) => !c.unread).map((c) => c.name)).toEqual(['a'])
    expect(source.columns).toHaveLength(5)
    expect(columns('SELECT count(*) FROM s GROUP BY countwindow(2)')).toEqual({ s: [] })
    expect(columns('SELECT collect(*) FROM s GROUP BY countwindow(2)')).toEqual({ s: null })
    expect(columns('SELECT deduplicate(a, true) FROM s GROUP BY countwindow(2)')).toEqual({ s: null })
  })
  test('the TIMESTAMP column under event time', () => {
    expect(columns('SELECT a FROM d', { isEventTime: true })).toEqual({ d: ['a', 'ts'] })
  })
  test('an unbound name of a join in every source', () => {
    expect(columns('SELECT q FROM s INNER JOIN s2 ON s.i = s2.k GROUP BY countwindow(2)')).toEqual({
      s: ['i', 'q'],
      s2: ['k', 'q'],
    })
  })
})

test('metadata keys are listed by source', () => {
  const meta = (sql: string, options = {}) => nodeOf(plan(sql, options), 'source').meta
  expect(meta('SELECT meta(topic), mqtt(messageid) FROM s WHERE meta(s.x) = 1')).toEqual(['messageid', 'topic', 'x'])
  expect(meta('SELECT meta(o->p) FROM s')).toEqual(['o'])
  expect(meta('SELECT meta(*) FROM s')).toBeNull()
  expect(meta('SELECT a FROM s', { sendMetaToSink: true })).toBeNull()
  expect(meta('SELECT a FROM s')).toEqual([])
})

test('a lookup is asked for the columns the statement reads', () => {
  const lookup = (sql: string) => nodeOf(plan(sql), 'lookup').columns
  expect(lookup('SELECT d.a, lt.x FROM d INNER JOIN lt ON d.a = lt.id AND lt.y > 3')).toEqual(['x', 'y'])
  expect(lookup('SELECT q, x FROM s INNER JOIN lt ON s.a = lt.id')).toEqual(['x'])
  expect(lookup('SELECT q FROM s INNER JOIN lts ON s.a = lts.id')).toEqual(['q'])
  expect(lookup('SELECT * FROM d INNER JOIN lt ON d.a = lt.id')).toBeNull()
  expect(lookup('SELECT lt.* FROM d INNER JOIN lt ON d.a = lt.id')).toBeNull()
})

test('switched off, sources decode everything', () => {
  const options = { planOptimizeStrategy: { optimizeControl: { disableOptimizeRules: ['columnPruner'] } } }
  expect(columns('SELECT a FROM d', options)).toEqual({ d: null })
})

describe('property', () => {
  const column = fc.constantFrom('q1', 'q2', 'q3', 'q4', 'o->p', 'o')
  const scalar = fc.tuple(column, column).map(([a, b]) => `abs(${a}) + ${b}`)
  const item = fc.oneof(
    column,
    scalar,
    column.map((c) => `lag(${c})`),
    column.map((c) => `CASE WHEN ${c} > 1 THEN ${c} END`),
  )
  const window = fc.oneof(
    fc.constantFrom('countwindow(3)', 'tumblingwindow(ss, 3)'),
    column.map((c) => `slidingwindow(ss, 3) OVER (WHEN ${c} > 1)`),
    fc.tuple(column, column).map(([a, b]) => `statewindow(${a} > 1, ${b} > 1)`),
  )
  test('every column any expression of the plan mentions is decoded', () => {
    fc.assert(
      fc.property(
        fc.array(item, { minLength: 1, maxLength: 4 }),
        item,
        item,
        window,
        fc.boolean(),
        (list, where, group, w, push) => {
          const select = list.map((text, i) => `${text} AS x${i}`)
          const options = push ? { planOptimizeStrategy: { enableIncrementalWindow: true } } : {}
          const p = plan(
            `SELECT ${select.join(', ')}, max(q1) AS m FROM s WHERE ${where} > 1 GROUP BY ${group}, ${w} ORDER BY x0`,
            options,
          )
          const wanted = new Set<string>()
          walkPlan(p.root, (node) => {
            for (const e of expressionsOf(node))
              walk(e, (x) => {
                if (x.kind === 'column') wanted.add(x.name)
              })
          })
          expect(decoded(p)).toEqual({ s: [...wanted].sort() })
        },
      ),
    )
  })
})
