import { describe, expect, test } from 'vitest'
import { testFunctions } from '../../test/support/sql-functions.ts'
import { IxionError } from '../core/errors.ts'
import type { Expression, SelectStatement } from './ast.ts'
import { explainExpression } from './explain.ts'
import { parseExpression, parseSelect, parseStatement, parseStatements, statementVerb } from './index.ts'
import { printExpression } from './printer.ts'

const options = { functions: testFunctions }
const select = (text: string): SelectStatement => parseSelect(text, options)
const explained = (text: string): string => explainExpression(parseExpression(text, options))
const failure = (parse: () => unknown): IxionError => {
  try {
    parse()
  } catch (error) {
    if (error instanceof IxionError) return error
    throw error
  }
  throw new Error('nothing was thrown')
}

describe('errors of SELECT, with their place', () => {
  const cases: [sql: string, message: string, line: number, column: number][] = [
    ['SELECT a b FROM d', 'found "b", expected FROM.', 1, 10],
    ['SELECT FROM d', 'found "FROM", expected expression.', 1, 8],
    ['SELECT a,\n FROM d', 'found "FROM", expected expression.', 2, 2],
    ['SELECT count( FROM d', 'found "FROM", expected expression.', 1, 15],
    ['SELECT a FROM d WHERE', 'found "EOF", expected expression.', 1, 22],
    ['SELECT a FROM d ORDER a', 'found "a", expected BY keyword.', 1, 23],
    ['SELECT a FROM d GROUP a', 'found "a", expected BY statement.', 1, 23],
    ['SELECT (a FROM d', 'found "FROM", expected right paren.', 1, 11],
    ['SELECT a FROM d INNER e ON a = b', 'found "INNER", expected JOIN key word.', 1, 17],
    ['SELECT lag(a) OVER() FROM d', 'Found ")" after OVER (, expect partition by or when.', 1, 20],
    [
      'SELECT lag(a) OVER(WHEN a>1 PARTITION BY b) FROM d',
      'Found "PARTITION", expect right parentheses after OVER ',
      1,
      29,
    ],
    [
      'SELECT CASE WHEN a THEN 1 END FROM d',
      'invalid CASE expression, WHEN expression must be a bool condition',
      1,
      18,
    ],
    ['SELECT CASE WHEN a>1 1 END FROM d', 'invalid CASE expression, THEN expected after WHEN', 1, 22],
    ['SELECT CASE a WHEN 1 THEN 2 ELSE 3 FROM d', 'invalid CASE expression, END expected', 1, 36],
    ['SELECT CASE a ELSE 3 END FROM d', 'invalid CASE expression, WHEN expected before ELSE', 1, 15],
    ['SELECT CASE a END FROM d', 'invalid CASE expression, WHEN expected before END', 1, 15],
    ['SELECT CASE ELSE 1 END FROM d', 'found "ELSE", expected expression.', 1, 13],
    ['SELECT a FROM d WHERE a IN ()', 'expect elements for IN expression, but found ")", expected expression.', 1, 29],
    ['SELECT a FROM d WHERE a BETWEEN 1+2 AND 5', 'expect AND expression after between but found +', 1, 34],
    ['SELECT DISTINCT a FROM d', 'found "a", expected FROM.', 1, 17],
    ['UPDATE d', 'Found "UPDATE", Expected SELECT.\n', 1, 1],
    ['SELECT abs(a b) FROM d', 'found function call "abs", expected ), but with "b".', 1, 14],
    ['SELECT foo(a) FROM d', 'function foo not found', 1, 8],
    ['SELECT abs(1, 2) FROM d', 'validate function abs error: Expect 1 arguments but found 2.', 1, 8],
    [
      'SELECT abs(a > 1) FROM d',
      'validate function abs error: Expect number - float or int type for parameter 1',
      1,
      8,
    ],
    ['SELECT meta("a") FROM d', 'validate function meta error: Expect meta reference type for parameter 1', 1, 8],
    ['SELECT abs(a) OVER (PARTITION BY b) FROM d', 'Found OVER after non analytic function abs', 1, 15],
    ['SELECT count(*) FILTER(WHERE a > 1) FROM d', 'found "FILTER", expected FROM.', 1, 17],
    ['SELECT * AS x FROM d', 'alias is not supported for *', 1, 10],
    ['SELECT a AS FROM d', 'found "FROM", expected as alias.', 1, 13],
    ['SELECT a FROM d LIMIT 1.5', 'limit should be integer', 1, 23],
    ['SELECT a FROM d ORDER BY 1', 'found "1", expected EOF.', 1, 26],
    ['SELECT a FROM d x', 'found "x", expected EOF.', 1, 17],
    ['SELECT a FROM d CROSS JOIN e ON a = b', 'On expression is not required for cross join type.\n', 1, 30],
    ['SELECT -a FROM d', 'found "-", expected expression.', 1, 8],
    ['SELECT a - .5 FROM d', 'found "-.5", expected FROM.', 1, 10],
    ['SELECT 1.2.3 FROM d', 'found "1.2.3", invalid number value.', 1, 8],
    ['SELECT a == 1 FROM d', 'found "=", expected expression.', 1, 11],
    ['SELECT a NOT x FROM d', 'found "x", expected expression', 1, 14],
    ['SELECT "a\\d" FROM d', 'found "invalid string: \\"a\\\\d\\"", expected expression.', 1, 8],
    ['SELECT "a FROM d', 'found "\\"a FROM d", expected expression.', 1, 8],
    ["SELECT 'a FROM d", 'found "\\"a FROM d", expected expression.', 1, 8],
    ['SELECT "\\\'" FROM d', 'found "invalid string: \\"\\\\\'\\"", expected expression.', 1, 8],
    ['SELECT $a FROM d', 'found "", expected expression.', 1, 8],
    ['SELECT a /* never closed', 'found "", expected FROM.', 1, 25],
    ['SELECT tumblingwindow(ss, 1) FROM d', 'window tumblingwindow can only be an item of GROUP BY', 1, 8],
    ['SELECT dedup_trigger(a, b, c) FROM d', 'dedup_trigger function should have 4 arguments', 1, 8],
    ['SELECT dedup_trigger(a, 1, c, 2) FROM d', 'dedup_trigger function should have fieldRef as the 2 argument', 1, 8],
    [
      'SELECT dedup_trigger(a, b, c, d) FROM d',
      'dedup_trigger function should have integer as the fourth argument',
      1,
      8,
    ],
  ]
  test.each(cases)('%s', (sql, message, line, column) => {
    const error = failure(() => select(sql))
    expect(error.message).toBe(message)
    expect([error.code, error.line, error.column]).toEqual(['SQL_SYNTAX', line, column])
  })
})

