/** Kinds plan, validate, explain, graph and sink of parse.jsonl: through planSelect, explain, planGraph and the engine. */
import { IxionError, messageOf } from '../../../src/core/errors.ts'
import type { ValueObject } from '../../../src/core/values.ts'
import { createEngine, manualClock } from '../../../src/engine/index.ts'
import { builtinFunctions } from '../../../src/functions/index.ts'
import { explain } from '../../../src/plan/explain.ts'
import { planGraph } from '../../../src/plan/graph/index.ts'
import { type PlanEnvironment, type PlanOptions, planSelect } from '../../../src/plan/index.ts'
import type { StreamDefinition } from '../../../src/sql/ast.ts'
import { parseSelect, parseStatement } from '../../../src/sql/index.ts'
import { type Case, fail, type Outcome, pass } from '../contract.ts'

interface StreamText {
  readonly name: string
  readonly sql: string
}

export async function runPlanCase(c: Case): Promise<Outcome> {
  const streams = new Map<string, StreamDefinition>()
  for (const { name, sql } of (c.streams ?? []) as StreamText[]) {
    const statement = parseStatement(sql, { functions: builtinFunctions })
    if (statement.kind !== 'createStream') return fail(`not a stream: ${sql}`)
    streams.set(name, statement)
  }
  let text = ''
  try {
    if (c.kind === 'sink') await createRuleWith(c.actions as ValueObject[])
    else {
      const environment: PlanEnvironment = {
        stream: (name) => streams.get(name),
        functions: builtinFunctions,
        options: (c.options ?? {}) as PlanOptions,
      }
      if (c.kind === 'graph') planGraph(c.graph as ValueObject, environment)
      else text = explain(planSelect(parseSelect(c.sql, { functions: builtinFunctions }), environment))
    }
  } catch (error) {
    if (!(error instanceof IxionError)) throw error
    if (c.ok) return fail(`failed: ${messageOf(error)}`)
    return c.error === undefined || c.error === error.message
      ? pass
      : fail(`got error ${error.message}, expected ${c.error}`)
  }
  if (!c.ok) return fail(`no error, expected ${c.error ?? 'any'}`)
  if (c.explain !== undefined && c.explain !== text) return fail(`got ${text}\nexpected ${c.explain}`)
  return pass
}

/** What is wrong with an action shows when a rule is created with it. */
async function createRuleWith(actions: ValueObject[]): Promise<void> {
  const engine = await createEngine({ clock: manualClock() })
  try {
    await engine.execute('CREATE STREAM demo () WITH (TYPE="memory", DATASOURCE="demo")')
    await engine.createRule({ id: 'sinks', sql: 'SELECT * FROM demo', actions, triggered: false })
  } finally {
    await engine.close()
  }
}
