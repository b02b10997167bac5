/** Kinds plan, validate and explain of parse.jsonl: through planSelect and explain. */
import { IxionError, messageOf } from '../../../src/core/errors.ts'
import { builtinFunctions } from '../../../src/functions/index.ts'
import { explain } from '../../../src/plan/explain.ts'
import { type PlanOptions, planSelect } from '../../../src/plan/index.ts'
import type { StreamDefinition } from '../../../src/sql/ast.ts'
import { parseSelect, parseStatement } from '../../../src/sql/index.ts'
import { type Case, fail, type Outcome, pass } from '../contract.ts'

interface StreamText {
  readonly name: string
  readonly sql: string
}

export function runPlanCase(c: Case): Outcome {
  if (c.kind === 'graph' || c.kind === 'sink') return fail(`not built: ${c.kind}`)
  const streams = new Map<string, StreamDefinition>()
  for (const { name, sql } of c.streams as StreamText[]) {
    const statement = parseStatement(sql, { functions: builtinFunctions })
    if (statement.kind !== 'createStream') return fail(`not a stream: ${sql}`)
    streams.set(name, statement)
  }
  let text: string
  try {
    const statement = parseSelect(c.sql, { functions: builtinFunctions })
    const plan = planSelect(statement, {
      stream: (name) => streams.get(name),
      functions: builtinFunctions,
      options: (c.options ?? {}) as PlanOptions,
    })
    text = explain(plan)
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
