import { describe, expect, test } from 'vitest'
import { explain } from './explain.ts'
import { explainReadable } from './explain-readable.ts'
import { explained, plan } from './plan.fixture.ts'

describe('EXPLAIN', () => {
  test('prints one operator a line with (2 x depth - 1) tabs', () => {
    const sql =
      'SELECT a, count(*) AS c FROM d WHERE a>1 GROUP BY a, tumblingwindow(ss,10) FILTER(WHERE a>1) HAVING c>1 ORDER BY a DESC LIMIT 3'
    expect(explain(plan(sql, { isEventTime: true })).split('\n')).toEqual([
      '{"op":"ProjectPlan_0","info":"Fields:[ $$alias.c,aliasRef:Call:{ name:count, args:[*] }, d.a ], Limit:3"}',
      '\t{"op":"OrderPlan_1","info":"SortFields:[ sortField:{ name:a, ascending:false, fieldExpr:{ d.a } } ]"}',
      '\t\t\t{"op":"HavingPlan_2","info":"Condition:{ binaryExpr:{ $$alias.c,aliasRef:Call:{ name:count, args:[*] } > 1 } }, "}',
      '\t\t\t\t\t{"op":"AggregatePlan_3","info":"Dimension:{ d.a }"}',
      '\t\t\t\t\t\t\t{"op":"FilterPlan_4","info":"Condition:{ binaryExpr:{ d.a > 1 } }, "}',
      '\t\t\t\t\t\t\t\t\t{"op":"WindowPlan_5","info":"{ length:10, windowType:TUMBLING_WINDOW, condition:binaryExpr:{ d.a > 1 }, limit: 0 }"}',
      '\t\t\t\t\t\t\t\t\t\t\t{"op":"WatermarkPlan_6","info":"Emitters:[ d ], SendWatermark:true"}',
      '\t\t\t\t\t\t\t\t\t\t\t\t\t{"op":"DataSourcePlan_7","info":"StreamName: d, StreamFields:[ a, arr, b, c, ts ]"}',
    ])
  })
  test('separates siblings that have depth by an empty line and repeats ids', () => {
    const sql = 'SELECT d.b FROM d INNER JOIN e ON d.a = e.id WHERE d.b > 1 GROUP BY tumblingwindow(ss,10)'
    expect(explain(plan(sql)).split('\n').slice(2)).toEqual([
      '\t\t\t{"op":"WindowPlan_2","info":"{ length:10, windowType:TUMBLING_WINDOW, limit: 0 }"}',
      '\t\t\t\t\t{"op":"FilterPlan_3","info":"Condition:{ binaryExpr:{ d.b > 1 } }, "}',
      '\t\t\t\t\t\t\t{"op":"DataSourcePlan_4","info":"StreamName: d, StreamFields:[ a, b ]"}',
      '',
      '\t\t\t\t\t{"op":"DataSourcePlan_4","info":"StreamName: e, StreamFields:[ id ]"}',
    ])
  })
  test('shows lookups with their remaining conditions', () => {
    expect(explained('SELECT * FROM d LEFT JOIN lt ON d.a = lt.id AND lt.x > 3 WHERE d.a > 1 AND lt.y = 2')).toEqual([
      'ProjectPlan Fields:[ * ]',
      'FilterPlan Condition:{ binaryExpr:{ binaryExpr:{ lt.y = 2 } AND binaryExpr:{ lt.x > 3 } } }, ',
      'LookupPlan Condition:{ binaryExpr:{ lt.x > 3 } }, Join:{ joinType:LEFT_JOIN, expr:binaryExpr:{ binaryExpr:{ d.a = lt.id } AND binaryExpr:{ lt.x > 3 } } }',
      'FilterPlan Condition:{ binaryExpr:{ d.a > 1 } }, ',
      'DataSourcePlan StreamName: d, StreamFields:[ a, arr, b, c, ts ]',
    ])
  })
  test('shows analytic calls, window functions and set-returning functions', () => {
    expect(explained('SELECT lag(a) AS l, unnest(arr) AS u FROM d WHERE lag(b) > 1')).toEqual([
      'ProjectSetPlan SrfMap:{key:u}, EnableLimit:false',
      'ProjectPlan Fields:[ $$alias.l,aliasRef:Call:{ name:lag, args:[d.a] }, $$alias.u,aliasRef:Call:{ name:unnest, args:[d.arr] } ]',
      'FilterPlan Condition:{ binaryExpr:{ Call:{ name:lag, args:[d.b] } > 1 } }, ',
      'AnalyticFuncsPlan Funcs:[ Call:{ name:lag, args:[d.b] } ], FieldFuncs:[ Call:{ name:lag, args:[d.a] } ]',
      'DataSourcePlan StreamName: d, StreamFields:[ a, arr, b ]',
    ])
    expect(explained('SELECT row_number() AS rn FROM d').slice(0, 2)).toEqual([
      'ProjectPlan Fields:[ $$alias.rn,aliasRef:Call:{ name:bypass, args:[wf_row_number_1] } ]',
      'WindowFuncPlan windowFuncField:{name:wf_row_number_1, expr:Call:{ name:row_number }}',
    ])
  })
  test('shows aggregates in WHERE and incremental windows by their internal names', () => {
    expect(explained('SELECT b FROM d WHERE count(*) > 2 GROUP BY countwindow(5)').slice(1, 3)).toEqual([
      'FilterPlan Condition:{ binaryExpr:{ Call:{ name:bypass, args:[$$default.$$agg_ref_0] } > 2 } }, ',
      'AggFunc aggFuncs:[$$agg_ref_0:Call:{ name:count, args:[*] }]',
    ])
    const options = { planOptimizeStrategy: { enableIncrementalWindow: true } }
    expect(explained('SELECT count(a), b FROM d WHERE a > 1 GROUP BY countwindow(2), b', options)).toEqual([
      'ProjectPlan Fields:[ Call:{ name:bypass, args:[$$default.inc_agg_col_1] }, d.b ]',
      'FilterPlan Condition:{ binaryExpr:{ d.a > 1 } }, ',
      'IncAggWindowPlan wType:COUNT_WINDOW, Dimension:[d.b], funcs:[Call:{ name:inc_count, args:[d.a] }->inc_agg_col_1]',
      'DataSourcePlan StreamName: d, StreamFields:[ a, b ]',
    ])
  })
  test('shows columns renamed while decoding', () => {
    const options = { planOptimizeStrategy: { enableAliasPushdown: true } }
    expect(explained('SELECT a AS a1, b FROM nested2', options)).toEqual([
      'ProjectPlan Fields:[ nested2.a1, nested2.b ]',
      'DataSourcePlan StreamName: nested2, StreamFields:[ a, b ], ColAliasMapping:[ a:a1 ]',
    ])
    expect(explained('SELECT a AS a1, * FROM nested2', options)[1]).toBe(
      'DataSourcePlan StreamName: nested2, StreamFields:[ a, b ]',
    )
    expect(explained('SELECT a AS a1, a + 1 AS a2 FROM nested2', options)[1]).not.toContain('ColAliasMapping')
  })
  test('works for dedup_trigger and LIKE with a computed pattern (D24)', () => {
    expect(explained('SELECT dedup_trigger(a, a, ts, 5) AS k FROM d')[1]).toMatch(/^DedupTriggerPlan/)
    expect(explained('SELECT a FROM d WHERE c LIKE concat(c, "%")')[1]).toContain('likePattern:')
  })
})

