/** One output that feeds several places, or none (graph rules). */
import type { Ledger } from '../core/ledger.ts'
import type { Batch, Row } from '../core/row.ts'
import type { NodeMetrics } from './metrics.ts'
import type { Receiver } from './stage.ts'

/**
 * Every target gets the batch with rows of its own. An event that goes to n targets is n events from there on: the others are
 * added to what the ledger has received, and counted as copies. Without target events leave as filtered.
 */
export function fanOut(targets: readonly Receiver[], ledger: Ledger): Receiver {
  const [only] = targets
  if (only && targets.length === 1) return only
  return {
    batch(batch) {
      if (targets.length === 0) ledger.filtered += batch.events
      else ledger.copy(batch.events * (targets.length - 1))
      targets.forEach((target, i) => {
        target.batch(i === targets.length - 1 ? batch : ownRows(batch))
      })
    },
    watermark(time) {
      for (const target of targets) target.watermark(time)
    },
    end() {
      for (const target of targets) target.end()
    },
  }
}

/** Where a switch's watermarks and end go: every output. Batches leave through {@link switched}. */
export function fanOutSignals(outputs: readonly Receiver[]): Receiver {
  return {
    batch() {
      throw new Error('a switch sends through its outputs')
    },
    watermark(time) {
      for (const output of outputs) output.watermark(time)
    },
    end() {
      for (const output of outputs) output.end()
    },
  }
}

/** The outputs of a switch as functions; what leaves is counted, and rows are each output's own. */
export function switched(outputs: readonly Receiver[], metrics: NodeMetrics): ((batch: Batch) => void)[] {
  return outputs.map((output) => (batch) => {
    metrics.recordsOut += batch.kind === 'rows' ? batch.rows.length : 1
    output.batch(ownRows(batch))
  })
}

/** Operators leave computed values on rows: those of one branch must not be seen in another. */
function ownRows(batch: Batch): Batch {
  return batch.kind === 'groups'
    ? { ...batch, groups: batch.groups.map((rows) => rows.map(ownRow)) }
    : { ...batch, rows: batch.rows.map(ownRow) }
}

function ownRow(row: Row): Row {
  return { ...row, computed: row.computed && new Map(row.computed) }
}
