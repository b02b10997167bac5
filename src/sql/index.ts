/** The SQL front end: text to tree, tree to text. Every failure is an IxionError with a position. */

import { goQuote } from '../core/go-text.ts'
import type { Expression, SelectStatement, Statement } from './ast.ts'
import { parseCreate, parseNamed, parseShow } from './ddl.ts'
import { parseExpr } from './expressions.ts'
import { createLexer } from './lexer.ts'
import { resolveQualifiers } from './names.ts'
import { accept, createReader, type ParseOptions, type Reader, syntaxError, unexpected } from './reader.ts'
import { parseSelectStatement } from './select.ts'

export type { FunctionResolver, FunctionSignature } from './functions.ts'
export type { ParseOptions } from './reader.ts'

/** The first statement of the text, whatever its kind. What follows a `;` is not looked at, as in the reference. */
export function parseStatement(text: string, options: ParseOptions): Statement {
  return parseAny(createReader(text, options, parseExpr))
}

/** The first statement, which must be a SELECT. */
export function parseSelect(text: string, options: ParseOptions): SelectStatement {
  return parseSelectStatement(createReader(text, options, parseExpr))
}

/** All statements, separated by `;`. Empty ones are left out. */
export function parseStatements(text: string, options: ParseOptions): Statement[] {
  const r = createReader(text, options, parseExpr)
  const statements: Statement[] = []
  for (;;) {
    while (accept(r, ';')) {}
    if (r.peek().kind === 'end') return statements
    r.nextCallId = 0
    r.nextUnnamed = 0
    statements.push(parseAny(r))
  }
}

/** One expression and nothing else. With `options.sources`, `a.b` is a member access unless `a` is one of them. */
export function parseExpression(text: string, options: ParseOptions): Expression {
  const r = createReader(text, options, parseExpr)
  r.clause = 'select'
  const e = parseExpr(r)
  const end = r.peek()
  if (end.kind !== 'end') throw unexpected(end, 'expected EOF.')
  return options.sources ? resolveQualifiers(e, options.sources) : e
}

const verbs = {
  SELECT: parseSelectStatement,
  CREATE: parseCreate,
  SHOW: parseShow,
  DESCRIBE: (r: Reader) => parseNamed(r, 'describe'),
  EXPLAIN: (r: Reader) => parseNamed(r, 'explain'),
  DROP: (r: Reader) => parseNamed(r, 'drop'),
}

/** The verb of the first statement (`SELECT`, `CREATE`, ...), or null when the text begins with something else. */
export function statementVerb(text: string): keyof typeof verbs | null {
  const word = createLexer(text)().text.toUpperCase()
  return Object.hasOwn(verbs, word) ? (word as keyof typeof verbs) : null
}

function parseAny(r: Reader): Statement {
  const token = r.peek()
  const word = token.text.toUpperCase()
  if (Object.hasOwn(verbs, word)) return verbs[word as keyof typeof verbs](r)
  throw syntaxError(
    `Found ${goQuote(token.text)}, Expected SELECT.\n`,
    token,
    `a statement begins with one of ${Object.keys(verbs).join(', ')}`,
  )
}
