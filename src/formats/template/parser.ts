/**
 * Template text -> syntax tree. Messages follow Go's text/template (`template: sink:1: unexpected "x" in operand`),
 * as spec/connectors.md 4.3 and the recorded cases show them.
 */
import { IxionError } from '../../core/errors.ts'
import { goQuote } from '../../core/go-text.ts'
import type { Command, Definition, Expression, Node, Pipeline, Variable } from './ast.ts'
import { type Token, type TokenKind, tokenize } from './lexer.ts'
import { charCode, parseNumber, unquote } from './literals.ts'

/** The name templates carry in messages. */
export const TEMPLATE_NAME = 'sink'
/** Blocks and parentheses inside each other. */
const MAX_NESTING = 200

/** What ends a list of nodes. */
interface Terminator {
  readonly word: 'end' | 'else'
  /** `else if` and `else with`: the word that follows, not yet taken. */
  readonly chained: 'if' | 'with' | null
}

interface Scope {
  variables: Variable[]
  slots: number
  loops: number
}

const operandKinds = new Set<TokenKind>([
  'bool',
  'char',
  'dot',
  'field',
  'identifier',
  'number',
  'nil',
  'raw',
  'string',
  'variable',
  'lparen',
])

/** 1-based line and 0-based byte column of `at`, as messages give them. */
export function position(source: string, at: number): { line: number; column: number } {
  const before = source.slice(0, at)
  const lineStart = before.lastIndexOf('\n') + 1
  let line = 1
  for (let i = before.indexOf('\n'); i >= 0; i = before.indexOf('\n', i + 1)) line++
  return { line, column: new TextEncoder().encode(before.slice(lineStart)).length }
}

export interface ParsedTemplate {
  readonly main: Definition
  readonly definitions: ReadonlyMap<string, Definition>
}

/**
 * Parses a template. `hasFunction` tells known functions; `why` may explain an unknown one.
 * Throws IxionError INVALID_PROPERTY with line and column.
 */
