/**
 * Walks that see through aliases and computed values. Uses of an alias share its definition's tree, so both walks handle a
 * shared node once: a chain of aliases stays linear.
 */
import type { Expression } from '../sql/ast.ts'
import { childrenOf, mapChildren } from '../sql/walk.ts'

/** Which edges a walk follows besides the written tree. */
export interface WalkOptions {
  /** Do not look behind alias references. */
  readonly stopAtAlias?: boolean
  /** Do not look behind computed references. */
  readonly stopAtComputed?: boolean
}

/** Pre-order walk; `visit` returning false skips the node's children. */
export function walk(
  root: Expression | null,
  visit: (e: Expression) => unknown,
  options: WalkOptions = {},
  seen: Set<Expression> = new Set(),
): void {
  if (root === null || seen.has(root)) return
  seen.add(root)
  if (visit(root) === false) return
  if (root.kind === 'alias') {
    if (!options.stopAtAlias) walk(root.expression, visit, options, seen)
  } else if (root.kind === 'computed') {
    if (!options.stopAtComputed) walk(root.origin, visit, options, seen)
  } else {
    for (const child of childrenOf(root)) walk(child, visit, options, seen)
  }
}

export function some(root: Expression | null, test: (e: Expression) => boolean, options: WalkOptions = {}): boolean {
  let found = false
  walk(
    root,
    (e) => {
      found ||= test(e)
      return !found
    },
    options,
  )
  return found
}

export type Rewriter = (root: Expression) => Expression

/**
 * A bottom-up rewriter: `change` receives a node whose children are already rewritten and returns its replacement. An
 * unchanged subtree keeps its identity. The rewriter remembers what it did, so aliases go on sharing one tree and `change`
 * runs once per node even when the rewriter is applied to several clauses.
 */
export function rewriter(change: (e: Expression) => Expression): Rewriter {
  const done = new Map<Expression, Expression>()
  const go: Rewriter = (root) => {
    const known = done.get(root)
    if (known) return known
    const result = change(withChildren(root, go))
    done.set(root, result)
    return result
  }
  return go
}

function withChildren(e: Expression, go: Rewriter): Expression {
  if (e.kind === 'alias') {
    const expression = go(e.expression)
    return expression === e.expression ? e : { ...e, expression }
  }
  if (e.kind === 'computed') {
    const origin = go(e.origin)
    return origin === e.origin ? e : { ...e, origin }
  }
  let changed = false
  const mapped = mapChildren(e, (child) => {
    const next = go(child)
    changed ||= next !== child
    return next
  })
  return changed ? mapped : e
}

/** `a AND b`; null stands for no condition. */
export function and(left: Expression | null, right: Expression | null): Expression | null {
  if (left === null) return right
  if (right === null) return left
  return { kind: 'binary', operator: 'AND', left, right, at: left.at }
}

/** The conditions joined by top-level AND, left to right. */
export function conjuncts(e: Expression | null): readonly Expression[] {
  if (e === null) return []
  if (e.kind === 'binary' && e.operator === 'AND') return [...conjuncts(e.left), ...conjuncts(e.right)]
  return [e]
}
