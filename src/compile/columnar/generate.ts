/**
 * Expressions -> the source of one loop over a batch. The loop decides each row with plain numbers and byte ranges; whatever
 * it cannot decide exactly (errors, mixed kinds, integers beyond the safe range, escaped text in comparisons) it hands back as
 * a bail row, which the general evaluator then processes from the start. So the code here never has to raise an error.
 *
 * Semantics: spec/sql.md 2.4 and 2.5. Only generated names, and numbers printed by JavaScript, enter the source as text;
 * everything that comes from the statement is reached as `C[i]`.
 */

import type { FunctionLookup, ScalarFunction } from '../../functions/contract.ts'
import { roundHalfAway } from '../../functions/math.ts'
import type { Expression } from '../../sql/ast.ts'
import { foldConstants } from '../fold-constants.ts'
import { columnKey, type OutputField, type SelectedRows } from './select-plan.ts'
import type { ColumnSignature } from './signature.ts'
import { compareBytes, equalBytes, likeBytes } from './text-bytes.ts'

/** The expression (or its use of this batch's kinds) has no columnar form. */
export class Unsupported extends Error {}

export interface LoopColumns {
  readonly kinds: Uint8Array
  readonly numbers: Float64Array
  readonly starts: Uint32Array
  readonly ends: Uint32Array
}

/**
 * Runs over `rows` rows. Writes the numbers of passing rows to `selected`, of undecided rows to `bails`, and their counts to
 * `counts` (0: passing, 1: undecided). `constants` is the address of the output program's constants in `bytes`, `others` those of
 * the batch; `list` has the rows of a loop that was made for a list.
 */
export type Loop = (
  rows: number,
  columns: readonly LoopColumns[],
  computed: readonly LoopColumns[],
  selected: Uint32Array,
  bails: Uint32Array,
  counts: Uint32Array,
  bytes: Uint8Array,
  constants: number,
  others: Uint8Array,
  list?: readonly number[],
) => void

export interface LoopPlan {
  readonly filter: Expression | null
  /** A null condition leaves the row undecided instead of filtering it: it is an error there (HAVING). Default false. */
  readonly nullFails?: boolean
  readonly outputs: readonly OutputField[]
  readonly columnIndex: ReadonlyMap<string, number>
  /** Ranges of text constants in the output program, by value. */
  readonly constants: ReadonlyMap<string, { readonly offset: number; readonly length: number }>
  readonly functions: FunctionLookup
  readonly rawLike: boolean
  /** Bits of {@link ScannedBatch.others} with which a row that passes the filter stays undecided. Default none. */
  readonly others?: number
}

export function loopPlanOf(
  rows: Pick<SelectedRows, 'outputs' | 'columnIndex'> & { readonly filter: { readonly condition: Expression } | null },
  constants: LoopPlan['constants'],
  { functions, rawLike }: { readonly functions: FunctionLookup; readonly rawLike?: boolean },
): LoopPlan {
  return {
    filter: rows.filter?.condition ?? null,
    outputs: rows.outputs,
    columnIndex: rows.columnIndex,
    constants,
    functions,
    rawLike: rawLike ?? false,
  }
}

/** A value in generated code. `nul` is an expression that is true when the value is null; null = it never is. */
type Operand =
  | {
      readonly type: 'float' | 'int' | 'bool'
      readonly value: string
      readonly nul: string | null
      /** On a float that is an int64 in some rows (CASE): true in those. */
      readonly int?: string
    }
  | {
      readonly type: 'text'
      /** Range of the JSON literal, quotes included. */
      readonly start: string
      readonly end: string
      /** Its column kind: TEXT for source text, RAW for constants. */
      readonly kind: string
      readonly nul: string | null
      readonly constant: string | null
    }
  | { readonly type: 'null' }
type Scalar = Extract<Operand, { value: string }>
type Text = Extract<Operand, { type: 'text' }>

const SAFE = '9007199254740991'
const utf8 = new TextEncoder()

