/** README.md lists every report and names only tests there are; the titles of this folder say which reports they show. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const folder = fileURLToPath(new URL('.', import.meta.url))
const root = fileURLToPath(new URL('../..', import.meta.url))
const rows = readFileSync(`${folder}README.md`, 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('| '))
  .map((line) => line.slice(2, -2).split(' | '))
const proofs = rows.flatMap((cells) =>
  (cells.at(-1) as string)
    .split('<br>')
    .map((part) => /^`([^`]+\.test\.ts)` (.+)$/.exec(part))
    .filter((match) => match !== null)
    .map(([, file, title]) => ({ row: cells[0] as string, file: file as string, title: title as string })),
)
const sourceOf = (file: string): string => (existsSync(root + file) ? readFileSync(root + file, 'utf8') : '')

/** Numbers at the end of a title: `(reports 60, 61 and 132)`, `(reports 95 to 98, TC-42)`. */
function numbersOf(title: string): string[] {
  const tail = /\(([^()]*)\)$/.exec(title)?.[1] ?? ''
  const reports = /reports? ((?:\d+|, (?=\d)| and | to )+)/.exec(tail)?.[1] ?? ''
  const ranges = [...reports.matchAll(/(\d+)(?: to (\d+))?/g)].flatMap(([, from, to = from]) =>
    Array.from({ length: Number(to) - Number(from) + 1 }, (_, i) => String(Number(from) + i)),
  )
  return [...ranges, ...(tail.match(/TC-\d+/g) ?? [])]
}

it('has each of the 136 reports once, with a test or a reason', () => {
  const reports = rows.filter(([number]) => /^\d+$/.test(number as string))
  expect(reports.map(([number]) => Number(number))).toEqual(Array.from({ length: 136 }, (_, i) => i + 1))
  for (const cells of reports) expect(cells.at(-1), `report ${cells[0]}`).toMatch(/\.test\.ts` |\*.+\*$/)
})

it('has every case', () => {
  const cases = [1, 3, 4, 11, 14, 16, 17, 18, 19, 23, 24, 25, 27, 28, 29, 32, 33, 34, 35, 36, 39, 42]
  expect(rows.map(([name]) => name).filter((name) => name?.startsWith('TC-'))).toEqual(
    cases.map((n) => `TC-${String(n).padStart(2, '0')}`),
  )
})

it('names tests that exist', () => {
  expect(proofs.length).toBeGreaterThan(150)
  const gone = proofs.filter(({ file, title }) => !["'", '"', '`'].some((q) => sourceOf(file).includes(q + title + q)))
  expect(gone).toEqual([])
})

it('leaves out no number of a title in this folder', () => {
  const listed = new Set(proofs.map(({ row, title }) => `${row} ${title}`))
  const files = readdirSync(folder).filter((name) => name.endsWith('.test.ts') && name !== 'table.test.ts')
  const titles = files.flatMap((name) =>
    [...readFileSync(folder + name, 'utf8').matchAll(/(?:\bit\(|\]\)\(|^\s+)'(.+ \((?:report|TC-).*\))',/gm)].map(
      ([, title]) => title as string,
    ),
  )
  expect(titles.length).toBeGreaterThan(80)
  const unlisted = titles.flatMap((title) =>
    numbersOf(title)
      .map((number) => `${number} ${title}`)
      .filter((entry) => !listed.has(entry)),
  )
  expect(unlisted).toEqual([])
})
