/**
 * Name resolution (spec/sql.md 2.7): every column gets its source, every use of an alias becomes an AliasReference, select
 * fields get their processing order. Output expressions share the alias definitions' trees.
 */
import type {
  AliasReference,
  ColumnReference,
  Expression,
  MetaReference,
  Position,
  SelectField,
  SelectStatement,
  SortKey,
  Window,
} from '../sql/ast.ts'
import type { PlanEnvironment } from './environment.ts'
import { planError } from './errors.ts'
import { mapWindow } from './nodes.ts'
import { type PlannedSource, type SourceSet, suggestName } from './sources.ts'
import { type Rewriter, rewriter, walk } from './tree.ts'

export interface ResolvedStatement {
  /** In processing order, which is also the order stateful functions inside them run in. */
  readonly fields: readonly SelectField[]
  readonly joins: readonly (Expression | null)[]
  readonly where: Expression | null
  readonly window: Window | null
  readonly dimensions: readonly Expression[]
  readonly having: Expression | null
  readonly orderBy: readonly SortKey[]
  readonly aliases: ReadonlyMap<string, AliasReference>
  /** Alias definitions dropped because a later field has the same alias (spec/sql.md 2.7: the last one stays). */
  readonly replaced: readonly SelectField[]
}

/** Stands for "no qualifier" among the sources seen under a name. */
const UNBOUND = ''

export function resolveNames(statement: SelectStatement, sources: SourceSet, env: PlanEnvironment): ResolvedStatement {
  const aliasesInFields = !env.options?.planOptimizeStrategy?.disableAliasRefCal
  const fold = (name: string): string => (env.ignoreCase ? name.toLowerCase() : name)
  const written = unfoldForSliceTuple(statement.fields, sources, env)
  checkCycles(written, sources, fold)

  const reorder = !sources.schemaless && aliasesInFields
  const { fields, replaced } = reorder
    ? sortByDependency(written, sources, fold)
    : { fields: written, replaced: [] as readonly SelectField[] }
  const definitions = new Map<string, number>()
  fields.forEach((field, i) => {
    if (field.alias === null) return
    if (definitions.has(fold(field.alias))) throw planError(`duplicate alias ${field.alias}`, field.expression.at)
    definitions.set(fold(field.alias), i)
  })

  const columns = columnBinder(sources, fold, () => fields.flatMap((f) => (f.alias === null ? [] : [f.alias])))
  const resolvedFields: (SelectField | undefined)[] = fields.map(() => undefined)
  const aliasReferences = new Map<string, AliasReference>()
  const resolving = new Set<number>()

  const aliasFor = (name: string): AliasReference | undefined => {
    const index = definitions.get(fold(name))
    if (index === undefined) return undefined
    const expression = resolveField(index).expression
    const key = fold(name)
    let reference = aliasReferences.get(key)
    if (!reference) {
      reference = { kind: 'alias', name: fields[index]?.alias as string, expression, at: expression.at }
      aliasReferences.set(key, reference)
    }
    return reference
  }

  /** Does name N in field `index` mean the alias N? */
  const seesAlias = (index: number, name: string): boolean => {
    const target = definitions.get(fold(name))
    if (target === undefined || target === index || resolving.has(target)) return false
    if (!aliasesInFields) return !sources.schemaless && !columns.exists(name)
    if (!sources.schemaless || target < index) return true
    return fields[target]?.expression.kind === 'column'
  }

  function resolveField(index: number): SelectField {
    const known = resolvedFields[index]
    if (known) return known
    const field = fields[index] as SelectField
    resolving.add(index)
    const resolve = expressionResolver(sources, columns, (name) =>
      seesAlias(index, name) ? aliasFor(name) : undefined,
    )
    const expression = resolve(field.expression)
    resolving.delete(index)
    const result = expression === field.expression ? field : { ...field, expression }
    resolvedFields[index] = result
    return result
  }

  const outputFields = fields.map((_, i) => resolveField(i))
  for (const name of definitions.keys()) aliasFor(name)

  const resolve = expressionResolver(sources, columns, aliasFor)
  const maybe = (e: Expression | null): Expression | null => (e === null ? null : resolve(e))
  const joins = statement.joins.map((j) => maybe(j.on))
  const where = maybe(statement.where)
  const window = statement.window && mapWindow(statement.window, resolve)
  const dimensions = statement.dimensions.map(resolve)
  const having = maybe(statement.having)
  const orderBy = statement.orderBy.map((key) => ({ ...key, expression: resolve(key.expression) }))
  return { fields: outputFields, joins, where, window, dimensions, having, orderBy, aliases: aliasReferences, replaced }
}

