/** Which sources an expression reads. */
import type { Expression } from '../sql/ast.ts'
import { walk } from './tree.ts'

export interface SourceReferences {
  /** Emitters of bound columns and metadata, in order of first appearance; aliases count for what they stand for. */
  readonly emitters: readonly string[]
  /** True when a column (or metadata) is bound to no particular source. */
  readonly unbound: boolean
}

export function sourcesOf(e: Expression | null): SourceReferences {
  const emitters: string[] = []
  let unbound = false
  walk(e, (x) => {
    if (x.kind !== 'column' && x.kind !== 'meta' && x.kind !== 'wildcard') return
    if (x.stream === null) unbound = true
    else if (!emitters.includes(x.stream)) emitters.push(x.stream)
  })
  return { emitters, unbound }
}
