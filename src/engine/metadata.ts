/**
 * Descriptions for management UIs (spec/rest-api.md 3.11, spec/connectors.md 22), generated from the option descriptions of
 * connectors and the definitions of functions.
 */
import type { ConnectorDefinition } from '../connectors/contract.ts'
import { IxionError } from '../core/errors.ts'
import type { OptionSpec, OptionSpecs, OptionType } from '../core/options.ts'
import type { FunctionDefinition } from '../functions/contract.ts'
import { listFunctions } from '../functions/index.ts'
import { commonSinkSpecs } from './sink-options.ts'
import { commonSourceSpecs } from './source-options.ts'

type Connectors = ReadonlyMap<string, ConnectorDefinition>
type Json = Readonly<Record<string, unknown>>

const both = (text: string): Json => ({ en: text, zh: text })

function about(description: string): Json {
  return {
    trial: false,
    installed: true,
    author: { name: 'Ixion', email: '', company: '', website: '' },
    helpUrl: both(''),
    description: both(description),
  }
}

/** A label from a property name: `sendSingle` -> `Send single`. */
function labelOf(name: string): string {
  const words = name.replace(/([a-z0-9])([A-Z])/g, '$1 $2').toLowerCase()
  return words.charAt(0).toUpperCase() + words.slice(1)
}

const typeNames: Readonly<Record<OptionType, string>> = {
  string: 'string',
  int: 'int',
  float: 'float',
  bool: 'bool',
  duration: 'string',
  size: 'string',
  list: 'list_object',
  map: 'object',
  any: 'object',
}

function typeOf(spec: OptionSpec): string {
  if (spec.type !== 'list') return typeNames[spec.type]
  return spec.element ? `list_${typeNames[spec.element]}` : 'list_object'
}

function controlOf(spec: OptionSpec): string {
  if (spec.oneOf) return 'select'
  if (spec.type === 'bool') return 'radio'
  if (spec.type === 'list' || spec.type === 'map') return 'list'
  return 'text'
}

function propertiesOf(specs: OptionSpecs, connection: OptionSpecs): Json[] {
  return Object.entries(specs).map(([name, spec]) => ({
    exist: false,
    name,
    default: spec.members ? propertiesOf(spec.members, {}) : spec.secret ? '' : (spec.default ?? emptyOf(spec)),
    type: typeOf(spec),
    control: controlOf(spec),
    connection_related: Object.hasOwn(connection, name),
    optional: !spec.required,
    values: spec.oneOf ?? (spec.type === 'bool' ? [true, false] : null),
    hint: both(spec.docs),
    label: both(labelOf(name)),
  }))
}

function emptyOf(spec: OptionSpec): unknown {
  if (spec.type === 'string' || spec.type === 'duration' || spec.type === 'size') return ''
  if (spec.type === 'bool') return false
  if (spec.type === 'list') return []
  return spec.type === 'map' || spec.type === 'any' ? {} : 0
}

