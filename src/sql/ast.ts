/**
 * The syntax tree of Ixion SQL. Nodes are immutable data with a `kind`; each step returns another tree.
 * `visit` dispatch tables are `Record<Expression['kind'], ...>`, so a new kind does not compile until every step knows it.
 */

/** 1-based position of a node's first token. */
export interface Position {
  readonly line: number
  readonly column: number
}

export type BinaryOperator =
  | '+'
  | '-'
  | '*'
  | '/'
  | '%'
  | '&'
  | '|'
  | '^'
  | '='
  | '!='
  | '<'
  | '<='
  | '>'
  | '>='
  | 'AND'
  | 'OR'

/** Qualifier of a reference before and after name resolution. */
export const DEFAULT_STREAM = '$$default'

interface Node {
  readonly at: Position
}

/** `fromSource: false` marks nodes an analyser step made. */
export interface IntegerLiteral extends Node {
  readonly kind: 'integer'
  readonly value: bigint
}
export interface FloatLiteral extends Node {
  readonly kind: 'float'
  readonly value: number
}
export interface StringLiteral extends Node {
  readonly kind: 'string'
  readonly value: string
}
export interface BooleanLiteral extends Node {
  readonly kind: 'boolean'
  readonly value: boolean
}
/**
 * Ixion addition: the NULL literal. The parser makes it of the bare, unqualified word; `` `null` `` in backticks is a column.
 * Where a source of the statement declares a column of that spelling, the analyser reads the literal as that column.
 */
export interface NullLiteral extends Node {
  readonly kind: 'null'
  /** As written, when that is not `null`. */
  readonly written?: string
}
/** DD HH MI SS MS as a window unit. */
export interface TimeUnitLiteral extends Node {
  readonly kind: 'timeUnit'
  readonly unit: TimeUnit
}
export type TimeUnit = 'dd' | 'hh' | 'mi' | 'ss' | 'ms'

/** `a`, `s.a`. `stream` is null as written without qualifier; the analyser sets the source name (or leaves null = unbound). */
export interface ColumnReference extends Node {
  readonly kind: 'column'
  readonly stream: string | null
  readonly name: string
}
/** A name the analyser bound to a select field's alias. `expression` is that field's resolved expression. */
export interface AliasReference extends Node {
  readonly kind: 'alias'
  readonly name: string
  readonly expression: Expression
}
/** Value an operator left on the row under an internal name (`$$a_lag_0`, `$$agg_ref_0`, `wf_row_number_1`). */
export interface ComputedReference extends Node {
  readonly kind: 'computed'
  readonly name: string
  readonly origin: Expression
}
/** `*`, `s.*`, with EXCEPT and REPLACE. */
export interface Wildcard extends Node {
  readonly kind: 'wildcard'
  readonly stream: string | null
  readonly except: readonly string[]
  readonly replace: readonly { readonly name: string; readonly expression: Expression }[]
}
export interface BinaryExpression extends Node {
  readonly kind: 'binary'
  readonly operator: BinaryOperator
  readonly left: Expression
  readonly right: Expression
}
/** `x->k`, `x.k`. */
export interface MemberExpression extends Node {
  readonly kind: 'member'
  readonly object: Expression
  readonly key: string
}
/** `x[i]`. */
export interface IndexExpression extends Node {
  readonly kind: 'index'
  readonly object: Expression
  readonly index: Expression
}
/** `x[s:e]`; an omitted bound is null. */
export interface SliceExpression extends Node {
  readonly kind: 'slice'
  readonly object: Expression
  readonly start: Expression | null
  readonly end: Expression | null
}
/** Kept because naming, HAVING checks and EXPLAIN see it. */
export interface ParenthesisExpression extends Node {
  readonly kind: 'parenthesis'
  readonly expression: Expression
}
export interface InExpression extends Node {
  readonly kind: 'in'
  readonly negated: boolean
  readonly left: Expression
  /** A written list, or one array-valued expression. */
  readonly list: readonly Expression[] | null
  readonly array: Expression | null
}
export interface BetweenExpression extends Node {
  readonly kind: 'between'
  readonly negated: boolean
  readonly value: Expression
  readonly low: Expression
  readonly high: Expression
}
export interface LikeExpression extends Node {
  readonly kind: 'like'
  readonly negated: boolean
  readonly left: Expression
  readonly pattern: Expression
}
/** Ixion addition: `x IS [NOT] NULL`. */
export interface IsNullExpression extends Node {
  readonly kind: 'isNull'
  readonly negated: boolean
  readonly operand: Expression
}
export interface CaseExpression extends Node {
  readonly kind: 'case'
  readonly value: Expression | null
  readonly branches: readonly { readonly when: Expression; readonly then: Expression }[]
  readonly otherwise: Expression | null
}
export interface CallExpression extends Node {
  readonly kind: 'call'
  /** Lower-cased name of a built-in, registered spelling of a user function. */
  readonly name: string
  /** As written; deduplicate gets the whole row as a hidden first argument, a wildcard. */
  readonly args: readonly Expression[]
  /** OVER(PARTITION BY ...). */
  readonly partition: readonly Expression[]
  /** OVER(WHEN ...). */
  readonly when: Expression | null
  /** OVER(... ORDER BY ...), row_number only. */
  readonly order: readonly SortKey[]
  /** Number of the call in the statement, from 0 in parse order; keys function state. */
  readonly id: number
  /** Multi-column functions only: the output name of each argument, '' for an unnamed one (spec/sql.md 5.9). */
  readonly columnNames?: readonly string[]
}
/**
 * The argument of meta() and mqtt(): `key`, `stream.key`, `*` is a name, not a column. Further steps (`key->sub`) are member
 * expressions around it.
 */
