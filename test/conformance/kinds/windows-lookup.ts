/** windows.jsonl, op `lookup-join`: a rule with a lookup join against a recorded table. */
import type { ConnectorDefinition } from '../../../src/connectors/contract.ts'
import { RowError } from '../../../src/core/errors.ts'
import { getField, setField, type Value, type ValueObject } from '../../../src/core/values.ts'
import { createEngine, manualClock } from '../../../src/engine/index.ts'
import { decodeJsonText } from '../../../src/formats/json.ts'
import { type Case, fail, type Outcome, pass } from '../contract.ts'
import { fromTagged, sameValue, show } from '../values.ts'

/** Answers as recorded; bytes are JSON, decoded with the wanted columns, and what does not decode is skipped. */
function recordedTable(answers: readonly Case[]): ConnectorDefinition {
  const decode = (text: string, columns: readonly string[] | null): ValueObject[] => {
    let value: Value
    try {
      value = decodeJsonText(text)
    } catch {
      return []
    }
    return (Array.isArray(value) ? value : [value]).map((row) => {
      if (columns === null) return row as ValueObject
      const kept: ValueObject = {}
      for (const name of columns) {
        const member = getField(row as ValueObject, name)
        if (member !== undefined) setField(kept, name, member)
      }
      return kept
    })
  }
  return {
    name: 'recorded',
    lookup: {
      name: 'recorded',
      docs: 'Recorded answers.',
      options: {},
      create: () => ({
        async connect() {},
        async lookup(columns, _keys, values) {
          const answer = answers.find((a) => a['key'] === values[0]) ?? answers.find((a) => a['key'] === '*')
          if (answer?.['error']) throw new RowError(answer['error'])
          return ((answer?.['bytes'] ?? []) as string[]).flatMap((text) => decode(text, columns))
        },
        async close() {},
      }),
    },
  }
}

export async function runLookup(c: Case): Promise<Outcome> {
  const clock = manualClock({ start: 1_600_000_000_000 })
  const { connectors } = await import('../../../src/connectors/index.ts')
  const engine = await createEngine({ clock, connectors: [...connectors, recordedTable(c['lookupTable'])] })
  try {
    const table = c['tableEmitter'] as string
    const extra = JSON.stringify(c['options'])
    await engine.execute('CREATE STREAM stream1 () WITH (TYPE="memory", DATASOURCE="in")')
    await engine.execute(
      `CREATE TABLE ${table} () WITH (TYPE="recorded", DATASOURCE="t", KIND="lookup", EXTRA=${JSON.stringify(extra)})`,
    )
    const windowed = c['input'].window !== undefined
    const rows = (windowed ? c['input'].window : [c['input']]) as Case[]
    const columns = (c['fields'] as string[]).map((f) => `${table}.${f} AS ${f}`).join(', ')
    const emissions: Value[] = []
    await engine.query({
      sql:
        `SELECT stream1.a AS a, ${columns} FROM stream1 ${c['join']} JOIN ${table} ON stream1.${c['valueExpr']} = ${table}.k` +
        (windowed ? ` GROUP BY COUNTWINDOW(${rows.length})` : ''),
      onResult: (result) => void emissions.push([...result]),
      options: { sendError: c['sendError'] },
    })
    await engine.feedRows(
      'stream1',
      rows.map((r) => fromTagged(r['data']) as ValueObject),
    )
    await clock.advance(0)
    await clock.advance(0)
    const { expect } = c
    // The recorded components of a joined row, as the columns of the result.
    const merged = (parts: Case[]): Value =>
      Object.assign({}, ...parts.map((p) => fromTagged(p['data']) as ValueObject))
    const wanted: Value[] =
      expect === null
        ? []
        : expect.$error !== undefined
          ? [[{ error: expect.$error }]]
          : [(expect.join as Case[][]).map(merged)]
    return sameValue(emissions, wanted) ? pass : fail(`${show(emissions)}, expected ${show(wanted)}`)
  } finally {
    await engine.close()
  }
}
