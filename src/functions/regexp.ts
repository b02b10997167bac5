/**
 * Regular expression functions (spec/functions.json category string). The syntax is RE2's, as in Go: linear time whatever
 * the pattern, no look-around, no back-references.
 */
import { RE2JS } from 're2js'
import { messageOf, RowError } from '../core/errors.ts'
import { textOf } from '../core/go-text.ts'
import type { ScalarFunction } from './contract.ts'
import { defineScalar, text } from './helpers.ts'

const family = 'string'
/** Patterns may be columns, so the cache of compiled ones is bounded. */
const MAX_CACHED = 200
const cache = new Map<string, RE2JS>()

/** Throws RowError `error parsing regexp: ...`. */
function compile(pattern: string): RE2JS {
  let compiled = cache.get(pattern)
  if (compiled === undefined) {
    try {
      compiled = RE2JS.compile(pattern)
    } catch (error) {
      const message = messageOf(error).replace(/^(?!error parsing regexp)/, 'error parsing regexp: ')
      // Go quotes the offending part always, also when nothing is left of it.
      throw new RowError(/`$/.test(message) ? message : `${message}: \`\``)
    }
    if (cache.size >= MAX_CACHED) cache.clear()
    cache.set(pattern, compiled)
  }
  return compiled
}

/** Go's expansion of `$1`, `${1}`, `$name`, `${name}` and `$$`; the name is the longest run of letters, digits, `_`. */
const reference = /\$(?:\$|\{([\p{L}\p{Nd}_]+)\}|([\p{L}\p{Nd}_]+))/gu

function replaceAll(s: string, pattern: string, replacement: string): string {
  const expression = compile(pattern)
  const names = expression.namedGroups() as Record<string, number>
  const matcher = expression.matcher(s)
  const expand = (): string =>
    replacement.replace(reference, (whole, braced?: string, bare?: string) => {
      if (whole === '$$') return '$'
      const name = (braced ?? bare) as string
      const index = /^\d+$/.test(name) ? Number(name) : Object.hasOwn(names, name) ? (names[name] as number) : -1
      return index >= 0 && index <= matcher.groupCount() ? (matcher.group(index) ?? '') : ''
    })
  let out = ''
  let end = 0
  let lastMatchEnd = -1
  while (matcher.find()) {
    const start = matcher.start()
    // An empty match right after a match does not count.
    if (!(matcher.end() === start && start === lastMatchEnd)) {
      out += s.slice(end, start) + expand()
      end = matcher.end()
      lastMatchEnd = end
    }
  }
  return out + s.slice(end)
}

export const regexpFunctions: readonly ScalarFunction[] = [
  defineScalar({
    name: 'regexp_matches',
    family,
    args: [text('s'), text('regex')],
    nulls: 'falseIfAny',
    docs: 'Whether the regular expression (RE2 syntax) matches anywhere in s.',
    examples: [{ expression: 'regexp_matches("seafood", "foo.*")', result: true }],
    returns: 'bool',
    run: ([s, pattern]) => compile(textOf(pattern)).matcher(textOf(s)).find(),
  }),
  defineScalar({
    name: 'regexp_replace',
    family,
    args: [text('s'), text('regex'), text('replacement')],
    docs: 'Replaces every match of the regular expression (RE2 syntax); $1 and $name in the replacement (the name may stand in braces) are groups, $$ is a dollar sign.',
    examples: [
      { expression: 'regexp_replace("seafood", "o+", "u")', result: 'seafud' },
      { expression: 'regexp_replace("ab", "(a)(b)", "$2-$1")', result: 'b-a' },
    ],
    returns: 'string',
    run: ([s, pattern, replacement]) => replaceAll(textOf(s), textOf(pattern), textOf(replacement)),
  }),
  defineScalar({
    name: 'regexp_substr',
    family,
    args: [text('s'), text('regex')],
    docs: 'The first match of the regular expression (RE2 syntax), or the empty text.',
    examples: [{ expression: 'regexp_substr("seafood", "foo.*")', result: 'food' }],
    returns: 'string',
    run: ([s, pattern]) => {
      const matcher = compile(textOf(pattern)).matcher(textOf(s))
      return matcher.find() ? (matcher.group() ?? '') : ''
    },
  }),
]
