/**
 * `SELECT *` over rows whose columns are not known beforehand: the chain is made for the columns that rows have had so far. A row with
 * another one goes through the general lane, and the next chunk through a chain that knows it.
 */
import { decodeUtf8, encodeUtf8 } from '../../core/utf8.ts'
import type { ValueObject } from '../../core/values.ts'
import { OTHER_NULL, OTHER_VALUE } from '../../kernel/contract.ts'
import type { ColumnarChain } from './contract.ts'
import type { OtherColumns } from './index.ts'
import type { SelectedPlan, WildcardPlan } from './select-plan.ts'

/** Rows with more columns than this, all together, are left to the general lane. */
const MOST_COLUMNS = 64
/** So are columns with longer names. */
const LONGEST_NAME = 256

/** Null when the plan has no columnar form. */
export function createWildcardChain(
  plan: WildcardPlan,
  chainOf: (selected: SelectedPlan, other: OtherColumns) => ColumnarChain | null,
): ColumnarChain | null {
  const known = new Set(plan.declared)
  /** False once it is clear that there is no knowing them. */
  let learning = plan.declared === null
  let isNew = false
  let running = 0

  const other: OtherColumns = {
    // Of columns beside the declared ones the decoder keeps those that are null.
    others: plan.declared === null ? OTHER_VALUE | OTHER_NULL : OTHER_NULL,
    undecided(message) {
      if (learning) learn(message)
    },
  }
  const make = (): ColumnarChain | null => {
    const selected = plan.of([...known])
    return selected && chainOf(selected, other)
  }

  function learn(message: ValueObject): void {
    for (const name of Object.keys(message)) {
      if (known.has(name) || !isPlainName(name) || plan.taken(name)) continue
      known.add(name)
      isNew = true
    }
  }

  function remake(): void {
    isNew = false
    if (known.size > MOST_COLUMNS) {
      learning = false
      known.clear()
    }
    chain = make() ?? chain
  }

  const first = make()
  if (!first) return null
  let chain = first
  return {
    member: null,
    process(delivery, output) {
      running++
      try {
        return chain.process(delivery, output)
      } finally {
        running--
        if (running === 0 && isNew) remake()
      }
    },
  }
}

/** Well-formed, and without the character that stands for what is not. */
function isPlainName(name: string): boolean {
  return name.length <= LONGEST_NAME && !name.includes('\ufffd') && decodeUtf8(encodeUtf8(name)) === name
}
