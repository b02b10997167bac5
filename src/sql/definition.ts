/** Stored definitions of streams and tables in their other forms: JSON, DESCRIBE text, schema JSON (spec/sql.md 1.16). */
import { IxionError } from '../core/errors.ts'
import type { FieldType, StreamDefinition, StreamField, StreamOptions } from './ast.ts'
import { basicTypes, defaultText, defaultValue, typeText } from './field-types.ts'
import { extensionSpecs } from './stream-options.ts'

export type TypeJson =
  | string
  | { readonly Type: 'array'; readonly ElementType: TypeJson }
  | { readonly Type: 'struct'; readonly Fields: readonly FieldJson[] }

export interface FieldJson {
  readonly FieldType: TypeJson
  readonly Name: string
  readonly DefaultClause?: string
}

/** Body of `GET /streams/{name}` (spec/rest-api.md 3.2). */
export interface DefinitionJson {
  readonly Name: string
  /** Null when schemaless. */
  readonly StreamFields: readonly FieldJson[] | null
  /** Only options that are set: not '', false or 0. */
  readonly Options: Readonly<Record<string, string | number | boolean>>
  /** 0 stream, 1 table. */
  readonly StreamType: 0 | 1
  readonly Statement: null
}

type OptionName = Exclude<keyof StreamOptions, 'extensions'>

/** JSON member of each option, in the order of the reference. */
const optionMembers: readonly (readonly [OptionName, string])[] = [
  ['datasource', 'datasource'],
  ['key', 'key'],
  ['format', 'format'],
  ['confKey', 'confKey'],
  ['type', 'type'],
  ['strictValidation', 'strictValidation'],
  ['timestamp', 'timestamp'],
  ['timestampFormat', 'timestampFormat'],
  ['shared', 'shared'],
  ['schemaId', 'schemaid'],
  ['version', 'version'],
  ['extra', 'extra'],
  ['temp', 'temp'],
  ['retainSize', 'retainSize'],
  ['kind', 'kind'],
  ['delimiter', 'delimiter'],
]

export function definitionToJson(d: StreamDefinition): DefinitionJson {
  const options: Record<string, string | number | boolean> = {}
  for (const [name, member] of optionMembers) {
    const value = d.options[name]
    if (value) options[member] = value
  }
  return {
    Name: d.name,
    StreamFields: d.fields?.map(fieldToJson) ?? null,
    Options: { ...options, ...d.options.extensions },
    StreamType: d.streamType === 'table' ? 1 : 0,
    Statement: null,
  }
}

function fieldToJson(f: StreamField): FieldJson {
  return {
    FieldType: typeToJson(f.type),
    Name: f.name,
    ...(f.default !== undefined && { DefaultClause: defaultText(f.default) }),
  }
}

function typeToJson(type: FieldType): TypeJson {
  switch (type.kind) {
    case 'array':
      return { Type: 'array', ElementType: typeToJson(type.element) }
    case 'struct':
      return { Type: 'struct', Fields: type.fields.map(fieldToJson) }
    default:
      return type.kind
  }
}

/** Reads what {@link definitionToJson} writes; throws INVALID_DOCUMENT with the path of what is wrong. */
export function definitionFromJson(json: unknown): StreamDefinition {
  const document = asObject(json, '')
  const fields = document['StreamFields'] ?? null
  const type = document['StreamType']
  if (type !== 0 && type !== 1) throw invalid('StreamType', '0 (stream) or 1 (table)')
  return {
    kind: 'createStream',
    streamType: type === 1 ? 'table' : 'stream',
    name: asText(document['Name'], 'Name'),
    fields: fields === null ? null : fieldsFromJson(fields, 'StreamFields', 0),
    options: optionsFromJson(asObject(document['Options'] ?? {}, 'Options')),
  }
}

const kindOfOption: Partial<Record<OptionName, 'boolean' | 'number'>> = {
  strictValidation: 'boolean',
  shared: 'boolean',
  temp: 'boolean',
  retainSize: 'number',
}

function optionsFromJson(json: Record<string, unknown>): StreamOptions {
  const options: Record<string, unknown> = {}
  const extensions: Record<string, string | boolean> = {}
  for (const [member, value] of Object.entries(json)) {
    const known = optionMembers.find(([, m]) => m === member)
    const kind = known ? (kindOfOption[known[0]] ?? 'string') : 'string'
    if (typeof value !== kind) throw invalid(`Options.${member}`, `a ${kind}`)
    if (known) options[known[0]] = value
    else if (extensionSpecs.has(member.toUpperCase())) extensions[member] = value as string
    else throw invalid(`Options.${member}`, 'a known option')
  }
  return { ...options, ...(Object.keys(extensions).length > 0 && { extensions }) }
}

const MAX_TYPE_DEPTH = 100

