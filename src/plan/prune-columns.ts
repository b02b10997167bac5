/**
 * Rewrite `columnPruner` (spec/sql.md 6.5): each source decodes only what some expression of the plan reads.
 *
 *   SELECT a FROM s WHERE b->c > 1      decodes a, and of b only the member c
 *
 * Unsafe if an expression were overlooked, so the columns come from every expression of every node (D16 to D20).
 */
import type { Expression, FieldType, StreamField } from '../sql/ast.ts'
import { childrenOf } from '../sql/walk.ts'
import { planError } from './errors.ts'
import type { LookupNode, PlanNode, PrunedColumn, SourceNode } from './logical.ts'
import { expressionsOf, mapInputs, walkPlan } from './nodes.ts'
import { walk } from './tree.ts'

/** Functions whose `*` only counts rows. */
const rowCounters = new Set(['count'])

/** What the plan reads of one source (or of no particular source). */
interface Needs {
  /** Column -> wanted sub-paths; null = the whole value. */
  readonly columns: Map<string, string[][] | null>
  /** `*`: everything but these. Null = no wildcard. */
  all: Set<string> | null
  /** `count(*)`: everything but these is checked, not read. */
  counted: Set<string> | null
  readonly meta: Set<string>
  allMeta: boolean
}

export interface PruneOptions {
  readonly sendMeta: boolean
  /** Effective columns per emitter; null = schemaless. */
  readonly fieldsOf: (emitter: string) => readonly StreamField[] | null
}

export function pruneColumns(root: PlanNode, options: PruneOptions): PlanNode {
  const needs = collectNeeds(root)
  const go = (node: PlanNode): PlanNode => {
    const next = mapInputs(node, go)
    if (next.kind === 'source') return pruneSource(next, needs, options)
    if (next.kind === 'lookup') return pruneLookup(next, needs, options)
    return next
  }
  return go(root)
}

/** Reference text for what pruning finds wrong; runs also when pruning itself is switched off. */
export function checkTimestamps(root: PlanNode, options: PruneOptions): void {
  walkPlan(root, (node) => {
    if (node.kind !== 'source' || !node.eventTime) return
    const { timestamp } = node.definition.options
    if (!timestamp) {
      throw planError(
        'preprocessor is set to be event time but stream option TIMESTAMP not found',
        null,
        `Declare TIMESTAMP in the WITH clause of stream ${node.definition.name}.`,
      )
    }
    const fields = options.fieldsOf(node.emitter)
    if (fields && !fields.some((f) => f.name === timestamp)) throw planError(`timestamp field ${timestamp} not found`)
  })
}

const UNBOUND = Symbol('any source')
type Owner = string | typeof UNBOUND

function collectNeeds(root: PlanNode): (owner: Owner) => Needs {
  const byOwner = new Map<Owner, Needs>()
  const needsOf = (owner: Owner): Needs => {
    let needs = byOwner.get(owner)
    if (!needs) {
      needs = { columns: new Map(), all: null, counted: null, meta: new Set(), allMeta: false }
      byOwner.set(owner, needs)
    }
    return needs
  }
  const seen = new Set<Expression>()
  const visit = (e: Expression): unknown => {
    if (e.kind === 'column') return addColumn(needsOf(e.stream ?? UNBOUND), e.name, null)
    if (e.kind === 'meta') return addMeta(needsOf(e.stream ?? UNBOUND), e.key)
    if (e.kind === 'wildcard') addWildcard(needsOf(e.stream ?? UNBOUND), e, 'all')
    if (e.kind === 'member') return !addPath(e, needsOf)
    if (e.kind === 'call') {
      const [only] = e.args
      if (rowCounters.has(e.name) && e.args.length === 1 && only?.kind === 'wildcard') {
        addWildcard(needsOf(only.stream ?? UNBOUND), only, 'counted')
        for (const part of childrenOf(e)) {
          if (part !== only) walk(part, visit, {}, seen)
          else for (const r of only.replace) walk(r.expression, visit, {}, seen)
        }
        return false
      }
    }
    return true
  }
  walkPlan(root, (node) => {
    for (const e of expressionsOf(node)) {
      // The condition of a lookup's ON is in its keys and its rest.
      if (node.kind === 'lookup' && e === node.on && e !== node.rest) continue
      walk(e, visit, {}, seen)
    }
  })
  return needsOf
}

