/** Text forms of EXPLAIN and of error messages (spec/sql.md 6.3). */
import { floatText } from '../core/go-text.ts'
import { DEFAULT_STREAM, type Expression, type SortKey, type Window, type WindowKind } from './ast.ts'
import { dispatch, type ExpressionTable } from './walk.ts'

const binary = (left: Expression, operator: string, right: string) =>
  `binaryExpr:{ ${explainExpression(left)} ${operator} ${right} }`
const not = (negated: boolean, word: string) => (negated ? `NOT ${word}` : word)
const list = (expressions: readonly Expression[]) => expressions.map(explainExpression).join(', ')

const table: ExpressionTable<string> = {
  integer: (e) => String(e.value),
  float: (e) => floatText(e.value),
  string: (e) => e.value,
  boolean: (e) => String(e.value),
  null: () => 'null',
  timeUnit: (e) => e.unit.toUpperCase(),
  column: (e) => `${e.stream ?? DEFAULT_STREAM}.${e.name}`,
  alias: (e) => `$$alias.${e.name},aliasRef:${explainExpression(e.expression)}`,
  // a cached analytic call still shows as the call
  computed: (e) => (e.name.startsWith('$$a_') ? explainExpression(e.origin) : `${DEFAULT_STREAM}.${e.name}`),
  wildcard: (e) => (e.stream === null ? '*' : `${e.stream}.*`),
  meta: (e) => `metaRef:{ streamName:${e.stream ?? DEFAULT_STREAM}, fieldName:${e.key} }`,
  binary: (e) => binary(e.left, e.operator, explainExpression(e.right)),
  member: (e) => binary(e.object, '->', `jsonFieldName:${e.key}`),
  index: (e) => `binaryExpr:{ ${explainExpression(e.object)}[${explainExpression(e.index)}] }`,
  slice: (e) => {
    // the reference stands 0 and the smallest int32 for an omitted bound
    const start = e.start ? explainExpression(e.start) : '0'
    const end = e.end ? explainExpression(e.end) : '-2147483648'
    return `binaryExpr:{ ${explainExpression(e.object)}[ColonExpr:{ start:{ ${start} }, end:{ ${end} } }] }`
  },
  parenthesis: (e) => `parenExpr:{ ${explainExpression(e.expression)} }`,
  in: (e) =>
    binary(
      e.left,
      not(e.negated, 'IN'),
      e.list ? `valueSetExpr:{ literalExprs:[${list(e.list)}] }` : e.array ? explainExpression(e.array) : '',
    ),
  between: (e) =>
    binary(
      e.value,
      not(e.negated, 'BETWEEN'),
      `betweenExpr:{ ${explainExpression(e.low)}, ${explainExpression(e.high)} }`,
    ),
  like: (e) => {
    const pattern = e.pattern.kind === 'string' ? likeText(e.pattern.value) : explainExpression(e.pattern)
    return binary(e.left, not(e.negated, 'LIKE'), `likePattern:${pattern}`)
  },
  isNull: (e) => `binaryExpr:{ ${explainExpression(e.operand)} IS ${not(e.negated, 'NULL')} }`,
  case: (e) => {
    const value = e.value ? `value:{ ${explainExpression(e.value)} }, ` : ''
    const branches = e.branches.map((b) => `{ whenClause:{ ${explainExpression(b.when)} } }`)
    return `caseExprValue:{ ${value}whenClauses:[${branches.join(', ')}] }`
  },
  call: (e) => {
    const args = e.args.map((arg, i) => {
      const name = e.columnNames?.[i]
      if (name === undefined) return explainExpression(arg)
      return `colFuncField:{ ${name ? `name: ${name}, ` : ''}expr:{ ${explainExpression(arg)} } }`
    })
    const when = e.when ? `, when:{ ${explainExpression(e.when)} }` : ''
    return `Call:{ name:${e.name}${args.length > 0 ? `, args:[${args.join(', ')}]` : ''}${when} }`
  },
}

export function explainExpression(e: Expression): string {
  return dispatch(table, e)
}

/** The regular expression the reference shows for a LIKE pattern; matching itself escapes the rest (section 9, D10). */
function likeText(pattern: string): string {
  const text = pattern.replace(/\\[%_]|[%_]/g, (m) => (m === '%' ? '.*' : m === '_' ? '.' : m))
  return `^${text.replaceAll('\\', '\\\\')}$`
}

export function explainSortKey(key: SortKey): string {
  return `sortField:{ name:${key.name}, ascending:${key.ascending}, fieldExpr:{ ${explainExpression(key.expression)} } }`
}

export const windowTypeNames: Record<WindowKind, string> = {
  tumbling: 'TUMBLING_WINDOW',
  hopping: 'HOPPING_WINDOW',
  sliding: 'SLIDING_WINDOW',
  session: 'SESSION_WINDOW',
  count: 'COUNT_WINDOW',
  // as eKuiper: empty
  state: '',
}

/** The form inside messages; the Window line of EXPLAIN is the planner's. */
export function explainWindow(w: Window): string {
  const unit = w.unit ? `, timeUnit: ${w.unit.toUpperCase()} ` : ''
  const filter = w.filter ? `, ${explainExpression(w.filter)}` : ''
  return `window:{ windowType:${windowTypeNames[w.kind]}${unit}${filter} }`
}
