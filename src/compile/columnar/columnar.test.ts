import { describe, expect, test } from 'vitest'
import { damaged, type Random, randomPayload, seeded } from '../../../test/support/random-json.ts'
import { manualClock } from '../../core/clock.ts'
import type { ColumnarOutput } from '../../core/columnar-output.ts'
import { decodeUtf8, encodeUtf8 } from '../../core/utf8.ts'
import type { ValueObject } from '../../core/values.ts'
import { wantedColumns } from '../../engine/column-types.ts'
import type { DecodeOptions } from '../../formats/contract.ts'
import { jsonFormat } from '../../formats/json.ts'
import type { CallContext } from '../../functions/contract.ts'
import { builtinFunctions } from '../../functions/index.ts'
import { planSelect } from '../../plan/index.ts'
import type { LogicalPlan, PlanNode, SourceNode } from '../../plan/logical.ts'
import type { StreamDefinition } from '../../sql/ast.ts'
import { parseSelect, parseStatement } from '../../sql/index.ts'
import { newHitCounter } from '../expression.ts'
import { generalLane } from './general.ts'
import { type ColumnarEnvironment, compileColumnar, type PayloadChunk } from './index.ts'
import { selectPlan, wildcardPlan } from './select-plan.ts'

const scale = Number(process.env['IXION_TEST_SCALE'] ?? 1)
const functions = builtinFunctions
const parsing = { functions }

const call: CallContext = {
  clock: manualClock(),
  timezone: 'UTC',
  ruleId: 'r',
  ruleStart: 0,
  row: null,
  window: null,
  keyedState: { get: () => undefined },
  props: {},
}

function planOf(
  sql: string,
  create = 'CREATE STREAM s () WITH (DATASOURCE="x", FORMAT="json")',
  sendNilField = false,
): LogicalPlan {
  const stream = parseStatement(create, parsing) as StreamDefinition
  return planSelect(parseSelect(sql, parsing), {
    stream: (name) => (name === 's' ? stream : undefined),
    functions,
    options: { sendNilField },
  })
}

function environmentOf(
  plan: LogicalPlan,
  limits: Partial<DecodeOptions> = {},
  sendSingle = false,
): ColumnarEnvironment {
  let node: PlanNode = plan.root
  while (node.kind !== 'source') node = (node as Extract<PlanNode, { input: PlanNode }>).input
  const decode: DecodeOptions = {
    columns: wantedColumns(node as SourceNode, null),
    wholeNumbersAsInt64: false,
    maxPayloadBytes: 1 << 20,
    maxDepth: 20,
    maxRows: 10_000,
    ...limits,
  }
  const decoder = jsonFormat.decoder(decode, { schemaText: () => undefined })
  const expressions = { functions, call, states: new Map(), hits: newHitCounter(), aggregateHits: newHitCounter() }
  return { expressions, decoder, decode, sendSingle }
}

interface Outcome {
  lines: string[]
  errors: string[]
  counts: { received: number; emitted: number; filtered: number }
}

/** What the general lane makes of the payloads. */
function generalOutcome(plan: LogicalPlan, environment: ColumnarEnvironment, payloads: readonly Uint8Array[]): Outcome {
  const general = generalLane(selectPlan(plan.root) ?? wildcardPlan(plan.root)!.of([])!, environment)
  const outcome: Outcome = { lines: [], errors: [], counts: { received: 0, emitted: 0, filtered: 0 } }
  const { lines, errors, counts } = outcome
  for (const payload of payloads) {
    let rows: ValueObject[]
    try {
      rows = environment.decoder.decode(payload)
    } catch (error) {
      counts.received++
      errors.push(`${lines.length} decode ${(error as Error).message}`)
      continue
    }
    for (const row of rows) {
      counts.received++
      try {
        const line = general(row, 5)
        if (line === null) counts.filtered++
        else {
          counts.emitted++
          lines.push(line.slice(0, -1))
        }
      } catch (error) {
        errors.push(`${lines.length} row ${(error as Error).message}`)
      }
    }
  }
  return outcome
}

