/** Our syntax tree -> the struct names of the recorded `ast` and `stream` members of parse.jsonl. */
import type {
  BinaryOperator,
  CallExpression,
  Expression,
  FieldType,
  SelectStatement,
  SortKey,
  Statement,
  StreamDefinition,
  Window,
} from '../../../src/sql/ast.ts'
import { explainExpression, windowTypeNames } from '../../../src/sql/explain.ts'
import type { FunctionResolver } from '../../../src/sql/functions.ts'
import { dispatch, type ExpressionTable } from '../../../src/sql/walk.ts'

type Struct = Record<string, unknown>

const operators: Record<BinaryOperator, string> = {
  '+': 'ADD',
  '-': 'SUB',
  '*': 'MUL',
  '/': 'DIV',
  '%': 'MOD',
  '&': 'BITWISE_AND',
  '|': 'BITWISE_OR',
  '^': 'BITWISE_XOR',
  '=': 'EQ',
  '!=': 'NEQ',
  '<': 'LT',
  '<=': 'LTE',
  '>': 'GT',
  '>=': 'GTE',
  AND: 'AND',
  OR: 'OR',
}
const functionTypes: Record<string, string> = {
  aggregate: 'FuncTypeAgg',
  multiColumn: 'FuncTypeCols',
  setReturning: 'FuncTypeSrf',
}

export function astOf(statement: Statement, functions: FunctionResolver): unknown {
  switch (statement.kind) {
    case 'select':
      return selectOf(statement, functions)
    case 'createStream':
      return streamOf(statement)
    case 'show':
      return { _: statement.what === 'streams' ? 'ShowStreamsStatement' : 'ShowTablesStatement' }
    default: {
      const capital = (word: string) => word.slice(0, 1).toUpperCase() + word.slice(1)
      return { _: `${capital(statement.kind)}${capital(statement.what)}Statement`, Name: statement.name }
    }
  }
}

function selectOf(s: SelectStatement, functions: FunctionResolver): Struct {
  const of = (e: Expression | null) => e && expressionOf(e, functions)
  const dimensions = [...s.dimensions.map((e) => ({ at: e.at, Expr: of(e) as unknown }))]
  if (s.window) dimensions.push({ at: s.window.at, Expr: windowOf(s.window, functions) })
  dimensions.sort((a, b) => a.at.line - b.at.line || a.at.column - b.at.column)
  return {
    _: 'SelectStatement',
    Fields: s.fields.map((f) => ({
      _: 'Field',
      Expr: of(f.expression),
      Name: f.expression.kind === 'wildcard' ? '*' : f.name,
      AName: f.alias,
      Invisible: f.invisible,
    })),
    Sources: [{ _: 'Table', Name: s.from.name, Alias: s.from.alias }],
    Joins: s.joins.map((j) => ({
      _: 'Join',
      Name: j.source.name,
      Alias: j.source.alias,
      JoinType: `${j.kind.toUpperCase()}_JOIN`,
      Expr: of(j.on),
    })),
    Condition: of(s.where),
    Dimensions: dimensions.map((d) => ({ _: 'Dimension', Expr: d.Expr })),
    Having: of(s.having),
    SortFields: s.orderBy.map((k) => sortOf(k, functions)),
    Limit: s.limit !== null && { _: 'LimitExpr', LimitCount: integer(s.limit) },
  }
}

const integer = (value: number | bigint): Struct => ({ _: 'IntegerLiteral', Val: Number(value) })

function sortOf(key: SortKey, functions: FunctionResolver): Struct {
  return {
    _: 'SortField',
    Uname: key.stream === null ? key.name : `${key.stream}\x07${key.name}`,
    Name: key.name,
    StreamName: key.stream,
    Ascending: key.ascending,
    FieldExpr: expressionOf(key.expression, functions),
  }
}

function windowOf(w: Window, functions: FunctionResolver): Struct {
  const of = (e: Expression | null) => e && expressionOf(e, functions)
  const timed = w.unit !== null
  const state = w.kind === 'state'
  return {
    _: 'Window',
    WindowType: state ? 'STATE_WINDOW' : windowTypeNames[w.kind],
    Length: !state && integer(w.length),
    Interval: (timed || w.interval > 0) && integer(w.interval),
    Delay: timed && integer(w.delay),
    TimeUnit: timed && { _: 'TimeLiteral', Val: w.unit?.toUpperCase() },
    TriggerCondition: of(w.when),
    PartitionExpr: partitionOf(w.partition, functions),
    Filter: of(w.filter),
    [w.emit ? 'BeginCondition' : 'SingleCondition']: of(w.begin),
    EmitCondition: of(w.emit),
  }
}

const partitionOf = (list: readonly Expression[], functions: FunctionResolver) =>
  list.length > 0 && { _: 'PartitionExpr', Exprs: list.map((e) => expressionOf(e, functions)) }

const binary = (OP: string, LHS: unknown, RHS: unknown): Struct => ({ _: 'BinaryExpr', OP, LHS, RHS })
const negated = (e: { negated: boolean }, name: string) => (e.negated ? `NOT${name}` : name)
const unknownToReference = (e: Expression): unknown => ({ _: e.kind })

