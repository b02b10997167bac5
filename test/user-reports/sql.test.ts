/** Reported situations about the meaning of statements, each with the result it should have given. */
import { describe, expect, it } from 'vitest'
import { manualClock } from '../../src/core/clock.ts'
import { IxionError } from '../../src/core/errors.ts'
import { createEngine } from '../../src/engine/index.ts'
import { manualSink, manualSource, settle, withConnectors } from '../support/engine-harness.ts'
import { B, eventTime, overJson, planOf, resultsOf } from './statements.ts'

/** The error a creation with this statement gives. */
function refusal(sql: string, definitions?: readonly string[]): IxionError {
  try {
    planOf(sql, definitions)
  } catch (error) {
    if (error instanceof IxionError) return error
    throw error
  }
  throw new Error(`accepted: ${sql}`)
}
const warnings = (sql: string, definitions?: readonly string[]): string[] =>
  planOf(sql, definitions).warnings.map((w) => `${w.message}${w.hint === undefined ? '' : `. ${w.hint}`}`)

describe('nothing', () => {
  it('is tested with IS NULL and IS NOT NULL; a bare word that only looks like it is a warning (report 21)', () => {
    const rows = [{ k: 1 }, { k: 2, a: null }, { k: 3, a: 0 }]
    const keys = (where: string) =>
      resultsOf(`SELECT k FROM S WHERE ${where}`, rows).map((r) => (r as { k: number }[])[0]?.k)
    expect(keys('a IS NULL')).toEqual([1, 2])
    expect(keys('a IS NOT NULL')).toEqual([3])
    expect(keys('isNull(a)')).toEqual([1, 2])
    // As the reference: a comparison with nothing never holds, whatever it is called.
    for (const word of ['null', 'nil']) for (const op of ['=', '!=']) expect(keys(`a ${op} ${word}`)).toEqual([])
    expect(warnings('SELECT k FROM S WHERE a != nil')).toEqual([
      'a comparison with nil never holds. Use IS NULL or IS NOT NULL.',
    ])
    expect(warnings('SELECT k FROM S WHERE NULL = a')).toEqual([
      'a comparison with NULL never holds. Use IS NULL or IS NOT NULL.',
    ])
    expect(warnings('SELECT k FROM S WHERE a IS NULL')).toEqual([])
  })

  it('under a schema: an unknown word is refused when the rule is made, not when it starts again (report 22)', async () => {
    const engine = await createEngine({ clock: manualClock() })
    await engine.execute('CREATE STREAM S (col BIGINT) WITH (TYPE="memory", DATASOURCE="in")')
    const rule = { id: 'r', sql: 'SELECT col FROM S WHERE col != nil', actions: [{ nop: {} }] }
    await expect(engine.createRule({ ...rule, triggered: false })).rejects.toThrow('unknown field nil')
    await expect(engine.createRule(rule)).rejects.toMatchObject({
      message: expect.stringContaining('unknown field nil'),
      hint: 'Use IS NULL or IS NOT NULL.',
    })
    expect(engine.listRules()).toEqual([])
    await engine.close()
  })

  it('makes a comparison false, also != and NOT; OR sees it as false on either side (traps: null logic)', () => {
    const sql =
      'SELECT a = 1 AS eq, a != 1 AS ne, a NOT IN (1) AS ni, a NOT BETWEEN 1 AND 2 AS nb, b OR (a = 1) AS lt, (a = 1) OR b AS rt, z OR b AS nl FROM S'
    const no = { eq: false, ne: false, ni: false, nb: false }
    expect(resultsOf(sql, [{ b: true }])).toEqual([[{ ...no, lt: true, rt: true, nl: false }]])
  })

  it('in HAVING is an error, in WHERE it only does not hold, as in the reference (trap: HAVING of null)', () => {
    const group = 'GROUP BY COUNTWINDOW(1)'
    expect(resultsOf('SELECT v FROM S WHERE b', [{ v: 1 }])).toEqual([])
    expect(resultsOf(`SELECT count(*) AS c FROM S ${group} HAVING max(b) > 1`, [{ v: 1 }])).toEqual([])
    expect(resultsOf(`SELECT count(*) AS c FROM S ${group} HAVING max(b)`, [{ v: 1 }])).toEqual([
      [{ error: 'run Having error: invalid condition that returns non-bool value <nil>(<nil>)' }],
    ])
  })
})

