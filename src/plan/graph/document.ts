/** The `graph` member of a rule as a typed structure (spec/rest-api.md 5). What nodes mean is looked at elsewhere. */
import { isObject, type Value, type ValueObject } from '../../core/values.ts'
import { planError } from '../errors.ts'

export interface GraphNode {
  readonly name: string
  readonly type: string
  readonly nodeType: string
  readonly props: ValueObject
}

export interface GraphEdge {
  readonly from: string
  /** Output of a switch; 0 for every other node. */
  readonly output: number
  readonly to: string
}

export interface GraphDocument {
  readonly nodes: ReadonlyMap<string, GraphNode>
  /** Names in `topo.sources`. */
  readonly sources: readonly string[]
  /** Nodes that have an entry in `topo.edges`, even an empty one. */
  readonly linked: ReadonlySet<string>
  readonly edges: readonly GraphEdge[]
}

/** Nodes and edges one graph may have. */
export const MAX_NODES = 1000
const MAX_EDGES = 10_000

export function readGraph(graph: ValueObject): GraphDocument {
  const nodes = new Map<string, GraphNode>()
  const given = objectIn(graph, 'nodes', 'graph')
  for (const name of Object.keys(given)) nodes.set(name, readNode(name, given[name] as Value))
  if (nodes.size > MAX_NODES) throw planError(`the graph has ${nodes.size} nodes, at most ${MAX_NODES} are accepted`)
  const topo = objectIn(graph, 'topo', 'graph')
  const sources = member(topo, 'sources') ?? []
  if (!isTexts(sources)) throw planError('graph topo.sources must be a list of node names')
  const edges: GraphEdge[] = []
  const from = objectIn(topo, 'edges', 'graph topo')
  for (const name of Object.keys(from)) {
    for (const edge of readTargets(name, from[name] as Value)) {
      if (edges.push(edge) > MAX_EDGES) throw planError(`the graph has more than ${MAX_EDGES} edges`)
    }
  }
  return { nodes, sources, linked: new Set(Object.keys(from)), edges }
}

function readNode(name: string, value: Value): GraphNode {
  if (!isObject(value)) throw planError(`graph node ${name} must be an object`)
  const text = (key: string): string => {
    const found = member(value, key) ?? ''
    if (typeof found !== 'string') throw planError(`${key} of graph node ${name} must be a string`)
    return found
  }
  const props = member(value, 'props') ?? {}
  if (!isObject(props)) throw planError(`props of graph node ${name} must be an object`)
  return { name, type: text('type'), nodeType: text('nodeType'), props }
}

/** A flat list belongs to output 0; element i of a nested list to output i. */
function* readTargets(from: string, value: Value): Iterable<GraphEdge> {
  if (!Array.isArray(value)) throw planError(`graph edges of node ${from} must be a list`)
  for (const [i, target] of value.entries()) {
    if (typeof target === 'string') yield { from, output: 0, to: target }
    else if (isTexts(target)) for (const to of target) yield { from, output: i, to }
    else throw planError(`graph edges of node ${from} must be node names or lists of node names`)
  }
}

function isTexts(value: Value): value is string[] {
  return Array.isArray(value) && value.every((x) => typeof x === 'string')
}

function objectIn(object: ValueObject, name: string, where: string): ValueObject {
  const value = member(object, name) ?? {}
  if (!isObject(value)) throw planError(`${where} ${name} must be an object`)
  return value
}

/** Member names match without regard to case, the exact spelling first. */
function member(object: ValueObject, name: string): Value | undefined {
  if (Object.hasOwn(object, name)) return object[name]
  const wanted = name.toLowerCase()
  const key = Object.keys(object).find((k) => k.toLowerCase() === wanted)
  return key === undefined ? undefined : object[key]
}
