import { expect, test } from 'vitest'
import { type Random, seeded } from '../../../test/support/random-json.ts'
import { manualClock } from '../../core/clock.ts'
import { encodeJsonText } from '../../core/json-encode.ts'
import { makeRow, type Row } from '../../core/row.ts'
import { decodeUtf8, encodeUtf8 } from '../../core/utf8.ts'
import type { ValueObject } from '../../core/values.ts'
import type { ColumnType, DecodeOptions } from '../../formats/contract.ts'
import { jsonFormat } from '../../formats/json.ts'
import { createTimestampReader } from '../../formats/schema-check.ts'
import type { AggregateFunction } from '../../functions/contract.ts'
import { builtinFunctions as functions } from '../../functions/index.ts'
import { nullIsFalse } from '../../operators/condition.ts'
import type { Emit, Evaluate, Operator, State } from '../../operators/contract.ts'
import { type WatermarkOptions, watermarkOperator } from '../../operators/watermark.ts'
import type { Aggregation } from '../../operators/window/aggregation.ts'
import type { WindowSpec } from '../../operators/window/contract.ts'
import { createIncrementalWindow } from '../../operators/window/index.ts'
import { planSelect, toIncremental } from '../../plan/index.ts'
import type { LogicalPlan, SourceNode, WindowNode } from '../../plan/logical.ts'
import { findNode } from '../../plan/nodes.ts'
import type { StreamDefinition } from '../../sql/ast.ts'
import { parseSelect, parseStatement } from '../../sql/index.ts'
import { compileExpression, type ExpressionContext, newHitCounter, rowScope, wildcardObject } from '../expression.ts'
import type { PayloadChunk } from './contract.ts'
import { type ColumnarWindow, planColumnarWindow } from './window.ts'

const START = 1_700_000_000_000
const scale = Number(process.env['IXION_TEST_SCALE'] ?? 1)

const expressions: ExpressionContext = {
  functions,
  call: {
    clock: manualClock(),
    timezone: 'UTC',
    ruleId: 'r',
    ruleStart: 0,
    row: null,
    window: null,
    keyedState: { get: () => undefined },
    props: {},
  },
  states: new Map(),
  hits: newHitCounter(),
  aggregateHits: newHitCounter(),
}

function planOf(sql: string, create: string, isEventTime = false): LogicalPlan {
  const stream = parseStatement(create, { functions }) as StreamDefinition
  const plan = planSelect(parseSelect(sql, { functions }), {
    stream: () => stream,
    functions,
    options: { isEventTime },
  })
  return toIncremental(plan, functions) as LogicalPlan
}

interface Subject {
  plan: LogicalPlan
  decode: DecodeOptions
  spec: WindowSpec
  aggregation: Aggregation
}

function subjectOf(
  sql: string,
  create = 'CREATE STREAM s () WITH (DATASOURCE="x", FORMAT="json")',
  maxGroups = 1000,
  eventTime = false,
): Subject {
  const plan = planOf(sql, create, eventTime)
  const source = findNode(plan.root, 'source') as SourceNode
  const { window, incremental } = findNode(plan.root, 'window') as WindowNode
  const evaluate = (e: Parameters<typeof compileExpression>[0]): Evaluate =>
    e.kind === 'wildcard' ? (row) => wildcardObject(row, e) : compileExpression(e, expressions)
  return {
    plan,
    decode: {
      columns: new Map(source.columns?.map((c) => [c.name, (c.type ?? { kind: 'any' }) as ColumnType])),
      wholeNumbersAsInt64: false,
      maxPayloadBytes: 1 << 20,
      maxDepth: 20,
      maxRows: 10_000,
    },
    spec: {
      kind: window.kind,
      unit: 'ss',
      length: window.length,
      interval: window.interval,
      delay: 0,
      eventTime,
      when: null,
      onHit: null,
      begin: null,
      emit: null,
      partition: [],
      halfOpen: false,
      sendTwice: false,
      limits: { rows: 1e6, bytes: 1e9, partitions: 1e6, policy: 'dropOldest' },
    },
    aggregation: {
      dimensions: (incremental?.dimensions ?? []).map(evaluate),
      calls: (incremental?.calls ?? []).map(({ name, call }) => ({
        name,
        functionName: call.name,
        accumulator: (functions(call.name) as AggregateFunction).accumulator!,
        args: call.args.map(evaluate),
      })),
      where: incremental?.where ? nullIsFalse('Where', compileExpression(incremental.where, expressions)) : null,
      maxGroups,
    },
  }
}

