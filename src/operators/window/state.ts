/**
 * State windows (spec/sql.md 3.8): opened and closed by conditions on rows. With two conditions the closing row belongs to the
 * window; with one, a row that meets it closes the window before it and opens the next. OVER(PARTITION BY) keeps one per key.
 */

import { RowError } from '../../core/errors.ts'
import type { Row } from '../../core/row.ts'
import type { Value } from '../../core/values.ts'
import { trueOrNot } from '../condition.ts'
import type { Emit, EvaluationScope, Operator } from '../contract.ts'
import { groupKey } from '../group.ts'
import type { WindowSpec } from './contract.ts'
import { RowBuffer } from './row-buffer.ts'
import { enforce, fireRows, release, rowsOf } from './support.ts'

const scope: EvaluationScope = { window: null, group: null }

interface Partition {
  readonly buffer: RowBuffer
  open: boolean
  start: number
}

export function state(spec: WindowSpec): Operator {
  const begins = trueOrNot(spec.begin as NonNullable<WindowSpec['begin']>)
  const emits = spec.emit && trueOrNot(spec.emit)
  const partitions = new Map<string, Partition>()

  const keyOf = (row: Row): string => {
    if (spec.partition.length === 0) return ''
    const values: Value[] = []
    for (const part of spec.partition) {
      try {
        values.push(part(row, scope))
      } catch (error) {
        if (!(error instanceof RowError)) throw error
      }
    }
    return groupKey(values)
  }
  const partitionOf = (key: string, out: Emit): Partition => {
    let partition = partitions.get(key)
    if (partition) return partition
    if (partitions.size >= spec.limits.partitions) {
      const [oldest, gone] = partitions.entries().next().value as [string, Partition]
      partitions.delete(oldest)
      if (gone.buffer.length) out.discard('partition_limit', gone.buffer.length)
    }
    partition = { buffer: new RowBuffer(), open: false, start: 0 }
    partitions.set(key, partition)
    return partition
  }
  const fire = (p: Partition, end: number, out: Emit): void => {
    const { length } = p.buffer
    fireRows(p.buffer.source(0, length), { start: p.start, end, trigger: end }, out)
    release(p.buffer, length, out)
  }
  const add = (p: Partition, row: Row, out: Emit): void => {
    p.buffer.push(row)
    enforce(p.buffer, spec.limits, out)
  }

  return {
    name: 'window',
    get held() {
      let held = 0
      for (const p of partitions.values()) held += p.buffer.length
      return held
    },
    push(batch, out) {
      for (const row of rowsOf(batch)) {
        const p = partitionOf(keyOf(row), out)
        if (!p.open) {
          if (!begins(row, scope)) {
            out.discard('filtered', 1)
            continue
          }
          p.open = true
          p.start = row.timestamp
          add(p, row, out)
        } else if (emits) {
          add(p, row, out)
          if (emits(row, scope)) {
            fire(p, row.timestamp, out)
            p.open = false
          }
        } else if (begins(row, scope)) {
          fire(p, row.timestamp, out)
          p.start = row.timestamp
          add(p, row, out)
        } else add(p, row, out)
      }
    },
    save: () => [...partitions].map(([key, p]) => [key, p.open, p.start, p.buffer.save()]),
    load(saved) {
      partitions.clear()
      for (const entry of saved as [string, boolean, number, Value][]) {
        const [key, open, start, rows] = entry
        const buffer = new RowBuffer()
        buffer.load(rows)
        partitions.set(key, { buffer, open, start: Number(start) })
      }
    },
  }
}
