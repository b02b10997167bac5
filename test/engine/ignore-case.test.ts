import { afterEach, expect, it } from 'vitest'
import { createEngine, type Engine, manualClock } from '../../src/engine/index.ts'
import { manualSource, settle, withConnectors } from '../support/engine-harness.ts'

let engine: Engine
afterEach(() => engine.close())

const payload = '{"abc":5,"Other":{"X":1}}'

async function results(schema: string, type: string, sql: string): Promise<unknown[]> {
  const source = manualSource('fed', { emits: 'bytes' })
  engine = await createEngine({
    clock: manualClock(),
    ignoreCase: true,
    connectors: withConnectors(source.connector),
  })
  await engine.execute(`CREATE STREAM demo ${schema} WITH (TYPE="${type}", DATASOURCE="d")`)
  const found: unknown[] = []
  await engine.query({ sql, onResult: (rows) => void found.push(...rows) })
  if (type === 'fed') await source.json([payload])
  else await engine.feedRows('demo', [JSON.parse(payload)])
  await settle()
  return found
}

const schemas = ['()', '(Abc FLOAT, OTHER STRUCT(X FLOAT))']
const cases = schemas.flatMap((schema) => ['fed', 'memory'].map((type) => ({ schema, type })))

it.each(cases)('columns match whatever their case, and keep the case of the statement: $schema, $type', async (c) => {
  const sql = 'SELECT ABC, other->X AS x FROM demo WHERE aBC > 1'
  expect(await results(c.schema, c.type, sql)).toEqual([{ ABC: 5, x: 1 }])
})

it.each(cases)('aggregates and windows find them, too: $schema, $type', async (c) => {
  const sql = 'SELECT sum(ABC) AS total, abc FROM demo GROUP BY aBc, COUNTWINDOW(1)'
  expect(await results(c.schema, c.type, sql)).toEqual([{ total: 5, abc: 5 }])
})

it('the exact name wins', async () => {
  engine = await createEngine({ clock: manualClock(), ignoreCase: true })
  await engine.execute('CREATE STREAM demo () WITH (TYPE="memory", DATASOURCE="d")')
  const found: unknown[] = []
  await engine.query({ sql: 'SELECT *, A + 1 AS b FROM demo', onResult: (rows) => void found.push(...rows) })
  await engine.feedRows('demo', [{ a: 1, A: 2 }])
  expect(found).toEqual([{ a: 1, A: 2, b: 3 }])
})
