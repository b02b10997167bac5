import { describe, expect, test } from 'vitest'
import { nodeOf, plan, readable } from './plan.fixture.ts'

const analytic = (sql: string) => {
  const { calls } = nodeOf(plan(sql), 'analytic')
  return calls.map((c) => `${c.name}${c.fromField ? '' : ' (clause)'}`)
}

describe('analytic calls (5.7)', () => {
  test('run field by field, innermost first, then those of other clauses', () => {
    expect(analytic('SELECT latest(lag(a)), lag(b) FROM s WHERE lag(c) > 1')).toEqual([
      '$$a_lag_0',
      '$$a_latest_1',
      '$$a_lag_2',
      '$$a_lag_3 (clause)',
    ])
  })
  test('keep one state when reached through an alias again', () => {
    expect(analytic('SELECT lag(a) AS l, acc_sum(l) AS m FROM s WHERE l > 1 ORDER BY l')).toEqual([
      '$$a_lag_0',
      '$$a_acc_sum_1',
    ])
  })
  test('of a repeated text keep a state each', () => {
    expect(analytic('SELECT lag(a) AS x, lag(a) AS y FROM s')).toHaveLength(2)
  })
  test('leave a computed reference wherever the value is read', () => {
    const p = plan('SELECT lag(a) + 1 AS l FROM s WHERE l > 1')
    expect(nodeOf(p, 'project').fields[0]?.expression).toMatchObject({ left: { kind: 'computed', name: '$$a_lag_0' } })
    expect(nodeOf(p, 'filter').condition).toMatchObject({
      left: { kind: 'alias', expression: { left: { kind: 'computed', name: '$$a_lag_0' } } },
    })
  })
  test('carry resolved arguments, partitions and conditions, with inner calls computed', () => {
    const [inner, outer] = nodeOf(
      plan('SELECT latest(lag(a)) OVER (PARTITION BY b WHEN c > 1) FROM s'),
      'analytic',
    ).calls
    expect(inner?.call).toMatchObject({ name: 'lag', args: [{ kind: 'column', stream: 's', name: 'a' }] })
    expect(outer?.call).toMatchObject({
      args: [{ kind: 'computed', name: '$$a_lag_0' }],
      partition: [{ kind: 'column', stream: 's', name: 'b' }],
      when: { left: { kind: 'column', stream: 's', name: 'c' } },
    })
  })
  test('are found in state window conditions and partitions', () => {
    const sql = 'SELECT a FROM s GROUP BY statewindow(had_changed(true, a)) OVER (PARTITION BY lag(b))'
    expect(analytic(sql)).toEqual(['$$a_lag_1 (clause)', '$$a_had_changed_0 (clause)'])
  })
  test('run below window, join, WHERE and FILTER, above the watermark', () => {
    const kinds = readable('SELECT lag(a) FROM d WHERE b > 1 GROUP BY countwindow(2) FILTER(WHERE c = "x")').split('\n')
    expect(kinds.map((l) => l.trim().split(' ')[0])).toEqual(['project', 'filter', 'window', 'analytic', 'source'])
  })
})

describe('row_number (D12)', () => {
  test('keeps its OVER clause', () => {
    const { calls } = nodeOf(
      plan('SELECT row_number() OVER (PARTITION BY a ORDER BY b DESC) AS rn FROM s ORDER BY rn'),
      'windowFunction',
    )
    expect(calls).toMatchObject([
      { name: 'wf_row_number_1', call: { partition: [{ name: 'a' }], order: [{ ascending: false }] } },
    ])
  })
  test('gets a number each', () => {
    expect(readable('SELECT row_number() AS x, row_number() + 1 AS y FROM s').match(/number rows/g)).toHaveLength(2)
  })
})

test('dedup_trigger runs between ORDER BY and the projection under its output name', () => {
  const p = plan('SELECT dedup_trigger(a, b, t, 1000) AS k, c FROM s ORDER BY c')
  expect(nodeOf(p, 'dedupTrigger')).toMatchObject({ name: 'k', input: { kind: 'order' } })
  expect(nodeOf(p, 'project').fields[0]?.expression).toMatchObject({ kind: 'computed', name: 'k' })
  expect(nodeOf(plan('SELECT dedup_trigger(a, b, t, 1000) FROM s'), 'dedupTrigger').name).toBe('dedup_trigger')
})

test('a set-returning call expands above the projection, which then has no limit of its own', () => {
  const p = plan('SELECT unnest(arr) AS u, a FROM d LIMIT 2')
  expect(p.root).toMatchObject({
    kind: 'projectSet',
    name: 'u',
    limit: 2,
    call: { name: 'unnest' },
    input: { limit: null },
  })
})

test('an alias that hides an aggregate counts as an aggregate in WHERE', () => {
  const p = plan('SELECT count(*) AS n FROM s WHERE n > 1 GROUP BY countwindow(3)')
  expect(nodeOf(p, 'aggFunc').calls.map((c) => c.name)).toEqual(['$$agg_ref_0'])
  expect(nodeOf(p, 'filter').condition).toMatchObject({ left: { kind: 'computed', name: '$$agg_ref_0' } })
  expect(nodeOf(p, 'project').fields[0]?.expression).toMatchObject({ kind: 'call', name: 'count' })
})
