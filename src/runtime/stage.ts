import type { Clock, Timer } from '../core/clock.ts'
import { messageOf } from '../core/errors.ts'
import type { DropReason, Ledger } from '../core/ledger.ts'
import type { Batch } from '../core/row.ts'
import type { DiscardReason, Emit, Operator } from '../operators/contract.ts'
import type { NodeMetrics } from './metrics.ts'

/** Whatever takes batches: the next stage, or the rule's end where the sinks are. */
export interface Receiver {
  batch(batch: Batch): void
  watermark(time: number): void
  /** All inputs have ended. */
  end(): void
}

/** What the stages of one rule share. */
export interface StageEnvironment {
  readonly clock: Clock
  readonly timezone: string
  readonly ledger: Ledger
  /** A row or unit failed in a stage: to the log, and to the sinks with sendError. */
  rowFailed(stage: string, error: Error): void
  /** An operator that held the inputs back has room again. */
  room(): void
  /** An operator threw something that is not a row's fault: the rule cannot go on. */
  broken(stage: string, error: unknown): void
}

/** One operator in its place: counts, keeps its timer, and hands results to the next. */
export class Stage implements Receiver, Emit {
  readonly operator: Operator
  readonly metrics: NodeMetrics
  readonly #next: Receiver
  readonly #environment: StageEnvironment
  #timer: Timer | null = null
  #broken = false
  #inputsLeft: number

  constructor(operator: Operator, metrics: NodeMetrics, next: Receiver, environment: StageEnvironment, inputs: number) {
    this.operator = operator
    this.metrics = metrics
    this.#next = next
    this.#environment = environment
    this.#inputsLeft = inputs
  }

  open(): void {
    this.operator.open?.({
      now: () => this.#environment.clock.now(),
      timezone: this.#environment.timezone,
      wakeAt: (time) => this.#wakeAt(time),
      room: () => this.#environment.room(),
    })
  }

  close(): void {
    this.#wakeAt(null)
    this.operator.close?.()
  }

  #wakeAt(time: number | null): void {
    this.#timer?.cancel()
    this.#timer = time === null ? null : this.#environment.clock.at(time, () => this.#tick())
  }

  #tick(): void {
    this.#timer = null
    this.#guard(() => this.operator.tick?.(this.#environment.clock.now(), this))
  }

  /** An operator that broke is in no state to give results; what still comes to it is counted when the rule stops. */
  #guard(run: () => void): void {
    if (this.#broken) return
    try {
      run()
    } catch (error) {
      this.#broken = true
      this.metrics.exception(messageOf(error))
      this.#environment.broken(this.metrics.name, error)
    }
  }

  // Receiver: what comes in.

  push(batch: Batch): void {
    const records = batch.kind === 'rows' ? batch.rows.length : 1
    const started = this.metrics.begin(records)
    this.#guard(() => this.operator.push(batch, this))
    this.metrics.end(started, records)
  }

  receiveWatermark(time: number): void {
    if (this.operator.watermark) this.#guard(() => this.operator.watermark?.(time, this))
    else this.#next.watermark(time)
  }

  end(): void {
    if (--this.#inputsLeft > 0) return
    const pending = this.operator.settled?.()
    if (pending) void pending.then(() => this.#finish())
    else this.#finish()
  }

  #finish(): void {
    if (this.operator.end) this.#guard(() => this.operator.end?.(this))
    this.#next.end()
  }

  /** The stage as the receiver of the stage before it. */
  readonly input: Receiver = {
    batch: (batch) => this.push(batch),
    watermark: (time) => this.receiveWatermark(time),
    end: () => this.end(),
  }

  // Emit: what the operator gives out.

  batch(batch: Batch): void {
    this.metrics.recordsOut += batch.kind === 'rows' ? batch.rows.length : 1
    this.#next.batch(batch)
  }

  fail(error: Error, events: number): void {
    this.metrics.exception(error.message)
    this.#environment.ledger.drop('error', events)
    this.#environment.rowFailed(this.metrics.name, error)
  }

  discard(reason: DiscardReason, events: number): void {
    if (reason === 'filtered') this.#environment.ledger.filtered += events
    else this.#environment.ledger.drop(reason satisfies DropReason, events)
  }

  consumed(events: number): void {
    this.#environment.ledger.emitted += events
  }

  watermark(time: number): void {
    this.#next.watermark(time)
  }
}
