import { expect, test } from 'vitest'
import { plan } from './plan.fixture.ts'

const refused: readonly (readonly [sql: string, message: string, options?: object])[] = [
  ['SELECT arr[2:1] FROM d', "colon start value can't be greater than end value"],
  ['SELECT a, a FROM d', 'duplicate field definition a'],
  ['SELECT count(*), count(a) FROM d', 'duplicate field definition count'],
  ['SELECT a, b AS a FROM d', 'duplicate field definition a'],
  ['SELECT a FROM d GROUP BY a', 'select stmt group by should be used with window'],
  ['SELECT sum(count(*)) FROM d', 'invalid argument for func sum: aggregate argument is not allowed'],
  ['SELECT count(*) AS c, sum(c) FROM d', 'invalid argument for func sum: aggregate argument is not allowed'],
  [
    'SELECT a FROM d HAVING a > 1',
    'Not allowed to call non-aggregate functions in HAVING clause: binaryExpr:{ d.a > 1 }.',
  ],
  [
    'SELECT count(*) AS c FROM d GROUP BY abs(c), countwindow(2)',
    'Not allowed to call aggregate functions in GROUP BY clause: Call:{ name:abs, args:[$$alias.c,aliasRef:Call:{ name:count, args:[*] }] }.',
  ],
  [
    'SELECT last_hit_count() FROM d GROUP BY countwindow(2)',
    'function last_hit_count is not allowed in an aggregate query',
  ],
  ['SELECT a FROM st GROUP BY countwindow(2)', 'unknown field a'],
  ['SELECT nm FROM st GROUP BY countwindow(2)', 'cannot run window for TABLE sources'],
  [
    'SELECT d.a FROM d INNER JOIN e ON d.a = e.id',
    'a time window or count window is required to join multiple streams',
  ],
  ['SELECT x FROM lt', 'cannot find lookup table lt in any join'],
  [
    'SELECT d.a FROM d INNER JOIN lt ON d.a > lt.id',
    'join condition binaryExpr:{ d.a > lt.id } is invalid, at least one equi-join predicate is required',
  ],
  [
    'SELECT a FROM d GROUP BY countwindow(2)',
    'Invalid option sendMetaToSink, it can not be applied to window',
    { sendMetaToSink: true },
  ],
  [
    'SELECT a FROM nested',
    'preprocessor is set to be event time but stream option TIMESTAMP not found',
    { isEventTime: true },
  ],
  ['SELECT a FROM d GROUP BY countwindow(2)', 'unsupported window type 5', { isEventTime: true }],
  [
    'SELECT a FROM shared',
    "disableBufferFullDiscard can't be enabled with shared stream shared",
    { disableBufferFullDiscard: true },
  ],
  ['SELECT a FROM mem', 'slice tuple mode does not support memory source', { experiment: { useSliceTuple: true } }],
  [
    'SELECT d.* FROM d',
    'slice tuple mode does not support qualified wildcard d.*',
    { experiment: { useSliceTuple: true } },
  ],
  ['SELECT a FROM d ORDER BY a', 'slice tuple mode do not support sort yet', { experiment: { useSliceTuple: true } }],
]

test.each(refused.map(([sql, message, options = {}]) => ({ sql, message, options })))(
  '$sql is refused: $message',
  (c) => {
    const { sql, message, options } = c
    expect(() => plan(sql, options)).toThrow(expect.objectContaining({ code: 'SQL_PLAN', message }))
  },
)

const accepted: readonly string[] = [
  'SELECT *, a FROM d',
  'SELECT a INVISIBLE, b AS a FROM d',
  'SELECT count(*) AS c FROM d GROUP BY countwindow(2) HAVING c > 1 AND max(a) + 1 > 2',
  'SELECT collect(*) AS all FROM d GROUP BY countwindow(2) HAVING all[0]->a > 1 AND (a > 1)',
  'SELECT a FROM d GROUP BY slidingwindow(ss, 5) OVER (WHEN last_hit_count() > 1) HAVING last_agg_hit_count() < 3',
  'SELECT arr[1:1 + 1], arr[-1:0] FROM d',
  'SELECT d.a FROM d INNER JOIN lt ON d.a = lt.id AND lt.id = 3 AND d.b > 1',
]

test.each(accepted)('%s is accepted', (sql) => {
  expect(plan(sql).root.kind).toBe('project')
})
