/**
 * The logical plan: what the analyser and the rewrites produce and the compiler consumes. One node per operator of
 * spec/sql.md 6.1; expressions are resolved (columns carry their source, aliases are AliasReference nodes, analytic calls
 * and WHERE aggregates are ComputedReference nodes).
 */
import type {
  CallExpression,
  Expression,
  FieldType,
  JoinKind,
  SelectField,
  SortKey,
  StreamDefinition,
  StreamField,
  Window,
} from '../sql/ast.ts'

export interface SourceNode {
  readonly kind: 'source'
  readonly definition: StreamDefinition
  /** Name rows carry as emitter: the alias in the statement, else the stream's name. */
  readonly emitter: string
  /** Columns to decode, sorted; null = all. */
  readonly columns: readonly PrunedColumn[] | null
  /** Renamed while decoding (option enableAliasPushdown): column -> name on the row. Absent = none. */
  readonly renames?: readonly { readonly column: string; readonly as: string }[]
  /** Metadata keys the statement reads; null = all (meta(*)). */
  readonly meta: readonly string[] | null
  readonly eventTime: boolean
}

export interface PrunedColumn {
  readonly name: string
  /** Declared type, null on schemaless streams. */
  readonly type: FieldType | null
  /** Sub-fields wanted of a struct or object column, as paths; null = whole. */
  readonly paths: readonly (readonly string[])[] | null
  /**
   * True when only `count(*)` asks for the column: as in the reference its type is checked, but no expression reads the
   * value, so it need not be materialised.
   */
  readonly unread?: boolean
}

/** Brings the rows of several sources together, unchanged, in order of arrival (analytic functions over several streams). */
export interface UnionNode {
  readonly kind: 'union'
  readonly inputs: readonly PlanNode[]
}

export interface WatermarkNode {
  readonly kind: 'watermark'
  readonly inputs: readonly PlanNode[]
  readonly emitters: readonly string[]
  readonly sendWatermark: boolean
}
export interface AnalyticNode {
  readonly kind: 'analytic'
  readonly input: PlanNode
  /** In evaluation order (spec/sql.md 5.7); each result is left on the row under `name`. */
  readonly calls: readonly { readonly name: string; readonly call: CallExpression; readonly fromField: boolean }[]
}
export interface WindowNode {
  readonly kind: 'window'
  readonly inputs: readonly PlanNode[]
  readonly window: Window
  /** FILTER and pushed WHERE evaluated before rows enter the window. */
  readonly filter: Expression | null
  readonly eventTime: boolean
  /** Set when aggregation is incremental: the window keeps accumulators, not rows. */
  readonly incremental: null | IncrementalAggregation
}
/** What an incremental window keeps. It emits one row per group; its results equal those of a window that keeps rows. */
export interface IncrementalAggregation {
  readonly dimensions: readonly Expression[]
  readonly calls: readonly { readonly name: string; readonly call: CallExpression }[]
  /**
   * WHERE of windows that see every row (count, sliding, event time): rows that fail it count for the window and trigger
   * it, but are not aggregated; a window none of whose rows passes emits nothing. Null = all rows are aggregated.
   */
  readonly where: Expression | null
}
export interface JoinAlignNode {
  readonly kind: 'joinAlign'
  readonly input: PlanNode
  readonly tables: readonly PlanNode[]
  readonly emitters: readonly string[]
  /** Rows kept per table, in the order of `tables` (spec/sql.md 4.3). */
  readonly sizes: readonly number[]
}
export interface JoinNode {
  readonly kind: 'join'
  readonly input: PlanNode
  /** In text order. `left` of a later join is the rows joined so far, whatever it says. */
  readonly joins: readonly {
    readonly kind: JoinKind
    readonly left: string
    readonly right: string
    readonly on: Expression | null
  }[]
}
export interface LookupNode {
  readonly kind: 'lookup'
  readonly input: PlanNode
  readonly definition: StreamDefinition
  readonly emitter: string
  readonly join: 'inner' | 'left'
  /** Equality keys: table column = expression over the other side. */
  readonly keys: readonly { readonly column: string; readonly value: Expression }[]
  /** Table columns the statement needs; null = all. */
  readonly columns: readonly string[] | null
  readonly on: Expression
  /** Conditions of ON that are no keys, for EXPLAIN: filters of the plan evaluate them, not the lookup. */
  readonly rest: Expression | null
}
export interface AggregateFilterNode {
  readonly kind: 'aggFunc'
  readonly input: PlanNode
  readonly calls: readonly { readonly name: string; readonly call: CallExpression }[]
}
export interface FilterNode {
  readonly kind: 'filter'
  readonly input: PlanNode
  readonly condition: Expression
}
export interface AggregateNode {
  readonly kind: 'aggregate'
  readonly input: PlanNode
  readonly dimensions: readonly Expression[]
}
export interface HavingNode {
  readonly kind: 'having'
  readonly input: PlanNode
  readonly condition: Expression
}
export interface WindowFunctionNode {
  readonly kind: 'windowFunction'
  readonly input: PlanNode
  readonly calls: readonly { readonly name: string; readonly call: CallExpression }[]
}
export interface OrderNode {
  readonly kind: 'order'
  readonly input: PlanNode
  readonly keys: readonly SortKey[]
}
export interface DedupTriggerNode {
  readonly kind: 'dedupTrigger'
  readonly input: PlanNode
  readonly call: CallExpression
  readonly name: string
}
export interface ProjectNode {
  readonly kind: 'project'
  readonly input: PlanNode
  /** In evaluation order: resolved expressions; wildcards as Wildcard nodes. */
  readonly fields: readonly SelectField[]
  /** One output row per group (or per whole collection), not per row. */
  readonly aggregate: boolean
  readonly limit: number | null
  readonly sendMeta: boolean
  readonly sendNil: boolean
}
export interface ProjectSetNode {
  readonly kind: 'projectSet'
  readonly input: PlanNode
  readonly call: CallExpression
  readonly name: string
  readonly limit: number | null
}

