/** Hostile SQL: whatever is written, it is refused with a reason or it runs; it never hangs, and only rows fail. */
import { describe, expect, it } from 'vitest'
import { IxionError, RowError } from '../../src/core/errors.ts'
import type { Value, ValueObject } from '../../src/core/values.ts'
import { listFunctions } from '../../src/functions/index.ts'
import { runStatement } from '../support/run-statement.ts'

const full = process.env['IXION_LOAD'] === 'full'

/** A repeatable stream of numbers in [0, 1). */
function generator(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}

const valid = [
  'SELECT a, b AS c FROM demo WHERE a > 5 AND b = "x" OR c NOT LIKE "a%"',
  'SELECT *, a + b * 2 AS d, CASE WHEN a > 1 THEN "x" ELSE "y" END AS e FROM demo',
  'SELECT count(*) AS n, avg(a), max(b), window_end() AS e FROM demo GROUP BY s, TUMBLINGWINDOW(ss, 10) HAVING n > 1 ORDER BY n DESC LIMIT 3',
  'SELECT lag(a, 2, 0) OVER (PARTITION BY s WHEN a > 1) AS p, changed_col(true, a) FROM demo',
  'SELECT demo.a, t2.b FROM demo LEFT JOIN demo2 AS t2 ON demo.a = t2.a GROUP BY HOPPINGWINDOW(ss, 10, 5)',
  'SELECT o->x->y[0], l[1:3], json_path_query(o, "$.x[*].y") AS q FROM demo WHERE a BETWEEN 1 AND 9 AND s IN ("a", "b")',
  'SELECT * EXCEPT(a) REPLACE(b + 1 AS b) FROM demo GROUP BY SLIDINGWINDOW(ss, 3, 2) OVER (WHEN a > 1)',
  'SELECT concat(s, cast(a, "string")), regexp_replace(s, "a+", "b"), split_value(s, ",", 0) FROM demo',
  'SELECT collect(*)[0]->a AS x, last_value(s, true), percentile_cont(a, 0.5) FROM demo GROUP BY COUNTWINDOW(3, 2)',
  'SELECT s, meta(topic), event_time() FROM demo GROUP BY STATEWINDOW(a > 1, a > 5)',
  'SELECT unnest(l) AS u, a % 3, a & 1, a | 2, a / b FROM demo WHERE s IS NOT NULL',
]

const words = [
  ...'SELECT FROM WHERE GROUP BY HAVING ORDER LIMIT AS AND OR NOT IN LIKE BETWEEN CASE WHEN THEN ELSE END IS NULL JOIN LEFT ON OVER PARTITION EXCEPT REPLACE INVISIBLE UNNEST DESC ASC FILTER'.split(
    ' ',
  ),
  ...'TUMBLINGWINDOW HOPPINGWINDOW SLIDINGWINDOW SESSIONWINDOW COUNTWINDOW STATEWINDOW ss ms hh count sum avg lag latest collect concat cast abs json_path_query meta window_end'.split(
    ' ',
  ),
  ...'demo demo2 a b s t o l `a` `__proto__` __proto__ constructor toString * ( ) [ ] , . -> : ; + - / % & | ^ = != <> < <= > >= ! -- /* */ \\ \' "x" "" "%_%" \'y\' `'.split(
    ' ',
  ),
  ...'0 1 -1 2 10 1.5 1e400 0x1 9223372036854775807 9223372036854775808 99999999999999999999 1e-400 .5 5. true false null'.split(
    ' ',
  ),
]

const rows: readonly ValueObject[] = [
  {},
  { a: 1, b: 2, s: 'x', t: true, o: { x: [{ y: 1 }] }, l: [1, 2, 3] },
  { a: 9007199254740993n, b: 0, s: 'aaaa', t: false, o: null, l: [] },
  { a: null, b: 'text', s: 5, t: 'x', o: 'no', l: { x: 1 } },
  { a: [1], b: { x: 1 }, s: '\u0000\ud800', t: 1n, o: { ['__proto__']: 1 }, l: [[1], { y: 2 }, null] },
  JSON.parse('{"__proto__":{"polluted":1},"constructor":5,"toString":"x","a":-0,"b":1e308,"s":"%_"}'),
  { a: 5, b: -1, s: 'a,b,c', t: true, o: { x: { y: [1, 2] } }, l: ['p', 'q'] },
]

