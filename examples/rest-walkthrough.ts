// The REST API step by step against a running daemon (npm start). Run: npx tsx examples/rest-walkthrough.ts [URL]
import { readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const rest = process.argv[2] ?? 'http://127.0.0.1:9081'
const results = join(tmpdir(), `walkthrough-${process.pid}.jsonl`)

async function call(method: string, path: string, body?: unknown): Promise<string> {
  const response = await fetch(rest + path, { method, ...(body !== undefined && { body: JSON.stringify(body) }) })
  const text = (await response.text()).trim()
  console.log(`${method} ${path} -> ${response.status} ${text.split('\n')[0]}`)
  if (!response.ok) throw new Error(text)
  return text
}

// A stream that takes whatever is posted to it, and a rule with a condition and a formula.
await call('POST', '/streams', {
  sql: 'CREATE STREAM walk (device STRING, temp FLOAT) WITH (TYPE="httppush", DATASOURCE="/walk", FORMAT="JSON")',
})
await call('POST', '/rules', {
  id: 'walk_hot',
  sql: 'SELECT device, temp * 1.8 + 32 AS temp_f FROM walk WHERE temp > 30',
  actions: [{ file: { path: results, sendSingle: true } }],
})

// Rows: one, then several. The answer comes when every rule on the stream has accepted them.
await call('POST', '/streams/walk/data', { device: 'a', temp: 35 })
await call('POST', '/streams/walk/data', [
  { device: 'b', temp: 20 },
  { device: 'c', temp: 40 },
])

// Every event is accounted for; stopping lets accepted rows drain.
await call('POST', '/rules/walk_hot/stop')
const ledger = JSON.parse(await call('GET', '/rules/walk_hot/ledger'))
console.log(`received ${ledger.rule.received}, emitted ${ledger.rule.emitted}, filtered ${ledger.rule.filtered}`)
console.log(readFileSync(results, 'utf8').trim())

await call('DELETE', '/rules/walk_hot')
await call('DELETE', '/streams/walk')
rmSync(results)