test('functions of native code are named as such', () => {
  const { message, hint } = failure(() => select('SELECT onnx("m", a) FROM d'))
  expect(message).toBe('function onnx not found')
  expect(hint).toContain('native code')
})

describe('errors of windows', () => {
  const cases: [group: string, message: string][] = [
    ['tumblingwindow(ss)', 'The arguments for tumblingwindow should be 2.\n'],
    ['slidingwindow(ss)', 'The arguments for slidingwindow should be 2 or 3.\n'],
    [
      'tumblingwindow(1, 2)',
      'The 1st argument for tumblingwindow is expecting timer literal expression. One value of [dd|hh|mi|ss|ms].\n',
    ],
    ['tumblingwindow(ss, a)', 'The 1 argument for tumblingwindow is expecting interger literal expression. \n'],
    ['tumblingwindow(ss, 0)', 'The 1 argument for tumblingwindow should be greater than 0.\n'],
    ['hoppingwindow(ss, 2, -1)', 'The 2 argument for hoppingwindow should be greater than 0.\n'],
    ['countwindow(0)', 'Invalid parameter value 0.'],
    ['countwindow(2, 3)', 'The second parameter value 3 should be less than the first parameter 2.'],
    ['countwindow(x, y)', 'Invalid parameter value $$default.x, $$default.y.'],
    ['countwindow(1, 2, 3)', 'Invalid parameter count.'],
    ['statewindow()', 'The arguments for statewindow should be 1 or 2.\n'],
    ['countwindow(3) FILTER(a > 1)', 'Found "a" after FILTER(, expect WHERE.'],
    ['countwindow(3) FILTER(WHERE a > 1', 'Found "EOF" after FILTER, expect right parentheses.'],
    ['countwindow(3) FILTER x', 'Found "x" after FILTER, expect parentheses.'],
    ['countwindow(3) OVER x', 'Found "x" after OVER, expect parentheses.'],
    ['countwindow(3) OVER (a)', 'Found "a" after OVER, expect right parentheses.'],
    ['countwindow(3) OVER (WHEN a > 1) FILTER(WHERE a > 1)', 'found "FILTER", expected EOF.'],
    [
      'count(*), countwindow(3)',
      'Not allowed to call aggregate functions in GROUP BY clause: Call:{ name:count, args:[*] }.',
    ],
    [
      'countwindow(3) FILTER(WHERE count(*) > 1)',
      'Not allowed to call aggregate functions in GROUP BY clause: window:{ windowType:COUNT_WINDOW, binaryExpr:{ Call:{ name:count, args:[*] } > 1 } }.',
    ],
    ['unnest(a)', "select statement shouldn't has srf except fields"],
    ['row_number()', 'window functions can only be in select fields'],
  ]
  test.each(cases)('GROUP BY %s', (group, message) => {
    expect(failure(() => select(`SELECT a FROM d GROUP BY ${group}`)).message).toBe(message)
  })

  test('checks also run when the text ends with a semicolon', () => {
    expect(failure(() => select('SELECT a FROM d GROUP BY count(*);')).message).toContain('Not allowed')
  })
})