function addColumn(needs: Needs, name: string, path: string[] | null): true {
  const known = needs.columns.get(name)
  if (path === null || path.length === 0) needs.columns.set(name, null)
  else if (known === undefined) needs.columns.set(name, [path])
  else if (known !== null) known.push(path)
  return true
}

function addMeta(needs: Needs, key: string): true {
  if (key === '*') needs.allMeta = true
  else needs.meta.add(key)
  return true
}

function addWildcard(needs: Needs, e: Extract<Expression, { kind: 'wildcard' }>, what: 'all' | 'counted'): void {
  const dropped = new Set([...e.except, ...e.replace.map((r) => r.name)])
  const known = needs[what]
  needs[what] = known ? new Set([...known].filter((x) => dropped.has(x))) : dropped
}

/** `a->b->c` over a plain column wants only that path. False when the object is something else. */
function addPath(e: Expression, needsOf: (owner: Owner) => Needs): boolean {
  const path: string[] = []
  let object = e
  while (object.kind === 'member') {
    path.unshift(object.key)
    object = object.object
  }
  if (object.kind !== 'column') return false
  return addColumn(needsOf(object.stream ?? UNBOUND), object.name, path)
}

function pruneSource(node: SourceNode, needsOf: (owner: Owner) => Needs, options: PruneOptions): SourceNode {
  const own = needsOf(node.emitter)
  const any = needsOf(UNBOUND)
  const fields = options.fieldsOf(node.emitter)
  const meta = options.sendMeta || own.allMeta || any.allMeta ? null : [...new Set([...own.meta, ...any.meta])].sort()

  const wanted = new Map<string, string[][] | null>()
  for (const needs of [own, any]) {
    for (const [name, paths] of needs.columns) {
      const known = wanted.get(name)
      wanted.set(name, paths === null || known === null ? null : [...(known ?? []), ...paths])
    }
  }
  const { timestamp } = node.definition.options
  if (node.eventTime && timestamp) wanted.set(timestamp, null)

  const wildcards = [own.all, any.all].filter((x) => x !== null)
  if (fields === null) {
    if (wildcards.length > 0) return { ...node, columns: null, meta }
    const columns = [...wanted].map(([name, paths]): PrunedColumn => ({ name, type: null, paths: distinct(paths) }))
    return { ...node, columns: sorted(columns), meta }
  }
  const counted = [own.counted, any.counted].filter((x) => x !== null)
  const columns: PrunedColumn[] = []
  for (const field of fields) {
    const paths = wanted.get(field.name)
    if (wildcards.some((dropped) => !dropped.has(field.name))) {
      columns.push({ name: field.name, type: field.type, paths: null })
    } else if (paths !== undefined) {
      columns.push({ name: field.name, type: field.type, paths: narrowed(distinct(paths), field.type) })
    } else if (counted.some((dropped) => !dropped.has(field.name))) {
      columns.push({ name: field.name, type: field.type, paths: null, unread: true })
    }
  }
  return { ...node, columns: sorted(columns), meta }
}

/** Only an object can be read in part. */
function narrowed(paths: PrunedColumn['paths'], type: FieldType): PrunedColumn['paths'] {
  return type.kind === 'struct' ? paths : null
}

function sorted(columns: readonly PrunedColumn[]): readonly PrunedColumn[] {
  return [...columns].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
}

/** Paths without repetition and without those inside a shorter one. */
function distinct(paths: string[][] | null): PrunedColumn['paths'] {
  if (paths === null) return null
  const covers = (a: string[], b: string[]): boolean => a.length <= b.length && a.every((key, i) => key === b[i])
  return paths.filter((p, i) => !paths.some((q, j) => i !== j && covers(q, p) && !(covers(p, q) && j > i)))
}

/** Columns a lookup source is asked for: of a declared table only declared ones, since a name may belong to another source. */
function pruneLookup(node: LookupNode, needsOf: (owner: Owner) => Needs, options: PruneOptions): LookupNode {
  const own = needsOf(node.emitter)
  const any = needsOf(UNBOUND)
  if (own.all || any.all) return { ...node, columns: null }
  const fields = options.fieldsOf(node.emitter)
  const columns = new Set([...own.columns.keys(), ...any.columns.keys()])
  return { ...node, columns: [...columns].filter((name) => !fields || fields.some((f) => f.name === name)).sort() }
}
