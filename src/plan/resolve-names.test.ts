import { describe, expect, test } from 'vitest'
import { IxionError } from '../core/errors.ts'
import { nodeOf, plan, readable } from './plan.fixture.ts'

/** The projection as SQL: aliases resolved, in processing order. */
const fields = (sql: string, options = {}): string => readable(sql, options).split('\n')[0] as string
const failure = (sql: string, options = {}, more = {}): IxionError => {
  try {
    plan(sql, options, more)
  } catch (error) {
    if (error instanceof IxionError) return error
    throw error
  }
  throw new Error('no error')
}

describe('columns', () => {
  test('bind to their source', () => {
    expect(fields('SELECT a, d.b FROM d')).toBe('project d.a, d.b')
  })
  test('a declared stream has only its columns', () => {
    expect(failure('SELECT zz FROM d').message).toBe('unknown field zz')
    expect(failure('SELECT a FROM d WHERE zz > 1').message).toBe('unknown field zz')
    expect(failure('SELECT d.zz FROM d').message).toBe('unknown field zz')
  })
  test('another letter case is another column', () => {
    expect(failure('SELECT A FROM d').message).toBe('field A not found in stream d')
    expect(failure('SELECT d.A FROM d').message).toBe('field A not found in stream d')
    expect(nodeOf(plan('SELECT A FROM d', {}, { ignoreCase: true }), 'project').fields[0]).toMatchObject({
      name: 'A',
      expression: { kind: 'column', stream: 'd', name: 'a' },
    })
  })
  test('a name two declared sources have needs a qualifier', () => {
    const sql = 'SELECT a FROM d INNER JOIN e ON d.a = e.id GROUP BY countwindow(2)'
    expect(failure(sql).message).toBe('ambiguous field a')
  })
  test('a qualified column of another source is named with its qualifier', () => {
    const sql = 'SELECT d.id FROM d INNER JOIN e ON d.a = e.id GROUP BY countwindow(2)'
    expect(failure(sql).message).toBe('unknown field d.id')
  })
  test('a schemaless stream takes every name', () => {
    expect(fields('SELECT a, q FROM s')).toBe('project s.a, s.q')
  })
  test('with several schemaless sources an unqualified name stays unbound until one source is known for it', () => {
    const sql = 'SELECT q FROM s INNER JOIN s2 ON s.id = s2.k WHERE id > 1 AND q > 2 GROUP BY countwindow(2)'
    expect(nodeOf(plan(sql), 'project').fields[0]?.expression).toMatchObject({ stream: null, name: 'q' })
    expect(readable(sql)).toContain('s.id > 1')
  })
  test('errors carry a position and a suggestion', () => {
    expect(failure('SELECT a,\n  colour FROM d')).toMatchObject({ line: 2, column: 3 })
    expect(failure('SELECT arrr FROM d').hint).toBe('Did you mean arr?')
  })
  test('a dotted name that is no source is struct access', () => {
    expect(fields('SELECT st.x FROM nested')).toBe('project nested.st->x')
    expect(failure('SELECT a FROM d WHERE x.a > 1').message).toBe('unknown field x')
  })
  test('an unknown qualified wildcard names the stream', () => {
    expect(failure('SELECT x.* FROM d').message).toBe('stream x not found')
  })
})

describe('null', () => {
  test('is the literal unless the schema has such a column', () => {
    expect(nodeOf(plan('SELECT a FROM d WHERE c = null'), 'filter').condition).toMatchObject({
      right: { kind: 'null' },
    })
    expect(nodeOf(plan('SELECT a FROM plain WHERE a = null'), 'filter').condition).toMatchObject({
      right: { kind: 'column', stream: 'plain', name: 'null' },
    })
  })
})

