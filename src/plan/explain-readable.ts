/**
 * A plan for people: one operator a line, the last operator first, inputs indented below. Windows show real lengths,
 * sources the columns they decode, filters where they run; warnings follow.
 *
 *   project count(*) AS n, a, one row per group
 *     group by a
 *       window tumbling 10s, processing time
 *         filter a > 1  (moved below the window)
 *           source d (mqtt): a, b.c
 */
import type { Expression, TimeUnit, Window } from '../sql/ast.ts'
import { printExpression } from '../sql/printer.ts'
import type { LogicalPlan, PlanNode, ProjectNode, PrunedColumn, SourceNode, WindowNode } from './logical.ts'
import { inputsOf } from './nodes.ts'

export function explainReadable(plan: LogicalPlan): string {
  const lines: string[] = []
  const print = (node: PlanNode, depth: number, above: readonly PlanNode[]): void => {
    lines.push(`${'  '.repeat(depth)}${describe(node)}${note(node, above)}`)
    for (const input of inputsOf(node)) print(input, depth + 1, [...above, node])
  }
  print(plan.root, 0, [])
  for (const { message, line, column, hint } of plan.warnings) {
    const place = line === undefined ? '' : ` (line ${line}, column ${column})`
    lines.push(`warning${place}: ${message}${hint === undefined ? '' : `. ${hint}`}`)
  }
  return lines.join('\n')
}

/** Where a filter ended up. */
function note(node: PlanNode, above: readonly PlanNode[]): string {
  if (node.kind !== 'filter') return ''
  const passed = [...new Set(above.map((n) => n.kind))].filter((kind) => ['window', 'join', 'lookup'].includes(kind))
  return passed.length === 0 ? '' : `  (moved below the ${passed.join(' and the ')})`
}

function describe(node: PlanNode): string {
  switch (node.kind) {
    case 'source':
      return describeSource(node)
    case 'union':
      return 'union'
    case 'watermark':
      return `watermark over ${node.emitters.join(', ')}${node.sendWatermark ? '' : ', orders rows only'}`
    case 'analytic':
      return `analytic ${node.calls.map((c) => text(c.call)).join(', ')}`
    case 'window':
      return describeWindow(node)
    case 'joinAlign':
      return `add table rows ${node.emitters.map((e, i) => `${e} (last ${node.sizes[i]})`).join(', ')}`
    case 'join':
      return node.joins
        .map((j, i) => {
          const left = i === 0 ? j.left : '(joined so far)'
          return `${j.kind} join ${left}, ${j.right}${j.on ? ` on ${text(j.on)}` : ''}`
        })
        .join('; ')
    case 'lookup': {
      const keys = node.keys.map((k) => `${k.column} = ${text(k.value)}`).join(' AND ')
      return `${node.join} lookup ${node.emitter} by ${keys}, columns: ${node.columns?.join(', ') ?? 'all'}`
    }
    case 'aggFunc':
      return `aggregate over the whole window ${node.calls.map((c) => text(c.call)).join(', ')}`
    case 'filter':
      return `filter ${text(node.condition)}`
    case 'aggregate':
      return `group by ${list(node.dimensions)}`
    case 'having':
      return `having ${text(node.condition)}`
    case 'windowFunction':
      return `number rows ${node.calls.map((c) => text(c.call)).join(', ')}`
    case 'order':
      return `order by ${node.keys.map((k) => `${text(k.expression)}${k.ascending ? '' : ' DESC'}`).join(', ')}`
    case 'dedupTrigger':
      return `dedup trigger ${text(node.call)} as ${node.name}`
    case 'project':
      return describeProject(node)
    case 'projectSet':
      return `one row per element of ${node.name}${limit(node.limit)}`
    case 'assign':
      return `${node.name} = ${text(node.call)}${node.aggregate ? ' of each group' : ''}`
    case 'switch':
      return `switch ${list(node.cases)}${node.stopAtFirstMatch ? ', first match only' : ''}`
    case 'switchOutput':
      return `output ${node.output}`
    default:
      return unknown(node)
  }
}

