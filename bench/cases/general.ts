/** The general path: rows as objects, for what has no columnar form; and `SELECT *`, which had none when the budget was set. */
import { join } from 'node:path'
import type { Bench, Measure } from '../contract.ts'
import { readings, readingTexts, writeLines } from '../events.ts'
import { checkLedger, figuresOf, runRule } from '../measure.ts'
import { fileStream, nopSink, rule } from '../rules.ts'

export const general: Bench = {
  name: 'general',
  docs: 'SELECT * of flat and of nested rows; function calls, list elements, dataTemplate (rows as objects): file -> nop',
  async measures({ folder, events: number }) {
    const events = number(200_000)
    const flat = join(folder, 'flat.jsonl')
    const nested = join(folder, 'nested.jsonl')
    writeLines(flat, readingTexts({ events }))
    writeLines(
      nested,
      readingTexts(
        { events },
        (r) => `{"device":{"id":"${r.id}","place":{"room":${r.hum}}},"values":[${r.temp},${r.hum}],"ts":${r.ts}}`,
      ),
    )
    let above20 = 0
    for (const reading of readings({ events })) if (reading.temp > 20) above20++

    const measure = (name: string, file: string, sql: string, emitted: number, sink: object = {}): Measure => ({
      name,
      events,
      budgets: [{ figure: 'afterStartEventsPerCpuSecond', atLeast: 400_000 }],
      async run(bundle) {
        const result = await runRule(bundle, folder, {
          streams: [fileStream('s', file)],
          rule: rule(sql, nopSink({ sendSingle: true, ...sink })),
        })
        checkLedger(result.ledgers, { received: events, emitted, filtered: events - emitted, sent: emitted })
        return figuresOf(result, events)
      },
    })
    return [
      measure('SELECT *', flat, 'SELECT * FROM s WHERE temp > 20', above20),
      measure('SELECT * of nested rows', nested, 'SELECT * FROM s', events),
      measure(
        'function calls',
        flat,
        "SELECT concat(upper(id), '!') AS id, round(temp) AS t FROM s WHERE temp > 20",
        above20,
      ),
      measure(
        'nested objects and list elements',
        nested,
        'SELECT device, device->place->room AS room, values[0] AS t FROM s',
        events,
      ),
      measure('template', flat, 'SELECT id, temp FROM s WHERE temp > 20', above20, {
        dataTemplate: '{"device":"{{.id}}","celsius":{{.temp}}}',
      }),
    ]
  },
}
