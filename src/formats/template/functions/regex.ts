/** Regular expressions with Go's syntax (RE2): time is linear in the text, so no pattern can hang a rule. */
import { type Matcher, RE2JS } from 're2js'
import { messageOf } from '../../../core/errors.ts'
import { define, type FunctionTable, type Run, refuse, type TemplateFunction } from '../function.ts'
import { textList } from './convert.ts'

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
function eachMatch(regex: RE2JS, text: string, limit: number, visit: (m: Matcher) => void): void {
  const matcher = regex.matcher(text)
  let lastEnd = -1
  for (let found = 0; found !== limit && matcher.find(); ) {
    if (matcher.start() === matcher.end() && matcher.start() === lastEnd) continue
    lastEnd = matcher.end()
    found++
    visit(matcher)
  }
}

function findAll(pattern: string, text: string, limit: number, run: Run): string[] {
  const matches: string[] = []
  eachMatch(compiled(pattern, run), text, limit, (m) => matches.push(m.group() ?? ''))
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

function replace(pattern: string, text: string, by: string, expands: boolean, run: Run): string {
  let out = ''
  let at = 0
  eachMatch(compiled(pattern, run), text, -1, (m) => {
    out += text.slice(at, m.start()) + (expands ? expand(by, m) : by)
    at = m.end()
    if (out.length > run.maxLength) refuse(`result is longer than ${run.maxLength} bytes`)
  })
  return out + text.slice(at)
}

function split(pattern: string, text: string, limit: number, run: Run): string[] {
  if (limit === 0) return []
  const regex = compiled(pattern, run)
  if (pattern !== '' && text === '') return ['']
  const parts: string[] = []
  let from = 0
  let end = 0
  eachMatch(regex, text, limit, (m) => {
    if (limit > 0 && parts.length === limit - 1) return
    end = m.start()
    if (m.end() !== 0) parts.push(text.slice(from, end))
    from = m.end()
  })
  if (end !== text.length) parts.push(text.slice(from))
  return parts
}

function both(name: string, f: TemplateFunction): FunctionTable {
  return { [name]: f, [`must${name[0]?.toUpperCase()}${name.slice(1)}`]: f }
}

export const regexFunctions: FunctionTable = {
  ...both(
    'regexFind',
    define('string string', ([p, text], run) => findAll(p, text, 1, run)[0] ?? ''),
  ),
  ...both(
    'regexFindAll',
    define('string string int', ([p, text, n], run) => textList(findAll(p, text, n, run))),
  ),
  regexMatch: define('string string', ([p, text], run) => {
    let regex: RE2JS
    try {
      regex = compiled(p, run)
    } catch {
      return false
    }
    return regex.matcher(text).find()
  }),
  mustRegexMatch: define('string string', ([p, text], run) => compiled(p, run).matcher(text).find()),
  regexQuoteMeta: define('string', ([text]) => text.replace(/[\\.+*?()|[\]{}^$]/g, '\\$&')),
  ...both(
    'regexReplaceAll',
    define('string string string', ([p, text, by], run) => replace(p, text, by, true, run)),
  ),
  ...both(
    'regexReplaceAllLiteral',
    define('string string string', ([p, text, by], run) => replace(p, text, by, false, run)),
  ),
  ...both(
    'regexSplit',
    define('string string int', ([p, text, n], run) => textList(split(p, text, n, run))),
  ),
}