/** What a window gives, and the ledger's view of it. */
class Trace implements Emit {
  readonly events: string[] = []
  /** `key`: the only column that is compared. */
  readonly #key: string | null
  constructor(key: string | null) {
    this.#key = key
  }
  batch(batch: Parameters<Emit['batch']>[0]): void {
    if (batch.kind !== 'groups') throw new Error(batch.kind)
    const groups = batch.groups.map((rows) =>
      rows.map((row) => {
        const message = this.#key === null ? row.message : { [this.#key]: row.message[this.#key] ?? null }
        return encodeJsonText([message as ValueObject, row.timestamp, [...(row.computed ?? [])]])
      }),
    )
    this.events.push(JSON.stringify([batch.window, groups]))
  }
  fail(error: Error, rows: number): void {
    this.events.push(`fail ${error.message} ${rows}`)
  }
  readonly failures: string[] = []
  /** Rows of no window: one lane tells each, the other their sum. */
  filtered = 0
  discard(reason: string, rows: number): void {
    if (reason === 'filtered') this.filtered += rows
    else this.events.push(`${reason} ${rows}`)
  }
  consumed(rows: number): void {
    this.events.push(`consumed ${rows}`)
  }
  watermark(): void {}
}

function general({ plan, decode, spec, aggregation }: Subject) {
  const operator = createIncrementalWindow(spec, aggregation)
  const decoder = jsonFormat.decoder(decode, { schemaText: () => undefined })
  const filter = findNode(plan.root, 'filter')
  const holds = filter && nullIsFalse('Where', compileExpression(filter.condition, expressions))
  return {
    operator,
    process(payloads: readonly Uint8Array[], timestamp: number, trace: Trace): void {
      for (const payload of payloads) {
        let messages: ValueObject[]
        try {
          messages = decoder.decode(payload)
        } catch (error) {
          trace.events.push(`failed ${(error as Error).message}`)
          continue
        }
        for (const message of messages) {
          const row = makeRow('s', message, timestamp)
          try {
            if (!holds || holds(row, rowScope)) operator.push({ kind: 'rows', rows: [row], events: 1 }, trace)
          } catch (error) {
            trace.events.push(`failed ${(error as Error).message}`)
          }
        }
      }
    },
  }
}

function columnar({ plan, decode, spec, aggregation }: Subject): ColumnarWindow {
  const decoder = jsonFormat.decoder(decode, { schemaText: () => undefined })
  const window = planColumnarWindow(plan, { expressions, decoder, decode, sendSingle: null })?.create({
    spec,
    aggregation,
  })
  if (!window) throw new Error('no columnar form')
  return window
}

function open(operator: Operator, now: () => number): void {
  operator.open?.({ now, timezone: 'UTC', wakeAt: () => {}, room: () => {} })
}

const chunkOf = (payloads: readonly Uint8Array[], timestamp: number): PayloadChunk => ({ payloads, timestamp })

/** The same chunks through both, with ticks, and a checkpoint in the middle. */
function compare(
  sql: string,
  create: string | undefined,
  key: string | null,
  chunks: readonly Uint8Array[][],
  maxGroups = 1000,
): string[] {
  const subject = subjectOf(sql, create, maxGroups)
  let now = 1000
  const g = general(subject)
  let c = columnar(subject)
  const want = new Trace(key)
  const got = new Trace(key)
  open(g.operator, () => now)
  open(c.operator, () => now)
  for (const [i, chunk] of chunks.entries()) {
    g.process(chunk, now, want)
    const before = c.operator.held as number
    let failures = 0
    const counts = c.process(
      { chunk: chunkOf(chunk, now) },
      {
        discarded: () => {},
        failed: (error) => {
          failures++
          got.events.push(`failed ${error.message}`)
        },
      },
    )
    got.filtered += counts.outside
    expect(got.filtered).toBe(want.filtered)
    expect(counts.received).toBe(counts.filtered + counts.outside + failures + (c.operator.held as number) - before)
    expect(c.operator.held).toBe(g.operator.held)
    if (i === chunks.length >> 1) {
      const state = c.operator.save?.()
      if (key === null) expect(encodeJsonText(state!)).toBe(encodeJsonText(g.operator.save?.() as never))
      c = columnar(subject)
      c.operator.load?.(state!)
      open(c.operator, () => now)
    }
    now += 700
    g.operator.tick?.(now, want)
    c.operator.tick?.(now, got)
    expect({ sql, events: got.events }).toEqual({ sql, events: want.events })
  }
  return got.events
}

