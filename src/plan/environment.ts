/** What the planner asks of its surroundings. Pure data and look-ups: planning the same statement twice gives the same plan. */
import type { FunctionDefinition, FunctionLookup } from '../functions/contract.ts'
import type { StreamDefinition, StreamField } from '../sql/ast.ts'

/** The rule options planning depends on, by their JSON names (spec/sql.md 6.8). Absent = default. */
export interface PlanOptions {
  readonly isEventTime?: boolean
  readonly sendMetaToSink?: boolean
  readonly sendNilField?: boolean
  readonly qos?: number
  readonly disableBufferFullDiscard?: boolean
  readonly keyedTables?: boolean
  readonly planOptimizeStrategy?: {
    readonly enableIncrementalWindow?: boolean
    readonly enableAliasPushdown?: boolean
    readonly disableAliasRefCal?: boolean
    readonly optimizeControl?: { readonly disableOptimizeRules?: readonly string[] }
    readonly windowOption?: {
      readonly windowVersion?: string
      readonly enableSendSlidingWindowTwice?: boolean
    }
  }
  readonly experiment?: { readonly useSliceTuple?: boolean }
}

export interface PlanEnvironment {
  /** The stream or table of that name; undefined when nothing of that name is defined. */
  readonly stream: (name: string) => StreamDefinition | undefined
  readonly functions: FunctionLookup
  readonly options?: PlanOptions
  /** Columns match without regard to ASCII case (`basic.ignoreCase`). */
  readonly ignoreCase?: boolean
  /** The rule is a trial run, which may use TEMP streams. */
  readonly isTemporary?: boolean
  /** Columns of a stream whose schema is given by SCHEMAID; absent or null = the declared columns hold. */
  readonly schemaFields?: (definition: StreamDefinition) => readonly StreamField[] | null
}

/** Questions about called functions that planning asks over and over. */
export interface FunctionKinds {
  readonly isAggregate: (name: string) => boolean
  readonly isAnalytic: (name: string) => boolean
  readonly isWindowFunction: (name: string) => boolean
  readonly isSetReturning: (name: string) => boolean
  readonly isTrigger: (name: string) => boolean
  /** last_hit_count, last_hit_time: counters of un-grouped conditions. */
  readonly isHitState: (name: string) => boolean
  readonly definition: (name: string) => FunctionDefinition | undefined
}

/** Aggregate class by spec/sql.md 1.12, whatever family defines them. */
const hitCounters = new Set(['last_agg_hit_count', 'last_agg_hit_time'])

export function functionKinds(functions: FunctionLookup): FunctionKinds {
  const kind = (name: string): FunctionDefinition['kind'] | undefined => functions(name)?.kind
  return {
    isAggregate: (name) => hitCounters.has(name) || kind(name) === 'aggregate',
    isAnalytic: (name) => kind(name) === 'analytic',
    isWindowFunction: (name) => kind(name) === 'window',
    isSetReturning: (name) => kind(name) === 'setReturning',
    isTrigger: (name) => kind(name) === 'trigger',
    isHitState: (name) => name === 'last_hit_count' || name === 'last_hit_time',
    definition: functions,
  }
}

/** Aggregate calls that only read the operator's hit counters: no rows, so nothing to accumulate. */
export function isHitCounter(name: string): boolean {
  return hitCounters.has(name)
}

/** Functions that answer for the window a row came out of: meaningless below the window. */
const windowContext = new Set(['window_start', 'window_end', 'window_trigger'])

export function readsWindow(name: string): boolean {
  return windowContext.has(name)
}
