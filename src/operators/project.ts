import { RowError } from '../core/errors.ts'
import {
  type Batch,
  collectionOf,
  MANY_ROWS,
  makeRow,
  type Row,
  type RowSource,
  type WindowRange,
} from '../core/row.ts'
import { copyFields, getField, isObject, setField, type Value, type ValueObject } from '../core/values.ts'
import { asRowError } from './condition.ts'
import type { Evaluate, EvaluateOrMissing, EvaluationScope, Operator } from './contract.ts'

/** One item of the SELECT list, compiled. */
export type ProjectField =
  | {
      readonly kind: 'value'
      readonly name: string
      /** `column`: null is kept; `expression`: null is left out; `alias`: null only with sendNil (spec/sql.md 8.2). */
      readonly shape: 'column' | 'expression' | 'alias'
      readonly evaluate: EvaluateOrMissing
      readonly visible: boolean
      /** `expr: TEXT` or `alias: NAME expr: TEXT`, for messages. */
      readonly label: string
    }
  | {
      readonly kind: 'wildcard'
      /** Source of `s.*`, null for `*`. */
      readonly stream: string | null
      readonly except: readonly string[]
      readonly replace: readonly { readonly name: string; readonly evaluate: Evaluate; readonly label: string }[]
    }
  | {
      /** changed_cols without alias: its object becomes columns. */
      readonly kind: 'columns'
      readonly evaluate: Evaluate
      readonly label: string
    }

export interface ProjectOptions {
  readonly fields: readonly ProjectField[]
  /** One output row per group (the whole collection without GROUP BY), taken at its first row. */
  readonly aggregate: boolean
  readonly limit: number | null
  readonly sendNil: boolean
  /** Adds the row's metadata as `__meta`. */
  readonly sendMeta: boolean
  /** Called after each row, where the SELECT list reads hit counters (spec/sql.md 5.8). */
  readonly onRow?: ((row: Row) => void) | undefined
}

/** SELECT list: rows of the statement become output rows. */
export function projectOperator(options: ProjectOptions): Operator {
  const projectRow = compileProjection(options)
  const limit = options.limit !== null && options.limit >= 0 ? options.limit : Infinity
  const scope: { window: WindowRange | null; group: readonly Row[] | null } = { window: null, group: null }
  const result = (row: Row, timestamp: number): Row => {
    const projected = makeRow(row.emitter, projectRow(row, scope), timestamp)
    options.onRow?.(row)
    return projected
  }
  return {
    name: 'project',
    push(batch, out) {
      if (limit === 0) {
        if (batch.events) out.discard('filtered', batch.events)
        return
      }
      if (batch.kind === 'rows') {
        scope.window = null
        let rows: Row[] = []
        for (const row of batch.rows) {
          scope.group = options.aggregate ? [row] : null
          try {
            rows.push(result(row, row.timestamp))
          } catch (error) {
            if (rows.length) out.batch({ kind: 'rows', rows, events: rows.length })
            rows = []
            out.fail(asRowError(error), 1)
          }
        }
        if (rows.length) out.batch({ kind: 'rows', rows, events: rows.length })
        return
      }
      scope.window = batch.window
      const units = unitsOf(batch, options.aggregate)
      const count = Math.min(limit, units.length)
      const rows: Row[] = []
      const many = count >= MANY_ROWS ? new ProjectedRows() : null
      try {
        scope.group = null
        for (let i = 0; i < count; i++) {
          const group = units.at(i)
          const row = group[0] ?? emptyRow(batch.window)
          const timestamp = units.grouped ? (batch.window?.trigger ?? row.timestamp) : row.timestamp
          if (units.grouped) scope.group = group
          if (many) many.add(row.emitter, projectRow(row, scope), timestamp)
          else rows.push(makeRow(row.emitter, projectRow(row, scope), timestamp))
          options.onRow?.(row)
        }
      } catch (error) {
        out.fail(asRowError(error), batch.events)
        return
      }
      const { window, events } = batch
      out.batch(many ? collectionOf(many, window, events) : { kind: 'collection', rows, window, events })
    },
  }
}

