/**
 * Rewrite `predicatePushDown` (spec/sql.md 6.4).
 *
 *   SELECT a FROM s WHERE a > 1 GROUP BY tumblingwindow(ss, 10)
 *   before: project <- filter(a > 1) <- window <- source
 *   after:  project <- window <- filter(a > 1) <- source
 *
 * Unsafe where an operator must see every row (watermark, analytic functions, count and sliding windows), where a value
 * only exists above (window_start(), aggregates in WHERE), and on the nullable side of outer joins, where it is done all
 * the same because the reference's results show it.
 */
import type { Expression } from '../sql/ast.ts'
import { readsWindow } from './environment.ts'
import type { FilterNode, JoinNode, LookupNode, PlanNode, SourceNode, WindowNode } from './logical.ts'
import { inputsOf, mapInputs } from './nodes.ts'
import { sourcesOf } from './references.ts'
import { and, conjuncts, some } from './tree.ts'

export function pushDownPredicates(root: PlanNode): PlanNode {
  return push(root, null).node
}

interface Pushed {
  /** What the node could not take; the caller evaluates it. */
  readonly rest: Expression | null
  readonly node: PlanNode
}

function push(node: PlanNode, condition: Expression | null): Pushed {
  switch (node.kind) {
    case 'filter':
      return pushThroughFilter(node, condition)
    case 'window':
      return pushIntoWindow(node, condition)
    case 'join':
      return pushIntoJoin(node, condition)
    case 'lookup':
      return pushIntoLookup(node, condition)
    case 'joinAlign': {
      // Only an un-windowed stream right below takes conditions; scan tables refuse, and so does whatever else is below.
      if (node.input.kind !== 'source') return { rest: condition, node }
      const below = push(node.input, condition)
      return { rest: below.rest, node: { ...node, input: below.node } }
    }
    case 'source':
      return pushIntoSource(node, condition)
    case 'watermark':
      // Every row must reach it; directly above it is the lowest place.
      return { rest: null, node: condition ? filterOn(node, condition) : node }
    case 'analytic':
    case 'union':
    case 'aggFunc':
      return { rest: condition, node: mapInputs(node, (x) => push(x, null).node) }
    default:
      return pushThroughInputs(node, condition)
  }
}

/** Offers the condition to each input in turn. */
function pushThroughInputs(node: PlanNode, condition: Expression | null): Pushed {
  let rest = condition
  const result = mapInputs(node, (input) => {
    const below = push(input, rest)
    rest = below.rest
    return below.node
  })
  return { rest, node: result }
}

function pushThroughFilter(node: FilterNode, condition: Expression | null): Pushed {
  const below = push(node.input, and(condition, node.condition))
  return { rest: null, node: below.rest ? filterOn(below.node, below.rest) : below.node }
}

function filterOn(input: PlanNode, condition: Expression): PlanNode {
  return { kind: 'filter', input, condition }
}

function pushIntoWindow(node: WindowNode, condition: Expression | null): Pushed {
  const kind = node.window.kind
  if (kind === 'count' || kind === 'sliding' || node.eventTime || node.incremental) {
    return { rest: condition, node: mapInputs(node, (x) => push(x, null).node) }
  }
  const above = keep(condition, needsWindow)
  const wanted = and(
    keep(condition, (e) => !needsWindow(e)),
    node.filter,
  )
  const below = pushThroughInputs(node, wanted) as { rest: Expression | null; node: WindowNode }
  return { rest: above, node: { ...below.node, filter: below.rest } }
}

function needsWindow(e: Expression): boolean {
  return some(e, (x) => x.kind === 'call' && readsWindow(x.name))
}

function keep(condition: Expression | null, test: (e: Expression) => boolean): Expression | null {
  if (condition === null) return null
  const parts = conjuncts(condition)
  if (parts.every(test)) return condition
  return parts.filter(test).reduce<Expression | null>(and, null)
}

function pushIntoJoin(node: JoinNode, condition: Expression | null): Pushed {
  const [first, ...later] = node.joins
  if (!first) return pushThroughInputs(node, condition)
  if (first.kind !== 'inner') {
    const { single, several } = split(condition, (refs) => refs.length === 1)
    const below = pushThroughInputs(node, single)
    return { rest: and(several, below.rest), node: below.node }
  }
  // A part about the source of a later join cannot go into the first ON (D14).
  const absent = new Set(later.map((j) => j.right))
  const late = keep(condition, (e) => sourcesOf(e).emitters.some((x) => absent.has(x)))
  const early = keep(condition, (e) => !sourcesOf(e).emitters.some((x) => absent.has(x)))
  const lateSingles = split(late, (refs) => refs.length === 1)
  const { single, several } = split(and(early, first.on), (refs) => refs.length <= 1)
  const below = pushThroughInputs(node, and(single, lateSingles.single)) as { rest: Expression | null; node: JoinNode }
  const refused = split(below.rest, (refs) => !refs.some((x) => absent.has(x)))
  const joins = [{ ...first, on: and(several, refused.single) }, ...later]
  return { rest: and(lateSingles.several, refused.several), node: { ...below.node, joins } }
}

/** Splits at top-level AND: conditions whose sources pass `test` and nothing unbound, and the others. */
function split(
  condition: Expression | null,
  test: (emitters: readonly string[]) => boolean,
): { readonly single: Expression | null; readonly several: Expression | null } {
  if (condition === null) return { single: null, several: null }
  const refs = sourcesOf(condition)
  if (!refs.unbound && test(refs.emitters)) return { single: condition, several: null }
  if (condition.kind === 'binary' && condition.operator === 'AND') {
    const left = split(condition.left, test)
    const right = split(condition.right, test)
    return { single: and(left.single, right.single), several: and(left.several, right.several) }
  }
  return { single: null, several: condition }
}

/** What does not touch the table goes below; the rest, with the conditions of ON that are no keys, filters above. */
function pushIntoLookup(node: LookupNode, condition: Expression | null): Pushed {
  const wanted = and(condition, node.rest)
  const { single, several } = split(wanted, (refs) => refs.length <= 1 && refs[0] !== node.emitter)
  const below = pushThroughInputs(node, single)
  const above = and(several, below.rest)
  return { rest: null, node: above ? filterOn(below.node, above) : below.node }
}

function pushIntoSource(node: SourceNode, condition: Expression | null): Pushed {
  if (condition === null || node.definition.streamType === 'table') return { rest: condition, node }
  const { owned, other } = ownedBy(node, condition)
  return { rest: other, node: owned ? filterOn(node, owned) : node }
}

function ownedBy(
  node: SourceNode,
  condition: Expression,
): { readonly owned: Expression | null; readonly other: Expression | null } {
  const { emitters, unbound } = sourcesOf(condition)
  const count = emitters.length + (unbound ? 1 : 0)
  if (count === 0 || (count === 1 && (unbound || emitters[0] === node.emitter)))
    return { owned: condition, other: null }
  if (count > 1 && condition.kind === 'binary' && condition.operator === 'AND') {
    const left = ownedBy(node, condition.left)
    const right = ownedBy(node, condition.right)
    return { owned: and(left.owned, right.owned), other: and(left.other, right.other) }
  }
  return { owned: null, other: condition }
}

/** Conditions of lookup joins that are no keys, as filters: what push-down does, for plans where it is switched off. */
export function filterLookupRests(root: PlanNode): PlanNode {
  const node = inputsOf(root).length === 0 ? root : mapInputs(root, filterLookupRests)
  return node.kind === 'lookup' && node.rest ? filterOn(node, node.rest) : node
}
