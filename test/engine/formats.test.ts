import { afterEach, describe, expect, it } from 'vitest'
import { createEngine, type Engine, imbalance, manualClock } from '../../src/engine/index.ts'
import { manualSink, manualSource, settle, withConnectors } from '../support/engine-harness.ts'

const engines: Engine[] = []
afterEach(async () => {
  for (const engine of engines.splice(0)) await engine.close()
})

async function open() {
  const source = manualSource('fed', { emits: 'bytes' })
  const sink = manualSink('watched')
  const engine = await createEngine({
    clock: manualClock(),
    connectors: withConnectors(source.connector, sink.connector),
  })
  engines.push(engine)
  return { engine, source, sink }
}

const pairs = `
exports.decode = (payload, message) => {
  const text = new TextDecoder().decode(payload)
  if (text === 'spin') for (;;) {}
  return Object.fromEntries(text.split(',').map((pair) => pair.split('=')))
}
exports.encode = (value) => Object.entries(value).map(([k, v]) => k + '=' + v).join(';')
`

describe('a custom format', () => {
  it('decodes and encodes with the registered module; a module that never ends costs one payload', async () => {
    const { engine, source, sink } = await open()
    await engine.schemas.create({ type: 'custom', name: 'pairs', content: pairs })
    await engine.execute('CREATE STREAM demo () WITH (TYPE="fed", DATASOURCE="d", FORMAT="custom", SCHEMAID="pairs")')
    await engine.createRule({
      id: 'r',
      sql: 'SELECT a, b FROM demo',
      actions: [{ watched: { format: 'custom', schemaId: 'pairs', sendSingle: true } }],
    })
    await source.json(['a=1,b=2', 'spin', 'a=3'])
    await settle()
    expect(sink.sent).toEqual(['a=1;b=2', 'a=3'])
    const { rule } = engine.ruleLedger('r')
    expect(rule).toMatchObject({ received: 3, emitted: 2, dropped: { decode_error: 1 } })
    expect(imbalance(rule)).toBe(0)
  })
})

describe('delimited and protobuf streams', () => {
  it('run through rules end to end', async () => {
    const { engine, source, sink } = await open()
    await engine.schemas.create({
      type: 'protobuf',
      name: 'out',
      content: 'syntax = "proto3"; message Reading { string id = 1; double temp = 2; }',
    })
    await engine.execute(
      `CREATE STREAM demo (id STRING, temp STRING) WITH (TYPE="fed", DATASOURCE="d", FORMAT="delimited", DELIMITER=";", EXTRA="{\\"fields\\":[\\"id\\",\\"temp\\"]}")`,
    )
    await engine.createRule({
      id: 'r',
      sql: 'SELECT id, cast(temp, "float") AS temp FROM demo',
      actions: [{ watched: { format: 'protobuf', schemaId: 'out.Reading', sendSingle: true } }],
    })
    await source.json(['dev_1;21.5'])
    await settle()
    expect(
      Buffer.from(sink.sent[0] as string, 'utf8')
        .subarray(0, 7)
        .toString(),
    ).toBe('\n\u0005dev_1')
  })
})

describe('rows fed into a stream', () => {
  const text = new TextEncoder()
  it.each([
    ['a connector that delivers rows', 'TYPE="memory", DATASOURCE="m"'],
    ['a delimited stream', 'TYPE="fed", DATASOURCE="d", FORMAT="delimited", DELIMITER=";"'],
    ['a JSON stream', 'TYPE="fed", DATASOURCE="d", FORMAT="json"'],
    ['a shared stream', 'TYPE="memory", DATASOURCE="m", SHARED="true"'],
  ])('reach the rules of %s', async (_what, options) => {
    const { engine, sink } = await open()
    await engine.execute(`CREATE STREAM demo () WITH (${options})`)
    await engine.createRule({ id: 'r', sql: 'SELECT a FROM demo', actions: [{ watched: { sendSingle: true } }] })
    await settle()
    await engine.push('demo', text.encode('[{"a":1},{"a":12345678901234567890}]'))
    await settle()
    expect(sink.sent).toEqual(['{"a":1}', '{"a":12345678901234567890}'])
    expect(engine.ruleLedger('r').rule).toMatchObject({ received: 2, emitted: 2 })
  })
})

describe('a temporary rule', () => {
  it('is restarted from its document in memory', async () => {
    const { engine } = await open()
    await engine.execute('CREATE STREAM demo () WITH (TYPE="memory", DATASOURCE="m")')
    await engine.createRule({ id: 'r', temp: true, sql: 'SELECT * FROM demo', actions: [{ watched: {} }] })
    await engine.restartRule('r')
    expect(engine.ruleStatus('r').status).toBe('running')
  })
})