const definitions = [
  'CREATE STREAM demo () WITH (DATASOURCE="d", FORMAT="json")',
  'CREATE STREAM demo2 () WITH (DATASOURCE="d2", FORMAT="json")',
]

/** Everything a statement may do; throws whatever is neither a refusal nor a row's failure. */
function attempt(sql: string, input: readonly ValueObject[] = rows): 'refused' | 'ran' {
  let run: ReturnType<typeof runStatement>
  try {
    run = runStatement({ definitions, sql })
  } catch (error) {
    if (error instanceof IxionError && error.code !== 'INTERNAL') return 'refused'
    throw new Error(`not a refusal: ${sql}`, { cause: error })
  }
  for (const stream of ['demo', 'demo2']) run.push(stream, input)
  const { received, emitted, filtered } = run.read()
  expect(received).toBeGreaterThanOrEqual(emitted + filtered - 1)
  run.stop()
  return 'ran'
}

function tokenSoup(random: () => number): string {
  const pick = (): string => words[Math.floor(random() * words.length)] as string
  const length = 1 + Math.floor(random() * 25)
  const soup = Array.from({ length }, pick).join(' ')
  return random() < 0.7
    ? `SELECT ${soup} FROM demo${random() < 0.3 ? ` WHERE ${pick()} ${pick()} ${pick()}` : ''}`
    : soup
}

function mutation(random: () => number): string {
  const parts = (valid[Math.floor(random() * valid.length)] as string).split(/(\s+|[(),[\]])/).filter((p) => p !== '')
  const changes = 1 + Math.floor(random() * 3)
  for (let i = 0; i < changes; i++) {
    const at = Math.floor(random() * parts.length)
    const other = Math.floor(random() * parts.length)
    const word = words[Math.floor(random() * words.length)] as string
    const how = Math.floor(random() * 5)
    if (how === 0) parts.splice(at, 1)
    else if (how === 1) parts.splice(at, 0, ` ${word} `)
    else if (how === 2) parts[at] = ` ${word} `
    else if (how === 3) parts.splice(at, 0, parts[other] as string)
    else parts[at] = parts[other] as string
  }
  return parts.join('')
}

describe('statements of random words', () => {
  const count = full ? 100_000 : 5000
  it.each([
    ['token soups', tokenSoup],
    ['mutations of valid statements', mutation],
  ] as const)('%s are refused or run', (name, make) => {
    const random = generator(name.length)
    let ran = 0
    for (let i = 0; i < count; i++) {
      const sql = make(random)
      const started = performance.now()
      if (attempt(sql) === 'ran') ran++
      const took = performance.now() - started
      if (took > 3000) throw new Error(`took ${took} ms: ${sql}`)
    }
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
    // Neither all nonsense nor all sense.
    expect(ran).toBeGreaterThan(count / 500)
    expect(ran).toBeLessThan(count)
  })

  it('valid ones all run', () => {
    for (const sql of valid) expect([sql, attempt(sql)]).toEqual([sql, 'ran'])
  })
})

