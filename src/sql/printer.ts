/**
 * Trees back to SQL text. Parsing the text gives the same tree up to positions; where a tree could not have come from text
 * (an operand that needs parentheses has none), parentheses are added.
 */
import { IxionError } from '../core/errors.ts'
import { floatPlain } from '../core/go-text.ts'
import type {
  CallExpression,
  Expression,
  FieldType,
  Join,
  SelectField,
  SelectStatement,
  SortKey,
  SourceReference,
  Statement,
  StreamDefinition,
  StreamField,
  Window,
} from './ast.ts'
import { WHOLE_ROW_FUNCTION } from './calls.ts'
import { defaultText } from './field-types.ts'
import { isBareName } from './keywords.ts'
import { binaryLevel } from './precedence.ts'
import { streamOptionSpecs } from './stream-options.ts'
import { dispatch, type ExpressionTable } from './walk.ts'

/** A name in SQL text: bare where it can be, else in backticks. */
export function printName(name: string): string {
  if (isBareName(name) && name.toUpperCase() !== 'NULL') return name
  if (name.includes('`')) throw new IxionError('SQL_SYNTAX', `a name cannot contain a backtick: ${name}`)
  return `\`${name}\``
}

const escapes: Record<string, string> = { '"': '\\"', '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' }

/** A string literal that parses back to exactly `text` (spec/sql.md 1.5). */
export function printString(text: string): string {
  const escaped = text.replace(
    /["\\\0-\x1f\x7f]/g,
    (char) => escapes[char] ?? `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`,
  )
  return `"${escaped}"`
}

function printFloat(value: number): string {
  const text = floatPlain(value)
  return text.includes('.') ? text : `${text}.0`
}

const OPERAND = 6
/** How tightly the outermost operator of the text binds; {@link OPERAND} when it needs no parentheses anywhere. */
function levelOf(e: Expression): number {
  switch (e.kind) {
    case 'binary':
      return binaryLevel(e.operator)
    case 'in':
    case 'between':
    case 'like':
    case 'isNull':
      return 3
    case 'member':
    case 'index':
    case 'slice':
      return 5
    case 'computed':
      return levelOf(e.origin)
    default:
      return OPERAND
  }
}

/** The text of an operand that must bind at least as tightly as `level`. */
function operand(e: Expression, level: number): string {
  const text = printExpression(e)
  return levelOf(e) < level ? `(${text})` : text
}

const list = (expressions: readonly Expression[]) => expressions.map(printExpression).join(', ')
const not = (negated: boolean) => (negated ? 'NOT ' : '')

const table: ExpressionTable<string> = {
  integer: (e) => String(e.value),
  float: (e) => printFloat(e.value),
  string: (e) => printString(e.value),
  boolean: (e) => (e.value ? 'TRUE' : 'FALSE'),
  null: (e) => e.written ?? 'null',
  timeUnit: (e) => e.unit.toUpperCase(),
  column: (e) => qualified(e.stream, e.name),
  alias: (e) => printName(e.name),
  computed: (e) => printExpression(e.origin),
  meta: (e) => (e.key === '*' && e.stream === null ? '*' : qualified(e.stream, e.key)),
  wildcard: (e) => {
    const except = e.except.length > 0 ? ` EXCEPT(${e.except.map(printName).join(', ')})` : ''
    const replace = e.replace.map((r) => `${printExpression(r.expression)} AS ${printName(r.name)}`).join(', ')
    return `${e.stream === null ? '' : `${printName(e.stream)}.`}*${except}${replace && ` REPLACE(${replace})`}`
  },
  binary: (e) => {
    const level = binaryLevel(e.operator)
    const right = operand(e.right, level + 1)
    // `- -1` would be a comment
    const safe = e.operator === '-' && right.startsWith('-') ? `(${right})` : right
    return `${operand(e.left, level)} ${e.operator} ${safe}`
  },
  member: (e) => `${operand(e.object, 5)}->${printName(e.key)}`,
  index: (e) => `${operand(e.object, 5)}[${printExpression(e.index)}]`,
  slice: (e) => {
    const bound = (b: Expression | null) => (b ? printExpression(b) : '')
    return `${operand(e.object, 5)}[${bound(e.start)}:${bound(e.end)}]`
  },
  parenthesis: (e) => `(${printExpression(e.expression)})`,
  in: (e) => {
    const right = e.array ? operand(e.array, 4) : `(${list(e.list ?? [])})`
    return `${operand(e.left, 3)} ${not(e.negated)}IN ${right}`
  },
  between: (e) => `${operand(e.value, 3)} ${not(e.negated)}BETWEEN ${operand(e.low, 5)} AND ${operand(e.high, 5)}`,
  like: (e) => `${operand(e.left, 3)} ${not(e.negated)}LIKE ${operand(e.pattern, 4)}`,
  isNull: (e) => `${operand(e.operand, 3)} IS ${not(e.negated)}NULL`,
  case: (e) => {
    const branches = e.branches.map((b) => ` WHEN ${printExpression(b.when)} THEN ${printExpression(b.then)}`).join('')
    return `CASE${e.value ? ` ${printExpression(e.value)}` : ''}${branches}${otherwise(e.otherwise)} END`
  },
  call: printCall,
}

const otherwise = (e: Expression | null) => (e ? ` ELSE ${printExpression(e)}` : '')

function qualified(stream: string | null, name: string): string {
  return stream === null ? printName(name) : `${printName(stream)}.${printName(name)}`
}

function printCall(e: CallExpression): string {
  const args = e.name === WHOLE_ROW_FUNCTION && e.args.length === 3 ? e.args.slice(1) : e.args
  const parts: string[] = []
  if (e.partition.length > 0) parts.push(`PARTITION BY ${list(e.partition)}`)
  if (e.order.length > 0) parts.push(`ORDER BY ${e.order.map(printSortKey).join(', ')}`)
  if (e.when) parts.push(`WHEN ${printExpression(e.when)}`)
  const texts = args.map((arg, i) => printNamed(arg, e.columnNames?.[i] ?? ''))
  return `${printName(e.name)}(${texts.join(', ')})${parts.length > 0 ? ` OVER (${parts.join(' ')})` : ''}`
}

export function printExpression(e: Expression): string {
  return dispatch(table, e)
}

function printSortKey(key: SortKey): string {
  const text = printExpression(key.expression)
  return `${key.stream === null ? text : withDot(text)}${key.ascending ? '' : ' DESC'}`
}

export function printStatement(s: Statement): string {
  switch (s.kind) {
    case 'select':
      return printSelect(s)
    case 'createStream':
      return printDefinition(s)
    case 'show':
      return `SHOW ${s.what.toUpperCase()}`
    default:
      return `${s.kind.toUpperCase()} ${s.what.toUpperCase()} ${printName(s.name)}`
  }
}

function printSelect(s: SelectStatement): string {
  const groups = [...s.dimensions.map(printExpression), ...(s.window ? [printWindow(s.window)] : [])]
  const clauses = [
    `SELECT ${s.fields.map(printField).join(', ')}`,
    `FROM ${printSource(s.from)}`,
    ...s.joins.map(printJoin),
  ]
  if (s.where) clauses.push(`WHERE ${printExpression(s.where)}`)
  if (groups.length > 0) clauses.push(`GROUP BY ${groups.join(', ')}`)
  if (s.having) clauses.push(`HAVING ${printExpression(s.having)}`)
  if (s.orderBy.length > 0) clauses.push(`ORDER BY ${s.orderBy.map(printSortKey).join(', ')}`)
  if (s.limit !== null) clauses.push(`LIMIT ${s.limit}`)
  return clauses.join(' ')
}

function printField(f: SelectField): string {
  return `${printNamed(f.expression, f.name)}${f.alias === null ? '' : ` AS ${printName(f.alias)}`}${f.invisible ? ' INVISIBLE' : ''}`
}

/** `a.b` is named b, `a->b` is unnamed (spec/sql.md 1.10), though both are the same member access. */
function printNamed(e: Expression, name: string): string {
  const dotted = e.kind === 'member' && e.object.kind === 'column' && e.object.stream === null && name === e.key
  return dotted ? withDot(printExpression(e)) : printExpression(e)
}

/** Turns the first `->` of a member access on a bare column into a dot. */
function withDot(text: string): string {
  return text.replace(/^(`[^`]*`|\w+)->/, '$1.')
}

function printSource(source: SourceReference): string {
  return `${printName(source.name)}${source.alias === null ? '' : ` AS ${printName(source.alias)}`}`
}

function printJoin(join: Join): string {
  return `${join.kind.toUpperCase()} JOIN ${printSource(join.source)}${join.on ? ` ON ${printExpression(join.on)}` : ''}`
}

export function printWindow(w: Window): string {
  const numbers: number[] = []
  if (w.kind !== 'state') numbers.push(w.length)
  const second = w.kind === 'sliding' ? w.delay : w.interval
  if (second > 0) numbers.push(second)
  const args = [...(w.unit ? [w.unit] : []), ...numbers.map(String)]
  for (const condition of [w.begin, w.emit]) if (condition) args.push(printExpression(condition))
  const over: string[] = []
  if (w.when) over.push(`WHEN ${printExpression(w.when)}`)
  if (w.partition.length > 0) over.push(`PARTITION BY ${list(w.partition)}`)
  const filter = w.filter ? ` FILTER (WHERE ${printExpression(w.filter)})` : ''
  return `${w.kind}window(${args.join(', ')})${filter}${over.length > 0 ? ` OVER (${over.join(' ')})` : ''}`
}

function printDefinition(d: StreamDefinition): string {
  const options: string[] = []
  for (const [key, { name }] of streamOptionSpecs) {
    const value = d.options[name]
    if (value !== undefined) options.push(`${key}=${printString(String(value))}`)
  }
  for (const [key, value] of Object.entries(d.options.extensions ?? {})) {
    options.push(`${key.toUpperCase()}=${printString(String(value))}`)
  }
  const fields = (d.fields ?? []).map(printStreamField).join(', ')
  return `CREATE ${d.streamType.toUpperCase()} ${printName(d.name)} (${fields}) WITH (${options.join(', ')})`
}

function printStreamField(f: StreamField): string {
  const own = `${printName(f.name)} ${printType(f.type)}`
  return f.default === undefined ? own : `${own} DEFAULT ${printString(defaultText(f.default))}`
}

function printType(type: FieldType): string {
  switch (type.kind) {
    case 'array':
      return `ARRAY(${printType(type.element)})`
    case 'struct':
      return `STRUCT(${type.fields.map(printStreamField).join(', ')})`
    default:
      return type.kind.toUpperCase()
  }
}
