/**
 * Data templates: Go text/template with the functions eKuiper offers (spec/connectors.md 4.3, spec/sql.md 8.4), compiled
 * once to closures. A template sees its input and nothing else: no JavaScript property, no file, no environment. It ends:
 * output, work and nesting are limited.
 */
import { IxionError, messageOf, RowError } from '../../core/errors.ts'
import { Instant, isPlainKey, type Value } from '../../core/values.ts'
import {
  type Command,
  commandText,
  type Definition,
  type Expression,
  expressionText,
  type Node,
  type Pipeline,
} from './ast.ts'
import type { FunctionTable, ParameterType, Run, TemplateFunction } from './function.ts'
import { timeMethods } from './functions/dates.ts'
import { functions as allFunctions, unavailable } from './functions/index.ts'
import { type ParsedTemplate, parseTemplate, position, TEMPLATE_NAME } from './parser.ts'
import { displayText, sortedKeys, tooLong, valueText } from './print.ts'
import { byteLength } from './utf8.ts'
import { type Dict, deepCopy, GoInt, goInt, isDict, member, Opaque, truth, typeName, type V } from './values.ts'

export interface TemplateOptions {
  /** Functions beside the built-in ones; one of the same name replaces. */
  readonly functions?: FunctionTable
  /** Epoch milliseconds, for `now` and what builds on it. */
  readonly now: () => number
  /** In [0, 1), for random functions and uuids. */
  readonly random: () => number
  /** Zone of `date`, `toDate`, `htmlDate`: IANA name, default UTC. */
  readonly zone?: string
  /** What `prop` finds; default nothing. */
  readonly property?: (name: string) => string | undefined
  /** Largest result in bytes of UTF-8, default 16 MiB. */
  readonly maxOutputBytes?: number
  /** Most work of one rendering, about one step an action, default 1,000,000. */
  readonly maxSteps?: number
}

/** Renders one input. Throws RowError with the place in the template. */
export type Template = (input: Value) => string

const MAX_OUTPUT_BYTES = 16 * 1024 * 1024
const MAX_STEPS = 1_000_000
/** Templates calling templates. */
const MAX_DEPTH = 200
/** Making a text costs a step for so many characters, a list for so many elements. */
const CHARACTERS_PER_STEP = 64
const ELEMENTS_PER_STEP = 8

interface State extends Run {
  out: string
  /** Variables of the running template; slot 0 is `$`. */
  variables: V[]
  depth: number
  steps: number
  readonly maxSteps: number
}

const typeTexts: Record<ParameterType, string> = {
  any: 'interface {}',
  value: 'reflect.Value',
  string: 'string',
  int: 'int',
  bool: 'bool',
  float64: 'float64',
  time: 'time.Time',
  dict: 'map[string]interface {}',
}

const typeTests: Record<Exclude<ParameterType, 'any' | 'value'>, (value: V) => boolean> = {
  string: (v) => typeof v === 'string',
  bool: (v) => typeof v === 'boolean',
  float64: (v) => typeof v === 'number',
  int: (v) => v instanceof GoInt && v.type === 'int',
  time: (v) => v instanceof Instant,
  dict: (v) => isDict(v) && typeName(v) === typeTexts.dict,
}

type Evaluate = (state: State, dot: V) => V
const DONE = 0
const BREAK = 1
const CONTINUE = 2
type Signal = typeof DONE | typeof BREAK | typeof CONTINUE
type Execute = (state: State, dot: V) => Signal

/**
 * Compiles a template. Throws IxionError INVALID_PROPERTY with line and column when it does not parse.
 */
