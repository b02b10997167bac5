import { describe, expect, it } from 'vitest'
import { damaged, randomPayload, seeded } from '../../../test/support/random-json.ts'
import { manualClock } from '../../core/clock.ts'
import type { ColumnarOutput } from '../../core/columnar-output.ts'
import { decodeUtf8, encodeUtf8 } from '../../core/utf8.ts'
import { wantedColumns } from '../../engine/column-types.ts'
import type { DecodeOptions } from '../../formats/contract.ts'
import { jsonFormat } from '../../formats/json.ts'
import { builtinFunctions as functions } from '../../functions/index.ts'
import { planSelect } from '../../plan/index.ts'
import type { PlanNode, SourceNode } from '../../plan/logical.ts'
import { parseSelect, parseStatement } from '../../sql/index.ts'
import { newHitCounter } from '../expression.ts'
import { type ColumnarChain, compileColumnar, type PayloadChunk, type ScanMember } from './index.ts'
import { SharedScan } from './shared-scan.ts'

const limits = { wholeNumbersAsInt64: false, maxPayloadBytes: 1 << 20, maxDepth: 20, maxRows: 10_000 }

interface SharingChain extends ColumnarChain {
  readonly member: ScanMember
}

function chainOf(sql: string, fields = ''): SharingChain {
  const stream = parseStatement(`CREATE STREAM s (${fields}) WITH (DATASOURCE="x", FORMAT="json")`, { functions })
  if (stream.kind !== 'createStream') throw new Error('no stream')
  const plan = planSelect(parseSelect(sql, { functions }), { stream: () => stream, functions })
  let node: PlanNode = plan.root
  while (node.kind !== 'source') node = (node as Extract<PlanNode, { input: PlanNode }>).input
  const decode: DecodeOptions = { columns: wantedColumns(node as SourceNode, null), ...limits }
  const call = {
    clock: manualClock(),
    timezone: 'UTC',
    ruleId: 'r',
    ruleStart: 0,
    row: null,
    window: null,
    keyedState: { get: () => undefined },
    props: {},
  }
  const chain = compileColumnar(plan, {
    expressions: { functions, call, states: new Map(), hits: newHitCounter(), aggregateHits: newHitCounter() },
    decoder: jsonFormat.decoder(decode, { schemaText: () => undefined }),
    decode,
    sendSingle: true,
  })
  if (!chain?.member) throw new Error(`no columnar form that shares scans: ${sql}`)
  return chain as SharingChain
}

function record(onLines?: () => void): ColumnarOutput & { readonly seen: string[] } {
  const seen: string[] = []
  return {
    seen,
    lines(payload) {
      seen.push(...decodeUtf8(payload).split('\n').slice(0, -1))
      onLines?.()
    },
    failed: (error, events, decoding) => void seen.push(`${events} ${decoding} ${error.message}`),
  }
}

const statements: readonly (readonly [sql: string, fields?: string])[] = [
  ['SELECT a, b FROM s WHERE a > 2'],
  ['SELECT a * 1.8 + 32 AS f, t FROM s'],
  ['SELECT o->x AS x, "on" AS word FROM s WHERE t = "on" OR a = 1'],
  ['SELECT b, case when a > 3 then "high" else t end AS c FROM s WHERE b < 8'],
  ['SELECT o FROM s WHERE isNull(a)'],
  ['SELECT a, t FROM s WHERE a > 1', 'a BIGINT, t STRING'],
  ['SELECT a FROM s WHERE t = "on"'],
  ['SELECT b FROM s WHERE "off" = t AND a > 1'],
  ['SELECT b FROM s WHERE t = "never" AND a + 1 > 1'],
  ['SELECT a, b FROM s WHERE (t IN ("on", "é", "off") AND b < 5) AND a < 4'],
  ['SELECT b FROM s WHERE o->x = "never"'],
  ['SELECT * FROM s'],
  ['SELECT * FROM s WHERE t = "on"'],
  ['SELECT *, a + 1 AS next FROM s WHERE t = "off"'],
  ['SELECT * EXCEPT(a, c) FROM s WHERE o->x > 1'],
]
const plainTags = ['"on"', '"off"', '"é"', '"x"', 'null']
const oddTags = ['"o\\u006e"', '7', 'true', '"\ufffd"']
const chunk = (payloads: readonly Uint8Array[]): PayloadChunk => ({ payloads, timestamp: 5 })

