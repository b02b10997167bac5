/** Expressions (spec/sql.md 1.6, 1.8, 1.9, 1.11): precedence climbing, one function per form. */

import { messageOf } from '../core/errors.ts'
import { goQuote } from '../core/go-text.ts'
import type { BinaryOperator, CaseExpression, Expression, Position, TimeUnit } from './ast.ts'
import { parseCall } from './calls.ts'
import type { Token } from './lexer.ts'
import { nameOf } from './names.ts'
import { binaryLevel, binaryLevels, isBoolean } from './precedence.ts'
import { accept, className, is, isWord, limitError, type Reader, syntaxError, unexpected } from './reader.ts'
import { childrenOf } from './walk.ts'

/** Operators in a row and nesting together: the height of an expression's tree at most. */
export const MAX_HEIGHT = 1000

/** `[`, `->` and `.` bind tightest of all. */
const PART_LEVEL = 5

/** Everything that may follow an operand, with its precedence level: 1 is loosest (spec/sql.md 1.8). */
const levels = new Map<string, number>([
  ...Object.entries(binaryLevels),
  ...['IN', 'NOT', 'BETWEEN', 'LIKE'].map((word): [string, number] => [word, 3]),
  ...['[', '->', '.'].map((symbol): [string, number] => [symbol, PART_LEVEL]),
])

export function parseExpr(r: Reader): Expression {
  const e = parseLevel(r, 1)
  if (r.depth() === 0) checkHeight(e)
  return e
}

function checkHeight(e: Expression): void {
  const stack: [Expression, number][] = [[e, 1]]
  for (let top = stack.pop(); top; top = stack.pop()) {
    const [part, height] = top
    if (height > MAX_HEIGHT) {
      throw limitError(`the expression is more than ${MAX_HEIGHT} levels deep; use IN for a long list of values`, e.at)
    }
    for (const child of childrenOf(part)) stack.push([child, height + 1])
  }
}

/** An expression whose operators bind at least as tightly as `level`. */
function parseLevel(r: Reader, level: number): Expression {
  return r.nested(() => parseOperators(r, parseUnary(r), level))
}

/** The operators after `first` that bind at least as tightly as `level`. */
function parseOperators(r: Reader, first: Expression, level: number): Expression {
  let left = first
  for (;;) {
    const found = isNullAhead(r) ? 3 : (levels.get(operatorText(r.peek())) ?? 0)
    if (found < level) return left
    if (found > 3 && (left.kind === 'isNull' || (left.kind === 'in' && left.list))) {
      throw unexpected(r.peek(), 'expected AND, OR or the end of the expression.', 'put the condition in parentheses')
    }
    // as eKuiper: `BETWEEN 1 AND 2+3` is `(BETWEEN 1 AND 2)+3`
    if (found > 3 && left.kind === 'between') left = { kind: 'parenthesis', expression: left, at: left.at }
    left = parseOperator(r, left)
  }
}

function operatorText(token: Token): string {
  return token.kind === 'symbol' || token.kind === 'keyword' ? token.text : ''
}

function isNullAhead(r: Reader): boolean {
  if (!isWord(r.peek(), 'IS')) return false
  return isWord(r.peek(is(r.peek(1), 'NOT') ? 2 : 1), 'NULL')
}

function parseOperator(r: Reader, left: Expression): Expression {
  const at = left.at
  const token = r.next()
  switch (token.text) {
    case '[':
      return parseBracket(r, left)
    case '->':
    case '.':
      return { kind: 'member', object: left, key: parseKey(r), at }
    case 'IN':
      return parseIn(r, left, false)
    case 'BETWEEN':
      return parseBetween(r, left, false)
    case 'LIKE':
      return { kind: 'like', negated: false, left, pattern: parseLevel(r, 4), at }
    case 'NOT': {
      const form = r.next()
      if (is(form, 'IN')) return parseIn(r, left, true)
      if (is(form, 'BETWEEN')) return parseBetween(r, left, true)
      if (is(form, 'LIKE')) return { kind: 'like', negated: true, left, pattern: parseLevel(r, 4), at }
      throw unexpected(
        form,
        'expected expression',
        'NOT is only known as NOT IN, NOT BETWEEN, NOT LIKE and IS NOT NULL',
      )
    }
    default: {
      if (token.kind === 'name') {
        const negated = accept(r, 'NOT') !== null
        r.next()
        return { kind: 'isNull', negated, operand: left, at }
      }
      const operator = token.text as BinaryOperator
      return { kind: 'binary', operator, left, right: parseLevel(r, binaryLevel(operator) + 1), at }
    }
  }
}

function parseKey(r: Reader): string {
  const token = r.next()
  if (token.kind !== 'name') throw unexpected(token, 'expected expression.')
  return token.text
}