export function compileTemplate(source: string, options: TemplateOptions): Template {
  const table: FunctionTable = options.functions ? { ...allFunctions, ...options.functions } : allFunctions
  const find = (name: string): TemplateFunction | undefined => (Object.hasOwn(table, name) ? table[name] : undefined)
  const known = (name: string): boolean => name === 'and' || name === 'or' || find(name) !== undefined
  const parsed = parseTemplate(source, known, (name) => unavailable.get(name))
  const { execute, slots, mutates } = build(source, parsed, find)
  const maxBytes = options.maxOutputBytes ?? MAX_OUTPUT_BYTES
  const maxSteps = options.maxSteps ?? MAX_STEPS
  const zone = options.zone ?? 'UTC'
  const property = options.property ?? (() => undefined)
  const cache = new Map<string, unknown>()
  const { now, random } = options

  return (input) => {
    const dot: V = mutates ? deepCopy(input) : input
    const variables = new Array<V>(slots)
    variables[0] = dot
    const state: State = {
      out: '',
      variables,
      depth: 0,
      steps: 0,
      maxSteps,
      now,
      random,
      zone,
      maxLength: maxBytes,
      property,
      cache,
      charge,
    }
    try {
      execute(state, dot)
      if (state.out.length * 3 > maxBytes && byteLength(state.out) > maxBytes) tooLong(maxBytes)
    } catch (error) {
      if (error instanceof RowError || error instanceof IxionError) throw error
      // What JavaScript itself refuses (a string or a stack beyond its limits) is a failed row, not a failed process.
      throw new RowError(`template: ${TEMPLATE_NAME}: ${messageOf(error)}`, 'LIMIT')
    }
    return state.out
  }
}

function charge(this: State, steps: number): void {
  this.steps += steps
  if (this.steps > this.maxSteps) throw new RowError(`more than ${this.maxSteps} steps`, 'LIMIT')
}

/** What was evaluated last when `e` was: messages name it. */
function lastOperand(e: Expression): Expression {
  const last = e.type === 'pipeline' ? e.commands.at(-1)?.args.at(-1) : undefined
  return last === undefined ? e : lastOperand(last)
}

interface Built {
  readonly execute: Execute
  readonly slots: number
  /** True when a function in it changes values, so that the input is copied first. */
  readonly mutates: boolean
}

