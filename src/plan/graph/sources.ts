/** Sources of a graph: streams and tables that are defined, or anonymous ones (spec/rest-api.md 5.1). */
import type { OptionSpecs } from '../../core/options.ts'
import { validateOptions } from '../../core/validate.ts'
import type { ValueObject } from '../../core/values.ts'
import type { StreamDefinition, StreamOptions } from '../../sql/ast.ts'
import type { PlanEnvironment } from '../environment.ts'
import { planError } from '../errors.ts'
import type { SourceNode } from '../logical.ts'
import type { SourceRole } from '../sources.ts'
import type { GraphNode } from './document.ts'

export interface GraphSource {
  /** The stream's name, or the node's for an anonymous one: what expressions and joins call it. */
  readonly emitter: string
  readonly role: SourceRole
  readonly definition: StreamDefinition
}

const named: OptionSpecs = {
  sourceType: { type: 'string', default: 'stream', docs: '`stream` or `table`.' },
  sourceName: { type: 'string', default: '', docs: 'Name of an existing stream or table.' },
}

const text = (docs: string): OptionSpecs[string] => ({ type: 'string', docs })
const anonymous: OptionSpecs = {
  datasource: text('Topic, path or other place to read from.'),
  format: text('Format of the payloads.'),
  confKey: { type: 'string', aliases: ['conf_key'], docs: 'Section of the source configuration.' },
  key: text('Key column.'),
  timestamp: text('Column of the event time.'),
  timestampFormat: { type: 'string', aliases: ['timestamp_format'], docs: 'Format of the event time.' },
  schemaId: text('Schema of the payloads.'),
  delimiter: text('Delimiter of delimited payloads.'),
  strictValidation: { type: 'bool', aliases: ['strict_validation'], docs: 'Check every row against the schema.' },
  extra: text('Further properties of the connector as JSON text.'),
}
const shorthand: OptionSpecs = {
  schemaName: text('With schemaMessage: a shorthand for schemaId.'),
  schemaMessage: text('With schemaName: a shorthand for schemaId.'),
}

export function readSource(node: GraphNode, env: PlanEnvironment): GraphSource {
  const { sourceType, sourceName } = read(named, node.props) as { sourceType: string; sourceName: string }
  if (sourceType !== 'stream' && sourceType !== 'table') throw planError(`source type ${sourceType} not supported`)
  if (sourceName === '') return anonymousSource(node)
  const definition = env.stream(sourceName)
  if (!definition) throw planError(`fail to get stream ${sourceName}, please check if stream is created`)
  if (definition.options.temp && !env.isTemporary) {
    throw planError(`temp stream ${sourceName} can only be used by temp rules`)
  }
  if (definition.streamType === 'stream' && sourceType === 'table') {
    throw planError(`stream ${sourceName} is not a table`)
  }
  if (definition.streamType === 'table' && sourceType === 'stream') {
    throw planError(`table ${sourceName} is not a stream`)
  }
  const type = definition.options.type || 'mqtt'
  if (type !== node.nodeType) {
    throw planError(`source type ${node.nodeType} does not match the stream type ${type}`)
  }
  const lookup = definition.options.kind === 'lookup'
  const role = definition.streamType === 'stream' ? 'stream' : lookup ? 'lookupTable' : 'scanTable'
  return { emitter: definition.name, role, definition }
}

/** Never SHARED: a node's name means nothing outside its rule. */
function anonymousSource(node: GraphNode): GraphSource {
  const given = read(anonymous, node.props) as StreamOptions
  const { schemaName, schemaMessage } = read(shorthand, node.props) as { schemaName?: string; schemaMessage?: string }
  const schemaId = given.schemaId || (schemaName && schemaMessage ? `${schemaName}.${schemaMessage}` : '')
  const options: StreamOptions = { ...given, type: node.nodeType, ...(schemaId && { schemaId }) }
  const definition: StreamDefinition = {
    kind: 'createStream',
    streamType: 'stream',
    name: node.name,
    fields: null,
    options,
  }
  return { emitter: node.name, role: 'stream', definition }
}

function read(specs: OptionSpecs, props: ValueObject): ValueObject {
  return validateOptions(specs, props, '', { unknown: 'drop' })
}

/** All columns: what later nodes read of a row that passed a switch or a function is not followed. */
export function sourceNode(source: GraphSource, eventTime: boolean): SourceNode {
  return {
    kind: 'source',
    definition: source.definition,
    emitter: source.emitter,
    columns: null,
    meta: null,
    eventTime,
  }
}
