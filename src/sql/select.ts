/** SELECT (spec/sql.md 1.9 to 1.11). */

import { goQuote } from '../core/go-text.ts'
import type { Expression, Join, JoinKind, SelectField, SelectStatement, SourceReference, Window } from './ast.ts'
import { parseAlias } from './expressions.ts'
import type { Token } from './lexer.ts'
import { nameOf, resolveQualifiers, unnamedField } from './names.ts'
import { validateSelect } from './pre-validation.ts'
import { accept, is, isWord, type Reader, syntaxError, unexpected } from './reader.ts'
import { parseSortKeys } from './sort-keys.ts'
import { mapStatement } from './walk.ts'
import { parseWindow } from './window.ts'
import { isWindowName } from './window-names.ts'

/** At SELECT; ends before `;` or the end of the text. */
export function parseSelectStatement(r: Reader): SelectStatement {
  const select = r.next()
  if (!is(select, 'SELECT')) throw syntaxError(`Found ${goQuote(select.text)}, Expected SELECT.\n`, select)
  r.clause = 'select'
  const fields = parseFields(r)
  r.clause = 'other'
  const fromToken = r.next()
  if (!is(fromToken, 'FROM')) throw unexpected(fromToken, 'expected FROM.')
  const from = parseSource(r)
  const joins = parseJoins(r)
  const where = accept(r, 'WHERE') ? r.expression() : null
  const { dimensions, window } = parseGroupBy(r)
  const having = accept(r, 'HAVING') ? r.expression() : null
  const orderBy = parseSortKeys(r)
  const limit = parseLimit(r)
  const end = r.peek()
  if (!is(end, ';') && end.kind !== 'end') throw unexpected(end, 'expected EOF.', clauseHint(end))

  const parsed: SelectStatement = {
    kind: 'select',
    fields,
    from,
    joins,
    where,
    dimensions,
    window,
    having,
    orderBy,
    limit,
  }
  const sources = r.options.sources ?? [from, ...joins.map((j) => j.source)].flatMap((s) => [s.name, s.alias ?? s.name])
  const statement = mapStatement(parsed, (e) => resolveQualifiers(e, sources))
  validateSelect(statement, r.options.functions)
  return statement
}

const clauseOrder = ['WHERE', 'GROUP', 'HAVING', 'ORDER', 'LIMIT']

function clauseHint(token: Token): string | undefined {
  if (token.kind !== 'keyword') return undefined
  if (!clauseOrder.includes(token.text)) return undefined
  return 'the clauses come in this order: SELECT, FROM, JOIN, WHERE, GROUP BY, HAVING, ORDER BY, LIMIT'
}

function parseFields(r: Reader): SelectField[] {
  const fields: SelectField[] = []
  do fields.push(parseField(r))
  while (accept(r, ','))
  return fields
}

function parseField(r: Reader): SelectField {
  const expression = r.expression()
  const as = r.peek()
  const alias = parseAlias(r)
  const wildcard = expression.kind === 'wildcard'
  if (wildcard && alias !== null) throw syntaxError('alias is not supported for *', as)
  const own = wildcard ? '' : nameOf(expression)
  const name = own === '' && alias === null && !wildcard ? unnamedField(r.nextUnnamed++) : own
  return { expression, name, alias, invisible: accept(r, 'INVISIBLE') !== null }
}

/**
 * Names, `/`, `#` and `+` glued together, for MQTT topics; blanks between them vanish, as eKuiper. But two names side by
 * side are not one source (spec/sql.md section 9, D32).
 */
function parseSource(r: Reader): SourceReference {
  const at = r.peek().at
  let name = ''
  let last: Token | null = null
  for (;;) {
    const token = r.peek()
    const word = token.kind === 'name'
    if (!word && !is(token, '/') && !is(token, '#') && !is(token, '+')) break
    if (word && last?.kind === 'name' && token.spaced) break
    name += token.text
    last = r.next()
  }
  if (!last || !accept(r, 'AS')) return { name, alias: null, at }
  const alias = r.next()
  if (alias.kind !== 'name') {
    throw syntaxError(`found ${goQuote(last.text)}, expected JOIN key word.`, alias, 'expected a name after AS')
  }
  return { name, alias: alias.text, at }
}

const joinKinds: Record<string, JoinKind> = {
  JOIN: 'inner',
  INNER: 'inner',
  LEFT: 'left',
  RIGHT: 'right',
  FULL: 'full',
  CROSS: 'cross',
}

function parseJoins(r: Reader): Join[] {
  const joins: Join[] = []
  for (;;) {
    const token = r.peek()
    const kind = token.kind === 'keyword' ? joinKinds[token.text] : undefined
    if (!kind) return joins
    r.next()
    if (token.text !== 'JOIN') {
      const outer = kind === 'left' || kind === 'right' || kind === 'full'
      if (outer && isWord(r.peek(), 'OUTER')) r.next()
      if (!accept(r, 'JOIN')) throw unexpected(token, 'expected JOIN key word.')
    }
    const source = parseSource(r)
    const on = accept(r, 'ON')
    if (on && kind === 'cross') throw syntaxError('On expression is not required for cross join type.\n', on)
    joins.push({ kind, source, on: on ? r.expression() : null, at: token.at })
  }
}

function parseGroupBy(r: Reader): { dimensions: Expression[]; window: Window | null } {
  const dimensions: Expression[] = []
  let window: Window | null = null
  if (!accept(r, 'GROUP')) return { dimensions, window }
  const by = r.next()
  if (!is(by, 'BY')) throw unexpected(by, 'expected BY statement.')
  do {
    const token = r.peek()
    if (token.kind === 'name' && isWindowName(token.text) && is(r.peek(1), '(')) {
      const found = parseWindow(r)
      // as eKuiper: of several windows the first counts
      window ??= found
    } else dimensions.push(r.expression())
  } while (accept(r, ','))
  return { dimensions, window }
}

function parseLimit(r: Reader): number | null {
  if (!accept(r, 'LIMIT')) return null
  const at = r.peek()
  const e = r.expression()
  if (e.kind !== 'integer') throw syntaxError('limit should be integer', at)
  return Number(e.value)
}
