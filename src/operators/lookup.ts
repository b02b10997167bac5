/**
 * Lookup joins (spec/sql.md 4.6): each row asks a table for the rows of its keys. Answers from memory are used at once; slow ones
 * are asked for side by side, a bounded number at a time, and results leave in the order the rows came.
 */
import type { Lookup } from '../connectors/contract.ts'
import { IxionError, messageOf, RowError } from '../core/errors.ts'
import { type Batch, makeJoinedRow, makeRow, type Row } from '../core/row.ts'
import { encodeState } from '../core/state.ts'
import type { Value, ValueObject } from '../core/values.ts'
import type { Emit, Evaluate, EvaluationScope, Operator, OperatorContext } from './contract.ts'
import { loadRow, saveRow } from './window/row-buffer.ts'

/** The table as the operator sees it. */
export type LookupTable = Pick<Lookup, 'lookup' | 'lookupNow'>

export interface LookupCacheOptions {
  /** ms, 0 = for ever. */
  readonly ttl: number
  /** Keep the answer of a key the table does not have. */
  readonly missing: boolean
  /** Answers kept; the one stored first leaves first. */
  readonly maxEntries: number
}

export interface LookupOptions {
  /** Name in topology and metrics: the table's. */
  readonly name: string
  /** Emitter of the table's rows. */
  readonly emitter: string
  readonly table: LookupTable
  readonly join: 'inner' | 'left'
  readonly keys: readonly { readonly column: string; readonly value: Evaluate }[]
  /** Table columns the statement needs, null = all. */
  readonly columns: readonly string[] | null
  readonly cache: LookupCacheOptions | null
  /** Questions on their way at a time. */
  readonly maxInFlight: number
}

/** One item and its answers. */
interface Job {
  readonly batch: Exclude<Batch, { kind: 'groups' }>
  /** Per row: the table's rows, an error, or null while unknown. */
  readonly answers: (readonly ValueObject[] | Error | null)[]
  /** Rows before it have been asked. */
  asked: number
  missing: number
}