/** `listed`: the loop runs over the `rows` rows of a list, ascending. Throws {@link Unsupported}. */
export function generateLoop(plan: LoopPlan, signatures: readonly ColumnSignature[], listed: boolean): Loop {
  const g = new Generator(plan, signatures)
  return factoryOf(g.loop(listed))(g.constants)
}

type LoopFactory = (constants: readonly unknown[]) => Loop

/**
 * Rules that differ in constants only share their code, and with it what the JavaScript engine learns about it: a thousand rules
 * are warm as soon as one is.
 */
const factories = new Map<string, LoopFactory>()
const MAX_FACTORIES = 256

function factoryOf(source: string): LoopFactory {
  let factory = factories.get(source)
  if (!factory) {
    if (factories.size >= MAX_FACTORIES) factories.clear()
    factory = new Function('C', `'use strict';return ${source}`) as LoopFactory
    factories.set(source, factory)
  }
  return factory
}

/** Which outputs are copied from a scanned column, and which are computed into which block. */
export function outputColumns(plan: Pick<LoopPlan, 'outputs' | 'columnIndex'>): {
  columns: number[]
  computed: number
} {
  let computed = 0
  const columns = plan.outputs
    .filter((o) => o.visible)
    .map((o) => {
      const scanned = o.condition ? null : scannedColumn(o.expression, plan.columnIndex)
      return scanned ?? plan.columnIndex.size + computed++
    })
  return { columns, computed }
}

function scannedColumn(e: Expression, index: ReadonlyMap<string, number>): number | null {
  if (e.kind === 'alias') return scannedColumn(e.expression, index)
  const key = columnKey(e)
  return key === null ? null : (index.get(key) ?? null)
}

class Generator {
  readonly constants: unknown[] = []
  readonly #plan: LoopPlan
  readonly #signatures: readonly ColumnSignature[]
  readonly #lines: string[] = []
  /** Columns already read, per open block. */
  readonly #scopes: Map<number, Operand>[] = [new Map()]
  readonly #used = new Set<number>()
  #names = 0

  constructor(plan: LoopPlan, signatures: readonly ColumnSignature[]) {
    this.#plan = plan
    this.#signatures = signatures
  }

  loop(listed: boolean): string {
    const { filter, outputs, others } = this.#plan
    if (filter) this.#filter(this.#value(filter))
    if (others) this.#bail(`(O[r]&${others})!==0`)
    const { columns } = outputColumns(this.#plan)
    const scannedCount = this.#plan.columnIndex.size
    let used = 0
    for (const [i, output] of outputs.entries()) {
      const column = output.visible ? (columns[i] as number) : -1
      if (column >= scannedCount) {
        const value = this.#value(output.expression)
        this.#store(column - scannedCount, output.condition ? this.#boolean(value) : value)
        used++
      } else if (column < 0) this.#value(output.expression)
    }
    const head: string[] = []
    for (const i of this.#used) {
      head.push(`const k${i}=P[${i}].kinds,n${i}=P[${i}].numbers,s${i}=P[${i}].starts,e${i}=P[${i}].ends;`)
    }
    for (let i = 0; i < used; i++) {
      head.push(`const ok${i}=Q[${i}].kinds,on${i}=Q[${i}].numbers,os${i}=Q[${i}].starts,oe${i}=Q[${i}].ends;`)
    }
    return [
      'function(n,P,Q,S,B,N,U,A,O,L){let m=0,b=0;',
      ...head,
      listed ? 'row:for(let i=0;i<n;i++){const r=L[i];bail:{' : 'row:for(let r=0;r<n;r++){bail:{',
      ...this.#lines,
      'S[m++]=r;continue row;}B[b++]=r;}N[0]=m;N[1]=b;}',
    ].join('\n')
  }

  #emit(line: string): void {
    this.#lines.push(line)
  }