function columnarOutcome(
  plan: LogicalPlan,
  environment: ColumnarEnvironment,
  chunks: readonly PayloadChunk[],
): Outcome {
  const chain = compileColumnar(plan, environment)
  if (!chain) throw new Error('no columnar form')
  const lines: string[] = []
  const errors: string[] = []
  const output: ColumnarOutput = {
    lines: (payload, rows) => {
      const text = decodeUtf8(payload).split('\n')
      expect(text.pop()).toBe('')
      expect(text.length).toBe(rows)
      lines.push(...text)
    },
    failed: (error, events, decoding) => {
      expect(events).toBe(1)
      errors.push(`${lines.length} ${decoding ? 'decode' : 'row'} ${error.message}`)
    },
  }
  const counts = { received: 0, emitted: 0, filtered: 0 }
  for (const chunk of chunks) {
    const c = chain.process({ chunk }, output)
    counts.received += c.received
    counts.emitted += c.emitted
    counts.filtered += c.filtered
  }
  expect(counts.received).toBe(counts.emitted + counts.filtered + errors.length)
  return { lines, errors, counts }
}

function listed(payloads: readonly Uint8Array[]): PayloadChunk {
  return { payloads, timestamp: 5 }
}
function packed(payloads: readonly Uint8Array[]): PayloadChunk {
  const ranges: number[] = []
  const bytes: number[] = []
  for (const p of payloads) {
    ranges.push(bytes.length)
    bytes.push(...p)
    ranges.push(bytes.length)
  }
  return { payloads: [], packed: { bytes: Uint8Array.from(bytes), ranges: Uint32Array.from(ranges) }, timestamp: 5 }
}
/** For payloads without newlines that are not blank. */
function lineFramed(payloads: readonly Uint8Array[]): PayloadChunk {
  const text = payloads.map((p) => decodeUtf8(p)).join('\n')
  return { payloads: [encodeUtf8(text)], framing: 'lines', timestamp: 5 }
}

