/**
 * Plans of graph rules (spec/rest-api.md 5): the nodes a person drew become the plan nodes SQL would have led to. A node may feed
 * several others, so the plan is no tree: `root` is the union of what the sinks are fed with.
 */
import { IxionError, messageOf } from '../../core/errors.ts'
import { goText } from '../../core/go-text.ts'
import type { ValueObject } from '../../core/values.ts'
import type { PlanEnvironment } from '../environment.ts'
import { planError } from '../errors.ts'
import type { GraphOutputs, LogicalPlan, PlanNode, ProjectNode, SwitchNode } from '../logical.ts'
import { checkTimestamps } from '../prune-columns.ts'
import { type GraphDocument, type GraphEdge, type GraphNode, readGraph } from './document.ts'
import { type Build, type Flow, graphOperators, graphParser, type NodeContext } from './nodes.ts'
import { misfit, nodeShapes, type Shape, shapeAfter, sourceShape } from './shapes.ts'
import { type GraphSource, readSource, sourceNode } from './sources.ts'

export interface GraphSink {
  /** Name of the node. */
  readonly name: string
  readonly type: string
  readonly properties: ValueObject
}

export interface PlannedGraph {
  readonly plan: LogicalPlan
  /** In the order of the document; GraphOutputs.outputs count them. */
  readonly sinks: readonly GraphSink[]
}

/**
 * Pure, as planSelect is.
 *
 * @throws IxionError SQL_PLAN with the reference's message.
 */
export function planGraph(graph: ValueObject, env: PlanEnvironment): PlannedGraph {
  if (env.options?.experiment?.useSliceTuple) throw planError('graph mode does not support slice-tuple mode')
  const document = readGraph(graph)
  const sources = readSources(document, env)
  const builds = readOperators(document, sources, env)
  const order = checkEdges(document)
  checkShapes(document, order, sources)
  return assemble(document, order, sources, builds, env)
}

/** An error of one node, in the reference's frame. */
function framed<T>(title: string, node: GraphNode, work: () => T): T {
  try {
    return work()
  } catch (error) {
    const { hint, line, column } = error instanceof IxionError ? error : ({} as Partial<IxionError>)
    const message = `parse ${title} ${node.name} with ${goText(node.props)} error: ${messageOf(error)}`
    throw planError(message, line === undefined ? null : { line, column: column ?? 1 }, hint)
  }
}

/** By node name. */
function readSources(document: GraphDocument, env: PlanEnvironment): ReadonlyMap<string, GraphSource> {
  const sources = new Map<string, GraphSource>()
  for (const name of document.sources) {
    const node = document.nodes.get(name)
    if (!node) throw planError(`source node ${name} not defined`)
    if (!document.linked.has(name)) throw planError(`no edge defined for source node ${name}`)
    if (node.type !== 'source') throw planError(`source ${name} is not a source type node`)
    sources.set(
      name,
      framed('source', node, () => readSource(node, env)),
    )
  }
  return sources
}

function readOperators(
  document: GraphDocument,
  sources: ReadonlyMap<string, GraphSource>,
  env: PlanEnvironment,
): ReadonlyMap<string, Build> {
  const list = [...sources.values()]
  const names = list.map((s) => s.emitter)
  const context: NodeContext = {
    env,
    sources: list,
    leadsToWindow: windowFinder(document),
    parse: graphParser(env, names),
  }
  const builds = new Map<string, Build>()
  for (const node of document.nodes.values()) {
    switch (node.type) {
      case 'source':
        break
      case 'sink':
        if (document.linked.has(node.name)) throw planError(`sink ${node.name} has edge`)
        break
      case 'operator': {
        if (!document.linked.has(node.name)) throw planError(`no edge defined for operator node ${node.name}`)
        const type = node.nodeType.toLowerCase()
        const operator = Object.hasOwn(graphOperators, type) ? graphOperators[type] : undefined
        if (!operator) throw planError(`unknown operator type ${node.nodeType}`)
        const title = operator.title ?? type
        const build = framed(title, node, () => operator.read(node.props, context, node))
        builds.set(node.name, (inputs) => framed(title, node, () => build(inputs)))
        break
      }
      default:
        throw planError(`unknown node type ${node.type}`)
    }
  }
  return builds
}