const bytes = (...texts: string[]): Uint8Array[] => texts.map((t) => encodeUtf8(t))

test('groups by text, in first-seen order', () => {
  const events = compare(
    'SELECT id, count(*) AS n, sum(t) AS s, avg(t) AS a, min(t) AS low, max(t) AS top FROM s GROUP BY id, TUMBLINGWINDOW(ss, 1)',
    undefined,
    'id',
    [
      bytes('{"id":"b","t":1.5}', '{"id":"a","t":2}', '{"id":"b","t":-3}'),
      bytes('{"id":"a","t":null}'),
      bytes('{"id":"b"}'),
    ],
  )
  expect(events[0]).toContain('\\"b\\"')
})

test('a text that begins with a byte order mark keeps it', () => {
  const events = compare(
    'SELECT max(k) AS k, collect(id) AS ids, n FROM s GROUP BY id, n, TUMBLINGWINDOW(ss, 1)',
    undefined,
    null,
    [bytes('{"id":"\ufeffa","n":1,"k":"\ufeff"}', '{"id":"a","n":1,"k":"b"}'), []],
  )
  expect(events[0]).toContain('[\\"\ufeffa\\"]')
})

test('texts with a lone surrogate are keys of their own', () => {
  for (const key of ['id', 'id, k']) {
    const events = compare(
      `SELECT count(*) AS n FROM s GROUP BY ${key}, TUMBLINGWINDOW(ss, 2)`,
      undefined,
      null,
      [0, 1, 2].map(() =>
        bytes('{"id":"\\ud800"}', '{"id":"\ufffd"}', '{"id":"\\udc00"}', '{"id":"\\ud83d\\ude00"}', '{"id":"\\ud800"}'),
      ),
    )
    expect(JSON.parse(events[0] as string)[1]).toHaveLength(4)
  }
})

function randomChunks(random: Random, typed: boolean): Uint8Array[][] {
  const mood = random.int(3)
  const wild = () =>
    random.pick(['null', '"x"', 'true', '1795292668348461056', '[1]', '1.5', '-0', '7', '"1"', '{"x":1}', '"a\\u0062"'])
  const number = () =>
    mood > 1 && random() < 0.1 ? wild() : typed ? String(random.int(50)) : (random.int(500) / 10).toFixed(random.int(2))
  const big = () => (random() < 0.3 ? '9007199254740991' : String(random.int(9)))
  const id = () =>
    mood > 0 && random() < 0.1 ? wild() : random() < 0.2 ? String(random.int(20)) : `"d${random.int(40)}"`
  const one = () => {
    const members: string[] = []
    if (mood === 0 || random() < 0.95) members.push(`"id":${typed ? `"d${random.int(9)}"` : id()}`)
    if (mood === 0 || random() < 0.95) members.push(`"t":${number()}`)
    if (mood === 0 || random() < 0.95) members.push(`"n":${typed ? big() : number()}`)
    members.push(`"k":${random() < 0.5 ? '"x,"' : id()}`)
    return `{${members.join()}}`
  }
  return Array.from({ length: 6 }, () => {
    const payloads: string[] = []
    for (let n = random.int(60); n > 0; n--) payloads.push(random() < 0.95 ? one() : `[${one()},${one()}]`)
    return bytes(...payloads, ...(mood === 2 && random() < 0.3 ? ['{'] : []))
  })
}

const aggregates = [
  'count(*)',
  'count(t)',
  'sum(t)',
  'avg(t)',
  'min(n)',
  'max(n)',
  'sum(n)',
  'avg(n)',
  'max(t + 1)',
  'stddev(t)',
  'collect(n)',
  'last_value(n, true)',
]
const keys = ['id', 'id, k', 'id, k, n', 'k', '', 't % 3', 'n', 'id, t > 20']

const kinds = ['TUMBLINGWINDOW(ss, 1)', 'TUMBLINGWINDOW(ss, 2)', 'HOPPINGWINDOW(ss, 3, 1)', 'HOPPINGWINDOW(ss, 1, 2)']

/** The statement, and the only column that anything above its window reads. */
function randomStatement(random: Random, windows = kinds): [string, string | null] {
  const fields = Array.from({ length: 1 + random.int(4) }, (_, i) => `${random.pick(aggregates)} AS a${i}`)
  const key = random.pick(keys)
  const where = random() < 0.5 ? random.pick([' WHERE t > 10', ' WHERE n != 3 and t >= 0', " WHERE k = 'x,'"]) : ''
  const sql = `SELECT ${fields.join(', ')}, n FROM s${where} GROUP BY ${key ? `${key}, ` : ''}${random.pick(windows)}`
  return [sql, key === 'n' ? 'n' : null]
}

