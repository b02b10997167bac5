/** ORDER BY, of a statement and of OVER (spec/sql.md 1.9). */
import type { SortKey } from './ast.ts'
import { accept, is, type Reader, unexpected } from './reader.ts'

/** Keys begin with a name; the commas between them are optional. No ORDER BY gives no keys. */
export function parseSortKeys(r: Reader): SortKey[] {
  if (!accept(r, 'ORDER')) return []
  const by = r.next()
  if (!is(by, 'BY')) throw unexpected(by, 'expected BY keyword.')
  const keys: SortKey[] = []
  for (;;) {
    if (accept(r, ',')) continue
    const first = r.peek()
    if (first.kind !== 'name') return keys
    const second = is(r.peek(1), '.') ? r.peek(2) : null
    const qualified = second !== null && (second.kind === 'name' || is(second, '*'))
    const expression = r.expression()
    const descending = accept(r, 'DESC') !== null
    if (!descending) accept(r, 'ASC')
    keys.push({
      expression,
      name: qualified ? second.text : first.text,
      stream: qualified ? first.text : null,
      ascending: !descending,
      at: first.at,
    })
  }
}
