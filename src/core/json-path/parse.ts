/**
 * JSON path text -> a function of the data. The language is an expression language whose operands are paths: `$.a + 1`,
 * `$.a > 1 ? "hot" : "cold"`, `{"x": $.a}`, `[1, $.b]`, bare member names. Same grammar, precedence and messages as the
 * reference's path library (spec/functions.json, json_path_query); nesting is bounded here.
 */
import { RowError } from '../errors.ts'
import { parseGoFloat, truncateToInt64 } from '../go-number.ts'
import { goQuote, goText } from '../go-text.ts'
import { getField, goTypeName, isObject, setField, type Value, type ValueObject } from '../values.ts'
import { infixOperators, isOperatorPrefix, isOperatorSymbol, isZero, toBool, toFloat } from './operators.ts'
import {
  currentSelector,
  descendBranch,
  type Evaluate,
  evaluateText,
  filterBranch,
  keySelector,
  Path,
  type Scope,
  scriptSelector,
  sliceBranch,
  starBranch,
  unionBranch,
} from './path.ts'
import { position, scan, type Token, type TokenKind, unquote } from './scan.ts'

interface Node {
  readonly run: Evaluate
  /** Folded while parsing, so that an operator which cannot work is refused at once. */
  readonly constant: boolean
}

interface Stage {
  readonly node: Node
  readonly precedence: number
  /** Joins the node with what follows; null at the end of an expression. */
  readonly join: ((left: Node, right: Node) => Node) | null
}

/** How deep expressions may nest. */
const MAX_DEPTH = 200
/** The start of an operator of several characters is not told in messages. */
const NO_POSITION = -1
const MAX_INT32 = 2 ** 31 - 1

const noScope: Scope = { root: null, current: null, wildcards: null }

const constant = (value: Value): Node => ({ run: () => value, constant: true })
const dynamic = (run: Evaluate): Node => ({ run, constant: false })

function fold(node: Node, operands: readonly Node[]): Node {
  return operands.every((operand) => operand.constant) ? constant(node.run(noScope)) : node
}

const tokenName = (kind: TokenKind | string): string => (/^[A-Z]/.test(kind) && kind.length > 1 ? kind : goQuote(kind))

const nameOf = (token: Token): string => (token.kind === 'symbol' ? goQuote(token.text) : token.kind)

class Parser {
  readonly #text: string
  readonly #regexp: (source: string) => (text: string) => boolean
  #next = 0
  #token: Token = { kind: 'EOF', text: '', start: 0, end: 0 }
  /** Set when the last token was put back: what stood to be read instead, should it be left over in the end. */
  #putBack: (() => RowError) | null = null
  #depth = 0
  /** Where a `#` of the object key being read is noted. */
  #placeholders: { seen: boolean } | null = null

  constructor(text: string, regexp: (source: string) => (text: string) => boolean) {
    this.#text = text
    this.#regexp = regexp
  }

  parse(): Evaluate {
    try {
      const { run } = this.#expression()
      if (this.#putBack && this.#token.kind !== 'EOF') throw this.#putBack()
      return run
    } catch (error) {
      if (!(error instanceof RowError)) throw error
      const known = this.#text !== '' && this.#token.start !== NO_POSITION
      const start = !known ? '' : `:${position(this.#text, this.#token.start)}`
      throw new RowError(
        `parsing error: ${this.#text}\t${start} - ${position(this.#text, this.#token.end)} ${error.message}`,
      )
    }
  }

  #scan(): Token {
    if (this.#putBack) {
      this.#putBack = null
      return this.#token
    }
    this.#token = scan(this.#text, this.#next)
    this.#next = this.#token.end
    return this.#token
  }