describe('rules that share a scan', () => {
  it('give what each gives by itself, whatever the payloads', () => {
    const random = seeded(5)
    const scan = new SharedScan({ columns: null, ...limits })
    const chains = statements.map(([sql, fields]) => chainOf(sql, fields))
    const alone = statements.map(([sql, fields]) => chainOf(sql, fields))
    for (const { member } of chains) expect(scan.join(member)).toBe(true)
    let byItself = 0
    const out = new Set<ScanMember>()
    for (let round = 0; round < 120; round++) {
      const payloads: Uint8Array[] = []
      // Without escapes, numbers and damage the rules that begin with an equality are picked by it.
      const orderly = round % 2 === 0
      const tags = orderly ? plainTags : [...plainTags, ...oddTags]
      for (let n = random.int(40); n >= 0; n--) {
        const row = (): string =>
          `{"a":${random.int(6)},"b":${random.int(100) / 10},"t":${random.pick(tags)},"o":{"x":${random.int(3)}}}`
        const dice = orderly ? random() * 0.8 : random()
        if (dice < 0.7) payloads.push(encodeUtf8(row()))
        else if (dice < 0.8) payloads.push(encodeUtf8(`[${row()},${row()}]`))
        else if (dice < 0.9) payloads.push(encodeUtf8(randomPayload(random)))
        else payloads.push(damaged(random, encodeUtf8(row())))
      }
      const together = chains.map(() => record())
      const { rows, counts } = scan.process(chunk(payloads), (member) => {
        return together[chains.findIndex((c) => c.member === member)] as ColumnarOutput
      })
      for (const member of scan.takeOut()) out.add(member)
      for (const [i, chain] of alone.entries()) {
        const output = record()
        const { member, process } = chains[i] as SharingChain
        let own = counts.get(member) ?? { received: rows, emitted: 0, filtered: rows }
        if (counts.get(member) === null || out.has(member)) {
          byItself++
          own = process({ chunk: chunk(payloads) }, together[i] as ColumnarOutput)
        }
        expect(own).toEqual(chain.process({ chunk: chunk(payloads) }, output))
        expect(together[i]?.seen).toEqual(output.seen)
      }
    }
    expect(byItself).toBeLessThan(20)
  })

  it('know the columns that others have met or read, and are left out when they cannot', () => {
    const scan = new SharedScan({ columns: null, ...limits })
    const [all, one, own] = [
      chainOf('SELECT * FROM s'),
      chainOf('SELECT a FROM s'),
      chainOf('SELECT *, b + 1 AS c FROM s'),
    ]
    const chains = { all, one, own }
    const joined = new Set(Object.keys(chains))
    const out = new Set<ScanMember>()
    const run = (payload: string): Record<string, readonly string[]> => {
      const payloads = chunk([encodeUtf8(payload)])
      const outputs = new Map(Object.values(chains).map(({ member }) => [member, record()]))
      const { counts } = scan.process(payloads, (member) => outputs.get(member) ?? null)
      for (const member of scan.takeOut()) out.add(member)
      return Object.fromEntries(
        Object.entries(chains).flatMap(([name, { member, process }]) => {
          if (!joined.has(name) || out.has(member)) return []
          const output = outputs.get(member) as ReturnType<typeof record>
          const counted = counts.get(member) ?? process({ chunk: payloads }, output)
          expect(counted).toEqual({ received: 1, emitted: 1, filtered: 0 })
          return [[name, output.seen]]
        }),
      )
    }
    for (const { member } of [all, one, own]) expect(scan.join(member)).toBe(true)
    expect(run('{"a":1,"b":2}')).toEqual({ all: ['{"a":1,"b":2}'], one: ['{"a":1}'], own: ['{"a":1,"b":2,"c":3}'] })
    expect(all.member.columns.map((c) => c.path[0])).toEqual(expect.arrayContaining(['a', 'b']))
    // Which c a message of `own` has depends on the row: it cannot take part where c is scanned.
    expect(run('{"a":1,"c":9}')).toEqual({ all: ['{"a":1,"c":9}'], one: ['{"a":1}'], own: ['{"a":1,"c":9}'] })
    expect(run('{"c":1}')).toEqual({ all: ['{"c":1}'], one: ['{}'] })
    expect([out.has(own.member), own.wantsRows, all.wantsRows]).toEqual([true, true, false])
    scan.leave(all.member)
    joined.delete('all')
    expect(run('{"a":1,"d":9}')).toEqual({ one: ['{"a":1}'] })
    expect(scan.join(all.member)).toBe(true)
    joined.add('all')
    expect(run('{"a":1,"d":9}')).toEqual({ all: ['{"a":1,"d":9}'], one: ['{"a":1}'] })
  })

  it('come and go', () => {
    const scan = new SharedScan({ columns: null, ...limits })
    const [first, second] = [chainOf('SELECT a FROM s'), chainOf('SELECT b, a + 1 AS c FROM s')]
    const payloads = [encodeUtf8('{"a":1,"b":2}')]
    const run = (): string[] => {
      const output = record()
      scan.process(chunk(payloads), () => output)
      return output.seen
    }
    scan.join(first.member)
    expect(run()).toEqual(['{"a":1}'])
    scan.join(second.member)
    expect(run()).toEqual(['{"a":1}', '{"b":2,"c":2}'])
    scan.leave(first.member)
    expect(run()).toEqual(['{"b":2,"c":2}'])
  })

  it('are not asked when no row can concern them, and may refuse', () => {
    const scan = new SharedScan({ columns: null, ...limits })
    const chains = ['a', 'b', 'c'].map((id) => chainOf(`SELECT n FROM s WHERE id = "${id}"`))
    for (const { member } of chains) scan.join(member)
    const [a, b, c] = chains.map((x) => x.member)
    const asked: unknown[] = []
    const output = record()
    const { rows, counts } = scan.process(chunk(['{"id":"b","n":1}', '{"id":"c"}'].map(encodeUtf8)), (member) => {
      asked.push(member)
      return member === c ? null : output
    })
    expect(asked).toEqual([b, c])
    expect(rows).toBe(2)
    expect([a, b, c].map((m) => counts.get(m as never))).toEqual([
      undefined,
      { received: 2, emitted: 1, filtered: 1 },
      null,
    ])
  })

  it('leave the scan to others when an output leads back to the stream', () => {
    const scan = new SharedScan({ columns: null, ...limits })
    const chain = chainOf('SELECT a FROM s')
    scan.join(chain.member)
    const payloads = [encodeUtf8('{"a":1}')]
    const inner = record()
    let nested: unknown
    const outer = record(() => {
      nested = scan.process(chunk(payloads), () => inner).counts.get(chain.member)
      chain.process({ chunk: chunk(payloads) }, inner)
    })
    scan.process(chunk(payloads), () => outer)
    expect(nested).toBe(null)
    expect([outer.seen, inner.seen]).toEqual([['{"a":1}'], ['{"a":1}']])
  })
})
