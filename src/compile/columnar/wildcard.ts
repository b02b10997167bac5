/**
 * `SELECT *` over rows whose columns are not known beforehand: the chain is made for the columns that rows have had so far. A row with
 * another one goes through the general lane, and the next chunk through a chain that knows it.
 */
import { decodeUtf8, encodeUtf8 } from '../../core/utf8.ts'
import type { ValueObject } from '../../core/values.ts'
import { OTHER_NULL, OTHER_VALUE } from '../../kernel/contract.ts'
import type { ColumnarChain, ScanMember } from './contract.ts'
import type { SelectedPlan, WildcardPlan } from './select-plan.ts'

/** With more columns than this, of all rows together, they had better be decoded. */
const MOST_COLUMNS = 64
/** Rows with columns of longer names are left to the general lane. */
const LONGEST_NAME = 256

/** What a chain does not know goes to the general evaluator: rows with other columns than it has. */
export interface OtherColumns {
  /** Bits of the batch's `others` that matter. */
  readonly others: number
  /** A row for the general evaluator. */
  undecided(message: ValueObject): void
}

/** Null when the plan has no columnar form. */
export function createWildcardChain(
  plan: WildcardPlan,
  chainOf: (selected: SelectedPlan, other: OtherColumns) => ColumnarChain | null,
): ColumnarChain | null {
  const known = new Set(plan.declared)
  let learning = plan.declared === null
  let isNew = false
  /** There is no chain for all the columns. */
  let lost = false
  let running = 0
  let changed: (() => void) | null = null

  const other: OtherColumns = {
    // Of columns beside the declared ones the decoder keeps those that are null.
    others: learning ? OTHER_VALUE | OTHER_NULL : OTHER_NULL,
    undecided(message) {
      if (!learning) return
      for (const name of Object.keys(message)) {
        if (!known.has(name) && isPlainName(name) && !plan.taken(name)) learn(name)
      }
      if (isNew) changed?.()
    },
  }
  const make = (): ColumnarChain | null => {
    const tooMany = plan.declared === null && known.size > MOST_COLUMNS
    const selected = tooMany ? null : plan.of([...known])
    return selected && chainOf(selected, other)
  }
  const first = make()
  if (!first) return null
  let chain = first

  function learn(name: string): void {
    if (known.has(name)) return
    known.add(name)
    isNew = true
  }

  /** Once nothing is running: a chain that knows all columns. */
  function renew(): void {
    if (!isNew) return
    isNew = false
    const made = make()
    if (made) chain = made
    else {
      lost = true
      learning = false
    }
  }

  const member: ScanMember = {
    get columns() {
      return chain.member.columns
    },
    get computed() {
      return chain.member.computed
    },
    get programBytes() {
      return chain.member.programBytes
    },
    get typed() {
      return chain.member.typed
    },
    get equality() {
      return chain.member.equality
    },
    wildcard: {
      names: known,
      know(names) {
        if (learning) for (const name of names) learn(name)
        renew()
        return !lost
      },
      watch(call) {
        changed = call
      },
    },
    place: (positions, scanned) => chain.member.place(positions, scanned),
    open(chunk, output) {
      if (!chain.member.open(chunk, output)) return false
      running++
      return true
    },
    skip: (rows) => chain.member.skip(rows),
    take: (kernel, batch, list) => chain.member.take(kernel, batch, list),
    payload: (bytes) => chain.member.payload(bytes),
    close() {
      running--
      return chain.member.close()
    },
  }

  return {
    member,
    get wantsRows() {
      return lost
    },
    process(delivery, output) {
      running++
      try {
        return chain.process(delivery, output)
      } finally {
        running--
        if (running === 0) renew()
      }
    },
  }
}

/** Well-formed, and without the character that stands for what is not. */
function isPlainName(name: string): boolean {
  return name.length <= LONGEST_NAME && !name.includes('\ufffd') && decodeUtf8(encodeUtf8(name)) === name
}
