/** parse.jsonl: text accepted or refused, exact messages, trees. What needs the planner is run by parse-plan.ts. */
import { builtinFunctions } from '../../../src/functions/index.ts'
import type { SelectStatement } from '../../../src/sql/ast.ts'
import { parseSelect, parseStatement, parseStatements } from '../../../src/sql/index.ts'
import { someExpression } from '../../../src/sql/walk.ts'
import { type Case, type CaseRunner, fail, type Outcome, pass } from '../contract.ts'
import { astOf, withoutZeros } from './parse-ast.ts'

const options = { functions: builtinFunctions }
const planKinds = new Set(['plan', 'validate', 'explain', 'graph', 'sink'])

export const run: CaseRunner = async (c) => (planKinds.has(c['kind']) ? runPlan(c) : runParser(c))

async function runPlan(c: Case): Promise<Outcome> {
  let plan: typeof import('./parse-plan.ts')
  try {
    plan = await import('./parse-plan.ts')
  } catch {
    return fail(`not built: ${c['kind']}`)
  }
  return plan.runPlanCase(c)
}

function runParser(c: Case): Outcome {
  let result: unknown
  try {
    result = parseCase(c)
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    if (c['ok']) return fail(`refused: ${message}`)
    if (c['error'] === undefined || message === c['error']) return pass
    return fail(`error ${JSON.stringify(message)}, expected ${JSON.stringify(c['error'])}`)
  }
  if (!c['ok']) return fail(`accepted, expected ${JSON.stringify(c['error'])}`)
  const expected = c['ast'] ?? c['stream'] ?? c['count'] ?? c['hasAggregate']
  if (expected === undefined) return fail('the case expects nothing this runner knows')
  const actual = JSON.stringify(withoutZeros(result))
  const wanted = JSON.stringify(withoutZeros(expected))
  return actual === wanted ? pass : fail(`${actual}, expected ${wanted}`)
}

function parseCase(c: Case): unknown {
  const sql = c['sql'] as string
  if (c['kind'] === 'multi') return parseStatements(sql, options).length
  const statement = c['kind'] === 'select' ? parseSelect(sql, options) : parseStatement(sql, options)
  if (c['hasAggregate'] !== undefined) return hasAggregate(statement as SelectStatement)
  return astOf(statement, builtinFunctions)
}

/** Groups, or an aggregate call in the field list. */
function hasAggregate(s: SelectStatement): boolean {
  return (
    s.dimensions.length > 0 ||
    s.fields.some((f) =>
      someExpression(f.expression, (e) => e.kind === 'call' && builtinFunctions(e.name)?.kind === 'aggregate'),
    )
  )
}