function expressionResolver(
  sources: SourceSet,
  columns: ColumnBinder,
  alias: (name: string) => AliasReference | undefined,
): Rewriter {
  return rewriter((e) => {
    switch (e.kind) {
      case 'column':
        return columns.bind(e, alias)
      case 'null': {
        const name = e.written ?? 'null'
        const column: ColumnReference = { kind: 'column', stream: null, name, at: e.at }
        return alias(name) ?? (columns.exists(name) ? columns.bind(column, alias) : e)
      }
      case 'meta':
        return bindMeta(e, sources)
      case 'wildcard': {
        if (e.stream === null) return e
        const source = sources.byQualifier(e.stream)
        if (!source) throw planError(`stream ${e.stream} not found`, e.at)
        return { ...e, stream: source.emitter }
      }
      default:
        return e
    }
  })
}

function bindMeta(e: MetaReference, sources: SourceSet): Expression {
  if (e.stream !== null) {
    const source = sources.byQualifier(e.stream)
    if (source) return { ...e, stream: source.emitter }
    return { kind: 'member', object: { ...e, stream: null, key: e.stream }, key: e.key, at: e.at }
  }
  return e
}

interface ColumnBinder {
  readonly bind: (column: ColumnReference, alias: (name: string) => AliasReference | undefined) => Expression
  /** True when a schema declares the name. */
  readonly exists: (name: string) => boolean
}

function columnBinder(sources: SourceSet, fold: (name: string) => string, aliasNames: () => string[]): ColumnBinder {
  const schemas = new Map<PlannedSource, ReadonlyMap<string, string>>()
  for (const source of sources.list) {
    schemas.set(source, new Map(source.fields?.map((f) => [fold(f.name), f.name])))
  }
  /** Sources a name was met with so far, in statement order: an unqualified name then binds to the only one. */
  const seen = new Map<string, Set<string>>()
  const only = sources.list.length === 1 ? (sources.list[0] as PlannedSource) : null

  const unknown = (column: ColumnReference, text: string): never => {
    throw planError(text, column.at, suggestName(column.name, sources, aliasNames()))
  }
  const differsByCase = (source: PlannedSource, name: string): boolean =>
    source.fields?.some((f) => f.name !== name && f.name.toLowerCase() === name.toLowerCase()) ?? false

  const bindDeclared = (column: ColumnReference, qualified: PlannedSource | null): Expression => {
    const name = fold(column.name)
    const candidates = qualified ? [qualified] : sources.list
    const owners = candidates.filter((s) => schemas.get(s)?.has(name))
    if (owners.length > 1) {
      return unknown(column, `ambiguous field ${column.name}`)
    }
    const owner = owners[0]
    if (owner) return { ...column, stream: owner.emitter, name: schemas.get(owner)?.get(name) as string }
    const near = candidates.find((s) => differsByCase(s, column.name))
    if (near) return unknown(column, `field ${column.name} not found in stream ${near.emitter}`)
    const elsewhere = qualified && sources.list.some((s) => schemas.get(s)?.has(name))
    return unknown(column, `unknown field ${elsewhere ? `${qualified.emitter}.` : ''}${column.name}`)
  }

  const bindAny = (column: ColumnReference, qualified: PlannedSource | null): Expression => {
    const name = fold(column.name)
    const known = seen.get(name) ?? new Set<string>()
    seen.set(name, known)
    let emitter = qualified?.emitter ?? only?.emitter
    if (emitter === undefined && known.size === 1) {
      const [single] = known
      if (single !== UNBOUND) emitter = single
    }
    known.add(emitter ?? UNBOUND)
    const source = emitter === undefined ? undefined : sources.byQualifier(emitter)
    const declared = source && schemas.get(source)?.get(name)
    return { ...column, stream: emitter ?? null, name: declared ?? column.name }
  }

  return {
    exists: (name) => sources.list.some((s) => schemas.get(s)?.has(fold(name))),
    bind(column, alias) {
      if (column.stream === null) {
        const reference = alias(column.name)
        if (reference) return reference
        return sources.schemaless ? bindAny(column, null) : bindDeclared(column, null)
      }
      const source = sources.byQualifier(column.stream)
      if (source) return sources.schemaless ? bindAny(column, source) : bindDeclared(column, source)
      // Struct access: the qualifier is a column or an alias.
      const object = this.bind({ ...column, stream: null, name: column.stream }, alias)
      return { kind: 'member', object, key: column.name, at: column.at }
    },
  }
}

