/** SQL column types -> what decoders are asked for. */
import type { ColumnType } from '../formats/contract.ts'
import { columnType } from '../formats/schema-check.ts'
import type { SourceNode } from '../plan/logical.ts'
import type { StreamField } from '../sql/ast.ts'

/** Declared columns by name. */
export function columnTypes(fields: readonly StreamField[]): Map<string, ColumnType> {
  return new Map(fields.map((f) => [f.name, columnType(f.type)]))
}

/** Columns a rule needs of a source; null = all, untyped. `declared` is the stream's schema, null when schemaless. */
export function wantedColumns(
  node: SourceNode,
  declared: readonly StreamField[] | null,
): Map<string, ColumnType> | null {
  if (node.columns === null) return declared ? columnTypes(declared) : null
  return new Map(
    node.columns.map((c) => [c.name, c.type === null ? { kind: 'any' } : narrowed(columnType(c.type), c.paths)]),
  )
}

/** Only the accessed sub-fields of a struct are decoded (spec/sql.md 6.5). */
function narrowed(type: ColumnType, paths: readonly (readonly string[])[] | null): ColumnType {
  if (type.kind !== 'struct' || paths === null) return type
  const fields: Record<string, ColumnType> = {}
  for (const [name, field] of Object.entries(type.fields)) {
    const below = paths.filter((p) => p[0] === name)
    if (below.length === 0) continue
    const rest = below.map((p) => p.slice(1))
    fields[name] = narrowed(field, rest.some((p) => p.length === 0) ? null : rest)
  }
  return { kind: 'struct', fields }
}

/** What several rules on one shared stream need together; null = all. */
export function unionColumns(
  wanted: readonly (ReadonlyMap<string, ColumnType> | null)[],
): Map<string, ColumnType> | null {
  const union = new Map<string, ColumnType>()
  for (const columns of wanted) {
    if (columns === null) return null
    for (const [name, type] of columns) {
      const known = union.get(name)
      union.set(name, known ? widened(known, type) : type)
    }
  }
  return union
}

function widened(a: ColumnType, b: ColumnType): ColumnType {
  if (a.kind !== 'struct' || b.kind !== 'struct') return a
  const fields: Record<string, ColumnType> = { ...a.fields }
  for (const [name, type] of Object.entries(b.fields)) {
    const known = fields[name]
    fields[name] = known ? widened(known, type) : type
  }
  return { kind: 'struct', fields }
}