function parseIn(r: Reader, left: Expression, negated: boolean): Expression {
  const at = left.at
  if (!accept(r, '(')) {
    let first: Expression
    try {
      first = parseUnary(r)
    } catch (error) {
      throw wrapped(error, r, (message) => `expect expression after IN, but got error ${message}`)
    }
    return { kind: 'in', negated, left, list: null, array: parseOperators(r, first, 4), at }
  }
  const list: Expression[] = []
  do {
    try {
      list.push(parseExpr(r))
    } catch (error) {
      throw wrapped(error, r, (message) => `expect elements for IN expression, but ${message}`)
    }
  } while (accept(r, ','))
  const close = r.next()
  if (!is(close, ')')) throw syntaxError(`expect ) for IN expression, but got ${goQuote(close.text)}`, close)
  return { kind: 'in', negated, left, list, array: null, at }
}

/** The bounds are operands and parts of them (`a[0]`, `a->b`), not expressions. */
function parseBetween(r: Reader, value: Expression, negated: boolean): Expression {
  const low = parseLevel(r, PART_LEVEL)
  const and = r.next()
  if (!is(and, 'AND')) {
    throw syntaxError(
      `expect AND expression after between but found ${className(and)}`,
      and,
      'put a computed bound in parentheses',
    )
  }
  return { kind: 'between', negated, value, low, high: parseLevel(r, PART_LEVEL), at: value.at }
}

/** After `[`: an index, or a slice; `[]` means `[:]`. */
function parseBracket(r: Reader, object: Expression): Expression {
  const at = object.at
  const first = r.peek()
  if (accept(r, ']')) return { kind: 'slice', object, start: null, end: null, at }
  let start: Expression | null = null
  if (!is(first, ':')) {
    try {
      start = parseExpr(r)
    } catch (error) {
      throw wrapped(error, r, () => `The start index ${first.text} is invalid in bracket expression.`)
    }
    if (accept(r, ']')) return { kind: 'index', object, index: start, at }
  }
  if (!accept(r, ':')) {
    throw syntaxError(`Unexpected token ${goQuote(first.text)}. when parsing bracket expressions.`, r.peek())
  }
  const second = r.peek()
  if (accept(r, ']')) return { kind: 'slice', object, start, end: null, at }
  let end: Expression
  try {
    end = parseExpr(r)
  } catch (error) {
    throw wrapped(error, r, () => `The end index ${second.text} is invalid in bracket expression.`)
  }
  const close = r.next()
  if (!is(close, ']')) throw syntaxError(`Found ${goQuote(close.text)}, expected right bracket.`, close)
  return { kind: 'slice', object, start, end, at }
}

/** The reference replaces some messages; the place and the reason of the first failure stay. */
function wrapped(error: unknown, r: Reader, message: (inner: string) => string): unknown {
  const e = error as { code?: string; line?: number; column?: number; hint?: string }
  if (e.code !== 'SQL_SYNTAX') return error
  const at = { line: e.line ?? r.peek().at.line, column: e.column ?? r.peek().at.column }
  return syntaxError(message(messageOf(error)), at, e.hint ?? messageOf(error))
}

function parseUnary(r: Reader): Expression {
  const token = r.peek()
  const at = token.at
  switch (token.kind) {
    case 'name':
      return is(r.peek(1), '(') ? parseCall(r) : parseName(r)
    case 'string':
    case 'singleQuoted':
      r.next()
      return { kind: 'string', value: token.text, at }
    case 'integer':
    case 'number':
      r.next()
      return numberLiteral(token, token.text, at)
    case 'timeUnit':
      r.next()
      return { kind: 'timeUnit', unit: token.text.toLowerCase() as TimeUnit, at }
  }
  if (is(token, '(')) {
    r.next()
    const expression = parseExpr(r)
    const close = r.next()
    if (!is(close, ')')) throw unexpected(close, 'expected right paren.')
    return { kind: 'parenthesis', expression, at }
  }
  if (is(token, '-')) {
    const digits = r.peek(1)
    if (digits.kind === 'integer' || digits.kind === 'number') {
      r.next()
      return numberLiteral(r.next(), `-${digits.text}`, at)
    }
    throw unexpected(token, 'expected expression.', 'a minus sign stands before digits only; write 0 - x')
  }
  if (is(token, '*')) return parseWildcard(r, null)
  if (is(token, 'CASE')) return parseCase(r)
  if (is(token, 'TRUE') || is(token, 'FALSE')) {
    r.next()
    return { kind: 'boolean', value: token.text === 'TRUE', at }
  }
  throw unexpected(
    token,
    'expected expression.',
    is(token, 'NOT') ? 'there is no prefix NOT; compare with = false' : undefined,
  )
}

const MAX_INT64 = 2n ** 63n - 1n

function numberLiteral(token: Token, text: string, at: Position): Expression {
  if (token.kind === 'integer') {
    const value = BigInt(text)
    // as eKuiper: overflow saturates
    return {
      kind: 'integer',
      value: value > MAX_INT64 ? MAX_INT64 : value < -MAX_INT64 - 1n ? -MAX_INT64 - 1n : value,
      at,
    }
  }
  const value = Number(text)
  if (!Number.isFinite(value)) throw syntaxError(`found ${goQuote(text)}, invalid number value.`, at)
  return { kind: 'float', value, at }
}

