/** The reference's text of an expression, for EXPLAIN and for messages that quote one. */
import { DEFAULT_STREAM, type Expression } from '../sql/ast.ts'
import { explainExpression } from '../sql/explain.ts'
import { rewriter } from './tree.ts'

/**
 * Values computed below print as the reference shows them: an analytic call as itself, the others as
 * `bypass(internal name)`.
 */
export function expressionText(e: Expression): string {
  return explainExpression(writtenForm(e))
}

/** The expression with computed values replaced by what {@link expressionText} shows for them. */
export function writtenForm(e: Expression): Expression {
  return rewriter((x) => {
    if (x.kind !== 'computed' || x.name.startsWith(ANALYTIC_PREFIX)) return x.kind === 'computed' ? x.origin : x
    const column: Expression = { kind: 'column', stream: streamOf(x.name), name: x.name, at: x.at }
    if (x.origin.kind === 'call' && x.origin.name === 'dedup_trigger') return column
    return { kind: 'call', name: 'bypass', args: [column], partition: [], when: null, order: [], id: 0, at: x.at }
  })(e)
}

/** Internal column names (spec/sql.md 5.4, 5.5, 5.7; EXPLAIN shows them). */
export const ANALYTIC_PREFIX = '$$a_'
export const AGGREGATE_IN_WHERE_PREFIX = '$$agg_ref_'
export const INCREMENTAL_PREFIX = 'inc_agg_col_'
export const WINDOW_FUNCTION_PREFIX = 'wf_'

function streamOf(name: string): string {
  return name.startsWith(WINDOW_FUNCTION_PREFIX) ? '' : DEFAULT_STREAM
}
