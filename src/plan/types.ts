/**
 * What kind of value an expression gives, as far as the statement and the declared schemas tell (spec/sql.md 2.1 to 2.6).
 * Every expression may also give null, and fail; a type says what a non-null result is.
 */
import type { Kind } from '../core/values.ts'
import type { FunctionLookup } from '../functions/contract.ts'
import type { Expression, FieldType, StreamDefinition } from '../sql/ast.ts'
import type { LogicalPlan } from './logical.ts'

/** A kind of value; `number` is int64 or float64; `unknown` may be anything. */
export type ValueType = Kind | 'number' | 'unknown'

export interface TypeScope {
  /** Type of a column; `emitter` null = bound to no particular source. */
  readonly column: (emitter: string | null, name: string) => FieldType | null
  readonly functions: FunctionLookup
}

/**
 * The scope of a plan's sources. `typed` says whether a source's rows have their declared types; by default those that are
 * decoded by a schema-driven format, or validated strictly, have them (spec/sql.md 2.2: delimited cells are text whatever is
 * declared). DATETIME columns are times only after strict validation.
 */
export function typeScopeOf(
  plan: LogicalPlan,
  functions: FunctionLookup,
  typed: (definition: StreamDefinition) => boolean = hasTypedRows,
): TypeScope {
  const schemas = new Map<string, ReadonlyMap<string, FieldType>>()
  for (const { emitter, definition, fields } of plan.sources) {
    if (fields === null || !typed(definition)) continue
    const strict = definition.options.strictValidation ?? false
    const known = fields.filter((f) => strict || f.type.kind !== 'datetime')
    schemas.set(emitter, new Map(known.map((f) => [f.name, f.type])))
  }
  const [only] = plan.sources.length === 1 ? [...schemas.values()] : []
  return {
    column: (emitter, name) => (emitter === null ? only : schemas.get(emitter))?.get(name) ?? null,
    functions,
  }
}

function hasTypedRows(definition: StreamDefinition): boolean {
  const format = definition.options.format?.toLowerCase() ?? 'json'
  return definition.options.strictValidation === true || format === 'json' || format === 'protobuf'
}

export function typeOf(e: Expression, scope: TypeScope): ValueType {
  switch (e.kind) {
    case 'integer':
      return 'int64'
    case 'float':
      return 'float64'
    case 'string':
      return 'string'
    case 'boolean':
    case 'in':
    case 'between':
    case 'like':
    case 'isNull':
      return 'bool'
    case 'null':
      return 'null'
    case 'parenthesis':
    case 'alias':
      return typeOf(e.expression, scope)
    case 'computed':
      return typeOf(e.origin, scope)
    case 'column':
    case 'member':
    case 'index':
      return valueType(declaredType(e, scope))
    case 'slice':
      return 'array'
    case 'wildcard':
      return 'object'
    case 'binary':
      return binaryType(e.operator, typeOf(e.left, scope), typeOf(e.right, scope))
    case 'case': {
      const results = [...e.branches.map((b) => b.then), ...(e.otherwise ? [e.otherwise] : [])]
      return results.map((r) => typeOf(r, scope)).reduce(common, 'null')
    }
    case 'call':
      return callType(e, scope)
    case 'meta':
    case 'timeUnit':
      return 'unknown'
    default:
      return unknownKind(e)
  }
}

/** The declared type of a column or of a path into one. */
function declaredType(e: Expression, scope: TypeScope): FieldType | null {
  switch (e.kind) {
    case 'column':
      return scope.column(e.stream, e.name)
    case 'alias':
    case 'parenthesis':
      return declaredType(e.expression, scope)
    case 'member': {
      const object = declaredType(e.object, scope)
      return object?.kind === 'struct' ? (object.fields.find((f) => f.name === e.key)?.type ?? null) : null
    }
    case 'index': {
      const object = declaredType(e.object, scope)
      return object?.kind === 'array' ? object.element : null
    }
    default:
      return null
  }
}

function valueType(type: FieldType | null): ValueType {
  switch (type?.kind) {
    case 'bigint':
      return 'int64'
    case 'float':
      return 'float64'
    case 'string':
      return 'string'
    case 'boolean':
      return 'bool'
    case 'bytea':
      return 'bytes'
    case 'datetime':
      return 'time'
    case 'array':
      return 'array'
    case 'struct':
      return 'object'
    default:
      return 'unknown'
  }
}

const numeric: ReadonlySet<ValueType> = new Set<ValueType>(['int64', 'float64', 'number'])
const arithmetic = new Set(['+', '-', '*', '/', '%'])
const bitwise = new Set(['&', '|', '^'])

function binaryType(operator: string, left: ValueType, right: ValueType): ValueType {
  if (arithmetic.has(operator)) {
    if (left === 'null' || right === 'null') return 'null'
    if (left === 'int64' && right === 'int64') return 'int64'
    // A value that is no number fails here, so what comes out is a number.
    if (left === 'float64' || right === 'float64') return 'float64'
    return 'number'
  }
  // With a null operand `&` gives false, so two integers give an integer or false.
  if (bitwise.has(operator)) return left === 'bool' && right === 'bool' ? 'bool' : 'unknown'
  return 'bool'
}

/** Aggregates whose result has the kind of their first argument. */
const keepsArgumentType = new Set(['sum', 'avg', 'max', 'min', 'last_value'])

function callType(e: Extract<Expression, { kind: 'call' }>, scope: TypeScope): ValueType {
  const returns = scope.functions(e.name)?.returns
  if (returns !== undefined) return returns
  const [first] = e.args
  if (!first || !keepsArgumentType.has(e.name)) return 'unknown'
  const type = typeOf(first, scope)
  return numeric.has(type) || (type === 'string' && e.name !== 'sum' && e.name !== 'avg') ? type : 'unknown'
}

function common(a: ValueType, b: ValueType): ValueType {
  if (a === b || b === 'null') return a
  if (a === 'null') return b
  return numeric.has(a) && numeric.has(b) ? 'number' : 'unknown'
}

function unknownKind(e: never): never {
  throw new Error(`unknown expression ${(e as Expression).kind}`)
}
