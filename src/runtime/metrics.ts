/** Counters of one runtime node, under the names of spec/rest-api.md 8.2. */
import type { Clock } from '../core/clock.ts'

export type NodeKind = 'source' | 'op' | 'sink'

const NOT_TIMED = -1

export class NodeMetrics {
  readonly kind: NodeKind
  /** Name without kind: `demo`, `2_decoder`, `log_0`. */
  readonly name: string
  recordsIn = 0
  recordsOut = 0
  processed = 0
  latencyUs = 0
  lastInvocation = 0
  exceptions = 0
  lastException = ''
  lastExceptionTime = 0
  /** Items waiting in front of the node, read when status is asked. */
  bufferLength: () => number = () => 0
  connection: { status: 1 | 0 | -1; connected: number; disconnected: number; message: string; tried: number } | null
  readonly #clock: Clock

  constructor(kind: NodeKind, name: string, clock: Clock) {
    this.kind = kind
    this.name = name
    this.#clock = clock
    this.connection = kind === 'op' ? null : { status: 0, connected: 0, disconnected: 0, message: '', tried: 0 }
  }

  /**
   * Starts one processing round of `records` inputs; the result goes to {@link end}. Of the rounds of one millisecond the first
   * is timed.
   */
  begin(records: number): number {
    this.recordsIn += records
    const now = this.#clock.now()
    if (now === this.lastInvocation) return NOT_TIMED
    this.lastInvocation = now
    return this.#clock.monotonic()
  }

  end(started: number, records: number): void {
    this.processed += records
    if (started !== NOT_TIMED) this.latencyUs = Math.round((this.#clock.monotonic() - started) * 1000)
  }

  exception(message: string, count = 1): void {
    this.exceptions += count
    this.lastException = message
    this.lastExceptionTime = this.#clock.now()
  }

  connecting(): void {
    if (!this.connection) return
    this.connection.status = 0
    this.connection.tried = this.#clock.now()
  }

  connected(): void {
    if (!this.connection || this.connection.status === 1) return
    this.connection.status = 1
    this.connection.connected = this.#clock.now()
  }

  disconnected(message: string): void {
    if (!this.connection) return
    this.connection.status = -1
    this.connection.disconnected = this.#clock.now()
    this.connection.message = message
    this.exception(this.kind === 'source' ? `disconnected: ${message}` : message)
  }

  /** Suffix and value in the order of the spec. */
  entries(): [string, number | string][] {
    const entries: [string, number | string][] = [
      ['records_in_total', this.recordsIn],
      ['records_out_total', this.recordsOut],
      ['messages_processed_total', this.processed],
      ['process_latency_us', this.latencyUs],
      ['buffer_length', this.bufferLength()],
      ['last_invocation', this.lastInvocation],
      ['exceptions_total', this.exceptions],
      ['last_exception', this.lastException],
      ['last_exception_time', this.lastExceptionTime],
    ]
    if (this.connection) {
      entries.push(
        ['connection_status', this.connection.status],
        ['connection_last_connected_time', this.connection.connected],
        ['connection_last_disconnected_time', this.connection.disconnected],
        ['connection_last_disconnected_message', this.connection.message],
        ['connection_last_try_time', this.connection.tried],
      )
    }
    return entries
  }
}
