/** Puts a rule on the columnar lane where it has a columnar form, and keeps the counters its operators would have kept. */
import { compileColumnar, type ScanMember } from '../compile/columnar/index.ts'
import {
  type ColumnarWindow,
  type ColumnarWindowOptions,
  type ColumnarWindowPlan,
  planColumnarWindow,
} from '../compile/columnar/window.ts'
import type { ExpressionContext } from '../compile/expression.ts'
import type { ColumnarCounts, ColumnarOutput } from '../core/columnar-output.ts'
import type { ValueObject } from '../core/values.ts'
import type { ColumnType } from '../formats/contract.ts'
import { createTimestampReader } from '../formats/schema-check.ts'
import type { Operator } from '../operators/contract.ts'
import type { WatermarkOptions } from '../operators/watermark.ts'
import type { LogicalPlan } from '../plan/logical.ts'
import type { ChunkDelivery, ColumnarLane } from '../runtime/columnar-lane.ts'
import type { NodeMetrics } from '../runtime/metrics.ts'
import { brokenIn } from '../runtime/rule-runner.ts'
import { wantedColumns } from './column-types.ts'
import type { EngineEnvironment } from './environment.ts'
import { loadFormat } from './formats.ts'
import type { PlannedRule } from './planned-rule.ts'
import type { ResolvedSink } from './sink-run.ts'
import { decodeOptions, type ResolvedSource } from './source-run.ts'

/** Counters of the nodes the lane stands for. */
export interface LaneMetrics {
  readonly decoder: NodeMetrics | undefined
  readonly filter: NodeMetrics | undefined
  readonly project: NodeMetrics | undefined
  /** Transform and encode of every sink. */
  readonly sinks: readonly NodeMetrics[]
}

/** A lane that may share scans with others. */
export interface StatelessLane extends ColumnarLane {
  readonly member: ScanMember
  meter(output: ColumnarOutput): Metered
  /** Counts rows of which it is known that none passes. */
  skipped(rows: number): void
}

/** Counts what one chunk gives. */
export interface Metered {
  readonly output: ColumnarOutput
  finish(counts: ColumnarCounts, delivery: ChunkDelivery): void
}

/** True when payloads may go to the rule undecoded; the plan itself is asked later. */
function laneIsPossible(planned: PlannedRule): boolean {
  return sourceFits(planned) && sinksFit(planned)
}

/** Every sink takes the same plain JSON. */
function sinksFit({ sinks }: PlannedRule): boolean {
  return sinks.length > 0 && sinks.every((sink) => fits(sink, sinks[0] as ResolvedSink))
}

/** One stream that hands over plain JSON. */
function sourceFits(planned: PlannedRule): boolean {
  const [source, ...others] = planned.sources.values()
  if (!source || others.length > 0 || planned.plan.sources.length !== 1 || planned.plan.graph) return false
  const { facts, format, connector } = source
  return (
    connector.emits === 'bytes' &&
    format === 'json' &&
    facts.decoder &&
    !facts.decompress &&
    !facts.payloadDecoder &&
    !facts.rateLimit
  )
}

function fits(sink: ResolvedSink, first: ResolvedSink): boolean {
  return sink.plainJson && !sink.common.omitIfEmpty && sink.common.sendSingle === first.common.sendSingle
}

/** Null when the rule has no columnar form. */
export async function createColumnarLane(
  environment: EngineEnvironment,
  planned: PlannedRule,
  expressions: ExpressionContext,
  columns: ReadonlyMap<string, ColumnType> | null,
  metrics: LaneMetrics,
): Promise<StatelessLane | null> {
  if (environment.options.ignoreCase || !laneIsPossible(planned)) return null
  const { clock } = environment
  const [source] = planned.sources.values()
  const [sink] = planned.sinks
  const decode = decodeOptions(environment, source as ResolvedSource, columns)
  const format = await loadFormat('json')
  const chain = compileColumnar(planned.plan, {
    expressions,
    decoder: format.decoder(decode, environment.schemas),
    decode,
    sendSingle: (sink as ResolvedSink).common.sendSingle,
  })
  if (!chain) return null
  const meter = (output: ColumnarOutput): Metered => {
    const started = clock.monotonic()
    let undecoded = 0
    let unfiltered = 0
    let failed = 0
    return {
      output: {
        lines: (payload, rows) => output.lines(payload, rows),
        failed(error, events, decoding) {
          const where = !decoding && metrics.filter !== undefined && isOfWhere(error)
          if (decoding) undecoded += events
          else if (where) unfiltered += events
          else failed += events
          const node = decoding ? metrics.decoder : where ? metrics.filter : (metrics.project ?? metrics.filter)
          node?.exception(error.message, events)
          output.failed(error, events, decoding)
        },
      },
      finish(counts, { chunk }) {
        const decoded = counts.received - undecoded
        const passed = decoded - unfiltered - counts.filtered
        credit(metrics.decoder, counts.received, decoded)
        credit(metrics.filter, decoded, passed)
        credit(metrics.project, passed, passed - failed)
        for (const node of metrics.sinks) credit(node, counts.emitted, counts.emitted)
        const elapsed = Math.round((clock.monotonic() - started) * 1000)
        for (const node of [metrics.decoder, metrics.filter, metrics.project]) {
          if (!node) continue
          node.latencyUs = elapsed
          node.lastInvocation = chunk.timestamp
        }
      },
    }
  }
  return {
    member: chain.member,
    get wantsRows() {
      return chain.wantsRows ?? false
    },
    meter,
    skipped(rows) {
      credit(metrics.decoder, rows, rows)
      credit(metrics.filter, rows, 0)
    },
    process(delivery, output) {
      const metered = meter(output)
      const counts = chain.process(delivery, metered.output)
      metered.finish(counts, delivery)
      return counts
    },
  }
}

