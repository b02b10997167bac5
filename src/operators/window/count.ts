import type { Operator, OperatorContext, State } from '../contract.ts'
import type { WindowSpec } from './contract.ts'
import { rowsOf, type WindowContent } from './support.ts'

/** Count windows (spec/sql.md 3.7): every `interval` rows the last `length` ones, once there are that many. */
export function count(spec: WindowSpec, name: string, content: WindowContent): Operator {
  const every = spec.interval || spec.length
  let sinceTrigger = 0
  let context: OperatorContext
  return {
    name,
    get held() {
      return content.length
    },
    open(c) {
      context = c
    },
    push(batch, out) {
      for (const row of rowsOf(batch)) {
        content.add(row, out)
        sinceTrigger++
        if (sinceTrigger < every) continue
        sinceTrigger = 0
        const { length } = content
        if (length >= spec.length) {
          const now = context.now()
          content.fire(length - spec.length, length, { start: now, end: now, trigger: now }, out)
        }
        // Rows the next firing cannot reach: it comes after `every` more.
        content.release(Math.max(0, length - Math.max(0, spec.length - every)), out)
      }
    },
    save: () => ({ rows: content.save(), sinceTrigger }),
    load(state) {
      const s = state as { rows: State; sinceTrigger: number }
      content.load(s.rows)
      sinceTrigger = Number(s.sinceTrigger)
    },
  }
}
