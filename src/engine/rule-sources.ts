/** The streams of one run of a rule: its own and shared ones, each in front of its input; columnar where rule and stream allow it. */
import type { CompiledSource } from '../compile/chain.ts'
import { createTimestampReader } from '../formats/schema-check.ts'
import type { LogicalPlan, SourceNode } from '../plan/logical.ts'
import type { FullPolicy } from '../runtime/inbox.ts'
import { NodeMetrics } from '../runtime/metrics.ts'
import type { RuleRunner } from '../runtime/rule-runner.ts'
import type { Attachment, StreamRunner } from '../runtime/stream-runner.ts'
import { wantedColumns } from './column-types.ts'
import { createColumnarLane, type StatelessLane, type WindowMetrics } from './columnar-lane.ts'
import type { EngineEnvironment } from './environment.ts'
import type { PlannedRule } from './planned-rule.ts'
import type { RuleOperators } from './rule-operators.ts'
import type { SharedStreams } from './shared-streams.ts'
import type { SinkRun } from './sink-run.ts'
import { createSourceRun, type ResolvedSource } from './source-run.ts'

/** What the streams feed. */
export interface SourceTarget {
  readonly planned: PlannedRule
  readonly operators: RuleOperators
  readonly runner: RuleRunner
  readonly sinks: readonly SinkRun[]
  /** See {@link Attachment.durable}; null = at once. */
  readonly durable: (() => Promise<void>) | null
}

export interface RuleSources {
  /** Streams of this rule alone. */
  readonly own: readonly StreamRunner[]
  /** Those of `own` that are scan tables. */
  readonly tables: readonly { readonly stream: StreamRunner; readonly bounded: boolean }[]
  /** Of the sources, then of the nodes between them and the first operator. */
  readonly metrics: readonly NodeMetrics[]
  /** Leaves the shared streams. */
  detach(): Promise<void>
}

type Input = RuleRunner['inputs'][number]
type Columns = ReturnType<typeof wantedColumns>

/** Nothing of the rule's own is connected before it is started. When one stream fails, the inputs are closed and shared streams left. */
export async function attachSources(
  environment: EngineEnvironment,
  shared: SharedStreams,
  target: SourceTarget,
): Promise<RuleSources> {
  const { planned, operators, runner } = target
  const own: StreamRunner[] = []
  const tables: { stream: StreamRunner; bounded: boolean }[] = []
  const attached: { name: string; input: Input }[] = []
  const sourceMetrics: NodeMetrics[] = []
  const chainMetrics: NodeMetrics[] = []
  const detach = async (): Promise<void> => {
    for (const { name, input } of attached) await shared.detach(name, input)
  }
  try {
    for (const [i, source] of operators.chain.sources.entries()) {
      const { node } = source
      const { name, options } = node.definition
      const resolved = planned.sources.get(node) as ResolvedSource
      const columns = wantedColumns(node, declaredFields(planned.plan, node))
      const input = runner.inputs[i] as Input
      const attachment: Attachment = {
        consumer: input,
        emitter: node.emitter,
        timestampOf: node.eventTime ? createTimestampReader(node.definition, { zone: environment.timezone }) : null,
        ...(target.durable && { durable: target.durable }),
      }
      let stream: StreamRunner
      if (options.shared) {
        stream = await shared.attach(resolved, attachment, columns, source.chain)
        attached.push({ name, input })
      } else {
        stream = await openOwn(environment, resolved, source, columns)
        stream.attach(attachment)
        own.push(stream)
        if (source.table) tables.push({ stream, bounded: resolved.connector.bounded })
      }
      const taken = stream.chain.raw ? await takeUndecoded(environment, target, stream, columns, options.shared) : null
      if (taken?.shareable && options.shared) shared.shareScan(name, input, taken.shareable)
      sourceMetrics.push(stream.metrics)
      chainMetrics.push(...(taken?.metrics ?? stream.chain.metrics))
    }
  } catch (error) {
    for (const input of runner.inputs) input.close()
    await detach()
    throw error
  }
  return { own, tables, metrics: [...sourceMetrics, ...chainMetrics], detach }
}

/** The columns a stream declares, as the plan has them; null = schemaless. */
function declaredFields(plan: LogicalPlan, node: SourceNode): SourceNode['definition']['fields'] {
  return plan.sources.find((s) => s.emitter === node.emitter)?.fields ?? node.definition.fields
}

function openOwn(
  environment: EngineEnvironment,
  resolved: ResolvedSource,
  { node, chain }: CompiledSource,
  columns: Columns,
): Promise<StreamRunner> {
  const metaUnused = node.meta !== null && node.meta.length === 0
  return createSourceRun(environment, resolved, { names: chain, columns, metaUnused })
}

/**
 * Puts the rule on a columnar lane behind the stream. Gives the counters of the nodes the lane stands in for, and the lane where it
 * may share scans; null when the rule has no columnar form.
 */
async function takeUndecoded(
  environment: EngineEnvironment,
  { planned, operators, runner, sinks }: SourceTarget,
  stream: StreamRunner,
  columns: Columns,
  isShared: boolean | undefined,
): Promise<{ readonly metrics: readonly NodeMetrics[]; readonly shareable: StatelessLane | null } | null> {
  const nodes = stream.chain.metrics
  // Of a shared stream the rule counts what it decodes itself.
  const metrics = isShared ? nodes.map((n) => new NodeMetrics('op', n.name, environment.clock)) : nodes
  const named = (kind: string): NodeMetrics | undefined => runner.stages.find((s) => s.operator.name === kind)?.metrics
  const [decoder] = metrics
  const filter = named('filter')
  const window = operators.windowLane?.lane({
    decoder,
    filter,
    watermark: named('watermark'),
    window: named('inc_agg_window'),
    absorbed: absorbedBy(runner, 'inc_agg_window'),
    having: named('having'),
    project: named('project'),
    sinks: sinks.map(({ chainMetrics: [transform, encode] }) => ({ transform, encode })) as WindowMetrics['sinks'],
  })
  if (window) {
    runner.useColumnarLane(window)
    return { metrics, shareable: null }
  }
  const stateless = await createColumnarLane(environment, planned, operators.expressions, columns, {
    decoder,
    filter,
    project: named('project'),
    sinks: sinks.flatMap((s) => s.chainMetrics),
  })
  if (!stateless) return null
  runner.useColumnarLane(stateless)
  return { metrics, shareable: stateless }
}

/** Counters of operators whose work a window does: what stands behind it and is neither HAVING nor projection. */
function absorbedBy(runner: RuleRunner, window: string): readonly NodeMetrics[] {
  const at = runner.stages.findIndex((stage) => stage.operator.name === window)
  const behind = at < 0 ? [] : runner.stages.slice(at + 1)
  return behind.filter(({ operator: { name } }) => name !== 'having' && name !== 'project').map((s) => s.metrics)
}

/**
 * A stream's own BUFFER_FULL_POLICY wins. Without one, a source that can be paused is paused; one that cannot drops its oldest,
 * as the reference does.
 */
export function fullPolicy(planned: PlannedRule, node: SourceNode): FullPolicy {
  const policy = String(node.definition.options.extensions?.['buffer_full_policy'] ?? '').toLowerCase()
  if (policy === 'dropoldest') return 'dropOldest'
  if (policy === 'dropnewest') return 'dropNewest'
  const pausable = planned.sources.get(node)?.connector.pausable ?? false
  return policy === 'block' || planned.document.options.disableBufferFullDiscard || pausable ? 'block' : 'dropOldest'
}
