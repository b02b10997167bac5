/**
 * Sends the same requests to two servers and prints where the answers differ: Ixion beside a server of the same API, or beside
 * an older Ixion.
 *
 *     npx tsx test/oracle/rest-diff.ts test/oracle/life.json http://127.0.0.1:9081 http://127.0.0.1:9082 [--verbose]
 *
 * The file holds `[{name, steps: [{method, path, body?, waitMs?, ignore?}]}]`. Before and after each scenario every rule, stream
 * and table of both servers is removed. A body that is not text is sent as JSON. Answers that are JSON are compared as values,
 * others as text; members whose name contains a word of `ignore` need only exist. Exit code 1 when anything differs.
 */
import { readFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'

interface Step {
  readonly method: string
  readonly path: string
  readonly body?: unknown
  /** Wait before the request, in milliseconds. */
  readonly waitMs?: number
  /** Words in the names of members whose values may differ. */
  readonly ignore?: readonly string[]
}

interface Scenario {
  readonly name: string
  readonly steps: readonly Step[]
}

interface Answer {
  readonly status: number
  readonly type: string | null
  readonly body: string
}

async function call(base: string, { method, path, body }: Step): Promise<Answer> {
  try {
    const answer = await fetch(base + path, {
      method,
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      signal: AbortSignal.timeout(20_000),
    })
    return { status: answer.status, type: answer.headers.get('content-type'), body: await answer.text() }
  } catch (error) {
    return { status: 0, type: null, body: `no answer: ${(error as Error).message}` }
  }
}

async function clean(base: string): Promise<void> {
  const names = async (path: string): Promise<string[]> => {
    const list: unknown = JSON.parse((await call(base, { method: 'GET', path })).body)
    return (list as (string | { id: string })[]).map((item) => (typeof item === 'string' ? item : item.id))
  }
  for (const kind of ['rules', 'streams', 'tables'])
    for (const name of await names(`/${kind}`))
      await call(base, { method: 'DELETE', path: `/${kind}/${name}?force=true` })
}

/** JSON as a value without what may differ; other text as it is. */
function comparable(text: string, ignore: readonly string[]): unknown {
  const strip = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(strip)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.entries(value).map(([key, member]) => [key, ignore.some((i) => key.includes(i)) ? null : strip(member)]),
    )
  }
  try {
    return strip(JSON.parse(text))
  } catch {
    return text
  }
}

/** The steps whose answers differ, as lines to print. */
async function compare(scenario: Scenario, left: string, right: string, verbose = false): Promise<string[]> {
  const lines: string[] = []
  await Promise.all([clean(left), clean(right)])
  for (const step of scenario.steps) {
    if (step.waitMs) await new Promise((resolve) => setTimeout(resolve, step.waitMs))
    const [a, b] = await Promise.all([call(left, step), call(right, step)])
    const ignore = step.ignore ?? []
    const same = a.status === b.status && isDeepStrictEqual(comparable(a.body, ignore), comparable(b.body, ignore))
    if (same && a.type === b.type && !verbose) continue
    const request = `${step.method} ${step.path} ${step.body === undefined ? '' : JSON.stringify(step.body)}`
    const verdict = same ? (a.type === b.type ? 'same' : `type ${a.type} | ${b.type}`) : 'DIFFERENT'
    lines.push(`${scenario.name}: ${request}\n  ${verdict}\n  < ${a.status} ${a.body}\n  > ${b.status} ${b.body}`)
  }
  await Promise.all([clean(left), clean(right)])
  return lines
}

const [file, left, right, ...flags] = process.argv.slice(2)
if (!file || !left || !right) {
  console.error('usage: rest-diff.ts SCENARIOS.json LEFT_URL RIGHT_URL [--verbose]')
  process.exit(2)
}
const scenarios = JSON.parse(readFileSync(file, 'utf8')) as Scenario[]
let different = 0
let steps = 0
for (const scenario of scenarios) {
  const lines = await compare(scenario, left, right, flags.includes('--verbose'))
  for (const line of lines) console.log(line)
  different += lines.length
  steps += scenario.steps.length
}
console.log(`${scenarios.length} scenarios, ${steps} requests, ${different} printed`)
process.exitCode = different ? 1 : 0
