/** Statuses, bodies and headers of spec/rest-api.md 13.2, over HTTP on a server in the test process. */
import { createSign, generateKeyPairSync } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type RestServer, startRestServer } from '../support/rest-server.ts'

let folder: string
let server: RestServer

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'ixion-wire-'))
  server = await startRestServer({ dataDir: join(folder, 'data'), etcDir: join(folder, 'etc') })
})
afterEach(async () => {
  await server.close()
  rmSync(folder, { recursive: true, force: true })
})

type Wire = [status: number, body: string]

async function wire(method: string, path: string, body?: unknown): Promise<Wire> {
  const answer = await server.request(method, path, typeof body === 'object' ? JSON.stringify(body) : (body as string))
  return [answer.status, answer.body]
}
const error = (code: number, message: string): string => `${JSON.stringify({ error: code, message })}\n`
const create = (sql: string): Promise<Wire> => wire('POST', '/streams', { sql })
const demo = 'CREATE STREAM demo () WITH (TYPE="memory", DATASOURCE="in", FORMAT="json")'
const rule = (id: string, more: object = {}): Record<string, unknown> => ({
  id,
  sql: 'SELECT * FROM demo',
  actions: [{ nop: {} }],
  ...more,
})

describe('streams and tables', () => {
  it('are created once', async () => {
    expect(await create(demo)).toEqual([201, 'Stream demo is created.'])
    expect(await create(demo)).toEqual([
      400,
      error(3000, 'Stream command error: Create stream fails: Item demo already exists.'),
    ])
    expect(await create('SELECT * FROM demo')).toEqual([
      400,
      error(3000, 'Stream command error: Invalid stream statement: SELECT * FROM demo'),
    ])
    expect((await wire('POST', '/streams', '{'))[1]).toContain(
      'Invalid body: Error decoding the statement descriptor: ',
    )
    expect(await wire('GET', '/streams')).toEqual([200, '["demo"]'])
    expect(await wire('GET', '/tables')).toEqual([200, '[]'])
    expect(await wire('GET', '/streamdetails')).toEqual([200, '[{"name":"demo","type":"memory","format":"json"}]'])
  })

  it('need a statement and a usable name', async () => {
    const refused = (message: string): Wire => [400, error(3000, `Stream command error: ${message}`)]
    for (const sql of ['', 'UPDATE demo', '@#$'])
      expect(await create(sql)).toEqual(refused(`Invalid stream statement: ${sql}`))
    expect(await create('CREATE STREAM `a b` () WITH (DATASOURCE="x")')).toEqual(
      refused("id 'a b' contains invalid characters: only alphanumeric, hyphens and underscores are allowed"),
    )
    expect(await create('CREATE TABLE t () WITH (KIND="lookup", TYPE="file")')).toEqual(
      refused('Create table fails: lookup source type file not found.'),
    )
    expect(await create('EXPLAIN STREAM demo')).toEqual(refused('Explain stream fails, demo is not found.'))
    await create(demo)
    expect(await create('EXPLAIN STREAM demo')).toEqual([201, 'TO BE SUPPORTED'])
  })

  it('are described', async () => {
    await create(
      'CREATE STREAM demo (temp FLOAT, labels ARRAY(STRING), pos STRUCT(x BIGINT)) WITH (DATASOURCE="dev/+")',
    )
    expect(await wire('GET', '/streams/demo')).toEqual([
      200,
      '{"Name":"demo","StreamFields":[{"FieldType":"float","Name":"temp"},{"FieldType":{"Type":"array","ElementType":"string"},"Name":"labels"},{"FieldType":{"Type":"struct","Fields":[{"FieldType":"bigint","Name":"x"}]},"Name":"pos"}],"Options":{"datasource":"dev/+"},"StreamType":0,"Statement":null}',
    ])
    expect(await wire('GET', '/streams/demo/schema')).toEqual([
      200,
      '{"temp":{"type":"float","index":0},"labels":{"type":"array","items":{"type":"string","index":0},"index":0},"pos":{"type":"struct","properties":{"x":{"type":"bigint","index":0}},"index":0}}',
    ])
  })

  it('that are unknown are 400 to read and 404 to drop', async () => {
    expect(await wire('GET', '/streams/none')).toEqual([
      400,
      error(3000, 'describe stream error: Describe stream fails, none is not found.'),
    ])
    expect(await wire('DELETE', '/streams/none')).toEqual([
      404,
      error(1002, 'delete stream error: stream none is not found'),
    ])
    expect(await wire('GET', '/streams/none/schema')).toEqual([
      400,
      error(3000, 'get schema of stream error: Describe stream fails, none is not found.'),
    ])
  })

  it('cannot be dropped while a running rule reads them, unless forced', async () => {
    await create(demo)
    await wire('POST', '/rules', rule('r1'))
    expect(await wire('DELETE', '/streams/demo')).toEqual([
      400,
      error(1000, 'stream demo has been referenced by other rules'),
    ])
    await wire('POST', '/rules/r1/stop')
    expect(await wire('DELETE', '/streams/demo')).toEqual([200, 'Stream demo is dropped.'])
    await create(demo)
    await wire('POST', '/rules/r1/start')
    expect(await wire('DELETE', '/streams/demo?force=true')).toEqual([200, 'Stream demo is dropped.'])
  })

  it('are dropped whatever their kind, and through a statement with 201', async () => {
    await create('CREATE TABLE t () WITH (TYPE="memory", DATASOURCE="in")')
    expect(await wire('DELETE', '/streams/t')).toEqual([200, 'Stream t is dropped.'])
    await create(demo)
    expect(await create('DROP STREAM demo')).toEqual([201, 'Stream demo is dropped.'])
  })

  it('are replaced under the version rule', async () => {
    const put = (sql: string, name = 'demo'): Promise<Wire> => wire('PUT', `/streams/${name}`, { sql })
    const version = (v: string): string =>
      demo.replace(')', '').replace('"json")', `"json", VERSION="${v}")`).replace('(', '()')
    expect(await put(demo)).toEqual([200, 'Stream demo is replaced.'])
    expect(await put(demo)).toEqual([200, 'Stream demo is replaced.'])
    expect(await put(demo, 'other')).toEqual([
      400,
      error(3000, 'Stream command error: Replace other fails: the sql statement must update the other source.'),
    ])
    expect(await put(demo.replace('"json"', '"json", SHARED="true"'))).toEqual([
      400,
      error(3000, 'Stream command error: Replace demo fails: do not support to change stream SHARED option.'),
    ])
    expect(await put('CREATE TABLE demo () WITH (TYPE="memory", DATASOURCE="in")')).toEqual([
      404,
      error(1002, 'Stream command error: stream demo is not found'),
    ])
    expect((await put(version('b')))[0]).toBe(200)
    expect(await put(version('a'))).toEqual([
      400,
      error(3000, 'Stream command error: source demo already exists with version (b), new version (a) is lower'),
    ])
    expect((await put(demo))[0]).toBe(400)
  })
})