describe('paths', () => {
  it('take an index from another column, declared or not; one out of range fails its row alone (report 23, TC-23)', async () => {
    const payloads = ['{"i":1,"arr":[10,20,30]}', '{"i":7,"arr":[10]}', '{"i":0,"arr":[9]}']
    for (const columns of ['', 'i BIGINT, arr ARRAY(BIGINT), other STRING']) {
      const { out, ledger } = await overJson(columns, 'SELECT arr[i] AS e FROM S', payloads)
      expect(out).toEqual([[{ e: 20 }], [{ e: 9 }]])
      expect(ledger.dropped).toEqual({ error: 1 })
    }
  })

  it('reach into an array of structs with and without a schema (report 24)', async () => {
    const payloads = ['{"items":[{"name":"a"},{"name":"b"}]}']
    for (const columns of ['', 'items ARRAY(STRUCT(name STRING))'])
      expect((await overJson(columns, 'SELECT items[1]->name AS n FROM S', payloads)).out).toEqual([[{ n: 'b' }]])
  })

  it('search inside arrays: JSON path with either kind of quotes, unnest, array functions (report 42)', async () => {
    const payloads = ['{"xs":[{"id":"a","v":1},{"id":"b","v":2}],"ns":[3,1,2]}']
    const first = async (expression: string) => (await overJson('', `SELECT ${expression} AS x FROM S`, payloads)).out
    expect(await first(`json_path_query(xs, "$[?(@.id == 'b')].v")`)).toEqual([[{ x: [2] }]])
    expect(await first(`json_path_query(xs, '$[?(@.id == "b")].v')`)).toEqual([[{ x: [2] }]])
    expect(await first('array_contains(ns, 1.0)')).toEqual([[{ x: true }]])
    expect(await first('array_max(ns)')).toEqual([[{ x: 3 }]])
    expect((await overJson('', 'SELECT unnest(xs) FROM S', payloads)).out).toEqual([
      [{ id: 'a', v: 1 }],
      [{ id: 'b', v: 2 }],
    ])
  })
})

describe('output names', () => {
  it('number every field without one (report 25, TC-24)', () => {
    expect(resultsOf('SELECT j->id, j->name FROM S', [{ j: { id: '1', name: 'n' } }])).toEqual([
      [{ kuiper_field_0: '1', kuiper_field_1: 'n' }],
    ])
  })

  it('given twice are refused by name when the rule is made (report 26, TC-25)', () => {
    expect(refusal('SELECT meta(a), meta(b) FROM S').message).toContain('duplicate field definition meta')
    expect(refusal('SELECT a, b, a FROM S').message).toContain('duplicate field definition a')
  })

  it('keep the case and the signs of the document, in * and in backticks (report 37)', () => {
    const row = { Temp: 1, 'a-b/c': 2, ünï: 3, ts: 4 }
    expect(resultsOf('SELECT * FROM S', [row])).toEqual([[row]])
    expect(resultsOf('SELECT Temp, `a-b/c`, `ünï` AS `Ü 1` FROM S', [row])).toEqual([
      [{ Temp: 1, 'a-b/c': 2, 'Ü 1': 3 }],
    ])
  })

  it('may be keywords in backticks, in definitions and statements (report 38)', async () => {
    const sql = 'SELECT `select`, `from` + 1 AS `order` FROM S WHERE `from` > 1'
    const { out } = await overJson('`select` STRING, `from` BIGINT', sql, ['{"select":"x","from":2}'])
    expect(out).toEqual([[{ select: 'x', order: 3 }]])
  })

  it('with a dash have to be quoted, and the refusal says so (report 39)', () => {
    expect(refusal('SELECT meta(device-id) FROM S')).toMatchObject({
      hint: 'a dash is a minus; to use it in a name, put the name in backticks',
    })
    expect(() => planOf('SELECT meta(`device-id`) AS d, `a-b` FROM S')).not.toThrow()
  })
})

