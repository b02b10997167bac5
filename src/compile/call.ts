/** Calls: scalar, aggregate, analytic (where no operator has taken the call), multi-column, and those that read the row. */
import { messageOf, RowError } from '../core/errors.ts'
import { goText } from '../core/go-text.ts'
import type { Row } from '../core/row.ts'
import type { Value, ValueObject } from '../core/values.ts'
import { getField } from '../core/values.ts'
import { applyScalar, DomainError } from '../functions/call.ts'
import type {
  AggregateFunction,
  AnalyticFunction,
  CallContext,
  MultiColumnFunction,
  ScalarFunction,
  SetReturningFunction,
} from '../functions/contract.ts'
import type { Evaluate, EvaluationScope } from '../operators/contract.ts'
import { groupKey } from '../operators/group.ts'
import { everyRow } from '../operators/window/aggregation.ts'
import { some } from '../plan/tree.ts'
import type { CallExpression, Expression } from '../sql/ast.ts'
import { compileExpression, type ExpressionContext, wildcardObject } from './expression.ts'
import { countHit } from './hits.ts'

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

/** The call's own context: the rule's, with row and window set before each run. */
function ownContext(c: ExpressionContext): Mutable<CallContext> {
  return Object.assign(Object.create(c.call) as Mutable<CallContext>, { row: null, window: null })
}

export function compileCall(e: CallExpression, c: ExpressionContext): Evaluate {
  const contextual = contextCalls[e.name]
  if (contextual) return contextual(e, c)
  const definition = c.functions(e.name)
  if (!definition) throw new RowError(`function ${e.name} not found`)
  switch (definition.kind) {
    case 'scalar':
      return compileScalar(definition, e, c)
    case 'aggregate':
      return compileAggregate(definition, e, c)
    case 'analytic':
      return compileAnalytic(definition, e, c)
    case 'multiColumn':
      return compileMultiColumn(definition, e, c)
    case 'setReturning':
      return compileSetReturning(definition, e, c)
    default:
      throw new RowError(`function ${e.name} cannot be used here`)
  }
}

/** Arguments into one reused array: definitions never keep it. */
function argumentsOf(args: readonly Expression[], c: ExpressionContext): (row: Row, scope: EvaluationScope) => Value[] {
  const evaluators = args.map((a) => compileExpression(a, c))
  const count = evaluators.length
  return (row, scope) => {
    const values = new Array<Value>(count)
    for (let i = 0; i < count; i++) values[i] = (evaluators[i] as Evaluate)(row, scope)
    return values
  }
}

function compileScalar(definition: ScalarFunction, e: CallExpression, c: ExpressionContext): Evaluate {
  const values = argumentsOf(e.args, c)
  const call = ownContext(c)
  return (row, scope) => {
    try {
      const args = values(row, scope)
      call.row = row
      call.window = scope.window
      return applyScalar(definition, args, call)
    } catch (error) {
      // In an aggregate query a failing scalar function yields null (spec/sql.md 2.10, functions.md rule 3).
      if (scope.group !== null && error instanceof RowError && !(error instanceof DomainError)) return null
      throw error
    }
  }
}

/** Argument of an aggregate. `count(*)` counts rows: what is in them is not asked for. */
export function aggregateArgument(name: string, a: Expression, c: ExpressionContext): Evaluate {
  if (a.kind === 'wildcard' && name === 'count') return everyRow
  return compileExpression(a, c)
}

/** An aggregate outside a window sees the one row it is evaluated on (5.1). */
function compileAggregate(definition: AggregateFunction, e: CallExpression, c: ExpressionContext): Evaluate {
  const columns = e.args.map((a) => aggregateArgument(e.name, a, c))
  const call = ownContext(c)
  const inner: { window: EvaluationScope['window']; group: null } = { window: null, group: null }
  return (row, scope) => {
    const rows = scope.group ?? [row]
    inner.window = scope.window
    const values = columns.map((column) => rows.map((r) => column(r, inner)))
    call.row = row
    call.window = scope.window
    try {
      return definition.run(values, call)
    } catch (error) {
      throw new RowError(`call func ${e.name} error: ${messageOf(error)}`)
    }
  }
}

/** One state per partition, kept at the call site and saved with the rule under the call's number. */
class PartitionStates<S> {
  readonly states = new Map<string, S>()
  readonly #definition: { create: () => S; save: (state: S) => Value; load: (state: Value) => S }
  readonly #most: number

  constructor(
    definition: { create: () => S; save: (state: S) => Value; load: (state: Value) => S },
    most = Number.POSITIVE_INFINITY,
  ) {
    this.#definition = definition
    this.#most = most
  }

  get(key: string): S {
    let state = this.states.get(key)
    if (state === undefined) {
      if (this.states.size >= this.#most) {
        throw new RowError(`more than ${this.#most} partitions, the limit of the rule (partitionLimit)`, 'LIMIT')
      }
      state = this.#definition.create()
      this.states.set(key, state)
    }
    return state
  }