describe('every function', () => {
  const odd: readonly Value[] = [
    ...[null, true, 0, -0, 1, -1, 1.5, Number.MAX_VALUE, 5e-324, 2 ** 53],
    ...[
      0n,
      -1n,
      2n ** 63n - 1n,
      -(2n ** 63n),
      '',
      'x',
      '\u0000',
      '\ud800',
      '%s%d%n',
      '$[',
      '(a+)+$',
      '__proto__',
      '-1',
      '1e999',
    ],
    ...[[], [1, 'x', null], [[[]]], {}, { ['__proto__']: 1, constructor: 2 }, new Uint8Array([255, 0])],
  ]
  it('given odd values returns a value or fails the row', () => {
    const random = generator(7)
    const pick = (): Value => odd[Math.floor(random() * odd.length)] as Value
    const rounds = full ? 400 : 40
    const faults: string[] = []
    for (const name of allFunctionNames()) {
      for (let count = 0; count <= 4; count++) {
        const args = ['a', 'b', 's', 't'].slice(0, count)
        const sql = `SELECT ${name}(${args.join(', ')}) AS v FROM demo`
        const input = Array.from({ length: rounds }, () => ({ a: pick(), b: pick(), s: pick(), t: pick() }))
        const started = performance.now()
        try {
          attempt(sql, input)
        } catch (error) {
          const cause = (error as Error).cause ?? error
          faults.push(`${sql}: ${cause}`)
        }
        const took = performance.now() - started
        if (took > 3000) faults.push(`${sql}: took ${took} ms`)
      }
    }
    expect(faults).toEqual([])
  })
})

function allFunctionNames(): string[] {
  return listFunctions().map((f) => f.name)
}