describe('random statements give what the general lane gives', () => {
  const random = seeded(21)
  const comparison = ['=', '!=', '<', '<=', '>', '>=']

  function number(depth: number): string {
    const kind = random.int(depth > 0 ? 12 : 5)
    const n = () => number(depth - 1)
    switch (kind) {
      case 0:
      case 1:
        return random.pick(['a', 'b', 'i', 'o->x', 'o->p->q'])
      case 2:
        return String(random.int(20))
      case 3:
        return random.pick(['1.8', '0.5', '32.0', '9007199254740991', '3'])
      case 4:
        return random.pick(['a', 'i'])
      case 5:
        return `case when ${condition(depth - 1)} then ${n()} else ${n()} end`
      case 6:
        return `${random.pick(['abs', 'floor', 'ceil', 'round', 'sqrt', 'exp', 'ln'])}(${n()})`
      case 7:
        return `round(${n()}, 1)`
      default:
        return `(${n()} ${random.pick(['+', '-', '*', '/', '%'])} ${n()})`
    }
  }
  function text(): string {
    return random.pick(['t', 'u', 't', "'on'", '"x"', "'é'", "''"])
  }
  function condition(depth: number): string {
    const kind = random.int(depth > 0 ? 11 : 5)
    switch (kind) {
      case 0:
        return `${number(depth - 1)} ${random.pick(comparison)} ${number(depth - 1)}`
      case 1:
        return `${random.pick(['t', 'u'])} ${random.pick(comparison)} ${text()}`
      case 2:
        return random.pick(['f', 'f = true', 'f != g', 'isNull(a)', 'isNull(t)'])
      case 3:
        return `${number(depth - 1)} ${random() < 0.3 ? 'not ' : ''}between ${random.int(10)} and ${number(0)}`
      case 4:
        return `${random.pick(['t', 'u', 'a'])} ${random() < 0.3 ? 'not ' : ''}like ${random.pick(["'o%'", "'%n'", "'o_'", "'%'", "'on'"])}`
      case 5:
        return `${random.pick(['a', 'i', 'b'])} ${random() < 0.3 ? 'not ' : ''}in (1, 2, ${number(0)})`
      case 6:
        return `${random.pick(['t', 'u'])} ${random() < 0.3 ? 'not ' : ''}in ('on', ${text()})`
      case 7:
        return random.pick(['a', 't = a', 'f > g', 'o', '3', 'a = t'])
      default:
        return `(${condition(depth - 1)} ${random.pick(['and', 'or'])} ${condition(depth - 1)})`
    }
  }
  function statement(): string {
    const fields: string[] = []
    for (let n = 1 + random.int(4); n > 0; n--) {
      const e = random.pick([
        () => random.pick(['a', 'b', 'i', 't', 'u', 'f', 'g', 'o', 'o->x', 'o->p']),
        () => number(3),
        () => condition(2),
        () => `case when ${condition(1)} then 'high<' when ${condition(1)} then ${random.pick(['t', "'lo\"w'"])} end`,
        () => `case ${random.pick(['a', 'i', 't'])} when ${random.pick(['1', "'on'", 'i'])} then t else u end`,
      ])()
      fields.push(random() < 0.7 ? `${e} as n${n}` : e)
    }
    return `SELECT ${fields.join(', ')} FROM s${random() < 0.8 ? ` WHERE ${condition(3)}` : ''}`
  }

  /** Payloads of one mood: orderly, with gaps, or anything anywhere. */
  function payload(mood: number): string {
    const numbers = (): string =>
      random.pick([
        () => String(random.int(12)),
        () => (random.int(400) / 10).toFixed(1),
        () => random.pick(['-0', '1.50', '2e3', '-7', '0.30000000000000004', '9007199254740991', '-9007199254740991']),
      ])()
    const texts = (): string => random.pick(['"on"', '"off"', '"x"', '""', '"é<>"', '"o"'])
    const wild = (): string =>
      random.pick([
        '1795292668348461056',
        '"o\\u006e"',
        '[1,{"z":1,"a":[]}]',
        '{"b":1,"a":"&"}',
        'true',
        '"3"',
        '12',
        '1e400',
        '"\u2028"',
        '"\xff"',
      ])
    const some = (plain: () => string): string => {
      const dice = random()
      if (mood > 0 && dice < 0.15) return 'null'
      if (mood > 1 && dice < 0.4) return wild()
      return plain()
    }
    const members: string[] = []
    const add = (key: string, value: string): void => {
      if (mood === 0 || random() < 0.9) members.push(`"${key}":${value}`)
    }
    add('a', some(numbers))
    add('t', some(texts))
    add('b', some(numbers))
    add(
      'i',
      some(() => String(random.int(10))),
    )
    add('u', some(texts))
    add(
      'f',
      some(() => random.pick(['true', 'false'])),
    )
    add(
      'g',
      some(() => random.pick(['true', 'false'])),
    )
    add(
      'o',
      some(() => `{"x":${some(numbers)},"p":${some(() => `{"q":${some(numbers)}}`)}}`),
    )
    return `{${members.join(random.pick([',', ', ']))}}`
  }
  function payloads(random: Random): Uint8Array[] {
    const mood = random.int(3)
    return Array.from({ length: 1 + random.int(40) }, () => {
      const one =
        random() < 0.9 ? payload(mood) : `[${Array.from({ length: random.int(4) }, () => payload(mood)).join()}]`
      return encodeUtf8(mood === 2 && random() < 0.05 ? one.slice(0, -1) : one)
    })
  }

  function check(create: string | undefined, rounds: number): void {
    let compiled = 0
    for (let round = 0; round < rounds; round++) {
      const sql = statement()
      let plan: LogicalPlan
      try {
        plan = planOf(sql, create, random() < 0.3)
      } catch {
        continue
      }
      const environment = environmentOf(plan, {}, random() < 0.5)
      if (!compileColumnar(plan, environment)) continue
      compiled++
      const groups = Array.from({ length: 4 }, () => payloads(random))
      const framing = random.pick([listed, packed, lineFramed])
      const got = columnarOutcome(plan, environment, groups.map(framing))
      const want = generalOutcome(plan, environment, groups.flat())
      expect({ sql, ...got }).toEqual({ sql, ...want })
    }
    expect(compiled).toBeGreaterThan(rounds / 4)
  }

  test('of a schemaless stream', () => check(undefined, 120 * scale))

  test('of a stream with declared types', () =>
    check(
      'CREATE STREAM s (a FLOAT, b BIGINT, i BIGINT, t STRING, u STRING, f BOOLEAN, g BOOLEAN, o STRUCT(x FLOAT, p STRUCT(q BIGINT))) WITH (DATASOURCE="x", FORMAT="json")',
      160 * scale,
    ))
})

