/** windows.jsonl, op `window`: the window of a planned and compiled statement, driven on a hand-moved clock. */
import { compileChain, defaultLimits } from '../../../src/compile/chain.ts'
import { manualClock } from '../../../src/core/clock.ts'
import { makeRow, type Row, rowsBatch } from '../../../src/core/row.ts'
import { decodeState, encodeState } from '../../../src/core/state.ts'
import type { Value, ValueObject } from '../../../src/core/values.ts'
import { builtinFunctions } from '../../../src/functions/index.ts'
import type { Operator, State } from '../../../src/operators/contract.ts'
import { planSelect } from '../../../src/plan/index.ts'
import { parseSelect, parseStatement } from '../../../src/sql/index.ts'
import { type Driven, drive } from '../../support/drive.ts'
import { type Case, fail, type Outcome, pass } from '../contract.ts'
import { fromTagged, sameValue, show } from '../values.ts'
import { expressionContext } from './operators.ts'

/**
 * The reference's incremental windows keep the last row of a group for plain columns; here incremental windows give what others
 * give (D15), so the last row is asked for by name.
 */
function sqlOf(c: Case, stream: string): string {
  const counted = (c['expect'] as Case[]).filter((e) => e['row'] !== undefined)
  if (counted.length === 0) return `SELECT * FROM ${stream} GROUP BY ${c['window']}`
  const columns = [...new Set(counted.flatMap((e) => Object.keys(e['row'])))]
  const last = columns.map((name) => `last_value(${name}, false) AS ${name}`).join(', ')
  return `SELECT count(*) AS c, ${last} FROM ${stream} GROUP BY ${c['window']}`
}

export async function runWindow(c: Case): Promise<Outcome> {
  const definitions = (c['streams'] as Case[]).map((s) => {
    const statement = parseStatement(s['sql'], { functions: builtinFunctions })
    if (statement.kind !== 'createStream') throw new Error(`not a CREATE: ${s['sql']}`)
    // The recorded set-ups run the window alone; a rule needs a TIMESTAMP for event time.
    if (!c['isEventTime'] || statement.options.timestamp) return statement
    const fields = statement.fields && [...statement.fields, { name: 'ts', type: { kind: 'bigint' as const } }]
    return { ...statement, fields, options: { ...statement.options, timestamp: 'ts' } }
  })
  const stream = definitions[0]?.name ?? ''
  const options = { ...c['options'], isEventTime: c['isEventTime'] }
  const plan = planSelect(parseSelect(sqlOf(c, stream), { functions: builtinFunctions }), {
    stream: (name) => definitions.find((d) => d.name === name),
    functions: builtinFunctions,
    options,
  })
  const windowOption = options.planOptimizeStrategy?.windowOption ?? {}
  const compile = (): { window: Operator; after: Operator[] } => {
    const { stages } = compileChain(plan.root, {
      expressions: expressionContext(c),
      namesOf: () => [],
      limits: defaultLimits,
      stateful: {
        halfOpenSliding: windowOption.windowVersion === 'v2',
        sendSlidingTwice: windowOption.enableSendSlidingWindowTwice === true,
      },
    })
    const at = stages.findIndex((s) => s.operator.name === 'window' || s.operator.name === 'inc_agg_window')
    return { window: stages[at]?.operator as Operator, after: stages.slice(at + 1).map((s) => s.operator) }
  }
  const steps = c['steps'] as Case[]
  const clock = manualClock({ start: (steps[0]?.['ts'] as number | undefined) ?? 0 })
  let { window, after } = compile()
  let driven: Driven = drive(window, clock)
  const projected: Value[] = []
  /** What the windows fired so far hold: their rows, or the projected row of an incremental one. */
  const gather = (): void => {
    for (const batch of driven.batches.splice(0)) {
      if (batch.kind === 'collection') {
        projected.push({ rows: batch.rows.map((r) => r.message as Value) })
        continue
      }
      const [project] = after
      const out = drive(project as Operator, clock)
      out.push(batch)
      for (const b of out.batches) if (b.kind === 'collection') projected.push(...b.rows.map((r) => r.message as Value))
    }
  }
  for (const step of steps) {
    if (step['row'] !== undefined) {
      const row: Row = makeRow(stream, fromTagged(step['row']) as ValueObject, step['ts'] ?? clock.now())
      driven.push(rowsBatch([row]))
    } else if (step['watermark'] !== undefined) driven.watermark(step['watermark'])
    else if (step['advanceClockMs'] !== undefined) await clock.advance(step['advanceClockMs'])
    else if (step['do'] === 'restart from saved state') {
      const state = decodeState(encodeState(window.save?.() as State))
      window.close?.()
      gather()
      ;({ window, after } = compile())
      driven = drive(window, clock, 'UTC', state)
    } else if (step['expectNow'] !== undefined) {
      gather()
      if (projected.length < step['expectNow'])
        return fail(`${projected.length} windows so far, expected ${step['expectNow']}`)
    } else return fail(`unknown step ${JSON.stringify(step)}`)
  }
  gather()
  if (driven.errors.length) return fail(`error ${driven.errors[0]}`)
  const wanted: Value[] = (c['expect'] as Case[]).map((e) =>
    e['row'] === undefined
      ? { rows: fromTagged(e['rows']) }
      : { ...(fromTagged(e['row']) as ValueObject), c: fromTagged(e['count']) },
  )
  const got = projected.slice(0, wanted.length)
  return sameValue(got, wanted) ? pass : fail(`${show(projected)}, expected ${show(wanted)}`)
}