/** Graph rules only: the result of a call becomes a column of the row, or of the first row of each group. */
export interface AssignNode {
  readonly kind: 'assign'
  readonly input: PlanNode
  readonly name: string
  readonly call: CallExpression
  /** Evaluated once per group, the whole collection being one when it is not grouped. */
  readonly aggregate: boolean
}
/** Graph rules only. What it gives is read through {@link SwitchOutputNode}s. */
export interface SwitchNode {
  readonly kind: 'switch'
  readonly input: PlanNode
  readonly name: string
  readonly cases: readonly Expression[]
  readonly stopAtFirstMatch: boolean
}
export interface SwitchOutputNode {
  readonly kind: 'switchOutput'
  readonly input: SwitchNode
  /** Index of the case. */
  readonly output: number
}

export type PlanNode =
  | AssignNode
  | SwitchNode
  | SwitchOutputNode
  | SourceNode
  | UnionNode
  | WatermarkNode
  | AnalyticNode
  | WindowNode
  | JoinAlignNode
  | JoinNode
  | LookupNode
  | AggregateFilterNode
  | FilterNode
  | AggregateNode
  | HavingNode
  | WindowFunctionNode
  | OrderNode
  | DedupTriggerNode
  | ProjectNode
  | ProjectSetNode

export interface LogicalPlan {
  readonly root: PlanNode
  /** Definitions behind the statement's sources in FROM, JOIN order; lookup tables included. */
  readonly sources: readonly {
    readonly emitter: string
    readonly definition: StreamDefinition
    readonly fields: readonly StreamField[] | null
  }[]
  readonly warnings: readonly {
    readonly message: string
    readonly line?: number
    readonly column?: number
    readonly hint?: string
  }[]
  /** Set on plans of graph rules, whose nodes may feed several others. */
  readonly graph?: GraphOutputs
}

export interface GraphOutputs {
  /** What sinks are fed with, by index in the order of the graph's sinks. `root` is the union of the nodes. */
  readonly outputs: readonly { readonly node: PlanNode; readonly sinks: readonly number[] }[]
  /** Names of the graph's nodes; plan nodes without one are not shown. */
  readonly names: ReadonlyMap<PlanNode, string>
}