const run = (sql: string, payloads: readonly string[], create?: string, limits: Partial<DecodeOptions> = {}) => {
  const plan = planOf(sql, create)
  const environment = environmentOf(plan, limits)
  const bytes = payloads.map((p) => encodeUtf8(p))
  const got = columnarOutcome(plan, environment, [listed(bytes)])
  expect(got).toEqual(generalOutcome(plan, environment, bytes))
  return got
}

test('damaged payloads: the same rows and errors as the general lane', () => {
  const random = seeded(41)
  const plan = planOf('SELECT a, b, temp + 1 AS t, c->a AS ca, id FROM s WHERE isNull(temp) or temp > 0 or true')
  const environment = environmentOf(plan)
  for (let round = 0; round < 100 * scale; round++) {
    const payloads = Array.from({ length: 60 }, () => {
      const bytes = encodeUtf8(randomPayload(random))
      return random() < 0.5 ? damaged(random, bytes) : bytes
    })
    const framing = random.pick([listed, packed])
    expect(columnarOutcome(plan, environment, [framing(payloads)])).toEqual(generalOutcome(plan, environment, payloads))
  }
})

test('the canonical rule: filter and formula', () => {
  const events = Array.from({ length: 5000 }, (_, i) => `{"id":"dev_${i}","temp":${15 + ((i * 7) % 200) / 10},"hum":1}`)
  const { lines, counts } = run('SELECT id, temp * 1.8 + 32 AS temp_f FROM s WHERE temp > 20', events)
  expect(lines[0]).toBe('[{"id":"dev_8","temp_f":69.08000000000001}]')
  expect(counts).toEqual({ received: 5000, emitted: 3725, filtered: 1275 })
})

test('19-digit integers pass digit for digit, in declared and undeclared columns', () => {
  const event = '{"id":1795292668348461056,"n":-9223372036854775808}'
  const want = ['[{"id":1795292668348461056,"n":-9223372036854775808}]']
  expect(run('SELECT id, n FROM s', [event]).lines).toEqual(want)
  const typed = 'CREATE STREAM s (id BIGINT, n BIGINT) WITH (DATASOURCE="x", FORMAT="json")'
  expect(run('SELECT id, n FROM s', [event], typed).lines).toEqual(want)
  const nested = 'CREATE STREAM s (id BIGINT, d STRUCT(n BIGINT)) WITH (DATASOURCE="x", FORMAT="json")'
  expect(
    run('SELECT id, d->n AS n FROM s', ['{"id":1795292668348461056,"d":{"n":1795292668348461057}}'], nested).lines,
  ).toEqual(['[{"id":1795292668348461056,"n":1795292668348461057}]'])
})

test('integer arithmetic stays exact where a double would not', () => {
  const typed = 'CREATE STREAM s (a BIGINT, b BIGINT) WITH (DATASOURCE="x", FORMAT="json")'
  const sql = 'SELECT a + b AS p, a * b AS m, a / b AS d, a % b AS r FROM s'
  const { lines } = run(sql, ['{"a":9007199254740991,"b":3}', '{"a":-7,"b":2}', '{"a":0,"b":-5}'], typed)
  expect(lines).toEqual([
    '[{"d":3002399751580330,"m":27021597764222973,"p":9007199254740994,"r":1}]',
    '[{"d":-3,"m":-14,"p":-5,"r":-1}]',
    '[{"d":0,"m":0,"p":-5,"r":0}]',
  ])
})

