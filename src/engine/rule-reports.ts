/** What the engine tells of a rule: status, topology, columns, kept rows. */
import { IxionError } from '../core/errors.ts'
import type { Value, ValueObject } from '../core/values.ts'
import { loadRow } from '../operators/window/row-buffer.ts'
import type { Topology } from '../plan/topology.ts'
import type { ManagedRule } from './managed-rule.ts'
import { outputSchema, type ReportedSchema } from './schema-report.ts'

export interface RuleSummary {
  readonly id: string
  readonly name: string
  readonly status: string
  readonly tags: readonly string[] | null
  readonly trace: boolean
  readonly version: string
}

export interface RuleStatus {
  readonly status: string
  readonly message: string
  readonly lastStartTimestamp: number
  readonly lastStopTimestamp: number
  readonly nextStartTimestamp: number
  /** Counters by `<kind>_<node>_0_<suffix>`, in the order of spec/rest-api.md 8.1. */
  readonly counters: readonly (readonly [string, number | string])[]
}

export function statusOf(rule: ManagedRule): RuleStatus {
  return {
    status: rule.state,
    message: rule.message,
    lastStartTimestamp: rule.lastStart,
    lastStopTimestamp: rule.lastStop,
    nextStartTimestamp: rule.nextStart,
    counters: rule.entries(),
  }
}

/** The topo JSON of the last started topology. Throws INVALID_DOCUMENT when there was none. */
export function topologyOf({ id, planned }: ManagedRule): Topology['topo'] {
  if (!planned) throw notStarted(id)
  return planned.topology.topo
}

/** Output columns; only while a topology exists. */
export function columnsOf({ id, run }: ManagedRule): ReportedSchema {
  if (!run) throw notStarted(id)
  return outputSchema(run.planned.plan)
}

function notStarted(id: string): IxionError {
  const message = `Fail to get rule ${id}'s topo, make sure the rule has been started before`
  return new IxionError('INVALID_DOCUMENT', message)
}

/** Rows that the join of a running rule holds of its scan tables. Throws INVALID_DOCUMENT when there are none. */
export function scanTablesOf({ id, run }: ManagedRule): ValueObject[] {
  const problem = (message: string): IxionError => new IxionError('INVALID_DOCUMENT', message)
  if (!run) {
    throw problem(`failed to get topology for rule ${id}: topology not initialized, rule may not have been started`)
  }
  const align = run.runner.stages.find((stage) => stage.operator.name === 'join_aligner')?.operator
  if (!align?.save) throw problem(`scan table error: join node is not found for ${id}`)
  const tables = align.save() as [string, [Value, boolean][]][]
  const rows = tables.flatMap(([emitter, kept]) =>
    kept.map(([saved]): ValueObject => ({ emitter, content: loadRow(saved).message })),
  )
  if (rows.length === 0) throw problem('scan table error: unable to find tuples for the given scan table')
  return rows
}
