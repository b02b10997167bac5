/** The reference's text of an expression, for EXPLAIN and for messages that quote one. */
import type { Expression } from '../sql/ast.ts'
import { explainExpression } from '../sql/explain.ts'
import { childrenOf } from '../sql/walk.ts'
import { rewriter } from './tree.ts'

/**
 * Values computed below print as the reference shows them: an analytic call as itself, the others as
 * `bypass(internal name)`.
 */
export function expressionText(e: Expression): string {
  return explainExpression(writtenForm(e))
}

/** The text of a select field's expression; aliases in `later` are defined by fields behind it. See {@link writtenForm}. */
export function fieldText(e: Expression, later: ReadonlySet<string>): string {
  return explainExpression(renames(writtenForm(e), later))
}

/**
 * The expression as {@link expressionText} shows it: computed values under their internal names, and inside definitions of
 * aliases a plain rename as the reference leaves it, `$$default.name`.
 */
export function writtenForm(e: Expression): Expression {
  const sizeOf = expandedSize()
  return rewriter((x) => {
    if (x.kind === 'alias') {
      const tooLong = sizeOf(x.expression) > MAX_EXPANDED_NODES
      const cut: Expression = { kind: 'string', value: '...', at: x.at }
      return { ...x, expression: tooLong ? cut : renames(x.expression) }
    }
    if (x.kind !== 'computed') return x
    if (x.name.startsWith(ANALYTIC_PREFIX)) return x.origin
    const { at } = x
    // The reference's reference to a window function is unqualified; a string prints as its bare text.
    const column: Expression = x.name.startsWith(WINDOW_FUNCTION_PREFIX)
      ? { kind: 'string', value: x.name, at }
      : { kind: 'column', stream: null, name: x.name, at }
    if (x.origin.kind === 'call' && x.origin.name === 'dedup_trigger') return column
    return { kind: 'call', name: 'bypass', args: [column], partition: [], when: null, order: [], id: 0, at }
  })(e)
}

/** Aliases are written out where they are used; definitions beyond this many nodes show as `...`. */
const MAX_EXPANDED_NODES = 2000

/** The expression as it is written, with the definitions of its aliases as long as that stays short. For messages. */
export function boundedText(e: Expression): string {
  if (expandedSize()(e) <= MAX_EXPANDED_NODES) return explainExpression(e)
  return explainExpression(rewriter((x) => (x.kind === 'alias' ? { kind: 'string', value: x.name, at: x.at } : x))(e))
}

/** Number of nodes with every alias written out. Counts each shared tree once. */
export function expandedSize(): (e: Expression) => number {
  const sizes = new Map<Expression, number>()
  const sizeOf = (e: Expression): number => {
    const known = sizes.get(e)
    if (known !== undefined) return known
    const parts = e.kind === 'alias' ? [e.expression] : e.kind === 'computed' ? [e.origin] : childrenOf(e)
    const size = parts.reduce((sum, part) => sum + sizeOf(part), 1)
    sizes.set(e, size)
    return size
  }
  return sizeOf
}

function renames(e: Expression, later: ReadonlySet<string> = new Set()): Expression {
  return rewriter((x) => {
    if (x.kind !== 'alias' || x.expression.kind !== 'column' || x.expression.stream === null) return x
    if (later.has(x.name)) return x
    return { kind: 'column', stream: null, name: x.name, at: x.at }
  })(e)
}

/** Internal column names (spec/sql.md 5.4, 5.5, 5.7; EXPLAIN shows them). */
export const ANALYTIC_PREFIX = '$$a_'
export const AGGREGATE_IN_WHERE_PREFIX = '$$agg_ref_'
export const INCREMENTAL_PREFIX = 'inc_agg_col_'
export const WINDOW_FUNCTION_PREFIX = 'wf_'