function windowFinder(document: GraphDocument): (node: string) => boolean {
  const next = edgesBy(document, 'from')
  return (start) => {
    const seen = new Set([start])
    for (const name of seen) {
      if (name !== start && document.nodes.get(name)?.nodeType.toLowerCase() === 'window') return true
      for (const edge of next.get(name) ?? []) seen.add(edge.to)
    }
    return false
  }
}

/** The edges by the node they come from or lead to. */
function edgesBy({ edges }: GraphDocument, end: 'from' | 'to'): ReadonlyMap<string, readonly GraphEdge[]> {
  const byNode = new Map<string, GraphEdge[]>()
  for (const edge of edges) {
    const list = byNode.get(edge[end])
    if (list) list.push(edge)
    else byNode.set(edge[end], [edge])
  }
  return byNode
}

/** Names in an order in which every node follows its inputs. */
function checkEdges(document: GraphDocument): readonly string[] {
  const { nodes, edges } = document
  for (const edge of edges) {
    for (const name of [edge.from, edge.to]) if (!nodes.has(name)) throw planError(`node ${name} is not defined`)
    if (nodes.get(edge.to)?.type === 'source') throw planError(`source node ${edge.to} cannot be fed`)
  }
  for (const name of document.linked) if (!nodes.has(name)) throw planError(`node ${name} is not defined`)
  const waiting = new Map<string, number>()
  for (const { to } of edges) waiting.set(to, (waiting.get(to) ?? 0) + 1)
  for (const { name, type, nodeType } of nodes.values()) {
    if (document.sources.includes(name) || waiting.has(name)) continue
    if (type === 'operator') throw planError(`operator ${name} of type ${nodeType} has no input`)
    throw planError(`can't find node ${name}`, null, 'No edge leads to it, or it is missing in topo.sources.')
  }
  const next = edgesBy(document, 'from')
  const order = [...new Set(document.sources)]
  for (const name of order) {
    for (const { to } of next.get(name) ?? []) {
      const left = (waiting.get(to) as number) - 1
      waiting.set(to, left)
      if (left === 0) order.push(to)
    }
  }
  for (const name of nodes.keys()) {
    if (!order.includes(name)) throw planError(`the graph has a cycle through node ${name}`)
  }
  return order
}

function checkShapes(
  document: GraphDocument,
  order: readonly string[],
  sources: ReadonlyMap<string, GraphSource>,
): void {
  const shapes = new Map<string, Shape>()
  const into = edgesBy(document, 'to')
  for (const name of order) {
    const node = document.nodes.get(name) as GraphNode
    if (sources.has(name)) shapes.set(name, sourceShape)
    if (node.type !== 'operator') continue
    const { takes, gives, several } = nodeShapes[node.nodeType.toLowerCase()] as (typeof nodeShapes)[string]
    const inputs = into.get(name) ?? []
    if (inputs.length > 1) {
      if (!several) throw planError(`operator ${name} of type ${node.nodeType} does not allow multiple inputs`)
      const streams = inputs.filter((e) => sources.get(e.from)?.role !== 'lookupTable')
      if (node.nodeType.toLowerCase() === 'join' && streams.length > 1) {
        throw planError(`join node ${name} does not allow multiple stream inputs`, null, 'Put a window in front of it.')
      }
    }
    for (const { from } of inputs) {
      const problem = misfit(shapes.get(from) as Shape, takes)
      if (problem) throw planError(`node ${from} output does not match node ${name} input: ${problem}`)
    }
    shapes.set(name, shapeAfter(shapes.get(inputs[0]?.from as string) as Shape, gives))
  }
}