export function lookupOperator(options: LookupOptions): Operator {
  const { table, join, keys, columns, emitter, maxInFlight } = options
  const columnNames = keys.map((k) => k.column)
  const scope: { window: EvaluationScope['window']; group: null } = { window: null, group: null }
  const jobs: Job[] = []
  let inFlight = 0
  let held = 0
  let closed = false
  let context: OperatorContext
  const waiters: (() => void)[] = []
  const cache = options.cache && new AnswerCache(options.cache, () => context.now())

  const finish = (job: Job, out: Emit): void => {
    const { batch, answers } = job
    if (batch.kind === 'rows') {
      batch.rows.forEach((row, i) => {
        const answer = answers[i] as readonly ValueObject[] | Error
        if (answer instanceof Error) {
          out.fail(answer, 1)
          return
        }
        const rows = joinedRows(row, answer)
        if (rows.length) out.batch({ kind: 'collection', rows, window: null, events: 1 })
        else out.discard('filtered', 1)
      })
      return
    }
    const error = answers.find((a) => a instanceof Error)
    if (error) {
      out.fail(error as Error, batch.events)
      return
    }
    const rows = batch.rows.flatMap((row, i) => joinedRows(row, answers[i] as readonly ValueObject[]))
    if (rows.length) out.batch({ ...batch, rows })
    else if (batch.events) out.discard('filtered', batch.events)
  }

  const joinedRows = (row: Row, answer: readonly ValueObject[]): Row[] => {
    const parts = row.parts ?? [row]
    if (answer.length === 0) {
      return join === 'left' ? [row.parts ? row : carry(row, makeJoinedRow(parts, row.timestamp))] : []
    }
    return answer.map((message) =>
      carry(row, makeJoinedRow([...parts, makeRow(emitter, message, row.timestamp)], row.timestamp)),
    )
  }

  /** Emits finished jobs from the front, in order. */
  const flush = (out: Emit): void => {
    while (jobs.length && (jobs[0] as Job).missing === 0) {
      const job = jobs.shift() as Job
      held -= job.batch.events
      finish(job, out)
    }
  }

  const settle = (job: Job, i: number, answer: readonly ValueObject[] | Error): void => {
    job.answers[i] = answer
    job.missing--
  }

  /** Asks for the next rows while there is room for questions. */
  const ask = (out: Emit): void => {
    for (const job of jobs) {
      while (job.asked < job.batch.rows.length) {
        if (inFlight >= maxInFlight) return
        const i = job.asked++
        scope.window = job.batch.kind === 'collection' ? job.batch.window : null
        question(job, i, out)
      }
    }
  }

  const question = (job: Job, i: number, out: Emit): void => {
    const row = job.batch.rows[i] as Row
    const values: Value[] = []
    let cacheKey = ''
    try {
      for (const key of keys) values.push(key.value(row, scope))
      if (cache) cacheKey = values.map(keyText).join('')
    } catch (error) {
      settle(job, i, asLookupError(error))
      return
    }
    // A null key matches nothing.
    if (values.includes(null)) {
      settle(job, i, [])
      return
    }
    const cached = cache?.get(cacheKey)
    if (cached) {
      settle(job, i, cached)
      return
    }
    let now: readonly ValueObject[] | undefined
    try {
      now = table.lookupNow?.(columns, columnNames, values)
    } catch (error) {
      settle(job, i, asLookupError(error))
      return
    }
    if (now) {
      cache?.set(cacheKey, now)
      settle(job, i, now)
      return
    }
    inFlight++
    const answered = (answer: readonly ValueObject[] | Error): void => {
      inFlight--
      if (closed) return
      settle(job, i, answer)
      const wasFull = inFlight + 1 >= maxInFlight
      ask(out)
      flush(out)
      if (wasFull && !isFull()) context.room()
      if (jobs.length === 0) for (const done of waiters.splice(0)) done()
    }
    let answer: Promise<readonly ValueObject[]>
    try {
      answer = table.lookup(columns, columnNames, values)
    } catch (error) {
      answer = Promise.reject(error)
    }
    answer.then(
      (rows) => {
        cache?.set(cacheKey, rows)
        answered(rows)
      },
      (error: unknown) => answered(asLookupError(error)),
    )
  }

  const isFull = (): boolean => inFlight >= maxInFlight

  return {
    name: options.name,
    get held() {
      return held
    },
    get full() {
      return isFull()
    },
    open(c) {
      context = c
      // Items of a loaded state: their results need an output, which only a tick has.
      if (jobs.length) c.wakeAt(c.now())
    },
    tick(_now, out) {
      ask(out)
      flush(out)
    },
    push(batch, out) {
      if (batch.kind === 'groups') throw new Error('a lookup stands below grouping')
      jobs.push({
        batch,
        answers: new Array(batch.rows.length).fill(null),
        asked: 0,
        missing: batch.rows.length,
      })
      held += batch.events
      ask(out)
      flush(out)
    },
    settled: () => (jobs.length === 0 ? null : new Promise<void>((resolve) => waiters.push(resolve))),
    /** Items still waiting for answers; they are asked for again. */
    save: () =>
      jobs.map(({ batch }) => ({
        kind: batch.kind,
        rows: batch.rows.map(saveRow),
        window: batch.kind === 'collection' && batch.window ? { ...batch.window } : null,
        events: batch.events,
      })),
    load(state) {
      for (const saved of state as { kind: string; rows: Value[]; window: Value; events: number }[]) {
        const rows = saved.rows.map(loadRow)
        const window = saved.window as unknown as { start: number; end: number; trigger: number } | null
        const events = Number(saved.events)
        const batch: Job['batch'] =
          saved.kind === 'rows' ? { kind: 'rows', rows, events } : { kind: 'collection', rows, window, events }
        jobs.push({ batch, answers: new Array(rows.length).fill(null), asked: 0, missing: rows.length })
        held += events
      }
    },
    close() {
      closed = true
      for (const done of waiters.splice(0)) done()
    },
  }
}

/** What was computed for the row stays with the joined one. */
function carry(row: Row, joined: Row): Row {
  if (row.computed) joined.computed = new Map(row.computed)
  return joined
}

/** Tells any two values apart, and where one of several keys ends. */
function keyText(value: Value): string {
  const text = typeof value === 'object' ? encodeState(value) : String(value)
  return `${typeof value}${text.length}:${text}`
}

function asLookupError(error: unknown): Error {
  return error instanceof RowError || error instanceof IxionError ? error : new RowError(messageOf(error))
}

/** Answers by key, the oldest leaving first; expired ones count as absent. */
class AnswerCache {
  readonly #options: LookupCacheOptions
  readonly #now: () => number
  readonly #entries = new Map<string, { readonly rows: readonly ValueObject[]; readonly until: number }>()

  constructor(options: LookupCacheOptions, now: () => number) {
    this.#options = options
    this.#now = now
  }

  get(key: string): readonly ValueObject[] | undefined {
    const entry = this.#entries.get(key)
    if (!entry) return undefined
    if (entry.until > this.#now()) return entry.rows
    this.#entries.delete(key)
    return undefined
  }

  set(key: string, rows: readonly ValueObject[]): void {
    const { ttl, missing, maxEntries } = this.#options
    if (rows.length === 0 && !missing) return
    this.#entries.delete(key)
    this.#entries.set(key, { rows, until: ttl > 0 ? this.#now() + ttl : Number.POSITIVE_INFINITY })
    if (this.#entries.size > maxEntries) this.#entries.delete(this.#entries.keys().next().value as string)
  }
}
