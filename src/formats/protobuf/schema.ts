/**
 * From the text of registered .proto schemas to the plan of one message: what decoder and encoder need, nothing else.
 * Parsing is protobufjs, loaded on first use; its code generation is never used (spec/connectors.md 12.5, 12.6, 13).
 */
import { IxionError, messageOf } from '../../core/errors.ts'
import type { ColumnType, SchemaSource } from '../contract.ts'

export type ScalarKind =
  | 'double'
  | 'float'
  | 'int32'
  | 'uint32'
  | 'sint32'
  | 'fixed32'
  | 'sfixed32'
  | 'int64'
  | 'uint64'
  | 'sint64'
  | 'fixed64'
  | 'sfixed64'
  | 'bool'
  | 'string'
  | 'bytes'
  | 'enum'

export interface FieldPlan {
  readonly name: string
  readonly id: number
  readonly kind: ScalarKind | 'message'
  /** Of a message field. */
  readonly message: MessagePlan | null
  /** Of an enum field: number of each name. */
  readonly numbers: ReadonlyMap<string, number> | null
  readonly repeated: boolean
  /** Kind of the keys of a map field; its values are `kind`. */
  readonly mapKey: ScalarKind | null
  readonly packed: boolean
  readonly required: boolean
  /** Unset is told apart from zero (proto2, `optional`, oneof, messages). */
  readonly presence: boolean
  /** Other members of the same oneof, which a set member clears; null outside of a oneof (real or of an `optional`). */
  readonly rivals: readonly string[] | null
  /** Tag-delimited (proto2 group) instead of length-delimited. */
  readonly group: boolean
  /** Default of an unset scalar as .proto text gives it, null = zero. */
  readonly defaultValue: string | number | boolean | null
}

export interface MessagePlan {
  readonly name: string
  /** In order of declaration. */
  readonly fields: readonly FieldPlan[]
  readonly byId: ReadonlyMap<number, FieldPlan>
  readonly required: readonly FieldPlan[]
  /** google.protobuf.Int32Value and its kin: a row holds the bare value. */
  readonly wrapper: boolean
}

type Protobuf = typeof import('protobufjs')
type Type = import('protobufjs').Type
type Field = import('protobufjs').Field

let protobuf: Protobuf | undefined

/** Loads protobufjs; {@link loadMessage} needs it. */
export async function loadProtobuf(): Promise<void> {
  const module = (await import('protobufjs')) as Protobuf & { default?: Protobuf }
  protobuf = module.default ?? module
}

const MAX_SCHEMA_CHARS = 1 << 20
const MAX_IMPORTS = 100

/**
 * The message `schemaId` names: `file.Message`, where Message may carry its package. Throws IxionError NOT_FOUND (schema or
 * message) or INVALID_DOCUMENT (text that is not .proto).
 */
export function loadMessage(schemaId: string, schemas: SchemaSource): MessagePlan {
  const pb = protobuf
  if (!pb) throw new IxionError('INTERNAL', 'format protobuf was not loaded: await its load() before use')
  const dot = schemaId.indexOf('.')
  const file = dot < 0 ? schemaId : schemaId.slice(0, dot)
  const message = dot < 0 ? '' : schemaId.slice(dot + 1)
  const text = schemas.schemaText('protobuf', file)
  if (text === undefined) {
    throw new IxionError('NOT_FOUND', `schema type protobuf id ${file} not found in registry`)
  }
  const root = new pb.Root()
  const name = parseFiles(pb, root, file, text, schemas)
  guarded(file, () => root.resolveAll())
  const short = message.split('.')[0] ?? ''
  for (const path of [name && `${name}.${message}`, message, name && `${name}.${short}`, short]) {
    const found = path ? root.lookup(path, [pb.Type]) : null
    if (found) return guarded(file, () => planOf(pb, found as Type, new Map()))
  }
  throw new IxionError('NOT_FOUND', `message type ${message} not found in schema path ${file}`, {
    hint: 'Write the schema id as FILE.MESSAGE.',
  })
}

/** Checks that a schema text parses on its own (imports are looked up when the schema is used). */
export function checkSchemaText(file: string, text: string): void {
  const pb = protobuf
  if (!pb) throw new IxionError('INTERNAL', 'format protobuf was not loaded: await its load() before use')
  parseOne(pb, new pb.Root(), file, text)
}

function guarded<T>(file: string, run: () => T): T {
  try {
    return run()
  } catch (error) {
    if (error instanceof IxionError) throw error
    throw new IxionError('INVALID_DOCUMENT', `parse schema file(s) ${file} failed: ${messageOf(error)}`, {
      cause: error,
    })
  }
}

function parseOne(pb: Protobuf, root: InstanceType<Protobuf['Root']>, file: string, text: string) {
  if (text.length > MAX_SCHEMA_CHARS) {
    throw new IxionError('LIMIT', `schema file ${file} exceeds ${MAX_SCHEMA_CHARS} characters`)
  }
  return guarded(file, () => pb.parse(text, root, { keepCase: true }))
}

