/** String functions of sprig. Positions and lengths are bytes, as in Go. */
import { goQuote } from '../../../core/go-text.ts'
import { compareText } from '../../../core/text-order.ts'
import { decodeUtf8, encodeUtf8 } from '../../../core/utf8.ts'
import { define, type FunctionTable, type Run, refuse } from '../function.ts'
import { valueText } from '../print.ts'
import { type Dict, setMember, typed, type V } from '../values.ts'
import { reserve, textList, toText, toTexts } from './convert.ts'

/** Go maps characters one by one, so `ß` has no capital. */
function mapCase(text: string, convert: (c: string) => string): string {
  const all = convert(text)
  if (all.length === text.length) return all
  let out = ''
  for (const c of text) {
    const mapped = convert(c)
    out += [...mapped].length === 1 ? mapped : c
  }
  return out
}
const upper = (text: string): string => mapCase(text, (c) => c.toUpperCase())
const lower = (text: string): string => mapCase(text, (c) => c.toLowerCase())

const space = '[\\t\\n\\v\\f\\r \\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]'
const spaces = new RegExp(`${space}+`, 'g')
const isSpace = (c: string): boolean => new RegExp(space).test(c)
const outerSpace = new RegExp(`^${space}+|${space}+$`, 'g')

/** Runs byte-wise code on a text: each character of the argument stands for one byte. */
function onBytes(text: string, run: (bytes: string) => string): string {
  if (/^[\x00-\x7f]*$/.test(text)) return run(text)
  let bytes = ''
  for (const byte of encodeUtf8(text)) bytes += String.fromCharCode(byte)
  const result = run(bytes)
  const back = new Uint8Array(result.length)
  for (let i = 0; i < result.length; i++) back[i] = result.charCodeAt(i)
  return decodeUtf8(back)
}

function title(text: string): string {
  let out = ''
  let inWord = false
  for (const c of text) {
    out += inWord ? c : upper(c)
    inWord = /[\p{L}\p{Nd}_]/u.test(c) || (c > '\x7f' && !isSpace(c))
  }
  return out
}

/** Every first letter after white space through `convert`. */
function eachWordStart(text: string, convert: (c: string) => string): string {
  let out = ''
  let start = true
  for (const c of text) {
    const blank = isSpace(c)
    out += start && !blank ? convert(c) : c
    start = blank
  }
  return out
}

function initials(text: string): string {
  return text
    .split(spaces)
    .map((word) => [...word][0] ?? '')
    .join('')
}

function swapCase(text: string): string {
  let out = ''
  for (const c of text) out += c === lower(c) ? upper(c) : lower(c)
  return out
}

function abbreviate(text: string, offset: number, width: number): string {
  if (width < 4 || (offset > 0 && width < 7)) return text
  return onBytes(text, (bytes) => {
    if (bytes.length <= width) return bytes
    const keep = width - 3
    const from = Math.min(Math.max(offset, 0), bytes.length - keep)
    if (from <= 4) return `${bytes.slice(0, keep)}...`
    const tail = bytes.slice(from)
    if (tail.length <= keep) return `...${bytes.slice(-keep)}`
    return `...${keep < 4 ? '' : `${tail.slice(0, keep - 3)}...`}`
  })
}

function trunc(length: number, text: string): string {
  return onBytes(text, (bytes) => {
    if (length < 0) return bytes.length + length > 0 ? bytes.slice(length) : bytes
    return bytes.slice(0, length)
  })
}

function substr(start: number, end: number, text: string): string {
  return onBytes(text, (bytes) => {
    const from = Math.max(start, 0)
    const to = start >= 0 && (end < 0 || end > bytes.length) ? bytes.length : end
    if (to < 0 || to > bytes.length)
      refuse(`runtime error: slice bounds out of range [:${to}] with length ${bytes.length}`)
    if (from > to) refuse(`runtime error: slice bounds out of range [${from}:${to}]`)
    return bytes.slice(from, to)
  })
}

/** Lines of at most `width` bytes, broken at spaces; `breaksWords` also cuts longer words. */
function wrap(text: string, width: number, newLine: string, breaksWords: boolean): string {
  const size = Math.max(width, 1)
  const separator = newLine === '' ? '\n' : newLine
  return onBytes(text, (bytes) => {
    const lines: string[] = []
    let at = 0
    while (bytes.length - at > size) {
      if (bytes[at] === ' ') {
        at++
        continue
      }
      const gap = bytes.lastIndexOf(' ', at + size)
      if (gap >= at) {
        lines.push(bytes.slice(at, gap))
        at = gap + 1
      } else if (breaksWords) {
        lines.push(bytes.slice(at, at + size))
        at += size
      } else {
        const next = bytes.indexOf(' ', at + size)
        if (next < 0) break
        lines.push(bytes.slice(at, next))
        at = next + 1
      }
    }
    lines.push(bytes.slice(at))
    return lines.join(separator)
  })
}

