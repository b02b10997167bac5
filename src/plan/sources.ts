/** FROM and JOIN names resolved to definitions. */
import type { SelectStatement, SourceReference, StreamDefinition, StreamField } from '../sql/ast.ts'
import type { PlanEnvironment } from './environment.ts'
import { nearest, planError } from './errors.ts'

export type SourceRole = 'stream' | 'scanTable' | 'lookupTable'

export interface PlannedSource {
  /** Name rows carry and resolved columns are qualified with: the alias, else the stream's name. */
  readonly emitter: string
  readonly definition: StreamDefinition
  readonly role: SourceRole
  /** Declared (or SCHEMAID) columns; null = schemaless. */
  readonly fields: readonly StreamField[] | null
  readonly reference: SourceReference
}

export interface SourceSet {
  readonly list: readonly PlannedSource[]
  /** True when any source is schemaless: then unknown names are accepted (spec/sql.md 2.7). */
  readonly schemaless: boolean
  /** The source a qualifier names: an alias, or the stream's own name when only one source has it. */
  readonly byQualifier: (qualifier: string) => PlannedSource | undefined
}

export function resolveSources(statement: SelectStatement, env: PlanEnvironment): SourceSet {
  const references = [statement.from, ...statement.joins.map((j) => j.source)]
  const list = references.map((reference): PlannedSource => {
    const definition = env.stream(reference.name)
    if (!definition) {
      throw planError(`fail to get stream ${reference.name}, please check if stream is created`, reference.at)
    }
    const table = definition.streamType === 'table'
    return {
      emitter: reference.alias ?? reference.name,
      definition,
      role: !table ? 'stream' : definition.options.kind === 'lookup' ? 'lookupTable' : 'scanTable',
      fields: env.schemaFields?.(definition) ?? definition.fields,
      reference,
    }
  })
  for (const source of list) {
    if (source.definition.options.temp && !env.isTemporary) {
      throw planError(`temp stream ${source.definition.name} can only be used by temp rules`, source.reference.at)
    }
  }
  const byEmitter = new Map<string, PlannedSource>()
  for (const source of list) {
    if (byEmitter.has(source.emitter)) {
      throw planError(
        `source ${source.emitter} appears twice`,
        source.reference.at,
        `Give each use its own name: ${source.reference.name} AS other.`,
      )
    }
    byEmitter.set(source.emitter, source)
  }
  const byQualifier = (qualifier: string): PlannedSource | undefined => {
    const named = byEmitter.get(qualifier)
    if (named) return named
    const same = list.filter((s) => s.definition.name === qualifier)
    if (same.length > 1) {
      throw planError(`ambiguous stream ${qualifier}`, null, 'Qualify with the alias given in FROM or JOIN.')
    }
    return same[0]
  }
  return { list, schemaless: list.some((s) => s.fields === null), byQualifier }
}

/** "did you mean" for a name no source and no alias has. */
export function suggestName(name: string, sources: SourceSet, aliases: Iterable<string>): string | undefined {
  const known = [...sources.list.flatMap((s) => s.fields?.map((f) => f.name) ?? []), ...aliases]
  const near = nearest(name, known)
  if (near !== null) return `Did you mean ${near}?`
  return meansNothing(name) ? NULL_TEST : undefined
}

export const NULL_TEST = 'Use IS NULL or IS NOT NULL.'

/** Words of other languages for null, which here are names of columns. */
export function meansNothing(name: string): boolean {
  return ['nil', 'none', 'undefined'].includes(name.toLowerCase())
}