/** A window that decodes, filters and aggregates undecoded payloads itself; what leaves it are rows, as from any window. */
export interface WindowLane {
  /** The operator in place of the plan's watermark; null = the plan's own. */
  watermark(options: WatermarkOptions): Operator | null
  /** The operator in place of the plan's window; null where this window has no columnar form. */
  window(options: ColumnarWindowOptions): Operator | null
  /** After `window` has been asked: the way in for payloads, or null. */
  lane(metrics: WindowMetrics): ColumnarLane | null
}

export interface WindowMetrics extends Pick<LaneMetrics, 'decoder' | 'filter' | 'project'> {
  readonly watermark: NodeMetrics | undefined
  readonly window: NodeMetrics | undefined
  /** Operators that the window does the work of. */
  readonly absorbed: readonly NodeMetrics[]
  readonly having: NodeMetrics | undefined
  /** Transform and encode of every sink. */
  readonly sinks: readonly { readonly transform: NodeMetrics; readonly encode: NodeMetrics }[]
}

/** Null when the rule's source does not hand over plain JSON of one stream. `plan` is the form in which the rule runs. */
export async function createWindowLane(
  environment: EngineEnvironment,
  planned: PlannedRule,
  plan: LogicalPlan,
  expressions: ExpressionContext,
): Promise<WindowLane | null> {
  if (environment.options.ignoreCase || !sourceFits(planned)) return null
  const [[node, source] = []] = planned.sources
  if (!node || !source) return null
  const fields = planned.plan.sources[0]?.fields ?? node.definition.fields
  const decode = decodeOptions(environment, source, wantedColumns(node, fields))
  const decoder = (await loadFormat('json')).decoder(decode, environment.schemas)
  const sendSingle = sinksFit(planned) ? (planned.sinks[0] as ResolvedSink).common.sendSingle : null
  const windowPlan = planColumnarWindow(plan, { expressions, decoder, decode, sendSingle })
  if (!windowPlan) return null
  const timestampOf = node.eventTime ? createTimestampReader(node.definition, { zone: environment.timezone }) : null
  return laneOf(windowPlan, timestampOf, sendSingle ?? false)
}

function laneOf(
  plan: ColumnarWindowPlan,
  timestampOf: ((message: ValueObject) => number) | null,
  sendSingle: boolean,
): WindowLane {
  let window: ColumnarWindow | null = null
  return {
    watermark: (options) => (timestampOf && plan.watermark?.(options, timestampOf)) ?? null,
    window(options) {
      window = plan.create(options)
      return window.operator
    },
    lane(metrics) {
      if (!window) return null
      const { process, connect } = window
      return {
        connect: (results) =>
          connect({
            ...results,
            released(rows) {
              credit(metrics.watermark, 0, rows)
              credit(metrics.window, rows, 0)
            },
            sent(rows) {
              const messages = sendSingle ? rows : Math.min(rows, 1)
              const kept = Math.min(rows, 1)
              credit(metrics.window, 0, 1)
              for (const node of metrics.absorbed) credit(node, 1, 1)
              credit(metrics.having, 1, kept)
              credit(metrics.project, kept, kept)
              for (const sink of metrics.sinks) {
                credit(sink.transform, kept, messages)
                credit(sink.encode, messages, messages)
              }
            },
          }),
        process(delivery, output) {
          let undecoded = 0
          let failed = 0
          const { received, filtered, outside, watermark, broken } = process(delivery, {
            discarded: (reason, events) => output.discarded(reason, events),
            failed(error, events, decoding) {
              if (decoding) undecoded += events
              else failed += events
              ;(decoding ? metrics.decoder : metrics.filter)?.exception(error.message, events)
              output.failed(error, events, decoding)
            },
          })
          const decoded = received - undecoded
          const passed = decoded - failed - filtered
          credit(metrics.decoder, received, decoded)
          if (watermark !== null) credit(metrics.watermark, decoded, 0)
          else {
            credit(metrics.filter, decoded, passed)
            credit(metrics.window, passed, 0)
          }
          return {
            received,
            emitted: 0,
            filtered: filtered + outside,
            ...(watermark !== null && { watermark }),
            ...(broken && { broken: brokenAt(metrics[broken.operator], broken.error) }),
          }
        },
      }
    },
  }
}

function brokenAt(node: NodeMetrics | undefined, error: Error): Error {
  node?.exception(error.message)
  return node ? brokenIn(node.name, error) : error
}

/** Errors of WHERE, known by the clause in front of their text, count at the filter, as in the general lane. */
function isOfWhere(error: Error): boolean {
  return error.message.startsWith('run Where error: ')
}

function credit(node: NodeMetrics | undefined, taken: number, given: number): void {
  if (!node) return
  node.recordsIn += taken
  node.recordsOut += given
  node.processed += taken
}
