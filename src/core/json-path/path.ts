/**
 * The path part of a JSON path expression: `$` or `@` followed by selectors. A path of plain selectors gives one value and
 * fails when it does not fit; from the first wildcard, slice, union, filter or `..` on it gives the array of what fits.
 */
import { RowError } from '../errors.ts'
import { truncateToInt64 } from '../go-number.ts'
import { goText } from '../go-text.ts'
import { getField, goTypeName, isObject, type Value } from '../values.ts'
import { toBool, toFloat } from './operators.ts'

/** The key a wildcard met; for `..` the keys down to the match. */
export type WildcardKey = string | readonly string[]

/** What an expression is evaluated on. */
export interface Scope {
  /** `$`. */
  readonly root: Value
  /** `@`: the element a filter or script looks at. */
  readonly current: Value
  /** `#`, `#1` in the key of an object constructor: the wildcard keys of the match. */
  readonly wildcards: readonly WildcardKey[] | null
}

export type Evaluate = (scope: Scope) => Value

type Match = (keys: readonly WildcardKey[], value: Value) => void
type Plain = (scope: Scope, value: Value) => Value
type Branch = (scope: Scope, value: Value, match: (key: WildcardKey, value: Value) => void) => void

/** Deepest nesting `..` descends into. */
const MAX_DEPTH = 512
/** Most matches a path may give: `$..*` over a big document stays bounded. */
const MAX_MATCHES = 1_000_000

export function evaluateText(e: Evaluate, scope: Scope): string {
  const value = e(scope)
  return typeof value === 'string' ? value : goText(value)
}

/** An array index or bound; fails on what is no number. */
function evaluateInt(e: Evaluate, scope: Scope): number {
  const value = e(scope)
  const number = toFloat(value)
  if (number === undefined) throw new RowError(`expected number but got ${goText(value)} (${goTypeName(value)})`)
  return Number(truncateToInt64(number))
}

function evaluateBool(e: Evaluate, scope: Scope): boolean {
  const value = e(scope)
  const bool = toBool(value)
  if (bool === undefined) throw new RowError(`expected bool but got ${goText(value)} (${goTypeName(value)})`)
  return bool
}

/** Runs `e` on what may fail quietly: a selector that does not fit an element skips it. */
function attempt<T>(run: () => T): T | undefined {
  try {
    return run()
  } catch (error) {
    if (error instanceof RowError && error.code !== 'LIMIT') return undefined
    throw error
  }
}

function keyed<T>(run: () => T): T {
  try {
    return run()
  } catch (error) {
    if (error instanceof RowError && error.code !== 'LIMIT') {
      throw new RowError(`could not select value, invalid key: ${error.message}`)
    }
    throw error
  }
}

function select(key: Evaluate, scope: Scope, value: Value): [key: string, value: Value] {
  const inner = { ...scope, current: value }
  if (Array.isArray(value)) {
    const index = keyed(() => evaluateInt(key, inner))
    if (index < 0 || index >= value.length) throw new RowError(`index ${index} out of bounds`)
    return [String(index), value[index] as Value]
  }
  if (isObject(value)) {
    const name = keyed(() => evaluateText(key, inner))
    const member = getField(value, name)
    if (member === undefined) throw new RowError(`unknown key ${name}`)
    return [name, member]
  }
  throw new RowError(
    `unsupported value type ${goTypeName(value)} for select, expected map[string]interface{} or []interface{}`,
  )
}

function visit(value: Value, each: (key: string, element: Value) => void): void {
  if (Array.isArray(value)) value.forEach((element, i) => void each(String(i), element))
  else if (isObject(value)) for (const key of Object.keys(value)) each(key, value[key] as Value)
}

export const currentSelector: Plain = (scope) => scope.current

export const keySelector =
  (key: Evaluate): Plain =>
  (scope, value) =>
    select(key, scope, value)[1]

export const scriptSelector =
  (script: Evaluate): Plain =>
  (scope, value) =>
    script({ ...scope, current: value })

export const starBranch: Branch = (_scope, value, match) => visit(value, (key, element) => match(key, element))

export const unionBranch =
  (keys: readonly Evaluate[]): Branch =>
  (scope, value, match) => {
    for (const key of keys) {
      const found = attempt(() => select(key, scope, value))
      if (found) match(found[0], found[1])
    }
  }

export const filterBranch =
  (condition: Evaluate): Branch =>
  (scope, value, match) =>
    visit(value, (key, element) => {
      if (attempt(() => evaluateBool(condition, { ...scope, current: element }))) match(key, element)
    })

export const sliceBranch =
  (from: Evaluate, to: Evaluate, by: Evaluate): Branch =>
  (scope, value, match) => {
    if (!Array.isArray(value)) return
    const inner = { ...scope, current: value }
    const bounds = attempt(() => [from, to, by].map((e) => evaluateInt(e, inner)))
    if (!bounds) return
    let [low, high, step] = bounds as [number, number, number]
    if (low > high) return
    const clamp = (n: number): number => (n < 0 ? Math.max(0, value.length + n) : Math.min(n, value.length))
    low = clamp(low)
    high = clamp(high)
    if (step === 0) step = 1
    if (step > 0) for (let i = low; i < high; i += step) match(String(i), value[i] as Value)
    else for (let i = high - 1; i >= low; i += step) match(String(i), value[i] as Value)
  }

/** `..`: the value itself, then everything below it, outer before inner. */
export const descendBranch: Branch = (_scope, value, match) => {
  const descend = (keys: readonly string[], v: Value): void => {
    if (keys.length > MAX_DEPTH) throw new RowError(`json path: more than ${MAX_DEPTH} levels deep`, 'LIMIT')
    match(keys, v)
    visit(v, (key, element) => descend([...keys, key], element))
  }
  descend([], value)
}

/** Selectors in order; the plain ones after a branch are applied to each of its matches. */
export class Path {
  readonly #steps: ({ plain: Plain } | { branch: Branch })[] = []

  plain(selector: Plain): void {
    this.#steps.push({ plain: selector })
  }

  branch(selector: Branch): void {
    this.#steps.push({ branch: selector })
  }

  /** Every match with its wildcard keys; a step that does not fit ends its branch quietly. */
  visit(scope: Scope, match: Match): void {
    let count = 0
    const walk = (at: number, keys: readonly WildcardKey[], value: Value): void => {
      let v = value
      for (let i = at; i < this.#steps.length; i++) {
        const step = this.#steps[i] as { plain: Plain } | { branch: Branch }
        if ('branch' in step) {
          const branchKeys = keys
          step.branch(scope, v, (key, element) => walk(i + 1, [...branchKeys, key], element))
          return
        }
        const next = attempt(() => step.plain(scope, v))
        if (next === undefined) return
        v = next
      }
      if (++count > MAX_MATCHES) throw new RowError(`json path: more than ${MAX_MATCHES} matches`, 'LIMIT')
      match(keys, v)
    }
    walk(0, [], scope.root)
  }

  evaluate(): Evaluate {
    const steps = this.#steps
    if (steps.some((step) => 'branch' in step)) {
      return (scope) => {
        const matches: Value[] = []
        this.visit(scope, (_keys, value) => void matches.push(value))
        return matches
      }
    }
    return (scope) => {
      let value = scope.root
      for (const step of steps) value = (step as { plain: Plain }).plain(scope, value)
      return value
    }
  }
}
