/** Operators that keep rows: watermark, windows, joins, lookups, dedup_trigger. */
import { parseDuration } from '../core/duration.ts'
import { IxionError } from '../core/errors.ts'
import { isPlainKey } from '../core/values.ts'
import type { AggregateFunction } from '../functions/contract.ts'
import { nullIsFalse } from '../operators/condition.ts'
import type { Evaluate, Operator } from '../operators/contract.ts'
import { type Column, dedupTriggerOperator } from '../operators/dedup-trigger.ts'
import { filterOperator } from '../operators/filter.ts'
import { type JoinEquality, joinOperator } from '../operators/join.ts'
import { joinAlignOperator } from '../operators/join-align.ts'
import { lookupOperator } from '../operators/lookup.ts'
import { type WatermarkOptions, watermarkOperator } from '../operators/watermark.ts'
import { createIncrementalWindow, createWindow, type WindowSpec } from '../operators/window/index.ts'
import type {
  DedupTriggerNode,
  IncrementalAggregation,
  JoinNode,
  LookupNode,
  PlanNode,
  SourceNode,
  WatermarkNode,
  WindowNode,
} from '../plan/logical.ts'
import { walkPlan } from '../plan/nodes.ts'
import { sourcesOf } from '../plan/references.ts'
import { conjuncts, some } from '../plan/tree.ts'
import type { Expression } from '../sql/ast.ts'
import { aggregateArgument, usesHits } from './call.ts'
import type { ChainOptions } from './chain.ts'
import { compileExpression, compileOrMissing, type ExpressionContext } from './expression.ts'
import { countHit, countHitAt, withOwnHits } from './hits.ts'

export type StatefulNode = Extract<
  PlanNode,
  { kind: 'watermark' | 'window' | 'joinAlign' | 'join' | 'lookup' | 'dedupTrigger' }
>

const DEFAULT_LATE_TOLERANCE = 1000

export function compileStatefulNode(node: StatefulNode, options: ChainOptions): Operator[] {
  const c = options.expressions
  switch (node.kind) {
    case 'watermark':
      return [compileWatermark(node, options)]
    case 'window':
      return compileWindow(node, options)
    case 'joinAlign':
      return [
        joinAlignOperator(
          node.tables.map((table, i) => {
            const { definition } = table as SourceNode
            const key = options.stateful?.keyedTables ? definition.options.key : undefined
            return {
              emitter: node.emitters[i] as string,
              // Keyed tables keep every key unless RETAIN_SIZE says how many.
              size: key && !definition.options.retainSize ? options.limits.windowRows : (node.sizes[i] as number),
              key: key ? columnOf(key, c) : null,
            }
          }),
        ),
      ]
    case 'join':
      return [compileJoin(node, options)]
    case 'lookup':
      return [compileLookup(node, options)]
    case 'dedupTrigger':
      return [compileDedupTrigger(node, options)]
  }
}

function columnOf(name: string, c: ExpressionContext): Evaluate {
  return compileExpression({ kind: 'column', stream: null, name, at: { line: 0, column: 0 } }, c)
}

function compileWatermark(node: WatermarkNode, options: ChainOptions): Operator {
  const extensions = new Map<string, Readonly<Record<string, string | boolean>>>()
  for (const input of node.inputs) {
    walkPlan(input, (n) => {
      if (n.kind === 'source') extensions.set(n.emitter, n.definition.options.extensions ?? {})
    })
  }
  const { stateful } = options
  const watermark: WatermarkOptions = {
    lateTolerance: stateful?.lateTolerance ?? DEFAULT_LATE_TOLERANCE,
    sendWatermark: node.sendWatermark,
    coalesce: options.coalesceWatermarks ?? false,
    maxRows: options.limits.windowRows,
    limitPolicy: stateful?.limitPolicy ?? 'dropOldest',
    ...(stateful?.onLate && { onLate: stateful.onLate }),
    streams: node.emitters.map((emitter) => {
      const given = extensions.get(emitter) ?? {}
      const duration = (key: string): number | null => {
        const text = given[key]
        return typeof text === 'string' ? parseDuration(text) : null
      }
      return {
        emitter,
        latePolicy: (given['late_policy'] ?? 'drop') as 'drop' | 'side' | 'reopen',
        maxFutureSkew: duration('max_future_skew'),
        idleTimeout: duration('idle_timeout'),
      }
    }),
  }
  return options.watermark?.(watermark) ?? watermarkOperator(watermark)
}

/**
 * FILTER is an operator of its own in front. Names beyond the window's are those of operators an incremental window does the work
 * of (WHERE, GROUP BY): they stay as counters.
 */
function compileWindow(node: WindowNode, options: ChainOptions): Operator[] {
  const c = options.expressions
  const operators: Operator[] = []
  if (node.filter) {
    const own = withOwnHits(c, 'windowFilter')
    const onHit = usesHits(node.filter) ? countHit(own) : undefined
    operators.push(
      filterOperator(compileExpression(node.filter, own), { name: 'windowFilter', ...(onHit && { onHit }) }),
    )
  }
  const spec = windowSpec(node, options)
  operators.push(node.incremental ? incrementalWindow(node.incremental, spec, options) : createWindow(spec))
  for (const name of options.namesOf(node).slice(operators.length)) operators.push(passThrough(name))
  return operators
}

