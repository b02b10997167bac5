import { describe, expect, test } from 'vitest'
import { printExpression } from '../sql/printer.ts'
import { nodeOf, plan } from './plan.fixture.ts'

const sides = (join: string) => {
  const [first] = nodeOf(plan(`SELECT d.b FROM d ${join} GROUP BY countwindow(2)`), 'join').joins
  return [first?.left, first?.right]
}

describe('sides of the first join (4.4)', () => {
  test('are the sources of ON in order of appearance', () => {
    expect(sides('LEFT JOIN e ON d.a = e.id')).toEqual(['d', 'e'])
    expect(sides('LEFT JOIN e ON e.id = d.a')).toEqual(['e', 'd'])
  })
  test('are FROM and JOIN when ON names one source, three, or none (D26)', () => {
    expect(sides('LEFT JOIN e ON e.id > 1')).toEqual(['d', 'e'])
    expect(sides('LEFT JOIN e ON true')).toEqual(['d', 'e'])
    expect(sides('LEFT JOIN e ON f.k = e.id AND d.a = 1 LEFT JOIN f ON d.a = f.k')).toEqual(['d', 'e'])
    expect(sides('CROSS JOIN e')).toEqual(['d', 'e'])
  })
  test('see through aliases', () => {
    const sql = 'SELECT e.id AS x, d.a AS y FROM d INNER JOIN e ON x = y GROUP BY countwindow(2)'
    expect(nodeOf(plan(sql), 'join').joins[0]).toMatchObject({ left: 'e', right: 'd' })
  })
})

test('scan tables keep RETAIN_SIZE rows, all of a file, else one', () => {
  const size = (options: string) => {
    const p = plan(
      'SELECT d.a FROM d INNER JOIN st ON d.a = st.id',
      {},
      {
        stream: (name) =>
          name === 'd'
            ? { kind: 'createStream', streamType: 'stream', name, fields: null, options: {} }
            : { kind: 'createStream', streamType: 'table', name, fields: null, options: JSON.parse(options) },
      },
    )
    return nodeOf(p, 'joinAlign').sizes
  }
  expect(size('{"retainSize":5,"type":"memory"}')).toEqual([5])
  expect(size('{}')).toEqual([9999])
  expect(size('{"type":"file"}')).toEqual([9999])
  expect(size('{"type":"memory"}')).toEqual([1])
})

describe('lookup joins (4.6)', () => {
  const lookup = (on: string, kind = 'INNER') =>
    nodeOf(plan(`SELECT d.a, lt.x FROM d ${kind} JOIN lt ON ${on}`), 'lookup')
  const keys = (on: string) => lookup(on).keys.map((k) => `${k.column}:${printExpression(k.value)}`)
  test('take top-level equalities of table columns as keys, either side', () => {
    expect(keys('d.a = lt.id')).toEqual(['id:d.a'])
    expect(keys('lt.id = d.a + 1 AND d.c = lt.x')).toEqual(['id:d.a + 1', 'x:d.c'])
    expect(keys('lt.id = 7')).toEqual(['id:7'])
  })
  test('evaluate everything else as a condition: repeated columns, other equalities, comparisons', () => {
    const node = lookup('lt.id = d.a AND lt.id = 7 AND d.b = d.a AND lt.x > 3')
    expect(node.keys).toHaveLength(1)
    expect(node.rest && printExpression(node.rest)).toBe('lt.id = 7 AND d.b = d.a AND lt.x > 3')
  })
  test('do not take a key whose value needs the table', () => {
    expect(() => lookup('lt.id = lt.x + 1')).toThrow('at least one equi-join predicate is required')
    expect(() => lookup('(lt.id = d.a)')).toThrow('at least one equi-join predicate is required')
  })
  test('are left or inner', () => {
    expect(lookup('d.a = lt.id', 'LEFT').join).toBe('left')
    expect(lookup('d.a = lt.id', 'FULL').join).toBe('inner')
  })
  test('run after all other joins, in text order', () => {
    const sql =
      'SELECT d.a FROM d INNER JOIN lt ON d.a = lt.id INNER JOIN e ON d.a = e.id INNER JOIN lts ON lts.k = lt.x GROUP BY countwindow(2)'
    expect(nodeOf(plan(sql), 'project').input).toMatchObject({
      kind: 'lookup',
      emitter: 'lts',
      input: { kind: 'lookup', emitter: 'lt', input: { kind: 'join' } },
    })
  })
})