  save(): Value {
    return [...this.states].map(([key, state]) => [key, this.#definition.save(state)])
  }

  load(saved: Value): void {
    this.states.clear()
    for (const entry of saved as Value[]) {
      const [key, state] = entry as [string, Value]
      this.states.set(key, this.#definition.load(state))
    }
  }
}

/** OVER(PARTITION BY ... WHEN ...): the partition's key and whether WHEN holds (null, errors and non-bools count as true, 5.6). */
function compileOver(e: CallExpression, c: ExpressionContext) {
  const partitions = e.partition.map((p) => compileExpression(p, c))
  const when = e.when && compileExpression(e.when, c)
  const onHit = e.when && usesHits(e.when) ? countHit(c) : null
  return {
    key: (row: Row, scope: EvaluationScope): string =>
      partitions.length === 0 ? 'self' : groupKey(partitions.map((p) => p(row, scope))),
    when: (row: Row, scope: EvaluationScope): boolean => {
      if (!when) return true
      try {
        const holds = when(row, scope) !== false
        if (holds) onHit?.(row)
        return holds
      } catch {
        return true
      }
    },
  }
}

function compileAnalytic(definition: AnalyticFunction, e: CallExpression, c: ExpressionContext): Evaluate {
  const values = argumentsOf(e.args, c)
  const over = compileOver(e, c)
  const call = ownContext(c)
  const states = new PartitionStates(definition, c.maxPartitions)
  c.states.set(`${e.name}_${e.id}`, states)
  return (row, scope) => {
    const args = values(row, scope)
    call.row = row
    try {
      return definition.step(states.get(over.key(row, scope)), args, over.when(row, scope), call)
    } catch (error) {
      throw new RowError(`call func ${e.name} error: ${messageOf(error)}`)
    }
  }
}

function compileMultiColumn(definition: MultiColumnFunction, e: CallExpression, c: ExpressionContext): Evaluate {
  const over = compileOver(e, c)
  const call = ownContext(c)
  const states = new PartitionStates(definition, c.maxPartitions)
  c.states.set(`${e.name}_${e.id}`, states)
  const fixed = argumentsOf(e.args.slice(0, 2), c)
  const rest = e.args.slice(2).map((a) => ({
    name: a.kind === 'column' || a.kind === 'alias' ? a.name : a.kind === 'member' ? a.key : goText(null),
    wildcard: a.kind === 'wildcard' ? a : null,
    value: a.kind === 'wildcard' ? null : compileExpression(a, c),
  }))
  return (row, scope) => {
    const args = fixed(row, scope)
    const names: string[] = []
    for (const column of rest) {
      if (column.wildcard) {
        const object = wildcardObject(row, column.wildcard)
        for (const name of Object.keys(object)) {
          names.push(name)
          args.push(object[name] as Value)
        }
      } else {
        names.push(column.name)
        args.push((column.value as Evaluate)(row, scope))
      }
    }
    call.row = row
    try {
      return definition.step(states.get(over.key(row, scope)), args, names, over.when(row, scope), call)
    } catch (error) {
      throw new RowError(`call func ${e.name} error: ${messageOf(error)}`)
    }
  }
}

/** The elements as one array; the projectSet operator expands it. */
function compileSetReturning(definition: SetReturningFunction, e: CallExpression, c: ExpressionContext): Evaluate {
  const values = argumentsOf(e.args, c)
  const call = ownContext(c)
  return (row, scope) => {
    const args = values(row, scope)
    call.row = row
    try {
      return definition.run(args, call)
    } catch (error) {
      throw new RowError(`call func ${e.name} error: ${messageOf(error)}`)
    }
  }
}

/** True when a condition reads the counters that its own success updates. */
export function usesHits(e: Expression, names: ReadonlySet<string> = hitNames): boolean {
  return some(e, (x) => x.kind === 'call' && names.has(x.name))
}

const hitNames: ReadonlySet<string> = new Set(['last_hit_count', 'last_hit_time'])
export const aggregateHitNames: ReadonlySet<string> = new Set(['last_agg_hit_count', 'last_agg_hit_time'])

/** Calls whose value comes from the row, its window or the rule rather than from arguments. */
const contextCalls: Record<string, ((e: CallExpression, c: ExpressionContext) => Evaluate) | undefined> = {
  window_start: () => (_row, scope) => (scope.window ? BigInt(scope.window.start) : null),
  window_end: () => (_row, scope) => (scope.window ? BigInt(scope.window.end) : null),
  window_trigger: () => (_row, scope) => (scope.window ? BigInt(scope.window.trigger) : null),
  event_time: () => (row, scope) => {
    if (scope.group !== null || row.parts !== null) return scope.window ? BigInt(scope.window.trigger) : null
    return BigInt(row.timestamp)
  },
  mqtt: (e) => {
    const [argument] = e.args
    const key = argument?.kind === 'column' ? argument.name : argument?.kind === 'meta' ? argument.key : ''
    const stream = argument?.kind === 'column' || argument?.kind === 'meta' ? argument.stream : null
    return (row) => {
      for (const part of row.parts ?? [row]) {
        if (stream !== null && row.parts !== null && part.emitter !== stream) continue
        const value = part.meta && getField(part.meta as ValueObject, key)
        if (value !== null && value !== undefined) return value
      }
      return null
    }
  },
  meta: (e, c) => {
    const [argument] = e.args
    if (argument?.kind === 'wildcard') {
      return (row) => (row.parts?.find((p) => argument.stream === null || p.emitter === argument.stream) ?? row).meta
    }
    return compileExpression(argument as Expression, c)
  },
  last_hit_count: (_e, c) => {
    c.hitsUsed?.()
    return () => c.hits.count
  },
  last_hit_time: (_e, c) => {
    c.hitsUsed?.()
    return () => c.hits.time
  },
  last_agg_hit_count: (_e, c) => () => c.aggregateHits.count,
  last_agg_hit_time: (_e, c) => () => c.aggregateHits.time,
  row_number: () => (row) => row.computed?.get('$$row_number') ?? 1n,
}
