/** Hostile templates: each is refused at creation, or its rows fail one by one; the rule runs on, the ledger stays exact. */
import { afterEach, expect, it } from 'vitest'
import { createEngine, type Engine, imbalance, manualClock } from '../../src/engine/index.ts'
import { manualSink, manualSource, settle, withConnectors } from '../support/engine-harness.ts'

const engines: Engine[] = []
afterEach(async () => {
  for (const engine of engines.splice(0)) await engine.close()
})

const rows = [
  { a: 1, s: `${'a'.repeat(40)}!`, l: Array.from({ length: 3000 }, (_, i) => i) },
  { a: 2, l: [] },
  { a: 3, s: '"' },
]

async function send(takes: 'bytes' | 'rows', properties: object, documents: readonly unknown[] = rows) {
  const clock = manualClock()
  const source = manualSource('fed', { emits: 'bytes' })
  const sink = manualSink('watched', takes)
  const engine = await createEngine({ clock, connectors: withConnectors(source.connector, sink.connector) })
  engines.push(engine)
  await engine.execute('CREATE STREAM demo () WITH (TYPE="fed", DATASOURCE="d", FORMAT="json")')
  await engine.createRule({
    id: 'r',
    sql: 'SELECT * FROM demo',
    actions: [{ watched: { sendSingle: true, ...properties } }],
  })
  await source.json(documents)
  await clock.advance(1000)
  await settle()
  const { rule, sinks } = engine.ruleLedger('r')
  expect(engine.ruleStatus('r').status).toBe('running')
  expect([imbalance(rule), ...Object.values(sinks).map(imbalance)]).toEqual([0, 0])
  expect(sinks['watched_0']?.received).toBe(documents.length)
  return { sent: sink.sent, dropped: sinks['watched_0']?.dropped ?? {} }
}

it('text that is JSON for some rows only fails the others, for sinks and batches that take values', async () => {
  const dataTemplate = '{"n":{{.a}},"s":"{{.s}}"}'
  for (const [takes, more] of [
    ['rows', {}],
    ['rows', { batchSize: 3, lingerInterval: 100 }],
    ['bytes', { batchSize: 3, lingerInterval: 100 }],
    ['bytes', { lingerInterval: 100 }],
  ] as const) {
    const { sent, dropped } = await send(takes, { dataTemplate, ...more }, [
      { a: 1, s: 'x' },
      { a: 2, s: '"' },
      { a: 3, s: 'y' },
    ])
    expect(dropped).toEqual({ error: 1 })
    expect(sent.join()).toContain('"n":1')
    expect(sent.join()).toContain('"n":3')
  }
})

it.each([
  ...[
    '{{range $i, $e := .l}}{{range $j, $f := $.l}}{{$e}}{{end}}{{end}}',
    '{{define "x"}}{{template "x" .}}{{end}}{{template "x" .}}',
  ],
  ...[
    '{{repeat 1000000000 "x"}}',
    '{{range until 1000000000}}x{{end}}',
    '{{printf "%1000000000d" 1}}',
    '{{printf "%.1000000000f" 1.5}}',
  ],
  ...[
    '{{regexMatch "(a+)+$" .s}}',
    '{{ .__proto__ }} {{ .constructor }} {{index . "toString"}}',
    '{{.a.b.c.d}}',
    '{{index .l 99999999999}}',
  ],
  ...[
    '{{slice .s 5 1}}',
    '{{len 1}}',
    '{{call .a}}',
    '{{$x := 1}}{{range .l}}{{$x = add $x $x}}{{end}}{{$x}}',
    '{{template "none" .}}',
  ],
  ...[
    '{{'.repeat(3000),
    '{{if true}}'.repeat(5000) + '{{end}}'.repeat(5000),
    `{{${'('.repeat(20_000)}1${')'.repeat(20_000)}}}`,
    '{{`',
    '{{"',
    '{{/*',
  ],
])('%.60s ends soon', async (dataTemplate) => {
  const started = performance.now()
  const outcome = await send('bytes', { dataTemplate }).catch((error: Error) => error)
  if (outcome instanceof Error) expect(outcome.name).toBe('IxionError')
  else expect(outcome.sent.join('').length).toBeLessThan(64 << 20)
  expect(performance.now() - started).toBeLessThan(5000)
})
