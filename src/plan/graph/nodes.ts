/** Operators of a graph: properties checked, expressions parsed, plan nodes built (spec/rest-api.md 5.2 and 5.3). */
import { messageOf } from '../../core/errors.ts'
import type { OptionSpecs } from '../../core/options.ts'
import { validateOptions } from '../../core/validate.ts'
import type { ValueObject } from '../../core/values.ts'
import type { Expression, Position, SelectStatement, Window, WindowKind } from '../../sql/ast.ts'
import { type ParseOptions, parseExpression, parseSelect } from '../../sql/index.ts'
import { mapExpression, mapStatement } from '../../sql/walk.ts'
import { containsAggregate, setReturningCall } from '../check-statement.ts'
import { checkWindow } from '../check-window.ts'
import { type FunctionKinds, functionKinds, type PlanEnvironment } from '../environment.ts'
import { planError } from '../errors.ts'
import { planJoins, planLookups } from '../joins.ts'
import type { PlanNode } from '../logical.ts'
import type { ResolvedStatement } from '../resolve-names.ts'
import type { PlannedSource, SourceSet } from '../sources.ts'
import type { GraphNode } from './document.ts'
import type { GraphSource } from './sources.ts'

/** What a graph node's output is, beyond the plan node. */
export interface Flow {
  readonly node: PlanNode
  /** `groups`: a collection whose groups are still together. */
  readonly kind: 'rows' | 'collection' | 'groups'
  /** Rows of several emitters joined, not yet picked from. */
  readonly merged: boolean
  /** Streams behind it. */
  readonly emitters: readonly string[]
  /** A watermark stands between the sources and it. */
  readonly watermarked: boolean
}

export interface NodeContext {
  readonly env: PlanEnvironment
  readonly sources: readonly GraphSource[]
  /** True when a window stands somewhere behind the node. */
  readonly leadsToWindow: (node: string) => boolean
  readonly parse: Parser
}

/** Parses the texts of one graph: names of its sources qualify columns, calls are numbered through. */
export interface Parser {
  readonly kinds: FunctionKinds
  readonly expression: (text: string) => Expression
  readonly select: (text: string) => SelectStatement
}

export function graphParser(env: PlanEnvironment, sources: readonly string[]): Parser {
  const options: ParseOptions = { functions: env.functions, sources }
  let calls = 0
  const number = (e: Expression, from: number): Expression =>
    mapExpression(e, (x) => {
      if (x.kind !== 'call') return x
      calls = Math.max(calls, from + x.id + 1)
      return { ...x, id: from + x.id }
    })
  return {
    kinds: functionKinds(env.functions),
    expression: (text) => number(parseExpression(text, options), calls),
    select(text) {
      const from = calls
      return mapStatement(parseSelect(text, options), (e) => number(e, from))
    },
  }
}

/** Makes the plan node once the inputs are known; at least one input, several only where the node takes several. */
export type Build = (inputs: readonly Flow[]) => Flow

interface Operator {
  /** How the reference calls it in messages, where not by its type. */
  readonly title?: string
  readonly read: (props: ValueObject, context: NodeContext, node: GraphNode) => Build
}

export const graphOperators: Readonly<Record<string, Operator>> = {
  watermark: { read: readWatermark },
  function: { read: (props, context) => readFunction(props, context, false) },
  aggfunc: { read: (props, context) => readFunction(props, context, true) },
  filter: { read: readFilter },
  pick: { read: readPick },
  window: { title: 'window conf', read: readWindow },
  join: { read: readJoin },
  groupby: { read: readGroupBy },
  orderby: { read: readOrderBy },
  switch: { read: readSwitch },
  script: { read: readScript },
}

const start: Position = { line: 1, column: 1 }

const one = (inputs: readonly Flow[]): Flow => inputs[0] as Flow

/** Several inputs flow together. */
function joined(inputs: readonly Flow[]): Flow {
  if (inputs.length === 1) return one(inputs)
  return {
    node: { kind: 'union', inputs: inputs.map((f) => f.node) },
    kind: one(inputs).kind,
    merged: false,
    emitters: [...new Set(inputs.flatMap((f) => f.emitters))],
    watermarked: inputs.every((f) => f.watermarked),
  }
}

