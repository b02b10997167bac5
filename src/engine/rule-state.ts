/** The state of a running rule as one value: operators by name, call sites of stateful functions, hit counters. */
import type { StatefulSite } from '../compile/expression.ts'
import { IxionError } from '../core/errors.ts'
import { getField, type Value, type ValueObject } from '../core/values.ts'
import type { RuleRunner } from '../runtime/rule-runner.ts'

/** Raised when the members change meaning. */
const VERSION = 1

/** Taken between two events. What waits in front of the rule or behind it is not part of it. */
export function saveRuleState(runner: RuleRunner, sites: ReadonlyMap<string, StatefulSite>): Value {
  return {
    version: VERSION,
    operators: runner.save(),
    functions: Object.fromEntries([...sites].map(([site, state]) => [site, state.save()])),
  }
}

/**
 * Before the rule starts. State of operators and call sites that the rule no longer has is ignored. Events the state holds count
 * as received by the new run. Throws IxionError STORAGE for the state of another version.
 */
export function loadRuleState(runner: RuleRunner, sites: ReadonlyMap<string, StatefulSite>, state: Value): void {
  const { version, operators, functions } = state as ValueObject
  if (Number(version) !== VERSION) {
    throw new IxionError('STORAGE', `stored state of a rule has version ${String(version)}`, {
      hint: `This build reads version ${VERSION}; delete the state of the rule or use the build that wrote it.`,
    })
  }
  const heldBefore = runner.held
  runner.load(operators as ValueObject)
  for (const [site, own] of sites) {
    const saved = getField(functions as ValueObject, site)
    if (saved !== undefined) own.load(saved)
  }
  runner.ledger.received += runner.held - heldBefore
}