describe('readable explain', () => {
  const sql = (text: string, options = {}) => explainReadable(plan(text, options)).split('\n')
  test('shows real intervals, decoded columns and where predicates run', () => {
    const text =
      'SELECT count(*) AS n, d.c FROM d INNER JOIN lt ON lt.id = d.a WHERE d.b > 1 AND lt.x = 2 GROUP BY d.c, hoppingwindow(mi, 90, 1) HAVING n > 1 ORDER BY n DESC LIMIT 3'
    expect(sql(text).slice(0, -1)).toEqual([
      'project count(*) AS n, d.c, one row per group, limit 3',
      '  order by n DESC',
      '    having n > 1',
      '      group by d.c',
      '        filter lt.x = 2',
      '          inner lookup lt by id = d.a, columns: x',
      '            window hopping 1h30m every 1m, processing time',
      '              filter d.b > 1  (moved below the lookup and the window)',
      '                source d (mqtt): a, arr (checked only), b, c, ts (checked only)',
    ])
  })
  test('ends with the warnings', () => {
    expect(sql('SELECT a FROM d').slice(2)).toEqual([
      'warning (line 1, column 15): stream d declares TIMESTAMP ts, but the rule runs on processing time. Set the rule option isEventTime to true, or ignore this when arrival time is what you want.',
    ])
  })
  test.each([
    ['slidingwindow(ss, 90, 2) OVER (WHEN a > 1)', 'window sliding 1m30s and 2s after, processing time, when s.a > 1'],
    ['sessionwindow(hh, 25, 1)', 'window session at most 1d1h, ends after 1h of silence, processing time'],
    ['countwindow(5, 2)', 'window of 5 rows every 2 rows, processing time'],
    ['statewindow(a > 1, a < 0) OVER (PARTITION BY b)', 'window from s.a > 1 to s.a < 0, processing time, per s.b'],
  ])('describes %s', (window, text) => {
    expect(sql(`SELECT a FROM s GROUP BY ${window}`)[1]?.trim()).toBe(text)
  })
})
