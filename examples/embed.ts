// Ixion inside a program: a stream, a windowed query, a clock moved by hand. Run: npx tsx examples/embed.ts
import { createEngine, imbalance, manualClock } from 'ixion'

const clock = manualClock({ start: Date.UTC(2026, 0, 1) })
const engine = await createEngine({ clock })
await engine.execute('CREATE STREAM demo () WITH (TYPE="memory", DATASOURCE="demo", FORMAT="JSON")')

const query = await engine.query({
  sql: `SELECT device, count(*) AS n, avg(temp) AS mean, max(temp) AS peak
        FROM demo WHERE temp > 0
        GROUP BY device, TUMBLINGWINDOW(ss, 10)`,
  onResult: (rows) => console.log(rows),
})

await engine.feedRows('demo', [
  { device: 'a', temp: 20 },
  { device: 'b', temp: 31.5 },
  { device: 'a', temp: 22 },
  { device: 'b', temp: -40 },
])
await clock.advance(10_000) // ten seconds pass at once, and the window closes

const ledger = query.ledger()
console.log(`received ${ledger.received}, filtered ${ledger.filtered}, imbalance ${imbalance(ledger)}`)
await engine.close()