test('random statements and events: the same windows, errors, counts and checkpoints as the general operator', () => {
  const random = seeded(31)
  for (let round = 0; round < 60 * scale; round++) {
    const [sql, key] = randomStatement(random)
    compare(sql, undefined, key, randomChunks(random, false), random.pick([1000, 1000, 5]))
  }
})

test('declared types: integer sums wrap like int64, beyond the safe range too', () => {
  const random = seeded(33)
  const create = 'CREATE STREAM s (id STRING, t FLOAT, n BIGINT, k STRING) WITH (DATASOURCE="x", FORMAT="json")'
  for (let round = 0; round < 30 * scale; round++) {
    const [sql, key] = randomStatement(random)
    compare(sql, create, key, randomChunks(random, true))
  }
})

test('the dictionary grows with its ids, and forgets between windows', () => {
  const many = (from: number, count: number) =>
    bytes(...Array.from({ length: count }, (_, i) => `{"id":"device-${from + i}","t":${i}}`))
  compare(
    'SELECT id, count(*) AS n, sum(t) AS s FROM s GROUP BY id, TUMBLINGWINDOW(ss, 1)',
    undefined,
    'id',
    [many(0, 9000), many(4000, 9000), many(0, 20), many(50_000, 30_000), many(0, 9000)],
    40_000,
  )
})

/** `count`: rows of a chunk, of which two thirds have a new key. */
const churning: readonly [title: string, keys: string, count: number, row: (i: number) => string][] = [
  ['short texts', 'id', 60, (i) => `"id":"d${i}"`],
  ['numbers', 'n', 60, (i) => `"n":${i}.5`],
  ['texts that fill the dictionary', 'id', 48, (i) => `"id":"d${i}${'x'.repeat(18_000)}"`],
  ['texts longer than the dictionary takes', 'id', 6, (i) => `"id":"d${i}${'é'.repeat(20_000)}"`],
  ['pairs, one part of which is long', 'id, n', 6, (i) => `"id":"${'x'.repeat(33_000)}","n":${i}`],
  ['four parts', 'id, k, n, t', 60, (i) => `"id":"d${i}","k":${i + 0.5},"n":"${i}"`],
]

test.each(churning)('keys that come and go, %s: no group is lost while its window has room', (_, keys, count, row) => {
  const chunks = Array.from({ length: 14 }, (_, c) =>
    bytes(...Array.from({ length: count }, (_, i) => `{${row(c * Math.ceil(count / 1.5) + i)},"t":${i % 2}}`)),
  )
  const timedChunks = chunks.map((chunk, c) =>
    chunk.map((text, i) => encodeUtf8(decodeUtf8(text).replace('{', `{"ts":${START + 700 * c + 10 * i},`))),
  )
  const create = 'CREATE STREAM s () WITH (DATASOURCE="x", FORMAT="json", TIMESTAMP="ts")'
  for (const window of ['TUMBLINGWINDOW(ss, 1)', 'HOPPINGWINDOW(ss, 4, 1)']) {
    const sql = `SELECT count(*) AS a, sum(t) AS s, last_value(t, true) AS l, x FROM s GROUP BY ${keys}, ${window}`
    for (const maxGroups of [4 * count, count]) compare(sql, undefined, null, chunks, maxGroups)
    compareEventTime(sql, create, timedChunks, 0, 4 * count)
  }
})

