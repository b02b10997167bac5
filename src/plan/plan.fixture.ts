/** Streams and shortcuts the planner's tests share. */
import { builtinFunctions } from '../functions/index.ts'
import type { StreamDefinition } from '../sql/ast.ts'
import { parseSelect, parseStatement } from '../sql/index.ts'
import { explain } from './explain.ts'
import { explainReadable } from './explain-readable.ts'
import { type PlanEnvironment, type PlanOptions, planSelect } from './index.ts'
import type { LogicalPlan, PlanNode } from './logical.ts'
import { findNode } from './nodes.ts'

const definitions = [
  'CREATE STREAM d (a BIGINT, b FLOAT, c STRING, arr ARRAY(BIGINT), ts BIGINT) WITH (TIMESTAMP="ts")',
  'CREATE STREAM e (a BIGINT, id BIGINT, v FLOAT, ts BIGINT) WITH (TIMESTAMP="ts")',
  'CREATE STREAM f (k BIGINT, w FLOAT, ts BIGINT) WITH (TIMESTAMP="ts")',
  'CREATE STREAM nested (a BIGINT, st STRUCT(x BIGINT, y STRUCT(z STRING, q BIGINT))) WITH ()',
  'CREATE STREAM nested2 (a BIGINT, b BIGINT) WITH ()',
  'CREATE STREAM s () WITH (TIMESTAMP="ts")',
  'CREATE STREAM s2 () WITH (TIMESTAMP="ts")',
  'CREATE STREAM plain (a BIGINT, `null` BIGINT) WITH ()',
  'CREATE STREAM shared (a BIGINT, b BIGINT) WITH (SHARED="true")',
  'CREATE STREAM strict (a BIGINT, b BIGINT) WITH (STRICT_VALIDATION="true")',
  'CREATE STREAM mem (a BIGINT) WITH (TYPE="memory")',
  'CREATE STREAM temporary (a BIGINT) WITH (TEMP="true")',
  'CREATE TABLE lt (id BIGINT, x BIGINT, y BIGINT) WITH (TYPE="memory", KEY="id", KIND="lookup")',
  'CREATE TABLE lts () WITH (TYPE="memory", KEY="id", KIND="lookup")',
  'CREATE TABLE st (id BIGINT, nm STRING, sz BIGINT) WITH (TYPE="file")',
]

const streams = new Map<string, StreamDefinition>()
for (const text of definitions) {
  const statement = parseStatement(text, { functions: builtinFunctions })
  if (statement.kind === 'createStream') streams.set(statement.name, statement)
}

export function environment(options: PlanOptions = {}, more: Partial<PlanEnvironment> = {}): PlanEnvironment {
  return { stream: (name) => streams.get(name), functions: builtinFunctions, options, ...more }
}

export function plan(sql: string, options: PlanOptions = {}, more: Partial<PlanEnvironment> = {}): LogicalPlan {
  return planSelect(parseSelect(sql, { functions: builtinFunctions }), environment(options, more))
}

/** The lines of EXPLAIN without ids: `FilterPlan Condition:{ ... }, `. */
export function explained(sql: string, options: PlanOptions = {}): string[] {
  return explain(plan(sql, options))
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const { op, info } = JSON.parse(line) as { op: string; info: string }
      return `${op.replace(/_\d+$/, '')} ${info}`
    })
}

/** Readable explain without warnings. */
export function readable(sql: string, options: PlanOptions = {}): string {
  return explainReadable({ ...plan(sql, options), warnings: [] })
}

/** The node of a kind, which must exist. */
export function nodeOf<K extends PlanNode['kind']>(p: LogicalPlan, kind: K): Extract<PlanNode, { kind: K }> {
  const found = findNode(p.root, kind)
  if (!found) throw new Error(`no ${kind} node`)
  return found
}

/** Columns each source decodes, by emitter; null = all. */
export function decoded(p: LogicalPlan): Record<string, readonly string[] | null> {
  const result: Record<string, readonly string[] | null> = {}
  const visit = (node: PlanNode): void => {
    if (node.kind === 'source') result[node.emitter] = node.columns?.map((c) => c.name) ?? null
    else if (node.kind === 'joinAlign') [node.input, ...node.tables].forEach(visit)
    else if ('inputs' in node) node.inputs.forEach(visit)
    else visit(node.input)
  }
  visit(p.root)
  return result
}