describe('windows', () => {
  test('of several the first counts, and other items stay dimensions', () => {
    const s = select('SELECT a FROM d GROUP BY a, SLIDINGWINDOW(mi, 3, 2), countwindow(4), b')
    expect(s.window).toMatchObject({ kind: 'sliding', unit: 'mi', length: 3, interval: 0, delay: 2 })
    expect(s.dimensions.map(printExpression)).toEqual(['a', 'b'])
  })

  test('take FILTER, then OVER with WHEN and PARTITION BY', () => {
    const s = select(
      'SELECT a FROM d GROUP BY statewindow(a > 1, a > 5) FILTER(WHERE b = 1) OVER (WHEN c = 2 PARTITION BY x, y)',
    )
    const w = s.window
    expect(w && [w.begin, w.emit, w.filter, w.when].map((e) => e && printExpression(e))).toEqual([
      'a > 1',
      'a > 5',
      'b = 1',
      'c = 2',
    ])
    expect(w?.partition.map(printExpression)).toEqual(['x', 'y'])
  })
})

describe('precedence', () => {
  const cases: [text: string, tree: string][] = [
    ['a & 1 = 1', 'binaryExpr:{ binaryExpr:{ $$default.a & 1 } = 1 }'],
    ['a * b->c', 'binaryExpr:{ binaryExpr:{ $$default.a * $$default.b } -> jsonFieldName:c }'],
    ['a * b[0]', 'binaryExpr:{ binaryExpr:{ $$default.a * $$default.b }[0] }'],
    ['a * b.c', 'binaryExpr:{ $$default.a * b.c }'],
    ['a * b.c.d', 'binaryExpr:{ binaryExpr:{ $$default.a * b.c } -> jsonFieldName:d }'],
    ['1 - 2 - 3', 'binaryExpr:{ binaryExpr:{ 1 - 2 } - 3 }'],
    ['1 + 2 * 3', 'binaryExpr:{ 1 + binaryExpr:{ 2 * 3 } }'],
    [
      'a = 1 OR b = 2 AND c = 3',
      'binaryExpr:{ binaryExpr:{ $$default.a = 1 } OR binaryExpr:{ binaryExpr:{ $$default.b = 2 } AND binaryExpr:{ $$default.c = 3 } } }',
    ],
    ['a -1', 'binaryExpr:{ $$default.a - 1 }'],
    ['a < = 1', 'binaryExpr:{ $$default.a <= 1 }'],
    ['a ! 1', 'binaryExpr:{ $$default.a = 1 }'],
    ['a - > b', 'binaryExpr:{ $$default.a -> jsonFieldName:b }'],
    ['a <> 1', 'binaryExpr:{ $$default.a != 1 }'],
    ['a IN b.c', 'binaryExpr:{ $$default.a IN b.c }'],
    ['a NOT IN (1, 2)', 'binaryExpr:{ $$default.a NOT IN valueSetExpr:{ literalExprs:[1, 2] } }'],
    ['a + 1 NOT BETWEEN 1 AND 2', 'binaryExpr:{ binaryExpr:{ $$default.a + 1 } NOT BETWEEN betweenExpr:{ 1, 2 } }'],
    ['a LIKE "x%"', 'binaryExpr:{ $$default.a LIKE likePattern:^x.*$ }'],
    ['a[]', 'binaryExpr:{ $$default.a[ColonExpr:{ start:{ 0 }, end:{ -2147483648 } }] }'],
    ['a[-1]', 'binaryExpr:{ $$default.a[-1] }'],
    ['a[1+1:]', 'binaryExpr:{ $$default.a[ColonExpr:{ start:{ binaryExpr:{ 1 + 1 } }, end:{ -2147483648 } }] }'],
    [
      'a IS NOT NULL AND b is null',
      'binaryExpr:{ binaryExpr:{ $$default.a IS NOT NULL } AND binaryExpr:{ $$default.b IS NULL } }',
    ],
    ['99999999999999999999', '9223372036854775807'],
    ['- 99999999999999999999', '-9223372036854775808'],
    ['-. 5', '-0.5'],
    ['1.', '1'],
  ]
  test.each(cases)('%s', (text, tree) => {
    expect(explained(text)).toBe(tree)
  })
})