/** The same chunks through both lanes in event time, with a checkpoint in the middle of the columnar one. */
function compareEventTime(
  sql: string,
  create: string,
  chunks: readonly Uint8Array[][],
  lateTolerance: number,
  maxGroups = 1000,
  key: string | null = null,
): string[] {
  const subject = subjectOf(sql, create, maxGroups, true)
  const { plan, decode, spec, aggregation } = subject
  const { definition } = findNode(plan.root, 'source') as SourceNode
  const timestampOf = createTimestampReader(definition)
  const decoder = jsonFormat.decoder(decode, { schemaText: () => undefined })
  const options: WatermarkOptions = {
    streams: [{ emitter: 's', latePolicy: 'drop', maxFutureSkew: 50_000, idleTimeout: null }],
    lateTolerance,
    sendWatermark: true,
    coalesce: spec.kind !== 'session',
    maxRows: 1000,
  }
  let now = START
  const want = new Trace(key)
  const got = new Trace(key)
  const watermark = watermarkOperator(options)
  const window = createIncrementalWindow(spec, aggregation)
  /** What the watermark gives goes into the window. */
  const into = (target: Operator, trace: Trace): Emit => ({
    batch: (batch) => target.push(batch, trace),
    fail: (error, events) => trace.fail(error, events),
    discard: (reason, events) => trace.discard(reason, events),
    consumed: (events) => trace.consumed(events),
    watermark: (time) => target.watermark?.(time, trace),
  })
  const fresh = () => {
    const made = planColumnarWindow(plan, { expressions, decoder, decode, sendSingle: null })
    if (!made?.watermark) throw new Error('no columnar form')
    return { watermark: made.watermark(options, timestampOf), ...made.create({ spec, aggregation }) }
  }
  let c = fresh()
  const openAll = (...operators: Operator[]) => operators.map((o) => open(o, () => now))
  openAll(watermark, window, c.watermark, c.operator)
  for (const [i, chunk] of chunks.entries()) {
    const rows: Row[] = []
    const failed = (trace: Trace, error: unknown) => trace.failures.push((error as Error).message)
    for (const payload of chunk) {
      try {
        for (const message of decoder.decode(payload)) {
          try {
            rows.push(makeRow('s', message, timestampOf(message)))
          } catch (error) {
            failed(want, error)
          }
        }
      } catch (error) {
        failed(want, error)
      }
    }
    if (rows.length) watermark.push({ kind: 'rows', rows, events: rows.length }, into(window, want))
    let gone = 0
    const held = () => (c.watermark.held as number) + (c.operator.held as number)
    const before = held()
    const counts = c.process(
      { chunk: chunkOf(chunk, now) },
      {
        discarded(reason, events) {
          gone += events
          got.discard(reason, events)
        },
        failed(error, events) {
          gone += events
          failed(got, error)
        },
      },
    )
    expect(counts.received).toBe(counts.filtered + counts.outside + gone + held() - before)
    got.filtered += counts.outside
    c.operator.watermark?.(counts.watermark as number, got)
    // What is kept out is told at once in one lane, in front of the windows of its chunk in the other.
    const shown = ({ events, failures }: Trace) => {
      const isDrop = (event: string): boolean => /^(late|future_skew|window_limit) /.test(event)
      return { sql, failures, windows: events.filter((e) => !isDrop(e)), drops: events.filter(isDrop) }
    }
    expect(shown(got)).toEqual(shown(want))
    expect(got.filtered).toBe(want.filtered)
    expect(held()).toBe((watermark.held as number) + (window.held as number))
    if (spec.kind !== 'session') expect(c.operator.held).toBe(window.held)
    if (i === chunks.length >> 1) {
      const saved = [c.watermark.save?.(), c.operator.save?.()] as [State, State]
      if (spec.kind !== 'session') expect(encodeJsonText(saved[0])).toBe(encodeJsonText(watermark.save?.() as State))
      // Sessions keep rows in one lane and aggregates in the other; of a first row one may keep the key alone.
      if (spec.kind !== 'session' && key === null)
        expect(encodeJsonText(saved[1])).toBe(encodeJsonText(window.save?.() as State))
      c = fresh()
      c.watermark.load?.(saved[0])
      c.operator.load?.(saved[1])
      openAll(c.watermark, c.operator)
    }
    now += 700
  }
  return got.events
}

/** The same events with times: mostly forward, some late, some far ahead, some without one. */
function timed(random: Random, chunks: readonly Uint8Array[][], typed: boolean, unit = 1): Uint8Array[][] {
  let time = START
  const stamp = (): string => {
    time += unit > 1 ? random.int(4) * unit : random.int(60)
    if (unit > 1 && random() < 0.05) time += random.int(100) * unit
    const late = random() < 0.2 ? random.int(3000 / unit) * unit : 0
    if (!typed && random() < 0.01)
      return random.pick(['"ts":null,', '"ts":"x",', '', `"ts":${time}.0,`, `"ts":"${time}",`])
    return `"ts":${time - late + (random() < 0.01 ? 100_000 : 0)},`
  }
  return chunks.map((chunk) =>
    chunk.map((payload) => encodeUtf8(decodeUtf8(payload).replaceAll('{"id"', () => `{${stamp()}"id"`))),
  )
}

