/** EXPLAIN as the reference prints it (spec/sql.md 6.3), byte for byte. */

import type { CallExpression, JoinKind } from '../sql/ast.ts'
import { explainSortKey, windowTypeNames } from '../sql/explain.ts'
import { expressionText, fieldText, writtenForm } from './expression-text.ts'
import type { LogicalPlan, PlanNode, ProjectNode, SourceNode, WindowNode } from './logical.ts'
import { inputsOf, walkPlan } from './nodes.ts'

const names: Record<PlanNode['kind'], string> = {
  source: 'DataSourcePlan',
  union: '',
  watermark: 'WatermarkPlan',
  analytic: 'AnalyticFuncsPlan',
  window: 'WindowPlan',
  joinAlign: 'JoinAlignPlan',
  join: 'JoinPlan',
  lookup: 'LookupPlan',
  aggFunc: 'AggFunc',
  filter: 'FilterPlan',
  aggregate: 'AggregatePlan',
  having: 'HavingPlan',
  windowFunction: 'WindowFuncPlan',
  order: 'OrderPlan',
  dedupTrigger: 'DedupTriggerPlan',
  project: 'ProjectPlan',
  projectSet: 'ProjectSetPlan',
  assign: 'FuncPlan',
  switch: 'SwitchPlan',
  switchOutput: 'SwitchOutputPlan',
}

export function explain(plan: LogicalPlan): string {
  const renamed = new Set<string>()
  walkPlan(plan.root, (node) => {
    if (node.kind === 'source') for (const r of node.renames ?? []) renamed.add(`${node.emitter}.${r.as}`)
  })
  const line = (operator: Operator, id: number): string =>
    JSON.stringify({ op: `${operator.name}_${id}`, info: operator.info })
  const print = (operator: Operator, id: number, level: number): string => {
    const tabs = '\t'.repeat(level)
    let text = `${tabs}${line(operator, id)}`
    operator.inputs.forEach((input, i) => {
      text += `${i === 0 ? '\n' : ''}${tabs}${print(input, id + 1 + i, level + 1)}\n`
    })
    return text
  }
  return print(operatorOf(plan.root, renamed), 0, 0).replace(/^\n+|\n+$/g, '')
}

/** One line of EXPLAIN with those below it. A plan node may show as two lines or none. */
interface Operator {
  readonly name: string
  readonly info: string
  readonly inputs: readonly Operator[]
}

function operatorOf(node: PlanNode, renamed: ReadonlySet<string>): Operator {
  const inputs = inputsOf(node)
    .flatMap((input) => (input.kind === 'union' ? input.inputs : [input]))
    .map((input) => operatorOf(input, renamed))
  if (node.kind !== 'window' || !node.incremental) {
    return { name: names[node.kind], info: infoOf(node, renamed), inputs }
  }
  const window = { name: 'IncAggWindowPlan', info: incrementalInfo(node, node.incremental), inputs }
  const where = node.incremental.where
  return where ? { name: names.filter, info: conditionInfo(expressionText(where)), inputs: [window] } : window
}