describe('rules', () => {
  beforeEach(async () => {
    await create(demo)
  })

  it.each([
    ['{', /^\{"error":1000,"message":"invalid rule json: Parse rule \{ error : .*\."\}\n$/],
    [{}, error(1000, 'invalid rule json: Missing rule id.')],
    [
      { id: 'a b' },
      error(
        1000,
        "invalid rule json: id 'a b' contains invalid characters: only alphanumeric, hyphens and underscores are allowed",
      ),
    ],
    [{ id: 'r' }, error(1000, 'invalid rule json: Rule r has neither sql nor graph.')],
    [{ id: 'r', sql: 'x', graph: {} }, error(1000, 'invalid rule json: Rule r has both sql and graph.')],
    [{ id: 'r', sql: 'SELECT * FROM demo' }, error(1000, 'invalid rule json: Missing rule actions.')],
    [
      rule('r', { sql: 'DROP STREAM demo' }),
      error(1000, 'invalid rule json: SQL DROP STREAM demo is not a select statement.'),
    ],
    [
      rule('r', { sql: 'SELECT * FROM none' }),
      error(1000, 'fail to get stream none, please check if stream is created'),
    ],
    [
      rule('r', { sql: 'SELECT * FROM none', triggered: false }),
      error(1000, 'fail to get stream none, please check if stream is created'),
    ],
    [rule('r', { actions: [{ foo: {} }] }), error(2201, 'sink foo is not defined')],
    [rule('r', { sql: 'UPDATE demo' }), error(1000, 'invalid rule json: SQL UPDATE demo is not a select statement.')],
    [
      rule('r', { sql: 'SELECT a -> FROM demo WHERE a < "<&>"' }),
      /^\{"error":1000,"message":"invalid rule json: Parse SQL SELECT a -> FROM demo WHERE a < \\"<&>\\" error: /,
    ],
    [
      rule('r', { actions: [{ nop: null }] }),
      error(2201, 'expect map[string]interface{} type for the action properties, but found <nil>'),
    ],
    [
      rule('r', { actions: [{ nop: { fields: ['a'], excludeFields: ['b'] } }] }),
      error(2201, 'field and excludeFields cannot both be set'),
    ],
    [
      rule('r', { options: { bufferLength: -1 } }),
      error(
        1000,
        'invalid rule json: Rule r has invalid options: invalidBufferLength:bufferLength must be greater than 0.',
      ),
    ],
  ])('%j is refused', async (document, expected) => {
    const [status, body] = await wire('POST', '/rules', document)
    expect(status).toBe(400)
    if (typeof expected === 'string') expect(body).toBe(expected)
    else expect(body).toMatch(expected)
    expect(await wire('GET', '/rules')).toEqual([200, '[]'])
  })

  it('are kept verbatim until something rewrites them', async () => {
    const text = `{ "sql": "SELECT * FROM demo", "id": "r1",\n "extra": {"b": 1, "a": 2}, "actions": [{"nop": {}}] }`
    expect(await wire('POST', '/rules', text)).toEqual([201, 'Rule r1 was created successfully.'])
    expect(await wire('GET', '/rules/r1')).toEqual([200, text])
    expect(await wire('POST', '/rules/r1/stop')).toEqual([200, 'Rule r1 was stopped.'])
    expect(await wire('POST', '/rules/r1/stop')).toEqual([200, 'Rule r1 was stopped.'])
    expect(await wire('GET', '/rules/r1')).toEqual([
      200,
      '{"actions":[{"nop":{}}],"extra":{"a":2,"b":1},"id":"r1","sql":"SELECT * FROM demo","triggered":false}',
    ])
    expect(await wire('GET', '/rules')).toEqual([
      200,
      '[{"id":"r1","name":"r1","status":"stopped","tags":null,"trace":false,"version":""}]',
    ])
  })

  it('that are updated start unless told not to; a bad update changes nothing', async () => {
    await wire('POST', '/rules', rule('r1', { triggered: false }))
    expect(await wire('PUT', '/rules/r1', rule('r1'))).toEqual([200, 'Rule r1 was updated successfully.'])
    expect(JSON.parse((await wire('GET', '/rules/r1/status'))[1]).status).toBe('running')
    const [status, body] = await wire('PUT', '/rules/r1', rule('r1', { sql: 'SELECT * FROM none' }))
    expect([status, body]).toEqual([
      400,
      error(1000, 'Update rule error: fail to get stream none, please check if stream is created'),
    ])
    expect(JSON.parse((await wire('GET', '/rules/r1/status'))[1]).status).toBe('running')
    expect(await wire('GET', '/rules/r1')).toEqual([200, JSON.stringify(rule('r1'))])
    expect(await wire('PUT', '/rules/r1', rule('r2'))).toEqual([
      400,
      error(1000, 'Update rule error: Invalid rule json: RuleId is not consistent with rule id.'),
    ])
    expect((await wire('PUT', '/rules/r1', rule('r1', { version: 'b' })))[0]).toBe(200)
    expect(await wire('PUT', '/rules/r1', rule('r1', { version: 'a' }))).toEqual([
      400,
      error(1000, 'Update rule error: rule r1 already exists with version (b), new version (a) is lower'),
    ])
  })

  it('that are unknown: 404 to control, 400 to delete', async () => {
    const absent = 'Rule x is not found in registry, please check if it is created'
    for (const word of ['start', 'stop', 'restart']) {
      expect(await wire('POST', `/rules/x/${word}`)).toEqual([404, error(1002, `${word} rule error: ${absent}`)])
    }
    expect(await wire('DELETE', '/rules/x')).toEqual([400, error(1000, 'Delete rule error: rule x not found')])
    expect(await wire('GET', '/rules/x')).toEqual([404, error(1002, 'Describe rule error: Rule x is not found.')])
    expect(await wire('GET', '/rules/x/status')).toEqual([
      404,
      error(1002, 'get rule status error: Rule x is not found'),
    ])
    expect(await wire('GET', '/rules/x/topo')).toEqual([404, error(1002, 'get rule topo error: Rule x is not found')])
    expect(await wire('GET', '/rules/x/explain')).toEqual([
      404,
      error(1002, 'explain rules error: Rule x is not found.'),
    ])
  })

  it('say beside the body where a fault is and what to do', async () => {
    await create('CREATE STREAM typed (temp FLOAT) WITH (TYPE="memory", DATASOURCE="in")')
    const unknown = await server.request(
      'POST',
      '/rules',
      JSON.stringify(rule('r1', { sql: 'SELECT tmep FROM typed' })),
    )
    expect(unknown.body).toBe(error(1000, 'unknown field tmep'))
    expect(unknown.headers.get('x-ixion-position')).toBe('1:8')
    expect(unknown.headers.get('x-ixion-hint')).toBe('Did you mean temp?')
    const syntax = await server.request(
      'POST',
      '/rules/validate',
      JSON.stringify(rule('r1', { sql: 'SELECT FROM typed' })),
    )
    expect([syntax.status, syntax.headers.get('x-ixion-position')]).toEqual([422, '1:8'])
  })

  it('start again from zero when started while running', async () => {
    await wire('POST', '/rules', rule('r1'))
    await wire('POST', '/streams/demo/data', '[{"a":1},{"a":2}]')
    const received = async (): Promise<number> =>
      JSON.parse((await wire('GET', '/rules/r1/status'))[1]).source_demo_0_records_in_total
    expect(await received()).toBe(2)
    expect(await wire('POST', '/rules/r1/start')).toEqual([200, 'Rule r1 was started'])
    expect(await received()).toBe(0)
    expect(await wire('POST', '/rules/r1/restart')).toEqual([200, 'Rule r1 was restarted'])
  })

  it('have a status of five members before the first start, and keep counters after a stop', async () => {
    await wire('POST', '/rules', rule('r1', { triggered: false }))
    const status = await server.request('GET', '/rules/r1/status')
    expect(status.body).toBe(
      '{\n  "status": "stopped",\n  "message": "",\n  "lastStartTimestamp": 0,\n  "lastStopTimestamp": 0,\n  "nextStartTimestamp": 0\n}',
    )
    expect(status.headers.get('content-type')).toBe('application/json')
    expect(await wire('GET', '/rules/r1/topo')).toEqual([
      400,
      error(1001, "get rule topo error: Fail to get rule r1's topo, make sure the rule has been started before"),
    ])
    await wire('POST', '/rules/r1/start')
    await wire('POST', '/streams/demo/data', '{"a":1}')
    await wire('POST', '/rules/r1/stop')
    const stopped = JSON.parse((await wire('GET', '/rules/r1/status'))[1])
    expect(stopped).toMatchObject({
      status: 'stopped',
      message: 'canceled manually',
      source_demo_0_records_in_total: 1,
      sink_nop_0_0_records_out_total: 1,
    })
    expect(Object.keys(JSON.parse((await wire('GET', '/v2/rules/r1/status'))[1]))).toEqual(Object.keys(stopped).sort())
    expect((await wire('GET', '/rules/r1/topo'))[0]).toBe(200)
    expect(await wire('GET', '/rules/status/all')).toEqual([
      200,
      '{"r1":{"status":"stopped","last_exception":"","exceptions_total":0}}',
    ])
  })

  it('are validated without being kept', async () => {
    expect(await wire('POST', '/rules/validate', rule('r1', { actions: [{ foo: {} }] }))).toEqual([
      200,
      '{"sources":["demo"],"valid":true}',
    ])
    const bad = await server.request('POST', '/rules/validate', '{"id":"r","sql":"SELECT * FROM demo"}')
    expect([bad.status, bad.body]).toEqual([422, 'invalid rule json: Missing rule actions.'])
    expect(bad.headers.get('content-type')).toBe('text/plain; charset=utf-8')
    expect(await wire('POST', '/rules/validate', rule('r', { sql: 'SELECT * FROM none' }))).toEqual([
      422,
      'none is not found',
    ])
    expect(await wire('GET', '/rules/validate')).toEqual([
      404,
      error(1002, 'Describe rule error: Rule validate is not found.'),
    ])
  })

  it('have tags, and start and stop by them', async () => {
    await wire('POST', '/rules', rule('r1', { triggered: false, tags: ['a'] }))
    const tags = (method: string, list: string[]): Promise<Wire> => wire(method, '/rules/r1/tags', { tags: list })
    const match = (list: string[]): Promise<Wire> =>
      wire('POST', '/batch/req', [{ method: 'GET', path: '/rules/tags/match', body: JSON.stringify({ tags: list }) }])
    expect(await tags('PATCH', ['b', 'a', 'c'])).toEqual([200, ''])
    expect(await match(['a', 'c'])).toEqual([200, '[{"code":200,"response":"{\\"rules\\":[\\"r1\\"]}"}]'])
    expect(await tags('DELETE', ['a'])).toEqual([200, ''])
    expect(await match(['a'])).toEqual([200, '[{"code":200,"response":"{}"}]'])
    expect(await tags('PUT', ['z'])).toEqual([200, ''])
    expect(JSON.parse((await wire('GET', '/rules/r1'))[1]).tags).toEqual(['z'])
    expect(await wire('PUT', '/rules/x/tags', { tags: [] })).toEqual([
      404,
      error(1002, 'Get rule error: Rule x is not found.'),
    ])
    expect(await wire('PUT', '/rules/r1/tags', '')).toEqual([400, error(1000, 'decode body error: EOF')])
    expect(await wire('POST', '/rules/bulkstart', { tags: ['z'] })).toEqual([200, '[{"ruleId":"r1","success":true}]'])
    expect(await wire('POST', '/rules/bulkstop', { tags: ['none'] })).toEqual([
      400,
      error(1000, 'bulk stop failed: no matching rules'),
    ])
  })

  it('tell where every pushed row went', async () => {
    await wire('POST', '/rules', rule('r1', { sql: 'SELECT a FROM demo WHERE a > 1' }))
    expect(await wire('POST', '/streams/demo/data', '[{"a":1},{"a":2},{"a":"x"}]')).toEqual([
      200,
      '{"accepted":3,"rules":1}',
    ])
    expect(JSON.parse((await wire('GET', '/rules/r1/ledger'))[1]).rule).toEqual({
      received: 3,
      emitted: 1,
      filtered: 1,
      dropped: { error: 1 },
      inFlight: 0,
    })
    expect(await wire('POST', '/streams/demo/data', '[{"a":1}')).toEqual([
      400,
      error(1000, 'the body is not JSON rows: it ends too early'),
    ])
    expect(await wire('POST', '/streams/none/data', '{}')).toEqual([404, error(1002, 'stream none is not found')])
    const lines = await server.request('POST', '/streams/demo/data', '{"a":5}\n\n{"a":6}\n', {
      'Content-Type': 'application/x-ndjson',
    })
    expect(lines.body).toBe('{"accepted":2,"rules":1}')
    const { body } = await server.request('GET', '/metrics')
    expect(body).toContain('ixion_dropped_events_total{reason="error",rule="r1",stream="demo"} 1\n')
    expect(body).toContain('ixion_received_events_total{rule="r1",stream="demo"} 5\n')
    expect(body).toContain('kuiper_source_records_in_total{op="demo",op_instance="0",rule="r1",type="source"}')
  })
})

describe('trial runs', () => {
  it('stream their results until they are deleted', async () => {
    await create(demo)
    const trial = {
      id: 't1',
      sql: 'SELECT temp * 2 AS d FROM demo WHERE temp > 10',
      mockSource: { demo: { data: [{ temp: 5 }, { temp: 15 }], interval: 1, loop: false } },
      sinkProps: { sendSingle: true },
    }
    const [status, body] = await wire('POST', '/ruletest', trial)
    const { id, port } = JSON.parse(body)
    expect([status, id]).toEqual([200, 't1'])
    const events = await fetch(`http://127.0.0.1:${port}/test/t1`)
    expect(events.headers.get('content-type')).toBe('text/event-stream')
    expect(await wire('POST', '/ruletest/t1/start')).toEqual([200, 'Test rule t1 was started'])
    const reader = (events.body as ReadableStream<Uint8Array>).getReader()
    expect(Buffer.from((await reader.read()).value ?? []).toString()).toBe('data: {"d":30}\n\n')
    expect(await wire('DELETE', '/ruletest/t1')).toEqual([200, 'Test rule t1 was stopped.'])
    expect((await reader.read()).done).toBe(true)
    expect(await wire('POST', '/ruletest/t1/start')).toEqual([
      400,
      error(1000, 'start rule error: try to start test rule t1 but it is not found'),
    ])
  })
})

describe('connections, keys, schemas, transfer', () => {
  it('connections follow their life', async () => {
    const c1 = { id: 'c1', typ: 'unheard', props: { b: 1, a: 2 } }
    expect(await wire('POST', '/connections', c1)).toEqual([201, 'success'])
    expect(await wire('POST', '/connections', c1)).toEqual([
      400,
      error(1000, 'create connection failed: connection c1 already been created'),
    ])
    expect(await wire('GET', '/connections/c1')).toEqual([
      200,
      '{"id":"c1","typ":"unheard","props":{"a":2,"b":1},"isNamed":true,"status":"connecting"}',
    ])
    expect(await wire('DELETE', '/connections/none')).toEqual([200, 'success'])
    expect(await wire('DELETE', '/connections/c1')).toEqual([200, 'success'])
    expect(await wire('GET', '/connections/c1')).toEqual([400, error(1000, 'connection c1 not existed')])
    expect(await wire('POST', '/connections', { id: 'c2' })).toEqual([
      400,
      error(1000, 'create connection failed: connection id and type should be defined'),
    ])
  })

  it('configuration keys are kept and offered to rules', async () => {
    expect(
      await wire('PUT', '/metadata/sources/simulator/confKeys/two', { data: [{ a: 1 }], interval: 5, loop: false }),
    ).toEqual([200, ''])
    expect(await wire('GET', '/metadata/sources/yaml/none')).toEqual([
      400,
      error(5000, 'This plugin was not found:sources.none'),
    ])
    expect(await wire('PUT', '/metadata/sinks/none/confKeys/k', { a: 1 })).toEqual([200, ''])
    expect(await wire('GET', '/metadata/sinks/yaml/none')).toEqual([200, '{"k":{"a":1}}'])
    expect(JSON.parse((await wire('GET', '/metadata/sources/yaml/simulator'))[1]).two).toEqual({
      data: [{ a: 1 }],
      interval: '5ms',
      loop: false,
    })
    await create('CREATE STREAM sim () WITH (TYPE="simulator", CONF_KEY="two")')
    const rows = new Promise((resolve) => server.engine.subscribe('out', (_topic, got) => resolve(got)))
    await wire('POST', '/rules', { id: 's', sql: 'SELECT * FROM sim', actions: [{ memory: { topic: 'out' } }] })
    expect(await rows).toEqual([{ a: 1 }])
    expect(await wire('DELETE', '/metadata/sources/simulator/confKeys/two')).toEqual([200, ''])
    expect(await wire('GET', '/metadata/resources')).toEqual([200, '{"sinks":[{"k":"none"}],"sources":null}'])
    expect(await wire('GET', '/metadata/sinks/unheard')).toEqual([
      400,
      error(5000, 'This plugin was not found:unheard'),
    ])
  })

  it('every connector and function is described', async () => {
    for (const path of ['/metadata/sources', '/metadata/sinks', '/metadata/connections']) {
      for (const { name } of JSON.parse((await wire('GET', path))[1])) {
        expect((await wire('GET', `${path}/${name}`))[0]).toBe(200)
      }
    }
    const [{ functions }] = JSON.parse((await wire('GET', '/metadata/functions'))[1])
    expect(functions.length).toBeGreaterThan(150)
    const names = functions.map((f: { name: string }) => f.name)
    expect(names).toEqual(expect.arrayContaining(['ceiling', 'ceil', 'current_date']))
    expect(new Set(names).size).toBe(names.length)
  })

  it('schemas in use are kept, unless the request insists', async () => {
    await wire('POST', '/schemas/protobuf', { name: 'used', content: 'syntax="proto3"; message M { string a = 1; }' })
    const options = 'TYPE="memory", DATASOURCE="d", FORMAT="protobuf", SCHEMAID="used.M"'
    await wire('POST', '/streams', { sql: `CREATE STREAM typed () WITH (${options})` })
    await wire('POST', '/streams', { sql: 'CREATE STREAM plain () WITH (TYPE="memory", DATASOURCE="p")' })
    await wire('POST', '/rules', {
      id: 'typing',
      sql: 'SELECT * FROM plain',
      actions: [{ nop: { format: 'protobuf', schemaId: 'used.M' } }],
    })
    expect(await wire('DELETE', '/schemas/protobuf/used')).toEqual([
      400,
      error(1000, 'delete protobuf schema used error: schema protobuf.used is used by stream typed, rule typing'),
    ])
    expect(await wire('DELETE', '/schemas/protobuf/used?force=true')).toEqual([200, 'protobuf schema used is deleted'])
    for (const path of ['/rules/typing', '/streams/typed', '/streams/plain']) await wire('DELETE', path)
  })

  it('schemas follow their life', async () => {
    const s1 = { name: 's1', content: 'message A {optional string a = 1;}' }
    expect(await wire('POST', '/schemas/protobuf', s1)).toEqual([201, 'protobuf schema s1 is created'])
    expect(await wire('POST', '/schemas/protobuf', s1)).toEqual([
      400,
      error(1000, 'schema create command error: schema protobuf.s1 already registered'),
    ])
    expect(await wire('GET', '/schemas/protobuf')).toEqual([200, '["s1"]'])
    expect(await wire('GET', '/schemas/protobuf/none')).toEqual([
      400,
      error(1000, 'schema type protobuf id none not found in registry'),
    ])
    expect(await wire('PUT', '/schemas/protobuf/s1', { ...s1, name: 'other' })).toEqual([
      400,
      error(1000, 'Invalid body: Type or name does not match'),
    ])
    expect(await wire('DELETE', '/schemas/protobuf/s1')).toEqual([200, 'protobuf schema s1 is deleted'])
  })

  it('everything goes through export and import', async () => {
    await create(demo)
    await wire('POST', '/rules', rule('r1', { triggered: false }))
    await wire('PUT', '/metadata/sinks/nop/confKeys/k', { log: true })
    const ruleset = await server.request('POST', '/ruleset/export')
    expect(ruleset.headers.get('content-disposition')).toBe('Attachment')
    expect(JSON.parse(ruleset.body)).toEqual({
      streams: { demo },
      tables: {},
      rules: { r1: JSON.stringify(rule('r1', { triggered: false })) },
    })
    const [, exported] = await wire('GET', '/data/export')
    expect(Object.keys(JSON.parse(exported))).toEqual([
      'streams',
      'tables',
      'rules',
      'nativePlugins',
      'portablePlugins',
      'sourceConfig',
      'sinkConfig',
      'connectionConfig',
      'Service',
      'Schema',
      'uploads',
      'scripts',
    ])
    await wire('DELETE', '/rules/r1')
    await wire('DELETE', '/streams/demo')
    expect(await wire('POST', '/ruleset/import', { content: ruleset.body })).toEqual([
      200,
      'imported 1 streams, 0 tables and 1 rules',
    ])
    const [status, body] = await wire('POST', '/data/import', { content: exported })
    expect([status, JSON.parse(body).ErrorMsg]).toEqual([200, ''])
    expect(await wire('GET', '/data/export')).toEqual([200, exported])
    expect((await wire('POST', '/data/import', { content: '{"rules":{' }))[1]).toContain(
      'configuration unmarshal with error ',
    )
    expect(await wire('GET', '/rules')).toMatchObject([200, expect.stringContaining('"r1"')])
    const failing = await wire('POST', '/data/import?partial=1', {
      content: '{"streams":{"x":"CREATE"},"Service":{"g":"{}"}}',
    })
    expect(failing[0]).toBe(400)
    expect(Object.keys(JSON.parse(JSON.parse(failing[1]).message).streams)).toEqual(['x'])
  })

  it('YAML export and import, and imports that go on after their answer', async () => {
    await create(demo)
    await wire('POST', '/rules', rule('r1', { triggered: false }))
    await wire('PUT', '/metadata/sinks/nop/confKeys/k', { log: true })
    const [, yaml] = await wire('GET', '/v2/data/export')
    expect(yaml).toContain('sinks.nop.k:\n    log: true')
    await wire('DELETE', '/rules/r1')
    await wire('DELETE', '/streams/demo')
    expect(await wire('POST', '/v2/data/import', { content: yaml })).toEqual([200, 'success'])
    expect(await wire('GET', '/v2/data/export')).toEqual([200, yaml])
    expect(await wire('POST', '/v2/data/import', { content: 'streams: {x: {sql: nonsense}}' })).toMatchObject({
      0: 400,
      1: expect.stringContaining('import failed: '),
    })
    const [, exported] = await wire('GET', '/data/export')
    const { id } = JSON.parse((await wire('POST', '/async/data/import', { content: exported }))[1])
    expect(id).toMatch(/^dataImport-\d+$/)
    let task = { status: '', message: '' }
    while (task.status !== 'finish') task = JSON.parse((await wire('GET', `/async/task/${id}`))[1])
    expect(JSON.parse(task.message).ErrorMsg).toBe('')
    expect(await wire('GET', '/async/task/x')).toEqual([400, error(1000, 'async task: x not found')])
    expect(await wire('POST', `/async/task/${id}/cancel`)).toEqual([200, 'cancel success'])
  })

  it('uploads stay in their folder', async () => {
    const post = (body: object): Promise<{ status: number; body: string }> =>
      server.request('POST', '/config/uploads', JSON.stringify(body), { 'Content-Type': 'application/json' })
    const path = join(folder, 'data', 'uploads', 'a.txt')
    expect(await post({ name: 'a.txt', content: 'hi' })).toMatchObject({ status: 201, body: path })
    expect(await wire('GET', '/config/uploads')).toEqual([200, JSON.stringify([path])])
    expect((await post({ name: '../a.txt', content: 'hi' })).status).toBe(400)
    expect(await wire('DELETE', '/config/uploads/a.txt')).toEqual([200, 'ok'])
    expect((await wire('DELETE', '/config/uploads/a.txt'))[0]).toBe(400)
  })
})

describe('conventions', () => {
  it('errors are JSON sent as text', async () => {
    const { headers } = await server.request('GET', '/streams/none')
    expect(headers.get('content-type')).toBe('text/plain; charset=utf-8')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
  })

  it('paths that are not clean are redirected', async () => {
    const answer = await server.request('GET', '/rules//r1')
    expect([answer.status, answer.headers.get('location')]).toEqual([301, '/rules/r1'])
  })

  it('batches run one after the other', async () => {
    const [, body] = await wire('POST', '/batch/req', [
      { method: 'POST', path: '/streams', body: JSON.stringify({ sql: demo }) },
      { method: 'GET', path: '/rules/none' },
      { method: 'NO WAY', path: '/' },
    ])
    expect(JSON.parse(body).map((a: { code: number }) => a.code)).toEqual([201, 404, 0])
  })

  it('settings change at run time', async () => {
    expect(await wire('PATCH', '/configs', { debug: true, timezone: '' })).toEqual([204, ''])
    expect((await wire('PATCH', '/configs', { timezone: 'unknown' }))[1]).toContain(
      'Invalid TZ: unknown time zone unknown',
    )
    expect((await wire('PATCH', '/configs', ''))[1]).toContain('Invalid JSON: ')
  })

  it('preflights are answered', async () => {
    const preflight = (method: string, headers: Record<string, string> = {}) =>
      server.request('OPTIONS', '/rules', undefined, {
        Origin: 'http://a',
        'Access-Control-Request-Method': method,
        ...headers,
      })
    const put = await preflight('PUT', { 'Access-Control-Request-Headers': 'content-type' })
    expect([put.status, put.headers.get('access-control-allow-methods')]).toEqual([200, 'PUT'])
    expect(put.headers.get('access-control-allow-headers')).toBe('content-type')
    expect((await preflight('PATCH')).status).toBe(200)
    expect((await preflight('TRACE')).status).toBe(405)
    expect((await preflight('PUT', { 'Access-Control-Request-Headers': 'x-other' })).status).toBe(403)
    const simple = await server.request('GET', '/ping', undefined, { Origin: 'http://a' })
    expect(simple.headers.get('access-control-allow-origin')).toBe('*')
  })

  it('a full import with stop asks for a restart', async () => {
    const { status } = await server.request('POST', '/data/import?stop=1', '{"content":"{}"}')
    expect([status, server.stops]).toEqual([200, [100]])
  })
})

describe('authentication', () => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const sign = (claims: object, header: object = { alg: 'RS256' }): string => {
    const signed = `${part(header)}.${part(claims)}`
    return `${signed}.${createSign('RSA-SHA256').update(signed).sign(privateKey, 'base64url')}`
  }
  const now = Math.floor(Date.now() / 1000)
  const good = { iss: 'key.pub', aud: ['other', 'eKuiper'], exp: now + 600 }
  let secured: RestServer

  beforeEach(async () => {
    const etcDir = join(folder, 'etc')
    mkdirSync(join(etcDir, 'mgmt'), { recursive: true })
    writeFileSync(join(etcDir, 'mgmt', 'Key.pub'), publicKey.export({ type: 'spki', format: 'pem' }))
    secured = await startRestServer({ etcDir }, { authentication: true, etcDir })
  })
  afterEach(() => secured.close())

  const invalid = 'validate token error: token '
  it.each([
    ['', 401, 'missing_token\n'],
    ['a.b', 401, `${invalid}is malformed: token contains an invalid number of segments\n`],
    [
      sign({ aud: 'eKuiper' }),
      401,
      `${invalid}is unverifiable: error while executing keyfunc: issuer field not exist in jwt payload\n`,
    ],
    [
      sign({ ...good, iss: '../../key' }),
      401,
      `${invalid}is unverifiable: error while executing keyfunc: not found target key file ../../key in /etc/mgmt\n`,
    ],
    [
      `${part({ alg: 'RS256' })}.${part(good)}.AAAA`,
      401,
      `${invalid}signature is invalid: crypto/rsa: verification error\n`,
    ],
    [
      `${part({ alg: 'none' })}.${part(good)}.`,
      401,
      `${invalid}signature is invalid: key is of invalid type for the algorithm none\n`,
    ],
    [
      sign(good, { alg: 'HS256' }),
      401,
      `${invalid}signature is invalid: key is of invalid type for the algorithm HS256\n`,
    ],
    [sign({ ...good, exp: now - 1 }), 401, `${invalid}has invalid claims: token is expired\n`],
    [sign({ ...good, nbf: now + 60 }), 401, `${invalid}has invalid claims: token is not valid yet\n`],
    [sign({ ...good, aud: ['a', 'b'] }), 401, 'audience field should contain eKuiper, but got [a b]\n'],
    [sign(good), 200, '[]'],
    [`Bearer ${sign(good)}`, 200, '[]'],
  ])('case %#', async (token, status, body) => {
    const answer = await secured.request('GET', '/streams', undefined, token ? { Authorization: token } : {})
    expect([answer.status, answer.body]).toEqual([status, body])
  })

  it('leaves /, /ping and unknown paths open', async () => {
    const statuses = await Promise.all(
      [
        ['GET', '/'],
        ['GET', '/ping'],
        ['GET', '/nowhere'],
        ['PATCH', '/rules'],
        ['GET', '/rules'],
      ].map(async ([method, path]) => (await secured.request(method as string, path as string)).status),
    )
    expect(statuses).toEqual([200, 200, 404, 405, 401])
  })
})

describe('a store that fails', () => {
  it('is an error answer, and the server lives on', async () => {
    const { memoryStore } = await import('../../src/stores/memory.ts')
    const { IxionError } = await import('../../src/core/errors.ts')
    const store = memoryStore()
    const full = new IxionError('STORAGE', 'the store failed: no space left on device')
    const broken = await startRestServer({
      store: {
        ...store,
        table: (name) => ({
          ...store.table(name),
          set: () => Promise.reject(full),
          delete: () => Promise.reject(full),
        }),
      },
    })
    const answer = await broken.request('POST', '/streams', JSON.stringify({ sql: demo }))
    expect([answer.status, answer.body]).toEqual([
      500,
      error(3000, 'Stream command error: Create stream fails: the store failed: no space left on device'),
    ])
    expect((await broken.request('GET', '/streams')).body).toBe('[]')
    await broken.close()
  })
})