function build(source: string, parsed: ParsedTemplate, find: (name: string) => TemplateFunction | undefined): Built {
  let mutates = false
  /** Name of the template being built, for messages. */
  let current = TEMPLATE_NAME

  /** A failure at a place: `template: sink:1:2: executing "sink" at <.a>: MESSAGE`. */
  const failure = (name: string, at: number, context: string, error: unknown, prefix = ''): RowError => {
    const { line, column } = position(source, at)
    const code = error instanceof RowError ? error.code : 'EVALUATION'
    const message = typeof error === 'string' ? error : messageOf(error)
    return new RowError(
      `template: ${TEMPLATE_NAME}:${line}:${column}: executing ${JSON.stringify(name)} at <${context}>: ${prefix}${message}`,
      code,
    )
  }
  /** The same, made when it happens, for the expression `e`. */
  const thrower = (e: Expression): ((message: string) => never) => {
    const name = current
    return (message) => {
      throw failure(name, e.at, expressionText(e), message)
    }
  }

  // ---- expressions ----

  /** Reads one member of what `base` gives. `inside`: that is a member itself, so messages cannot tell its type. */
  function fieldOf(base: Evaluate, key: string, e: Expression, inside: boolean): Evaluate {
    const fail = thrower(e)
    const plain = isPlainKey(key)
    return (state, dot) => {
      const receiver = base(state, dot)
      if (typeof receiver === 'object' && receiver !== null) {
        const prototype = Object.getPrototypeOf(receiver)
        if (prototype === Object.prototype || prototype === null) {
          return plain ? (receiver as Dict)[key] : member(receiver as Dict, key)
        }
      }
      if (receiver === undefined) return undefined
      if (receiver === null) return fail(`nil pointer evaluating interface {}.${key}`)
      return method(state, receiver, key, [], fail, inside)
    }
  }

  function method(
    state: State,
    receiver: V,
    key: string,
    args: V[],
    fail: (message: string) => never,
    inside: boolean,
  ): V {
    const found =
      receiver instanceof Instant
        ? timeMethods.get(key)
        : receiver instanceof Opaque
          ? receiver.members.get(key)
          : undefined
    if (found === undefined) {
      const rows = Array.isArray(receiver) && receiver === state.variables[0]
      const type = inside ? 'interface {}' : rows ? '[]map[string]interface {}' : typeName(receiver)
      return fail(`can't evaluate field ${key} in type ${type}`)
    }
    try {
      return receiver instanceof Instant ? timeMethods.get(key)?.(receiver, args) : (found as () => V)()
    } catch (error) {
      return fail(`error calling ${key}: ${messageOf(error)}`)
    }
  }

  function chain(base: Evaluate, path: readonly string[], e: Expression): Evaluate {
    let evaluate = base
    for (const [i, key] of path.entries()) evaluate = fieldOf(evaluate, key, e, i > 0)
    return evaluate
  }

  const dotOf: Evaluate = (_state, dot) => dot

  /** An operand on its own: no arguments. */
  function operand(e: Expression): Evaluate {
    switch (e.type) {
      case 'dot':
        return dotOf
      case 'nil':
        return () => undefined
      case 'bool':
      case 'string': {
        const { value } = e
        return () => value
      }
      case 'number': {
        const value = constant(e)
        const fail = thrower(e)
        return value === undefined ? () => fail(`${e.source} overflows int`) : () => value
      }
      case 'field':
        return chain(dotOf, e.path, e)
      case 'variable': {
        const { slot } = e
        return chain((state) => state.variables[slot], e.path, e)
      }
      case 'function':
        return call(e, { at: e.at, args: [e] }, null)
      case 'chain': {
        const fail = thrower(e)
        if (e.base.type === 'nil') return () => fail(`indirection through explicit nil in ${expressionText(e)}`)
        return chain(operand(e.base), e.path, e)
      }
      case 'pipeline':
        return pipeline(e)
    }
  }

  /** A number where any type fits: a float when it is written as one. */
  function constant(e: Expression & { type: 'number' }): V {
    if (e.isFloat) return e.float
    if (e.int === null) return undefined
    return e.int >= 0n && e.int < 256n ? goInt(Number(e.int)) : new GoInt(e.int)
  }

  /** One command; `final` is the value piped into it. */
  function command(c: Command, final: Evaluate | null): Evaluate {
    const first = c.args[0] as Expression
    if (first.type === 'function') return call(first, c, final)
    const hasArguments = c.args.length > 1 || final !== null
    if (!hasArguments) {
      if (first.type === 'nil') {
        const fail = thrower(first)
        return () => fail('nil is not a command')
      }
      return operand(first)
    }
    const path = first.type === 'field' || first.type === 'variable' || first.type === 'chain' ? first.path : []
    const fail = thrower(first)
    if (path.length === 0) return () => fail(`can't give argument to non-function ${expressionText(first)}`)
    return invocation(first, path, c, final, fail)
  }

  /** A field with arguments: only methods of times take them. */
  function invocation(
    first: Expression,
    path: readonly string[],
    c: Command,
    final: Evaluate | null,
    fail: (message: string) => never,
  ): Evaluate {
    const base: Expression = { ...first, path: path.slice(0, -1) } as Expression
    const receiver = first.type === 'field' && path.length === 1 ? dotOf : operand(base)
    const key = path.at(-1) as string
    const args = c.args.slice(1).map(operand)
    return (state, dot) => {
      const last = final?.(state, dot)
      const target = receiver(state, dot)
      if (target === undefined) return undefined
      if (target === null) return fail(`nil pointer evaluating interface {}.${key}`)
      if (isDict(target)) return fail(`${key} is not a method but has arguments`)
      const values = args.map((a) => a(state, dot))
      if (final !== null) values.push(last)
      return method(state, target, key, values, fail, path.length > 1)
    }
  }

  /** Checks a computed value against a parameter's type and gives the form the function expects. */
  function checker(type: ParameterType, e: Expression): (value: V) => V {
    if (type === 'value') return (value) => value
    if (type === 'any') return (value) => (value === undefined ? null : value)
    const fail = thrower(lastOperand(e))
    const expected = typeTexts[type]
    const fits = typeTests[type]
    return (value) => {
      if (fits(value)) return type === 'int' ? Number((value as GoInt).value) : value
      if (value === undefined) return type === 'dict' ? undefined : fail(`invalid value; expected ${expected}`)
      return fail(
        `wrong type for value; expected ${expected}; got ${value === null ? 'interface {}' : typeName(value)}`,
      )
    }
  }

  function checked(evaluate: Evaluate, type: ParameterType, e: Expression): Evaluate {
    if (type === 'value') return evaluate
    const check = checker(type, e)
    return (state, dot) => check(evaluate(state, dot))
  }

  /** An argument written in the template, for a parameter of `type`. */
  function argument(e: Expression, type: ParameterType): Evaluate {
    const fail = thrower(e)
    const fixed =
      (value: V): Evaluate =>
      () =>
        value
    switch (e.type) {
      case 'nil':
        if (type === 'any') return fixed(null)
        return type === 'value' || type === 'dict'
          ? fixed(undefined)
          : () => fail(`cannot assign nil to ${typeTexts[type]}`)
      case 'bool':
      case 'number':
      case 'string':
        break
      default:
        return checked(operand(e), type, e)
    }
    if (type === 'any' || type === 'value') return operand(e)
    const text = expressionText(e)
    switch (type) {
      case 'string':
        return e.type === 'string' ? fixed(e.value) : () => fail(`expected string; found ${text}`)
      case 'bool':
        return e.type === 'bool' ? fixed(e.value) : () => fail(`expected bool; found ${text}`)
      case 'int':
        return e.type === 'number' && e.int !== null
          ? fixed(Number(e.int))
          : () => fail(`expected integer; found ${text}`)
      case 'float64':
        return e.type === 'number' ? fixed(e.float) : () => fail(`expected float; found ${text}`)
      default:
        return () => fail(`can't handle ${text} for arg of type ${typeTexts[type]}`)
    }
  }

  function call(name: Expression & { type: 'function' }, c: Command, final: Evaluate | null): Evaluate {
    const written = c.args.slice(1)
    const total = written.length + (final === null ? 0 : 1)
    const fail = thrower(name)
    if (name.name === 'and' || name.name === 'or') {
      if (total === 0) return () => fail(`wrong number of args for ${name.name}: want at least 1 got 0`)
      return shortCircuit(name.name === 'or', written, final)
    }
    const f = find(name.name) as TemplateFunction
    if (f.mutates) mutates = true
    const fixed = f.parameters.length
    if (f.rest !== null ? total < fixed : total !== fixed) {
      const want = f.rest !== null ? `at least ${fixed}` : fixed
      return () =>
        fail(`wrong number of args for ${name.name}: want ${want} got ${f.rest !== null ? written.length : total}`)
    }
    const typeAt = (i: number): ParameterType => (i < fixed ? f.parameters[i] : f.rest) as ParameterType
    const args = written.map((e, i) => argument(e, typeAt(i)))
    const template = current
    const { call: run } = f
    const check = final && checker(typeAt(total - 1), written.at(-1) ?? name)
    return (state, dot) => {
      // The piped value is computed before the arguments and passed after them.
      const piped = final?.(state, dot)
      const values = new Array<V>(total)
      for (let i = 0; i < args.length; i++) values[i] = (args[i] as Evaluate)(state, dot)
      if (check !== null) values[total - 1] = check(piped)
      try {
        state.charge(1)
        const result = run(values, state)
        if (typeof result === 'string') {
          if (result.length > CHARACTERS_PER_STEP) {
            if (result.length > state.maxLength) tooLong(state.maxLength)
            state.charge(result.length / CHARACTERS_PER_STEP)
          }
        } else if (Array.isArray(result) && result.length > ELEMENTS_PER_STEP) {
          state.charge(result.length / ELEMENTS_PER_STEP)
        }
        return result
      } catch (error) {
        throw failure(template, c.at, commandText(c), error, `error calling ${name.name}: `)
      }
    }
  }

  function shortCircuit(stopsAt: boolean, written: readonly Expression[], final: Evaluate | null): Evaluate {
    const args = written.map((e) => argument(e, 'value'))
    return (state, dot) => {
      const last = final?.(state, dot)
      let value: V
      for (const arg of args) {
        value = arg(state, dot)
        if (truth(value) === stopsAt) return value
      }
      return final === null ? value : last
    }
  }

  function pipeline(pipe: Pipeline): Evaluate {
    let evaluate: Evaluate | null = null
    for (const c of pipe.commands) {
      const step = command(c, evaluate)
      const simple = c.args[0]?.type === 'bool' || c.args[0]?.type === 'string' || c.args[0]?.type === 'number'
      // A nil inside an interface becomes a missing value between commands.
      evaluate = simple
        ? step
        : (state, dot) => {
            const value = step(state, dot)
            return value === null ? undefined : value
          }
    }
    const result = evaluate as Evaluate
    if (pipe.variables.length === 0) return result
    const slots = pipe.variables.map((v) => v.slot)
    return (state, dot) => {
      const value = result(state, dot)
      for (const slot of slots) state.variables[slot] = value
      return value
    }
  }

  // ---- nodes ----

  const spent = (state: State): void => {
    if (++state.steps > state.maxSteps)
      throw new RowError(`template: ${TEMPLATE_NAME}: more than ${state.maxSteps} steps`, 'LIMIT')
  }
  const write = (state: State, text: string): void => {
    state.out += text
    if (state.out.length > state.maxLength) {
      throw new RowError(`template: ${TEMPLATE_NAME}: result is longer than ${state.maxLength} bytes`, 'LIMIT')
    }
  }

  function body(nodes: readonly Node[]): Execute {
    const steps = nodes.map(node)
    const count = steps.length
    if (count === 1) return steps[0] as Execute
    return (state, dot) => {
      for (let i = 0; i < count; i++) {
        const signal = (steps[i] as Execute)(state, dot)
        if (signal !== DONE) return signal
      }
      return DONE
    }
  }

  function node(n: Node): Execute {
    switch (n.type) {
      case 'text': {
        const { text } = n
        return (state) => {
          write(state, text)
          return DONE
        }
      }
      case 'action':
        return action(n.pipe)
      case 'if':
      case 'with':
        return conditional(n.type === 'with', n.pipe, n.body, n.otherwise)
      case 'range':
        return loop(n.pipe, n.body, n.otherwise)
      case 'template':
        return invoke(n)
      case 'break':
        return () => BREAK
      case 'continue':
        return () => CONTINUE
    }
  }

  function action(pipe: Pipeline): Execute {
    const evaluate = pipeline(pipe)
    if (pipe.variables.length > 0) {
      return (state, dot) => {
        spent(state)
        evaluate(state, dot)
        return DONE
      }
    }
    const template = current
    return (state, dot) => {
      spent(state)
      const value = evaluate(state, dot)
      if (typeof value === 'string') write(state, value)
      else if (typeof value === 'object' && value !== null) {
        let text: string
        try {
          text = displayText(value, state.maxLength)
          state.charge(text.length / CHARACTERS_PER_STEP)
        } catch (error) {
          throw failure(template, pipe.at, expressionText(pipe), error)
        }
        write(state, text)
      } else write(state, displayText(value, state.maxLength))
      return DONE
    }
  }

  function conditional(
    moves: boolean,
    pipe: Pipeline,
    then: readonly Node[],
    otherwise: readonly Node[] | null,
  ): Execute {
    const evaluate = pipeline(pipe)
    const yes = body(then)
    const no = otherwise && body(otherwise)
    return (state, dot) => {
      spent(state)
      const value = evaluate(state, dot)
      if (truth(value)) return yes(state, moves ? value : dot)
      return no === null ? DONE : no(state, dot)
    }
  }

  function loop(pipe: Pipeline, inner: readonly Node[], otherwise: readonly Node[] | null): Execute {
    const evaluate = pipeline(pipe)
    const run = body(inner)
    const no = otherwise && body(otherwise)
    const fail = thrower(lastOperand(pipe))
    const [first, second] = pipe.variables
    const elementSlot = (second ?? first)?.slot ?? -1
    const indexSlot = second === undefined ? -1 : (first as { slot: number }).slot

    const iterate = (state: State, index: V, element: V): Signal => {
      spent(state)
      if (indexSlot >= 0) state.variables[indexSlot] = index
      if (elementSlot >= 0) state.variables[elementSlot] = element
      return run(state, element)
    }
    return (state, dot) => {
      spent(state)
      const value = evaluate(state, dot)
      let empty = true
      if (Array.isArray(value)) {
        // The list is the one at the start, whatever the body does to it.
        for (let i = 0, size = value.length; i < size; i++) {
          empty = false
          if (iterate(state, indexSlot < 0 ? undefined : goInt(i), value[i]) === BREAK) break
        }
      } else if (value instanceof Uint8Array) {
        for (let i = 0; i < value.length; i++) {
          empty = false
          if (iterate(state, goInt(i), new GoInt(BigInt(value[i] as number), 'uint8')) === BREAK) break
        }
      } else if (isDict(value)) {
        for (const key of sortedKeys(value)) {
          empty = false
          if (iterate(state, key, member(value, key)) === BREAK) break
        }
      } else if (typeof value === 'bigint' || (value instanceof GoInt && value.text === undefined)) {
        if (second !== undefined)
          return fail(`can't use ${valueText(value, state.maxLength)} to iterate over more than one variable`)
        const count = typeof value === 'bigint' ? value : value.value
        for (let i = 0n; i < count; i++) {
          empty = false
          const element =
            typeof value === 'bigint' ? i : value.type === 'int' ? goInt(Number(i)) : new GoInt(i, value.type)
          if (iterate(state, undefined, element) === BREAK) break
        }
      } else if (value != null) return fail(`range can't iterate over ${valueText(value, state.maxLength)}`)
      return empty && no !== null ? no(state, dot) : DONE
    }
  }

  const built = new Map<string, { execute: Execute; slots: number }>()

  function invoke(n: Node & { type: 'template' }): Execute {
    const evaluate = n.pipe && pipeline(n.pipe)
    const name = current
    const context = `{{template ${JSON.stringify(n.name)}${n.pipe === null ? '' : ` ${expressionText(n.pipe)}`}}}`
    return (state, dot) => {
      spent(state)
      const target = built.get(n.name)
      if (target === undefined) throw failure(name, n.at, context, `template ${JSON.stringify(n.name)} not defined`)
      if (state.depth >= MAX_DEPTH) {
        const error = new RowError(`exceeded maximum template depth (${MAX_DEPTH})`, 'LIMIT')
        throw failure(name, n.at, context, error)
      }
      const input = evaluate?.(state, dot)
      const saved = state.variables
      state.variables = new Array<V>(target.slots)
      state.variables[0] = input
      state.depth++
      target.execute(state, input)
      state.depth--
      state.variables = saved
      return DONE
    }
  }

  const buildDefinition = (d: Definition): void => {
    current = d.name
    built.set(d.name, { execute: body(d.body), slots: d.slots })
  }
  for (const d of parsed.definitions.values()) buildDefinition(d)
  buildDefinition(parsed.main)
  const main = built.get(TEMPLATE_NAME) as { execute: Execute; slots: number }
  return { ...main, mutates }
}