describe('aliases', () => {
  it('are apart from keys of nested documents of the same name (report 27)', () => {
    const sql = 'SELECT m->v AS v, v AS w FROM S WHERE m->v > 1'
    expect(
      resultsOf(sql, [
        { m: { v: 2 }, v: 7 },
        { m: { v: 1 }, v: 7 },
      ]),
    ).toEqual([[{ v: 2, w: 2 }]])
  })

  it('may use aliases of the same SELECT, forward ones too under a schema (report 28)', async () => {
    const sql = 'SELECT y * 2 AS z, x + 1 AS y, a + 1 AS x FROM S'
    expect((await overJson('a BIGINT', sql, ['{"a":1}'])).out).toEqual([[{ x: 2, y: 3, z: 6 }]])
    const backward = 'SELECT a + 1 AS x, x + 1 AS y, y * 2 AS z FROM S'
    expect((await overJson('', backward, ['{"a":1}'])).out).toEqual([[{ x: 2, y: 3, z: 6 }]])
    expect(refusal('SELECT b AS a, a AS b FROM S').message).toContain('cycled alias')
  })

  it('that a column nearly equals are pointed out (report 30)', () => {
    const sql = 'SELECT CASE WHEN v > lag(v, 1, 0) THEN v END AS rising FROM S WHERE risng > 0'
    expect(warnings(sql)).toEqual(['column risng is not declared anywhere. Did you mean rising?'])
  })

  it('that are all absent give an empty result, which omitIfEmpty leaves out (report 30)', async () => {
    const sink = manualSink('watched')
    const fed = manualSource('fed')
    const engine = await createEngine({
      clock: manualClock(),
      connectors: withConnectors(fed.connector, sink.connector),
    })
    await engine.execute('CREATE STREAM S () WITH (TYPE="fed", DATASOURCE="d")')
    const sql = 'SELECT CASE WHEN v > lag(v, 1, 0) THEN v END AS rising FROM S'
    for (const omitIfEmpty of [false, true])
      await engine.createRule({ id: `r${omitIfEmpty}`, sql, actions: [{ watched: { sendSingle: true, omitIfEmpty } }] })
    await settle()
    await fed.rows([{ v: 2 }, { v: 1 }])
    await settle()
    expect([...sink.sent].sort()).toEqual(['{"rising":2}', '{"rising":2}', '{}'])
    await engine.close()
  })

  it('are not computed for rows WHERE drops, unless WHERE reads them (report 31)', () => {
    const rows = [{ v: 'text' }, { v: -2 }]
    expect(resultsOf('SELECT abs(v) AS a FROM S WHERE v = -2', [{ v: -3 }, { v: -2 }])).toEqual([[{ a: 2 }]])
    const guarded = resultsOf('SELECT k, abs(v) AS a FROM S WHERE k > 1', [
      { k: 1, v: 'text' },
      { k: 2, v: -2 },
    ])
    expect(guarded).toEqual([[{ k: 2, a: 2 }]])
    expect(resultsOf('SELECT abs(v) AS a FROM S WHERE a > 1', rows)).toEqual([
      [{ error: expect.stringContaining('abs') }],
      [{ a: 2 }],
    ])
  })

  it('of window_start() and window_end() reach functions with and without a schema (report 44)', async () => {
    const sql =
      'SELECT window_start() AS ws, window_end() AS we, we - ws AS span, object_construct("from", ws, "n", count(*)) AS o FROM S GROUP BY TUMBLINGWINDOW(ss,10)'
    for (const columns of ['', 'a BIGINT']) {
      const { out } = await overJson(columns, sql, ['{"a":1}'], { until: 10_000 })
      expect(out).toEqual([[{ ws: B, we: B + 10_000, span: 10_000, o: { from: B, n: 1 } }]])
    }
  })
})

describe('analytic functions', () => {
  it('have one state a call, advanced by every row before WHERE (report 29, TC-29)', () => {
    const sql = 'SELECT v, lag(v) AS p, CASE WHEN v > lag(v) THEN "up" ELSE "down" END AS d FROM S WHERE v != lag(v)'
    expect(
      resultsOf(
        sql,
        [1, 1, 3, 2].map((v) => ({ v })),
      ),
    ).toEqual([[{ v: 3, p: 1, d: 'up' }], [{ v: 2, p: 3, d: 'down' }]])
  })
})

describe('clauses', () => {
  it('in a wrong order are refused with the right one (report 33)', () => {
    const order = 'the clauses come in this order: SELECT, FROM, JOIN, WHERE, GROUP BY, HAVING, ORDER BY, LIMIT'
    expect(refusal('SELECT a, count(*) AS c FROM S HAVING c > 1 GROUP BY a, COUNTWINDOW(2)')).toMatchObject({
      hint: order,
    })
    expect(refusal('SELECT a FROM S GROUP BY a, COUNTWINDOW(2) WHERE a > 1')).toMatchObject({ hint: order })
  })

  it('find values seen more than once in a window (report 33)', () => {
    const rows = ['a', 'b', 'a'].map((k, i): [number, { k: string }] => [i, { k }])
    const sql = 'SELECT k, count(*) AS c FROM S GROUP BY k, TUMBLINGWINDOW(ss,10) HAVING count(*) > 1'
    expect(eventTime(sql, [...rows, [15_000, { k: 'z' }]]).out).toEqual([[{ k: 'a', c: 2n }]])
  })
})

