import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { testFunctions } from '../../test/support/sql-functions.ts'
import { IxionError } from '../core/errors.ts'
import type { Expression, Statement } from './ast.ts'
import { describeDefinition } from './definition.ts'
import { explainExpression } from './explain.ts'
import { parseExpression, parseSelect, parseStatement, parseStatements } from './index.ts'
import { printExpression, printStatement } from './printer.ts'
import { mapExpression } from './walk.ts'

const options = { functions: testFunctions }

/** Parses; what is accepted must print and parse again. Anything thrown must be an IxionError with a place. */
function survives(text: string): void {
  let statements: Statement[]
  try {
    statements = parseStatements(text, options)
  } catch (error) {
    expect(error).toBeInstanceOf(IxionError)
    expect((error as IxionError).line).toBeGreaterThan(0)
    expect((error as IxionError).column).toBeGreaterThan(0)
    return
  }
  for (const s of statements) {
    expect(parseStatement(printStatement(s), options).kind).toBe(s.kind)
    if (s.kind === 'createStream') describeDefinition(s)
  }
}

const words =
  'SELECT FROM WHERE GROUP BY HAVING ORDER LIMIT JOIN LEFT OUTER CROSS ON AS AND OR NOT IN BETWEEN LIKE IS NULL CASE WHEN THEN ELSE END OVER PARTITION FILTER EXCEPT REPLACE INVISIBLE TRUE ss a b t . t.a * count( lag( meta( changed_cols( tumblingwindow( ss, 10) countwindow(2) ( ) [ ] [1:2] , ; : + - -> / % & | ^ = != <> < > ! 1 1.5 .5 1.2.3 "x" \'y\' "open `b c` $ -- /* */ CREATE STREAM TABLE WITH DATASOURCE="x" BIGINT ARRAY( STRUCT( DEFAULT SHOW STREAMS DROP DESCRIBE'.split(
    ' ',
  )

describe('random input', () => {
  test('token soup', () => {
    const soup = fc.array(fc.constantFrom(...words), { maxLength: 25 }).map((list) => list.join(' '))
    fc.assert(
      fc.property(soup, (text) => {
        survives(text)
        survives(`SELECT ${text} FROM t`)
        survives(`SELECT a FROM t WHERE ${text}`)
        survives(`CREATE STREAM s (${text}) WITH ()`)
      }),
      { numRuns: 1500 },
    )
  })

  test('random text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 60 }), (text) => {
        survives(text)
        survives(`SELECT ${text}`)
        survives(`SELECT "${text}", \`${text}\`, '${text}' FROM t`)
      }),
      { numRuns: 500 },
    )
  })

  test('random bytes read as Latin-1', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 80 }), (bytes) => {
        survives(String.fromCharCode(...bytes))
      }),
      { numRuns: 500 },
    )
  })
})

describe('limits', () => {
  const refused = (parse: () => unknown): string => {
    try {
      parse()
    } catch (error) {
      expect(error).toBeInstanceOf(IxionError)
      return (error as IxionError).message
    }
    return 'accepted'
  }

  test.each([
    ['parentheses', '('],
    ['calls', 'abs('],
    ['brackets', 'a['],
    ['CASE', 'CASE WHEN '],
    ['IN lists', 'a IN ('],
    ['alternating operators', 'a OR b AND c = d + e * ('],
    ['REPLACE', '* REPLACE('],
    ['OVER', 'lag(a) OVER (WHEN '],
  ])('100,000 nested %s', (_, piece) => {
    expect(refused(() => parseExpression(piece.repeat(100_000).slice(0, 1_000_000), options))).toMatch(/500 levels/)
  })

  test('100,000 nested types', () => {
    expect(refused(() => parseStatement(`CREATE STREAM a (b ${'ARRAY('.repeat(100_000)}`, options))).toMatch(
      /500 levels/,
    )
    expect(refused(() => parseStatement(`CREATE STREAM a (b ${'STRUCT(a '.repeat(90_000)}`, options))).toMatch(
      /500 levels/,
    )
  })

  test.each([' + a', ' OR a', '->a', '[0]', '.a', ' IS NULL', ' LIKE a'])('100,000 times%s', (piece) => {
    expect(refused(() => parseSelect(`SELECT a${piece.repeat(100_000)} FROM t`, options))).toMatch(/1000 levels/)
    const window = `SELECT a FROM t GROUP BY statewindow(a${piece.repeat(100_000)})`
    expect(refused(() => parseSelect(window, options))).toMatch(/1000 levels/)
  })

  test('more than a megabyte of text', () => {
    expect(refused(() => parseStatement(' '.repeat(1_048_577), options))).toMatch(/at most 1048576/)
  })

  test('what is just within the limits goes through every pass', () => {
    const chain = parseExpression(`a${' + 1'.repeat(999)}`, options)
    const nested = parseExpression(`${'('.repeat(499)}a${')'.repeat(499)}`, options)
    const calls = parseExpression(`${'abs('.repeat(499)}a${')'.repeat(499)}`, options)
    for (const e of [chain, nested, calls]) {
      expect(printExpression(mapExpression(e, (part: Expression) => part)).length).toBeGreaterThan(900)
      expect(explainExpression(e).length).toBeGreaterThan(900)
    }
    expect(parseSelect(`SELECT a FROM t WHERE a IN (${'1, '.repeat(100_000)}1)`, options).where?.kind).toBe('in')
  })

  test('many statements, sources and comments take linear time', () => {
    expect(parseStatements('SELECT a FROM b;'.repeat(20_000), options).length).toBe(20_000)
    expect(parseSelect(`SELECT a FROM b${'/*x*/'.repeat(100_000)}${'\n--y'.repeat(100_000)}`, options).from.name).toBe(
      'b',
    )
    expect(parseSelect(`SELECT a FROM ${'a/'.repeat(300_000)}`, options).from.name.length).toBe(600_000)
  })
})

test('names of the prototype are plain names', () => {
  const sql = 'SELECT `__proto__`, constructor, toString FROM hasOwnProperty WHERE valueOf = 1'
  expect(parseSelect(sql, options).fields.map((f) => f.name)).toEqual(['__proto__', 'constructor', 'toString'])
  for (const name of ['constructor', '__proto__', 'toString']) {
    expect(() => parseExpression(`\`${name}\`(1)`, options)).toThrow(`function ${name} not found`)
    expect(() => parseStatement(`CREATE STREAM a () WITH (\`${name}\`="x")`, options)).toThrow('unknown option keys')
    expect(() => parseStatement(`CREATE STREAM a (b \`${name}\`) WITH ()`, options)).toThrow('valid stream field types')
  }
})
