/**
 * Speed of the hot path in process: 500,000 events of about 60 bytes. One JSON line per measure, the best of several rounds in
 * events per CPU second. Run with tsx; DESIGN.md, Budgets.
 */
import { performance } from 'node:perf_hooks'
import { type ColumnarChain, compileColumnar, type PayloadChunk } from '../src/compile/columnar/index.ts'
import { type ColumnarWindow, planColumnarWindow } from '../src/compile/columnar/window.ts'
import { compileExpression, newHitCounter } from '../src/compile/expression.ts'
import { manualClock } from '../src/core/clock.ts'
import type { Batch } from '../src/core/row.ts'
import { decodeUtf8 } from '../src/core/utf8.ts'
import { jsonFormat } from '../src/formats/json.ts'
import type { AggregateFunction } from '../src/functions/contract.ts'
import { builtinFunctions as functions } from '../src/functions/index.ts'
import { acquireKernel, kernelShape } from '../src/kernel/kernel.ts'
import type { WindowSpec } from '../src/operators/window/contract.ts'
import { planSelect, toIncremental } from '../src/plan/index.ts'
import type { LogicalPlan, WindowNode } from '../src/plan/logical.ts'
import { findNode } from '../src/plan/nodes.ts'
import type { StreamDefinition } from '../src/sql/ast.ts'
import { parseSelect, parseStatement } from '../src/sql/index.ts'

const EVENTS = 500_000
const ROUNDS = 7

const events = Array.from(
  { length: EVENTS },
  (_, i) => `{"id":"dev_${i}","temp":${15 + ((i * 7) % 200) / 10},"hum":${40 + (i % 50)},"ts":${1700000000000 + i}}`,
)
const lines = Buffer.from(`${events.join('\n')}\n`)

function measure(name: string, run: () => number): void {
  let best = 0
  let wall = 0
  let rows = 0
  for (let round = 0; round < ROUNDS; round++) {
    const cpu = process.cpuUsage()
    const started = performance.now()
    rows = run()
    const { user, system } = process.cpuUsage(cpu)
    best = Math.max(best, EVENTS / ((user + system) / 1e6))
    wall = Math.max(wall, EVENTS / ((performance.now() - started) / 1e3))
  }
  console.log(
    JSON.stringify({
      bench: 'kernel',
      name,
      rows,
      eventsPerCpuSecond: Math.round(best),
      eventsPerSecond: Math.round(wall),
    }),
  )
}

const schemaless = 'CREATE STREAM s () WITH (DATASOURCE="x", FORMAT="json")'
const decode = { columns: null, wholeNumbersAsInt64: false, maxPayloadBytes: 1 << 24, maxDepth: 300, maxRows: 1 << 20 }
const environment = {
  expressions: {
    functions,
    call: {
      clock: manualClock(),
      timezone: 'UTC',
      ruleId: 'bench',
      ruleStart: 0,
      row: null,
      window: null,
      keyedState: { get: () => undefined },
      props: {},
    },
    states: new Map(),
    hits: newHitCounter(),
    aggregateHits: newHitCounter(),
  },
  decoder: jsonFormat.decoder(decode, { schemaText: () => undefined }),
  decode,
  sendSingle: true,
}

function planOf(sql: string, create: string): LogicalPlan {
  const stream = parseStatement(create, { functions }) as StreamDefinition
  return planSelect(parseSelect(sql, { functions }), { stream: () => stream, functions })
}

function chainOf(sql: string, create = schemaless): ColumnarChain {
  const chain = compileColumnar(planOf(sql, create), environment)
  if (!chain) throw new Error(`${sql} has no columnar form`)
  return chain
}

let windowTime = 0
function windowOf(sql: string): ColumnarWindow {
  const plan = toIncremental(planOf(sql, schemaless), functions) as LogicalPlan
  const { incremental } = findNode(plan.root, 'window') as WindowNode
  const none = { when: null, onHit: null, begin: null, emit: null, partition: [], halfOpen: false, sendTwice: false }
  const spec: WindowSpec = {
    kind: 'tumbling',
    unit: 'ss',
    length: 10,
    interval: 0,
    delay: 0,
    eventTime: false,
    ...none,
    limits: { rows: 1e6, bytes: 1e9, partitions: 1e6, policy: 'dropOldest' },
  }
  const aggregation = {
    dimensions: (incremental?.dimensions ?? []).map((d) => compileExpression(d, environment.expressions)),
    calls: (incremental?.calls ?? []).map(({ name, call }) => ({
      name,
      functionName: call.name,
      accumulator: (functions(call.name) as AggregateFunction).accumulator as NonNullable<
        AggregateFunction['accumulator']
      >,
      args: [],
    })),
    where: null,
    maxGroups: 1_000_000,
  }
  const window = planColumnarWindow(plan, { ...environment, sendSingle: null })?.create({ spec, aggregation })
  if (!window) throw new Error(`${sql} has no columnar form`)
  window.operator.open?.({ now: () => windowTime, timezone: 'UTC', wakeAt: () => {}, room: () => {} })
  return window
}

function throughChain(chain: ColumnarChain, chunks: readonly PayloadChunk[]): () => number {
  const sink = Buffer.alloc(1 << 20)
  return () => {
    let rows = 0
    for (const chunk of chunks) {
      chain.process(
        { chunk },
        {
          lines: (payload, n) => {
            sink.set(payload)
            rows += n
          },
          failed: (error) => {
            throw error
          },
        },
      )
    }
    return rows
  }
}