function named(connectors: Connectors): ConnectorDefinition[] {
  return [...connectors.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
}

const listed = (name: string, docs: string): Json => ({ name, about: about(docs), type: 'internal' })

const node = (category: string, name: string): Json => ({ category, icon: 'iconPath', label: both(labelOf(name)) })

function missing(name: string): IxionError {
  return new IxionError('NOT_FOUND', `This plugin was not found:${name}`)
}

export function sinkList(connectors: Connectors): Json[] {
  return named(connectors).flatMap((c) => (c.sink ? [listed(c.name, c.sink.docs)] : []))
}

export function sinkDocument(connectors: Connectors, name: string): Json {
  const connector = connectors.get(name)
  if (!connector?.sink) throw missing(name)
  const { docs, options } = connector.sink
  return {
    about: about(docs),
    libs: [],
    properties: propertiesOf({ ...options, ...commonSinkSpecs, ...options }, connector.connection?.options ?? {}),
    node: node('sink', name),
    type: 'internal',
  }
}

export type SourceRole = 'scan' | 'lookup'

export function sourceList(connectors: Connectors, role: SourceRole): Json[] {
  return named(connectors).flatMap((c) => {
    const definition = role === 'lookup' ? c.lookup : c.source
    return definition ? [listed(c.name, definition.docs)] : []
  })
}

export function sourceDocument(connectors: Connectors, name: string): Json {
  const connector = connectors.get(name)
  const definition = connector?.source ?? connector?.lookup
  if (!connector || !definition) throw missing(name)
  const options = { ...definition.options, ...connector.lookup?.options }
  return {
    about: about(definition.docs),
    libs: [],
    dataSource: { hint: both(definition.docs), label: both('Data source') },
    properties: {
      default: propertiesOf({ ...options, ...commonSourceSpecs, ...options }, connector.connection?.options ?? {}),
    },
    node: node('source', name),
    type: 'internal',
  }
}

export function connectionList(connectors: Connectors): Json[] {
  return named(connectors).flatMap((c) => (c.connection ? [listed(c.name, (c.source ?? c.sink)?.docs ?? '')] : []))
}

export function connectionDocument(connectors: Connectors, name: string): Json {
  const connector = connectors.get(name)
  if (!connector?.connection) throw missing(name)
  const { options } = connector.connection
  return {
    about: about((connector.source ?? connector.sink)?.docs ?? ''),
    libs: [],
    dataSource: {},
    properties: { default: propertiesOf(options, options) },
    node: node('source', name),
    type: 'internal',
  }
}

/** One description file, as the reference has one for the functions it comes with. */
export function functionDocuments(): Json[] {
  return [
    {
      about: { ...about('Built-in functions.'), helpUrl: languages(''), description: languages('Built-in functions.') },
      name: 'internal',
      functions: listFunctions()
        .flatMap((f) => [f, ...(f.aliases ?? []).map((name) => ({ ...f, name }))])
        .map(functionDocument),
    },
  ]
}

/** Operators of graph rules (spec/rest-api.md 5.2): name, text, properties with type and text. */
const operators: readonly (readonly [string, string, OptionSpecs])[] = [
  ['filter', 'Keeps the rows, or after grouping the groups, that meet a condition.', { expr: required('Condition.') }],
  ['function', 'Computes one function call and adds its result.', { expr: required('A call, with AS and a name.') }],
  ['aggfunc', 'Computes one aggregate over each collection.', { expr: required('A call such as count(*).') }],
  [
    'pick',
    'Selects and renames columns.',
    {
      fields: { type: 'list', element: 'string', docs: 'Expressions of the select list.' },
      isAgg: { type: 'bool', default: false, docs: 'One row per collection.' },
    },
  ],
  [
    'window',
    'Collects rows.',
    {
      type: {
        type: 'string',
        oneOf: ['tumblingwindow', 'hoppingwindow', 'sessionwindow', 'slidingwindow', 'countwindow'],
        docs: 'Kind of the window.',
      },
      unit: { type: 'string', oneOf: ['dd', 'hh', 'mi', 'ss', 'ms'], docs: 'Unit of size and interval.' },
      size: { type: 'int', docs: 'Length of the window.' },
      interval: { type: 'int', default: 0, docs: 'Step, or gap of a session.' },
    },
  ],
  [
    'join',
    'Joins the rows of several streams.',
    {
      from: required('Stream the join starts from.'),
      joins: { type: 'list', docs: 'Objects with name, type and on.' },
    },
  ],
  ['groupby', 'Groups a collection.', { dimensions: { type: 'list', element: 'string', docs: 'Expressions.' } }],
  ['orderby', 'Sorts a collection.', { sorts: { type: 'list', docs: 'Objects with field and desc.' } }],
  [
    'switch',
    'Sends rows to the output of the case they meet.',
    {
      cases: { type: 'list', element: 'string', docs: 'Conditions, one an output.' },
      stopAtFirstMatch: { type: 'bool', default: false, docs: 'Only the first case that is met.' },
    },
  ],
  [
    'watermark',
    'Puts rows into the order of their event times.',
    {
      emitters: { type: 'list', element: 'string', docs: 'Source streams.' },
      sendWatermark: { type: 'bool', default: false, docs: 'Hands the watermark on.' },
    },
  ],
]

function required(docs: string): OptionSpec {
  return { type: 'string', required: true, docs }
}

export function operatorDocuments(): Json[] {
  return operators.map(([name, docs, specs]) => ({
    name,
    about: { ...about(docs), helpUrl: languages(''), description: languages(docs) },
    properties: propertiesOf(specs, {}),
    node: { category: 'operator', icon: 'iconPath', label: languages(labelOf(name)) },
  }))
}

const languages = (text: string): Json => ({ en_US: text, zh_CN: text })

function functionDocument(f: FunctionDefinition): Json {
  return {
    name: f.name,
    example: f.examples[0]?.expression ?? `${f.name}(${f.args.map((a) => a.name).join(', ')})`,
    ...(f.kind === 'aggregate' && { aggregate: true }),
    hint: languages(f.docs),
    args: f.args.map((a) => ({
      name: a.name,
      optional: false,
      control: 'field',
      type: a.type,
      hint: languages(a.docs ?? ''),
      label: languages(labelOf(a.name)),
    })),
    ...(f.returns && { return: { type: f.returns } }),
    node: { category: 'function', icon: 'iconPath', label: languages(f.name) },
  }
}
