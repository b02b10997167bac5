/**
 * Durations in Go's syntax (`300ms`, `1h30m`, `-1.5s`; units ns us µs ms s m h), spec/connectors.md 2.1.
 * Inside the engine a duration is a number of milliseconds, with a fraction below one.
 */

const unitMs: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
}

/** Go's int64 nanoseconds, in ms: what a duration may not exceed. */
const MAX_MS = 9_223_372_036_854.775

/**
 * Text in Go syntax, or a number of milliseconds whose fraction is dropped, to milliseconds.
 * Throws an Error with Go's text (`time: missing unit in duration "400"`).
 */
export function parseDuration(value: string | number | bigint): number {
  if (typeof value !== 'string') {
    const ms = Math.trunc(Number(value))
    if (!(Math.abs(ms) <= MAX_MS)) throw new Error(`time: invalid duration "${value}"`)
    return ms
  }
  const quoted = JSON.stringify(value)
  const sign = value[0] === '-' ? -1 : 1
  const body = value[0] === '-' || value[0] === '+' ? value.slice(1) : value
  if (body === '0') return 0
  if (body === '') throw new Error(`time: invalid duration ${quoted}`)
  const part = /([0-9]*)(?:\.([0-9]*))?([^0-9.]*)/y
  let total = 0
  while (part.lastIndex < body.length) {
    const [, whole = '', fraction = '', unit = ''] = part.exec(body) ?? []
    if (whole === '' && fraction === '') throw new Error(`time: invalid duration ${quoted}`)
    if (unit === '') throw new Error(`time: missing unit in duration ${quoted}`)
    const factor = Object.hasOwn(unitMs, unit) ? unitMs[unit] : undefined
    if (factor === undefined) throw new Error(`time: unknown unit ${JSON.stringify(unit)} in duration ${quoted}`)
    total += Number(`${whole || '0'}.${fraction || '0'}`) * factor
  }
  if (total > MAX_MS) throw new Error(`time: invalid duration ${quoted}`)
  return total === 0 ? 0 : sign * total
}