describe('aliases', () => {
  test('win over a column of the same name outside the select list', () => {
    const { condition } = nodeOf(plan('SELECT a + 1 AS a FROM d WHERE a > 3'), 'filter')
    expect(condition).toMatchObject({ left: { kind: 'alias', name: 'a', expression: { kind: 'binary' } } })
  })
  test('inside their own definition mean the column', () => {
    expect(nodeOf(plan('SELECT a + 1 AS a FROM d'), 'project').fields[0]?.expression).toMatchObject({
      left: { kind: 'column', name: 'a' },
    })
    expect(failure('SELECT latest(zz) AS zz FROM d').message).toBe('unknown field zz')
  })
  test('are seen by later fields', () => {
    const [, second] = nodeOf(plan('SELECT a + 1 AS a, a + 1 AS x FROM d'), 'project').fields
    expect(second?.expression).toMatchObject({ left: { kind: 'alias', name: 'a' } })
  })
  test('of declared streams are processed in dependency order, forward references included (D9)', () => {
    expect(fields('SELECT z + 1 AS x, a + 1 AS z, c FROM d')).toBe('project d.a + 1 AS z, z + 1 AS x, d.c')
    expect(fields('SELECT b + 1 AS m, a AS k FROM d')).toBe('project d.a AS k, d.b + 1 AS m')
  })
  test('of schemaless streams keep text order: an earlier field sees a plain rename, but the column under a computed one', () => {
    expect(fields('SELECT x + 1 AS y, a AS x FROM s')).toBe('project x + 1 AS y, s.a AS x')
    expect(fields('SELECT x + 1 AS y, a + 1 AS x FROM s')).toBe('project s.x + 1 AS y, s.a + 1 AS x')
  })
  test('may not form a cycle', () => {
    expect(failure('SELECT b AS a, a AS b FROM d').message).toBe('select fields have cycled alias')
    expect(failure('SELECT a + 1 AS b, b * 2 AS c, c + 1 AS a FROM s').message).toBe('select fields have cycled alias')
  })
  test('given twice: the last definition stays on declared streams, with a warning', () => {
    const p = plan('SELECT a AS x, b AS x FROM d')
    expect(nodeOf(p, 'project').fields).toHaveLength(1)
    expect(p.warnings.map((w) => w.message)).toContain('alias x is defined more than once; the last definition is used')
    expect(failure('SELECT a AS x, b AS x FROM s').message).toBe('duplicate alias x')
  })
  test('can be switched off between fields', () => {
    const options = { planOptimizeStrategy: { disableAliasRefCal: true } }
    expect(fields('SELECT a + 1 AS b, b AS k FROM d', options)).toBe('project d.a + 1 AS b, d.b AS k')
  })
  test('may not lean on each other without end', () => {
    const links = Array.from({ length: 5000 }, (_, i) => `x${i} + 1 AS x${i + 1}`)
    expect(failure(`SELECT a AS x0, ${links.join(', ')} FROM s`).message).toContain('more than 256 levels deep')
    expect(failure(`SELECT ${links.reverse().join(', ')}, a AS x0 FROM s`).message).toContain(
      'more than 256 levels deep',
    )
  })
  test('quoted in a message are cut when written out they would fill the memory', () => {
    const links = Array.from({ length: 200 }, (_, i) => `x${i} + x${i} AS x${i + 1}`)
    const { message } = failure(`SELECT a + 1 AS x0, ${links.join(', ')} FROM s HAVING x200 > 1`)
    expect(message).toMatch(/^Not allowed to call non-aggregate functions in HAVING clause/)
    expect(message.length).toBeLessThan(100_000)
  })
  test('share one tree, so a long chain stays small', () => {
    const links = Array.from({ length: 200 }, (_, i) => `x${i} + x${i} AS x${i + 1}`)
    expect(nodeOf(plan(`SELECT a AS x0, ${links.join(', ')} FROM s`), 'project').fields).toHaveLength(201)
  })
})

describe('source aliases (D8)', () => {
  test('qualify columns, beside the stream name', () => {
    expect(fields('SELECT x.a, d.b FROM d AS x WHERE x.c = "q"')).toBe('project x.a, x.b')
  })
  test('allow a stream to be joined with itself', () => {
    const sql = 'SELECT x.a, y.b FROM d AS x INNER JOIN d AS y ON x.a = y.a GROUP BY countwindow(2)'
    expect(readable(sql)).toBe(
      [
        'project x.a, y.b',
        '  inner join x, y on x.a = y.a',
        '    window of 2 rows, processing time',
        '      source d as x (mqtt): a',
        '      source d as y (mqtt): a, b',
      ].join('\n'),
    )
    expect(failure('SELECT d.a FROM d INNER JOIN d ON d.a = d.b GROUP BY countwindow(2)').message).toBe(
      'source d appears twice',
    )
  })
})

describe('sources', () => {
  test('must exist', () => {
    expect(failure('SELECT a FROM nothing').message).toBe(
      'fail to get stream nothing, please check if stream is created',
    )
  })
  test('that are temporary are for trial runs', () => {
    expect(failure('SELECT a FROM temporary').message).toBe('temp stream temporary can only be used by temp rules')
    expect(plan('SELECT a FROM temporary', {}, { isTemporary: true }).warnings).toEqual([])
  })
  test('may take their columns from a schema', () => {
    const schemaFields = () => [{ name: 'k', type: { kind: 'bigint' } as const }]
    expect(failure('SELECT q FROM s', {}, { schemaFields }).message).toBe('unknown field q')
  })
})

describe('warnings', () => {
  test('a schemaless name close to an alias', () => {
    const [warning] = plan(
      'SELECT temp AS temperature FROM plainless WHERE temperatur > 1',
      {},
      {
        stream: () => ({ kind: 'createStream', streamType: 'stream', name: 'plainless', fields: null, options: {} }),
      },
    ).warnings
    expect(warning).toMatchObject({ hint: 'Did you mean temperature?', line: 1, column: 49 })
  })
  test('TIMESTAMP without event time', () => {
    expect(plan('SELECT a FROM d').warnings[0]?.message).toContain('declares TIMESTAMP ts')
    expect(plan('SELECT a FROM d', { isEventTime: true }).warnings).toEqual([])
  })
  test.each([
    [
      'SELECT a FROM nested GROUP BY tumblingwindow(ss, 1) OVER (WHEN a > 1)',
      'OVER(WHEN ...) has no effect on a tumbling window',
    ],
    ['SELECT a FROM nested GROUP BY a, statewindow(a > 1)', 'a state window does not group its rows'],
    ['SELECT count(*) AS n FROM nested HAVING n > 1', 'HAVING needs a window; without one every row fails'],
    ['SELECT a FROM nested LIMIT 3', 'LIMIT has no effect on single rows; it needs a window'],
  ])('a clause without effect: %s', (sql, message) => {
    expect(plan(sql).warnings.map((w) => w.message)).toEqual([message])
  })
  test('a field beside * of the same name', () => {
    expect(plan('SELECT *, a FROM nested').warnings[0]?.message).toBe('a is also part of *; the field wins')
  })
})
