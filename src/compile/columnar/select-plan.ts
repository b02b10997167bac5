/**
 * Which plans the columnar lane takes: source -> filter? -> project over one JSON stream, without state, metadata or event
 * time. What its expressions may be is up to the generator (generate.ts).
 */
import { encodeJsonText } from '../../core/json-encode.ts'
import { compareText } from '../../core/text-order.ts'
import type { FilterNode, PlanNode, ProjectNode, SourceNode } from '../../plan/logical.ts'
import { findNode } from '../../plan/nodes.ts'
import type { Expression, FieldType } from '../../sql/ast.ts'
import { childrenOf } from '../../sql/walk.ts'

/** Declared type of a column as the decoder applies it; `dynamic` = as it comes, `struct` = only its members are read. */
export type ColumnClass = 'dynamic' | 'int' | 'float' | 'text' | 'bool' | 'datetime' | 'struct'

export interface WantedColumn {
  readonly path: readonly string[]
  readonly type: ColumnClass
}

export interface OutputField {
  readonly name: string
  readonly expression: Expression
  readonly missing: 'omit' | 'null'
  readonly null: 'omit' | 'null'
  readonly visible: boolean
  /** A condition: other values than booleans and null are errors. Default false. */
  readonly condition?: boolean
}

export interface SelectedPlan extends SelectedRows {
  readonly project: ProjectNode
}

export interface SelectedRows {
  readonly source: SourceNode
  readonly filter: FilterNode | null
  /** Columns the scan fills; `columnIndex` finds them by {@link pathKey}. */
  readonly columns: readonly WantedColumn[]
  readonly columnIndex: ReadonlyMap<string, number>
  /** Visible ones sorted by name, then the invisible ones, which are evaluated only. */
  readonly outputs: readonly OutputField[]
}

export function pathKey(path: readonly string[]): string {
  return encodeJsonText([...path])
}

const MAX_COLUMNS = 256
/** Aliases are expanded where they are used; beyond this many nodes the general lane, which caches them, is better. */
const MAX_NODES = 2000

/** A projection that makes one message of one row, of its columns alone. */
function isRowByRow(root: PlanNode): root is ProjectNode {
  return root.kind === 'project' && !root.aggregate && root.limit === null && !root.sendMeta
}

export function selectPlan(root: PlanNode): SelectedPlan | null {
  if (!isRowByRow(root)) return null
  const outputs = outputFields(root)
  const selected = outputs && selectRows(root.input, outputs)
  return selected && { ...selected, project: root }
}

/** A plan whose messages have the columns of the row, whatever they are: `SELECT *`, with exceptions and fields of its own. */
export interface WildcardPlan {
  /** All columns there are, when the stream declares them; null = those of the rows. */
  readonly declared: readonly string[] | null
  /** True for a column that a field of the statement has the name of: which one a message has depends on the row. */
  taken(column: string): boolean
  /** The plan for rows that have no other columns than these. */
  of(columns: readonly string[]): SelectedPlan | null
}

export function wildcardPlan(root: PlanNode): WildcardPlan | null {
  if (!isRowByRow(root)) return null
  const source = findNode(root, 'source')
  const own = root.fields.filter((f) => f.expression.kind !== 'wildcard')
  const [wildcard, ...more] = root.fields.flatMap(({ expression: e }) => (e.kind === 'wildcard' ? [e] : []))
  const fields = outputFields({ ...root, fields: own })
  if (!source || !wildcard || more.length > 0 || wildcard.replace.length > 0 || !fields) return null
  const filter = root.input.kind === 'filter' ? [root.input.condition] : []
  const read = readColumns(source, [...filter, ...fields.map((f) => f.expression)])
  if (!read) return null
  const visible = fields.filter((f) => f.visible)
  // What `*` has anyway.
  const repeated = new Set(visible.filter(isOwnColumn).map((f) => f.name))
  const names = new Set(visible.filter((f) => !isOwnColumn(f)).map((f) => f.name))
  return {
    declared: source.columns?.map((c) => c.name) ?? null,
    taken: (column) => names.has(column),
    of(columns) {
      // Those the statement names are scanned, so they are columns too.
      const all = [...new Set([...columns, ...read.columns.map((c) => c.path[0] as string)])].map(
        (name) => ({ kind: 'column', stream: null, name, at: wildcard.at }) as const,
      )
      const isCopied = (name: string): boolean =>
        !wildcard.except.includes(name) && !name.startsWith('$$') && !repeated.has(name)
      const copied = all.filter(({ name }) => isCopied(name))
      if (copied.some(({ name }) => names.has(name))) return null
      const outputs = copied.map(
        (expression): OutputField => ({
          name: expression.name,
          expression,
          missing: 'omit',
          null: 'null',
          visible: true,
        }),
      )
      const selected = selectRows(root.input, sorted([...outputs, ...fields]), all)
      return selected && { ...selected, project: root }
    },
  }
}

/** `temp`, which is null where the column is. */
function isOwnColumn({ name, expression, null: ofNull }: OutputField): boolean {
  const path = columnPath(expression)
  return path?.length === 1 && path[0] === name && ofNull === 'null'
}