type WordKind = 'connector' | 'punctuation' | 'number' | 'upper' | 'letters' | 'other'

/** Splits at changes between letters, digits and connectors; `HTTPServer` is `HTTP`, `Server`. */
function splitWords(text: string): { kind: WordKind; text: string }[] {
  const words: { kind: WordKind; text: string }[] = []
  const pattern =
    /([-_\s]+)|(\p{P}+)|(\p{N}+)|(\p{Lu}+(?![\p{Ll}\p{Lt}\p{Lm}\p{Lo}])|\p{Lu}[\p{Ll}\p{Lt}\p{Lm}\p{Lo}]*)|([\p{Ll}\p{Lt}\p{Lm}\p{Lo}]+)|([^\p{L}\p{N}\p{P}\s]+)/gu
  const kinds: WordKind[] = ['connector', 'punctuation', 'number', 'upper', 'letters', 'other']
  for (const match of text.matchAll(pattern)) {
    const kind = kinds[match.slice(1).findIndex((g) => g !== undefined)] as WordKind
    words.push({ kind, text: match[0] })
  }
  return words
}

/** `HTTPServer` -> `http_server`; digits stay with the word before them unless lower case letters follow. */
function joinWords(text: string, connector: string): string {
  const words = splitWords(text)
  const lowered = (kind: WordKind): boolean => kind === 'letters' || kind === 'number'
  const chunks: { text: string; joins: boolean }[] = []
  for (let i = 0; i < words.length; ) {
    const { kind, text: word } = words[i] as { kind: WordKind; text: string }
    if (kind === 'connector' || kind === 'punctuation') {
      chunks.push({ text: kind === 'connector' ? connector.repeat(word.length) : word, joins: false })
      i++
      continue
    }
    let chunk = word
    i++
    if (kind === 'number') {
      for (; i < words.length && lowered(words[i]?.kind as WordKind); i++) chunk += words[i]?.text
    } else if (words[i]?.kind === 'number' && words[i + 1]?.kind !== 'letters') {
      chunk += words[i]?.text
      i++
    }
    chunks.push({ text: chunk, joins: true })
  }
  let out = ''
  for (let i = 0; i < chunks.length; i++) {
    const chunk = chunks[i] as { text: string; joins: boolean }
    if (i > 0 && chunk.joins && chunks[i - 1]?.joins) out += connector
    out += chunk.joins ? lower(chunk.text) : chunk.text
  }
  return out
}

/** `http_server` -> `HttpServer`, `HTTPServer` -> `Httpserver`; of a run of connectors inside only the last one goes. */
function pascalCase(text: string): string {
  const runs = text.match(/[-_\s]+|[^-_\s]+/g) ?? []
  return runs
    .map((run, i) => {
      if (!/^[-_\s]/.test(run)) return capitalised(run)
      return i === 0 || i === runs.length - 1 ? run : run.slice(0, -1)
    })
    .join('')
}

/** First letter up; capitals right after a first capital go down. */
function capitalised(word: string): string {
  const [first = '', ...others] = word
  let out = upper(first)
  let lowers = first !== lower(first)
  for (const c of others) {
    lowers &&= c !== lower(c)
    out += lowers ? lower(c) : c
  }
  return out
}

function numberedParts(parts: readonly string[]): Dict {
  const result: Dict = {}
  for (const [i, part] of parts.entries()) setMember(result, `_${i}`, part)
  return typed('map[string]string', result)
}

const splitText = (text: string, separator: string): string[] => (separator === '' ? [...text] : text.split(separator))

/** Go's SplitN: at most `count` parts, the last one keeps the rest. */
function splitUpTo(text: string, separator: string, count: number): string[] {
  if (count === 0) return []
  const parts = splitText(text, separator)
  if (count < 0 || parts.length <= count) return parts
  return [...parts.slice(0, count - 1), parts.slice(count - 1).join(separator)]
}

function trimSet(text: string, set: string): string {
  const chars = new Set(set)
  const all = [...text]
  let from = 0
  let to = all.length
  while (from < to && chars.has(all[from] as string)) from++
  while (to > from && chars.has(all[to - 1] as string)) to--
  return all.slice(from, to).join('')
}

function replaceAll(text: string, old: string, by: string, run: Run): string {
  const parts = old === '' ? text.length + 1 : text.split(old).length
  reserve(text.length + parts * by.length, run)
  if (old !== '') return text.split(old).join(by)
  return `${by}${[...text].map((c) => c + by).join('')}`
}

function indent(count: number, text: string, run: Run): string {
  if (count < 0) refuse('strings: negative Repeat count')
  reserve(text.length + count * text.split('\n').length, run)
  const pad = ' '.repeat(count)
  return pad + text.replaceAll('\n', `\n${pad}`)
}

const letters = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'
const digits = '0123456789'
let visible = ''
for (let code = 32; code < 127; code++) visible += String.fromCharCode(code)