function properties(specs: OptionSpecs, props: ValueObject): ValueObject {
  return validateOptions(specs, props, '', { unknown: 'drop' })
}

function expressionText(props: ValueObject): string {
  const expr = props['expr']
  if (expr === undefined) throw planError('no expr')
  if (typeof expr !== 'string') throw planError(`expr ${expr === null ? '<nil>' : String(expr)} is not string`)
  if (expr.trim() === '') throw planError(`expr ${expr} is not a condition`)
  return expr
}

function readWatermark(props: ValueObject, context: NodeContext, graphNode: GraphNode): Build {
  const { emitters, sendWatermark } = properties(
    {
      emitters: { type: 'list', element: 'string', default: [], docs: 'Streams whose rows are put in order.' },
      sendWatermark: { type: 'bool', default: false, docs: 'Hands watermarks on.' },
    },
    props,
  ) as { emitters: string[]; sendWatermark: boolean }
  if (emitters.length === 0) throw planError('watermark must have at least one emitter')
  for (const emitter of emitters) {
    if (!context.sources.some((s) => s.role === 'stream' && s.emitter === emitter)) {
      throw planError(`emitter ${emitter} does not exist`)
    }
  }
  // A window behind it never fires without watermarks, whatever the property says.
  const send = sendWatermark || context.leadsToWindow(graphNode.name)
  return (inputs) => ({
    ...joined(inputs),
    watermarked: true,
    node: { kind: 'watermark', inputs: inputs.map((f) => f.node), emitters, sendWatermark: send },
  })
}

function readFunction(props: ValueObject, { parse }: NodeContext, aggregated: boolean): Build {
  const text = expressionText(props)
  const [field] = parse.select(`select ${text} from nonexist`).fields
  if (field?.expression.kind !== 'call') throw planError(`expr ${text} is not a function call`)
  const call = field.expression
  const name = field.alias ?? field.name
  const aggregates = aggregated || parse.kinds.isAggregate(call.name)
  return ([input]) => {
    const flow = input as Flow
    const aggregate = aggregates && flow.kind !== 'rows'
    return {
      ...flow,
      kind: aggregate ? 'groups' : flow.kind,
      node: { kind: 'assign', input: flow.node, name, call, aggregate },
    }
  }
}

function readFilter(props: ValueObject, { parse }: NodeContext): Build {
  const condition = parse.expression(expressionText(props))
  return ([input]) => {
    const flow = input as Flow
    return { ...flow, node: { kind: flow.kind === 'groups' ? 'having' : 'filter', input: flow.node, condition } }
  }
}

function readPick(props: ValueObject, { parse, env }: NodeContext): Build {
  const { fields, isAgg } = properties(
    {
      fields: { type: 'list', element: 'string', default: [], docs: 'The select list.' },
      isAgg: { type: 'bool', default: false, docs: 'One row per group.' },
    },
    props,
  ) as { fields: string[]; isAgg: boolean }
  const statement = parse.select(`select ${fields.join(',')} from nonexist`)
  const returning = statement.fields.find((f) => setReturningCall(f, parse.kinds) !== null)
  const call = returning && setReturningCall(returning, parse.kinds)
  const aggregates = isAgg || statement.fields.some((f) => containsAggregate(f.expression, parse.kinds))
  return ([input]) => {
    const flow = input as Flow
    let node: PlanNode = {
      kind: 'project',
      input: flow.node,
      fields: statement.fields,
      aggregate: aggregates && flow.kind !== 'rows',
      limit: null,
      sendMeta: false,
      sendNil: env.options?.sendNilField ?? false,
    }
    if (call) node = { kind: 'projectSet', input: node, call, name: returning.alias ?? returning.name, limit: null }
    return { ...flow, node, merged: false, kind: flow.kind === 'groups' ? 'collection' : flow.kind }
  }
}

const windowKinds: Readonly<Record<string, WindowKind>> = {
  tumblingwindow: 'tumbling',
  hoppingwindow: 'hopping',
  sessionwindow: 'session',
  slidingwindow: 'sliding',
  countwindow: 'count',
}
const units = new Set(['dd', 'hh', 'mi', 'ss', 'ms'])