  /** True, and the token taken, when the next one is this symbol. */
  #takes(symbol: string): boolean {
    const token = this.#scan()
    return token.kind === 'symbol' && token.text === symbol
  }

  #peek(): string {
    return this.#text[this.#next] ?? ''
  }

  #return(unit: string, ...expected: string[]): void {
    this.#putBack = () => this.#unexpected(unit, ...expected)
  }

  #unexpected(unit: string, ...expected: string[]): RowError {
    const names = expected.map(tokenName)
    const last = names.pop()
    const wanted = last === undefined ? '' : ` expected ${names.length > 0 ? `${names.join(', ')} or ` : ''}${last}`
    return new RowError(`unexpected ${nameOf(this.#token)} while scanning ${unit}${wanted}`)
  }

  #nested<T>(read: () => T): T {
    if (++this.#depth > MAX_DEPTH) throw new RowError('maximum parse depth exceeded')
    const result = read()
    this.#depth--
    return result
  }

  #expression(): Node {
    return this.#nested(() => {
      const stack: Stage[] = []
      for (;;) {
        this.#push(stack, this.#operator(stack, this.#operand()))
        if ((stack.at(-1) as Stage).join === null) return (stack.pop() as Stage).node
      }
    })
  }

  /** Joins what binds at least as tightly as the new stage, then adds it. */
  #push(stack: Stage[], stage: Stage): void {
    let node = stage.node
    for (let top = stack.at(-1); top && top.precedence >= stage.precedence; top = stack.at(-1)) {
      stack.pop()
      node = (top.join as NonNullable<Stage['join']>)(top.node, node)
    }
    stack.push({ ...stage, node })
  }

  #operator(stack: Stage[], operand: Node): Stage {
    let node = operand
    for (;;) {
      const token = this.#scan()
      let name = token.text
      if (token.kind === 'symbol' && isOperatorSymbol(name)) {
        for (let c = this.#peek(); isOperatorSymbol(c) && isOperatorPrefix(name + c); c = this.#peek()) {
          name += c
          this.#next++
          this.#token = { kind: 'symbol', text: name, start: NO_POSITION, end: this.#next }
        }
      } else if (token.kind !== 'Ident') {
        this.#return('operator')
        return { node, precedence: 0, join: null }
      }
      if (name === '?') {
        this.#push(stack, { node, precedence: 0, join: null })
        node = this.#ternary((stack.pop() as Stage).node)
        continue
      }
      const join = this.#infix(name)
      if (join) return { node, ...join }
      this.#return('operator')
      return { node, precedence: 0, join: null }
    }
  }

  #infix(name: string): { precedence: number; join: (left: Node, right: Node) => Node } | null {
    if (name === '=~' || name === '!~') {
      return { precedence: 40, join: (l, r) => fold(dynamic(this.#matches(l, r, name === '=~')), [l, r]) }
    }
    const infix = infixOperators.get(name)
    if (!infix) return null
    const { precedence, short, apply } = infix
    const run =
      (l: Node, r: Node): Evaluate =>
      (scope) => {
        const left = l.run(scope)
        const decided = short?.(left)
        return decided === undefined ? apply(left, r.run(scope)) : decided
      }
    return { precedence, join: (l, r) => fold(dynamic(run(l, r)), [l, r]) }
  }

  #matches(left: Node, right: Node, wanted: boolean): Evaluate {
    const fixed = right.constant ? this.#regexp(evaluateText(right.run, noScope)) : null
    return (scope) => {
      const text = evaluateText(left.run, scope)
      const test = fixed ?? this.#regexp(evaluateText(right.run, scope))
      return test(text) === wanted
    }
  }

  #ternary(condition: Node): Node {
    const yes = this.#expression()
    let no = constant(null)
    const token = this.#scan()
    if (token.kind === 'symbol' && token.text === ':') no = this.#expression()
    else if (token.kind !== 'EOF') throw this.#unexpected('<> ? <> : <>', ':', 'EOF')
    return dynamic((scope) => (isZero(condition.run(scope)) ? no : yes).run(scope))
  }

  #operand(): Node {
    return this.#nested(() => {
      const token = this.#scan()
      switch (token.kind) {
        case 'Int':
        case 'Float':
          return constant(this.#number(token.text))
        case 'String':
        case 'RawString':
        case 'Char': {
          const value = unquote(token.text)
          if (value === null) throw new RowError('could not parse string: invalid syntax')
          return constant(value)
        }
        case 'Ident':
          return this.#word(token.text)
        case 'symbol':
          return this.#prefixed(token.text)
        default:
          throw this.#unexpected('extensions')
      }
    })
  }

  #number(text: string): number {
    const value = parseGoFloat(text)
    if (typeof value === 'number') return value
    throw new RowError(
      `strconv.ParseFloat: parsing ${goQuote(text)}: ${value === 'range' ? 'value out of range' : 'invalid syntax'}`,
    )
  }

  #prefixed(symbol: string): Node {
    switch (symbol) {
      case '$':
      case '@': {
        const path = new Path()
        if (symbol === '@') path.plain(currentSelector)
        this.#path(path)
        return dynamic(path.evaluate())
      }
      case '#':
        return this.#placeholder()
      case '(': {
        const node = this.#expression()
        if (!this.#takes(')')) throw this.#unexpected('parentheses', ')')
        return node
      }
      case '[':
        return this.#array()
      case '{':
        return this.#object()
      case '-':
        return this.#unary((value) => -toNumber(value, `${goText(value)}(${goTypeName(value)})`))
      case '~':
        return this.#unary((value) => Number(~truncateToInt64(toNumber(value, goTypeName(value)))))
      case '!':
        return this.#unary((value) => {
          const bool = toBool(value)
          if (bool === undefined) throw new RowError(`unexpected ${goTypeName(value)} expected bool`)
          return !bool
        })
      default:
        throw this.#unexpected('extensions')
    }
  }

  #unary(apply: (value: Value) => Value): Node {
    const operand = this.#operand()
    return fold(
      dynamic((scope) => apply(operand.run(scope))),
      [operand],
    )
  }

  /** true, false, or a member of the data reached by name: `a`, `a.b`, `a["b"]`. */
  #word(word: string): Node {
    if (word === 'true' || word === 'false') return constant(word === 'true')
    const keys: Node[] = [constant(word)]
    for (;;) {
      const token = this.#scan()
      const symbol = token.kind === 'symbol' ? token.text : ''
      if (symbol === '.') {
        if (this.#scan().kind !== 'Ident') throw this.#unexpected('field', 'Ident')
        keys.push(constant(this.#token.text))
      } else if (symbol === '[') {
        keys.push(this.#expression())
        if (!this.#takes(']')) throw this.#unexpected('array key', ']')
      } else if (symbol === '(') {
        this.#arguments()
        const called = variable(keys)
        return dynamic((scope) => {
          throw new RowError(`could not call '${word}' type ${goTypeName(called(scope))}`)
        })
      } else {
        this.#return('variable', '.', '(', '[')
        return dynamic(variable(keys))
      }
    }
  }

  #arguments(): void {
    if (this.#takes(')')) return
    this.#return('scan arguments', ')')
    for (;;) {
      this.#expression()
      if (this.#takes(')')) return
      if (this.#token.text !== ',') throw this.#unexpected('arguments', ')', ',')
    }
  }

  #array(): Node {
    const elements: Node[] = []
    for (;;) {
      if (this.#takes(']')) break
      if (this.#token.kind === 'symbol' && this.#token.text === ',') continue
      this.#return('array', ',', ']')
      elements.push(this.#expression())
    }
    return dynamic((scope) => elements.map((element) => element.run(scope)))
  }

  #object(): Node {
    const members: ((scope: Scope, target: ValueObject) => void)[] = []
    for (;;) {
      if (this.#takes('}')) break
      if (this.#token.kind === 'symbol' && this.#token.text === ',') continue
      this.#return('object', ',', '}')
      const outer = this.#placeholders
      const placeholders = { seen: false }
      this.#placeholders = placeholders
      const key = this.#expression()
      this.#placeholders = outer
      if (!this.#takes(':')) throw this.#unexpected('object', ':')
      members.push(placeholders.seen ? this.#matchedMember(key) : this.#member(key))
    }
    return dynamic((scope) => {
      const object: ValueObject = {}
      for (const member of members) member(scope, object)
      return object
    })
  }

  #member(key: Node): (scope: Scope, target: ValueObject) => void {
    const value = this.#expression()
    return (scope, target) => {
      const member = value.run(scope)
      setField(target, evaluateText(key.run, scope), member)
    }
  }

  /** `{#: $..a}`: one member for each match, its key made of the match's wildcards. */
  #matchedMember(key: Node): (scope: Scope, target: ValueObject) => void {
    const token = this.#scan()
    const symbol = token.kind === 'symbol' ? token.text : ''
    if (symbol !== '$' && symbol !== '@') throw this.#unexpected('JSONPath key and value')
    const path = new Path()
    if (symbol === '@') path.plain(currentSelector)
    this.#path(path)
    return (scope, target) =>
      path.visit(scope, (wildcards, value) => setField(target, evaluateText(key.run, { ...scope, wildcards }), value))
  }

  #placeholder(): Node {
    if (!this.#placeholders) throw new RowError('JSONPath placeholder must only be used in an JSON object key')
    this.#placeholders.seen = true
    if (this.#scan().kind !== 'Int') {
      this.#return('JSONPath placeholder')
      return dynamic(({ wildcards }) => {
        if (!wildcards) throw new RowError('JSONPath placeholder #-1 is not available')
        return `$${wildcards
          .flat()
          .map((key) => `[${goQuote(key)}]`)
          .join('')}`
      })
    }
    const id = Number(this.#token.text)
    return dynamic(({ wildcards }) => {
      const key = wildcards?.[id]
      if (key === undefined) throw new RowError(`JSONPath placeholder #${id} is not available`)
      return typeof key === 'string' ? key : [...key]
    })
  }

  #path(path: Path): void {
    for (;;) {
      const token = this.#scan()
      switch (token.kind === 'symbol' ? token.text : '') {
        case '.':
          this.#afterDot(path)
          break
        case '[':
          this.#bracket(path, false)
          break
        case '(':
          this.#script(path)
          break
        default:
          this.#return('jsonpath', '.', '[', '(')
          return
      }
    }
  }

  #afterDot(path: Path): void {
    const token = this.#scan()
    if (token.kind === 'Ident') path.plain(keySelector(constant(token.text).run))
    else if (token.text === '*') path.branch(starBranch)
    else if (token.text === '.') {
      path.branch(descendBranch)
      this.#afterDescent(path)
    } else throw this.#unexpected('JSON select', 'Ident', '.', '*')
  }

  #afterDescent(path: Path): void {
    const token = this.#scan()
    if (token.kind === 'Ident') path.plain(keySelector(constant(token.text).run))
    else if (token.text === '[') this.#bracket(path, true)
    else if (token.text === '*') path.branch(starBranch)
    else if (token.text === '(') this.#script(path)
    else throw this.#unexpected('JSON mapper', '[', 'Ident', '*')
  }

  #script(path: Path): void {
    const script = this.#expression()
    if (!this.#takes(')')) throw this.#unexpected('jsonpath script', ')')
    path.plain(scriptSelector(script.run))
  }

  #bracket(path: Path, afterDescent: boolean): void {
    const { keys, separator } = this.#bracketKeys()
    const [first, second, third] = keys
    if (separator === ':') {
      if (afterDescent) throw new RowError('mapper can not be combined with range query')
      if (keys.length > 3) throw new RowError('range query has at least the parameter [min:max:step]')
      const fixed = (value: number): Evaluate => constant(value).run
      path.branch(sliceBranch(first ?? fixed(0), second ?? fixed(MAX_INT32), third ?? fixed(1)))
    } else if (separator === '?') {
      if (keys.length !== 1) throw new RowError('filter needs exactly one key')
      path.branch(filterBranch(first as Evaluate))
    } else if (keys.length === 0) path.branch(starBranch)
    else if (keys.length === 1 && !afterDescent) path.plain(keySelector(first as Evaluate))
    else path.branch(unionBranch(keys))
  }

  #bracketKeys(): { keys: Evaluate[]; separator: string } {
    const keys: Evaluate[] = []
    let separator = ''
    for (;;) {
      const token = this.#scan()
      let symbol = token.kind === 'symbol' ? token.text : ''
      if (symbol === '*') {
        if (!this.#takes(']')) throw this.#unexpected('JSON bracket star', ']')
        return { keys: [], separator: '' }
      }
      if (symbol === ':') keys.push(constant(keys.length === 1 ? MAX_INT32 : 0).run)
      else if (symbol !== '?' && !(symbol === ']' && separator === ':')) {
        this.#return('jsonpath brackets')
        keys.push(this.#expression().run)
        symbol = this.#scan().kind === 'symbol' ? this.#token.text : ''
      }
      separator ||= symbol
      if (symbol === ']') return { keys, separator }
      if (symbol === '?' && keys.length !== 0) throw this.#unexpected('JSON filter', ']')
      if (symbol !== ':' && symbol !== ',' && symbol !== '?') {
        throw this.#unexpected('JSON bracket separator', ':', ',')
      }
      if (separator !== symbol) {
        throw new RowError(`mixed ${separator.codePointAt(0)} and ${symbol.codePointAt(0)} in JSON bracket`)
      }
    }
  }
}

function toNumber(value: Value, found: string): number {
  const number = toFloat(value)
  if (number === undefined) throw new RowError(`unexpected ${found} expected number`)
  return number
}

/** A member by bare names: an absent one is null, a name that is no index of an array is passed over. */
function variable(path: readonly Node[]): Evaluate {
  return (scope) => {
    const keys = path.map((key) => evaluateText(key.run, scope))
    let value = scope.root
    for (const [i, key] of keys.entries()) {
      if (isObject(value)) value = getField(value, key) ?? null
      else if (Array.isArray(value)) {
        if (/^\+?\d+$/.test(key) && Number(key) < value.length) value = value[Number(key)] as Value
      } else throw new RowError(`unknown parameter ${keys.slice(0, i + 1).join('.')}`)
    }
    return value
  }
}

/** `regexp` compiles the pattern of `=~`; it throws a RowError on a malformed one. */
export function parseExpression(text: string, regexp: (source: string) => (text: string) => boolean): Evaluate {
  return new Parser(text, regexp).parse()
}
