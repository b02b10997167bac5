/** The loops of one rule, by the kinds its batches show. */
import type { Column } from '../../core/columns.ts'
import type { ScannedBatch } from '../../kernel/kernel.ts'
import { generateLoop, type Loop, type LoopPlan, Unsupported } from './generate.ts'
import type { ColumnClass } from './select-plan.ts'
import { signatureKey, signatureOf } from './signature.ts'

/** Loops kept per rule; a stream that shows more combinations of kinds than this starts over. */
const MAX_LOOPS = 32

/** The loop for a batch, over all its rows or over some of them (`listed`); null = no row of it has a columnar form. */
export type FindLoop = (batch: ScannedBatch, listed?: boolean) => Loop | null

/** Where nothing is computed and no row is left out. */
export const everyRow: FindLoop = () => (rows, _columns, _computed, selected, _bails, counts) => {
  for (let r = 0; r < rows; r++) selected[r] = r
  counts[0] = rows
  counts[1] = 0
}

export function loopFinder(plan: LoopPlan, types: readonly ColumnClass[]): FindLoop {
  const whole = finderOf(plan, types, false)
  let ofList: FindLoop | null = null
  return (batch, listed) => {
    if (!listed) return whole(batch)
    ofList ??= finderOf(plan, types, true)
    return ofList(batch)
  }
}

function finderOf(plan: LoopPlan, types: readonly ColumnClass[], listed: boolean): FindLoop {
  const loops = new Map<string, Loop | null>()
  /** Kinds of the last batch's columns, and the loop for them; undefined before the first. */
  const lastMasks = new Uint32Array(types.length)
  let lastLoop: Loop | null | undefined

  function find(batch: ScannedBatch): Loop | null {
    const key = signatureKey(batch.columns, types)
    let loop = loops.get(key)
    if (loop === undefined) {
      if (loops.size >= MAX_LOOPS) loops.clear()
      const masks = batch.columns.map((c) => c.kindMask)
      loop = tryLoop(plan, masks, types, listed)
      loops.set(key, loop)
    }
    return loop
  }

  return (batch) => {
    let known = lastLoop !== undefined
    for (let i = 0; i < lastMasks.length; i++) {
      const { kindMask } = batch.columns[i] as Column
      if (lastMasks[i] === kindMask) continue
      lastMasks[i] = kindMask
      known = false
    }
    if (!known) lastLoop = find(batch)
    return lastLoop as Loop | null
  }
}

function tryLoop(plan: LoopPlan, masks: readonly number[], types: readonly ColumnClass[], listed = false): Loop | null {
  const signatures = masks.map((mask, i) => signatureOf(mask, types[i] as ColumnClass))
  try {
    return generateLoop(plan, signatures, listed)
  } catch (error) {
    // An EvalError: this host does not let programs make code; the general lane needs none.
    if (error instanceof Unsupported || error instanceof EvalError) return null
    throw error
  }
}

const EVERY_KIND = 0x1fff
const TEXT_ONLY = 1 << 7

/** Tries the kinds a stream most likely has: numbers among others, or text. */
export function hasColumnarForm(plan: LoopPlan, types: readonly ColumnClass[]): boolean {
  return [EVERY_KIND, TEXT_ONLY].some((mask) => {
    const masks = types.map(() => mask)
    return tryLoop(plan, masks, types) !== null
  })
}
