/**
 * Values -> JSON text as Go's encoder writes it (spec/sql.md 8.7, spec/connectors.md 12.1): keys sorted bytewise at every
 * level, no spaces, `<` `>` `&` U+2028 U+2029 escaped, bytes as base64, times as RFC 3339, integers with all their digits.
 */
import { encodeBase64 } from './base64.ts'
import { RowError } from './errors.ts'
import { compareText } from './text-order.ts'
import { rfc3339 } from './time-format.ts'
import { Instant, type Value, type ValueObject } from './values.ts'

/** Values nested deeper than this (or cyclic ones) are a LIMIT error. */
const MAX_DEPTH = 2000

const special = /[\u0000-\u001f"\\<>&\u2028\u2029\ud800-\udfff]/
const specials = /[\u0000-\u001f"\\<>&\u2028\u2029]|[\ud800-\udbff][\udc00-\udfff]|[\ud800-\udfff]/g

const shortEscapes: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
}

function escapeChar(char: string): string {
  const short = shortEscapes[char]
  if (short !== undefined) return short
  const code = char.charCodeAt(0)
  if (code >= 0xd800 && code <= 0xdfff) return char.length === 2 ? char : '\\ufffd'
  return `\\u${code.toString(16).padStart(4, '0')}`
}

/** A JSON string literal, quotes included. */
export function quoteJson(text: string): string {
  return special.test(text) ? `"${text.replace(specials, escapeChar)}"` : `"${text}"`
}

function encodeInstant(instant: Instant): string {
  const text = rfc3339(instant)
  if (/^\d{4}-/.test(text)) return `"${text}"`
  throw new RowError('json: Time.MarshalJSON: year outside of range [0,9999]', 'ENCODE')
}

function encodeNumber(value: number): string {
  if (value === 0) return Object.is(value, -0) ? '-0' : '0'
  const text = String(value)
  if (Number.isFinite(value)) return text
  const name = Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf'
  throw new RowError(`json: unsupported value: ${name}`, 'ENCODE')
}

/** `"key":` of keys met before; rows repeat theirs. */
const keyTexts = new Map<string, string>()
/** Keys may come from data, so the cache is emptied when it is full. */
const MAX_KEY_TEXTS = 2000
const surrogate = /[\ud800-\udfff]/

function keyText(key: string): string {
  const known = keyTexts.get(key)
  if (known !== undefined) return known
  const text = `${quoteJson(key)}:`
  if (keyTexts.size >= MAX_KEY_TEXTS) keyTexts.clear()
  if (key.length <= 100 && !surrogate.test(key)) keyTexts.set(key, text)
  return text
}

/** Own keys in byte order. The order of UTF-16 units is another only where surrogates are. */
function sortedKeys(object: ValueObject): string[] {
  const keys = Object.keys(object)
  let sorted = true
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i] as string
    if (i > 0 && (keys[i - 1] as string) > key) sorted = false
    // A key met before has been looked at; those with surrogates are never kept.
    if (!keyTexts.has(key) && surrogate.test(key)) return keys.sort(compareText)
  }
  return sorted ? keys : keys.sort()
}

function encodeValue(value: Value | undefined, depth: number): string {
  switch (typeof value) {
    case 'string':
      return quoteJson(value)
    case 'number':
      return encodeNumber(value)
    case 'boolean':
      return value ? 'true' : 'false'
    case 'bigint':
      return value.toString()
    case 'undefined':
      return 'null'
  }
  if (value === null) return 'null'
  if (depth === 0) throw new RowError(`value nested deeper than ${MAX_DEPTH} levels`, 'LIMIT')
  if (Array.isArray(value)) return `[${encodeElements(value, depth - 1)}]`
  if (value instanceof Instant) return encodeInstant(value)
  if (value instanceof Uint8Array) return `"${encodeBase64(value)}"`
  const keys = sortedKeys(value)
  let out = '{'
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i] as string
    const member = value[key]
    // An absent column is undefined; it has no place in the text.
    if (member === undefined) continue
    if (out.length > 1) out += ','
    out += keyText(key) + encodeValue(member, depth - 1)
  }
  return `${out}}`
}

/** Elements that are put together at once. */
const BLOCK = 256

/** In blocks: joined texts are flat, while one long concatenation would keep every piece of it alive until its end. */
function encodeElements(elements: readonly Value[], depth: number): string {
  const blocks: string[] = []
  for (let start = 0; start < elements.length; start += BLOCK) {
    const texts: string[] = []
    const end = Math.min(start + BLOCK, elements.length)
    for (let i = start; i < end; i++) texts.push(encodeValue(elements[i], depth))
    blocks.push(texts.join(','))
  }
  return blocks.length === 1 ? (blocks[0] as string) : blocks.join(',')
}

/** Throws RowError ENCODE (`json: unsupported value: NaN`) or LIMIT. */
export function encodeJsonText(value: Value): string {
  return encodeValue(value, MAX_DEPTH)
}
