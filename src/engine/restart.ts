/** Automatic restart of a rule that stopped by an error (spec/rest-api.md 6.5): bounded and with growing pauses. */
import type { RuleOptions } from '../catalog/rule-options.ts'

type Strategy = RuleOptions['restartStrategy']

/** Pause before attempt `attempt` (0, 1 ...), ms; null when there is none left. `random` is uniform in [0, 1). */
export function restartDelay(strategy: Strategy, attempt: number, random: number): number | null {
  const { attempts, delay, multiplier, maxDelay, jitter } = strategy
  if (attempt >= attempts) return null
  const longest = Math.max(0, maxDelay)
  const pause = Math.min(Math.max(0, delay) * Math.max(1, multiplier) ** attempt, longest)
  const spread = Math.min(1, Math.max(0, jitter))
  return Math.round(Math.min(longest, pause * (1 + spread * (2 * random - 1))))
}

/** A run this long, ms, was a good one: attempts are counted afresh behind it. */
export function goodRun(strategy: Strategy): number {
  return Math.max(60_000, strategy.maxDelay)
}
