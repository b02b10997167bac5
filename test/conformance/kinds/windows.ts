/** windows.jsonl: windows, watermarks, tables, lookups and the nodes around them. */
import { compileExpression } from '../../../src/compile/expression.ts'
import { manualClock } from '../../../src/core/clock.ts'
import { parseDuration } from '../../../src/core/duration.ts'
import { messageOf } from '../../../src/core/errors.ts'
import { encodeJsonText } from '../../../src/core/json-encode.ts'
import { Ledger } from '../../../src/core/ledger.ts'
import { type Batch, type Row, rowsBatch } from '../../../src/core/row.ts'
import { copyFields, type Value, type ValueObject } from '../../../src/core/values.ts'
import { createRateLimitMerger } from '../../../src/engine/rate-limit.ts'
import { jsonFormat } from '../../../src/formats/json.ts'
import { builtinFunctions } from '../../../src/functions/index.ts'
import { cover, type Slot } from '../../../src/operators/dedup-trigger.ts'
import { joinAlignOperator } from '../../../src/operators/join-align.ts'
import { switchOperator } from '../../../src/operators/switch.ts'
import { watermarkOperator } from '../../../src/operators/watermark.ts'
import { alignedEnd } from '../../../src/operators/window/align.ts'
import { createWindow } from '../../../src/operators/window/index.ts'
import { NodeMetrics } from '../../../src/runtime/metrics.ts'
import { createSinkChain } from '../../../src/runtime/sink-chain.ts'
import { createSourceChain } from '../../../src/runtime/source-chain.ts'
import { parseSelect } from '../../../src/sql/index.ts'
import { drive } from '../../support/drive.ts'
import { type Case, fail, type Outcome, pass } from '../contract.ts'
import { fromTagged, sameValue, show } from '../values.ts'
import { expressionContext, type RecordedRow, rowOf as rowOfRecorded } from './operators.ts'
import { runLookup } from './windows-lookup.ts'
import { runWindow } from './windows-window.ts'

const equal = (actual: Value, wanted: Value): Outcome =>
  sameValue(actual, wanted) ? pass : fail(`${show(actual)}, expected ${show(wanted)}`)

const rowOf = (recorded: Case | RecordedRow): Row => rowOfRecorded(recorded as RecordedRow)
const plain = (row: Row): Value => [row.emitter, row.message as Value]
const plainRecorded = (row: Case): Value => plain(rowOf(row))

function runAligned(c: Case): Outcome {
  const end = alignedEnd(c['now'], c['interval'], c['unit'], c['timezone'])
  return end === c['expect'] ? pass : fail(`${end}, expected ${c['expect']}`)
}

/** The recorded count window was asked after every row; what stays shows in the window of one row more. */
function runCountWindow(c: Case): Outcome {
  const limits = { rows: 1e6, bytes: 1e9, partitions: 1e6, policy: 'dropOldest' as const }
  const window = createWindow({
    ...{ kind: 'count', unit: 'ms', length: c['size'], interval: 1, delay: 0, eventTime: false },
    ...{ when: null, onHit: null, begin: null, emit: null, partition: [], halfOpen: false, sendTwice: false, limits },
  })
  const driven = drive(window, manualClock())
  for (const row of c['rows'] as Case[]) driven.push(rowsBatch([rowOf(row)]))
  const last = driven.batches.at(-1)
  driven.push(rowsBatch([rowOf({ data: { next: 1 } })]))
  const next = driven.batches.at(-1)
  const messages = (b: Batch | undefined): Value[] => (b?.kind === 'collection' ? b.rows.map((r) => r.message) : [])
  const recorded = (rows: Case[]): Value[] => rows.map((r) => fromTagged(r['data']))
  const { windows, rest } = c['expect']
  return equal(
    [messages(last), messages(next).slice(0, -1)],
    [recorded((windows as Case[][]).at(-1) ?? []), recorded(rest)],
  )
}