/** The members of a projection's messages; null when they depend on the row. */
export function outputFields(project: ProjectNode): readonly OutputField[] | null {
  const outputs: OutputField[] = []
  for (const field of project.fields) {
    const { expression, alias } = field
    if (expression.kind === 'wildcard') return null
    const kept = project.sendNil ? 'null' : 'omit'
    const isColumn = alias === null && expression.kind === 'column'
    outputs.push({
      name: alias ?? field.name,
      expression,
      missing: isColumn || alias !== null ? kept : 'omit',
      null: isColumn ? 'null' : alias !== null ? kept : 'omit',
      visible: !field.invisible,
    })
  }
  if (new Set(outputs.map((o) => o.name)).size !== outputs.length) return null
  return sorted(outputs)
}

function sorted(outputs: OutputField[]): OutputField[] {
  return outputs.sort((a, b) => Number(b.visible) - Number(a.visible) || compareText(a.name, b.name))
}

/**
 * The part below a projection or window: its rows, and the columns that filter and `outputs` read. `all`: the columns of the rows
 * where the plan does not say which it needs.
 */
export function selectRows(
  input: PlanNode,
  outputs: readonly OutputField[],
  all: readonly Expression[] | null = null,
): SelectedRows | null {
  const filter = input.kind === 'filter' ? input : null
  const source = filter ? filter.input : input
  if (source.kind !== 'source' || source.eventTime || !isPlainJson(source)) return null
  if (source.columns === null && all === null) return null
  const expressions = [...(filter ? [filter.condition] : []), ...outputs.map((o) => o.expression), ...(all ?? [])]
  const read = readColumns(source, expressions)
  const columns = read && withDeclared(source, read)
  return columns && columns.columns.length <= MAX_COLUMNS ? { source, filter, outputs, ...columns } : null
}

export type ColumnList = Pick<SelectedRows, 'columns' | 'columnIndex'>

/** The columns of the source that expressions read. */
export function readColumns(source: SourceNode, expressions: readonly Expression[]): ColumnList | null {
  const columns: WantedColumn[] = []
  const columnIndex = new Map<string, number>()
  const types = new Map(source.columns?.map((c) => [c.name, c.type]))
  let nodes = 0
  const want = (path: readonly string[], type: ColumnClass): void => {
    const key = pathKey(path)
    if (!columnIndex.has(key)) columnIndex.set(key, columns.push({ path, type }) - 1)
  }
  const visit = (e: Expression): boolean => {
    if (++nodes > MAX_NODES) return false
    const path = columnPath(e)
    if (path !== null) {
      const classes = classesAlong(path, types.get(path[0] as string) ?? null)
      if (classes === null || path.some((key) => key.includes('\ufffd'))) return false
      // Of a declared struct the objects on the way are checked too.
      for (const [i, type] of classes.entries())
        if (i === path.length - 1 || type === 'struct') want(path.slice(0, i + 1), type)
      return true
    }
    return e.kind === 'alias' ? visit(e.expression) : childrenOf(e).every(visit)
  }
  return expressions.every(visit) ? { columns, columnIndex } : null
}

/** A declared column is checked whether or not an expression reads it. */
export function withDeclared(source: SourceNode, read: ColumnList): ColumnList | null {
  const columns = [...read.columns]
  const columnIndex = new Map(read.columnIndex)
  for (const { name, type } of source.columns ?? []) {
    const key = pathKey([name])
    if (type === null || columnIndex.has(key)) continue
    const declared = classOf(type)
    if (declared === null) return null
    columnIndex.set(key, columns.push({ path: [name], type: declared }) - 1)
  }
  return { columns, columnIndex }
}

/** Whether payloads of the stream are JSON text and nothing else is wanted of them. */
export function isPlainJson(source: SourceNode): boolean {
  const { format, strictValidation, schemaId } = source.definition.options
  return (
    !source.renames?.length &&
    source.meta !== null &&
    source.meta.length === 0 &&
    (format ?? 'json').toLowerCase() === 'json' &&
    !schemaId &&
    !strictValidation
  )
}

/** The class of each part of a path into a column of a declared type; null where the decoder would have to convert. */
function classesAlong(path: readonly string[], declared: FieldType | null): ColumnClass[] | null {
  const classes: ColumnClass[] = []
  let type = declared
  for (let i = 0; i < path.length - 1; i++) {
    if (declared === null) classes.push('dynamic')
    else {
      if (type?.kind !== 'struct') return null
      type = type.fields.find((f) => f.name === path[i + 1])?.type ?? null
      if (type === null) return null
      classes.push('struct')
    }
  }
  const last = classOf(type)
  return last && [...classes, last]
}

function classOf(type: FieldType | null): ColumnClass | null {
  switch (type?.kind) {
    case undefined:
      return 'dynamic'
    case 'bigint':
      return 'int'
    case 'float':
      return 'float'
    case 'string':
      return 'text'
    case 'boolean':
      return 'bool'
    case 'datetime':
      return 'datetime'
    default:
      return null
  }
}

/** The key in {@link SelectedRows.columnIndex} of what is read as it stands; null for what is computed. */
export function columnKey(e: Expression): string | null {
  const path = columnPath(e)
  if (path !== null) return pathKey(path)
  if (e.kind === 'computed') return `computed ${e.name}`
  return e.kind === 'call' && e.args.length === 0 ? `call ${e.name}` : null
}

/** The path of `a` or `a->b->c`; null for anything else. */
export function columnPath(e: Expression): readonly string[] | null {
  if (e.kind === 'parenthesis') return columnPath(e.expression)
  if (e.kind === 'column') return [e.name]
  if (e.kind !== 'member') return null
  const object = columnPath(e.object)
  return object && [...object, e.key]
}
