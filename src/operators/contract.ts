/**
 * The operator contract (DESIGN.md, "Batches, not rows"). Operators are synchronous, know no SQL, and receive compiled
 * closures ({@link Evaluate}). The runtime calls one operator at a time; nothing here is re-entrant.
 */
import type { Batch, Row, WindowRange } from '../core/row.ts'
import type { Value } from '../core/values.ts'

/** What an expression sees besides the row. One object per operator, fields overwritten per item: never keep it. */
export interface EvaluationScope {
  /** Window of the current collection or group; null outside windows. */
  window: WindowRange | null
  /**
   * Rows of the current group (grouped collection), or of the whole collection for an un-grouped aggregate; null in row
   * context. Aggregate calls read their argument over these rows.
   */
  group: readonly Row[] | null
}

/** A compiled expression. Throws RowError; returns null for both null and missing. */
export type Evaluate = (row: Row, scope: EvaluationScope) => Value

/** Like {@link Evaluate} but tells a missing column (undefined) from null, for output shaping. */
export type EvaluateOrMissing = (row: Row, scope: EvaluationScope) => Value | undefined

/** Where an operator's results go. Calls happen in output order. */
export interface Emit {
  batch(batch: Batch): void
  /**
   * One row, or one whole collection, that failed: the runtime counts it and, with sendError, forwards the error to the
   * sinks. `events` is how many events of the ledger the failure takes out of flight (dropped, reason `error`).
   */
  fail(error: Error, events: number): void
  /** Events that left the rule on purpose (WHERE, HAVING, unmatched inner join) or by a limit (late, evicted). */
  discard(reason: DiscardReason, events: number): void
  /** Events that left a buffer (window, table) after they were part of a result. */
  consumed(events: number): void
  /** A watermark moves on downstream; epoch ms. */
  watermark(time: number): void
}

/**
 * Why rows left: `filtered` is the statement's own doing; every other reason is a drop that the ledger and
 * `ixion_dropped_events_total{stream,rule,reason}` report by name.
 */
export type DiscardReason = 'filtered' | 'late' | 'future_skew' | 'window_limit' | 'group_limit' | 'partition_limit'

/** Serialisable state: JSON after core/state.ts has tagged bigint, Instant, bytes and non-finite numbers. */
export type State = Value

/** Given to an operator when the rule starts. */
export interface OperatorContext {
  readonly now: () => number
  /** Asks for `tick` at or after `time` (epoch ms). A later call replaces an earlier request; null cancels. */
  readonly wakeAt: (time: number | null) => void
  readonly timezone: string
  /** An operator that was {@link Operator.full} has room again. */
  readonly room: () => void
}

export interface Operator {
  /** Kind for topo names and metrics, e.g. `filter`, `window`, `project` (spec/sql.md 6.6). */
  readonly name: string
  open?(context: OperatorContext): void
  push(batch: Batch, out: Emit): void
  /** Absent: the watermark is forwarded. */
  watermark?(time: number, out: Emit): void
  /** The time asked for with wakeAt has come. */
  tick?(now: number, out: Emit): void
  /** End of all inputs (bounded sources). Nothing is flushed unless the spec says so. */
  end?(out: Emit): void
  save?(): State
  load?(state: State): void
  close?(): void
  /** Input events held by the operator, still in flight for the ledger. */
  readonly held?: number
  /** Work that goes on after `push` (lookups): null when there is none, else resolves when its results have left. */
  settled?(): Promise<void> | null
  /** True while the operator waits for something slow (a lookup) and takes no more: inputs hold back until `room`. */
  readonly full?: boolean
  /**
   * Operators with several outputs (switch): called once, before `open`. Results go to `outputs` instead of `out.batch`; `copied`
   * is told how many events were added by sending an item to more than one.
   */
  connect?(outputs: readonly ((batch: Batch) => void)[], copied: (events: number) => void): void
}