describe('strings', () => {
  const value = (text: string) => (parseExpression(text, options) as { value: string }).value
  test.each([
    [String.raw`"a\tb\x41\101\u0041\U0001F600"`, 'a\tbAAA😀'],
    [String.raw`'it\'s "quoted"'`, 'it\'s "quoted"'],
    [String.raw`'abc\''`, "abc'"],
    [String.raw`'a\\'`, 'a\\'],
    [String.raw`"\xe4\xbd\xa0"`, '你'],
  ])('%s', (text, expected) => {
    expect(value(text)).toBe(expected)
  })

  test.each([String.raw`"\400"`, String.raw`"\ud800"`, String.raw`"\U00110000"`, '"a\nb"', String.raw`'\d'`])(
    '%s is refused',
    (text) => {
      expect(failure(() => value(text)).message).toContain('invalid string')
    },
  )
})

describe('names', () => {
  test('a qualifier that is no source is a struct access, named after the member', () => {
    const s = select('SELECT x.y, t.b, x->y, meta(m.k), meta(t.k) FROM demo AS t')
    expect(s.fields.map((f) => [f.name, explainExpression(f.expression)])).toEqual([
      ['y', 'binaryExpr:{ $$default.x -> jsonFieldName:y }'],
      ['b', 't.b'],
      ['kuiper_field_0', 'binaryExpr:{ $$default.x -> jsonFieldName:y }'],
      [
        'meta',
        'Call:{ name:meta, args:[binaryExpr:{ metaRef:{ streamName:$$default, fieldName:m } -> jsonFieldName:k }] }',
      ],
      ['meta', 'Call:{ name:meta, args:[metaRef:{ streamName:t, fieldName:k }] }'],
    ])
  })

  test('unnamed fields are numbered, aliased ones do not count', () => {
    const s = select('SELECT a+1, 2 AS two, 3, COUNT(*), ceiling(a), myFunc(a), * FROM d')
    expect(s.fields.map((f) => f.name)).toEqual([
      'kuiper_field_0',
      '',
      'kuiper_field_1',
      'count',
      'ceiling',
      'myFunc',
      '',
    ])
  })

  test('null is a literal unless it is in backticks, qualified or opened up', () => {
    const kinds = ['null', 'NULL', '`null`', 't.null', 'null->a', 'null[0]', 'coalesce(null, 1)'].map((text) => {
      const e: Expression = parseExpression(text, options)
      return e.kind
    })
    expect(kinds).toEqual(['null', 'null', 'column', 'column', 'member', 'index', 'call'])
    expect(select('SELECT null, NULL, `null` FROM d').fields.map((f) => f.name)).toEqual(['null', 'NULL', 'null'])
  })

  test('source names may be topics, and blanks between their parts vanish', () => {
    const s = select('SELECT a FROM /a/+/b/# AS t INNER JOIN a / b ON x = y')
    expect([s.from, s.joins[0]?.source]).toMatchObject([
      { name: '/a/+/b/#', alias: 't' },
      { name: 'a/b', alias: null },
    ])
  })

  test('t.* takes EXCEPT and REPLACE', () => {
    expect(select('SELECT t.* EXCEPT(a) REPLACE(b + 1 AS b) FROM t').fields[0]?.expression).toMatchObject({
      kind: 'wildcard',
      stream: 't',
      except: ['a'],
      replace: [{ name: 'b' }],
    })
  })
})

