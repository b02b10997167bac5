/** Encodings and digests: base64, base32, JSON, SHA, Adler. */
import { sha1 } from '@noble/hashes/legacy.js'
import { sha256, sha512 } from '@noble/hashes/sha2.js'
import { decodeBase64, encodeBase64 } from '../../../core/base64.ts'
import { floatPlain } from '../../../core/go-text.ts'
import { decodeUtf8, encodeUtf8 } from '../../../core/utf8.ts'
import { copyFields, Instant, setField, type Value, type ValueObject } from '../../../core/values.ts'
import { encodeJsonText } from '../../json.ts'
import { define, type FunctionTable, type Run, refuse } from '../function.ts'
import { decodeGoJson } from '../go-json.ts'
import { GoInt, integerOf, isDict, kindName, MAX_VALUE_DEPTH, member, Opaque, tooDeep, type V } from '../values.ts'
import { reserve } from './convert.ts'

/** A value as JSON knows it. What needs no change is shared, which is all of a row. */
function plain(value: V, run: Run, depth = 0): Value {
  if (typeof value !== 'object' || value === null) return value ?? null
  if (value instanceof GoInt) return value.value
  if (value instanceof Opaque) return value.text
  if (value instanceof Instant || value instanceof Uint8Array) return value
  if (depth > MAX_VALUE_DEPTH) tooDeep()
  if (Array.isArray(value)) {
    run.charge(value.length / 8)
    const list = value.map((v) => plain(v, run, depth + 1))
    return list.every((v, i) => v === value[i]) ? (value as Value[]) : list
  }
  const keys = Object.keys(value)
  run.charge(keys.length / 8)
  let copy: ValueObject | undefined
  for (const key of keys) {
    const old = member(value, key)
    const made = plain(old, run, depth + 1)
    if (made === old) continue
    copy ??= copyFields({}, value as ValueObject)
    setField(copy, key, made)
  }
  return copy ?? (value as ValueObject)
}

function toJson(value: V, run: Run): string {
  const text = encodeJsonText(plain(value, run))
  reserve(text.length, run)
  return text
}

/** The plain form gives an empty text where the `must` form refuses. */
function orEmpty(make: (value: V, run: Run) => string): (args: readonly V[], run: Run) => string {
  return ([value], run) => {
    try {
      return make(value, run)
    } catch (error) {
      if ((error as { code?: string }).code === 'LIMIT') throw error
      return ''
    }
  }
}

/** `<`, `>` and `&` as they are. A doubled backslash is one unit, so that a literal `\u003c` stays. */
function toRawJson(value: V, run: Run): string {
  const raw: Record<string, string> = { '\\u003c': '<', '\\u003e': '>', '\\u0026': '&' }
  return toJson(value, run).replace(/\\(?:u003c|u003e|u0026|.)/g, (unit) => raw[unit] ?? unit)
}

/** JSON over several lines, two spaces a level. */
function toPrettyJson(value: V, run: Run): string {
  const text = toJson(value, run)
  let out = ''
  let level = 0
  for (let i = 0; i < text.length; ) {
    const c = text[i] as string
    if (c === '"') {
      let end = i + 1
      while (text[end] !== '"') end += text[end] === '\\' ? 2 : 1
      out += text.slice(i, end + 1)
      i = end + 1
      continue
    }
    i++
    if ((c === '{' || c === '[') && (text[i] === '}' || text[i] === ']')) out += c + text[i++]
    else if (c === '{' || c === '[') out += `${c}\n${'  '.repeat(++level)}`
    else if (c === '}' || c === ']') out += `\n${'  '.repeat(--level)}${c}`
    else if (c === ',') out += `,\n${'  '.repeat(level)}`
    else out += c === ':' ? ': ' : c
    reserve(out.length, run)
  }
  return out
}

/** eKuiper's own `base64`: the text of scalars, the JSON of maps. */
function base64(value: V, run: Run): string {
  const encode = (text: string): string => encodeBase64(encodeUtf8(text))
  if (value == null) return refuse('based64 error for nil')
  const int = integerOf(value)
  if (int !== undefined) return encode(String(int))
  if (typeof value === 'number') return encode(floatPlain(value))
  if (typeof value === 'boolean' || typeof value === 'string') return encode(String(value))
  if (isDict(value)) return encode(toJson(value, run))
  return refuse(`Unsupported data type ${kindName(value)} for base64 function.`)
}

