/**
 * The conformance runner: recorded reference behaviour as data, through the product.
 *
 *   npm run conformance -- DIR [--file NAME] [--id TEXT] [--json OUT] [--list]
 *
 * Prints `NAME: N passed, N failed` per file. Exit 0 when every failure is in known-differences.json and every entry there
 * still fails. An entry is `{ "file", "id" | "pattern", "reason" }`; `pattern` is a regular expression over ids and
 * stands for a kind that is not built yet. An id (or a whole pattern) that passes again fails the run until it is struck.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Case, CaseRunner, Outcome } from './contract.ts'
import { runners } from './kinds/index.ts'

interface KnownDifference {
  readonly file: string
  readonly id?: string
  readonly pattern?: string
  readonly reason: string
}

const CASE_TIMEOUT_MS = 30_000

const args = process.argv.slice(2)
const option = (name: string): string | undefined => {
  const i = args.indexOf(name)
  if (i < 0) return undefined
  const [, value] = args.splice(i, 2)
  if (value === undefined) throw new Error(`${name} needs a value`)
  return value
}
const onlyFile = option('--file')
const onlyId = option('--id')
const jsonOut = option('--json')
const list = args.includes('--list')
const [dir, ...unknown] = args.filter((a) => a !== '--list')
if (!dir || dir.startsWith('--') || unknown.length > 0) {
  if (unknown.length > 0) console.error(`not understood: ${unknown.join(' ')}`)
  console.error('usage: npm run conformance -- DIR [--file NAME] [--id TEXT] [--json OUT] [--list]')
  process.exit(2)
}

const known = JSON.parse(
  readFileSync(new URL('./known-differences.json', import.meta.url), 'utf8'),
) as readonly KnownDifference[]

async function runCase(run: CaseRunner, c: Case): Promise<Outcome> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<Outcome>((resolve) => {
    timer = setTimeout(() => resolve({ ok: false, detail: `no answer within ${CASE_TIMEOUT_MS} ms` }), CASE_TIMEOUT_MS)
  })
  try {
    return await Promise.race([Promise.resolve().then(() => run(c)), limit])
  } catch (error) {
    return { ok: false, detail: `threw ${error instanceof Error ? (error.stack ?? error.message) : String(error)}` }
  } finally {
    clearTimeout(timer)
  }
}

const report: Record<string, { passed: string[]; failed: { id: string; detail: string; known?: string }[] }> = {}
let unexpected = 0
const matched = new Map<KnownDifference, { failed: number; passed: number }>(
  known.map((k) => [k, { failed: 0, passed: 0 }]),
)
const files = readdirSync(dir)
  .filter((f) => f.endsWith('.jsonl'))
  .filter((f) => !onlyFile || f === onlyFile || f === `${onlyFile}.jsonl`)
  .sort()
if (files.length === 0) {
  console.error(`no *.jsonl file${onlyFile ? ` named ${onlyFile}` : ''} in ${dir}`)
  process.exit(2)
}

for (const file of files) {
  const load = runners[file]
  let run: CaseRunner
  try {
    run = load ? await load() : () => ({ ok: false, detail: `not built: ${file}` })
  } catch (error) {
    const detail = `not built: ${file} (${error instanceof Error ? error.message : String(error)})`
    run = () => ({ ok: false, detail })
  }
  const result: (typeof report)[string] = { passed: [], failed: [] }
  report[file] = result
  for (const line of readFileSync(join(dir, file), 'utf8').split('\n')) {
    if (!line.trim()) continue
    const c = JSON.parse(line) as Case
    if (onlyId && !c.id.includes(onlyId)) continue
    const outcome = await runCase(run, c)
    const difference = known.find(
      (k) => k.file === file && (k.id === c.id || (k.pattern !== undefined && new RegExp(k.pattern).test(c.id))),
    )
    const count = difference && matched.get(difference)
    if (outcome.ok) {
      result.passed.push(c.id)
      if (count) count.passed++
    } else {
      result.failed.push({ id: c.id, detail: outcome.detail, ...(difference && { known: difference.reason }) })
      if (count) count.failed++
      else unexpected++
    }
  }
  console.log(`${file}: ${result.passed.length} passed, ${result.failed.length} failed`)
  for (const f of result.failed) {
    if (list || !f.known)
      console.log(`  ${f.known ? 'known' : 'FAILED'} ${f.id}: ${f.detail.split('\n')[0]?.slice(0, 400)}`)
  }
}

if (onlyId && Object.values(report).every((r) => r.passed.length + r.failed.length === 0)) {
  console.error(`no case whose id contains ${onlyId}`)
  process.exit(2)
}
let stale = 0
for (const [k, count] of matched) {
  if (!files.includes(k.file) || (onlyId && count.failed + count.passed === 0)) continue
  if (k.id !== undefined ? count.passed > 0 || count.failed === 0 : !onlyId && count.failed === 0) {
    stale++
    console.log(`STRIKE known-differences.json: ${k.file} ${k.id ?? k.pattern} passes (or no longer exists)`)
  }
}
if (jsonOut) writeFileSync(jsonOut, JSON.stringify(report, null, 1))
if (unexpected || stale) console.log(`${unexpected} unexpected failures, ${stale} stale known differences`)
process.exit(unexpected || stale ? 1 : 0)
