/** SQL planning: a parsed SELECT becomes a resolved, rewritten operator tree. */
import type { SelectStatement } from '../sql/ast.ts'
import { buildPlan } from './build.ts'
import { checkOutputNames, checkResolved, checkSliceTuple, checkWritten } from './check-statement.ts'
import { checkWindow } from './check-window.ts'
import { functionKinds, type PlanEnvironment, type PlanOptions } from './environment.ts'
import { planError } from './errors.ts'
import { extractCalls } from './extract-calls.ts'
import { convertOnRequest } from './incremental.ts'
import type { LogicalPlan, PlanNode } from './logical.ts'
import { findNode } from './nodes.ts'
import { checkTimestamps, type PruneOptions, pruneColumns } from './prune-columns.ts'
import { pushAliases } from './push-alias.ts'
import { filterLookupRests, pushDownPredicates } from './push-down.ts'
import { resolveNames } from './resolve-names.ts'
import { resolveSources, type SourceSet } from './sources.ts'
import { findWarnings } from './warnings.ts'

export type { PlanEnvironment, PlanOptions } from './environment.ts'
export { canAggregateIncrementally, type IncrementalVerdict, toIncremental } from './incremental.ts'

/**
 * Plans one SELECT. Pure: the statement is not changed, the same input gives the same plan.
 *
 * @throws IxionError SQL_PLAN with the reference's message, the position of the offending part and, where one is known, a hint.
 */
export function planSelect(statement: SelectStatement, env: PlanEnvironment): LogicalPlan {
  const options = env.options ?? {}
  const kinds = functionKinds(env.functions)
  checkWritten(statement, options)
  const sources = resolveSources(statement, env)
  const resolved = resolveNames(statement, sources, env)
  checkResolved(resolved, statement, kinds)
  checkBufferPolicies(sources, options)
  checkSliceTuple(resolved, statement, sources, options, kinds)
  const extracted = extractCalls(resolved, kinds)
  const built = buildPlan(statement, extracted, sources, options, kinds)
  const root = rewrite(built, sources, env)
  const window = findNode(root, 'window')
  if (window) checkWindow(window, options)
  checkOutputNames(resolved.fields)
  return {
    root,
    sources: sources.list.map(({ emitter, definition, fields }) => ({ emitter, definition, fields })),
    warnings: findWarnings(statement, resolved, sources, env),
  }
}

/** The rewrites in the order of spec/sql.md 6.2; each can be switched off by its name. */
function rewrite(built: PlanNode, sources: SourceSet, env: PlanEnvironment): PlanNode {
  const strategy = env.options?.planOptimizeStrategy
  const disabled = new Set(strategy?.optimizeControl?.disableOptimizeRules)
  const prune: PruneOptions = {
    sendMeta: env.options?.sendMetaToSink ?? false,
    fieldsOf: (emitter) => sources.byQualifier(emitter)?.fields ?? null,
  }
  checkTimestamps(built, prune)
  let root = built
  if (!disabled.has('columnPruner')) root = pruneColumns(root, prune)
  root = disabled.has('predicatePushDown') ? filterLookupRests(root) : pushDownPredicates(root)
  if (strategy?.enableIncrementalWindow) root = convertOnRequest(root, env.functions)
  if (strategy?.enableAliasPushdown && !disabled.has('push_alias')) root = pushAliases(root)
  return root
}

/** `disableBufferFullDiscard` asks never to drop for want of room; a shared stream, and one whose policy is to drop, cannot. */
function checkBufferPolicies(sources: SourceSet, options: PlanOptions): void {
  if (!options.disableBufferFullDiscard) return
  for (const { definition, reference } of sources.list) {
    const { shared, extensions } = definition.options
    if (shared) {
      throw planError(`disableBufferFullDiscard can't be enabled with shared stream ${definition.name}`, reference.at)
    }
    const policy = String(extensions?.['buffer_full_policy'] ?? '')
    if (policy.toLowerCase().startsWith('drop')) {
      throw planError(
        `disableBufferFullDiscard contradicts BUFFER_FULL_POLICY="${policy}" of stream ${definition.name}`,
        reference.at,
        'Leave the rule option out: the policy of the stream decides.',
      )
    }
  }
}