function randomText(count: number, alphabet: string, run: Run): string {
  reserve(count, run)
  let out = ''
  for (let i = 0; i < count; i++) out += alphabet[Math.floor(run.random() * alphabet.length)]
  return out
}

function shuffle(text: string, run: Run): string {
  const chars = [...text]
  for (let i = chars.length - 1; i > 0; i--) {
    const j = Math.floor(run.random() * (i + 1))
    const c = chars[i] as string
    chars[i] = chars[j] as string
    chars[j] = c
  }
  return chars.join('')
}

const withoutNil = (values: readonly V[]): V[] => values.filter((v) => v != null)

function joined(parts: readonly string[], separator: string, run: Run): string {
  reserve(
    parts.reduce((sum, p) => sum + p.length + separator.length, 0),
    run,
  )
  return parts.join(separator)
}

const trimAll = define('string string', ([set, text]) => trimSet(text, set))

export const stringFunctions: FunctionTable = {
  abbrev: define('int string', ([width, text]) => abbreviate(text, 0, width)),
  abbrevboth: define('int int string', ([left, right, text]) => abbreviate(text, left, right)),
  camelcase: define('string', ([text]) => pascalCase(text)),
  cat: define('...any', (values, run) =>
    joined(
      withoutNil(values).map((v) => valueText(v, run.maxLength)),
      ' ',
      run,
    ),
  ),
  contains: define('string string', ([part, text]) => text.includes(part)),
  hasPrefix: define('string string', ([part, text]) => text.startsWith(part)),
  hasSuffix: define('string string', ([part, text]) => text.endsWith(part)),
  hello: define('', () => 'Hello!'),
  indent: define('int string', ([count, text], run) => indent(count, text, run)),
  initials: define('string', ([text]) => initials(text)),
  join: define('string any', ([separator, list], run) => joined(toTexts(list, run), separator, run)),
  kebabcase: define('string', ([text]) => joinWords(text, '-')),
  lower: define('string', ([text]) => lower(text)),
  nindent: define('int string', ([count, text], run) => `\n${indent(count, text, run)}`),
  nospace: define('string', ([text]) => text.replace(spaces, '')),
  plural: define('string string int', ([one, many, count]) => (count === 1 ? one : many)),
  quote: define('...any', (values, run) =>
    withoutNil(values)
      .map((v) => goQuote(toText(v, run)))
      .join(' '),
  ),
  randAlpha: define('int', ([count], run) => randomText(count, letters, run)),
  randAlphaNum: define('int', ([count], run) => randomText(count, letters + digits, run)),
  randAscii: define('int', ([count], run) => randomText(count, visible, run)),
  randNumeric: define('int', ([count], run) => randomText(count, digits, run)),
  repeat: define('int string', ([count, text], run) => {
    if (count < 0) refuse('strings: negative Repeat count')
    reserve(count * text.length, run)
    return text.repeat(count)
  }),
  replace: define('string string string', ([old, by, text], run) => replaceAll(text, old, by, run)),
  shuffle: define('string', ([text], run) => shuffle(text, run)),
  snakecase: define('string', ([text]) => joinWords(text, '_')),
  sortAlpha: define('any', ([list], run) =>
    textList(list == null ? [toText(list, run)] : toTexts(list, run).sort(compareText)),
  ),
  split: define('string string', ([separator, text]) => numberedParts(splitText(text, separator))),
  splitList: define('string string', ([separator, text]) => textList(splitText(text, separator))),
  splitn: define('string int string', ([separator, count, text]) => numberedParts(splitUpTo(text, separator, count))),
  squote: define('...any', (values, run) =>
    withoutNil(values)
      .map((v) => `'${valueText(v, run.maxLength)}'`)
      .join(' '),
  ),
  substr: define('int int string', ([start, end, text]) => substr(start, end, text)),
  swapcase: define('string', ([text]) => swapCase(text)),
  title: define('string', ([text]) => title(text)),
  toString: define('any', ([value], run) => toText(value, run)),
  toStrings: define('any', ([value], run) => textList(toTexts(value, run))),
  trim: define('string', ([text]) => text.replace(outerSpace, '')),
  trimAll,
  trimall: trimAll,
  trimPrefix: define('string string', ([part, text]) => (text.startsWith(part) ? text.slice(part.length) : text)),
  trimSuffix: define('string string', ([part, text]) =>
    text.endsWith(part) ? text.slice(0, text.length - part.length) : text,
  ),
  trunc: define('int string', ([length, text]) => trunc(length, text)),
  untitle: define('string', ([text]) => eachWordStart(text, lower)),
  upper: define('string', ([text]) => upper(text)),
  wrap: define('int string', ([width, text]) => wrap(text, width, '', false)),
  wrapWith: define('int string string', ([width, newLine, text]) => wrap(text, width, newLine, true)),
}
