/** CREATE, SHOW, DESCRIBE, EXPLAIN and DROP of streams and tables (spec/sql.md 1.16). */
import { goQuote } from '../core/go-text.ts'
import type { FieldType, Statement, StreamDefinition, StreamField } from './ast.ts'
import { basicTypes, defaultValue } from './field-types.ts'
import type { Token } from './lexer.ts'
import { accept, is, type Reader, syntaxError, unexpected } from './reader.ts'
import { checkDefinition, parseStreamOptions } from './stream-options.ts'

/** Words of DDL are no keywords: compared by text, shown upper-cased. */
function upperWord(token: Token): string {
  return token.text.toUpperCase()
}

function unexpectedWord(token: Token, expected: string): Error {
  return syntaxError(`found ${goQuote(upperWord(token))}, ${expected}`, token)
}

function parseStreamType(r: Reader): 'stream' | 'table' {
  const token = r.next()
  const word = upperWord(token)
  if (word === 'STREAM') return 'stream'
  if (word === 'TABLE') return 'table'
  throw unexpectedWord(token, 'expected keyword stream or table.')
}

function parseStreamName(r: Reader, what: string): string {
  const token = r.next()
  if (token.kind !== 'name') throw unexpected(token, `expected ${what} name.`)
  return token.text
}

/** At SHOW. */
export function parseShow(r: Reader): Statement {
  r.next()
  const token = r.next()
  const what = upperWord(token)
  if (what !== 'STREAMS' && what !== 'TABLES') throw unexpectedWord(token, 'expected keyword streams or tables.')
  endOfStatement(r, 'expected semecolon or EOF.')
  return { kind: 'show', what: what === 'STREAMS' ? 'streams' : 'tables' }
}

/** At DESCRIBE, EXPLAIN or DROP. */
export function parseNamed(r: Reader, kind: 'describe' | 'explain' | 'drop'): Statement {
  r.next()
  const what = parseStreamType(r)
  const name = parseStreamName(r, what)
  endOfStatement(r, 'expected semicolon or EOF.')
  return { kind, what, name }
}

function endOfStatement(r: Reader, expected: string): void {
  const token = r.peek()
  if (!is(token, ';') && token.kind !== 'end') throw unexpected(token, expected)
}

/** At CREATE. */
export function parseCreate(r: Reader): StreamDefinition {
  r.next()
  const streamType = parseStreamType(r)
  const at = r.peek()
  const name = parseStreamName(r, 'stream')
  const open = r.next()
  if (!is(open, '(')) throw unexpected(open, 'expected lparen after stream name.')
  const fields = parseFields(r)
  const after = r.peek()
  if (upperWord(after) === 'WITH') r.next()
  // as eKuiper: a comma or another parenthesis here is reported where the options should begin
  else if (fields.length === 0 || (!is(after, ',') && !is(after, ')'))) {
    throw unexpectedWord(after, 'expected is with.')
  }
  const options = parseStreamOptions(r)
  endOfStatement(r, 'expected semicolon or EOF.')
  const definition: StreamDefinition = {
    kind: 'createStream',
    streamType,
    name,
    fields: fields.length > 0 ? fields : null,
    options,
  }
  const problem = checkDefinition(definition, r.options.formats ?? [])
  if (problem) throw syntaxError(problem, at)
  return definition
}

/** After `(`, through `)`. A comma may stand before `)`. */
function parseFields(r: Reader): StreamField[] {
  const fields: StreamField[] = []
  while (!accept(r, ')')) {
    fields.push(parseField(r))
    const token = r.peek()
    if (!accept(r, ',') && !is(token, ')')) throw unexpected(token, 'expect comma or rparen.')
  }
  return fields
}

function parseField(r: Reader): StreamField {
  const token = r.next()
  if (token.kind !== 'name') throw unexpected(token, 'expect stream field name.')
  const type = parseType(
    r,
    'expect valid stream field types(BIGINT | FLOAT | STRING | DATETIME | BOOLEAN | BYTEA | ARRAY | STRUCT).',
  )
  if (!accept(r, 'DEFAULT')) return { name: token.text, type }
  return { name: token.text, type, default: parseDefault(r, type) }
}

function parseType(r: Reader, expected: string): FieldType {
  const token = r.next()
  const basic = basicTypes.get(token.text.toLowerCase())
  if (basic) return { kind: basic }
  const word = upperWord(token)
  if (word === 'ARRAY') return r.nested(() => parseArray(r))
  if (word === 'STRUCT') return r.nested(() => parseStruct(r))
  throw unexpected(token, expected)
}

function parseArray(r: Reader): FieldType {
  const open = r.next()
  if (!is(open, '(')) throw unexpected(open, 'expect lparen in array type definition.')
  const element = parseType(r, 'expect stream data types.')
  const close = r.next()
  if (!is(close, ')')) throw unexpected(close, `expect rparen in ${nestedIn(element)}array type definition.`)
  return { kind: 'array', element }
}

function nestedIn(element: FieldType): string {
  return element.kind === 'struct' || element.kind === 'array' ? `${element.kind} of ` : ''
}

function parseStruct(r: Reader): FieldType {
  const open = r.next()
  if (!is(open, '(')) throw unexpected(open, 'expected lparen after stream name.')
  const fields = parseFields(r)
  const after = r.peek()
  // as eKuiper: what may follow the fields of a stream is what the message names
  if (fields.length === 0 || (!is(after, ',') && !is(after, ')'))) throw unexpectedWord(after, 'expected is with.')
  return { kind: 'struct', fields }
}

function parseDefault(r: Reader, type: FieldType): bigint | number | string | boolean {
  const minus = is(r.peek(), '-') && (r.peek(1).kind === 'integer' || r.peek(1).kind === 'number') ? r.next() : null
  const token = r.next()
  const literal =
    token.kind === 'integer' ||
    token.kind === 'number' ||
    token.kind === 'string' ||
    token.kind === 'singleQuoted' ||
    is(token, 'TRUE') ||
    is(token, 'FALSE')
  if (!literal) throw unexpected(token, 'expect default constraint value.')
  const result = defaultValue(minus ? `-${token.text}` : token.text, type)
  if ('problem' in result) throw syntaxError(result.problem, minus ?? token)
  return result.value
}