function incrementalWindow(incremental: IncrementalAggregation, spec: WindowSpec, options: ChainOptions): Operator {
  const aggregation = compileAggregation(incremental, options)
  return options.incrementalWindow?.({ spec, aggregation }) ?? createIncrementalWindow(spec, aggregation)
}

function passThrough(name: string): Operator {
  return { name, push: (batch, out) => out.batch(batch) }
}

function windowSpec(node: WindowNode, options: ChainOptions): WindowSpec {
  const c = options.expressions
  const { window } = node
  const { stateful, limits } = options
  const compile = (e: Expression | null): Evaluate | null => e && compileExpression(e, c)
  return {
    kind: window.kind,
    unit: window.unit ?? 'ms',
    length: window.length,
    interval: window.interval,
    delay: window.delay,
    eventTime: node.eventTime,
    when: compile(window.when),
    onHit: window.when && usesHits(window.when) ? countHitAt(c) : null,
    begin: compile(window.begin),
    emit: compile(window.emit),
    partition: window.partition.map((p) => compileExpression(p, c)),
    halfOpen: stateful?.halfOpenSliding ?? false,
    sendTwice: stateful?.sendSlidingTwice ?? false,
    limits: {
      rows: limits.windowRows,
      bytes: limits.windowBytes,
      partitions: limits.partitions,
      policy: stateful?.limitPolicy ?? 'dropOldest',
    },
  }
}

function compileAggregation(aggregation: IncrementalAggregation, options: ChainOptions) {
  const c = options.expressions
  return {
    dimensions: aggregation.dimensions.map((d) => compileExpression(d, c)),
    calls: aggregation.calls.map(({ name, call }) => {
      const { accumulator } = c.functions(call.name) as AggregateFunction
      if (!accumulator) throw new IxionError('INTERNAL', `${call.name} has no incremental form`)
      return {
        name,
        functionName: call.name,
        accumulator,
        args: call.args.map((a) => aggregateArgument(call.name, a, c)),
      }
    }),
    where: aggregation.where && nullIsFalse('Where', compileExpression(aggregation.where, c)),
    maxGroups: options.limits.groups,
  }
}

function compileJoin(node: JoinNode, options: ChainOptions): Operator {
  const c = options.expressions
  const known: string[] = []
  return joinOperator({
    maxRows: options.limits.windowRows,
    joins: node.joins.map((join, i) => {
      if (i === 0) known.push(join.left)
      const equality = equalityOf(join.on, known, join.right, c)
      known.push(join.right)
      return { ...join, on: join.on && compileExpression(join.on, c), equality }
    }),
  })
}

/**
 * The first equality of ON whose sides read one side of the join each, when what stands before it cannot be noticed to be skipped:
 * conditions without calls that read one side only.
 */
function equalityOf(
  on: Expression | null,
  left: readonly string[],
  right: string,
  c: ExpressionContext,
): JoinEquality | null {
  const sideOf = (e: Expression): 'left' | 'right' | null => {
    if (some(e, (x) => x.kind === 'call' || x.kind === 'wildcard')) return null
    const { emitters, unbound } = sourcesOf(e)
    if (unbound || emitters.length === 0) return null
    if (emitters.every((name) => left.includes(name))) return 'left'
    return emitters.length === 1 && emitters[0] === right ? 'right' : null
  }
  const before: JoinEquality['before'][number][] = []
  const parts = conjuncts(on)
  for (const part of parts) {
    if (part.kind === 'binary' && part.operator === '=') {
      const [a, b] = [sideOf(part.left), sideOf(part.right)]
      if (a && b && a !== b) {
        const [l, r] = a === 'left' ? [part.left, part.right] : [part.right, part.left]
        return { left: compileExpression(l, c), right: compileExpression(r, c), before, alone: parts.length === 1 }
      }
    }
    const side = sideOf(part)
    if (!side) return null
    before.push({ side, condition: compileExpression(part, c) })
  }
  return null
}

function compileLookup(node: LookupNode, options: ChainOptions): Operator {
  const access = options.stateful?.lookup?.(node)
  if (!access) throw new IxionError('NOT_SUPPORTED', `no lookup table ${node.definition.name} to join with`)
  return lookupOperator({
    name: node.emitter,
    emitter: node.emitter,
    join: node.join,
    keys: node.keys.map((k) => ({ column: k.column, value: compileExpression(k.value, options.expressions) })),
    columns: node.columns,
    ...access,
  })
}

function compileDedupTrigger(node: DedupTriggerNode, options: ChainOptions): Operator {
  const c = options.expressions
  const [start, end, now, expire] = node.call.args
  const column = (e: Expression | undefined): Column => {
    if (e?.kind !== 'column' || !isPlainKey(e.name)) {
      throw new IxionError('SQL_PLAN', 'dedup_trigger takes plain columns')
    }
    return { name: e.name, evaluate: compileOrMissing(e, c) }
  }
  return dedupTriggerOperator({
    name: node.name,
    start: column(start),
    end: column(end),
    now: column(now),
    expire: expire?.kind === 'integer' ? Number(expire.value) : 0,
    maxWaiting: options.limits.windowRows,
  })
}
