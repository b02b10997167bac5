/**
 * The plan a rule runs: its own, or the incremental form of it where that gives the same results. Status, topology and explain
 * stay those of the rule's plan, so the names of operators whose work the window takes over go to the window, as counters.
 */
import type { FunctionLookup } from '../functions/contract.ts'
import { toIncremental } from '../plan/index.ts'
import type { LogicalPlan, PlanNode } from '../plan/logical.ts'

type NamesOf = (node: PlanNode) => readonly string[]

export function runningPlan(
  plan: LogicalPlan,
  functions: FunctionLookup,
  namesOf: NamesOf,
): { readonly root: PlanNode; readonly namesOf: NamesOf } {
  const incremental = plan.graph ? null : toIncremental(plan, functions)
  if (!incremental || incremental === plan) return { root: plan.root, namesOf }
  const names = new Map<PlanNode, readonly string[]>()
  const absorbed: string[] = []
  let after = incremental.root
  let before = plan.root
  while (before.kind !== 'window' && 'input' in before) {
    if (before.kind === after.kind && 'input' in after) {
      names.set(after, namesOf(before))
      after = after.input
    } else {
      absorbed.unshift(...namesOf(before))
    }
    before = before.input
  }
  names.set(after, [...namesOf(before), ...absorbed])
  return { root: incremental.root, namesOf: (node) => names.get(node) ?? namesOf(node) }
}