  #name(): string {
    return `t${this.#names++}`
  }

  #constant(value: unknown): string {
    return `C[${this.constants.push(value) - 1}]`
  }

  /** Code that runs only under `condition`. */
  #when(condition: string, body: () => void): void {
    this.#emit(`if(${condition}){`)
    this.#scopes.push(new Map())
    body()
    this.#scopes.pop()
    this.#emit('}')
  }

  #bail(condition: string | null): void {
    if (condition !== null) this.#emit(`if(${condition})break bail;`)
  }

  #filter(o: Operand): void {
    const nullFails = this.#plan.nullFails ?? false
    if (o.type === 'null') this.#emit(`if(true)${nullFails ? 'break bail' : 'continue row'};`)
    else if (nullFails && o.nul) {
      this.#bail(o.nul)
      this.#filter({ ...o, nul: null })
    } else if (o.type === 'bool') this.#emit(`if(${o.nul ? `${o.nul}||` : ''}!${o.value})continue row;`)
    else {
      // a non-boolean condition is an error, a null one is false
      if (o.nul) this.#emit(`if(${o.nul})continue row;`)
      this.#bail('true')
    }
  }

  /** A value that is neither boolean nor null is left to the general evaluator. */
  #boolean(o: Operand): Operand {
    if (o.type === 'bool' || o.type === 'null') return o
    this.#bail(o.nul ? `!${o.nul}` : 'true')
    return { type: 'null' }
  }

  #store(slot: number, o: Operand): void {
    if (o.type === 'null') {
      this.#emit(`ok${slot}[r]=1;`)
      return
    }
    const kind = (of: string): string => (o.nul ? `${o.nul}?1:${of}` : of)
    switch (o.type) {
      case 'float':
        this.#bail(o.nul ? `!${o.nul}&&${o.value}-${o.value}!==0` : `${o.value}-${o.value}!==0`)
        this.#emit(`ok${slot}[r]=${kind(o.int ? `(${o.int}?4:6)` : '6')};on${slot}[r]=${o.value};`)
        return
      case 'int':
        this.#emit(`ok${slot}[r]=${kind('4')};on${slot}[r]=${o.value};`)
        return
      case 'bool':
        this.#emit(`ok${slot}[r]=${kind(`(${o.value}?3:2)`)};`)
        return
      case 'text':
        this.#emit(`ok${slot}[r]=${kind(o.kind)};os${slot}[r]=${o.start};oe${slot}[r]=${o.end};`)
    }
  }

  #value(written: Expression): Operand {
    const e = foldConstants(written)
    const key = columnKey(e)
    const column = key === null ? undefined : this.#plan.columnIndex.get(key)
    if (column !== undefined) return this.#column(column)
    switch (e.kind) {
      case 'integer': {
        const value = Number(e.value)
        if (!Number.isSafeInteger(value)) throw new Unsupported('integer beyond the safe range')
        return { type: 'int', value: literal(value), nul: null }
      }
      case 'float':
        if (!Number.isFinite(e.value)) throw new Unsupported('infinite literal')
        return { type: 'float', value: literal(e.value), nul: null }
      case 'boolean':
        return { type: 'bool', value: String(e.value), nul: null }
      case 'null':
        return { type: 'null' }
      case 'string': {
        const at = this.#plan.constants.get(e.value)
        const start = at ? `(A+${at.offset})` : '0'
        const end = at ? `(A+${at.offset + at.length})` : '0'
        return { type: 'text', start, end, kind: '12', nul: null, constant: e.value }
      }
      case 'parenthesis':
      case 'alias':
        return this.#value(e.expression)
      case 'binary':
        return this.#binary(e)
      case 'between':
        return this.#between(e)
      case 'in':
        return this.#in(e)
      case 'like':
        return this.#like(e)
      case 'isNull':
        return this.#isNull(this.#value(e.operand), e.negated)
      case 'case':
        return this.#case(e)
      case 'call':
        return this.#call(e)
      default:
        throw new Unsupported(e.kind)
    }
  }

  #column(i: number): Operand {
    for (const scope of this.#scopes) {
      const known = scope.get(i)
      if (known) return known
    }
    const s = this.#signatures[i] as ColumnSignature
    if (s.type === 'null') return { type: 'null' }
    this.#used.add(i)
    const kind = this.#name()
    const v = this.#name()
    let nul: string | null = null
    if (s.nothing || s.others || s.type === 'bool') this.#emit(`const ${kind}=k${i}[r];`)
    if (s.nothing) {
      nul = this.#name()
      this.#emit(`const ${nul}=${kind}<=1;`)
    }
    const unless = (test: string): string => (nul ? `!${nul}&&${test}` : test)
    let operand: Operand
    if (s.type === 'text') {
      if (s.others) this.#bail(unless(`${kind}!==7`))
      this.#emit(`const ${v}s=s${i}[r],${v}e=e${i}[r];`)
      operand = { type: 'text', start: `${v}s`, end: `${v}e`, kind: '7', nul, constant: null }
    } else if (s.type === 'bool') {
      if (s.others) this.#bail(unless(`${kind}!==2&&${kind}!==3`))
      operand = { type: 'bool', value: `(${kind}===3)`, nul }
    } else {
      if (s.others) this.#bail(unless(s.type === 'int' ? `${kind}!==4` : `(${kind}<4||${kind}>6)`))
      this.#emit(`const ${v}=n${i}[r];`)
      operand = { type: s.type, value: v, nul }
    }
    ;(this.#scopes[this.#scopes.length - 1] as Map<number, Operand>).set(i, operand)
    return operand
  }

  /** A condition that is true when one of the operands is null; null = never. */
  #eitherNull(...operands: readonly Operand[]): string | null {
    const parts = operands.flatMap((o) => (o.type === 'null' ? ['true'] : o.nul ? [o.nul] : []))
    if (parts.length < 2) return parts[0] ?? null
    const name = this.#name()
    this.#emit(`const ${name}=${parts.join('||')};`)
    return name
  }

  #binary(e: Extract<Expression, { kind: 'binary' }>): Operand {
    const { operator } = e
    if (operator === 'AND' || operator === 'OR') return this.#logic(operator, e.left, e.right)
    const left = this.#value(e.left)
    const right = this.#value(e.right)
    switch (operator) {
      case '+':
      case '-':
      case '*':
      case '/':
      case '%':
        return this.#arithmetic(operator, left, right)
      case '=':
      case '!=':
      case '<':
      case '<=':
      case '>':
      case '>=':
        return this.#comparison(operator, left, right)
      default:
        throw new Unsupported(operator)
    }
  }

  #arithmetic(operator: '+' | '-' | '*' | '/' | '%', left: Operand, right: Operand): Operand {
    if (left.type === 'null' || right.type === 'null') return { type: 'null' }
    const nul = this.#eitherNull(left, right)
    if (!isNumber(left) || !isNumber(right)) {
      this.#bail(nul ? `!${nul}` : 'true')
      return { type: 'null' }
    }
    const type = left.type === 'int' && right.type === 'int' ? 'int' : 'float'
    // int64 with float is float, int64 with int64 is not
    if (left.int && !(right.type === 'float' && !right.int)) this.#bail(left.int)
    if (right.int && !(left.type === 'float' && !left.int)) this.#bail(right.int)
    const v = this.#name()
    this.#emit(`let ${v}=0;`)
    const compute = (): void => {
      if (operator === '/' || operator === '%') this.#bail(`${right.value}===0`)
      const raw = `${left.value}${operator}${right.value}`
      if (type === 'float') this.#emit(`${v}=${raw};`)
      else {
        // + 0 turns -0, which integers do not have, into 0
        this.#emit(`${v}=${operator === '/' ? `Math.trunc(${raw})` : `(${raw})`}+0;`)
        if (operator !== '/' && operator !== '%') this.#bail(`${v}>${SAFE}||${v}<-${SAFE}`)
      }
    }
    if (nul) this.#when(`!${nul}`, compute)
    else compute()
    return { type, value: v, nul }
  }

  /** The test as an expression for operands that are not null; null when their kinds do not compare. */
  #test(operator: Comparison, left: Operand, right: Operand): string | null {
    const js = operator === '=' ? '===' : operator === '!=' ? '!==' : operator
    if (isNumber(left) && isNumber(right)) return `${left.value}${js}${right.value}`
    if (left.type === 'bool' && right.type === 'bool') {
      return operator === '=' || operator === '!=' ? `${left.value}${js}${right.value}` : null
    }
    if (left.type === 'text' && right.type === 'text') return this.#testText(operator, left, right)
    return null
  }

  #testText(operator: Comparison, left: Text, right: Text): string {
    const js = operator === '=' ? '===' : operator === '!=' ? '!==' : operator
    if (left.constant === null && left.kind !== '7') throw new Unsupported('comparison of chosen text')
    if (right.constant === null && right.kind !== '7') throw new Unsupported('comparison of chosen text')
    if (left.constant !== null && right.constant !== null) throw new Unsupported('comparison of constants')
    if (left.constant !== null) return this.#testText(mirrored[operator], right, left)
    const range = `U,${left.start}+1,${left.end}-1`
    if (right.constant !== null) {
      const want = utf8.encode(right.constant)
      const bytes = this.#constant(want)
      if (operator === '=' || operator === '!=') {
        const equal = `(${left.end}-${left.start}===${want.length + 2}&&${this.#constant(equalBytes)}(${range},${bytes}))`
        return operator === '=' ? equal : `!${equal}`
      }
      return `${this.#constant(compareBytes)}(${range},${bytes},0,${want.length})${js}0`
    }
    return `${this.#constant(compareBytes)}(${range},U,${right.start}+1,${right.end}-1)${js}0`
  }

  #comparison(operator: Comparison, left: Operand, right: Operand): Operand {
    const nul = this.#eitherNull(left, right)
    if (nul === 'true') return { type: 'bool', value: 'false', nul: null }
    const test = this.#test(operator, left, right)
    if (test === null) {
      this.#bail(nul ? `!${nul}` : 'true')
      return { type: 'bool', value: 'false', nul: null }
    }
    const v = this.#name()
    this.#emit(`const ${v}=${nul ? `!${nul}&&` : ''}(${test});`)
    return { type: 'bool', value: v, nul: null }
  }

  /** A null operand makes the result false, after the short cut (spec/sql.md 2.4). */
  #logic(operator: 'AND' | 'OR', leftExpression: Expression, rightExpression: Expression): Operand {
    const decided = operator === 'OR'
    const left = this.#value(leftExpression)
    const v = this.#name()
    this.#emit(`let ${v}=${decided};`)
    const open: string[] = []
    if (left.type === 'null') open.push('true')
    else {
      if (left.nul) open.push(left.nul)
      // a non-boolean left side is an error once the right side turns out not to be null
      open.push(left.type === 'bool' ? `${left.value}!==${decided}` : 'true')
    }
    this.#when(open.join('||'), () => {
      const right = this.#value(rightExpression)
      const nul = this.#eitherNull(left, right)
      if (nul === 'true') this.#emit(`${v}=false;`)
      else if (left.type !== 'bool' || right.type !== 'bool') {
        this.#bail(nul ? `!${nul}` : 'true')
        this.#emit(`${v}=false;`)
      } else this.#emit(`${v}=${nul ? `!${nul}&&` : ''}${right.value};`)
    })
    return { type: 'bool', value: v, nul: null }
  }

  #between(e: Extract<Expression, { kind: 'between' }>): Operand {
    const [value, low, high] = [this.#value(e.value), this.#value(e.low), this.#value(e.high)] as const
    const nul = this.#eitherNull(value, low, high)
    if (nul === 'true') return { type: 'bool', value: 'false', nul: null }
    const tests = value.type === 'bool' ? [null, null] : [this.#test('>=', value, low), this.#test('<=', value, high)]
    if (tests.includes(null)) {
      this.#bail(nul ? `!${nul}` : 'true')
      return { type: 'bool', value: 'false', nul: null }
    }
    const v = this.#name()
    this.#emit(`const ${v}=${nul ? `!${nul}&&` : ''}((${tests[0]}&&${tests[1]})!==${e.negated});`)
    return { type: 'bool', value: v, nul: null }
  }

  #in(e: Extract<Expression, { kind: 'in' }>): Operand {
    if (e.list === null) throw new Unsupported('IN array')
    const value = this.#value(e.left)
    const negated = String(e.negated)
    if (value.type === 'null') return { type: 'bool', value: 'false', nul: null }
    const v = this.#name()
    this.#emit(`let ${v}=${value.nul ? `!${value.nul}&&` : ''}${negated};`)
    const look = (): void => {
      // an element of another kind is an error, unless an earlier one matched
      const candidates = (e.list as readonly Expression[]).map((c) => this.#value(c))
      for (const candidate of candidates) {
        if (candidate.type === 'null') continue
        const test = this.#test('=', value, candidate)
        const pending = `${v}===${negated}${candidate.nul ? `&&!${candidate.nul}` : ''}`
        if (test === null) this.#bail(pending)
        else this.#emit(`if(${pending}&&${test})${v}=${!e.negated};`)
      }
    }
    if (value.nul) this.#when(`!${value.nul}`, look)
    else look()
    return { type: 'bool', value: v, nul: null }
  }

  #like(e: Extract<Expression, { kind: 'like' }>): Operand {
    const left = this.#value(e.left)
    if (e.pattern.kind !== 'string') throw new Unsupported('LIKE of a computed pattern')
    if (left.type !== 'text') {
      this.#bail('true')
      return { type: 'bool', value: 'false', nul: null }
    }
    if (left.kind !== '7') throw new Unsupported('LIKE of chosen text')
    this.#bail(left.nul)
    const test = this.#constant(likeBytes(e.pattern.value, this.#plan.rawLike))
    const v = this.#name()
    this.#emit(`const ${v}=${test}(U,${left.start}+1,${left.end}-1)!==${e.negated};`)
    return { type: 'bool', value: v, nul: null }
  }

  #isNull(o: Operand, negated: boolean): Operand {
    const nul = o.type === 'null' ? 'true' : (o.nul ?? 'false')
    return { type: 'bool', value: `(${nul}!==${negated})`, nul: null }
  }

  #case(e: Extract<Expression, { kind: 'case' }>): Operand {
    const subject = e.value && this.#value(e.value)
    const v = this.#name()
    const at = this.#lines.length
    this.#emit('')
    const results: Operand[] = []
    const finish = (result: Expression | null): void => {
      const o: Operand = result ? this.#value(result) : { type: 'null' }
      results.push(o)
      if (o.type === 'null') this.#emit(`${v}n=true;`)
      else {
        if (o.type === 'text') this.#emit(`${v}s=${o.start};${v}e=${o.end};${v}k=${o.kind};`)
        else {
          const int = o.type === 'bool' ? '' : `${v}i=${o.type === 'int' ? true : (o.int ?? false)};`
          this.#emit(`${v}=${o.value};${int}`)
        }
        this.#emit(`${v}n=${o.nul ?? 'false'};`)
      }
      this.#emit(`break c${v};`)
    }
    this.#emit(`c${v}:{`)
    this.#scopes.push(new Map())
    for (const branch of e.branches) {
      let hit: Operand
      if (subject) hit = this.#comparison('=', subject, this.#value(branch.when))
      else hit = this.#value(branch.when)
      if (hit.type === 'null') continue
      if (hit.type !== 'bool') {
        this.#bail(hit.nul ? `!${hit.nul}` : 'true')
        continue
      }
      this.#when(`${hit.nul ? `!${hit.nul}&&` : ''}${hit.value}`, () => finish(branch.then))
    }
    finish(e.otherwise)
    this.#scopes.pop()
    this.#emit('}')
    const types = new Set(results.map((o) => o.type))
    types.delete('null')
    const someInts = types.has('float') && (types.delete('int') || results.some((o) => o.type === 'float' && o.int))
    if (types.size > 1) throw new Unsupported('CASE of several types')
    const [type] = types
    const nullable = results.some((o) => o.type === 'null' || o.nul !== null)
    const nul = nullable ? `${v}n` : null
    if (type === undefined || type === 'null') {
      this.#lines[at] = `let ${v}n=true;`
      return { type: 'null' }
    }
    if (type === 'text') {
      this.#lines[at] = `let ${v}s=0,${v}e=0,${v}k=7,${v}n=true;`
      return { type, start: `${v}s`, end: `${v}e`, kind: `${v}k`, nul, constant: null }
    }
    this.#lines[at] = `let ${v}=${type === 'bool' ? 'false' : '0'},${v}n=true,${v}i=false;`
    return { type, value: v, nul, ...(someInts && { int: `${v}i` }) }
  }

  #call(e: Extract<Expression, { kind: 'call' }>): Operand {
    if (e.partition.length || e.when || e.order.length) throw new Unsupported('OVER')
    const definition = this.#plan.functions(e.name)
    if (definition?.kind !== 'scalar' || !definition.deterministic) throw new Unsupported(e.name)
    const args = e.args.map((a) => this.#value(a))
    if (definition.name === 'isnull' && args.length === 1) return this.#isNull(args[0] as Operand, false)
    if (args.some((a) => a.type === 'null')) {
      if (definition.nulls === 'nullIfAny') return { type: 'null' }
      throw new Unsupported(e.name)
    }
    if (definition.nulls !== 'nullIfAny' || !args.every(isNumber)) throw new Unsupported(e.name)
    const numbers = args as readonly Scalar[]
    const inline = numbers.length === 1 ? inlineFunctions[definition.name] : undefined
    if (!inline && definition.returns !== 'float64') throw new Unsupported(e.name)
    const nul = this.#eitherNull(...numbers)
    const v = this.#name()
    this.#emit(`let ${v}=0;`)
    for (const { int } of numbers) if (int) this.#bail(int)
    const compute = (): void => {
      if (inline) this.#emit(`${v}=${inline.code ?? this.#constant(inline.run)}(${(numbers[0] as Scalar).value});`)
      else
        this.#emit(
          `${v}=${this.#constant(
            numericCall(
              definition,
              numbers.map((a) => a.type === 'int'),
            ),
          )}(${numbers.map((a) => a.value).join(',')});`,
        )
      // an error or a null in the general evaluator
      this.#bail(`${v}!==${v}`)
    }
    if (nul) this.#when(`!${nul}`, compute)
    else compute()
    const [only] = numbers
    return { type: inline?.keepsInt && only?.type === 'int' ? 'int' : 'float', value: v, nul }
  }
}

