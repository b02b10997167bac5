import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { values } from '../../../test/support/arbitrary-values.ts'
import { RowError } from '../errors.ts'
import type { Value } from '../values.ts'
import { compileJsonPath } from './index.ts'

const query = (path: string, data: Value): Value => compileJsonPath(path).evaluate(data)

const store: Value = {
  book: [
    { title: 'A', price: 8.95, tags: ['x', 'y'] },
    { title: 'B', price: 12 },
    { title: 'C', price: 3, stock: 1n },
  ],
  zero: 0,
  'arm.left': 'shield',
}

describe('paths of plain selectors give the value', () => {
  test.each([
    ['$.book[1].title', 'B'],
    ['$["arm.left"]', 'shield'],
    ["$['arm.left']", undefined],
    ['$.book[2].stock', 1n],
    ['$', store],
    ['zero', 0],
    ['book[0].tags[1]', 'y'],
    ['absent', null],
  ])('%s', (path, expected) => {
    if (expected === undefined) expect(() => query(path, store)).toThrow('could not parse string')
    else expect(query(path, store)).toEqual(expected)
  })

  test.each([
    ['$.absent', 'unknown key absent'],
    ['$.book[3]', 'index 3 out of bounds'],
    ['$.book[-1]', 'index -1 out of bounds'],
    ['$.book.title', 'could not select value, invalid key: expected number but got title (string)'],
    ['$.zero.x', 'unsupported value type float64 for select, expected map[string]interface{} or []interface{}'],
  ])('%s fails', (path, message) => {
    expect(() => query(path, store)).toThrow(message)
  })
})

describe('from the first wildcard on paths give what fits', () => {
  test.each([
    ['$.book[*].title', ['A', 'B', 'C']],
    ['$.book[0:2].title', ['A', 'B']],
    ['$.book[-1:].title', ['C']],
    ['$.book[::2].title', ['A', 'C']],
    ['$.book[::-1].title', ['C', 'B', 'A']],
    ['$.book[2:1].title', []],
    ['$.book[0,2].title', ['A', 'C']],
    ['$.book[?(@.price > 5)].title', ['A', 'B']],
    ['$.book[? @.tags].title', []],
    ['$.book[?(@.title == "C" || @.price == 12)].title', ['B', 'C']],
    ['$..tags', [['x', 'y']]],
    ['$..title', ['A', 'B', 'C']],
    ['$.book[*].absent', []],
    ['$.absent[*]', []],
    ['$.zero[*]', []],
  ])('%s', (path, expected) => {
    expect(query(path, store)).toEqual(expected)
  })
})

describe('expressions', () => {
  test.each([
    ['$.book[0].price + 1', 9.95],
    ['1 + 2 * 3 ** 2', 19],
    ['(1 + 2) * 3', 9],
    ['-$.book[1].price', -12],
    ['$.zero == 0 ? "none" : "some"', 'none'],
    ['$.zero ?? 7', 7],
    ['"a" + 1', 'a1'],
    ['"12" * 2', 24],
    ['$.book[2].stock == 1', true],
    ['"C" in $.book[*].title', true],
    ['!true || false', false],
    ['6 & 3', 2],
    ['{"t": $.book[0].title, "n": [1, $.zero]}', { t: 'A', n: [1, 0] }],
    ['{#: $.book[*].title}', { '$["0"]': 'A', '$["1"]': 'B', '$["2"]': 'C' }],
    ['{#0: $.book[*].price}', { 0: 8.95, 1: 12, 2: 3 }],
  ])('%s', (path, expected) => {
    expect(query(path, store)).toEqual(expected)
  })
})

describe('malformed paths are refused with their place', () => {
  test.each([
    ['', 'parsing error: \t - 1:1 unexpected EOF while scanning extensions'],
    ['$.[', 'parsing error: $.[\t:1:3 - 1:4 unexpected "[" while scanning JSON select expected Ident, "." or "*"'],
    ['$.a b', 'parsing error: $.a b\t:1:5 - 1:6 unexpected Ident while scanning operator'],
    ['1 - "x"', 'invalid operation (float64) - (string)'],
    ['$[1:2:3:4]', 'range query has at least the parameter [min:max:step]'],
    ['#', 'JSONPath placeholder must only be used in an JSON object key'],
    [`${'('.repeat(1000)}1`, 'maximum parse depth exceeded'],
    ['-'.repeat(1000), 'maximum parse depth exceeded'],
  ])('%s', (path, message) => {
    expect(() => compileJsonPath(path)).toThrow(message)
  })
})

test('data may be JSON text; other kinds are refused', () => {
  expect(query('$.a[1]', '{"a":[1,2]}')).toBe(2)
  expect(() => query('$.a', 'no json')).toThrow("data 'no json' is not a valid json string")
  expect(() => query('$.a', 5)).toThrow('invalid data 5 for jsonpath')
  expect(() => query('$.a', null)).toThrow('invalid data nil for jsonpath')
})

test('names that objects inherit are not members', () => {
  for (const name of ['constructor', '__proto__', 'toString', 'hasOwnProperty']) {
    expect(() => query(`$.${name}`, {})).toThrow(`unknown key ${name}`)
    expect(() => query(`$["${name}"]`, {})).toThrow(`unknown key ${name}`)
    expect(query(name, {})).toBe(null)
    expect(query(`{"${name}": 1}`, {})).toEqual(JSON.parse(`{"${name}": 1}`))
  }
  expect(query('$.__proto__', JSON.parse('{"__proto__": 1}'))).toBe(1)
})

test('descending stops at a depth instead of exhausting the stack', () => {
  let deep: Value = []
  for (let i = 0; i < 600; i++) deep = [deep]
  expect(() => query('$..*', deep)).toThrow('levels deep')
})

test('=~ needs a regular expression engine from the caller', () => {
  const regexp = (source: string) => (text: string) => text.includes(source)
  expect(compileJsonPath('$.book[?(@.title =~ "A")].title', { regexp }).evaluate(store)).toEqual(['A'])
  expect(() => compileJsonPath('"a" =~ "b"')).toThrow('regular expressions are not available here')
})

test('random paths over random data fail with RowError only', () => {
  const part = fc.constantFrom(
    ...['.a', '[0]', '[-1]', '["a"]', '[*]', '.*', '..a', '..*', '[1:]', '[::0]', '[?(@.a > 1)]', '(@.a)', '[0,"a"]'],
    ...[' + 1', ' == $', ' ? 1 : 2', ' in [1]', ' && true', ' << 70', ' ** 9', '[', ']', ')', '"', '#', '.constructor'],
  )
  fc.assert(
    fc.property(fc.array(part, { maxLength: 5 }), values, (parts, data) => {
      try {
        query(`$${parts.join('')}`, data)
      } catch (error) {
        expect(error).toBeInstanceOf(RowError)
      }
    }),
    { numRuns: 500 },
  )
})