interface Units {
  readonly length: number
  /** A group, or one row alone. */
  at(i: number): readonly Row[]
  readonly grouped: boolean
}

/** What gives one result each. */
function unitsOf(batch: Exclude<Batch, { kind: 'rows' }>, aggregate: boolean): Units {
  if (batch.kind === 'collection' && aggregate) return { length: 1, at: () => batch.rows, grouped: true }
  const { source } = batch
  if (source) return { length: source.length, at: (i) => [source.at(i)], grouped: batch.kind === 'groups' }
  if (batch.kind === 'collection') {
    const { rows } = batch
    return { length: rows.length, at: (i) => [rows[i] as Row], grouped: false }
  }
  const { groups } = batch
  return { length: groups.length, at: (i) => groups[i] as readonly Row[], grouped: true }
}

/** Results as their objects, which is what sinks take. */
class ProjectedRows implements RowSource {
  readonly #emitters: string[] = []
  readonly #messages: ValueObject[] = []
  readonly #timestamps: number[] = []

  get length(): number {
    return this.#messages.length
  }

  add(emitter: string, message: ValueObject, timestamp: number): void {
    this.#emitters.push(emitter)
    this.#messages.push(message)
    this.#timestamps.push(timestamp)
  }

  at(i: number): Row {
    return makeRow(this.emitterAt(i), this.#messages[i] as ValueObject, this.#timestamps[i] as number)
  }

  emitterAt(i: number): string {
    return this.#emitters[i] as string
  }
}

/** What an un-grouped aggregate is evaluated on when its window is empty (D29). */
function emptyRow(window: WindowRange | null): Row {
  return makeRow('', {}, window?.trigger ?? 0)
}

/** The output object of one row. Raw columns are overridden by expressions, those by aliases. */
export function compileProjection(options: ProjectOptions): (row: Row, scope: EvaluationScope) => ValueObject {
  const wildcards = options.fields.filter((f) => f.kind === 'wildcard')
  const { fields, sendNil, sendMeta } = options
  return (row, scope) => {
    const object: ValueObject = {}
    for (const w of wildcards) copyColumns(object, row, w.stream, w.except)
    for (const field of fields) {
      if (field.kind === 'value') {
        const value = labelled(field, row, scope)
        if (!field.visible) continue
        if (value === undefined || value === null) {
          const keep = field.shape === 'column' ? sendNil || value === null : field.shape === 'alias' && sendNil
          if (keep) setField(object, field.name, null)
        } else setField(object, field.name, value)
      } else if (field.kind === 'columns') {
        const value = labelled(field, row, scope)
        if (isObject(value)) copyFields(object, value)
      } else {
        for (const r of field.replace) {
          const value = labelled(r, row, scope)
          if (value !== null && value !== undefined) setField(object, r.name, value)
          else if (sendNil) setField(object, r.name, null)
        }
      }
    }
    if (sendMeta && row.meta) setField(object, '__meta', row.meta)
    return object
  }
}

function labelled(
  field: { readonly evaluate: EvaluateOrMissing; readonly label: string },
  row: Row,
  scope: EvaluationScope,
): Value | undefined {
  try {
    return field.evaluate(row, scope)
  } catch (error) {
    if (error instanceof RowError)
      throw new RowError(`run Select error: ${field.label} meet error, err:${error.message}`)
    throw error
  }
}

/** On joined rows the first component wins a clash (spec/sql.md 4.7). Internal `$$` names never leave. */
function copyColumns(object: ValueObject, row: Row, stream: string | null, except: readonly string[]): void {
  for (const part of row.parts ?? [row]) {
    if (stream !== null && row.parts !== null && part.emitter !== stream) continue
    for (const key of Object.keys(part.message)) {
      if (key.startsWith('$$') || except.includes(key) || getField(object, key) !== undefined) continue
      setField(object, key, part.message[key] as Value)
    }
  }
}
