/** Names: of output columns (spec/sql.md 1.10), and what the qualifier of a dotted name means. */
import type { Expression } from './ast.ts'
import { mapExpression } from './walk.ts'

/** Output name of an expression without alias; '' when it has none and gets a numbered one. */
export function nameOf(e: Expression): string {
  switch (e.kind) {
    case 'column':
    case 'call':
    case 'alias':
      return e.name
    case 'null':
      return e.written ?? 'null'
    case 'wildcard':
      return '*'
    default:
      return ''
  }
}

/** `kuiper_field_0`, `kuiper_field_1` ... for unnamed fields in order. */
export function unnamedField(number: number): string {
  return `kuiper_field_${number}`
}

/**
 * `a.b` where `a` is no source is the member `b` of the column `a` (or of the metadata key `a`); the parser reads the
 * qualifier before it knows the sources.
 */
export function resolveQualifiers(e: Expression, sources: readonly string[]): Expression {
  return mapExpression(e, (part) => {
    if (part.kind === 'column' && part.stream !== null && !sources.includes(part.stream)) {
      const object: Expression = { kind: 'column', stream: null, name: part.stream, at: part.at }
      return { kind: 'member', object, key: part.name, at: part.at }
    }
    if (part.kind === 'meta' && part.stream !== null && !sources.includes(part.stream)) {
      const object: Expression = { kind: 'meta', stream: null, key: part.stream, at: part.at }
      return { kind: 'member', object, key: part.key, at: part.at }
    }
    return part
  })
}