function fieldsFromJson(json: unknown, path: string, depth: number): StreamField[] {
  if (!Array.isArray(json)) throw invalid(path, 'a list of fields')
  return json.map((item, i): StreamField => {
    const at = `${path}[${i}]`
    const field = asObject(item, at)
    const name = asText(field['Name'], `${at}.Name`)
    const type = typeFromJson(field['FieldType'], `${at}.FieldType`, depth)
    const clause = field['DefaultClause']
    if (clause === undefined) return { name, type }
    const result = defaultValue(asText(clause, `${at}.DefaultClause`), type)
    if ('problem' in result) throw new IxionError('INVALID_DOCUMENT', result.problem, { path: `${at}.DefaultClause` })
    return { name, type, default: result.value }
  })
}

function typeFromJson(json: unknown, path: string, depth: number): FieldType {
  if (depth > MAX_TYPE_DEPTH) throw invalid(path, `a type nested at most ${MAX_TYPE_DEPTH} levels deep`)
  const basic = typeof json === 'string' ? basicTypes.get(json.toLowerCase()) : undefined
  if (basic) return { kind: basic }
  const type = asObject(json, path)
  if (type['Type'] === 'array') {
    return { kind: 'array', element: typeFromJson(type['ElementType'], `${path}.ElementType`, depth + 1) }
  }
  if (type['Type'] === 'struct') {
    return { kind: 'struct', fields: fieldsFromJson(type['Fields'], `${path}.Fields`, depth + 1) }
  }
  throw invalid(`${path}.Type`, "'array' or 'struct'")
}

function asObject(json: unknown, path: string): Record<string, unknown> {
  if (json === null || typeof json !== 'object' || Array.isArray(json)) throw invalid(path, 'an object')
  return json as Record<string, unknown>
}

function asText(json: unknown, path: string): string {
  if (typeof json !== 'string') throw invalid(path, 'a string')
  return json
}

function invalid(path: string, expected: string): IxionError {
  return new IxionError('INVALID_DOCUMENT', `stream definition: ${path || 'the document'} must be ${expected}`, {
    path,
  })
}

/** Keys of the DESCRIBE text, in order; only those set are shown. */
const describedOptions: readonly (readonly [OptionName, string])[] = [
  ['confKey', 'CONF_KEY'],
  ['datasource', 'DATASOURCE'],
  ['format', 'FORMAT'],
  ['schemaId', 'SCHEMAID'],
  ['key', 'KEY'],
  ['retainSize', 'RETAIN_SIZE'],
  ['shared', 'SHARED'],
  ['strictValidation', 'STRICT_VALIDATION'],
  ['timestamp', 'TIMESTAMP'],
  ['timestampFormat', 'TIMESTAMP_FORMAT'],
  ['type', 'TYPE'],
  ['extra', 'EXTRA'],
  ['version', 'VERSION'],
]

/** The answer to DESCRIBE STREAM and DESCRIBE TABLE. */
export function describeDefinition(d: StreamDefinition): string {
  const lines = ['Fields', '-'.repeat(80)]
  for (const f of d.fields ?? []) {
    const clause = f.default === undefined ? '' : `\tDEFAULT\t${defaultText(f.default)}`
    lines.push(`${f.name}\t${typeText(f.type)}${clause}`)
  }
  lines.push('')
  for (const [name, key] of describedOptions) {
    const value = d.options[name]
    if (value) lines.push(`${key}: ${value}`)
  }
  for (const [key, value] of Object.entries(d.options.extensions ?? {})) lines.push(`${key.toUpperCase()}: ${value}`)
  return `${lines.join('\n')}\n`
}

/** One column in `GET /streams/{name}/schema`. `hasIndex`, `index` and `selected` are filled where columns are numbered. */
export interface SchemaJson {
  readonly type?: string
  readonly default?: string
  readonly items?: SchemaJson
  readonly properties?: Readonly<Record<string, SchemaJson>>
  readonly hasIndex?: boolean
  readonly index: number
  readonly selected?: boolean
}

/** Declared columns by name; null for a schemaless definition. */
export function schemaToJson(fields: readonly StreamField[] | null): Record<string, SchemaJson> | null {
  if (fields === null) return null
  return Object.fromEntries(
    fields.map((f) => {
      const { type, ...rest } = typeToSchema(f.type)
      const clause = f.default === undefined ? {} : { default: defaultText(f.default) }
      return [f.name, { type, ...clause, ...rest } as SchemaJson]
    }),
  )
}

function typeToSchema(type: FieldType): SchemaJson {
  switch (type.kind) {
    case 'array':
      return { type: 'array', items: typeToSchema(type.element), index: 0 }
    case 'struct':
      return { type: 'struct', properties: schemaToJson(type.fields) ?? {}, index: 0 }
    default:
      return { type: type.kind, index: 0 }
  }
}
