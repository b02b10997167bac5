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

/** Go's text of a duration in milliseconds: 5445000 -> `1h30m45s`, 1.5 -> `1.5ms`, 0 -> `0s`. */
export function durationText(ms: number): string {
  const nanos = Math.round(Math.abs(ms) * 1e6)
  if (nanos === 0) return '0s'
  const sign = ms < 0 ? '-' : ''
  if (nanos < 1e3) return `${sign}${nanos}ns`
  if (nanos < 1e6) return `${sign}${decimalText(nanos, 3)}µs`
  if (nanos < 1e9) return `${sign}${decimalText(nanos, 6)}ms`
  const minutes = Math.floor(nanos / 60e9)
  const seconds = `${decimalText(nanos - minutes * 60e9, 9)}s`
  if (minutes === 0) return sign + seconds
  const hours = Math.floor(minutes / 60)
  return `${sign}${hours > 0 ? `${hours}h` : ''}${minutes % 60}m${seconds}`
}

/** `value` / 10^places without trailing zeros. */
function decimalText(value: number, places: number): string {
  const digits = String(value).padStart(places + 1, '0')
  const fraction = digits.slice(-places).replace(/0+$/, '')
  return digits.slice(0, -places) + (fraction === '' ? '' : `.${fraction}`)
}
