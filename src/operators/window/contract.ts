import type { Evaluate } from '../contract.ts'
import type { WindowUnit } from './align.ts'

/** A window as the operators see it: closures and numbers, no SQL. */
export interface WindowSpec {
  readonly kind: 'tumbling' | 'hopping' | 'sliding' | 'session' | 'count' | 'state'
  readonly unit: WindowUnit
  /** Units (tumbling, hopping, sliding, session maximum) or rows (count). */
  readonly length: number
  /** Hop or session timeout in units, count interval in rows; 0 = none. */
  readonly interval: number
  /** Sliding: units; 0 = none. */
  readonly delay: number
  readonly eventTime: boolean
  /** OVER(WHEN ...) of a sliding window. */
  readonly when: Evaluate | null
  /** Called with a row for which `when` held and which reads hit counters. */
  readonly onHit: ((timestamp: number) => void) | null
  /** State window conditions; `emit` null = the one-argument form. */
  readonly begin: Evaluate | null
  readonly emit: Evaluate | null
  readonly partition: readonly Evaluate[]
  /** Half-open (t-L, t] sliding windows (windowVersion v2). */
  readonly halfOpen: boolean
  /** A delayed sliding window also fires at arrival (enableSendSlidingWindowTwice). */
  readonly sendTwice: boolean
  readonly limits: WindowLimits
}

export interface WindowLimits {
  readonly rows: number
  /** Estimated bytes. */
  readonly bytes: number
  readonly partitions: number
  /** At a limit: drop the oldest rows and count them, or fail the rule. */
  readonly policy: 'dropOldest' | 'fail'
}