test('errors carry the messages of the general lane and leave their neighbours alone', () => {
  const { lines, errors } = run('SELECT a / b AS q FROM s WHERE a > 0', [
    '{"a":1,"b":2}',
    '{"a":1,"b":0}',
    '{"a":"x"}',
    '{',
    '{"a":3,"b":4}',
  ])
  expect(lines).toEqual(['[{"q":0.5}]', '[{"q":0.75}]'])
  expect(errors.map((e) => e.slice(0, 30))).toEqual([
    '1 row run Select error: alias:',
    '1 row run Where error: invalid',
    '1 decode cannot parse JSON: te',
  ])
})

test('a payload with one value of a wrong type gives no row at all', () => {
  const typed = 'CREATE STREAM s (a BIGINT) WITH (DATASOURCE="x", FORMAT="json")'
  const { lines, errors, counts } = run(
    'SELECT a FROM s WHERE a > 1',
    ['{"a":2}', '[{"a":3},{"a":"4"},{"a":5}]', '[{"a":6},{"a":1},{"a":7.0}]'],
    typed,
  )
  expect(lines).toEqual(['[{"a":2}]', '[{"a":6}]', '[{"a":7}]'])
  expect(errors).toEqual(['1 decode a has wrong type:string, expect:bigint'])
  expect(counts).toEqual({ received: 5, emitted: 3, filtered: 1 })
})

test('an array larger than a batch', () => {
  const item = (i: number) => `{"a":${i},"t":"${'x'.repeat(i % 90)}"}`
  const long = `[${Array.from({ length: 9000 }, (_, i) => item(i)).join()}]`
  expect(run('SELECT a, t FROM s WHERE a % 3 = 0', ['{"a":3}', '{bad', long, '{"a":6}']).counts.emitted).toBe(3002)
  expect(run('SELECT a FROM s', [`${long.slice(0, -1)},{]`]).counts).toEqual({ received: 1, emitted: 0, filtered: 0 })
  expect(run('SELECT a FROM s', [long], undefined, { maxRows: 8000 }).errors.length).toBe(1)
  const typed = 'CREATE STREAM s (a BIGINT) WITH (DATASOURCE="x", FORMAT="json")'
  expect(run('SELECT a FROM s', [long.replace('8999', '"8999"')], typed).counts.received).toBe(1)
  expect(run('SELECT a FROM s', [long], typed).counts.emitted).toBe(9000)
})

test('CASE may give an int64 in one row and a float in the next', () => {
  const sql =
    'SELECT case when a > 5 then a when a > 3 then 7 else 2 end / 2 AS h, case when a > 5 then a else 0 end AS k FROM s'
  expect(run(sql, ['{"a":7}', '{"a":4}', '{"a":1}', '{"a":null}', '{}']).lines).toEqual([
    '[{"h":3.5,"k":7}]',
    '[{"h":3,"k":0}]',
    '[{"h":1,"k":0}]',
    '[{"h":1,"k":0}]',
    '[{"h":1,"k":0}]',
  ])
})

test('a statement that reads no column', () => {
  expect(run("SELECT 1 AS n, 'x' AS t FROM s", ['{}', '{"a":1}', '[{},{}]', '3']).counts.emitted).toBe(4)
})

test('limits of rows and bytes hold for small payloads', () => {
  const small = { maxRows: 2, maxPayloadBytes: 60 }
  const payloads = [
    '[{"a":1},{"a":2}]',
    '[{"a":1},{"a":2},{"a":3}]',
    '{"a":4}',
    `{"a":5,"b":"${'x'.repeat(60)}"}`,
    '{"a":6}',
  ]
  expect(run('SELECT a FROM s', payloads, undefined, small).counts).toEqual({ received: 6, emitted: 4, filtered: 0 })
  const plan = planOf('SELECT a FROM s')
  const environment = environmentOf(plan, small)
  const bytes = payloads.map((p) => encodeUtf8(p))
  expect(columnarOutcome(plan, environment, [lineFramed(bytes)])).toEqual(generalOutcome(plan, environment, bytes))
})