export function parseTemplate(
  source: string,
  hasFunction: (name: string) => boolean,
  why: (name: string) => string | undefined = () => undefined,
): ParsedTemplate {
  const tokens = tokenize(source)
  const definitions = new Map<string, Definition>()
  let next = 0
  let nesting = 0
  /** Start of the action being read, for errors that surface lines later. */
  let actionAt = -1

  const error = (message: string, at: number, hint?: string): never => {
    const { line, column } = position(source, at)
    throw new IxionError('INVALID_PROPERTY', `template: ${TEMPLATE_NAME}:${line}: ${message}`, {
      line,
      column: column + 1,
      ...(hint !== undefined && { hint }),
    })
  }
  const peek = (): Token => tokens[next] as Token
  const take = (): Token => {
    const token = peek()
    if (next < tokens.length - 1) next++
    return token
  }
  const skipSpace = (): Token => {
    while (peek().kind === 'space') next++
    return peek()
  }
  const takeNonSpace = (): Token => {
    skipSpace()
    return take()
  }
  const nodeName = (token: Token): string => {
    if (token.kind === 'eof') return 'EOF'
    if (token.kind === 'keyword') return `<${token.text}>`
    if (token.kind === 'dot' || token.kind === 'nil') return `<${token.text}>`
    const chars = [...token.text]
    return chars.length > 10 ? `${goQuote(chars.slice(0, 10).join(''))}...` : goQuote(token.text)
  }
  const unexpected = (token: Token, context: string): never => {
    if (token.kind !== 'error') return error(`unexpected ${nodeName(token)} in ${context}`, token.at)
    let extra = ''
    if (actionAt >= 0) {
      const started = position(source, actionAt).line
      if (started !== position(source, token.at).line) {
        extra = ` in action started at ${TEMPLATE_NAME}:${started}`
        if (token.text.endsWith(' action')) extra = extra.slice(' in action'.length)
      }
    }
    return error(token.text + extra, token.at)
  }
  const expect = (kind: TokenKind, context: string): Token => {
    const token = takeNonSpace()
    return token.kind === kind ? token : unexpected(token, context)
  }
  const nested = <T>(at: number, run: () => T): T => {
    if (++nesting > MAX_NESTING) error(`more than ${MAX_NESTING} levels of nesting`, at)
    const result = run()
    nesting--
    return result
  }
  const newScope = (): Scope => ({ variables: [{ name: '$', slot: 0 }], slots: 1, loops: 0 })
  const declare = (scope: Scope, name: string): Variable => {
    const variable = { name, slot: scope.slots++ }
    scope.variables.push(variable)
    return variable
  }
  const find = (scope: Scope, name: string, at: number): Variable =>
    scope.variables.findLast((v) => v.name === name) ?? error(`undefined variable ${goQuote(name)}`, at)

  const text = (token: Token): string => {
    const value = token.kind === 'raw' ? token.text.slice(1, -1).replaceAll('\r', '') : unquote(token.text, '"')
    return value ?? error('invalid syntax', token.at, 'Check the escapes in the quoted text.')
  }

  function term(scope: Scope): Expression | null {
    const token = skipSpace()
    if (!operandKinds.has(token.kind)) return null
    take()
    const { at } = token
    switch (token.kind) {
      case 'identifier':
        if (!hasFunction(token.text)) {
          const reason = why(token.text)
          error(`function ${goQuote(token.text)} not defined${reason === undefined ? '' : `: ${reason}`}`, at)
        }
        return { type: 'function', at, name: token.text }
      case 'dot':
        return { type: 'dot', at }
      case 'nil':
        return { type: 'nil', at }
      case 'variable': {
        const { slot } = find(scope, token.text, at)
        return { type: 'variable', at, name: token.text, slot, path: [] }
      }
      case 'field':
        return { type: 'field', at, path: [token.text.slice(1)] }
      case 'bool':
        return { type: 'bool', at, value: token.text === 'true' }
      case 'char': {
        const code = charCode(token.text) ?? error(`malformed character constant: ${token.text}`, at)
        return { type: 'number', at, source: token.text, int: BigInt(code), float: code, isFloat: false }
      }
      case 'number': {
        if (token.text.endsWith('i')) error(`complex number ${token.text} is not supported`, at)
        const number = parseNumber(token.text)
        if (number === null)
          return error(
            /^[+-]?\d+$/.test(token.text)
              ? `integer overflow: ${goQuote(token.text)}`
              : `illegal number syntax: ${goQuote(token.text)}`,
            at,
          )
        return { type: 'number', at, source: token.text, ...number }
      }
      case 'string':
      case 'raw':
        return { type: 'string', at, source: token.text, value: text(token) }
      default:
        return nested(at, () => pipeline(scope, 'parenthesized pipeline', 'rparen'))
    }
  }

  function operand(scope: Scope): Expression | null {
    const base = term(scope)
    if (base === null || peek().kind !== 'field') return base
    const at = peek().at
    const path: string[] = []
    while (peek().kind === 'field') path.push(take().text.slice(1))
    switch (base.type) {
      case 'field':
        return { type: 'field', at, path: [...base.path, ...path] }
      case 'variable':
        return { ...base, at, path }
      case 'bool':
      case 'string':
      case 'number':
        return error(`unexpected . after term ${goQuote(base.type === 'bool' ? String(base.value) : base.source)}`, at)
      case 'nil':
      case 'dot':
        return error(`unexpected . after term ${goQuote(base.type === 'nil' ? 'nil' : '.')}`, at)
      default:
        return { type: 'chain', at, base, path }
    }
  }

  function command(scope: Scope): Command {
    const at = skipSpace().at
    const args: Expression[] = []
    for (;;) {
      const argument = operand(scope)
      if (argument !== null) args.push(argument)
      const token = take()
      if (token.kind === 'space') continue
      if (token.kind === 'close' || token.kind === 'rparen') next--
      else if (token.kind !== 'pipe') unexpected(token, 'operand')
      break
    }
    if (args.length === 0) error('empty command', at)
    return { at, args }
  }

  function pipeline(scope: Scope, context: string, end: 'close' | 'rparen'): Pipeline {
    const at = skipSpace().at
    const variables: Variable[] = []
    let assigns = false
    while (skipSpace().kind === 'variable') {
      const start = next
      const token = take()
      const after = skipSpace()
      if (after.kind === 'assign' || after.kind === 'declare') {
        take()
        assigns = after.kind === 'assign'
        variables.push(assigns ? find(scope, token.text, token.at) : declare(scope, token.text))
        break
      }
      if (after.kind === 'other' && after.text === ',') {
        take()
        if (context !== 'range' || variables.length > 0) error(`too many declarations in ${context}`, after.at)
        const follows = skipSpace().kind
        if (follows !== 'variable' && follows !== 'close' && follows !== 'rparen')
          error('range can only initialize variables', peek().at)
        // Whether this assigns or declares is seen after the second variable.
        const second = next
        const ahead = tokens.slice(second + 1).find((t) => t.kind !== 'space')
        const known = scope.variables.findLast((v) => v.name === token.text)
        variables.push(ahead?.kind === 'assign' && known ? known : declare(scope, token.text))
        continue
      }
      next = start
      break
    }
    const commands: Command[] = []
    for (;;) {
      const token = skipSpace()
      if (token.kind === end) {
        take()
        break
      }
      if (!operandKinds.has(token.kind)) {
        take()
        unexpected(token, context)
      }
      commands.push(command(scope))
    }
    if (commands.length === 0) error(`missing value for ${context}`, at)
    for (let i = 1; i < commands.length; i++) {
      const first = (commands[i] as Command).args[0]?.type
      if (first === 'bool' || first === 'dot' || first === 'nil' || first === 'number' || first === 'string')
        error(`non executable command in pipeline stage ${i + 1}`, (commands[i] as Command).at)
    }
    return { type: 'pipeline', at, variables, assigns, commands }
  }

  function control(scope: Scope, type: 'if' | 'with' | 'range'): Node {
    const visible = scope.variables.length
    const pipe = pipeline(scope, type, 'close')
    const inBody = scope.variables.length
    if (type === 'range') scope.loops++
    const body: Node[] = []
    let stop = list(scope, body)
    if (type === 'range') scope.loops--
    let otherwise: Node[] | null = null
    if (stop.word === 'else') {
      otherwise = []
      scope.variables.length = inBody
      if (stop.chained !== null && stop.chained === type) {
        const chained = stop.chained
        const inner = otherwise
        take()
        nested(peek().at, () => inner.push(control(scope, chained)))
      } else {
        if (stop.chained !== null) unexpected(take(), 'input')
        stop = list(scope, otherwise)
        if (stop.word !== 'end') error('expected end; found {{else}}', peek().at)
      }
    }
    scope.variables.length = visible
    return { type, pipe, body, otherwise }
  }

  function templateName(context: string): { name: string; at: number } {
    const token = takeNonSpace()
    if (token.kind !== 'string' && token.kind !== 'raw') unexpected(token, context)
    return { name: text(token), at: token.at }
  }

  function define(name: string, context: string): void {
    const scope = newScope()
    const body: Node[] = []
    const stop = list(scope, body)
    if (stop.word !== 'end') error(`unexpected {{else}} in ${context}`, peek().at)
    addDefinition({ name, body, slots: scope.slots }, peek().at)
  }

  function addDefinition(definition: Definition, at: number): void {
    const known = definitions.get(definition.name)
    if (known !== undefined && !isBlank(known.body)) {
      if (!isBlank(definition.body)) error(`template: multiple definition of template ${goQuote(definition.name)}`, at)
      return
    }
    definitions.set(definition.name, definition)
  }

  /** One action after `{{`. A terminator is returned, everything else is appended. */
  function action(scope: Scope, out: Node[]): Terminator | null {
    const token = skipSpace()
    if (token.kind !== 'keyword') {
      out.push({ type: 'action', pipe: pipeline(scope, 'command', 'close') })
      return null
    }
    take()
    switch (token.text) {
      case 'if':
      case 'with':
      case 'range': {
        const type = token.text
        nested(token.at, () => out.push(control(scope, type)))
        return null
      }
      case 'break':
      case 'continue':
        expect('close', `{{${token.text}}}`)
        if (scope.loops === 0) error(`{{${token.text}}} outside {{range}}`, token.at)
        out.push({ type: token.text })
        return null
      case 'template': {
        const { name, at } = templateName('template clause')
        let pipe: Pipeline | null = null
        if (skipSpace().kind === 'close') take()
        else pipe = pipeline(scope, 'template clause', 'close')
        out.push({ type: 'template', at, name, pipe })
        return null
      }
      case 'block': {
        const { name, at } = templateName('block clause')
        const pipe = pipeline(scope, 'block clause', 'close')
        nested(at, () => define(name, 'block clause'))
        out.push({ type: 'template', at, name, pipe })
        return null
      }
      case 'end':
        expect('close', 'end')
        return { word: 'end', chained: null }
      case 'else': {
        const after = skipSpace()
        if (after.kind === 'keyword' && (after.text === 'if' || after.text === 'with')) {
          return { word: 'else', chained: after.text }
        }
        expect('close', 'else')
        return { word: 'else', chained: null }
      }
      default:
        return unexpected(token, 'command')
    }
  }

  function list(scope: Scope, out: Node[]): Terminator {
    for (;;) {
      const token = peek()
      if (token.kind === 'eof') return error('unexpected EOF', token.at)
      take()
      if (token.kind === 'text') out.push({ type: 'text', text: token.text })
      else if (token.kind === 'open') {
        actionAt = token.at
        const stop = action(scope, out)
        actionAt = -1
        if (stop !== null) return stop
      } else unexpected(token, 'input')
    }
  }

  const scope = newScope()
  const body: Node[] = []
  while (peek().kind !== 'eof') {
    const token = take()
    if (token.kind === 'text') body.push({ type: 'text', text: token.text })
    else if (token.kind === 'open') {
      actionAt = token.at
      const word = skipSpace()
      if (word.kind === 'keyword' && word.text === 'define') {
        take()
        const { name } = templateName('define clause')
        expect('close', 'define clause')
        actionAt = -1
        nested(word.at, () => define(name, 'define clause'))
        continue
      }
      const stop = action(scope, body)
      actionAt = -1
      if (stop !== null) error(`unexpected {{${stop.word}}}`, word.at)
    } else unexpected(token, 'input')
  }
  const main = { name: TEMPLATE_NAME, body, slots: scope.slots }
  addDefinition(main, source.length)
  return { main: definitions.get(TEMPLATE_NAME) as Definition, definitions }
}

function isBlank(body: readonly Node[]): boolean {
  return body.every((n) => n.type === 'text' && n.text.trim() === '')
}