/** A column, a metadata key, `s.*` or NULL. */
function parseName(r: Reader): Expression {
  const token = r.next()
  const at = token.at
  if (is(r.peek(), '.')) {
    r.next()
    if (is(r.peek(), '*') && !r.inMeta) return parseWildcard(r, token)
    const name = is(r.peek(), '*') ? r.next().text : parseKey(r)
    return r.inMeta
      ? { kind: 'meta', stream: token.text, key: name, at }
      : { kind: 'column', stream: token.text, name, at }
  }
  if (r.inMeta) return { kind: 'meta', stream: null, key: token.text, at }
  if (isWord(token, 'NULL') && !is(r.peek(), '->') && !is(r.peek(), '[')) {
    return token.text === 'null' ? { kind: 'null', at } : { kind: 'null', written: token.text, at }
  }
  return { kind: 'column', stream: null, name: token.text, at }
}

function parseWildcard(r: Reader, stream: Token | null): Expression {
  const star = r.next()
  const at = stream ? stream.at : star.at
  if (r.inMeta) {
    const after = r.peek()
    if (is(after, 'EXCEPT') || is(after, 'REPLACE')) {
      throw syntaxError(`${goQuote(after.text)} is not supported in meta function`, after)
    }
    return { kind: 'meta', stream: null, key: '*', at }
  }
  let except: readonly string[] = []
  let replace: readonly { readonly name: string; readonly expression: Expression }[] = []
  for (;;) {
    if (accept(r, 'EXCEPT')) except = parseExcept(r)
    else if (accept(r, 'REPLACE')) replace = parseReplace(r)
    else return { kind: 'wildcard', stream: stream?.text ?? null, except, replace, at }
  }
}

function parseExcept(r: Reader): string[] {
  const open = r.next()
  if (!is(open, '(')) throw syntaxError(`Found ${goQuote(open.text)} after EXCEPT, expect left parentheses.`, open)
  const names: string[] = []
  for (;;) {
    const token = r.next()
    if (is(token, ')')) return names
    if (token.kind === 'name') names.push(token.text)
    else if (!is(token, ',')) throw syntaxError(`Found ${goQuote(token.text)} in EXCEPT`, token)
  }
}

function parseReplace(r: Reader): { name: string; expression: Expression }[] {
  const open = r.next()
  if (!is(open, '(')) throw syntaxError(`Found ${goQuote(open.text)} after REPLACE, expect left parentheses.`, open)
  const items: { name: string; expression: Expression }[] = []
  for (;;) {
    const expression = parseExpr(r)
    const alias = parseAlias(r)
    const token = r.next()
    if (!is(token, ')') && !is(token, ',')) throw syntaxError(`Found ${goQuote(token.text)} in REPLACE`, token)
    const name = alias ?? nameOf(expression)
    if (alias === null && (name === '' || name === '*')) {
      throw unexpected(token, 'expected AS and a column name in REPLACE.')
    }
    items.push({ name, expression })
    if (is(token, ')')) return items
  }
}

/** The name after AS, or null when there is no AS. */
export function parseAlias(r: Reader): string | null {
  if (!accept(r, 'AS')) return null
  const token = r.next()
  if (token.kind !== 'name') throw unexpected(token, 'expected as alias.')
  return token.text
}

function parseCase(r: Reader): CaseExpression {
  const at = r.next().at
  const value = is(r.peek(), 'WHEN') ? null : parseExpr(r)
  const branches: { when: Expression; then: Expression }[] = []
  let otherwise: Expression | null = null
  for (;;) {
    const token = r.next()
    if (is(token, 'WHEN')) {
      const when = parseExpr(r)
      if (value === null && !isCondition(when)) {
        throw syntaxError('invalid CASE expression, WHEN expression must be a bool condition', when.at)
      }
      const then = r.next()
      if (!is(then, 'THEN')) throw syntaxError('invalid CASE expression, THEN expected after WHEN', then)
      branches.push({ when, then: parseExpr(r) })
    } else if (is(token, 'ELSE')) {
      if (branches.length === 0) throw syntaxError('invalid CASE expression, WHEN expected before ELSE', token)
      otherwise = parseExpr(r)
    } else if (is(token, 'END')) {
      if (branches.length === 0) throw syntaxError('invalid CASE expression, WHEN expected before END', token)
      return { kind: 'case', value, branches, otherwise, at }
    } else throw syntaxError('invalid CASE expression, END expected', token)
  }
}

/** Beyond the reference: parentheses around a condition, and calls, may stand after WHEN. */
function isCondition(e: Expression): boolean {
  return isBoolean(e) || e.kind === 'call' || (e.kind === 'parenthesis' && isCondition(e.expression))
}
