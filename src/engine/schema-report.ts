/** Schemas as REST shows them: of a stream (declared, or what running rules read of it) and of a rule's output. */
import type { LogicalPlan } from '../plan/logical.ts'
import { findNode } from '../plan/nodes.ts'
import type { StreamDefinition } from '../sql/ast.ts'
import { type SchemaJson, schemaToJson } from '../sql/definition.ts'

export type ReportedSchema = Readonly<Record<string, SchemaJson | { hasIndex?: boolean; index: number } | null>>

/** A running rule that reads the stream. */
export interface Reader {
  readonly plan: LogicalPlan
  /** Option `experiment.useSliceTuple`: columns are numbered. */
  readonly numbered: boolean
}

/** Null when schemaless and no rule reads a column of it. */
export function streamSchema(definition: StreamDefinition, readers: readonly Reader[]): ReportedSchema | null {
  if (definition.fields) return schemaToJson(definition.fields)
  const columns = new Map<string, boolean>()
  for (const { plan, numbered } of readers) {
    for (const source of sourcesOf(plan, definition.name)) {
      for (const { name } of source.columns ?? []) columns.set(name, (columns.get(name) ?? false) || numbered)
    }
  }
  if (columns.size === 0) return null
  const indexed = [...columns].map(([name, numbered], index) => [name, numbered ? { hasIndex: true, index } : null])
  return Object.fromEntries(indexed.sort(([a], [b]) => ((a as string) < (b as string) ? -1 : 1)))
}

function sourcesOf(plan: LogicalPlan, stream: string) {
  const found: { columns: readonly { name: string }[] | null }[] = []
  const visit = (node: LogicalPlan['root']): void => {
    if (node.kind === 'source') {
      if (node.definition.name === stream) found.push(node)
    } else if ('inputs' in node) node.inputs.forEach(visit)
    else visit(node.input)
  }
  visit(plan.root)
  return found
}

/** Output columns in the order of the SELECT list; `*` stands for the declared columns of the sources. */
export function outputSchema(plan: LogicalPlan): ReportedSchema {
  const fields = findNode(plan.root, 'project')?.fields ?? []
  const names = new Set<string>()
  for (const { expression, name, alias, invisible } of fields) {
    if (invisible) continue
    if (expression.kind === 'wildcard') {
      for (const source of plan.sources) for (const field of source.fields ?? []) names.add(field.name)
    } else names.add(alias ?? name)
  }
  return Object.fromEntries([...names].map((name, index) => [name, { hasIndex: true, index }]))
}