/** Other aliases a field's expression mentions: unqualified, or as the struct of `alias.member`. */
function mentioned(
  field: SelectField,
  aliases: ReadonlyMap<string, unknown>,
  sources: SourceSet,
  fold: (n: string) => string,
): Set<string> {
  const names = new Set<string>()
  walk(field.expression, (e) => {
    if (e.kind !== 'column') return
    if (e.stream !== null && sources.byQualifier(e.stream)) return
    const name = fold(e.stream ?? e.name)
    if (aliases.has(name)) names.add(name)
  })
  if (field.alias !== null) names.delete(fold(field.alias))
  return names
}

/** Bounds every walk that looks through aliases. */
const MAX_ALIAS_DEPTH = 256

function tooDeep(at: Position | undefined): Error {
  return planError(`aliases refer to each other more than ${MAX_ALIAS_DEPTH} levels deep`, at)
}

function checkCycles(fields: readonly SelectField[], sources: SourceSet, fold: (name: string) => string): void {
  const byAlias = new Map<string, SelectField>()
  for (const field of fields) if (field.alias !== null) byAlias.set(fold(field.alias), field)
  const edges = new Map<string, Set<string>>()
  for (const [name, field] of byAlias) edges.set(name, mentioned(field, byAlias, sources, fold))
  const depths = new Map<string, number>()
  const open = new Set<string>()
  const depthOf = (name: string): number => {
    const known = depths.get(name)
    if (known !== undefined) return known
    const at = byAlias.get(name)?.expression.at
    if (open.has(name)) throw planError('select fields have cycled alias', at)
    open.add(name)
    if (open.size > MAX_ALIAS_DEPTH) throw tooDeep(at)
    let depth = 0
    for (const next of edges.get(name) ?? []) depth = Math.max(depth, depthOf(next) + 1)
    if (depth > MAX_ALIAS_DEPTH) throw tooDeep(at)
    open.delete(name)
    depths.set(name, depth)
    return depth
  }
  for (const name of byAlias.keys()) depthOf(name)
}

/**
 * Alias fields by (dependency depth, alias), then the others in text order. As eKuiper: a repeated alias keeps the last
 * definition. Unlike it the depth is the true one, so a forward reference works (D9).
 */
function sortByDependency(
  fields: readonly SelectField[],
  sources: SourceSet,
  fold: (name: string) => string,
): { readonly fields: readonly SelectField[]; readonly replaced: readonly SelectField[] } {
  const byAlias = new Map<string, SelectField>()
  const replaced: SelectField[] = []
  for (const field of fields) {
    if (field.alias === null) continue
    const key = fold(field.alias)
    const earlier = byAlias.get(key)
    if (earlier) replaced.push(earlier)
    byAlias.set(key, field)
  }
  const depths = new Map<string, number>()
  const depthOf = (name: string): number => {
    const known = depths.get(name)
    if (known !== undefined) return known
    let depth = 0
    for (const next of mentioned(byAlias.get(name) as SelectField, byAlias, sources, fold)) {
      depth = Math.max(depth, depthOf(next) + 1)
    }
    depths.set(name, depth)
    return depth
  }
  const sorted = [...byAlias].sort(([a], [b]) => depthOf(a) - depthOf(b) || (a < b ? -1 : 1)).map(([, f]) => f)
  return { fields: [...sorted, ...fields.filter((f) => f.alias === null)], replaced }
}

/** Slice tuple mode has no `*` at run time: the schema's columns take its place, after the other fields. */
function unfoldForSliceTuple(
  fields: readonly SelectField[],
  sources: SourceSet,
  env: PlanEnvironment,
): readonly SelectField[] {
  if (!env.options?.experiment?.useSliceTuple) return fields
  const kept: SelectField[] = []
  let wildcard: Expression | null = null
  for (const field of fields) {
    const e = field.expression
    if (e.kind !== 'wildcard') {
      kept.push(field)
    } else if (e.stream !== null) {
      throw planError(`slice tuple mode does not support qualified wildcard ${e.stream}.*`, e.at)
    } else {
      wildcard = e
    }
  }
  if (wildcard === null) return fields
  const at = wildcard.at
  for (const source of sources.list) {
    for (const column of source.fields ?? []) {
      const expression: Expression = { kind: 'column', stream: source.emitter, name: column.name, at }
      kept.push({ expression, name: column.name, alias: null, invisible: false })
    }
  }
  return kept
}