function readWindow(props: ValueObject, { env }: NodeContext): Build {
  const p = properties(
    {
      type: { type: 'string', default: '', docs: 'Kind of window.' },
      unit: { type: 'string', default: '', docs: 'Unit of size and interval: dd, hh, mi, ss or ms.' },
      size: { type: 'int', default: 0, docs: 'Length, in units or rows.' },
      interval: { type: 'int', default: 0, docs: 'Hop, session gap or count step.' },
    },
    props,
  ) as { type: string; unit: string; size: number; interval: number }
  if (p.size <= 0) throw planError(`window size ${p.size} is invalid`)
  const kind = Object.hasOwn(windowKinds, p.type.toLowerCase()) ? windowKinds[p.type.toLowerCase()] : undefined
  if (!kind) throw planError(`unknown window type ${p.type}`)
  checkInterval(kind, p.size, p.interval)
  const unit = p.unit.toLowerCase()
  if (kind !== 'count' && !units.has(unit)) throw planError(`Invalid unit ${p.unit}`)
  const window: Window = {
    kind,
    unit: kind === 'count' ? null : (unit as Window['unit']),
    length: p.size,
    interval: kind === 'tumbling' || kind === 'sliding' ? 0 : p.interval,
    delay: 0,
    begin: null,
    emit: null,
    filter: null,
    when: null,
    partition: [],
    at: start,
  }
  const eventTime = env.options?.isEventTime ?? false
  checkWindow({ window, eventTime, incremental: null }, env.options ?? {})
  return (inputs) => {
    const flow = joined(inputs)
    let sources = inputs.map((f) => f.node)
    // Rows need to come in order of event time, with watermarks.
    if (eventTime && !flow.watermarked) {
      sources = [{ kind: 'watermark', inputs: sources, emitters: flow.emitters, sendWatermark: true }]
    }
    return {
      ...flow,
      kind: 'collection',
      node: { kind: 'window', inputs: sources, window, filter: null, eventTime, incremental: null },
    }
  }
}

function checkInterval(kind: WindowKind, size: number, interval: number): void {
  switch (kind) {
    case 'tumbling':
    case 'sliding':
      if (interval !== 0 && interval !== size) throw planError('tumbling window interval must equal to size')
      return
    case 'hopping':
      if (interval <= 0) throw planError('hopping window interval must be greater than 0')
      if (interval > size) throw planError('hopping window interval must be less than size')
      return
    case 'session':
      if (interval <= 0) throw planError('hopping window interval must be greater than 0')
      return
    default:
      if (interval < 0) throw planError('count window interval must be greater or equal to 0')
      if (interval > size) throw planError('count window interval must be less than size')
  }
}

interface JoinProperties {
  readonly from: string
  readonly joins: readonly ValueObject[]
}

function readJoin(props: ValueObject, context: NodeContext): Build {
  const { from, joins } = properties(
    {
      from: { type: 'string', default: '', docs: 'Name of the stream on the left.' },
      joins: { type: 'list', element: 'map', default: [], docs: 'Name, type and condition of each join.' },
    },
    props,
  ) as unknown as JoinProperties
  const { env, parse } = context
  const part = (join: ValueObject, name: string): string => (typeof join[name] === 'string' ? join[name] : '')
  const clauses = joins.map((j) => {
    const on = part(j, 'on')
    return ` ${part(j, 'type')} JOIN ${part(j, 'name')}${on === '' ? '' : ` ON ${on}`}`
  })
  const statement = parse.select(`SELECT * FROM ${from}${clauses.join('')}`)
  const roleOf = (name: string) => context.sources.find((s) => s.emitter === name)
  if (roleOf(statement.from.name)?.role !== 'stream') {
    throw planError(`join source ${statement.from.name} is not a stream`)
  }
  const lookups = statement.joins.filter((j) => roleOf(j.source.name)?.role === 'lookupTable')
  if (lookups.length > 1 || (lookups.length === 1 && statement.joins.at(-1) !== lookups[0])) {
    throw planError('only support to join one lookup table with one stream')
  }
  const scans = context.sources.filter((s) => s.role === 'scanTable')
  if (statement.joins.length > lookups.length && scans.length > 0) {
    throw planError(`do not support scan table [${scans.map((s) => s.emitter).join(' ')}] yet`)
  }
  const list = [statement.from, ...statement.joins.map((j) => j.source)].map((reference): PlannedSource => {
    const source = roleOf(reference.name)
    if (!source) throw planError(`join source ${reference.name} is not a stream`)
    const { definition, role } = source
    return {
      emitter: reference.name,
      definition,
      role,
      fields: env.schemaFields?.(definition) ?? definition.fields,
      reference,
    }
  })
  const set: SourceSet = { list, schemaless: true, byQualifier: (name) => list.find((s) => s.emitter === name) }
  const conditions = { joins: statement.joins.map((j) => j.on) } as unknown as ResolvedStatement
  return (inputs) => {
    const flow = joined(inputs)
    if (flow.kind === 'rows' && statement.joins.length > lookups.length) {
      throw planError('input type mismatch, expect collection, got row', null, 'Put a window in front of the join.')
    }
    let node = planLookups(planJoins(flow.node, statement, conditions, set), statement, conditions, set)
    if (node.kind === 'lookup' && node.rest) node = { kind: 'filter', input: node, condition: node.rest }
    return { ...flow, kind: 'collection', merged: true, node }
  }
}

