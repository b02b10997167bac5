import { afterAll, describe, expect, it } from 'vitest'
import { installation, startDaemon } from '../support/daemon.ts'

/** More with IXION_KILLS=100. */
const kills = Number(process.env['IXION_KILLS'] ?? 15)

const folder = installation()
afterAll(() => folder.remove())

describe('kill -9 during definition writes', () => {
  it(
    'loses no acknowledged definition and never breaks the store',
    async () => {
      const streams = new Set<string>()
      const rules = new Map<string, string>()
      for (let round = 0; round < kills; round++) {
        const daemon = await startDaemon(folder)
        const kept = JSON.parse((await daemon.request('POST', '/ruleset/export')).body)
        expect([...streams].filter((name) => kept.streams[name] === undefined)).toEqual([])
        expect([...rules].filter(([id, text]) => kept.rules[id] !== text)).toEqual([])

        // Several writers at once; the kill meets them somewhere in between, later in each round.
        let acknowledged = 0
        const writer = async (w: number): Promise<void> => {
          for (let i = 0; ; i++) {
            const name = `s${round}_${w}_${i}`
            const sql = `CREATE STREAM ${name} () WITH (TYPE="memory", DATASOURCE="in")`
            const created = await daemon.request('POST', '/streams', JSON.stringify({ sql }))
            if (created.status === 201) streams.add(name)
            const text = JSON.stringify({
              id: `r${round}_${w}_${i}`,
              triggered: false,
              sql: `SELECT * FROM ${name}`,
              actions: [{ nop: {} }],
            })
            const stored = await daemon.request('POST', '/rules', text)
            if (stored.status === 201) rules.set(`r${round}_${w}_${i}`, text)
            if (++acknowledged > 4 + round) daemon.child.kill('SIGKILL')
          }
        }
        await Promise.allSettled([0, 1, 2].map(writer))
        await daemon.exit
      }
      expect(rules.size).toBeGreaterThan(kills)
    },
    kills * 10_000,
  )
})
