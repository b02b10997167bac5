/** The calls that are windows (spec/sql.md 1.14). */
import type { WindowKind } from './ast.ts'

export const windowKinds: ReadonlyMap<string, WindowKind> = new Map([
  ['tumblingwindow', 'tumbling'],
  ['hoppingwindow', 'hopping'],
  ['slidingwindow', 'sliding'],
  ['sessionwindow', 'session'],
  ['countwindow', 'count'],
  ['statewindow', 'state'],
])

export function isWindowName(name: string): boolean {
  return windowKinds.has(name.toLowerCase())
}
