/** Hostile payloads through whole rules: an error that is counted, or an exact value; never a crash, never a changed prototype. */
import { afterEach, describe, expect, it } from 'vitest'
import { createEngine, type Engine, imbalance, manualClock } from '../../src/engine/index.ts'
import { type ManualSink, manualSink, manualSource, settle, withConnectors } from '../support/engine-harness.ts'

const engines: Engine[] = []
afterEach(async () => {
  for (const engine of engines.splice(0)) await engine.close()
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
  expect(Object.keys(Object.prototype)).toEqual([])
})

/** A sink that takes bytes lets the columnar lane run; one that takes rows, the general one. */
const lanes = [
  ['columnar', 'bytes'],
  ['general', 'rows'],
] as const

interface Bench {
  readonly engine: Engine
  readonly sink: ManualSink
  send(...payloads: (string | Uint8Array)[]): Promise<void>
  lines(text: string | Uint8Array): Promise<void>
  /** Received, by what became of it; checks that nothing is missing. */
  counts(): { received: number; emitted: number; filtered: number; failed: number }
}

async function bench(takes: 'bytes' | 'rows', sql: string, declared = '', options: object = {}): Promise<Bench> {
  const clock = manualClock({ start: 1_700_000_000_000 })
  const source = manualSource('fed', { emits: 'bytes' })
  const sink = manualSink('watched', takes)
  const engine = await createEngine({ clock, connectors: withConnectors(source.connector, sink.connector), ...options })
  engines.push(engine)
  await engine.execute(`CREATE STREAM demo (${declared}) WITH (TYPE="fed", DATASOURCE="d", FORMAT="json")`)
  await engine.createRule({ id: 'r', sql, actions: [{ watched: { sendSingle: true } }] })
  const bytes = (p: string | Uint8Array): Uint8Array => (typeof p === 'string' ? new TextEncoder().encode(p) : p)
  const deliver = async (payloads: Uint8Array[], framing?: 'lines'): Promise<void> => {
    await source.deliver({ kind: 'bytes', payloads, meta: [null], timestamp: 0, ...(framing && { framing }) })
    await settle()
  }
  return {
    engine,
    sink,
    send: (...payloads) => deliver(payloads.map(bytes)),
    lines: (text) => deliver([bytes(text)], 'lines'),
    counts() {
      const { rule, sinks } = engine.ruleLedger('r')
      expect(imbalance(rule)).toBe(0)
      for (const reading of Object.values(sinks)) expect(imbalance(reading)).toBe(0)
      expect(engine.ruleStatus('r').status).toBe('running')
      const failed = Object.values(rule.dropped).reduce((sum, n) => sum + n, 0)
      return { received: rule.received, emitted: rule.emitted, filtered: rule.filtered, failed }
    },
  }
}

const malformed = [
  ...['', ' ', '{', '}', '[', ']', '{"a"', '{"a":', '{"a":1', '{"a":1,', '{"a":1,}', '{a:1}', "{'a':1}", '{"a":01}'],
  ...[
    '{"a":1}}',
    '{"a":1}x',
    '{"a":+1}',
    '{"a":.5}',
    '{"a":1.}',
    '{"a":1e}',
    '{"a":0x10}',
    '{"a":NaN}',
    '{"a":Infinity}',
  ],
  ...['{"a":tru}', '{"a":nul}', '{"a":"\\x41"}', '{"a":"\\u12"}', '{"a":"\\u12G4"}', '{"a":"\n"}', '{"a":"\t"}'],
  ...['{"a" 1}', '{"a":1 "b":2}', '{"a"::1}', '{,}', '[,]', '[1', '[{"a":1}', '[{"a":1},]', '\u0000', '{"a":1}\u0000'],
  ...['//{}', '{"a":1/**/}', '{"a":"\u0000"}', '{"a":-}', '{"a":--1}', '{"a":1e400}', '{"a":-1e400}', '{"\n":1}'],
]

const notRows = ['1', '"text"', 'null', 'true', '-0', '[1]', '[[]]', '[null]', '["a"]', '[{"a":1},2]']

