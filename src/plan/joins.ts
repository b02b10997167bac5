/** Joins of streams and scan tables, and lookup joins with their keys (spec/sql.md 4.2 to 4.6). */
import type { Expression, SelectStatement } from '../sql/ast.ts'
import { planError } from './errors.ts'
import { expressionText } from './expression-text.ts'
import type { JoinNode, LookupNode, PlanNode } from './logical.ts'
import { sourcesOf } from './references.ts'
import type { ResolvedStatement } from './resolve-names.ts'
import type { PlannedSource, SourceSet } from './sources.ts'
import { and, conjuncts } from './tree.ts'

/** All joins that are not lookups, in text order, in one node. */
export function planJoins(
  input: PlanNode,
  written: SelectStatement,
  s: ResolvedStatement,
  sources: SourceSet,
): PlanNode {
  const from = emitterOf(written.from, sources)
  const joins: JoinNode['joins'][number][] = []
  written.joins.forEach((join, i) => {
    const right = emitterOf(join.source, sources)
    if (right.role === 'lookupTable') return
    const on = s.joins[i] ?? null
    const sides = joins.length === 0 && join.kind !== 'cross' ? sidesOf(on) : null
    joins.push({
      kind: join.kind,
      left: sides?.[0] ?? from.emitter,
      right: sides?.[1] ?? right.emitter,
      on,
    })
  })
  return joins.length === 0 ? input : { kind: 'join', input, joins }
}

/**
 * As eKuiper: the first join's sides are the sources of ON in order of appearance, not of FROM and JOIN. Only when there
 * are exactly two of them (D26).
 */
function sidesOf(on: Expression | null): readonly [string, string] | null {
  const { emitters, unbound } = sourcesOf(on)
  const [left, right] = emitters
  return emitters.length === 2 && !unbound ? [left as string, right as string] : null
}

function emitterOf(reference: SelectStatement['from'], sources: SourceSet): PlannedSource {
  return sources.list.find((x) => x.reference === reference) as PlannedSource
}

/** Lookup joins, one node each, after all other joins. */
export function planLookups(
  input: PlanNode,
  written: SelectStatement,
  s: ResolvedStatement,
  sources: SourceSet,
): PlanNode {
  let node = input
  written.joins.forEach((join, i) => {
    const table = emitterOf(join.source, sources)
    if (table.role !== 'lookupTable') return
    const on = s.joins[i] ?? null
    const { keys, rest } = lookupKeys(on, table.emitter)
    if (on === null || keys.length === 0) {
      throw planError(
        `join condition ${on ? expressionText(on) : '<nil>'} is invalid, at least one equi-join predicate is required`,
        on?.at ?? join.at,
        `Add ${table.emitter}.column = value to ON.`,
      )
    }
    node = {
      kind: 'lookup',
      input: node,
      definition: table.definition,
      emitter: table.emitter,
      join: join.kind === 'left' ? 'left' : 'inner',
      keys,
      columns: null,
      on,
      rest,
    }
  })
  return node
}

/**
 * Equality conjuncts between a plain column of the table and an expression that does not touch the table are keys; a
 * second equality on a column, and everything else, stays as a condition.
 */
function lookupKeys(
  on: Expression | null,
  table: string,
): { readonly keys: LookupNode['keys']; readonly rest: Expression | null } {
  const keys: LookupNode['keys'][number][] = []
  let rest: Expression | null = null
  for (const part of conjuncts(on)) {
    const key = part.kind === 'binary' && part.operator === '=' ? equality(part.left, part.right, table) : null
    if (key && !keys.some((k) => k.column === key.column)) keys.push(key)
    else rest = and(rest, part)
  }
  return { keys, rest }
}

function equality(left: Expression, right: Expression, table: string): LookupNode['keys'][number] | null {
  return side(left, right, table) ?? side(right, left, table)
}

function side(column: Expression, value: Expression, table: string): LookupNode['keys'][number] | null {
  const target = column.kind === 'alias' ? column.expression : column
  if (target.kind !== 'column' || target.stream !== table) return null
  return sourcesOf(value).emitters.includes(table) ? null : { column: target.name, value }
}