function runWatermark(c: Case): Outcome {
  const operator = watermarkOperator({
    streams: (c['streams'] as string[]).map((emitter) => ({
      emitter,
      latePolicy: 'drop',
      maxFutureSkew: null,
      idleTimeout: null,
    })),
    lateTolerance: c['lateToleranceMs'],
    sendWatermark: c['emitWatermarks'] === true,
    maxRows: 1e6,
  })
  const driven = drive(operator, manualClock())
  for (const row of c['input'] as Case[]) driven.push(rowsBatch([rowOf(row)]))
  const got = driven.events.flatMap((e): Value[] =>
    'watermark' in e
      ? [{ watermark: e.watermark }]
      : e.kind === 'rows'
        ? e.rows.map((r) => [r.emitter, r.message as Value, r.timestamp])
        : [],
  )
  const wanted = (c['expect'] as Case[]).map((e): Value => {
    if (e['watermark'] !== undefined) return { watermark: e['watermark'] }
    const row = rowOf(e)
    return [row.emitter, row.message, row.timestamp]
  })
  return equal(got, wanted)
}

function runDedup(c: Case): Outcome {
  let slots: readonly Slot[] = []
  for (const step of c['steps'] as Case[]) {
    const result = cover(slots, step['start'], step['end'], step['now'] - step['expire'])
    slots = result.slots
    const got = {
      ranges: result.ranges?.map(([start, end]) => ({ start_key: String(start), end_key: String(end) })) ?? null,
      histogram: slots.map(([start, end]) => [BigInt(start), BigInt(end)]),
    }
    const outcome = equal(got, fromTagged(step['expect']))
    if (!outcome.ok) return fail(`${step['name']}: ${outcome.detail}`)
  }
  return pass
}

function runJoinAlign(c: Case): Outcome {
  const tables = Object.entries(c['tables'] as Record<string, Case>)
  const operator = joinAlignOperator(tables.map(([emitter, t]) => ({ emitter, size: t['retainSize'], key: null })))
  const driven = drive(operator, manualClock())
  for (const item of c['input'] as Case[]) {
    if (typeof item === 'string') driven.push(item as never)
    else if (item['window']) {
      driven.push({ kind: 'collection', rows: item['window'].map(rowOf), window: null, events: 0 })
    } else driven.push(rowsBatch([rowOf(item)]))
  }
  const got = driven.batches.map((b): Value => (b.kind === 'collection' ? b.rows.map(plain) : []))
  const windows = (list: Case[]): Case[] => list.filter((e) => e['$error'] === undefined)
  const recorded = (list: Case[]): Value => windows(list).map((e) => (e['window'] as Case[]).map(plainRecorded))
  const errors = (c['expect'] as Case[]).flatMap((e) => (e['$error'] === undefined ? [] : [e['$error']]))
  if (driven.errors.join('\n') !== errors.join('\n')) return fail(`errors ${driven.errors}, expected ${errors}`)
  const outcome = equal(got, recorded(c['expect']))
  return outcome.ok || !c['expectAlt'] ? outcome : equal(got, recorded(c['expectAlt']))
}

function runSwitch(c: Case): Outcome {
  const cases = (c['cases'] as string[]).map((text) => {
    const { where } = parseSelect(`SELECT * FROM s WHERE ${text}`, { functions: builtinFunctions })
    return { text, condition: compileExpression(where as never, expressionContext(c)) }
  })
  const operator = switchOperator({ node: 'switch', cases, stopAtFirstMatch: c['stopAtFirstMatch'] })
  const outputs: Value[][] = cases.map(() => [])
  const out = { batch() {}, fail() {}, discard() {}, consumed() {}, watermark() {} }
  const takers = outputs.map((taken) => (batch: Batch): void => {
    if (batch.kind === 'rows') taken.push(...batch.rows.map((r) => r.message as Value))
  })
  operator.connect?.(takers, () => {})
  for (const row of c['input'] as Case[]) operator.push(rowsBatch([rowOf(row)]), out)
  return equal(
    outputs,
    (c['expect'] as Case[][]).map((rows) => rows.map((r) => fromTagged(r['data']))),
  )
}

const decoding = { columns: null, wholeNumbersAsInt64: true, maxPayloadBytes: 1e6, maxDepth: 100, maxRows: 1000 }
const schemas = { schemaText: () => undefined }

