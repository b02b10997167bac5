/** Windows that cannot run under the rule's options, with the reference's messages. */
import type { WindowKind } from '../sql/ast.ts'
import type { PlanOptions } from './environment.ts'
import { planError } from './errors.ts'
import type { WindowNode } from './logical.ts'

/** The reference's numbers and names of window types, as its messages show them. */
const windowNumbers: Partial<Record<WindowKind, number>> = { count: 5 }

export function checkWindow(
  node: Pick<WindowNode, 'window' | 'eventTime' | 'incremental'>,
  options: PlanOptions,
): void {
  const { kind, at } = node.window
  if (node.eventTime && kind === 'count' && !node.incremental) {
    throw planError(
      `unsupported window type ${windowNumbers[kind]}`,
      at,
      'Count windows need processing time: set isEventTime to false or use a time window.',
    )
  }
  const version = options.planOptimizeStrategy?.windowOption?.windowVersion
  if (version === 'v2' && kind !== 'sliding' && kind !== 'state' && !node.incremental) {
    throw planError(
      `unsupported window type:${kind.toUpperCase()}_WINDOW`,
      at,
      'windowVersion v2 is for sliding windows.',
    )
  }
}
