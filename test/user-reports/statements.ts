/** What the tests of reported situations share: statements over rows or JSON, their plans, and an engine to feed. */
import { manualClock } from '../../src/core/clock.ts'
import type { LedgerReading } from '../../src/core/ledger.ts'
import type { Value, ValueObject } from '../../src/core/values.ts'
import { createEngine, imbalance } from '../../src/engine/index.ts'
import { builtinFunctions } from '../../src/functions/index.ts'
import { explainReadable } from '../../src/plan/explain-readable.ts'
import { type PlanOptions, planSelect } from '../../src/plan/index.ts'
import type { LogicalPlan } from '../../src/plan/logical.ts'
import { parseSelect, parseStatement } from '../../src/sql/index.ts'
import { manualSink, manualSource, settle, withConnectors } from '../support/engine-harness.ts'
import { runStatement, type Statement } from '../support/run-statement.ts'

/** A whole minute. */
export const B = 1_700_000_040_000

/** A schemaless stream whose event time is `ts`. */
export const stream = (name: string, more = ''): string => `CREATE STREAM ${name} () WITH (TIMESTAMP="ts"${more})`

export interface Outcome {
  readonly out: Value[]
  readonly ledger: LedgerReading
}

/** Event time: rows as [offset in ms, payload, stream], each with its `ts`. */
export function eventTime(
  sql: string,
  rows: readonly (readonly [number, ValueObject, string?])[],
  more: Partial<Statement> = {},
): Outcome {
  const run = runStatement({ definitions: [stream('S')], sql, isEventTime: true, ...more })
  for (const [offset, payload, name = 'S'] of rows) run.push(name, [{ ...payload, ts: B + offset }])
  const out = [...run.emissions]
  run.stop()
  return { out, ledger: run.read() }
}

/** Processing time: the clock goes to the offset of each row, and to `until` in the end. */
export function processingTime(
  sql: string,
  rows: readonly (readonly [number, ValueObject, string?])[],
  until: number,
  more: Partial<Statement> = {},
  start = B,
): Outcome {
  const clock = manualClock({ start })
  const run = runStatement({ definitions: [stream('S')], sql, ...more }, clock)
  for (const [offset, payload, name = 'S'] of rows) {
    clock.advanceSync(start + offset - clock.now())
    run.push(name, [payload])
  }
  clock.advanceSync(start + until - clock.now())
  const out = [...run.emissions]
  run.stop()
  return { out, ledger: run.read() }
}

/** Rows pushed one by one into the stream S; what comes of each. */
export function resultsOf(sql: string, rows: readonly ValueObject[], more: Partial<Statement> = {}): Value[] {
  const run = runStatement({ definitions: [stream('S')], sql, ...more })
  for (const row of rows) run.push('S', [row])
  return run.emissions
}

/** The plan of a statement over the definitions (default: the schemaless stream S). Throws what a creation would. */
export function planOf(
  sql: string,
  definitions: readonly string[] = ['CREATE STREAM S () WITH ()'],
  options: PlanOptions = {},
): LogicalPlan {
  const known = definitions.map((text) => {
    const statement = parseStatement(text, { functions: builtinFunctions })
    if (statement.kind !== 'createStream') throw new Error(`not a CREATE: ${text}`)
    return statement
  })
  return planSelect(parseSelect(sql, { functions: builtinFunctions }), {
    stream: (name) => known.find((d) => d.name === name),
    functions: builtinFunctions,
    options,
  })
}

/** The plan as people read it: one operator a line, then the warnings. */
export const planText = (...args: Parameters<typeof planOf>): string => explainReadable(planOf(...args))

/**
 * JSON payloads through an engine, on the columnar lane where the statement has that form: a rule over the stream S of `columns`.
 * What it sends, as JSON reads it.
 */
export async function overJson(
  columns: string,
  sql: string,
  payloads: readonly string[],
  more: { with?: string; options?: ValueObject; until?: number } = {},
): Promise<Outcome> {
  const clock = manualClock({ start: B })
  const fed = manualSource('fed', { emits: 'bytes', now: () => clock.now() })
  const sink = manualSink('watched')
  const engine = await createEngine({ clock, connectors: withConnectors(fed.connector, sink.connector) })
  try {
    await engine.execute(
      `CREATE STREAM S (${columns}) WITH (TYPE="fed", DATASOURCE="in", FORMAT="json"${more.with ?? ''})`,
    )
    await engine.createRule({ id: 'r', sql, options: more.options ?? {}, actions: [{ watched: {} }] })
    await settle()
    await fed.json(payloads)
    await settle()
    await clock.advance(more.until ?? 1)
    await settle()
    const ledger = engine.ruleLedger('r').rule
    if (imbalance(ledger) !== 0) throw new Error(`the ledger is off by ${imbalance(ledger)}`)
    return { out: sink.sent.map((text) => JSON.parse(text)), ledger }
  } finally {
    await engine.close()
  }
}
