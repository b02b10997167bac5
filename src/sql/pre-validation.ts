/** Checks right after parsing a SELECT, before any stream is known (spec/sql.md 1.13; also when the text ends with `;`, D7). */
import type { Expression, SelectStatement } from './ast.ts'
import { hasCallOfKind, isRowFunction } from './calls.ts'
import { explainExpression, explainWindow } from './explain.ts'
import type { FunctionResolver } from './functions.ts'
import { syntaxError } from './reader.ts'
import { clauseExpressions, forEachExpression, someExpression } from './walk.ts'

export function validateSelect(s: SelectStatement, functions: FunctionResolver): void {
  const isAggregate = (e: Expression | null) => e !== null && hasCallOfKind(e, 'aggregate', functions)
  const isSetReturning = (e: Expression) => e.kind === 'call' && functions(e.name)?.kind === 'setReturning'
  const inGroupBy = (at: Expression['at'], text: string) =>
    syntaxError(`Not allowed to call aggregate functions in GROUP BY clause: ${text}.`, at)

  for (const e of s.dimensions) if (isAggregate(e)) throw inGroupBy(e.at, explainExpression(e))
  const w = s.window
  if (w && [w.filter, w.when, w.begin, w.emit].some(isAggregate)) throw inGroupBy(w.at, explainWindow(w))

  let count = 0
  for (const { expression } of s.fields) {
    forEachExpression(expression, (e) => {
      if (e.kind === 'call' && e.args.some((arg) => someExpression(arg, isSetReturning))) {
        throw syntaxError("select clause shouldn't has nested set-returning-functions", e.at)
      }
      if (isSetReturning(e)) count++
    })
  }
  const [first] = s.fields
  if (count > 1 && first) {
    throw syntaxError("select clause shouldn't has multi set-returning-functions", first.expression.at)
  }

  const rest = clauseExpressions(s)
  const isRowCall = (e: Expression) => {
    const signature = e.kind === 'call' ? functions(e.name) : undefined
    return signature !== undefined && isRowFunction(signature)
  }
  for (const e of rest) {
    if (someExpression(e, isRowCall)) throw syntaxError('window functions can only be in select fields', e.at)
  }
  for (const e of rest) {
    if (someExpression(e, isSetReturning)) {
      throw syntaxError("select statement shouldn't has srf except fields", e.at)
    }
  }
}
