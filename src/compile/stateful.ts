/** Operators that keep rows: watermark, windows, joins, lookups, dedup_trigger. */
import { IxionError } from '../core/errors.ts'
import type { Operator } from '../operators/contract.ts'
import type { PlanNode } from '../plan/logical.ts'
import type { ChainOptions } from './chain.ts'

export type StatefulNode = Extract<
  PlanNode,
  { kind: 'watermark' | 'window' | 'joinAlign' | 'join' | 'lookup' | 'dedupTrigger' }
>

export function compileStatefulNode(node: StatefulNode, _options: ChainOptions): Operator[] {
  throw new IxionError('NOT_SUPPORTED', `${node.kind} is not available yet`)
}