test('a row too long for the output region goes the general way', () => {
  const long = 'x'.repeat(400_000)
  const { lines } = run('SELECT a, a AS b FROM s', ['{"a":"1"}', `{"a":"${long}<"}`, '{"a":"2"}'])
  expect(lines.map((l) => l.length)).toEqual([19, 2 * 400_000 + 29, 19])
})

test('an output call may lead back into the same chain', () => {
  const plan = planOf('SELECT a + 1 AS a FROM s WHERE a < 6')
  const chain = compileColumnar(plan, environmentOf(plan, {}, true))!
  const seen: string[] = []
  const output: ColumnarOutput = {
    lines: (payload) => {
      const text = decodeUtf8(payload)
      seen.push(text)
      chain.process({ chunk: { payloads: [encodeUtf8(text)], framing: 'lines', timestamp: 0 } }, output)
    },
    failed: (error) => {
      throw error
    },
  }
  expect(chain.process({ chunk: listed([encodeUtf8('{"a":3}')]) }, output)).toEqual({
    received: 1,
    emitted: 1,
    filtered: 0,
  })
  expect(seen).toEqual(['{"a":4}\n', '{"a":5}\n'])
})

test('plans with state, metadata or aggregates are left to the general lane', () => {
  for (const sql of [
    'SELECT lag(a) FROM s',
    'SELECT count(*) FROM s',
    'SELECT meta(topic) AS t FROM s',
    'SELECT a[0] AS x FROM s',
    'SELECT concat(a, b) AS x FROM s',
    'SELECT a FROM s LIMIT 0',
    'SELECT now() AS n FROM s',
  ]) {
    const plan = planOf(sql)
    expect([sql, compileColumnar(plan, environmentOf(plan))]).toEqual([sql, null])
  }
})

test('column names and texts never become code', () => {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: text that would be code in the wrong place
  const odd = 'x"];throw 1;//`${1}'
  const { lines } = run("SELECT `a b`, case when t = '\"];throw 1;//' then '\\\\u0022`$' end as `k\"]` FROM s", [
    JSON.stringify({ 'a b': odd, t: '"];throw 1;//' }),
    JSON.stringify({ 'a b': odd, t: 'x' }),
  ])
  expect(lines.length).toBe(2)
})