test('joins: bare JOIN is INNER, OUTER may be written', () => {
  const s = select('SELECT a FROM d JOIN e ON a = b LEFT OUTER JOIN f FULL JOIN g CROSS JOIN h')
  expect(s.joins.map((j) => j.kind)).toEqual(['inner', 'left', 'full', 'cross'])
})

test('CASE WHEN takes conditions in parentheses and calls', () => {
  expect(explained('CASE WHEN (a > 1) THEN 1 WHEN isNull(a) THEN 2 END')).toContain('whenClause')
})

test('calls are numbered in parse order, inner first', () => {
  const ids: number[] = []
  const s = select('SELECT abs(abs(a)), lag(a) OVER (WHEN abs(b) > 1) FROM d')
  for (const f of s.fields) {
    const walk = (e: Expression): void => {
      if (e.kind !== 'call') return
      ids.push(e.id)
      for (const arg of e.args) walk(arg)
    }
    walk(f.expression)
  }
  expect(ids).toEqual([1, 0, 2])
})

test('deduplicate sees the whole row as a hidden first argument', () => {
  expect(explained('deduplicate(a, true)')).toBe('Call:{ name:deduplicate, args:[*, $$default.a, true] }')
})

test('comments stand anywhere, also in front', () => {
  expect(select('-- one\n/* two **/ SELECT a, -- three\n b FROM d').fields.length).toBe(2)
  expect(explained('a - -1\n + 2')).toBe('binaryExpr:{ $$default.a + 2 }')
})

describe('several statements', () => {
  test('are split at semicolons, empty ones left out', () => {
    expect(parseStatements(';SELECT a FROM b;; SHOW STREAMS ;\n-- end', options).map((s) => s.kind)).toEqual([
      'select',
      'show',
    ])
  })
  test('a single one ignores what follows the semicolon', () => {
    expect(parseStatement('DROP STREAM a; nonsense', options)).toEqual({ kind: 'drop', what: 'stream', name: 'a' })
  })
  test('the verb is known without parsing the rest', () => {
    expect([statementVerb(' /* x */ select !'), statementVerb('grant'), statementVerb('')]).toEqual([
      'SELECT',
      null,
      null,
    ])
  })
})