type Comparison = '=' | '!=' | '<' | '<=' | '>' | '>='
const mirrored: Readonly<Record<Comparison, Comparison>> = {
  '=': '=',
  '!=': '!=',
  '<': '>',
  '<=': '>=',
  '>': '<',
  '>=': '<=',
}

function isNumber(o: Operand): o is Scalar {
  return o.type === 'float' || o.type === 'int'
}

function literal(value: number): string {
  return `(${Object.is(value, -0) ? '-0' : String(value)})`
}

/** Functions of one number that JavaScript has, or that are cheap to call. A NaN result bails. */
const inlineFunctions: Readonly<
  Record<string, { readonly code?: string; readonly run?: (x: number) => number; readonly keepsInt?: boolean }>
> = {
  abs: { code: 'Math.abs', keepsInt: true },
  ceiling: { code: 'Math.ceil' },
  ceil: { code: 'Math.ceil' },
  floor: { code: 'Math.floor' },
  round: { run: roundHalfAway },
}

/** Any other function of numbers that gives a float: NaN stands for errors and nulls, which the general evaluator repeats. */
function numericCall(definition: ScalarFunction, ints: readonly boolean[]): (...args: number[]) => number {
  return (...args) => {
    try {
      const result = definition.run(
        args.map((x, i) => (ints[i] ? BigInt(x) : x)),
        noContext,
      )
      return typeof result === 'number' ? result : NaN
    } catch {
      return NaN
    }
  }
}

/** Deterministic functions of numbers read nothing of the call's context. */
const noContext = null as never
