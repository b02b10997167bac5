import { IxionError, RowError } from '../core/errors.ts'
import { goText } from '../core/go-text.ts'
import type { Row } from '../core/row.ts'
import { compareText } from '../core/text-order.ts'
import { isObject, type Value } from '../core/values.ts'
import { asRowError, inClause } from './condition.ts'
import type { Evaluate, EvaluationScope, Operator } from './contract.ts'

export interface GroupOptions {
  readonly dimensions: readonly Evaluate[]
  /** Groups a collection may have; with more, the collection fails, or the rule with policy `fail`. */
  readonly maxGroups: number
  readonly policy?: 'dropOldest' | 'fail'
}

/** Text that two rows of one group or partition share: that of {@link keyOf} of each value. */
export function groupKey(values: readonly Value[]): string {
  if (values.length === 1) return keyOf(values[0] as Value)
  let key = ''
  for (const value of values) key += keyPart(keyOf(value))
  return key
}

/** What no text but an escaped one begins with. */
const NO_TEXT = '\u0000'

/**
 * Text that only equal values share. Numbers are equal by value, so 1 and 1.0 are one; "1" is another, though it is the same text
 * in the reference (spec/sql.md 5.2, D28). Of a text it is the text itself.
 */
export function keyOf(value: Value): string {
  if (typeof value === 'string') return value.startsWith(NO_TEXT) ? `${NO_TEXT}"${value}` : value
  if (Array.isArray(value)) return `${NO_TEXT}[${value.map((item) => keyPart(keyOf(item))).join('')}`
  if (isObject(value)) {
    const names = Object.keys(value).sort(compareText)
    return `${NO_TEXT}{${names.map((name) => keyPart(name) + keyPart(keyOf(value[name] as Value))).join('')}`
  }
  return `${NO_TEXT}${value instanceof Uint8Array ? 'b' : ''}${goText(value)}`
}

/** One part of a key of several. The length in front keeps ("a,b", "c") and ("a", "b,c") apart. */
export function keyPart(text: string): string {
  return `${text.length}:${text}`
}

/** The reason a rule with limitPolicy `fail` stops for. */
export function groupLimit(maxGroups: number): IxionError {
  return new IxionError('LIMIT', `the window has more than ${maxGroups} groups`, {
    hint: 'raise groupLimit of the rule, group by fewer values, or set limitPolicy to dropOldest',
  })
}

/** What a collection with too many groups fails with: alone, or with policy `fail` the rule. */
export function tooManyGroups(maxGroups: number, policy: GroupOptions['policy']): Error {
  return policy === 'fail' ? groupLimit(maxGroups) : new RowError(`more than ${maxGroups} groups`, 'LIMIT')
}

/** GROUP BY: a collection becomes groups in first-seen order; an error in a dimension aborts the window. */
export function groupOperator({ dimensions, maxGroups, policy }: GroupOptions): Operator {
  const scope: { window: EvaluationScope['window']; group: null } = { window: null, group: null }
  return {
    name: 'aggregate',
    push(batch, out) {
      if (batch.kind === 'groups') throw new Error('rows are grouped once')
      const window = batch.kind === 'collection' ? batch.window : null
      scope.window = window
      const groups = new Map<string, Row[]>()
      try {
        for (const row of batch.rows) {
          const key = groupKey(dimensions.map((d) => d(row, scope)))
          const group = groups.get(key)
          if (group) group.push(row)
          else if (groups.size < maxGroups) groups.set(key, [row])
          else throw tooManyGroups(maxGroups, policy)
        }
      } catch (error) {
        out.fail(asRowError(inClause('Group By', error)), batch.events)
        return
      }
      if (groups.size) out.batch({ kind: 'groups', groups: [...groups.values()], window, events: batch.events })
      else if (batch.events) out.discard('filtered', batch.events)
    },
  }
}
