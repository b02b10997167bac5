/** Hit counters: last_hit_count, last_hit_time and their HAVING forms (spec/sql.md 5.8). */
import type { Row } from '../core/row.ts'
import { type ExpressionContext, type HitCounter, newHitCounter, type StatefulSite } from './expression.ts'

/** Each operator counts its own hits (5.8); a counter that is read is part of the rule's state. */
export function withOwnHits(c: ExpressionContext, kind: string): ExpressionContext {
  const hits = newHitCounter()
  let registered = false
  const hitsUsed = (): void => {
    if (registered) return
    registered = true
    let site = `$$hits_${kind}`
    for (let n = 2; c.states.has(site); n++) site = `$$hits_${kind}_${n}`
    c.states.set(site, hitState(hits))
  }
  return { ...c, hits, hitsUsed }
}

/** A hit counter as a site of state. */
export function hitState(hits: HitCounter): StatefulSite {
  return {
    save: () => [hits.count, hits.time],
    load(state) {
      const [count, time] = state as [bigint, bigint]
      hits.count = count
      hits.time = time
    },
  }
}

/** A condition or SELECT list that reads last_hit_count or last_hit_time: a row that passes is a hit (5.8). */
export function countHit(c: ExpressionContext): (row: Row) => void {
  const hitAt = countHitAt(c)
  return (row) => hitAt(row.timestamp)
}

/** The same by the time of the hit. */
export function countHitAt(c: ExpressionContext): (timestamp: number) => void {
  return (timestamp) => {
    c.hits.count++
    c.hits.time = BigInt(timestamp)
  }
}