describe.each(lanes)('the %s lane', (_lane, takes) => {
  it('counts each malformed document as one failure and goes on', async () => {
    for (const sql of ['SELECT a FROM demo', 'SELECT * FROM demo', 'SELECT a + 1 AS b FROM demo WHERE a > 0']) {
      const b = await bench(takes, sql)
      await b.send(...malformed)
      expect(b.counts()).toEqual({ received: malformed.length, emitted: 0, filtered: 0, failed: malformed.length })
      await b.send('{"a":7}')
      expect(b.counts().emitted).toBe(1)
    }
  })

  it('counts documents that are no rows', async () => {
    const b = await bench(takes, 'SELECT a FROM demo')
    await b.send(...notRows)
    const counts = b.counts()
    expect(counts.emitted).toBeLessThanOrEqual(1)
    expect(counts.failed).toBeGreaterThanOrEqual(notRows.length - 1)
    await b.send('{"a":7}')
    expect(b.sink.sent.at(-1)).toBe('{"a":7}')
  })

  it('takes text cut at every byte, and every byte replaced by one that is no UTF-8', async () => {
    const whole = new TextEncoder().encode(
      '{"a":"\u00e9\u20ac\ud83d\ude00","b":[1,{"c":"\\ud83d"}],"n":-12.5e3,"k\u00e9y":null}',
    )
    for (const sql of ['SELECT a, n FROM demo', 'SELECT * FROM demo']) {
      const b = await bench(takes, sql)
      const cut = Array.from({ length: whole.length }, (_, n) => whole.subarray(0, n))
      await b.send(...cut)
      expect(b.counts()).toEqual({ received: cut.length, emitted: 0, filtered: 0, failed: cut.length })
      for (const bad of [0xff, 0xc0, 0x80, 0xed, 0xf8, 0]) {
        const broken = Array.from({ length: whole.length }, (_, at) => {
          const copy = whole.slice()
          copy[at] = bad
          return copy
        })
        await b.send(...broken)
        b.counts()
      }
      expect(b.counts().received).toBe(whole.length * 7)
      for (const text of b.sink.sent) expect(() => JSON.parse(text)).not.toThrow()
    }
  })

  it('keeps names of Object.prototype as data: columns, aliases, group keys, nested', async () => {
    const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf', '__defineGetter__']
    for (const name of names) {
      const missing = await bench(takes, `SELECT \`${name}\` FROM demo`)
      await missing.send('{"x":1}')
      expect(missing.sink.sent.filter((t) => t !== '{}')).toEqual([])
      const b = await bench(takes, `SELECT \`${name}\`, x AS \`y${name}\`, x + 1 AS polluted2 FROM demo`)
      await b.send(`{"${name}":{"polluted":1},"x":5}`)
      expect(b.sink.sent).toHaveLength(1)
      const sent = JSON.parse(b.sink.sent[0] as string)
      expect(Object.entries(sent).sort()).toEqual(
        [
          [name, { polluted: 1 }],
          ['polluted2', 6],
          [`y${name}`, 5],
        ].sort(),
      )
      const alias = await bench(takes, `SELECT x AS \`${name}\` FROM demo`)
      await alias.send(`{"x":5}`)
      expect(alias.sink.sent).toEqual([`{"${name}":5}`])
      const star = await bench(takes, `SELECT * FROM demo`)
      await star.send(`{"${name}":{"polluted":true},"x":5}`)
      expect(star.sink.sent).toEqual([`{"${name}":{"polluted":true},"x":5}`])
      const nested = await bench(takes, `SELECT o->\`${name}\` AS v FROM demo`)
      await nested.send('{"o":{}}', `{"o":{"${name}":3}}`)
      expect(nested.sink.sent.filter((t) => t.includes('v'))).toEqual(['{"v":3}'])
      const grouped = await bench(
        takes,
        `SELECT \`${name}\` AS k, count(*) AS c FROM demo GROUP BY \`${name}\`, COUNTWINDOW(4)`,
      )
      await grouped.send(`{"${name}":"__proto__"}`, `{"${name}":"constructor"}`, `{"${name}":"__proto__"}`, `{}`)
      const groups = grouped.sink.sent.map((t) => JSON.parse(t) as { k?: string; c: number })
      expect(groups.filter((g) => g.k === '__proto__').map((g) => g.c)).toEqual([2])
      expect(groups.reduce((sum, g) => sum + g.c, 0)).toBe(4)
      grouped.counts()
    }
  })

  it('passes integers of any size digit for digit', async () => {
    const numbers = [
      '9007199254740993',
      '1795292668348461057',
      '-9223372036854775808',
      '9223372036854775807',
      '18446744073709551615',
      `1${'0'.repeat(60)}7`,
    ]
    for (const sql of ['SELECT a FROM demo', 'SELECT * FROM demo', 'SELECT a FROM demo WHERE a != 1']) {
      const b = await bench(takes, sql)
      // A sink of rows shows bigints as numbers: only text can be compared.
      await b.send(...numbers.map((n) => `{"a":${n}}`))
      b.counts()
      if (takes === 'bytes') {
        const sent = b.sink.sent.map((t) => t.slice(5, -1))
        for (const text of sent) expect(numbers).toContain(text)
        expect(sent.slice(0, 4)).toEqual(numbers.slice(0, 4))
      }
    }
  })

  it('takes -0, tiny and huge numbers as JavaScript does', async () => {
    const b = await bench(takes, 'SELECT a, a * 1 AS m FROM demo')
    const texts = ['-0', '0', '5e-324', '1e-400', '1.7976931348623157e308', '123456789.123456789', '1E5', '-1e-7']
    await b.send(...texts.map((t) => `{"a":${t}}`))
    expect(b.counts()).toMatchObject({ received: texts.length, emitted: texts.length })
    // A sink of rows is shown without the sign of zero.
    expect(b.sink.sent.every((text, i) => JSON.parse(text).m === Number(texts[i]))).toBe(true)
  })

  it('takes NUL, quotes, line separators, lone surrogates in keys and text', async () => {
    const odd = ['\\u0000', '\\"', '\\\\', '\u2028', '\\ud800', '\\udc00x', '\\u007f', '\ufeff', '\\n']
    const b = await bench(takes, 'SELECT a, a AS copy FROM demo')
    await b.send(...odd.map((t) => `{"a":"${t}","${t}":1}`))
    expect(b.counts()).toMatchObject({ received: odd.length, emitted: odd.length })
    b.sink.sent.forEach((text, i) => {
      const wanted = JSON.parse(`"${odd[i]}"`).toWellFormed?.() ?? JSON.parse(`"${odd[i]}"`)
      const { a, copy } = JSON.parse(text)
      expect([a.toWellFormed(), copy.toWellFormed()]).toEqual([wanted, wanted])
    })
  })

  it('takes the last of duplicate keys, and empty keys', async () => {
    const b = await bench(takes, 'SELECT a, `` AS e FROM demo').catch(() => bench(takes, 'SELECT a FROM demo'))
    await b.send('{"a":1,"a":2}', '{"":5,"a":3}', '{"a":{"b":1},"a":4}')
    expect(b.sink.sent.map((t) => JSON.parse(t).a)).toEqual([2, 3, 4])
    b.counts()
  })

  it('refuses what nests 10,000 deep, in columns it reads and in those it does not', async () => {
    for (const sql of [
      'SELECT a FROM demo',
      'SELECT * FROM demo',
      'SELECT x FROM demo',
      'SELECT a->b AS b FROM demo',
    ]) {
      const b = await bench(takes, sql)
      const lists = `${'['.repeat(10_000)}${']'.repeat(10_000)}`
      const objects = `${'{"b":'.repeat(10_000)}1${'}'.repeat(10_000)}`
      await b.send(
        `{"x":1,"a":${lists}}`,
        `{"x":1,"a":${objects}}`,
        lists,
        objects,
        '['.repeat(100_000),
        '{"b":'.repeat(100_000),
      )
      const counts = b.counts()
      expect(counts.received).toBe(6)
      expect(counts.failed).toBeGreaterThanOrEqual(2)
      await b.send('{"x":1,"a":{"b":2}}')
      expect(b.counts().emitted).toBeGreaterThanOrEqual(1)
    }
  })

  it('takes 10,000 columns and a text of 4 MB', async () => {
    const wide = `{${Array.from({ length: 10_000 }, (_, i) => `"c${i}":${i}`).join(',')}}`
    const star = await bench(takes, 'SELECT * FROM demo')
    await star.send(wide, `{"c1":"${'x'.repeat(4 << 20)}"}`)
    expect(star.counts()).toMatchObject({ received: 2, emitted: 2 })
    expect(Object.keys(JSON.parse(star.sink.sent[0] as string))).toHaveLength(10_000)
    const few = await bench(takes, 'SELECT c9999, c1 FROM demo')
    await few.send(wide, `{"c1":"${'x'.repeat(4 << 20)}"}`)
    expect(JSON.parse(few.sink.sent[0] as string)).toEqual({ c9999: 9999, c1: 1 })
    expect(few.sink.sent[1]).toHaveLength((4 << 20) + 9)
    const all = Array.from({ length: 2000 }, (_, i) => `c${i}`)
    const many = await bench(takes, `SELECT ${all.join(', ')} FROM demo`)
    await many.send(wide)
    expect(Object.keys(JSON.parse(many.sink.sent[0] as string))).toHaveLength(2000)
    many.counts()
  })

  it('refuses a payload beyond the limit and takes one of just the limit', async () => {
    const b = await bench(takes, 'SELECT a FROM demo', '', { maxPayloadBytes: 100_000 })
    const of = (length: number): string => `{"a":1,"p":"${'x'.repeat(length - 14)}"}`
    await b.send(of(100_000), of(100_001), of(1_000_000))
    expect(b.counts()).toEqual({ received: 3, emitted: 1, filtered: 0, failed: 2 })
  })

  it('refuses wrong types in declared columns, one failure each', async () => {
    const b = await bench(
      takes,
      'SELECT a, f, s, t, o->x AS x, l[0] AS l FROM demo',
      'a BIGINT, f FLOAT, s STRING, t BOOLEAN, o STRUCT(x BIGINT), l ARRAY(BIGINT)',
    )
    const wrong = [
      '{}',
      '[]',
      '"text"',
      '1e400',
      '-',
      '{"x":"y"}',
      '[[1]]',
      '99999999999999999999',
      'null',
      'true',
      '1.5',
      '"\\u0000"',
    ]
    const sent = ['a', 'f', 's', 't', 'o', 'l'].flatMap((c) => wrong.map((w) => `{"${c}":${w}}`))
    await b.send(...sent)
    const counts = b.counts()
    expect(counts.received).toBe(sent.length)
    expect(counts.emitted + counts.failed).toBe(sent.length)
    await b.send('{"a":1,"f":2.5,"s":"x","t":true,"o":{"x":3},"l":[4]}')
    expect(JSON.parse(b.sink.sent.at(-1) as string)).toEqual({ a: 1, f: 2.5, s: 'x', t: true, x: 3, l: 4 })
  })

  it('takes lines with blanks, carriage returns, NULs and garbage between good ones', async () => {
    const b = await bench(takes, 'SELECT a FROM demo')
    await b.lines('{"a":1}\r\n\r\n  \n\u0000\n{"a":2}\n{"a":\n}{\n\t{"a":3}\t\n{"a":4}{"a":5}\n{"a":6}')
    const counts = b.counts()
    expect(counts.emitted + counts.failed).toBe(counts.received)
    expect(b.sink.sent.map((t) => JSON.parse(t).a)).toEqual([1, 2, 3, 6])
    expect(counts.failed).toBe(4)
  })

  it('takes a payload of one array with 100,000 rows, good and bad', async () => {
    const rows = Array.from({ length: 100_000 }, (_, i) => (i % 1000 === 7 ? '{"a":"x"}' : `{"a":${i}}`))
    const b = await bench(takes, 'SELECT a FROM demo WHERE a >= 0')
    await b.send(`[${rows.join(',')}]`)
    for (let i = 0; i < 1000 && b.counts().emitted < 99_900; i++) await settle()
    expect(b.counts()).toMatchObject({ emitted: 99_900 })
    expect(b.counts().received).toBe(100_000)
  })
})