const text = printExpression
const list = (expressions: readonly Expression[]): string => expressions.map(text).join(', ')
const limit = (count: number | null): string => (count === null ? '' : `, limit ${count}`)

function describeProject(node: ProjectNode): string {
  const fields = node.fields.map((f) => {
    const alias = f.alias === null ? '' : ` AS ${f.alias}`
    return `${text(f.expression)}${alias}${f.invisible ? ' (invisible)' : ''}`
  })
  return `project ${fields.join(', ')}${node.aggregate ? ', one row per group' : ''}${limit(node.limit)}`
}

function describeSource(node: SourceNode): string {
  const { definition, emitter, columns, meta, renames } = node
  const name = emitter === definition.name ? emitter : `${definition.name} as ${emitter}`
  const type = definition.options.type || (definition.streamType === 'table' ? 'file' : 'mqtt')
  const read = columns?.map((c) => describeColumn(c, renames ?? [])) ?? ['all columns']
  const shown = read.length === 0 ? 'no columns' : read.join(', ')
  const metadata = meta === null ? ', all metadata' : meta.length > 0 ? `, metadata ${meta.join(', ')}` : ''
  const time = node.eventTime ? `, event time ${definition.options.timestamp}` : ''
  const shared = definition.options.shared ? ', shared' : ''
  return `source ${name} (${type}${shared}): ${shown}${metadata}${time}`
}

function describeColumn(column: PrunedColumn, renames: NonNullable<SourceNode['renames']>): string {
  const as = renames.find((r) => r.column === column.name)
  const renamed = as ? ` as ${as.as}` : ''
  if (column.unread) return `${column.name} (checked only)`
  if (column.paths === null) return `${column.name}${renamed}`
  return column.paths.map((path) => [column.name, ...path].join('->')).join(', ')
}

function describeWindow(node: WindowNode): string {
  const parts = [`window ${shape(node.window)}`, node.eventTime ? 'event time' : 'processing time']
  if (node.window.when) parts.push(`when ${text(node.window.when)}`)
  if (node.window.partition.length > 0) parts.push(`per ${list(node.window.partition)}`)
  if (node.filter) parts.push(`only rows with ${text(node.filter)}`)
  if (node.incremental) {
    const { calls, dimensions, where } = node.incremental
    parts.push(
      `keeps ${calls.map((c) => text(c.call)).join(', ')}${dimensions.length ? ` per ${list(dimensions)}` : ''}`,
    )
    if (where) parts.push(`of rows with ${text(where)}`)
  }
  return parts.join(', ')
}

const unitMs: Record<TimeUnit, number> = { dd: 86_400_000, hh: 3_600_000, mi: 60_000, ss: 1000, ms: 1 }
const steps: readonly (readonly [number, string])[] = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'm'],
  [1000, 's'],
  [1, 'ms'],
]

/** `90s` as `1m30s`. */
function span(count: number, unit: TimeUnit | null): string {
  let rest = count * unitMs[unit ?? 'ms']
  if (rest === 0) return '0ms'
  let result = ''
  for (const [size, name] of steps) {
    const whole = Math.floor(rest / size)
    if (whole > 0) result += `${whole}${name}`
    rest -= whole * size
  }
  return result
}

function shape(w: Window): string {
  const length = span(w.length, w.unit)
  switch (w.kind) {
    case 'tumbling':
      return `tumbling ${length}`
    case 'hopping':
      return `hopping ${length} every ${span(w.interval, w.unit)}`
    case 'sliding':
      return `sliding ${length}${w.delay > 0 ? ` and ${span(w.delay, w.unit)} after` : ''}`
    case 'session':
      return `session at most ${length}, ends after ${span(w.interval, w.unit)} of silence`
    case 'count':
      return `of ${w.length} rows${w.interval > 0 && w.interval !== w.length ? ` every ${w.interval} rows` : ''}`
    case 'state': {
      const begin = w.begin ? text(w.begin) : ''
      return w.emit ? `from ${begin} to ${text(w.emit)}` : `from one ${begin} to the next`
    }
  }
}

function unknown(node: never): never {
  throw new Error(`unknown plan node ${(node as PlanNode).kind}`)
}