export interface MetaReference extends Node {
  readonly kind: 'meta'
  readonly stream: string | null
  readonly key: string
}

export type Expression =
  | IntegerLiteral
  | FloatLiteral
  | StringLiteral
  | BooleanLiteral
  | NullLiteral
  | TimeUnitLiteral
  | ColumnReference
  | AliasReference
  | ComputedReference
  | Wildcard
  | MetaReference
  | BinaryExpression
  | MemberExpression
  | IndexExpression
  | SliceExpression
  | ParenthesisExpression
  | InExpression
  | BetweenExpression
  | LikeExpression
  | IsNullExpression
  | CaseExpression
  | CallExpression

export interface SelectField {
  readonly expression: Expression
  /** Name from the expression (spec/sql.md 1.10): `a`, `count`, `kuiper_field_0`; '' for wildcards. */
  readonly name: string
  /** AS name, or null. */
  readonly alias: string | null
  readonly invisible: boolean
}

export interface SourceReference extends Node {
  readonly name: string
  readonly alias: string | null
}
export type JoinKind = 'inner' | 'left' | 'right' | 'full' | 'cross'
export interface Join extends Node {
  readonly kind: JoinKind
  readonly source: SourceReference
  readonly on: Expression | null
}
export interface SortKey extends Node {
  readonly expression: Expression
  /** Leading identifier, the reference's internal key name. */
  readonly name: string
  readonly stream: string | null
  readonly ascending: boolean
}

export type WindowKind = 'tumbling' | 'hopping' | 'sliding' | 'session' | 'count' | 'state'
export interface Window extends Node {
  readonly kind: WindowKind
  /** Null for count and state windows. */
  readonly unit: TimeUnit | null
  /** Length in units (tumbling, hopping, sliding, session max) or rows (count); 0 for state. */
  readonly length: number
  /** Hop, session timeout, count interval; 0 when absent. */
  readonly interval: number
  /** Sliding delay in units; 0 when absent. */
  readonly delay: number
  /** State window conditions; with a single condition `emit` is null. */
  readonly begin: Expression | null
  readonly emit: Expression | null
  readonly filter: Expression | null
  /** OVER(WHEN ...), OVER(PARTITION BY ...). */
  readonly when: Expression | null
  readonly partition: readonly Expression[]
}

export interface SelectStatement {
  readonly kind: 'select'
  readonly fields: readonly SelectField[]
  readonly from: SourceReference
  readonly joins: readonly Join[]
  readonly where: Expression | null
  /** GROUP BY items in text order, the window left out. */
  readonly dimensions: readonly Expression[]
  readonly window: Window | null
  readonly having: Expression | null
  readonly orderBy: readonly SortKey[]
  readonly limit: number | null
}

export type BasicType = 'bigint' | 'float' | 'string' | 'bytea' | 'datetime' | 'boolean'
export type FieldType =
  | { readonly kind: BasicType }
  | { readonly kind: 'array'; readonly element: FieldType }
  | { readonly kind: 'struct'; readonly fields: readonly StreamField[] }
export interface StreamField {
  readonly name: string
  readonly type: FieldType
  /** Already converted to the column's type; absent when not declared. */
  readonly default?: bigint | number | string | boolean
}

/** WITH options, lower-camel names; absent = not given. Text exactly as written. */
export interface StreamOptions {
  readonly datasource?: string
  readonly key?: string
  readonly format?: string
  readonly schemaId?: string
  readonly delimiter?: string
  readonly type?: string
  readonly confKey?: string
  readonly strictValidation?: boolean
  readonly timestamp?: string
  readonly timestampFormat?: string
  readonly retainSize?: number
  readonly shared?: boolean
  readonly kind?: 'scan' | 'lookup'
  readonly extra?: string
  readonly version?: string
  readonly temp?: boolean
  /** Ixion additions (docs/compatibility.md): BUFFER_FULL_POLICY, LATE_POLICY, MAX_FUTURE_SKEW, IDLE_TIMEOUT ... by lower-case key. */
  readonly extensions?: Readonly<Record<string, string | boolean>>
}

export interface StreamDefinition {
  readonly kind: 'createStream'
  readonly streamType: 'stream' | 'table'
  readonly name: string
  /** Null = schemaless `()`. */
  readonly fields: readonly StreamField[] | null
  readonly options: StreamOptions
}

export type Statement =
  | SelectStatement
  | StreamDefinition
  | { readonly kind: 'show'; readonly what: 'streams' | 'tables' }
  | { readonly kind: 'describe' | 'explain' | 'drop'; readonly what: 'stream' | 'table'; readonly name: string }
