/**
 * Builders shared by the function families: parameters that know their parse-time check, argument counts with the
 * reference's messages, and what a run needs of its call.
 */
import type { TimeContext } from '../core/time-parse.ts'
import { Instant, type Kind, type Value } from '../core/values.ts'
import type { ArgumentInfo, ArgumentSpec, CallContext, FunctionExample, NullRule, ScalarFunction } from './contract.ts'

type LiteralKind = NonNullable<ArgumentInfo['literal']>

/** One parameter; `rejects` are the literal kinds refused at parse time with `Expect WORD type for parameter N`. */
export interface Parameter extends ArgumentSpec {
  readonly optional?: boolean
  /** Stands for any number of further arguments. */
  readonly variadic?: boolean
  readonly rejects?: readonly LiteralKind[]
  /** Only a literal of a kind that is not rejected is accepted. */
  readonly literalOnly?: boolean
  /** The WORD; default: the type. */
  readonly word?: string
  /** Names another parameter in the message, where the reference does. */
  readonly numberInMessage?: number
}

type ParameterOptions = Omit<Parameter, 'name' | 'type'>
type ParameterBuilder = (name: string, options?: ParameterOptions) => Parameter

const parameter =
  (type: string, defaults: ParameterOptions): ParameterBuilder =>
  (name, options = {}) => ({ name, type, ...defaults, ...options })

/** An int64 or float64. */
export const num = parameter('number', {
  rejects: ['string', 'boolean', 'timeunit'],
  word: 'number - float or int',
})
export const int = parameter('int', { rejects: ['float', 'string', 'boolean', 'timeunit'] })
export const text = parameter('string', { rejects: ['int', 'float', 'boolean', 'timeunit'] })
export const datetime = parameter('datetime', { rejects: ['int', 'float', 'string', 'boolean'] })
export const any = parameter('any', {})

/** `Expect WORD type for parameter N`; `index` counts from 0. */
export function expectType(index: number, word: string): string {
  return `Expect ${word} type for parameter ${index + 1}`
}

export function expectCount(expected: number, found: number): string | null {
  return expected === found ? null : `Expect ${expected} arguments but found ${found}.`
}

export function expectAtLeast(minimum: number, found: number): string | null {
  return found >= minimum ? null : `At least has ${minimum} argument but found ${found}.`
}

/** The literal checks of the parameters against the arguments present; null when all pass. */
export function checkLiterals(parameters: readonly Parameter[], args: readonly ArgumentInfo[]): string | null {
  const last = parameters.at(-1)
  for (let i = 0; i < args.length; i++) {
    const p = parameters[i] ?? (last?.variadic ? last : undefined)
    const { literal } = args[i] as ArgumentInfo
    if (p === undefined) break
    if (literal === null ? p.literalOnly : p.rejects?.includes(literal)) {
      return expectType((p.numberInMessage ?? i + 1) - 1, p.word ?? p.type)
    }
  }
  return null
}

/** Count first, then literals, as the reference does. */
export function checkArguments(parameters: readonly Parameter[], args: readonly ArgumentInfo[]): string | null {
  const required = parameters.filter((p) => !p.optional && !p.variadic).length
  const open = parameters.some((p) => p.variadic)
  const count =
    open || required < parameters.length
      ? (expectAtLeast(required, args.length) ??
        (open || args.length <= parameters.length ? null : 'too many arguments'))
      : expectCount(required, args.length)
  return count ?? checkLiterals(parameters, args)
}

export interface ScalarOptions {
  readonly name: string
  readonly aliases?: readonly string[]
  readonly family: string
  readonly args: readonly Parameter[]
  readonly docs: string
  readonly examples: readonly FunctionExample[]
  /** Default nullIfAny. */
  readonly nulls?: NullRule
  /** Default true. */
  readonly deterministic?: boolean
  readonly returns?: Kind
  /** Replaces the check made from `args`, for functions with a wording of their own. */
  readonly validate?: ScalarFunction['validate']
  readonly run: ScalarFunction['run']
}

/** A scalar function from its parts; the parse-time check follows from the parameters. */
export function defineScalar(options: ScalarOptions): ScalarFunction {
  return {
    nulls: 'nullIfAny',
    deterministic: true,
    validate: (args) => checkArguments(options.args, args),
    ...options,
    kind: 'scalar',
  }
}

/** What reading a time from text needs of the call. */
export function timeContext(call: CallContext): TimeContext {
  return { zone: call.timezone, now: call.clock.now() }
}

/** null, [] and {}: what the null rules count as null. */
export function isNullOrEmpty(value: Value): boolean {
  if (value === null) return true
  if (typeof value !== 'object') return false
  if (Array.isArray(value)) return value.length === 0
  if (value instanceof Instant || value instanceof Uint8Array) return false
  for (const _ in value) return false
  return true
}
