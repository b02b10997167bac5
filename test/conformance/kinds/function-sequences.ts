/** functions.jsonl: aggregates, set-returning functions, and steps on one instance of a stateful function. */
import { makeRow, type Row, rowsBatch } from '../../../src/core/row.ts'
import type { Value } from '../../../src/core/values.ts'
import { applyScalar } from '../../../src/functions/call.ts'
import type {
  AggregateFunction,
  AnalyticFunction,
  CallContext,
  FunctionDefinition,
  MultiColumnFunction,
  SetReturningFunction,
} from '../../../src/functions/contract.ts'
import { dedupTriggerOperator } from '../../../src/operators/dedup-trigger.ts'
import { type Case, fail, type Outcome, pass } from '../contract.ts'
import { fromTagged } from '../values.ts'
import { hitCounter } from './function-rows.ts'

type Judge = (expected: Case, compute: () => Value) => Outcome

interface Step {
  readonly args: unknown[]
  readonly when?: boolean
  readonly partition?: string
  readonly keys?: string[]
  readonly update?: boolean
  readonly eventTime?: number
  readonly [member: string]: unknown
}

/** `args[i]` is the list of values of argument i over the rows of the group. */
export function runAggregate(def: AggregateFunction, c: Case, call: CallContext, judge: Judge): Outcome {
  const [first, ...more] = (c['args'] as unknown[]).map(fromTagged)
  if (!Array.isArray(first)) return fail('an aggregate takes a list of values')
  const rows = first.length
  // A constant argument may be given once: it is the same on every row.
  const full = [first, ...more.map((list) => (Array.isArray(list) && list.length === rows ? list : fill(list, rows)))]
  const whole = judge(c, () => def.run(full, call))
  const { accumulator } = def
  if (!whole.ok || !accumulator) return whole
  // The same again one row at a time, through a saved state after each.
  return judge(c, () => {
    let state = accumulator.create()
    for (let row = 0; row < rows; row++) {
      accumulator.add(
        state,
        full.map((column) => column[row] ?? null),
      )
      state = accumulator.load(accumulator.save(state))
    }
    return accumulator.result(state)
  })
}

function fill(list: Value | undefined, rows: number): Value[] {
  const value = (Array.isArray(list) ? list[0] : list) ?? null
  return new Array<Value>(rows).fill(value)
}

export function runSetReturning(def: SetReturningFunction, c: Case, call: CallContext, judge: Judge): Outcome {
  return judge(c, () => def.run((c['args'] as unknown[]).map(fromTagged), call))
}

/** Steps of one call; each partition has its state. */
export function runSteps(def: FunctionDefinition, c: Case, call: CallContext, judge: Judge): Outcome {
  const step = stepper(def, call, Number((c['seq'] as Step[])[0]?.args?.[3] ?? 0))
  if (step === null) return fail(`not built: steps of ${def.kind} functions`)
  for (const [i, s] of (c['seq'] as Step[]).entries()) {
    const outcome = judge(s as unknown as Case, () => step(s))
    if (!outcome.ok) return fail(`step ${i + 1}: ${outcome.detail}`)
  }
  return pass
}

function stepper(def: FunctionDefinition, call: CallContext, expire: number): ((step: Step) => Value) | null {
  switch (def.kind) {
    case 'scalar':
      return ({ args }) => applyScalar(def, args.map(fromTagged), call)
    case 'analytic': {
      const states = partitions(def)
      return ({ args, when = true, partition = 'self' }) =>
        def.step(states(partition), args.map(fromTagged), when, call)
    }
    case 'multiColumn': {
      const states = partitions(def)
      return ({ args, when = true, partition = 'self', keys = [] }) =>
        def.step(states(partition), args.map(fromTagged), keys, when, call)
    }
    case 'state': {
      const counter = hitCounter(def.name, call)
      return ({ update = false, eventTime = 0 }) => counter(update, eventTime)
    }
    case 'trigger':
      return dedupSteps(expire)
    default:
      return null
  }
}

/** dedup_trigger lives in an operator: args are start, end, now and expire of one row; its end has always come. */
function dedupSteps(expire: number): (step: Step) => Value {
  const column = (name: string) => ({ name, evaluate: (row: Row) => row.message[name] })
  const operator = dedupTriggerOperator({
    name: 'result',
    start: column('start'),
    end: column('end'),
    now: column('now'),
    expire,
    maxWaiting: 100,
  })
  operator.open?.({ now: () => 0, wakeAt: () => {}, timezone: 'UTC', room: () => {} })
  return ({ args }) => {
    const [start = null, end = null, now = null] = args.map(fromTagged)
    let result: Value = null
    operator.push(rowsBatch([makeRow('', { start, end, now }, 0)]), {
      batch: (b) => {
        if (b.kind === 'rows') result = b.rows[0]?.computed?.get('result') ?? null
      },
      fail: (error) => {
        throw error
      },
      discard: () => {},
      consumed: () => {},
      watermark: () => {},
    })
    return result
  }
}

function partitions(def: AnalyticFunction | MultiColumnFunction): (key: string) => unknown {
  const states = new Map<string, unknown>()
  return (key) => {
    // Through its saved form, as a checkpoint would.
    const state = states.has(key) ? def.load(def.save(states.get(key))) : def.create()
    states.set(key, state)
    return state
  }
}
