/**
 * Rewrite `push_alias` (option enableAliasPushdown): a plain rename happens while decoding.
 *
 *   SELECT a AS a1 FROM s      decodes column a under the name a1 and projects a1
 *
 * Unsafe when the column is read under its own name as well, when another decoded column already has the new name, for
 * shared streams (other rules want the old name), for TIMESTAMP columns and under STRICT_VALIDATION.
 */
import type { Expression } from '../sql/ast.ts'
import type { PlanNode, ProjectNode, SourceNode } from './logical.ts'
import { expressionsOf, mapExpressions, mapInputs, walkPlan } from './nodes.ts'
import { rewriter, some, walk } from './tree.ts'

export function pushAliases(root: PlanNode): PlanNode {
  let project: ProjectNode | undefined
  const sources = new Map<string, SourceNode>()
  let wildcard = false
  let shared = false
  const uses = new Map<string, number>()
  const counted = new Set<Expression>()
  walkPlan(root, (node) => {
    if (node.kind === 'project') project = node
    if (node.kind === 'lookup') wildcard = true
    if (node.kind === 'source') {
      sources.set(node.emitter, node)
      shared ||= node.definition.options.shared ?? false
    }
    for (const e of expressionsOf(node)) {
      wildcard ||= some(e, (x) => x.kind === 'wildcard')
      walk(
        e,
        (x) => {
          if (x.kind === 'column') uses.set(keyOf(x), (uses.get(keyOf(x)) ?? 0) + 1)
        },
        {},
        counted,
      )
    }
  })
  if (!project || wildcard || shared) return root

  const renames = new Map<string, { readonly source: SourceNode; readonly column: string; readonly as: string }>()
  for (const field of project.fields) {
    const e = field.expression
    if (field.alias === null || e.kind !== 'column' || e.stream === null) continue
    const source = sources.get(e.stream)
    if (!source || source.definition.options.strictValidation || source.eventTime) continue
    if (uses.get(keyOf(e)) !== 1 || e.name === field.alias) continue
    renames.set(keyOf(e), { source, column: e.name, as: field.alias })
  }
  for (const [key, { source, as }] of renames) {
    const taken = source.columns?.some((c) => c.name === as && !renames.has(`${source.emitter}\n${c.name}`))
    const twice = [...renames].some(([k, r]) => k !== key && r.source === source && r.as === as)
    if (taken !== false || twice) renames.delete(key)
  }
  return renames.size === 0 ? root : applyRenames(root, renames)
}

function keyOf(column: Extract<Expression, { kind: 'column' }>): string {
  return `${column.stream ?? ''}\n${column.name}`
}

function applyRenames(
  root: PlanNode,
  renames: ReadonlyMap<string, { readonly source: SourceNode; readonly column: string; readonly as: string }>,
): PlanNode {
  const rename = rewriter((e) => {
    const found = e.kind === 'column' ? renames.get(keyOf(e)) : undefined
    return found && e.kind === 'column' ? { ...e, name: found.as } : e
  })
  const go = (node: PlanNode): PlanNode => {
    const next = mapExpressions(mapInputs(node, go), rename)
    if (next.kind === 'source') {
      const own = [...renames.values()].filter((r) => r.source.emitter === next.emitter)
      return own.length === 0 ? next : { ...next, renames: own.map(({ column, as }) => ({ column, as })) }
    }
    return next
  }
  return go(root)
}
