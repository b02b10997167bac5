/** The window operators by kind. */
import type { Operator } from '../contract.ts'
import { accumulatingWindow } from './accumulating.ts'
import { type Aggregation, valueContent } from './aggregation.ts'
import type { WindowSpec } from './contract.ts'
import { count } from './count.ts'
import { session } from './session.ts'
import { sliding } from './sliding.ts'
import { state } from './state.ts'
import { rowContent, type WindowContent } from './support.ts'
import { tumblingOrHopping } from './tumbling-hopping.ts'

export type { Aggregation } from './aggregation.ts'
export type { WindowLimits, WindowSpec } from './contract.ts'

type WindowOver = (spec: WindowSpec, name: string, content: WindowContent) => Operator

const overContent: Record<Exclude<WindowSpec['kind'], 'state'>, WindowOver> = {
  tumbling: tumblingOrHopping,
  hopping: tumblingOrHopping,
  sliding,
  session,
  count,
}

/** A window that keeps its rows and emits them as collections. */
export function createWindow(spec: WindowSpec): Operator {
  if (spec.kind === 'state') return state(spec)
  return overContent[spec.kind](spec, 'window', rowContent(spec.limits))
}

/** A window that keeps what its aggregates need and emits one row per group; its results equal those of {@link createWindow}. */
export function createIncrementalWindow(spec: WindowSpec, aggregation: Aggregation): Operator {
  if (spec.kind === 'state') throw new Error('a state window keeps its rows')
  if (spec.kind === 'tumbling' || (spec.kind === 'hopping' && spec.length <= spec.interval * MOST_OPEN_WINDOWS)) {
    return accumulatingWindow(spec, aggregation)
  }
  return overContent[spec.kind](spec, 'inc_agg_window', valueContent(spec.limits, aggregation))
}

/** A row of a hopping window is added to every open window; with more than these, values are kept instead. */
const MOST_OPEN_WINDOWS = 16