const table: ExpressionTable<unknown, [FunctionResolver]> = {
  integer: (e) => integer(e.value),
  float: (e) => ({ _: 'NumberLiteral', Val: e.value }),
  string: (e) => ({ _: 'StringLiteral', Val: e.value }),
  boolean: (e) => ({ _: 'BooleanLiteral', Val: e.value }),
  timeUnit: (e) => ({ _: 'TimeLiteral', Val: e.unit.toUpperCase() }),
  column: (e) => ({ _: 'FieldRef', StreamName: e.stream ?? '$$default', Name: e.name }),
  meta: (e) => ({ _: 'MetaRef', StreamName: e.stream ?? '$$default', Name: e.key }),
  wildcard: (e, functions) =>
    e.stream !== null
      ? { _: 'FieldRef', StreamName: e.stream, Name: '*' }
      : {
          _: 'Wildcard',
          Token: 'ASTERISK',
          Except: e.except,
          Replace: e.replace.map((r) => ({ _: 'Field', AName: r.name, Expr: expressionOf(r.expression, functions) })),
        },
  binary: (e, functions) =>
    binary(operators[e.operator], expressionOf(e.left, functions), expressionOf(e.right, functions)),
  member: (e, functions) => binary('ARROW', expressionOf(e.object, functions), { _: 'JsonFieldRef', Name: e.key }),
  index: (e, functions) =>
    binary('SUBSET', expressionOf(e.object, functions), { _: 'IndexExpr', Index: expressionOf(e.index, functions) }),
  slice: (e, functions) =>
    binary('SUBSET', expressionOf(e.object, functions), {
      _: 'ColonExpr',
      Start: e.start ? expressionOf(e.start, functions) : integer(0),
      End: e.end ? expressionOf(e.end, functions) : integer(-2147483648),
    }),
  parenthesis: (e, functions) => ({ _: 'ParenExpr', Expr: expressionOf(e.expression, functions) }),
  in: (e, functions) =>
    binary(
      negated(e, 'IN'),
      expressionOf(e.left, functions),
      e.array
        ? expressionOf(e.array, functions)
        : { _: 'ValueSetExpr', LiteralExprs: e.list?.map((x) => expressionOf(x, functions)) },
    ),
  between: (e, functions) =>
    binary(negated(e, 'BETWEEN'), expressionOf(e.value, functions), {
      _: 'BetweenExpr',
      Lower: expressionOf(e.low, functions),
      Higher: expressionOf(e.high, functions),
    }),
  like: (e, functions) =>
    binary(negated(e, 'LIKE'), expressionOf(e.left, functions), {
      _: 'LikePattern',
      Expr: expressionOf(e.pattern, functions),
      Pattern: e.pattern.kind === 'string' && {
        $regex: explainExpression(e).replace(/^.*likePattern:(.*) \}$/s, '$1'),
      },
    }),
  case: (e, functions) => ({
    _: 'CaseExpr',
    Value: e.value && expressionOf(e.value, functions),
    WhenClauses: e.branches.map((b) => ({
      _: 'WhenClause',
      Expr: expressionOf(b.when, functions),
      Result: expressionOf(b.then, functions),
    })),
    ElseClause: e.otherwise && expressionOf(e.otherwise, functions),
  }),
  call: callOf,
  isNull: unknownToReference,
  null: unknownToReference,
  alias: unknownToReference,
  computed: unknownToReference,
}

function callOf(e: CallExpression, functions: FunctionResolver): Struct {
  return {
    _: 'Call',
    Name: e.name,
    FuncId: e.id,
    FuncType: functionTypes[functions(e.name)?.kind ?? ''],
    Args: e.args.map((arg, i) => {
      const expression = expressionOf(arg, functions)
      return e.columnNames ? { _: 'ColFuncField', Name: e.columnNames[i], Expr: expression } : expression
    }),
    Partition: partitionOf(e.partition, functions),
    WhenExpr: e.when && expressionOf(e.when, functions),
    SortFields: e.order.map((k) => sortOf(k, functions)),
  }
}

function expressionOf(e: Expression, functions: FunctionResolver): unknown {
  return dispatch(table, e, functions)
}

const optionKeys: Record<string, string> = {
  datasource: 'DATASOURCE',
  key: 'KEY',
  format: 'FORMAT',
  schemaId: 'SCHEMAID',
  delimiter: 'DELIMITER',
  type: 'TYPE',
  confKey: 'CONF_KEY',
  strictValidation: 'STRICT_VALIDATION',
  timestamp: 'TIMESTAMP',
  timestampFormat: 'TIMESTAMP_FORMAT',
  retainSize: 'RETAIN_SIZE',
  shared: 'SHARED',
  kind: 'KIND',
  extra: 'EXTRA',
  version: 'VERSION',
  temp: 'TEMP',
}

function streamOf(d: StreamDefinition): Struct {
  return {
    name: d.name,
    type: d.streamType === 'table' && 'table',
    fields: d.fields?.map((f) => ({ name: f.name, type: typeOf(f.type), Default: literalOf(f.default) })),
    options: Object.fromEntries(Object.entries(d.options).map(([key, value]) => [optionKeys[key] ?? key, value])),
  }
}

function typeOf(type: FieldType): unknown {
  switch (type.kind) {
    case 'array':
      return { array: typeOf(type.element) }
    case 'struct':
      return { struct: type.fields.map((f) => ({ name: f.name, type: typeOf(f.type) })) }
    default:
      return type.kind.toUpperCase()
  }
}

function literalOf(value: bigint | number | string | boolean | undefined): unknown {
  switch (typeof value) {
    case 'bigint':
      return integer(value)
    case 'number':
      return { _: 'NumberLiteral', Val: value }
    case 'string':
      return { _: 'StringLiteral', Val: value }
    case 'boolean':
      return { _: 'BooleanLiteral', Val: value }
    default:
      return undefined
  }
}

/** The records leave zero values out now and then: null, false, 0, '' and empty lists all compare as absent. */
export function withoutZeros(value: unknown): unknown {
  if (Array.isArray(value)) return value.length > 0 ? value.map(withoutZeros) : undefined
  if (value === null || typeof value !== 'object') return value || undefined
  const entries = Object.entries(value)
    .map(([key, v]): [string, unknown] => [key, withoutZeros(v)])
    .filter(([, v]) => v !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries)
}