test('event time: the same windows, late rows, failures, counts and checkpoints as watermark and window', () => {
  const random = seeded(41)
  const create = (columns: string) =>
    `CREATE STREAM s (${columns}) WITH (DATASOURCE="x", FORMAT="json", TIMESTAMP="ts")`
  let windows = 0
  for (let round = 0; round < 60 * scale; round++) {
    const typed = round % 3 === 0
    const [sql, key] = randomStatement(random)
    const columns = typed ? 'id STRING, t FLOAT, n BIGINT, k STRING, ts BIGINT' : ''
    const chunks = timed(random, randomChunks(random, typed), typed)
    const events = compareEventTime(sql, create(columns), chunks, random.pick([0, 500, 2000]), undefined, key)
    windows += events.length
  }
  expect(windows).toBeGreaterThan(100)
})

test('event time: the same sessions, wherever the watermark stands between their rows, and at ticks', () => {
  const random = seeded(43)
  const create = 'CREATE STREAM s () WITH (DATASOURCE="x", FORMAT="json", TIMESTAMP="ts")'
  const windows = [
    'SESSIONWINDOW(ss, 2, 1)',
    'SESSIONWINDOW(ss, 1, 1)',
    'SESSIONWINDOW(ms, 500, 250)',
    'SESSIONWINDOW(mi, 1, 1)',
  ]
  let sessions = 0
  for (let round = 0; round < 120 * scale; round++) {
    const [sql, key] = randomStatement(random, windows)
    const chunks = timed(random, randomChunks(random, false), false, random.pick([1, 20, 50, 250]))
    const maxGroups = random.pick([1000, 1000, 4])
    sessions += compareEventTime(sql, create, chunks, random.pick([0, 200, 500, 2000]), maxGroups, key).length
  }
  expect(sessions).toBeGreaterThan(500)
})

test('event time: payloads without a row, and rows whose text is judged in another way when they leave', () => {
  const create = 'CREATE STREAM s () WITH (DATASOURCE="x", FORMAT="json", TIMESTAMP="ts")'
  // As a value this number is plain; skipped, it is one that only the general decoder judges.
  const long = `1.${'3'.repeat(287)}e-0000000000000000000001`
  compareEventTime(
    'SELECT id, count(*) AS n, x FROM s GROUP BY id, TUMBLINGWINDOW(ss, 1)',
    create,
    [
      bytes('[]'),
      bytes(
        `{"id":"a","ts":${START}}`,
        `{"ts":${long},"id":"a","ts":${START + 1}}`,
        '[]',
        `{"id":"b","ts":${START + 2}}`,
      ),
      bytes('[ ]', '[]'),
      bytes(),
      bytes(`{"id":"a","ts":${START + 5000}}`),
      bytes('[]'),
    ],
    0,
  )
})

test('what has no columnar form is left alone', () => {
  for (const sql of [
    "SELECT count(*) FROM s GROUP BY concat(id, 'x'), TUMBLINGWINDOW(ss, 1)",
    'SELECT collect(*) FROM s GROUP BY TUMBLINGWINDOW(ss, 1)',
  ]) {
    const { plan, decode } = subjectOf(sql)
    const decoder = jsonFormat.decoder(decode, { schemaText: () => undefined })
    expect(planColumnarWindow(plan, { expressions, decoder, decode, sendSingle: null })).toBe(null)
  }
})

test('a hopping window that holds nothing but an error still fails after a restart', () => {
  const at = (seconds: number, row: string): Uint8Array => encodeUtf8(`{"ts":${START + seconds * 1000},${row}}`)
  const events = compareEventTime(
    'SELECT sum(t + n) AS a FROM s GROUP BY n, HOPPINGWINDOW(ss, 3, 1)',
    'CREATE STREAM s () WITH (DATASOURCE="x", FORMAT="json", TIMESTAMP="ts")',
    [[at(10.1, '"t":"x","n":1')], [], [at(30, '"t":1,"n":1')]],
    0,
  )
  expect(events.filter((event) => event.startsWith('fail'))).toHaveLength(3)
})

test('rows that wait are saved in the order of their times, as the general watermark saves them', () => {
  const at = (ms: number): Uint8Array => encodeUtf8(`{"ts":${START + ms},"n":${ms}}`)
  // The checkpoint is made after the second chunk, and compared.
  compareEventTime(
    'SELECT collect(n) AS all FROM s GROUP BY TUMBLINGWINDOW(ss, 1)',
    'CREATE STREAM s () WITH (DATASOURCE="x", FORMAT="json", TIMESTAMP="ts")',
    [[at(100), at(900)], [at(500), at(500), at(100)], [at(9000)]],
    2000,
  )
})