const kernel = acquireKernel()
const settings = { shape: kernelShape([['id'], ['temp']]), computed: 0, programBytes: 64, maxDepth: 300 }
measure('scan id and temp', () => {
  let rows = 0
  let at = 0
  for (
    let batch = kernel.scanLines(settings, lines, 0, true);
    batch;
    batch = kernel.scanLines(settings, lines, at, true)
  ) {
    rows += batch.rowCount
    at += batch.consumed
  }
  return rows
})

const inPieces = (size: number, text = lines): PayloadChunk[] => {
  const chunks: PayloadChunk[] = []
  for (let at = 0; at < text.length; ) {
    const end = at + size >= text.length ? text.length : text.lastIndexOf(10, at + size - 1) + 1
    chunks.push({ payloads: [text.subarray(at, end)], framing: 'lines', timestamp: 0 })
    at = end
  }
  return chunks
}
const canonical = 'SELECT id, temp * 1.8 + 32 AS temp_f FROM s WHERE temp > 20'
measure(
  'lines, filter and formula, nothing passes',
  throughChain(chainOf('SELECT id, temp * 1.8 + 32 AS temp_f FROM s WHERE temp > 200'), inPieces(65536)),
)
measure('lines, filter and formula, JSON out', throughChain(chainOf(canonical), inPieces(65536)))
measure(
  'lines, columns unchanged, JSON out',
  throughChain(chainOf('SELECT id, temp, ts FROM s WHERE temp > 20'), inPieces(65536)),
)
const typed = 'CREATE STREAM s (id STRING, temp FLOAT, hum BIGINT, ts BIGINT) WITH (DATASOURCE="x", FORMAT="json")'
measure(
  'lines, declared types, text condition',
  throughChain(chainOf("SELECT id, hum + 1 AS h, ts FROM s WHERE id LIKE '%11'", typed), inPieces(65536)),
)

const arrays: PayloadChunk[] = []
for (let i = 0; i < EVENTS; i += 500)
  arrays.push({ payloads: [Buffer.from(`[${events.slice(i, i + 500).join()}]`)], timestamp: 0 })
measure('arrays of 500, filter and formula, JSON out', throughChain(chainOf(canonical), arrays))

const payloads = events.map((e) => Buffer.from(e))
const listed = (size: number): PayloadChunk[] =>
  Array.from({ length: Math.ceil(EVENTS / size) }, (_, i) => ({
    payloads: payloads.slice(i * size, (i + 1) * size),
    timestamp: 0,
  }))
measure('payload lists of 200, JSON out', throughChain(chainOf(canonical), listed(200)))
measure('payloads one by one, JSON out', throughChain(chainOf(canonical), listed(1)))
const packed: PayloadChunk[] = []
for (let i = 0; i < EVENTS; i += 200) {
  const part = events.slice(i, i + 200)
  const bytes = Buffer.from(part.join('????'))
  const ranges = new Uint32Array(2 * part.length)
  let at = 0
  for (const [k, e] of part.entries()) {
    ranges[2 * k] = at
    ranges[2 * k + 1] = at + e.length
    at += e.length + 4
  }
  packed.push({ payloads: [], packed: { bytes, ranges }, timestamp: 0 })
}
measure('packed payloads of 200, JSON out', throughChain(chainOf(canonical), packed))

const gaps = Buffer.from(
  `${events.map((e, i) => (i % 4 === 0 ? e.replace('"temp":', '"temp":null,"t":') : i % 50 === 0 ? e.replace('"temp":', '"temp":"x","t":') : e)).join('\n')}\n`,
)
const mixedChain = chainOf('SELECT id, temp + 1 AS t FROM s WHERE hum > 41')
measure('lines, a quarter null, 2% of another kind', () => {
  let rows = 0
  mixedChain.process(
    { chunk: { payloads: [gaps], framing: 'lines', timestamp: 0 } },
    {
      lines: (_, n) => {
        rows += n
      },
      failed: () => {},
    },
  )
  return rows
})
const noFailures = { failed: () => {}, discarded: () => {} }
const grouped = windowOf(
  'SELECT id, count(*) AS n, avg(temp) AS mean, max(temp) AS top FROM s GROUP BY id, TUMBLINGWINDOW(ss, 10)',
)
const devices = Buffer.from(`${events.map((e, i) => e.replace(`"dev_${i}"`, `"dev_${i % 10_000}"`)).join('\n')}\n`)
const deviceChunks = inPieces(65536, devices)
measure('grouped by 10,000 ids, count, avg, max', () => {
  let held = 0
  for (const chunk of deviceChunks) held += grouped.process({ chunk }, noFailures).received
  return held
})
measure('the same, and the window fires', () => {
  for (const chunk of deviceChunks) grouped.process({ chunk }, noFailures)
  let rows = 0
  const out = {
    batch: (batch: Batch) => {
      rows += batch.kind === 'groups' ? batch.groups.length : 0
    },
    fail: () => {},
    discard: () => {},
    consumed: () => {},
    watermark: () => {},
  }
  windowTime += 10_000
  grouped.operator.tick?.(windowTime, out)
  return rows
})
measure('JSON.parse and objects, for comparison', () => {
  let rows = 0
  let at = 0
  for (let i = 0; i < EVENTS; i++) {
    const end = lines.indexOf(10, at)
    const row = JSON.parse(decodeUtf8(lines.subarray(at, end)))
    at = end + 1
    if (row.temp > 20) {
      JSON.stringify({ id: row.id, temp_f: row.temp * 1.8 + 32 })
      rows++
    }
  }
  return rows
})
