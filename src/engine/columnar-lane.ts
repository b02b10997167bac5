/** Puts a rule on the columnar lane where it has a columnar form, and keeps the counters its operators would have kept. */
import { compileColumnar } from '../compile/columnar/index.ts'
import type { ExpressionContext } from '../compile/expression.ts'
import type { ColumnType } from '../formats/contract.ts'
import { loadFormat } from '../formats/index.ts'
import type { NodeMetrics } from '../runtime/metrics.ts'
import type { ColumnarLane } from '../runtime/rule-runner.ts'
import type { EngineEnvironment } from './environment.ts'
import type { PlannedRule } from './rule-run.ts'
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

/** True when payloads may go to the rule undecoded; the plan itself is asked by {@link createColumnarLane}. */
export function laneIsPossible(planned: PlannedRule): boolean {
  const [source, ...others] = planned.sources.values()
  if (!source || others.length > 0 || planned.plan.sources.length !== 1 || planned.plan.graph) return false
  const { facts, format, connector, definition } = source
  return (
    connector.emits === 'bytes' &&
    format === 'json' &&
    facts.decoder &&
    !facts.decompress &&
    !facts.payloadDecoder &&
    !facts.rateLimit &&
    !definition.options.shared &&
    planned.sinks.length > 0 &&
    planned.sinks.every((sink) => fits(sink, planned.sinks[0] as ResolvedSink))
  )
}

function fits(sink: ResolvedSink, first: ResolvedSink): boolean {
  return sink.plainJson && !sink.common.omitIfEmpty && sink.common.sendSingle === first.common.sendSingle
}

/** Null when the plan has no columnar form. */
export async function createColumnarLane(
  environment: EngineEnvironment,
  planned: PlannedRule,
  expressions: ExpressionContext,
  columns: ReadonlyMap<string, ColumnType> | null,
  metrics: LaneMetrics,
): Promise<ColumnarLane | null> {
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
  return {
    process(delivery, output) {
      const started = clock.monotonic()
      let undecoded = 0
      let failed = 0
      const counts = chain.process(delivery, {
        lines: (payload, rows) => output.lines(payload, rows),
        failed(error, events, decoding) {
          if (decoding) undecoded += events
          else failed += events
          ;(decoding ? metrics.decoder : (metrics.project ?? metrics.filter))?.exception(error.message, events)
          output.failed(error, events, decoding)
        },
      })
      const decoded = counts.received - undecoded
      const passed = decoded - counts.filtered
      credit(metrics.decoder, counts.received, decoded)
      credit(metrics.filter, decoded, passed)
      credit(metrics.project, passed, passed - failed)
      for (const node of metrics.sinks) credit(node, counts.emitted, counts.emitted)
      const elapsed = Math.round((clock.monotonic() - started) * 1000)
      for (const node of [metrics.decoder, metrics.filter, metrics.project]) {
        if (!node) continue
        node.latencyUs = elapsed
        node.lastInvocation = delivery.chunk.timestamp
      }
      return counts
    },
  }
}

function credit(node: NodeMetrics | undefined, taken: number, given: number): void {
  if (!node) return
  node.recordsIn += taken
  node.recordsOut += given
  node.processed += taken
}
