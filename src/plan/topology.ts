/**
 * The nodes a running rule reports: names for metrics, status and checkpoints, and the topo JSON (spec/sql.md 6.6,
 * spec/rest-api.md 8.3 and 8.4). Nodes are numbered from the sources up; a source takes a number it does not show.
 */
import type { LogicalPlan, PlanNode, SourceNode } from './logical.ts'
import { inputsOf } from './nodes.ts'

/** What stands between a source's connector and the first operator. Everything absent = not there. */
export interface SourceFacts {
  /** Set for a shared connection: the source is named after it (`connection/datasource`) and an emitter node follows. */
  readonly connection?: string
  readonly rateLimit?: boolean
  readonly decompress?: boolean
  readonly decoder?: boolean
  /** Rate limit with a merger, behind decompression. */
  readonly mergingRateLimit?: boolean
  readonly payloadDecoder?: boolean
  /** Default: event time, or a schema with STRICT_VALIDATION or binary format. */
  readonly preprocessor?: boolean
  /** A mocked source renames its rows. */
  readonly mocked?: boolean
}

/** What stands in front of a sink. */
export interface SinkFacts {
  /** Type of the action, e.g. `mqtt`. */
  readonly type: string
  /** Name of the sink's node in a graph; else type and index of the action. */
  readonly name?: string
  /** Takes encoded bytes (mqtt, rest, file, log ...), not rows. */
  readonly bytes: boolean
  readonly batch?: boolean
  readonly compress?: boolean
  readonly encrypt?: boolean
  readonly cache?: boolean
  /** Failed results go to a second sink behind its own cache (resendAlterQueue). */
  readonly resend?: boolean
}

export interface TopologyNode {
  readonly kind: 'source' | 'op' | 'sink'
  readonly name: string
  /** The plan node it runs; null for nodes of sinks. */
  readonly plan: PlanNode | null
}

export interface Topology {
  /** Sources, operators and sinks, each in build order. */
  readonly nodes: readonly TopologyNode[]
  /** The topo JSON: names with their kind prefix. */
  readonly topo: { readonly sources: readonly string[]; readonly edges: Readonly<Record<string, readonly string[]>> }
}

const kinds: Partial<Record<PlanNode['kind'], string>> = {
  watermark: 'watermark',
  analytic: 'analytic',
  window: 'window',
  joinAlign: 'join_aligner',
  join: 'join',
  aggFunc: 'agg_func',
  filter: 'filter',
  aggregate: 'aggregate',
  having: 'having',
  windowFunction: 'windowFunc',
  order: 'order',
  dedupTrigger: 'dedup_trigger',
  project: 'project',
  projectSet: 'projectset',
}