function infoOf(node: PlanNode, renamed: ReadonlySet<string>): string {
  switch (node.kind) {
    case 'source':
      return sourceInfo(node)
    case 'union':
      return ''
    case 'watermark':
      return `Emitters:[ ${node.emitters.join(', ')} ], SendWatermark:${node.sendWatermark}`
    case 'analytic': {
      const part = (name: string, fromField: boolean): string => {
        const calls = node.calls.filter((c) => c.fromField === fromField)
        return calls.length === 0 ? '' : `${name}:[ ${calls.map((c) => expressionText(c.call)).join(', ')} ]`
      }
      const others = part('Funcs', false)
      return `${others && `${others}, `}${part('FieldFuncs', true)}`
    }
    case 'window': {
      const condition = node.filter ? `, condition:${expressionText(node.filter)}` : ''
      return `{ length:${node.window.length}, windowType:${windowTypeNames[node.window.kind]}${condition}, limit: 0 }`
    }
    case 'joinAlign':
      return `Emitters:[ ${node.emitters.join(', ')} ]`
    case 'join': {
      const joins = node.joins.map((j) => `{ joinType:${joinName(j.kind)}, ${j.on ? expressionText(j.on) : ''} }`)
      return `Joins:[ ${joins.join(', ')} ]`
    }
    case 'lookup': {
      const rest = node.rest ? `Condition:{ ${expressionText(node.rest)} }, ` : ''
      return `${rest}Join:{ joinType:${joinName(node.join)}, expr:${expressionText(node.on)} }`
    }
    case 'aggFunc':
      return `aggFuncs:[${node.calls.map((c) => `${c.name}:${expressionText(c.call)}`).join('')}]`
    case 'filter':
    case 'having':
      return conditionInfo(expressionText(node.condition))
    case 'aggregate':
      return `Dimension:{ ${node.dimensions.map(expressionText).join(', ')} }`
    case 'windowFunction':
      return node.calls.map((c) => `windowFuncField:{name:${c.name}, expr:${expressionText(bare(c.call))}}`).join(', ')
    case 'order': {
      const keys = node.keys.map((k) => explainSortKey({ ...k, expression: writtenForm(k.expression) }))
      return `SortFields:[ ${keys.join(', ')} ]`
    }
    case 'dedupTrigger':
      return `aliasName:${node.name}, ${expressionText(node.call)}`
    case 'project':
      return projectInfo(node, renamed)
    case 'projectSet':
      return `SrfMap:{key:${node.name}}, EnableLimit:${node.limit !== null}`
    case 'assign':
      return `${node.name}:${expressionText(node.call)}`
    case 'switch':
      return `Cases:[ ${node.cases.map(expressionText).join(', ')} ]`
    case 'switchOutput':
      return `Output:${node.output}`
    default:
      return unknown(node)
  }
}

function conditionInfo(text: string): string {
  return `Condition:{ ${text} }, `
}

function joinName(kind: JoinKind): string {
  return `${kind.toUpperCase()}_JOIN`
}

/** The reference's window functions have lost their OVER clause. */
function bare(call: CallExpression): CallExpression {
  return { ...call, partition: [], when: null, order: [] }
}

function projectInfo(node: ProjectNode, renamed: ReadonlySet<string>): string {
  const later = new Set(node.fields.flatMap((f) => (f.alias === null ? [] : [f.alias])))
  const fields = node.fields.map(({ expression: e, alias }) => {
    if (alias !== null) later.delete(alias)
    if (e.kind === 'wildcard' && e.stream === null) return '*'
    const plain = alias === null || (e.kind === 'column' && renamed.has(`${e.stream}.${e.name}`))
    const text = fieldText(e, later)
    return plain ? text : `$$alias.${alias},aliasRef:${text}`
  })
  return `Fields:[ ${fields.join(', ')} ]${node.limit === null ? '' : `, Limit:${node.limit}`}`
}

function sourceInfo(node: SourceNode): string {
  const columns = node.columns ?? node.definition.fields?.map((f) => ({ name: f.name })) ?? []
  const listed = columns.map((c) => node.renames?.find((r) => r.as === c.name)?.column ?? c.name).sort()
  const fields = listed.length === 0 ? '' : `, StreamFields:[ ${listed.join(', ')} ]`
  const renames = node.renames?.map((r) => `${r.column}:${r.as}`).sort() ?? []
  return `StreamName: ${node.definition.name}${fields}${
    renames.length === 0 ? '' : `, ColAliasMapping:[ ${renames.join(', ')} ]`
  }`
}

function incrementalInfo(node: WindowNode, incremental: NonNullable<WindowNode['incremental']>): string {
  const dimensions =
    incremental.dimensions.length === 0 ? '' : `, Dimension:[${incremental.dimensions.map(expressionText).join(', ')}]`
  const filter = node.filter ? `, filter:[${expressionText(node.filter)}]` : ''
  const calls = incremental.calls.map(
    ({ name, call }) => `${expressionText({ ...call, name: `inc_${call.name}` })}->${name}`,
  )
  return `wType:${windowTypeNames[node.window.kind]}${dimensions}${filter}, funcs:[${calls.join(',')}]`
}

function unknown(node: never): never {
  throw new Error(`unknown plan node ${(node as PlanNode).kind}`)
}
