/** Lenient conversions the library functions share: what does not convert is zero. */
import { parseGoFloat, parseGoInt, truncateToInt64 } from '../../../core/go-number.ts'
import { decodeUtf8 } from '../../../core/utf8.ts'
import { type Run, refuse } from '../function.ts'
import { tooLong, valueText } from '../print.ts'
import { integerOf, kindName, typed, type V } from '../values.ts'

export function toInt64(value: V): bigint {
  const int = integerOf(value)
  if (int !== undefined) return int
  if (typeof value === 'number') return truncateToInt64(value)
  if (typeof value === 'boolean') return value ? 1n : 0n
  if (typeof value !== 'string') return 0n
  const parsed = parseGoInt(value.replace(/\.0+$/, ''), 0)
  return typeof parsed === 'bigint' ? parsed : 0n
}

export function toFloat64(value: V): number {
  if (typeof value === 'number') return value
  const int = integerOf(value)
  if (int !== undefined) return Number(int)
  if (typeof value === 'boolean') return value ? 1 : 0
  if (typeof value !== 'string') return 0
  const parsed = parseGoFloat(value)
  return typeof parsed === 'number' ? parsed : 0
}

/** Text of any value: strings and bytes as they are, the rest as printed. */
export function toText(value: V, run: Run): string {
  return value instanceof Uint8Array ? decodeUtf8(value) : valueText(value, run.maxLength)
}

/** The texts of a list without its nils; anything else is a list of one. */
export function toTexts(value: V, run: Run): string[] {
  if (value == null) return []
  if (value instanceof Uint8Array) return Array.from(value, String)
  if (!Array.isArray(value)) return [toText(value, run)]
  const texts: string[] = []
  for (const v of value) if (v != null) texts.push(toText(v, run))
  return texts
}

/** The elements of a list of any kind, or a refusal such as `Cannot push on type map`. */
export function elements(value: V, doing: string, end = ''): readonly V[] {
  if (Array.isArray(value)) return value
  if (value instanceof Uint8Array) return [...value].map(BigInt)
  return refuse(`${doing} ${kindName(value)}${end}`)
}

export const textList = (texts: string[]): V[] => typed('[]string', texts)

/** Refuses before a text of `length` would be made. */
export function reserve(length: number, run: Run): void {
  if (length > run.maxLength) tooLong(run.maxLength)
}
