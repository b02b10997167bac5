/** Generic passes over plan nodes: inputs, expressions, and rebuilding with changed ones. */
import type { Expression, SelectField, Window } from '../sql/ast.ts'
import type { PlanNode } from './logical.ts'

/** The nodes a node reads from, in order. */
export function inputsOf(node: PlanNode): readonly PlanNode[] {
  switch (node.kind) {
    case 'source':
      return []
    case 'union':
    case 'watermark':
    case 'window':
      return node.inputs
    case 'joinAlign':
      return [node.input, ...node.tables]
    default:
      return [node.input]
  }
}

/** The node with every input replaced; the same node when none changed. */
export function mapInputs(node: PlanNode, change: (input: PlanNode) => PlanNode): PlanNode {
  switch (node.kind) {
    case 'source':
      return node
    case 'union':
    case 'watermark':
    case 'window': {
      const inputs = node.inputs.map(change)
      return inputs.every((n, i) => n === node.inputs[i]) ? node : { ...node, inputs }
    }
    case 'joinAlign': {
      const input = change(node.input)
      const tables = node.tables.map(change)
      return input === node.input && tables.every((n, i) => n === node.tables[i]) ? node : { ...node, input, tables }
    }
    default: {
      const input = change(node.input)
      return input === node.input ? node : ({ ...node, input } as PlanNode)
    }
  }
}

/** Pre-order walk of a plan; a node that feeds several others is visited once. */
export function walkPlan(root: PlanNode, visit: (node: PlanNode) => void): void {
  const seen = new Set<PlanNode>()
  const go = (node: PlanNode): void => {
    if (seen.has(node)) return
    seen.add(node)
    visit(node)
    for (const input of inputsOf(node)) go(input)
  }
  go(root)
}

export function findNode<K extends PlanNode['kind']>(
  root: PlanNode,
  kind: K,
): Extract<PlanNode, { kind: K }> | undefined {
  let found: PlanNode | undefined
  walkPlan(root, (node) => {
    if (!found && node.kind === kind) found = node
  })
  return found as Extract<PlanNode, { kind: K }> | undefined
}

type Change = (e: Expression) => Expression

/**
 * The node with every expression it evaluates replaced. This is the one list of where expressions live: column pruning,
 * extraction and checks all go through it (so nothing is forgotten: D16 to D20).
 */
export function mapExpressions(node: PlanNode, change: Change): PlanNode {
  const maybe = (e: Expression | null): Expression | null => e && change(e)
  const call = <T extends { readonly call: Expression }>(c: T): T => ({ ...c, call: change(c.call) })
  switch (node.kind) {
    case 'source':
    case 'union':
    case 'watermark':
    case 'joinAlign':
    case 'switchOutput':
      return node
    case 'switch':
      return { ...node, cases: node.cases.map(change) }
    case 'analytic':
    case 'aggFunc':
    case 'windowFunction':
      return { ...node, calls: node.calls.map(call as (c: unknown) => never) } as PlanNode
    case 'window':
      return {
        ...node,
        window: mapWindow(node.window, change),
        filter: maybe(node.filter),
        incremental: node.incremental && {
          dimensions: node.incremental.dimensions.map(change),
          calls: node.incremental.calls.map(call),
          where: maybe(node.incremental.where),
        },
      }
    case 'join':
      return { ...node, joins: node.joins.map((j) => ({ ...j, on: maybe(j.on) })) }
    case 'lookup':
      return {
        ...node,
        keys: node.keys.map((k) => ({ ...k, value: change(k.value) })),
        on: change(node.on),
        rest: maybe(node.rest),
      }
    case 'filter':
    case 'having':
      return { ...node, condition: change(node.condition) }
    case 'aggregate':
      return { ...node, dimensions: node.dimensions.map(change) }
    case 'order':
      return { ...node, keys: node.keys.map((k) => ({ ...k, expression: change(k.expression) })) }
    case 'assign':
    case 'dedupTrigger':
    case 'projectSet':
      return call(node)
    case 'project':
      return { ...node, fields: node.fields.map((f): SelectField => ({ ...f, expression: change(f.expression) })) }
    default:
      return unknownNode(node)
  }
}

/** Every expression a node evaluates, in order. */
export function expressionsOf(node: PlanNode): readonly Expression[] {
  const list: Expression[] = []
  mapExpressions(node, (e) => {
    list.push(e)
    return e
  })
  return list
}

/** A window with its own conditions replaced. FILTER is left to WindowNode.filter and is null here. */
export function mapWindow(window: Window, change: Change): Window {
  const maybe = (e: Expression | null): Expression | null => e && change(e)
  return {
    ...window,
    filter: maybe(window.filter),
    when: maybe(window.when),
    begin: maybe(window.begin),
    emit: maybe(window.emit),
    partition: window.partition.map(change),
  }
}

function unknownNode(node: never): never {
  throw new Error(`unknown plan node ${(node as PlanNode).kind}`)
}
