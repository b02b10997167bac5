/** The WITH options of CREATE STREAM and CREATE TABLE (spec/sql.md 1.16) and Ixion's own. */
import { parseDuration } from '../core/duration.ts'
import { messageOf } from '../core/errors.ts'
import { parseGoInt } from '../core/go-number.ts'
import { goQuote } from '../core/go-text.ts'
import type { StreamDefinition, StreamOptions } from './ast.ts'
import type { Token } from './lexer.ts'
import { accept, is, type Reader, syntaxError, unexpected } from './reader.ts'

type OptionName = Exclude<keyof StreamOptions, 'extensions'>
type OptionValue = string | number | boolean

/** A reader of one option's value: throws the text after `found "x", `. */
type ReadValue = (text: string, key: string) => OptionValue

class BadValue extends Error {}

const asText: ReadValue = (text) => text
const asBoolean: ReadValue = (text, key) => {
  const upper = text.toUpperCase()
  if (upper !== 'TRUE' && upper !== 'FALSE') throw new BadValue(`expect TRUE/FALSE value in ${key} option.`)
  return upper === 'TRUE'
}
const asSize: ReadValue = (text, key) => {
  const value = parseGoInt(text, 10)
  if (typeof value !== 'bigint') throw new BadValue(`expect number value in ${key} option.`)
  return Number(value)
}
const asKind: ReadValue = (text, key) => {
  const lower = text.toLowerCase()
  if (lower !== 'scan' && lower !== 'lookup') throw new BadValue(`expect scan or lookup value in ${key} option.`)
  return lower
}

interface OptionSpec {
  /** Member of StreamOptions. */
  readonly name: OptionName
  readonly read: ReadValue
}

/** In the order the reference lists them in its message about unknown ones. */
export const streamOptionSpecs: ReadonlyMap<string, OptionSpec> = new Map<string, OptionSpec>([
  ['DATASOURCE', { name: 'datasource', read: asText }],
  ['FORMAT', { name: 'format', read: asText }],
  ['KEY', { name: 'key', read: asText }],
  ['CONF_KEY', { name: 'confKey', read: asText }],
  ['SHARED', { name: 'shared', read: asBoolean }],
  ['STRICT_VALIDATION', { name: 'strictValidation', read: asBoolean }],
  ['TYPE', { name: 'type', read: asText }],
  ['TIMESTAMP', { name: 'timestamp', read: asText }],
  ['TIMESTAMP_FORMAT', { name: 'timestampFormat', read: asText }],
  ['RETAIN_SIZE', { name: 'retainSize', read: asSize }],
  ['SCHEMAID', { name: 'schemaId', read: asText }],
  ['EXTRA', { name: 'extra', read: asText }],
  ['VERSION', { name: 'version', read: (text) => text.toLowerCase() }],
  ['TEMP', { name: 'temp', read: asBoolean }],
  ['KIND', { name: 'kind', read: asKind }],
  ['DELIMITER', { name: 'delimiter', read: asText }],
])

const bufferPolicies = ['block', 'dropOldest', 'dropNewest']
const latePolicies = ['drop', 'side', 'reopen']

function oneOf(choices: readonly string[]): ReadValue {
  return (text, key) => {
    const found = choices.find((c) => c.toLowerCase() === text.toLowerCase())
    if (found === undefined) throw new BadValue(`expect one of ${choices.join(', ')} in ${key} option.`)
    return found
  }
}
const asDuration: ReadValue = (text, key) => {
  try {
    parseDuration(text)
  } catch (error) {
    throw new BadValue(`expect a duration such as 10s in ${key} option: ${messageOf(error)}`)
  }
  return text
}
const asCount: ReadValue = (text, key) => {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new BadValue(`expect a whole number above 0 in ${key} option.`)
  return text
}

/** Ixion's own options, kept in `extensions` by their lower-case key (docs/compatibility.md). */
export const extensionSpecs: ReadonlyMap<string, ReadValue> = new Map([
  ['BUFFER_FULL_POLICY', oneOf(bufferPolicies)],
  ['LATE_POLICY', oneOf(latePolicies)],
  ['MAX_FUTURE_SKEW', asDuration],
  ['IDLE_TIMEOUT', asDuration],
  ['PARTITION_LIMIT', asCount],
])

/** At `(`; through `)`. Commas between options are optional, the last of equal keys counts. */
export function parseStreamOptions(r: Reader): StreamOptions {
  const open = r.next()
  if (!is(open, '(')) throw unexpected(open, 'expect stream options.')
  const options: Record<string, OptionValue> = {}
  const extensions: Record<string, string | boolean> = {}
  while (!accept(r, ')')) {
    if (accept(r, ',')) continue
    const token = r.next()
    const key = token.text.toUpperCase()
    const spec = streamOptionSpecs.get(key)
    const extension = extensionSpecs.get(key)
    if (spec) options[spec.name] = parseValue(r, key, spec.read)
    else if (extension) extensions[key.toLowerCase()] = parseValue(r, key, extension) as string
    else {
      const known = [...streamOptionSpecs.keys()].join('|')
      throw syntaxError(
        `found ${goQuote(key)}, unknown option keys(${known}).`,
        token,
        `Ixion also knows ${[...extensionSpecs.keys()].join(', ')}`,
      )
    }
  }
  if (options['kind'] === 'lookup' && options['type'] === 'memory' && !options['key']) {
    throw syntaxError('Option "key" is required for memory lookup table.', open)
  }
  return { ...options, ...(Object.keys(extensions).length > 0 && { extensions }) }
}

function parseValue(r: Reader, key: string, read: ReadValue): OptionValue {
  const equals = r.next()
  if (!is(equals, '=')) throw unexpected(equals, 'expect equals(=) in options.')
  const token: Token = r.next()
  if (token.kind !== 'string' && !is(token, 'TRUE') && !is(token, 'FALSE')) {
    throw unexpected(token, 'expect string or boolean value in option.', 'write the value in double quotes')
  }
  if (key === 'EXTRA' && !isJson(token.text)) {
    throw syntaxError('invalid extra option, expect JSON string', token)
  }
  try {
    return read(token.text, key)
  } catch (error) {
    if (error instanceof BadValue) throw unexpected(token, error.message)
    throw error
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

const builtinFormats = ['json', 'binary', 'delimited', 'urlencoded', 'protobuf', 'custom']

/** What is wrong with the definition as a whole, or null. */
export function checkDefinition(d: StreamDefinition, moreFormats: readonly string[]): string | null {
  const format = d.options.format || 'json'
  const lower = format.toLowerCase()
  if (lower !== 'binary') {
    return builtinFormats.includes(lower) || moreFormats.includes(lower) ? null : `option 'format=${format}' is invalid`
  }
  if (d.streamType === 'table') return "'binary' format is not supported for table"
  const [field, second] = d.fields ?? []
  if (second) return "'binary' format stream can have only one field"
  if (field && field.type.kind !== 'bytea') return "'binary' format stream can have only 'bytea' type field"
  return null
}