describe('numbers', () => {
  it('divide as integers when both are: literals and declared columns; JSON numbers without schema do not (report 34, TC-32)', async () => {
    const sql = 'SELECT (6/5)+4 AS x, a/b AS y FROM S'
    expect((await overJson('', sql, ['{"a":6,"b":5}'])).out).toEqual([[{ x: 5, y: 1.2 }]])
    expect((await overJson('a BIGINT, b BIGINT', sql, ['{"a":6,"b":5}'])).out).toEqual([[{ x: 5, y: 1 }]])
    expect((await overJson('', 'SELECT (6/5.0)+4 AS x FROM S', ['{}'])).out).toEqual([[{ x: 5.2 }]])
  })

  it('of a declared integer may be written as 1.0 or 1e3; text is refused and counted (report 45)', async () => {
    const payloads = ['{"a":1.0}', '{"a":1e3}', '{"a":"2.0"}', '{"a":2.5}']
    const { out, ledger } = await overJson('a BIGINT', 'SELECT a FROM S', payloads)
    expect(out).toEqual([[{ a: 1 }], [{ a: 1000 }]])
    expect(ledger.dropped).toEqual({ decode_error: 2 })
    expect((await overJson('', 'SELECT cast(a, "bigint") AS a FROM S', ['{"a":"2"}'])).out).toEqual([[{ a: 2 }]])
  })

  it('of int and float mix in sum and avg as the reference mixes them (trap: avg and sum types)', () => {
    const over = (f: string, vs: (number | bigint)[]) =>
      resultsOf(
        `SELECT ${f}(v) AS x FROM S GROUP BY COUNTWINDOW(${vs.length})`,
        vs.map((v) => ({ v })),
      )
    expect(over('avg', [3n, 4n])).toEqual([[{ x: 3n }]])
    expect(over('avg', [3, 4])).toEqual([[{ x: 3.5 }]])
    expect(over('sum', [1n, 2.5])).toEqual([[{ x: 3n }]])
    expect(over('sum', [2.5, 1n])).toEqual([[{ error: 'requires float64 but found int64(1)' }]])
  })
})

describe('meta()', () => {
  it('beside aggregates is the metadata of the first row, not a column of that name (trap: meta in a window)', async () => {
    const fed = manualSource('fed', { emits: 'bytes' })
    const engine = await createEngine({ clock: manualClock(), connectors: withConnectors(fed.connector) })
    await engine.execute('CREATE STREAM S () WITH (TYPE="fed", DATASOURCE="d", FORMAT="json")')
    const out: unknown[] = []
    const sql = 'SELECT meta(topic) AS t, count(*) AS c FROM S GROUP BY COUNTWINDOW(2)'
    await engine.query({ sql, onResult: (rows) => void out.push([...rows]) })
    await settle()
    for (const topic of ['first', 'second']) await fed.json([{ topic: 'of the payload' }], { meta: [{ topic }] })
    await settle()
    expect(out).toEqual([[{ t: 'first', c: 2n }]])
    await engine.close()
  })
})

describe('time', () => {
  it('is formatted in a zone, converted, and counted in milliseconds (report 40)', () => {
    const one = (expression: string) =>
      (resultsOf(`SELECT ${expression} AS x FROM S`, [{ t: B }]) as { x: unknown }[][])[0]?.[0]?.x
    expect(one('format_time(t, "YYYY-MM-dd HH:mm:ss")')).toBe('2023-11-14 22:14:00')
    expect(one('format_time(convert_tz(t, "Asia/Shanghai"), "YYYY-MM-dd HH:mm:ss")')).toBe('2023-11-15 06:14:00')
    expect(one('format_time(t + 1000, "ss")')).toBe('01')
    expect(one('format_time(t + 1, "ss")')).toBe('00')
  })

  it('of events follows TIMESTAMP_FORMAT; an option that is not known is refused (report 41)', async () => {
    const sql = 'SELECT window_end() AS we, count(*) AS c FROM S GROUP BY TUMBLINGWINDOW(ss,10)'
    const payloads = ['14/11/2023 22:14:01', '14/11/2023 22:14:09', '14/11/2023 22:14:12'].map((t) =>
      JSON.stringify({ t }),
    )
    const format = ', TIMESTAMP="t", TIMESTAMP_FORMAT="dd/MM/yyyy HH:mm:ss"'
    const options = { isEventTime: true, lateTolerance: 0 }
    expect((await overJson('', sql, payloads, { with: format, options })).out).toEqual([[{ we: B + 10_000, c: 2 }]])
    expect(() => planOf('SELECT a FROM S', ['CREATE STREAM S () WITH (TIMESTAMP_FORMATS="x")'])).toThrow(
      'TIMESTAMP_FORMATS',
    )
  })
})

describe('columns', () => {
  it('may be absent; DEFAULT stands in for them under STRICT_VALIDATION (report 43)', async () => {
    const columns = 'a BIGINT, b BIGINT DEFAULT 7'
    const payloads = ['{"a":1}', '{"b":2}', '{}']
    expect((await overJson(columns, 'SELECT a, b FROM S', payloads)).out).toEqual([[{ a: 1 }], [{ b: 2 }], [{}]])
    const strict = await overJson(columns, 'SELECT a, b FROM S', payloads, { with: ', STRICT_VALIDATION="true"' })
    expect(strict.out).toEqual([[{ a: 1, b: 7 }]])
    expect(strict.ledger.dropped).toEqual({ decode_error: 2 })
  })
})