function readGroupBy(props: ValueObject, { parse }: NodeContext): Build {
  const { dimensions } = properties(
    { dimensions: { type: 'list', element: 'string', default: [], docs: 'Expressions that make groups.' } },
    props,
  ) as { dimensions: string[] }
  if (dimensions.length === 0) throw planError('groupby must have at least one dimension')
  const statement = parse.select(`SELECT * FROM unknown Group By ${dimensions.join(',')}`)
  return ([input]) => {
    const flow = input as Flow
    return {
      ...flow,
      kind: 'groups',
      node: { kind: 'aggregate', input: flow.node, dimensions: statement.dimensions },
    }
  }
}

function readOrderBy(props: ValueObject, { parse }: NodeContext): Build {
  const { sorts } = properties(
    { sorts: { type: 'list', element: 'map', default: [], docs: 'Field and direction of each key.' } },
    props,
  ) as unknown as { sorts: readonly ValueObject[] }
  if (sorts.length === 0) throw planError('order by statement is empty')
  const keys = sorts.map((sort) => {
    const descending = sort['desc'] === true || String(sort['order'] ?? '').toLowerCase() === 'desc'
    return `${typeof sort['field'] === 'string' ? sort['field'] : ''}${descending ? ' DESC' : ''}`
  })
  let statement: SelectStatement
  try {
    statement = parse.select(`SELECT * FROM unknown ORDER BY ${keys.join(', ')}`)
  } catch (error) {
    throw planError(`invalid order by statement error: ${messageOf(error)}`)
  }
  return ([input]) => {
    const flow = input as Flow
    return { ...flow, node: { kind: 'order', input: flow.node, keys: statement.orderBy } }
  }
}

function readSwitch(props: ValueObject, { parse }: NodeContext, graphNode: GraphNode): Build {
  const { cases, stopAtFirstMatch } = properties(
    {
      cases: { type: 'list', element: 'string', default: [], docs: 'Condition of each output.' },
      stopAtFirstMatch: { type: 'bool', default: false, docs: 'Only the first case that holds counts.' },
    },
    props,
  ) as { cases: string[]; stopAtFirstMatch: boolean }
  if (cases.length === 0) throw planError('switch node must have at least one case')
  const conditions = cases.map((text, i) => {
    try {
      return parse.expression(text)
    } catch (error) {
      throw planError(`parse case ${i} error: ${messageOf(error)}`)
    }
  })
  return ([input]) => {
    const flow = input as Flow
    return {
      ...flow,
      node: { kind: 'switch', input: flow.node, name: graphNode.name, cases: conditions, stopAtFirstMatch },
    }
  }
}

function readScript(props: ValueObject): Build {
  if (typeof props['script'] !== 'string' || props['script'] === '') throw planError('script node must have script')
  throw planError('script nodes are not available in this build', null, 'Use function, filter and pick nodes.')
}
