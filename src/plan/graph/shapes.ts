/** What each graph node takes and gives (spec/rest-api.md 5.2), and the check that what arrives fits. */

/** Sets as bits: 1 the first kind, 2 the second, 3 both; 0 = as it came in. */
type Kinds = 0 | 1 | 2 | 3
const SAME = 0
const ANY = 3

/** What flows along an edge. */
export interface Shape {
  /** 1 rows, 2 collections. */
  readonly type: Kinds
  /** 1 rows of one emitter, 2 joined rows. */
  readonly row: Kinds
  /** 1 not grouped, 2 grouped. */
  readonly collection: Kinds
}

interface NodeShape {
  readonly takes: Shape
  readonly gives: Shape
  /** Several inputs may feed it. */
  readonly several?: true
}

const names = {
  type: ['same', 'row', 'collection', 'any'],
  row: ['same', 'single emitter row', 'merged row', 'any'],
  collection: ['same', 'non-grouped collection', 'grouped collection', 'any'],
} as const
const problems = { type: 'input', row: 'row', collection: 'collection' } as const

export const sourceShape: Shape = { type: 1, row: 1, collection: ANY }

const any: Shape = { type: ANY, row: ANY, collection: ANY }
const same: Shape = { type: SAME, row: SAME, collection: SAME }
const grouped: Shape = { type: 2, row: SAME, collection: 2 }

export const nodeShapes: Readonly<Record<string, NodeShape>> = {
  aggfunc: { takes: { ...any, type: 2 }, gives: grouped },
  filter: { takes: any, gives: same },
  function: { takes: { ...any, collection: 1 }, gives: same },
  groupby: { takes: { type: 2, row: ANY, collection: 1 }, gives: grouped },
  join: { takes: { type: ANY, row: 1, collection: 1 }, gives: { type: 2, row: 2, collection: 1 }, several: true },
  orderby: { takes: { ...any, type: 2 }, gives: same },
  pick: { takes: any, gives: same },
  script: { takes: any, gives: same },
  switch: { takes: any, gives: same },
  watermark: { takes: { ...any, type: 1 }, gives: same, several: true },
  window: { takes: { ...any, type: 1 }, gives: { type: 2, row: 1, collection: 1 }, several: true },
}

/** The reference's words for what does not fit, or null. */
export function misfit(given: Shape, wanted: Shape): string | null {
  for (const part of ['type', 'row', 'collection'] as const) {
    if ((given[part] & wanted[part]) === 0) {
      return `${problems[part]} type mismatch, expect ${names[part][wanted[part]]}, got ${names[part][given[part]]}`
    }
  }
  return null
}

export function shapeAfter(given: Shape, gives: Shape): Shape {
  if (gives.type === SAME) return given
  return { type: gives.type, row: gives.row || given.row, collection: gives.collection || given.collection }
}
