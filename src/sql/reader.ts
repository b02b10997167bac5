/** The parser's state: a token stream with look-ahead, the function resolver, counters and limits. */
import { IxionError } from '../core/errors.ts'
import { goQuote } from '../core/go-text.ts'
import type { Expression, Position } from './ast.ts'
import type { FunctionResolver } from './functions.ts'
import { createLexer, type Token } from './lexer.ts'

export interface ParseOptions {
  readonly functions: FunctionResolver
  /** Source names a qualifier may mean, when they do not stand in the text itself (graph rules). */
  readonly sources?: readonly string[]
  /** Names of formats beyond the built-in ones that a stream may declare, lower case. */
  readonly formats?: readonly string[]
}

/** Characters of SQL text accepted at most. */
export const MAX_TEXT_LENGTH = 1_048_576
/** Parentheses, calls, CASE and types inside each other at most. */
export const MAX_NESTING = 500

export interface Reader {
  readonly options: ParseOptions
  /** The token `ahead` of the next one; 0 is the next. */
  readonly peek: (ahead?: number) => Token
  readonly next: () => Token
  /** Calls inside, counting the nesting. */
  readonly nested: <T>(parse: () => T) => T
  /** Parses an expression. Here so that the files of the parser need not import each other in circles. */
  readonly expression: () => Expression
  /** How many `nested` are open. */
  readonly depth: () => number
  /** State that differs by clause. */
  clause: 'select' | 'other'
  /** Inside meta() or mqtt(): names are metadata keys. */
  inMeta: boolean
  nextCallId: number
  nextUnnamed: number
}

export function createReader(text: string, options: ParseOptions, parseExpression: (r: Reader) => Expression): Reader {
  if (text.length > MAX_TEXT_LENGTH) {
    throw new IxionError('LIMIT', `the SQL text has ${text.length} characters, at most ${MAX_TEXT_LENGTH} are accepted`)
  }
  const lex = createLexer(text)
  const ahead: Token[] = []
  let depth = 0
  const peek = (distance = 0): Token => {
    while (ahead.length <= distance) ahead.push(lex())
    return ahead[distance] as Token
  }
  const reader: Reader = {
    options,
    peek,
    next: () => ahead.shift() ?? lex(),
    nested: (parse) => {
      if (depth >= MAX_NESTING) {
        throw limitError(`the SQL text nests more than ${MAX_NESTING} levels deep`, peek().at)
      }
      depth++
      const result = parse()
      depth--
      return result
    },
    expression: () => parseExpression(reader),
    depth: () => depth,
    clause: 'other',
    inMeta: false,
    nextCallId: 0,
    nextUnnamed: 0,
  }
  return reader
}

export function syntaxError(message: string, where: Token | Position, hint?: string): IxionError {
  const token = 'at' in where ? where : null
  const { line, column } = token ? token.at : (where as Position)
  const advice = hint ?? (token ? tokenHint(token) : undefined)
  return new IxionError('SQL_SYNTAX', message, { line, column, ...(advice !== undefined && { hint: advice }) })
}

export function limitError(message: string, { line, column }: Position): IxionError {
  return new IxionError('LIMIT', message, { line, column })
}

/** `found "x", expected y.` for the token at hand. */
export function unexpected(token: Token, expected: string, hint?: string): IxionError {
  return syntaxError(`found ${goQuote(token.text)}, ${expected}`, token, hint)
}

function tokenHint(token: Token): string | undefined {
  switch (token.kind) {
    case 'badString':
      return 'the string literal that begins here is not closed'
    case 'illegal':
      return token.text
        ? 'this string has an unknown escape or a raw line break; write a backslash twice to mean one'
        : 'a character that SQL does not know, or a comment that is not closed'
    case 'keyword':
    case 'timeUnit':
      return `to use ${token.text} as a name, put it in backticks`
    default:
      return undefined
  }
}

/** True for the keyword, time unit or symbol `text`; a string of that content is not meant. */
export function is(token: Token, text: string): boolean {
  return token.text === text && (token.kind === 'symbol' || token.kind === 'keyword' || token.kind === 'timeUnit')
}

/** Consumes the keyword or symbol if it is next. */
export function accept(r: Reader, text: string): Token | null {
  return is(r.peek(), text) ? r.next() : null
}

/** True for a word that is no keyword, in any case, without backticks (NULL, IS, OUTER ...). */
export function isWord(token: Token, upper: string): boolean {
  return token.kind === 'name' && !token.quoted && token.text.toUpperCase() === upper
}

/** Name of the token's class as the reference prints it where it shows a token rather than its text. */
export function className(token: Token): string {
  switch (token.kind) {
    case 'name':
      return 'IDENT'
    case 'integer':
      return 'INTEGER'
    case 'number':
      return 'NUMBER'
    case 'string':
      return 'STRING'
    case 'singleQuoted':
      return 'SINGLEQUOTE'
    case 'illegal':
      return 'ILLEGAL'
    case 'badString':
      return ''
    default:
      return token.text
  }
}