function assemble(
  document: GraphDocument,
  order: readonly string[],
  sources: ReadonlyMap<string, GraphSource>,
  builds: ReadonlyMap<string, Build>,
  env: PlanEnvironment,
): PlannedGraph {
  const eventTime = env.options?.isEventTime ?? false
  const flows = new Map<string, Flow>()
  const names = new Map<PlanNode, string>()
  const into = edgesBy(document, 'to')
  const throughSwitch = switchOutputs(flows)

  const inputsOf = (name: string): Flow[] => {
    const inputs = (into.get(name) ?? []).filter((e) => sources.get(e.from)?.role !== 'lookupTable')
    return inputs.map(throughSwitch)
  }
  for (const name of order) {
    const source = sources.get(name)
    if (source) {
      if (source.role === 'lookupTable') continue
      const node = sourceNode(source, eventTime)
      flows.set(name, { node, kind: 'rows', merged: false, emitters: [source.emitter], watermarked: false })
      continue
    }
    const build = builds.get(name)
    if (!build) continue
    const inputs = inputsOf(name)
    const { nodeType } = document.nodes.get(name) as GraphNode
    if (inputs.length === 0) throw planError(`operator ${name} of type ${nodeType} has no input`)
    const flow = build(inputs)
    flows.set(name, flow)
    names.set(flow.node, name)
  }

  const sinks: GraphSink[] = []
  const outputs = new Map<PlanNode, number[]>()
  const shaped = new Map<PlanNode, PlanNode>()
  for (const { name, type, nodeType, props } of document.nodes.values()) {
    if (type !== 'sink') continue
    const index = sinks.push({ name, type: nodeType, properties: props }) - 1
    for (const flow of inputsOf(name)) {
      const node = resultsOf(flow, shaped)
      const fed = outputs.get(node)
      if (fed) fed.push(index)
      else outputs.set(node, [index])
    }
  }
  if (outputs.size === 0) throw planError('the graph has no sink')
  const graph: GraphOutputs = { outputs: [...outputs].map(([node, fed]) => ({ node, sinks: fed })), names }
  const root: PlanNode = { kind: 'union', inputs: [...outputs.keys()] }
  const fieldsOf = (s: GraphSource) => env.schemaFields?.(s.definition) ?? s.definition.fields
  const list = [...sources.values()].map((s) => ({
    emitter: s.emitter,
    definition: s.definition,
    fields: fieldsOf(s),
  }))
  checkTimestamps(root, {
    sendMeta: false,
    fieldsOf: (emitter) => list.find((s) => s.emitter === emitter)?.fields ?? null,
  })
  return { plan: { root, sources: list, warnings: [], graph }, sinks }
}

/** The flow along an edge; outputs of a switch are made once each. */
function switchOutputs(flows: ReadonlyMap<string, Flow>): (edge: GraphEdge) => Flow {
  const made = new Map<string, Flow>()
  return ({ from, output }) => {
    const flow = flows.get(from)
    if (!flow) throw planError(`node ${from} cannot feed another node`)
    if (flow.node.kind !== 'switch') {
      if (output > 0) throw planError(`node ${from} is not a switch node but have multiple output`)
      return flow
    }
    const key = `${output} ${from}`
    let result = made.get(key)
    if (!result) {
      const input: SwitchNode = flow.node
      if (output >= input.cases.length) throw planError(`switch node ${from} has no case ${output}`)
      result = { ...flow, node: { kind: 'switchOutput', input, output } }
      made.set(key, result)
    }
    return result
  }
}

/** What a sink is given: objects. Groups become their first rows, joined rows one object each. */
function resultsOf(flow: Flow, made: Map<PlanNode, PlanNode>): PlanNode {
  if (flow.kind !== 'groups' && !flow.merged) return flow.node
  const known = made.get(flow.node)
  if (known) return known
  const at = { line: 1, column: 1 }
  const everything = { kind: 'wildcard', stream: null, except: [], replace: [], at } as const
  const project: ProjectNode = {
    kind: 'project',
    input: flow.node,
    fields: [{ expression: everything, name: '', alias: null, invisible: false }],
    aggregate: flow.kind === 'groups',
    limit: null,
    sendMeta: false,
    sendNil: false,
  }
  made.set(flow.node, project)
  return project
}