/** Parses the file and, transitively, what it imports; the package of the first. */
function parseFiles(
  pb: Protobuf,
  root: InstanceType<Protobuf['Root']>,
  file: string,
  text: string,
  schemas: SchemaSource,
): string {
  const first = parseOne(pb, root, file, text)
  const seen = new Set<string>([file, `${file}.proto`])
  const queue = [...(first.imports ?? []), ...(first.weakImports ?? [])]
  for (let path = queue.shift(); path !== undefined; path = queue.shift()) {
    if (seen.has(path)) continue
    seen.add(path)
    if (seen.size > MAX_IMPORTS) throw new IxionError('LIMIT', `schema ${file} imports more than ${MAX_IMPORTS} files`)
    const known = pb.common.get(path)
    if (known?.nested) {
      root.addJSON(known.nested)
      continue
    }
    const imported = importedText(file, path, schemas)
    if (imported === undefined) {
      throw new IxionError(
        'NOT_FOUND',
        `parse schema file(s) ${file} failed: import ${path} is not a registered schema`,
      )
    }
    const parsed = parseOne(pb, root, path, imported)
    queue.push(...(parsed.imports ?? []), ...(parsed.weakImports ?? []))
  }
  return first.package ?? ''
}

/** An import is another registered schema, a file beside the schema in its folder, or either by its last name. */
function importedText(file: string, path: string, schemas: SchemaSource): string | undefined {
  const bare = path.replace(/\.proto$/, '')
  const last = bare.slice(bare.lastIndexOf('/') + 1)
  for (const name of [bare, `${file}/${bare}`, last]) {
    const text = schemas.schemaText('protobuf', name)
    if (text !== undefined) return text
  }
  return undefined
}

const wrapperName = /^\.google\.protobuf\.(Bool|Bytes|Double|Float|Int32|Int64|String|UInt32|UInt64)Value$/

function planOf(pb: Protobuf, type: Type, known: Map<Type, MessagePlan>): MessagePlan {
  const existing = known.get(type)
  if (existing) return existing
  const fields: FieldPlan[] = []
  const byId = new Map<number, FieldPlan>()
  const required: FieldPlan[] = []
  const plan: MessagePlan = {
    name: type.fullName.slice(1),
    fields,
    byId,
    required,
    wrapper: wrapperName.test(type.fullName),
  }
  known.set(type, plan)
  for (const field of type.fieldsArray) {
    const made = fieldPlan(pb, field, known)
    fields.push(made)
    byId.set(made.id, made)
    if (made.required) required.push(made)
  }
  return plan
}

function fieldPlan(pb: Protobuf, field: Field, known: Map<Type, MessagePlan>): FieldPlan {
  field.resolve()
  const { resolvedType } = field
  const isMessage = resolvedType instanceof pb.Type
  const isEnum = resolvedType instanceof pb.Enum
  const rivals = field.partOf ? field.partOf.fieldsArray.map((f) => f.name).filter((n) => n !== field.name) : null
  const given: unknown = field.options?.default
  return {
    name: field.name,
    id: field.id,
    kind: isMessage ? 'message' : isEnum ? 'enum' : (field.type as ScalarKind),
    message: isMessage ? planOf(pb, resolvedType, known) : null,
    numbers: isEnum ? new Map(Object.entries(resolvedType.values)) : null,
    repeated: field.repeated,
    mapKey: field instanceof pb.MapField ? (field.keyType as ScalarKind) : null,
    packed: field.packed && !isMessage && field.type !== 'string' && field.type !== 'bytes',
    required: field.required,
    presence: isMessage || field.hasPresence,
    rivals,
    group: field.delimited,
    defaultValue: isEnum
      ? (resolvedType.values[String(given)] ?? firstNumber(resolvedType.values))
      : typeof given === 'string' || typeof given === 'number' || typeof given === 'boolean'
        ? given
        : null,
  }
}

const firstNumber = (values: Record<string, number>): number => Object.values(values)[0] ?? 0

/** Deepest nesting of inferred columns; messages may contain themselves. */
const MAX_COLUMN_DEPTH = 16

const columnKinds: Readonly<Record<ScalarKind, 'float' | 'bigint' | 'boolean' | 'string' | 'bytea'>> = {
  double: 'float',
  float: 'float',
  int32: 'bigint',
  uint32: 'bigint',
  sint32: 'bigint',
  fixed32: 'bigint',
  sfixed32: 'bigint',
  int64: 'bigint',
  uint64: 'bigint',
  sint64: 'bigint',
  fixed64: 'bigint',
  sfixed64: 'bigint',
  enum: 'bigint',
  bool: 'boolean',
  string: 'string',
  bytes: 'bytea',
}

/** The columns a stream without declared ones gets from its message (spec/connectors.md 12.6). */
export function inferColumns(plan: MessagePlan, depth = MAX_COLUMN_DEPTH): Map<string, ColumnType> {
  return new Map(plan.fields.map((field) => [field.name, columnType(field, depth)]))
}

function columnType(field: FieldPlan, depth: number): ColumnType {
  if (field.mapKey) return { kind: 'any' }
  let type: ColumnType
  if (field.kind !== 'message') type = { kind: columnKinds[field.kind] }
  else if (!field.message || depth === 0) type = { kind: 'any' }
  else if (field.message.wrapper) type = columnType(field.message.fields[0] as FieldPlan, depth - 1)
  else type = { kind: 'struct', fields: Object.fromEntries(inferColumns(field.message, depth - 1)) }
  return field.repeated ? { kind: 'array', element: type } : type
}
