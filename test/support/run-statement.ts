/** One SQL statement on a hand-moved clock: planned, compiled and run without engine, sources or sinks. Synchronous. */
import { compileChain, defaultLimits, type OperatorLimits } from '../../src/compile/chain.ts'
import { newHitCounter, type StatefulSite } from '../../src/compile/expression.ts'
import { type ManualClock, manualClock } from '../../src/core/clock.ts'
import type { LedgerReading } from '../../src/core/ledger.ts'
import { makeRow } from '../../src/core/row.ts'
import { decodeState, encodeState } from '../../src/core/state.ts'
import { copyFields, type Value, type ValueObject } from '../../src/core/values.ts'
import { loadRuleState, saveRuleState } from '../../src/engine/rule-state.ts'
import { createTimestampReader } from '../../src/formats/schema-check.ts'
import { builtinFunctions } from '../../src/functions/index.ts'
import { planSelect, toIncremental } from '../../src/plan/index.ts'
import { NodeMetrics } from '../../src/runtime/metrics.ts'
import { RuleRunner } from '../../src/runtime/rule-runner.ts'
import type { SinkRunner } from '../../src/runtime/sink-runner.ts'
import { parseSelect, parseStatement } from '../../src/sql/index.ts'

export interface Statement {
  /** CREATE STREAM and CREATE TABLE texts. */
  readonly definitions: readonly string[]
  readonly sql: string
  readonly isEventTime?: boolean
  /** ms, default 0. */
  readonly lateTolerance?: number
  /** Whether windows aggregate incrementally where they can. Default true. */
  readonly incremental?: boolean
  readonly limits?: Partial<OperatorLimits>
  readonly windowVersion?: string
}

export interface StatementRun {
  readonly clock: ManualClock
  /** Results in order, each a list of rows; an error is `{ error }`. */
  readonly emissions: Value[]
  /** True when the plan's window keeps accumulators. */
  readonly incremental: boolean
  push(stream: string, rows: readonly ValueObject[]): void
  read(): LedgerReading
  save(): string
  stop(): void
}

/** `state` is what an earlier run saved; `clock` is shared with it. */
export function runStatement(s: Statement, clock: ManualClock = manualClock(), state?: string): StatementRun {
  const definitions = s.definitions.map((sql) => {
    const statement = parseStatement(sql, { functions: builtinFunctions })
    if (statement.kind !== 'createStream') throw new Error(`not a CREATE: ${sql}`)
    return statement
  })
  const windowOption = { windowVersion: s.windowVersion ?? '', enableSendSlidingWindowTwice: false }
  const plan = planSelect(parseSelect(s.sql, { functions: builtinFunctions }), {
    stream: (name) => definitions.find((d) => d.name === name),
    functions: builtinFunctions,
    options: { isEventTime: s.isEventTime ?? false, planOptimizeStrategy: { windowOption } },
  })
  const incremental = s.incremental === false ? null : toIncremental(plan, builtinFunctions)
  const states = new Map<string, StatefulSite>()
  const chain = compileChain((incremental ?? plan).root, {
    expressions: {
      functions: builtinFunctions,
      call: {
        ...{ clock, timezone: 'UTC', ruleId: 'r', ruleStart: clock.now(), row: null, window: null, props: {} },
        keyedState: new Map<string, Value>(),
      },
      states,
      hits: newHitCounter(),
      aggregateHits: newHitCounter(),
    },
    namesOf: () => [],
    limits: { ...defaultLimits, ...s.limits },
    stateful: { lateTolerance: s.lateTolerance ?? 0, halfOpenSliding: s.windowVersion === 'v2' },
  })
  const emissions: Value[] = []
  const sink = {
    full: false,
    start() {},
    offer: ({ rows }: { rows: readonly ValueObject[] }) => void emissions.push(rows.map((r) => copyFields({}, r))),
    offerError: (error: Error) => void emissions.push([{ error: error.message }]),
    stop: async () => {},
  } as unknown as SinkRunner
  const runner = new RuleRunner({
    ...{ id: 'r', clock, timezone: 'UTC', sendError: true, maxEvents: 1e6, maxBytes: 1e9, sinks: [sink] },
    log: { debug() {}, info() {}, warn() {}, error() {} },
    stages: chain.stages.map((stage) => ({ ...stage, metrics: new NodeMetrics('op', stage.name, clock) })),
    inputs: chain.sources.map(({ node, next, table }) => ({
      name: node.emitter,
      next,
      table,
      policy: 'block' as const,
    })),
    onEnd: (error) => {
      if (error) throw error
    },
  })
  const readers = chain.sources.map(({ node }) =>
    node.eventTime ? createTimestampReader(node.definition, { zone: 'UTC' }) : () => clock.now(),
  )
  if (state !== undefined) loadRuleState(runner, states, decodeState(state))
  runner.start()
  return {
    clock,
    emissions,
    incremental: incremental !== null,
    push(stream, rows) {
      chain.sources.forEach(({ node }, i) => {
        if (node.definition.name !== stream) return
        const delivered = rows.map((row) => makeRow(node.emitter, row, readers[i]?.(row) ?? 0))
        runner.inputs[i]?.accept({ kind: 'rows', rows: delivered, bytes: 0 })
      })
    },
    read: () => runner.read(),
    save: () => encodeState(saveRuleState(runner, states)),
    stop: () => {
      for (const stage of runner.stages) stage.close()
    },
  }
}
