/** functions.jsonl: cases that need a statement: rows in, emitted rows out; hit counters; metadata; windows refused at parse time. */
import { compileChain, defaultLimits } from '../../../src/compile/chain.ts'
import { compileExpression, type ExpressionContext, newHitCounter, rowScope } from '../../../src/compile/expression.ts'
import { IxionError, messageOf } from '../../../src/core/errors.ts'
import { type Batch, makeRow, type Row } from '../../../src/core/row.ts'
import type { Value, ValueObject } from '../../../src/core/values.ts'
import type { CallContext } from '../../../src/functions/contract.ts'
import { builtinFunctions } from '../../../src/functions/index.ts'
import type { Emit } from '../../../src/operators/contract.ts'
import { planSelect } from '../../../src/plan/index.ts'
import type { PlanNode } from '../../../src/plan/logical.ts'
import { mapInputs } from '../../../src/plan/nodes.ts'
import type { StreamDefinition } from '../../../src/sql/ast.ts'
import { parseExpression, parseSelect, parseStatement } from '../../../src/sql/index.ts'
import { type Case, fail, type Outcome, pass } from '../contract.ts'
import { fromTagged, sameValue, show } from '../values.ts'

const parsing = { functions: builtinFunctions }

const demo = parseStatement(
  'CREATE STREAM demo () WITH (DATASOURCE="demo", FORMAT="JSON")',
  parsing,
) as StreamDefinition

/**
 * The statement's operators; a window is left out, as the caller brings its rows ready made. `aggregate` projects a window
 * to one row also where the statement has no aggregate, as the recorded windows were.
 */
function compileStatement(sql: string, call: CallContext, aggregate = false) {
  const plan = planSelect(parseSelect(sql, parsing), {
    stream: (name) => (name === 'demo' ? demo : undefined),
    functions: builtinFunctions,
  })
  const withoutWindow = (node: PlanNode): PlanNode => {
    if (node.kind === 'window') return node.inputs[0] as PlanNode
    const inner = mapInputs(node, withoutWindow)
    return aggregate && inner.kind === 'project' ? { ...inner, aggregate } : inner
  }
  const expressions: ExpressionContext = {
    functions: builtinFunctions,
    call,
    states: new Map(),
    hits: newHitCounter(),
    aggregateHits: newHitCounter(),
  }
  const { stages } = compileChain(withoutWindow(plan.root), {
    expressions,
    namesOf: () => [],
    limits: defaultLimits,
  })
  /** Rows that come out, and the first failure. */
  const push = (batch: Batch): { rows: ValueObject[]; error: string | null } => {
    const result: { rows: ValueObject[]; error: string | null } = { rows: [], error: null }
    const into = (at: number): Emit => ({
      batch: (b) => {
        const stage = stages[at]
        const next = stage?.next[0] ?? -1
        if (stage) stage.operator.push(b, into(next < 0 ? stages.length : next))
        else result.rows.push(...(b.kind === 'groups' ? b.groups.flat() : b.rows).map((row) => row.message))
      },
      fail: (error) => {
        result.error ??= error.message
      },
      discard: () => {},
      consumed: () => {},
      watermark: () => {},
    })
    into(0).batch(batch)
    return result
  }
  return { expressions, push }
}

const rowOf = (value: unknown, timestamp = 0): Row => makeRow('demo', fromTagged(value) as ValueObject, timestamp)

/** `form: "rows"`: each row on its own, or all in one window. */
export function runRows(c: Case, call: CallContext): Outcome {
  const rows = (c['rows'] as unknown[]).map((row) => rowOf(row))
  const windowed = c['mode'] === 'window'
  // The recorded rows of row_number() are shown whole.
  const fields = c['fn'] === 'row_number' ? `*, ${c['sql']}` : c['sql']
  const group = windowed ? ` GROUP BY countwindow(${rows.length})` : ''
  const { push } = compileStatement(`SELECT ${fields} FROM demo${group}`, call, windowed && c['fn'] !== 'row_number')
  const { windowStart = 0, windowEnd = 0, triggerTime = 0 } = c['ctx'] ?? {}
  const window = { start: windowStart, end: windowEnd, trigger: triggerTime }
  const results = windowed
    ? [push({ kind: 'collection', rows, window, events: rows.length })]
    : rows.map((row) => push({ kind: 'rows', rows: [row], events: 1 }))
  const error = results.find((r) => r.error !== null)?.error ?? null
  if (c['error'] !== undefined) {
    // The recorded statements were not bound to a stream.
    const expected = String(c['error']).replaceAll('$$default.', 'demo.')
    return error?.includes(expected) ? pass : fail(`${error ?? 'no error'}, expected ${expected}`)
  }
  if (error !== null) return fail(error)
  const actual = results.flatMap((r) => r.rows)
  const expected = fromTagged(c['expect'])
  return sameValue(actual, expected) ? pass : fail(`${show(actual)}, expected ${show(expected)}`)
}

/** meta() and mqtt() of a row with this metadata. A case without SQL gives the value the reference had looked up. */
export function evaluateMeta(c: Case, call: CallContext): Value {
  const [value] = (c['args'] ?? []) as unknown[]
  const sql = c['sql'] ?? `${c['fn']}(topic)`
  const meta = fromTagged(c['meta'] ?? { topic: value }) as ValueObject
  const { expressions } = compileStatement('SELECT a FROM demo', call)
  const evaluate = compileExpression(parseExpression(sql, parsing), expressions)
  return evaluate(makeRow('demo', {}, 0, meta), rowScope)
}

/** The counter's value before each row; `update` says whether the row passes the condition the counter stands in. */
export function hitCounter(name: string, call: CallContext): (update: boolean, time: number) => Value {
  const aggregate = name.startsWith('last_agg_')
  const { expressions, push } = compileStatement(
    aggregate
      ? `SELECT count(*) FROM demo GROUP BY countwindow(1) HAVING count(hit) > 0 AND ${name}() >= 0`
      : `SELECT ${name}() AS n FROM demo WHERE n >= 0 AND hit = true`,
    call,
  )
  const evaluate = compileExpression(parseExpression(`${name}()`, parsing), expressions)
  return (update, time) => {
    const row = makeRow('demo', { hit: update ? true : null }, time)
    const before = aggregate ? evaluate(row, rowScope) : null
    const { error } = push(
      aggregate
        ? { kind: 'collection', rows: [row], window: { start: time, end: time, trigger: time }, events: 1 }
        : { kind: 'rows', rows: [row], events: 1 },
    )
    if (error !== null) throw new Error(error)
    // Each operator has its own counter: what the condition saw stays on the row under the alias.
    return aggregate ? before : (row.computed?.get('$$alias.n') ?? null)
  }
}

/** Window definitions are no functions here: the parser refuses them. */
export function runWindowRefusal(c: Case): Outcome {
  try {
    parseSelect(`SELECT * FROM demo GROUP BY ${c['sql']}`, parsing)
  } catch (error) {
    if (!(error instanceof IxionError)) throw error
    return messageOf(error).includes(c['error']) ? pass : fail(`${messageOf(error)}, expected ${c['error']}`)
  }
  return fail(`accepted, expected ${c['error']}`)
}