describe('sizes', () => {
  /** The one result of one row, or the error of the row. */
  const one = (sql: string, row: ValueObject = {}): Value => {
    const run = runStatement({ definitions, sql })
    run.push('demo', [row])
    run.stop()
    return run.emissions[0] ?? null
  }
  const bounded = (sql: string, row?: ValueObject): string => {
    const started = performance.now()
    const before = process.memoryUsage().arrayBuffers + process.memoryUsage().heapUsed
    let text: string
    try {
      text = JSON.stringify(one(sql, row), (_k, v) => (typeof v === 'bigint' ? String(v) : v)) ?? ''
    } catch (error) {
      if (!(error instanceof IxionError) && !(error instanceof RowError)) throw error
      text = `[{"error":${JSON.stringify(error.message)}}]`
    }
    expect(performance.now() - started).toBeLessThan(5000)
    expect(process.memoryUsage().arrayBuffers + process.memoryUsage().heapUsed - before).toBeLessThan(512 << 20)
    return text
  }

  it.each([
    'SELECT repeat("x", 1000000000000) AS v FROM demo',
    'SELECT repeat("xxxxxxxxxxxxxxxx", 2147483647) AS v FROM demo',
    'SELECT repeat("x", -5) AS v FROM demo',
    'SELECT lpad("x", 1000000000000) AS v FROM demo',
    'SELECT rpad("x", 9007199254740991) AS v FROM demo',
    'SELECT sequence(1, 1000000000000) AS v FROM demo',
    'SELECT sequence(1, 2, 0) AS v FROM demo',
    'SELECT array_create(1, 2)[99999999999] AS v FROM demo',
    'SELECT format(1.5, 1000000) AS v FROM demo',
    'SELECT round(1.5, 1000000) AS v FROM demo',
    'SELECT power(10, 100000) AS v FROM demo',
    'SELECT 1 << 1000000000000 AS v FROM demo',
    'SELECT indexof("a", "b", 1e308) AS v FROM demo',
    'SELECT substring("abc", -1, 1e308) AS v FROM demo',
    'SELECT numbytes("x") AS v FROM demo',
  ])('%s is refused, fails the row or is small', (sql) => {
    expect(bounded(sql).length).toBeLessThan(20 << 20)
  })

  it('aliases that use the one before twice, two hundred times over, take no longer than they are long', () => {
    const doubled = (n: number): string => Array.from({ length: n }, (_, i) => `d${i} + d${i} AS d${i + 1}`).join(', ')
    const last = JSON.parse(bounded(`SELECT a AS d0, ${doubled(200)} FROM demo WHERE d200 > 0`, { a: 1 }))
    expect(last[0].d200).toBe(2 ** 200)
    expect(bounded(`SELECT sum(a) AS d0, ${doubled(10)} FROM demo GROUP BY s, COUNTWINDOW(1)`, { a: 1 })).toContain(
      '"d10":1024',
    )
    expect(bounded(`SELECT sum(a) AS d0, ${doubled(200)} FROM demo GROUP BY s, COUNTWINDOW(1)`)).toContain(
      '50000 parts',
    )
  })

  it('a text that doubles forty times fails the row', () => {
    const doubled = Array.from({ length: 40 }, (_, i) => `concat(d${i}, d${i}) AS d${i + 1}`)
    expect(bounded(`SELECT s AS d0, ${doubled.join(', ')} FROM demo`, { s: 'x'.repeat(1000) })).toContain('error')
  })

  it('regular expressions that backtrack elsewhere answer at once', () => {
    for (const [pattern, s] of [
      ['(a+)+$', `${'a'.repeat(50_000)}!`],
      ['(a|aa)+$', `${'a'.repeat(50_000)}!`],
      ['^(([a-z])+.)+[A-Z]([a-z])+$', 'a'.repeat(20_000)],
      ['(.*)*x', 'y'.repeat(20_000)],
      ['a{1000}{1000}', 'a'],
      ['(((((a{100}){100}){100}){100}){100})', 'a'],
    ]) {
      bounded(
        `SELECT regexp_matches(s, "${pattern}") AS m, regexp_replace(s, "${pattern}", "z") AS r, regexp_substr(s, "${pattern}") AS b FROM demo`,
        { s: s as string },
      )
      bounded('SELECT regexp_matches(s, p) AS m, regexp_replace(s, p, "z") AS r FROM demo', {
        s: s as string,
        p: pattern as string,
      })
    }
  })

  it('LIKE with thousands of % answers at once, right', () => {
    const pattern = '%a'.repeat(3000)
    expect(bounded(`SELECT s LIKE "${pattern}" AS m FROM demo`, { s: `${'a'.repeat(20_000)}b` })).toBe('[{"m":false}]')
    expect(bounded(`SELECT s LIKE p AS m FROM demo`, { s: 'a'.repeat(20_000), p: `${'%_'.repeat(5000)}%` })).toBe(
      '[{"m":true}]',
    )
    expect(bounded(`SELECT s LIKE p AS m FROM demo`, { s: 'a'.repeat(20_000), p: `${'%a'.repeat(5000)}%b` })).toBe(
      '[{"m":false}]',
    )
  })

  it('IN with 20,000 values runs', () => {
    const list = Array.from({ length: 20_000 }, (_, i) => i).join(',')
    expect(bounded(`SELECT a FROM demo WHERE a IN (${list})`, { a: 19_999 })).toBe('[{"a":19999}]')
  })

  it('nesting beyond reason is refused', () => {
    for (const n of full ? [100, 1000, 100_000] : [100, 10_000]) {
      const around = (open: string, close: string, core = '1'): string =>
        `SELECT ${open.repeat(n)}${core}${close.repeat(n)} AS v FROM demo`
      for (const sql of [
        around('(', ')'),
        around('abs(', ')'),
        around('-', ''),
        around('NOT ', '', 'true'),
        around('CASE WHEN true THEN ', ' END'),
        around('', ' + 1'),
        around('', ' AND true', 'true'),
        around('', '->x', 'o'),
        around('', '[0]', 'l'),
        around('', ', a', 'a'),
        `SELECT a FROM demo${' JOIN demo2 ON demo.a = demo2.a'.repeat(n)} GROUP BY TUMBLINGWINDOW(ss, 1)`,
        '('.repeat(n),
        '['.repeat(n),
        `SELECT a FROM demo GROUP BY ${'a, '.repeat(n)} COUNTWINDOW(2)`,
      ]) {
        const started = performance.now()
        attempt(sql.slice(0, 2_000_000), [{ a: 1, o: { x: 1 }, l: [1] }])
        const took = performance.now() - started
        if (took > 4000) throw new Error(`took ${took} ms: ${sql.slice(0, 80)} n=${n}`)
      }
    }
  })

  it('very long names and texts run', () => {
    const long = 'n'.repeat(100_000)
    bounded(`SELECT \`${long}\` AS \`x${long}\`, "${long}" AS t FROM demo`, { [long]: 1 })
  })
})