export function topologyOf(
  plan: LogicalPlan,
  sourceFacts: (source: SourceNode) => SourceFacts,
  sinks: readonly SinkFacts[],
): Topology {
  const sources: TopologyNode[] = []
  const operators: TopologyNode[] = []
  const sinkNodes: TopologyNode[] = []
  const edges: Record<string, string[]> = {}
  let number = 0

  const idOf = (node: TopologyNode): string => `${node.kind}_${node.name}`
  const link = (from: TopologyNode, to: TopologyNode): void => {
    const id = idOf(from)
    edges[id] ??= []
    edges[id].push(idOf(to))
  }
  const operator = (name: string, node: PlanNode | null, inputs: readonly TopologyNode[]): TopologyNode => {
    const added: TopologyNode = { kind: 'op', name, plan: node }
    operators.push(added)
    for (const input of inputs) link(input, added)
    return added
  }

  const addSource = (node: SourceNode): TopologyNode => {
    const facts = sourceFacts(node)
    number++
    const source: TopologyNode = { kind: 'source', name: facts.connection ?? node.definition.name, plan: node }
    sources.push(source)
    const prefix = node.definition.options.shared && !facts.mocked ? `${node.definition.name}_` : ''
    let last = source
    for (const kind of sourceChain(node, facts)) last = operator(`${prefix}${++number}_${kind}`, node, [last])
    return last
  }

  const added = new Map<PlanNode, readonly TopologyNode[]>()

  /** The nodes whose output is the plan node's output. */
  const add = (node: PlanNode): readonly TopologyNode[] => {
    let nodes = added.get(node)
    if (!nodes) {
      nodes = addNew(node)
      added.set(node, nodes)
    }
    return nodes
  }
  const addNew = (node: PlanNode): readonly TopologyNode[] => {
    if (node.kind === 'source') return [addSource(node)]
    let inputs = inputsOf(node).flatMap(add)
    if (node.kind === 'union') return inputs
    if (plan.graph) {
      const name = plan.graph.names.get(node)
      return name === undefined ? inputs : [operator(name, node, inputs)]
    }
    number++
    if (node.kind === 'lookup') return [operator(node.emitter, node, inputs)]
    if (node.kind === 'window' && node.filter) inputs = [operator(`${number}_windowFilter`, node, inputs)]
    if (node.kind !== 'window' || !node.incremental) return [operator(`${number}_${kinds[node.kind]}`, node, inputs)]
    const window = operator(`${number}_inc_agg_window`, node, inputs)
    // The reference filters above an incremental window; here the window does it, but the number is taken.
    return node.incremental.where ? [operator(`${++number}_filter`, node, [window])] : [window]
  }

  const outputs = add(plan.root)
  sinks.forEach((facts, i) => {
    const base = facts.name ?? `${facts.type}_${i}`
    let inputs = plan.graph
      ? plan.graph.outputs.filter((o) => o.sinks.includes(i)).flatMap((o) => add(o.node))
      : outputs
    sinkChain(facts).forEach((kind, k) => {
      inputs = [operator(`${base}_${k}_${kind}`, null, inputs)]
    })
    const sink: TopologyNode = { kind: 'sink', name: base, plan: null }
    sinkNodes.push(sink)
    for (const input of inputs) link(input, sink)
    if (!facts.resend) return
    const cache = operator(`${base}_cache`, null, [sink])
    const second: TopologyNode = { kind: 'sink', name: `${base}_resend`, plan: null }
    sinkNodes.push(second)
    link(cache, second)
  })
  return { nodes: [...sources, ...operators, ...sinkNodes], topo: { sources: sources.map(idOf), edges } }
}

function sourceChain(node: SourceNode, facts: SourceFacts): readonly string[] {
  const { options, fields } = node.definition
  const declared = fields !== null || options.schemaId !== undefined
  const checked = options.strictValidation || options.format?.toLowerCase() === 'binary'
  const preprocessor = facts.preprocessor ?? (node.eventTime || (declared && checked === true))
  const chain: [boolean | undefined, string][] = [
    [facts.connection !== undefined, 'emitter'],
    [facts.rateLimit, 'ratelimit'],
    [facts.decompress, 'decompress'],
    [facts.decoder, 'decoder'],
    [facts.mergingRateLimit, 'ratelimit'],
    [facts.payloadDecoder, 'payload_decoder'],
    [preprocessor, 'preprocessor'],
    [facts.mocked && facts.connection === undefined, 'emitter'],
  ]
  return chain.filter(([there]) => there).map(([, kind]) => kind)
}

function sinkChain(facts: SinkFacts): readonly string[] {
  const chain: [boolean | undefined, string][] = [
    [facts.batch, 'batch'],
    [true, 'transform'],
    [facts.batch, 'batchWriter'],
    [facts.bytes && !facts.batch, 'encode'],
    [facts.bytes && facts.compress, 'compress'],
    [facts.bytes && facts.encrypt, 'encrypt'],
    [facts.cache && !facts.resend, 'cache'],
  ]
  return chain.filter(([there]) => there).map(([, kind]) => kind)
}
