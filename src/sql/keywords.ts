/** The reserved words of spec/sql.md 1.4, without the time units. */
export const keywords: ReadonlySet<string> = new Set(
  (
    'SELECT AS FROM WHERE AND OR GROUP HAVING ORDER BY DESC ASC FILTER INNER LEFT RIGHT FULL CROSS JOIN ON ' +
    'CASE WHEN THEN DEFAULT ELSE END IN NOT BETWEEN LIKE OVER PARTITION REPLACE EXCEPT INVISIBLE TRUE FALSE LIMIT'
  ).split(' '),
)

export const timeUnits: ReadonlySet<string> = new Set(['DD', 'HH', 'MI', 'SS', 'MS'])

/** True when `name` can stand in SQL text without backticks. */
export function isBareName(name: string): boolean {
  if (!/^[A-Za-z][A-Za-z0-9_]*$/.test(name)) return false
  const upper = name.toUpperCase()
  return !keywords.has(upper) && !timeUnits.has(upper)
}