const alphabet32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

function encodeBase32(bytes: Uint8Array): string {
  let out = ''
  let bits = 0
  let held = 0
  for (const byte of bytes) {
    held = (held << 8) | byte
    bits += 8
    while (bits >= 5) {
      bits -= 5
      out += alphabet32[(held >> bits) & 31]
    }
    held &= (1 << bits) - 1
  }
  if (bits > 0) out += alphabet32[(held << (5 - bits)) & 31]
  return out.padEnd(Math.ceil(out.length / 8) * 8, '=')
}

/** The text, or what is wrong with it: sprig returns the message as the result. */
function decodeBase32(text: string): string {
  const clean = text.replace(/[\r\n]/g, '')
  const bytes: number[] = []
  let bits = 0
  let held = 0
  const end = clean.replace(/=+$/, '').length
  const padding = clean.length - end
  const fits = [0, 1, 3, 4, 6].includes(padding)
  for (let i = 0; i < end; i++) {
    const digit = alphabet32.indexOf(clean[i] as string)
    if (digit < 0) return `illegal base32 data at input byte ${i}`
    held = ((held << 5) | digit) & 0xfff
    bits += 5
    if (bits >= 8) {
      bits -= 8
      bytes.push((held >> bits) & 255)
    }
  }
  if (clean.length % 8 !== 0 || !fits) return `illegal base32 data at input byte ${end - (end % 8)}`
  return decodeUtf8(new Uint8Array(bytes))
}

function decode64(text: string): string {
  const bytes = decodeBase64(text)
  return typeof bytes === 'number' ? `illegal base64 data at input byte ${bytes}` : decodeUtf8(bytes)
}

const hex = (bytes: Uint8Array): string => Array.from(bytes, (b) => b.toString(16).padStart(2, '0')).join('')

function adler32(bytes: Uint8Array): number {
  let a = 1
  let b = 0
  for (const byte of bytes) {
    a = (a + byte) % 65521
    b = (b + a) % 65521
  }
  return b * 65536 + a
}

function randomBytes(count: number, run: Run): Uint8Array {
  reserve(count, run)
  return Uint8Array.from({ length: Math.max(count, 0) }, () => Math.floor(run.random() * 256))
}

function uuid(run: Run): string {
  const bytes = randomBytes(16, run)
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x40
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80
  return hex(bytes).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

const json = define('any', orEmpty(toJson))

export const encodingFunctions: FunctionTable = {
  adler32sum: define('string', ([text]) => String(adler32(encodeUtf8(text)))),
  b32dec: define('string', ([text]) => decodeBase32(text)),
  b32enc: define('string', ([text]) => encodeBase32(encodeUtf8(text))),
  b64dec: define('string', ([text]) => decode64(text)),
  b64enc: define('string', ([text]) => encodeBase64(encodeUtf8(text))),
  base64: define('any', ([value], run) => base64(value, run)),
  fromJson: define('string', ([text]) => {
    try {
      return decodeGoJson(text)
    } catch {
      return null
    }
  }),
  json,
  mustFromJson: define('string', ([text]) => decodeGoJson(text)),
  mustToJson: define('any', ([value], run) => toJson(value, run)),
  mustToPrettyJson: define('any', ([value], run) => toPrettyJson(value, run)),
  mustToRawJson: define('any', ([value], run) => toRawJson(value, run)),
  randBytes: define('int', ([count], run) => encodeBase64(randomBytes(count, run))),
  sha1sum: define('string', ([text]) => hex(sha1(encodeUtf8(text)))),
  sha256sum: define('string', ([text]) => hex(sha256(encodeUtf8(text)))),
  sha512sum: define('string', ([text]) => hex(sha512(encodeUtf8(text)))),
  toJson: json,
  toPrettyJson: define('any', orEmpty(toPrettyJson)),
  toRawJson: define('any', ([value], run) => toRawJson(value, run)),
  uuidv4: define('', (_args, run) => uuid(run)),
}
