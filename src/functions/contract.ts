/**
 * The contract of SQL functions. One definition carries signature, null rule, docs, executed examples and code; parse-time
 * checks, the planner, `GET /metadata/functions` and the reference pages all read it (spec/functions.md, functions.json).
 */
import type { Clock } from '../core/clock.ts'
import type { Row, WindowRange } from '../core/row.ts'
import type { Kind, Value, ValueObject } from '../core/values.ts'

/** What a parse-time check may know of an argument: its literal value, or that it is some expression. */
export interface ArgumentInfo {
  /** 'int' | 'float' | 'string' | 'boolean' | 'timeunit' for literals (comparisons and logic count as boolean). */
  readonly literal: 'int' | 'float' | 'string' | 'boolean' | 'timeunit' | null
  readonly value: Value
  /** Set when the argument is a plain column reference. */
  readonly column: string | null
  readonly wildcard: boolean
  /** True when the argument contains an aggregate call. */
  readonly aggregate: boolean
}

export interface ArgumentSpec {
  readonly name: string
  /** For docs and forms: 'number', 'int', 'string', 'bool', 'any', 'array', 'object', 'datetime', 'bytea' ... */
  readonly type: string
  readonly docs?: string
}

/** What a call may use besides its arguments. One per call site. */
export interface CallContext {
  readonly clock: Clock
  /** IANA zone of the engine, default 'UTC'. */
  readonly timezone: string
  readonly ruleId: string
  /** Epoch ms when the rule started. */
  readonly ruleStart: number
  /** Row being evaluated (metadata, timestamp). */
  readonly row: Row | null
  readonly window: WindowRange | null
  /** Keyed state shared by all rules (get_keyed_state). */
  readonly keyedState: { get(key: string): Value | undefined; set?(key: string, value: Value): void }
  /** props(): configuration of the rule's engine. */
  readonly props: ValueObject
  /** For compress() and decompress(), loaded beforehand (compile/codecs.ts); without it they fail. */
  readonly codecs?: CompressionCodecs
}

export const compressionMethods = ['zlib', 'gzip', 'flate', 'zstd'] as const

export type CompressionMethod = (typeof compressionMethods)[number]

/** Both throw an Error that says what is wrong with the bytes. */
export interface CompressionCodecs {
  compress(method: CompressionMethod, bytes: Uint8Array): Uint8Array
  /** Fails also when the result would be larger than the engine allows. */
  decompress(method: CompressionMethod, bytes: Uint8Array): Uint8Array
}

/** One executed example: `expression` over columns `row` gives `result` (or fails with `error`). */
export interface FunctionExample {
  readonly expression: string
  readonly row?: ValueObject
  /** For aggregates: the rows of the group. For analytic and state functions: rows in order, `result` lists one per row. */
  readonly rows?: readonly ValueObject[]
  readonly result?: Value
  readonly error?: string
}

interface DefinitionBase {
  /** Lower case; what stands for a plugin of the reference keeps the plugin's capitals, which name its column. */
  readonly name: string
  readonly aliases?: readonly string[]
  /** Family as in functions.json `category`. */
  readonly family: string
  readonly args: readonly ArgumentSpec[]
  /** One sentence or more; not copied from anywhere. */
  readonly docs: string
  readonly examples: readonly FunctionExample[]
  /**
   * Parse-time check. Returns the message after `validate function NAME error: `, or null when fine.
   */
  readonly validate: (args: readonly ArgumentInfo[]) => string | null
  /** False: never folded, never shared (now, rand, newuuid ...). */
  readonly deterministic: boolean
  /** Result kind when it does not depend on data, for the planner. */
  readonly returns?: Kind
}

/** null rules of spec/functions.md "Engine rules" 1; null, [] and {} all count as null for the first three. */
export type NullRule = 'nullIfAny' | 'falseIfAny' | 'zeroIfAny' | 'custom'

export interface ScalarFunction extends DefinitionBase {
  readonly kind: 'scalar'
  readonly nulls: NullRule
  /** Throws RowError with the bare message; the caller adds `call func NAME error: `. */
  readonly run: (args: readonly Value[], call: CallContext) => Value
}

/** Incremental form of an aggregate. It must give exactly what `run` gives over the same rows. */
export interface Accumulator<S = unknown> {
  readonly create: () => S
  readonly add: (state: S, args: readonly Value[]) => void
  readonly result: (state: S) => Value
  readonly save: (state: S) => Value
  readonly load: (state: Value) => S
}

export interface AggregateFunction extends DefinitionBase {
  readonly kind: 'aggregate'
  /** `columns[i]` holds argument i evaluated over every row of the group, in order; a missing value is null. */
  readonly run: (columns: readonly (readonly Value[])[], call: CallContext) => Value
  // biome-ignore lint/suspicious/noExplicitAny: each accumulator owns its state type
  readonly accumulator?: Accumulator<any>
}

/**
 * lag, latest, had_changed, acc_* ... One state per distinct call and partition, kept by the operator.
 * `when` false = OVER(WHEN ...) not met: answer without recording.
 */
// biome-ignore lint/suspicious/noExplicitAny: each function owns its state type
export interface AnalyticFunction<S = any> extends DefinitionBase {
  readonly kind: 'analytic'
  readonly create: () => S
  /** May mutate `state`. */
  readonly step: (state: S, args: readonly Value[], when: boolean, call: CallContext) => Value
  readonly save: (state: S) => Value
  readonly load: (state: Value) => S
}

/** changed_cols: yields several columns. `names[i]` is the output name of argument i (from the third on). */
// biome-ignore lint/suspicious/noExplicitAny: each function owns its state type
export interface MultiColumnFunction<S = any> extends DefinitionBase {
  readonly kind: 'multiColumn'
  readonly create: () => S
  readonly step: (
    state: S,
    args: readonly Value[],
    names: readonly string[],
    when: boolean,
    call: CallContext,
  ) => ValueObject
  readonly save: (state: S) => Value
  readonly load: (state: Value) => S
}

/** unnest, extract: one input row becomes the elements of the returned array, in order; any other result fails the row. */
export interface SetReturningFunction extends DefinitionBase {
  readonly kind: 'setReturning'
  readonly run: (args: readonly Value[], call: CallContext) => Value
}

/**
 * Functions whose code lives in the compiler or an operator because they need the row, the window or the statement:
 * meta, mqtt, window_start, event_time, row_number, last_hit_count, dedup_trigger ... Only signature and docs here.
 */
export interface SpecialFunction extends DefinitionBase {
  readonly kind: 'context' | 'window' | 'state' | 'trigger'
}

export type FunctionDefinition =
  | ScalarFunction
  | AggregateFunction
  | AnalyticFunction
  | MultiColumnFunction
  | SetReturningFunction
  | SpecialFunction

/** Resolves a name (case-insensitive for built-ins); undefined when unknown. */
export type FunctionLookup = (name: string) => FunctionDefinition | undefined