/** Watermarks pass a rate limit at once; here they arise above it, so only messages are compared. */
async function runRateLimit(c: Case): Promise<Outcome> {
  const timeline = c['timeline'] as Case[]
  const clock = manualClock({ start: c['mergeField'] ? timeline[0]?.['at'] : 0 })
  const metrics = (): NodeMetrics => new NodeMetrics('op', 'node', clock)
  const ledger = new Ledger()
  const interval = c['intervalMs'] as number
  const decode = jsonFormat.decoder(decoding, schemas)
  const merger = c['mergeField']
    ? await createRateLimitMerger(
        { interval, mergeField: c['mergeField'], merger: '', format: 'json' },
        decoding,
        schemas,
      )
    : null
  const chain = createSourceChain({
    clock,
    ledger: () => ledger,
    decoder: { metrics: metrics(), decode: (payload) => decode.decode(payload) },
    feed: (payload) => decode.decode(payload),
    decompress: null,
    steps: [],
    rateLimit: { metrics: metrics(), interval, merger },
    json: true,
  })
  const got: Value[] = []
  chain.start((rows, _meta, timestamp) => {
    got.push(...rows.map((row): Value => (merger ? { ts: timestamp, row } : (row['raw'] as Value))))
  })
  for (const step of timeline) {
    // A message comes before the tick of the same millisecond.
    await clock.advanceTo(step['at'] - 1)
    const document = step['raw'] !== undefined ? { raw: step['raw'] } : step['json']
    if (!document) continue
    const payloads = [new TextEncoder().encode(encodeJsonText(fromTagged(document)))]
    chain.decode(
      { kind: 'bytes', payloads, meta: [null], timestamp: clock.now() },
      () => {},
      () => {},
    )
  }
  await clock.advance(interval)
  // The frames of one interval arrive merged into one row, later ones over earlier ones.
  const wanted = (c['expect'] as (Case | string | number)[])
    .filter((e) => e !== 'watermark')
    .map((e): Value => {
      if (typeof e !== 'object') return fromTagged(e)
      const row: ValueObject = {}
      for (const frame of e['latestById'] as Case[]) copyFields(row, fromTagged(frame) as ValueObject)
      return { ts: e['ts'], row }
    })
  return equal(got, wanted)
}

async function runRateLimitConfig(c: Case): Promise<Outcome> {
  const { interval, mergeField = '', merger = '', format = '' } = c['config']
  try {
    await createRateLimitMerger({ interval: parseDuration(interval), mergeField, merger, format }, decoding, schemas)
  } catch (error) {
    return messageOf(error) === c['expect'].$error
      ? pass
      : fail(`error ${messageOf(error)}, expected ${c['expect'].$error}`)
  }
  return c['expect']?.$error === undefined ? pass : fail(`accepted, expected ${c['expect'].$error}`)
}

async function runBatch(c: Case): Promise<Outcome> {
  const clock = manualClock()
  const metrics = (): NodeMetrics => new NodeMetrics('op', 'node', clock)
  const chain = createSinkChain({
    clock,
    takes: 'rows',
    transform: {
      metrics: metrics(),
      run: (result) => [{ value: result.rows[0] as Value, text: null, dynamic: {}, rows: 1 }],
      identity: null,
    },
    encode: null,
    byteSteps: [],
    batch: { metrics: metrics(), writerMetrics: null, size: c['batchSize'], linger: c['lingerMs'], writer: null },
  })
  const batches: number[] = []
  chain.start((items) => void batches.push(...items.map((i) => i.rows)), new Ledger(), null)
  for (let i = 0; i < c['send']; i++) {
    chain.offer({ rows: [{ i: BigInt(i) }], meta: null })
    await clock.advance(c['gapMs'])
  }
  chain.finish()
  const wanted = c['expect'].itemsBeforeFirstBatchEnd
  return batches[0] === wanted ? pass : fail(`first batch of ${batches[0]}, expected ${wanted}`)
}

const byOp: Record<string, (c: Case) => Outcome | Promise<Outcome>> = {
  'aligned-window-end': runAligned,
  'count-window': runCountWindow,
  watermark: runWatermark,
  'dedup-trigger-seq': runDedup,
  'join-align': runJoinAlign,
  'lookup-join': runLookup,
  switch: runSwitch,
  'rate-limit': runRateLimit,
  'rate-limit-config': runRateLimitConfig,
  batch: runBatch,
  window: runWindow,
}

export function run(c: Case): Outcome | Promise<Outcome> {
  const runner = byOp[c['op']]
  return runner ? runner(c) : fail(`not built: ${c['op']}`)
}
