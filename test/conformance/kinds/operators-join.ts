/** operators.jsonl, op `join`: the joins of the statement over one collection. */

import { defaultLimits } from '../../../src/compile/chain.ts'
import { compileStatefulNode } from '../../../src/compile/stateful.ts'
import type { Row } from '../../../src/core/row.ts'
import type { Value } from '../../../src/core/values.ts'
import { builtinFunctions } from '../../../src/functions/index.ts'
import type { PlanEnvironment } from '../../../src/plan/environment.ts'
import { planJoins } from '../../../src/plan/joins.ts'
import { resolveNames } from '../../../src/plan/resolve-names.ts'
import { resolveSources } from '../../../src/plan/sources.ts'
import { parseSelect } from '../../../src/sql/index.ts'
import { type Case, fail, type Outcome, pass } from '../contract.ts'
import { sameValue, show } from '../values.ts'
import { batchOf, collect, expressionContext } from './operators.ts'

const environment: PlanEnvironment = {
  stream: (name) => ({ kind: 'createStream', streamType: 'stream', name, fields: null, options: {} }),
  functions: builtinFunctions,
}

/** A joined row as its components, in order. */
const componentsOf = (row: Row): Value =>
  (row.parts ?? [row]).map((p) => [p.emitter, p.message as Value, p.meta as Value])

export function runJoin(c: Case): Outcome {
  const statement = parseSelect(c['sql'], { functions: builtinFunctions })
  const sources = resolveSources(statement, environment)
  const resolved = resolveNames(statement, sources, environment)
  const source = { kind: 'union', inputs: [] } as const
  const plan = planJoins(source, statement, resolved, sources)
  if (plan.kind !== 'join') return fail('no join in the plan')
  const [join] = compileStatefulNode(plan, {
    expressions: expressionContext(c),
    namesOf: () => ['join'],
    limits: defaultLimits,
  })
  if (c['input'].$error !== undefined) {
    return c['expect']?.$error === c['input'].$error ? pass : fail('an error in is the error out')
  }
  const got = collect(join as never, batchOf({ ...c['input'], kind: 'window' }))
  const { expect } = c
  if (expect?.$error !== undefined) {
    return got.error === expect.$error ? pass : fail(`error ${got.error}, expected ${expect.$error}`)
  }
  if (got.error !== null) return fail(`error ${got.error}`)
  if (expect === null) return got.batches.length === 0 ? pass : fail('emitted, expected nothing')
  const [batch] = got.batches
  if (batch?.kind !== 'collection') return fail('nothing emitted')
  const wanted = batchOf({ ...expect, kind: 'join' })
  const a = batch.rows.map(componentsOf)
  const b = wanted.kind === 'collection' ? wanted.rows.map(componentsOf) : []
  return sameValue(a, b) ? pass : fail(`${show(a)}, expected ${show(b)}`)
}
