/** Regular expressions with Go's syntax (RE2): time is linear in the text, so no pattern can hang a rule. */
import { type Matcher, RE2JS } from 're2js'
import { messageOf } from '../../../core/errors.ts'
import { goQuote } from '../../../core/go-text.ts'
import { define, type FunctionTable, type Run, refuse } from '../function.ts'
import type { V } from '../values.ts'
import { reserve, textList } from './convert.ts'

/** A malformed pattern as Go's MustCompile reports it. */
function mustCompile(pattern: string, run: Run): RE2JS {
  try {
    return compiled(pattern, run)
  } catch (error) {
    const quoted = /[`\x00-\x1f\x7f]/.test(pattern) ? goQuote(pattern) : `\`${pattern}\``
    return refuse(`regexp: Compile(${quoted}): ${messageOf(error)}`)
  }
}

/** Patterns may come from data, so few are kept. */
const MAX_CACHED = 100

function compiled(pattern: string, run: Run): RE2JS {
  const key = `re:${pattern}`
  const known = run.cache.get(key)
  if (known !== undefined) return known as RE2JS
  let regex: RE2JS
  try {
    regex = RE2JS.compile(pattern)
  } catch (error) {
    return refuse(messageOf(error))
  }
  if (run.cache.size >= MAX_CACHED) run.cache.clear()
  run.cache.set(key, regex)
  return regex
}

/** Calls `visit` for each match, at most `limit` times when it is not negative; empty matches right after a match do not count. */
function eachMatch(regex: RE2JS, text: string, limit: number, run: Run, visit: (m: Matcher) => void): void {
  const matcher = regex.matcher(text)
  let lastEnd = -1
  for (let found = 0; found !== limit && matcher.find(); ) {
    if (matcher.start() === matcher.end() && matcher.start() === lastEnd) continue
    lastEnd = matcher.end()
    found++
    run.charge(1)
    visit(matcher)
  }
}

function findAll(regex: RE2JS, text: string, limit: number, run: Run): string[] {
  const matches: string[] = []
  eachMatch(regex, text, limit, run, (m) => matches.push(m.group() ?? ''))
  return matches
}

/** Fills `$1`, `${1}`, `$name`, `${name}`; `$$` is a dollar sign. */
function expand(template: string, m: Matcher): string {
  return template.replace(/\$(?:\$|\{(\w+)\}|(\w+))/g, (_whole, braced?: string, bare?: string) => {
    const name = braced ?? bare
    if (name === undefined) return '$'
    try {
      return m.group(/^\d+$/.test(name) ? Number(name) : name) ?? ''
    } catch {
      // A group that is not there is empty.
      return ''
    }
  })
}

function replace(regex: RE2JS, text: string, by: string, expands: boolean, run: Run): string {
  let out = ''
  let at = 0
  eachMatch(regex, text, -1, run, (m) => {
    out += text.slice(at, m.start()) + (expands ? expand(by, m) : by)
    at = m.end()
    reserve(out.length, run)
  })
  return out + text.slice(at)
}

function split(regex: RE2JS, text: string, limit: number, run: Run): string[] {
  if (limit === 0) return []
  if (regex.pattern() !== '' && text === '') return ['']
  const parts: string[] = []
  let from = 0
  let end = 0
  eachMatch(regex, text, limit, run, (m) => {
    if (limit > 0 && parts.length === limit - 1) return
    end = m.start()
    if (m.end() !== 0) parts.push(text.slice(from, end))
    from = m.end()
  })
  if (end !== text.length) parts.push(text.slice(from))
  return parts
}

/** The plain form and the `must` form of a function on a pattern, a text and more. */
function both(name: string, signature: string, use: (regex: RE2JS, args: string[], run: Run) => V): FunctionTable {
  const make = (compile: typeof compiled) =>
    define(signature, ([pattern, ...args], run) => use(compile(pattern, run), args, run))
  return { [name]: make(mustCompile), [`must${name[0]?.toUpperCase()}${name.slice(1)}`]: make(compiled) }
}

export const regexFunctions: FunctionTable = {
  ...both('regexFind', 'string string', (regex, [text = ''], run) => findAll(regex, text, 1, run)[0] ?? ''),
  ...both('regexFindAll', 'string string int', (regex, [text = '', n], run) =>
    textList(findAll(regex, text, Number(n), run)),
  ),
  regexMatch: define('string string', ([pattern, text], run) => {
    let regex: RE2JS
    try {
      regex = compiled(pattern, run)
    } catch {
      return false
    }
    return regex.matcher(text).find()
  }),
  mustRegexMatch: define('string string', ([pattern, text], run) => compiled(pattern, run).matcher(text).find()),
  regexQuoteMeta: define('string', ([text]) => text.replace(/[\\.+*?()|[\]{}^$]/g, '\\$&')),
  ...both('regexReplaceAll', 'string string string', (regex, [text = '', by = ''], run) =>
    replace(regex, text, by, true, run),
  ),
  ...both('regexReplaceAllLiteral', 'string string string', (regex, [text = '', by = ''], run) =>
    replace(regex, text, by, false, run),
  ),
  ...both('regexSplit', 'string string int', (regex, [text = '', n], run) =>
    textList(split(regex, text, Number(n), run)),
  ),
}