describe('all columns, whatever the rows turn out to have', () => {
  const wildcards = [
    'SELECT * FROM s',
    'SELECT * FROM s WHERE a > 3',
    'SELECT * FROM s WHERE c->a = "x" OR isNull(id)',
    'SELECT * EXCEPT(a, id) FROM s WHERE b > 1',
    'SELECT *, a + 1 AS next, temp FROM s',
    'SELECT s.*, temp * 2 AS twice FROM s WHERE temp > 0',
  ]
  const typed = 'CREATE STREAM s (a FLOAT, b BIGINT, id STRING) WITH (DATASOURCE="x", FORMAT="json")'

  test.each(wildcards)('%s gives what the general lane gives', (sql) => {
    const random = seeded(77)
    for (let round = 0; round < 60 * scale; round++) {
      let plan = planOf(sql)
      try {
        if (random() < 0.3) plan = planOf(sql, typed)
      } catch {
        // It names a column that is not declared.
      }
      const environment = environmentOf(plan, {}, random() < 0.5)
      if (!compileColumnar(plan, environment)) continue
      const isHostile = random() < 0.3
      const groups = Array.from({ length: 5 }, () =>
        Array.from({ length: 1 + random.int(30) }, () => {
          const bytes = encodeUtf8(randomPayload(random))
          return isHostile && random() < 0.3 ? damaged(random, bytes) : bytes
        }),
      )
      const framing = random.pick([listed, packed])
      const got = columnarOutcome(plan, environment, groups.map(framing))
      expect({ sql, ...got }).toEqual({ sql, ...generalOutcome(plan, environment, groups.flat()) })
    }
  })

  /** Rows that each chunk leaves to the general decoder. */
  function decodedRows(
    sql: string,
    chunks: readonly (readonly string[])[],
    create?: string,
  ): { decoded: number[]; lines: string[]; wantsRows: boolean[] } {
    const plan = planOf(sql, create)
    const environment = environmentOf(plan, {}, true)
    const decoded: number[] = []
    const lines: string[] = []
    const wantsRows: boolean[] = []
    let rows = 0
    const chain = compileColumnar(plan, {
      ...environment,
      decoder: {
        decode(bytes) {
          rows++
          return environment.decoder.decode(bytes)
        },
      },
    })
    for (const chunk of chunks) {
      rows = 0
      chain?.process(
        { chunk: listed(chunk.map((text) => encodeUtf8(text))) },
        {
          lines: (bytes) => lines.push(...decodeUtf8(bytes).split('\n').slice(0, -1)),
          failed: (error) => {
            throw error
          },
        },
      )
      decoded.push(rows)
      wantsRows.push(chain?.wantsRows ?? false)
    }
    return { decoded, lines, wantsRows }
  }

  test('rows are decoded to objects only until their columns are known', () => {
    const row = (n: number): string => `{"temp":${n},"id":"x","n":null}`
    const { decoded, lines } = decodedRows('SELECT * FROM s WHERE temp > 1', [
      [row(1), row(2), row(3)],
      [row(4), '{"temp":5,"more":true}', row(0)],
      [row(6), '{"temp":7,"more":true}', '{}', '{"o":1,"temp":1}', '{"temp":8}'],
    ])
    expect(decoded).toEqual([2, 1, 0])
    expect(lines).toEqual(
      [2, 3, 4]
        .map((n) => `{"id":"x","n":null,"temp":${n}}`)
        .concat(['{"more":true,"temp":5}', '{"id":"x","n":null,"temp":6}', '{"more":true,"temp":7}', '{"temp":8}']),
    )
  })

  test('objects and arrays go out without being decoded, keys sorted and the last of equal ones', () => {
    const rows = [
      '{"o":{ "b" : 1 ,"a":[1, 2.50,-0,1e3,{"z":null,"y":"<é\\u0041>"},[],{}]},"l":[true,false,"x"]}',
      '{"o":{"ab":1,"a":2,"a!":3,"é":4,"":5,"B":6,"a":{"b":1,"a":2,"b":3}},"l":[[[1.10]]]}',
      '{"o":{"n":12345678901234567890,"m":-9223372036854775809,"x":1E-7,"y":1e21,"z":0.1e1}}',
      '{"o":{"<&>":"\\ud800","k":"\\"\u2028"},"l":[ ]}',
    ]
    const { decoded, lines } = decodedRows('SELECT * FROM s', [['{"o":1,"l":2}'], rows])
    expect(decoded).toEqual([1, 0])
    const plan = planOf('SELECT * FROM s')
    const bytes = rows.map((row) => encodeUtf8(row))
    expect(lines.slice(1)).toEqual(generalOutcome(plan, environmentOf(plan, {}, true), bytes).lines)
    expect(lines[2]).toBe('{"l":[[[1.1]]],"o":{"":5,"B":6,"a":{"a":2,"b":3},"a!":3,"ab":1,"é":4}}')
  })

  test('an object goes out whole beside a member of it that is a number near the end of the range', () => {
    for (const number of ['1e289', '-1e288', '1E+287', '10e288', '0.1e286', '9'.repeat(290)]) {
      run('SELECT o, o->a AS p FROM s', [`{"o":{"a":${number},"b":[1]}}`, '{"o":{"a":1}}'])
      run('SELECT *, o->a->b AS p FROM s', ['{"o":1,"p":2}', `{"o":{"a":{"b":${number}}}}`])
    }
  })

  test('objects of many members, whatever their order, equal keys among them', () => {
    const random = seeded(5)
    const rows = [0, 1, 2, 300, 500].flatMap((count) =>
      [0, 1, 2].map((order) => {
        const keys = Array.from({ length: count }, (_, i) => `k${i}`).sort()
        if (order === 1) keys.reverse()
        if (order === 2) keys.push(...keys.map(() => random.pick(keys)))
        return `{"o":{${keys.map((key, i) => `"${key}":${i}`).join()}}}`
      }),
    )
    const { decoded, lines } = decodedRows('SELECT o FROM s', [rows])
    expect(decoded).toEqual([0])
    const plan = planOf('SELECT o FROM s')
    const bytes = rows.map((row) => encodeUtf8(row))
    expect(lines).toEqual(generalOutcome(plan, environmentOf(plan, {}, true), bytes).lines)
  })

  test('what only the general encoder can write leaves its neighbours alone', () => {
    const plain = '{"o":{"a":1}}'
    const rows = [
      `{"o":{"\\u0061":1,"b":2}}`,
      `{"o":${'['.repeat(17)}${']'.repeat(17)}}`,
      `{"o":{${Array.from({ length: 513 }, (_, i) => `"k${i}":${i}`).join()}}}`,
      '{"o":[1.00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000001]}',
    ]
    const { decoded, lines } = decodedRows('SELECT o FROM s', [rows.flatMap((row) => [plain, row, plain])])
    expect(decoded).toEqual([4])
    const plan = planOf('SELECT o FROM s')
    const all = rows.flatMap((row) => [plain, row, plain]).map((row) => encodeUtf8(row))
    expect(lines).toEqual(generalOutcome(plan, environmentOf(plan, {}, true), all).lines)
  })

  test('of a declared stream they are known from the start; of the others only nulls are kept', () => {
    const { decoded, lines } = decodedRows('SELECT * FROM s', [['{"id":"x","more":1}', '{"b":2,"more":null}']], typed)
    expect([decoded, lines]).toEqual([[1], ['{"id":"x"}', '{"b":2,"more":null}']])
  })

  test('rows with ever new columns had better come decoded', () => {
    const chunk = (from: number): string[] => Array.from({ length: 50 }, (_, i) => `{"k${from + i}":1,"id":2}`)
    const chunks = [0, 50, 100, 150].map(chunk)
    const { decoded, lines, wantsRows } = decodedRows('SELECT * FROM s', [...chunks, chunk(0)])
    // Those of the first chunk are still known.
    expect(decoded).toEqual([50, 50, 50, 50, 0])
    expect(wantsRows).toEqual([false, true, true, true, true])
    expect(lines).toEqual([...chunks.flat(), ...chunk(0)].map((text) => text.replace(/{(.*),(.*)}/, '{$2,$1}')))
  })

  test('a column that a field has the name of depends on the row', () => {
    const rows = [['{"a":1,"n":2}'], ['{"n":2}', '{"a":null,"n":3}'], ['{"a":5}']]
    const { decoded, lines } = decodedRows('SELECT *, n + 1 AS a FROM s', rows)
    expect(lines).toEqual(['{"a":3,"n":2}', '{"a":3,"n":2}', '{"a":4,"n":3}', '{"a":5}'])
    expect(decoded).toEqual([1, 1, 1])
    const plan = planOf('SELECT *, a + 1 AS a FROM s')
    expect(compileColumnar(plan, environmentOf(plan))).toBeNull()
  })

  test('an output call that leads back to the stream finds it working', () => {
    const plan = planOf('SELECT * FROM s')
    const chain = compileColumnar(plan, environmentOf(plan, {}, true))
    const lines: string[] = []
    const send = (text: string, then?: () => void): void => {
      chain?.process(
        { chunk: listed([encodeUtf8(text)]) },
        {
          lines(bytes) {
            lines.push(decodeUtf8(bytes).trim())
            then?.()
          },
          failed: (error) => {
            throw error
          },
        },
      )
    }
    send('{"a":1}')
    send('{"a":2}', () => send('{"b":3}', () => send('{"a":4,"b":5}')))
    send('{"b":6,"a":7}')
    expect(lines).toEqual(['{"a":1}', '{"a":2}', '{"b":3}', '{"a":4,"b":5}', '{"a":7,"b":6}'])
  })

  test.each(['SELECT * REPLACE(a + 1 AS a) FROM s', 'SELECT *, meta(topic) FROM s', 'SELECT * FROM s LIMIT 1'])(
    '%s has no columnar form',
    (sql) => {
      const plan = planOf(sql)
      expect(compileColumnar(plan, environmentOf(plan))).toBeNull()
    },
  )
})
