/** A resolved statement becomes operators, in the order of spec/sql.md 6.1. No rewrite has run yet. */
import type { Expression, SelectStatement, StreamDefinition } from '../sql/ast.ts'
import { containsAggregate, setReturningCall } from './check-statement.ts'
import type { FunctionKinds, PlanOptions } from './environment.ts'
import { planError } from './errors.ts'
import type { ExtractedStatement } from './extract-calls.ts'
import { planJoins, planLookups } from './joins.ts'
import type { PlanNode, SourceNode } from './logical.ts'
import type { PlannedSource, SourceSet } from './sources.ts'

const MAX_RETAIN_SIZE = 9999

export function buildPlan(
  written: SelectStatement,
  extracted: ExtractedStatement,
  sources: SourceSet,
  options: PlanOptions,
  kinds: FunctionKinds,
): PlanNode {
  const s = extracted.statement
  const eventTime = options.isEventTime ?? false
  const streams = sources.list.filter((x) => x.role === 'stream')
  const scanTables = sources.list.filter((x) => x.role === 'scanTable')
  const lookups = sources.list.filter((x) => x.role === 'lookupTable')
  checkSources(written, streams, scanTables, lookups)

  let inputs: readonly PlanNode[] = streams.map((x) => sourceNode(x, eventTime, options))
  if (eventTime) {
    const emitters = streams.map((x) => x.emitter)
    inputs = [{ kind: 'watermark', inputs, emitters, sendWatermark: s.window !== null }]
  }
  if (extracted.analytic.length > 0) {
    inputs = [{ kind: 'analytic', input: single(inputs), calls: extracted.analytic }]
  }
  if (s.window) {
    const { filter, ...window } = s.window
    inputs = [{ kind: 'window', inputs, window: { ...window, filter: null }, filter, eventTime, incremental: null }]
  }
  let node = single(inputs)
  const scanJoins = written.joins.some(
    (j) => sources.byQualifier(j.source.alias ?? j.source.name)?.role !== 'lookupTable',
  )
  if (scanJoins && scanTables.length > 0) {
    node = {
      kind: 'joinAlign',
      input: node,
      tables: scanTables.map((x) => sourceNode(x, false, options)),
      emitters: scanTables.map((x) => x.emitter),
      sizes: scanTables.map((x) => retainSize(x.definition)),
    }
  }
  node = planJoins(node, written, s, sources)
  node = planLookups(node, written, s, sources)
  if (extracted.aggregatesInWhere.length > 0) {
    node = { kind: 'aggFunc', input: node, calls: extracted.aggregatesInWhere }
  }
  if (s.where) node = { kind: 'filter', input: node, condition: s.where }
  if (s.window && s.window.kind !== 'state' && s.dimensions.length > 0) {
    node = { kind: 'aggregate', input: node, dimensions: s.dimensions }
  }
  if (s.having) node = { kind: 'having', input: node, condition: s.having }
  for (const call of extracted.windowFunctions) node = { kind: 'windowFunction', input: node, calls: [call] }
  if (s.orderBy.length > 0) node = { kind: 'order', input: node, keys: s.orderBy }
  for (const { name, call } of extracted.triggers) node = { kind: 'dedupTrigger', input: node, call, name }

  const returning = s.fields.find((f) => setReturningCall(f, kinds) !== null)
  const aggregates = (e: Expression): boolean => containsAggregate(e, kinds)
  node = {
    kind: 'project',
    input: node,
    fields: s.fields,
    aggregate: s.dimensions.length > 0 || s.fields.some((f) => aggregates(f.expression)),
    limit: returning ? null : written.limit,
    sendMeta: options.sendMetaToSink ?? false,
    sendNil: options.sendNilField ?? false,
  }
  const call = returning && setReturningCall(returning, kinds)
  if (call) {
    node = { kind: 'projectSet', input: node, call, name: returning.alias ?? returning.name, limit: written.limit }
  }
  return node
}

function single(inputs: readonly PlanNode[]): PlanNode {
  return inputs.length === 1 ? (inputs[0] as PlanNode) : { kind: 'union', inputs }
}

function checkSources(
  written: SelectStatement,
  streams: readonly PlannedSource[],
  scanTables: readonly PlannedSource[],
  lookups: readonly PlannedSource[],
): void {
  const first = streams[0]
  if (!first) {
    if (written.window) throw planError('cannot run window for TABLE sources', written.window.at)
    const table = scanTables[0] ?? lookups[0]
    throw planError(
      lookups[0]
        ? `cannot find lookup table ${lookups[0].emitter} in any join`
        : `table ${table?.emitter} has no stream to run with`,
      table?.reference.at,
      'A rule needs a stream in FROM or JOIN; table rows alone never trigger output.',
    )
  }
  const from = lookups.find((x) => x.reference === written.from)
  if (from) {
    throw planError(
      `cannot find lookup table ${from.emitter} in any join`,
      from.reference.at,
      'Write the stream after FROM and the lookup table after JOIN.',
    )
  }
  if (streams.length > 1 && !written.window) {
    throw planError('a time window or count window is required to join multiple streams', written.joins[0]?.at)
  }
}

function sourceNode(source: PlannedSource, eventTime: boolean, options: PlanOptions): SourceNode {
  return {
    kind: 'source',
    definition: source.definition,
    emitter: source.emitter,
    columns: null,
    meta: options.sendMetaToSink ? null : [],
    eventTime,
  }
}

/** Rows of a scan table kept for joins: RETAIN_SIZE, else all of a file, else the last one. */
function retainSize(definition: StreamDefinition): number {
  const { retainSize: given, type } = definition.options
  if (given) return given
  return type === undefined || type === '' || type === 'file' ? MAX_RETAIN_SIZE : 1
}
