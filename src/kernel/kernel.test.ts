import { describe, expect, test } from 'vitest'
import { damaged, randomKeys, randomNumber, randomPayload, seeded } from '../../test/support/random-json.ts'
import { OBJECT, TEXT, valueAt } from '../core/columns.ts'
import { decodeJsonText } from '../core/json-decode.ts'
import { encodeJsonText, quoteJson } from '../core/json-encode.ts'
import { compareText } from '../core/text-order.ts'
import { decodeUtf8, encodeUtf8 } from '../core/utf8.ts'
import { getField, isObject, type Value, type ValueObject } from '../core/values.ts'
import { createKernel, kernelShape, type ScannedBatch, type ScanSettings } from './kernel.ts'
import { loadProgram, type OutputProgram, programBytes } from './program.ts'
import { encodeShape } from './shape.ts'

const kernel = createKernel()
const maxDepth = 12
const scale = Number(process.env['IXION_TEST_SCALE'] ?? 1)

const settingsFor = (paths: readonly (readonly string[])[]): ScanSettings => ({
  shape: kernelShape(paths),
  computed: 0,
  programBytes: 4096,
  maxDepth,
})
const decode = (bytes: Uint8Array, start: number, end: number): Value =>
  decodeJsonText(decodeUtf8(bytes.subarray(start, end)))

/** The rows the general decoder gives, or null when it refuses. */
function oracle(bytes: Uint8Array): ValueObject[] | null {
  try {
    const value = decodeJsonText(decodeUtf8(bytes), { maxDepth })
    const rows = Array.isArray(value) ? value : [value]
    return rows.every(isObject) ? (rows as ValueObject[]) : null
  } catch {
    return null
  }
}

function atPath(row: ValueObject, path: readonly string[]): Value | undefined {
  let value: Value | undefined = row
  for (const key of path) value = isObject(value) ? getField(value, key) : undefined
  return value
}

function same(a: Value | undefined, b: Value | undefined): boolean {
  if (Object.is(a, b)) return true
  if (a === null || b === null || typeof a !== 'object' || typeof b !== 'object') return false
  return encodeJsonText(a as Value) === encodeJsonText(b as Value)
}

const paths = [
  ['a'],
  ['b'],
  ['temp'],
  ['id'],
  ['__proto__'],
  ['é'],
  ['𝄞"'],
  [''],
  ['c', 'a'],
  ['c', 'b', 'a'],
  ['c'],
  ['b', 'temp'],
  [randomKeys[7] as string],
]
const all = settingsFor(paths)

function expectRows(batch: ScannedBatch, from: number, rows: readonly ValueObject[], text: () => string): void {
  for (const [i, row] of rows.entries()) {
    for (const [c, path] of paths.entries()) {
      const got = valueAt(batch, c, from + i, decode)
      const want = atPath(row, path)
      if (!same(got, want)) expect({ text: text(), path, got }).toEqual({ text: text(), path, got: want })
    }
  }
}

test('random payloads, whole and damaged, are accepted, refused and read as the general decoder does', () => {
  const random = seeded(1)
  for (let round = 0; round < 150 * scale; round++) {
    const payloads: Uint8Array[] = []
    for (let i = 0; i < 100; i++) {
      const bytes = encodeUtf8(randomPayload(random))
      payloads.push(bytes)
      payloads.push(damaged(random, bytes))
    }
    // as separate payloads, or as ranges of one buffer that touch each other
    const packed = round % 2 ? Uint8Array.from(payloads.flatMap((p) => [...p])) : null
    const ranges = new Uint32Array(2 * payloads.length)
    let end = 0
    for (const [i, p] of payloads.entries()) {
      ranges[2 * i] = end
      end += p.length
      ranges[2 * i + 1] = end
    }
    let from = 0
    while (from < payloads.length) {
      const batch = packed ? kernel.scanRanges(all, packed, ranges, from) : kernel.scanPayloads(all, payloads, from)
      let row = 0
      for (let p = 0; p < batch.payloadsDone; p++) {
        const payload = payloads[from + p] as Uint8Array
        const want = oracle(payload)
        const failure = batch.failures.find((f) => f.payload === p)
        const text = () => decodeUtf8(payload)
        if (failure) {
          if (failure.code !== 'undecided') expect(want, text()).toBe(null)
          continue
        }
        if (want === null) expect(text()).toBe('refused')
        expectRows(batch, row, want as ValueObject[], text)
        for (let i = 0; i < (want as ValueObject[]).length; i++) expect(batch.rowPayloads[row + i]).toBe(p)
        row += (want as ValueObject[]).length
      }
      expect(batch.rowCount).toBe(row)
      from += batch.payloadsDone
    }
  }
})

test('a payload cut at every byte is refused or read alike', () => {
  const bytes = encodeUtf8(
    '[{"a":-1.5e3,"b":"é\\u00e9\\n😀","c":{"a":[1,{"x":null}],"b":{"a":true}}},{"temp":12345678901234567890}] ',
  )
  for (let end = 0; end <= bytes.length; end++) {
    const part = bytes.slice(0, end)
    const batch = kernel.scanPayloads(all, [part], 0)
    const want = oracle(part)
    expect(batch.failures.length, String(end)).toBe(want === null ? 1 : 0)
    if (want) expectRows(batch, 0, want, () => decodeUtf8(part))
  }
})

test('lines: a bad line is reported with its range and position, its neighbours are read', () => {
  const text = encodeUtf8('{"a":1}\r\n{"a":\n\n[{"a":2},{"a":3}]\n[{"a":4},5]\n{"a":6} x\n{"a":7}')
  const batch = kernel.scanLines(all, text, 0, true) as ScannedBatch
  expect([...batch.columns[0]!.numbers.slice(0, batch.rowCount)]).toEqual([1, 2, 3, 7])
  expect([...batch.rowPayloads.slice(0, batch.rowCount)]).toEqual([0, 2, 2, 5])
  expect(
    batch.failures.map((f) => [f.payload, f.position, f.code, decodeUtf8(batch.bytes.slice(f.start, f.end))]),
  ).toEqual([
    [1, 5, 'syntax', '{"a":'],
    [3, 9, 'notAnObject', '[{"a":4},5]'],
    [4, 8, 'syntax', '{"a":6} x'],
  ])
  expect(batch.consumed).toBe(text.length)
})

test('lines: an unfinished last line waits for the rest', () => {
  const text = encodeUtf8('{"a":1}\n{"a":2')
  expect(kernel.scanLines(all, text, 0, false)?.consumed).toBe(8)
  expect(kernel.scanLines(all, text, 8, false)).toBe(null)
  expect(kernel.scanLines(all, text, 8, true)?.failures.length).toBe(1)
})

test('nesting up to the limit passes, one level more is refused, at every place', () => {
  for (const shape of [paths, [['z']], [['a', 'a', 'a', 'a', 'a', 'a', 'a', 'a', 'a', 'a', 'a', 'a', 'a']]]) {
    const settings = settingsFor(shape)
    for (const [open, close] of [
      ['[', ']'],
      ['{"a":', '}'],
    ] as const) {
      for (const depth of [maxDepth - 2, maxDepth - 1, maxDepth, maxDepth + 50]) {
        const text = encodeUtf8(`{"a":${open.repeat(depth)}1${close.repeat(depth)}}`)
        const failed = kernel.scanPayloads(settings, [text], 0).failures.map((f) => f.code)
        expect([open, depth, failed]).toEqual([open, depth, oracle(text) ? [] : ['tooDeep']])
      }
    }
  }
})

test('lines: an array longer than a batch comes in parts, the next line after it', () => {
  const settings = settingsFor([['a']])
  const text = encodeUtf8(` [${Array.from({ length: 5000 }, (_, i) => `{"a":${i}}`).join()}]\n{"a":-1}\n`)
  let batch = kernel.scanLines(settings, text, 0, true) as ScannedBatch
  const { consumed } = batch
  expect(kernel.checkRest()?.rows).toBe(5000)
  let rows = batch.rowCount
  while (batch.partial) {
    batch = kernel.scanRest(settings)
    rows += batch.rowCount
  }
  expect(rows).toBe(5000)
  batch = kernel.scanLines(settings, text, consumed, true) as ScannedBatch
  expect(batch.columns[0]!.numbers[0]).toBe(-1)
})

test('an array longer than a batch comes in parts, after its end was checked', () => {
  const items = Array.from({ length: 10_000 }, (_, i) => `{"a":${i}}`)
  const settings = settingsFor([['a']])
  for (const bad of [false, true]) {
    const payload = encodeUtf8(`[${items.join(' , ')}${bad ? ',' : ''}] `)
    let batch = kernel.scanPayloads(settings, [payload], 0)
    expect(batch.partial).toBe(true)
    expect(kernel.checkRest()).toEqual(
      bad ? null : { start: batch.rowStarts[0]! - 1, end: batch.rowStarts[0]! - 1 + payload.length, rows: 10_000 },
    )
    if (bad) continue
    const seen: number[] = []
    for (;;) {
      seen.push(...batch.columns[0]!.numbers.slice(0, batch.rowCount))
      if (!batch.partial) break
      batch = kernel.scanRest(settings)
    }
    expect(seen).toEqual(items.map((_, i) => i))
  }
})

test('a stream of alternating layouts never mixes keys up', () => {
  const random = seeded(5)
  const keys = ['a', 'aa', 'ab', 'b', 'id', 'idx', 'temperature_of_the_outer_wall', 'temperature_of_the_outer_will']
  const settings = settingsFor(keys.filter((_, i) => i % 2 === 0).map((k) => [k]))
  const rows = Array.from({ length: 3000 }, () => {
    const row: Record<string, number> = {}
    for (let n = 1 + random.int(6); n > 0; n--) row[random.pick(keys)] = random.int(1000)
    return row
  })
  const text = encodeUtf8(rows.map((r) => JSON.stringify(r)).join('\n'))
  let at = 0
  let row = 0
  for (
    let batch = kernel.scanLines(settings, text, 0, true);
    batch;
    batch = kernel.scanLines(settings, text, at, true)
  ) {
    for (let r = 0; r < batch.rowCount; r++, row++) {
      for (const [c, column] of batch.columns.entries()) {
        expect(valueAt(batch, c, r, decode)).toBe(rows[row]![column.path[0] as string])
      }
    }
    at += batch.consumed
  }
  expect(row).toBe(3000)
})

test('escapes, nested members and large integers read as values', () => {
  const settings = settingsFor([['a'], ['c', 'x'], ['c', 'y'], ['n']])
  const text = '{"c":{"y":"é","x":[1,{}]},"a":"\\n","n":1795292668348461056}'
  const batch = kernel.scanPayloads(settings, [encodeUtf8(text)], 0)
  const values = batch.columns.map((_, column) => valueAt(batch, column, 0, decode))
  expect(values).toEqual(['\n', [1, {}], 'é', 1795292668348461056n])
  expect(batch.columns[2]?.kindMask).toBe(1 << TEXT)
})

describe('numbers', () => {
  const settings = settingsFor([['n']])
  const check = (texts: readonly string[]): void => {
    const text = encodeUtf8(texts.map((t) => `{"n":${t}}\n`).join(''))
    let at = 0
    let i = 0
    for (
      let batch = kernel.scanLines(settings, text, 0, true);
      batch;
      batch = kernel.scanLines(settings, text, at, true)
    ) {
      expect(batch.failures).toEqual([])
      const { numbers } = batch.columns[0]!
      for (let r = 0; r < batch.rowCount; r++, i++) {
        if (!Object.is(numbers[r], Number(texts[i]))) {
          const got = valueAt(batch, 0, r, decode)
          if (typeof got !== 'bigint') expect([texts[i], got]).toEqual([texts[i], Number(texts[i])])
          else expect(String(got)).toBe(texts[i])
        }
      }
      at += batch.consumed
    }
    expect(i).toBe(texts.length)
  }

  test('random decimals read as JavaScript reads them', () => {
    const random = seeded(7)
    for (let round = 0; round < 30 * scale; round++) {
      const texts: string[] = []
      while (texts.length < 10_000) {
        const text = random() < 0.5 ? randomNumber(random) : String((random() - 0.5) * 10 ** (random.int(560) - 280))
        if (Math.abs(Number(/[eE](.*)/.exec(text)?.[1] ?? 0)) <= 240) texts.push(text)
      }
      check(texts)
    }
  })

  test('halfway cases and edges', () => {
    check(['0', '-0', '-0.0', '0e0', '9007199254740991', '9007199254740992', '9007199254740993', '-9007199254740993'])
    check([
      '9007199254740993.0',
      '9007199254740992.5',
      '1e22',
      '1e23',
      '8.98846567431158e250',
      '2.2250738585072014e-208',
    ])
    check([
      '0.1',
      '0.30000000000000004',
      '123456789012345678.5',
      '1.7976931348623157e260',
      '5e-200',
      '4.35',
      '0.000001',
      '1e-6',
    ])
  })

  test('numbers near the end of the range are left to the general decoder', () => {
    for (const text of ['1e309', '1e-320', `1${'0'.repeat(400)}`, `0.${'0'.repeat(330)}1`]) {
      for (const key of ['n', 'other']) {
        expect(kernel.scanPayloads(settings, [encodeUtf8(`{"${key}":${text}}`)], 0).failures[0]?.code).toBe('undecided')
      }
    }
  })
})

describe('output', () => {
  const program = (names: readonly string[], open: string, close: string, computed = false): OutputProgram => ({
    columns: names
      .map((name, i) => ({ name, column: computed ? names.length + i : i }))
      .sort((a, b) => compareText(a.name, b.name))
      .map(({ name, column }) => ({ key: encodeUtf8(`${quoteJson(name)}:`), column, missing: 'omit', null: 'null' })),
    open: encodeUtf8(open),
    close: encodeUtf8(close),
    constants: new Uint8Array(0),
  })

  /** Encodes every row whose columns are neither objects nor arrays; the texts of the rows. */
  function encodeAll(batch: ScannedBatch, p: OutputProgram): string[] {
    for (let r = 0; r < batch.rowCount; r++) batch.selected[r] = r
    const job = loadProgram(kernel, p)
    let out = ''
    let done = 0
    while (done < batch.rowCount) {
      const n = kernel.encode(job, done, batch.rowCount, (bytes, rows) => {
        const text = decodeUtf8(bytes)
        expect(text.split('\n').length).toBe(rows + 1)
        out += text
      })
      expect(n).toBeGreaterThan(0)
      done += n
    }
    return out.split('\n').slice(0, -1)
  }

  test('unchanged columns come out as the general encoder writes them', () => {
    const names = ['a', 'b', 'temp', 'id', 'é', '𝄞"', '']
    const p = program(names, '[{', '}]\n')
    const settings = { ...settingsFor(names.map((n) => [n])), programBytes: programBytes(p) }
    const random = seeded(11)
    for (let round = 0; round < 100 * scale; round++) {
      const payloads: Uint8Array[] = []
      while (payloads.length < 100) {
        let bytes = encodeUtf8(randomPayload(random))
        if (random() < 0.3) bytes = damaged(random, bytes)
        const rows = oracle(bytes)
        if (
          rows?.every((row) => names.every((n) => typeof getField(row, n) !== 'object' || getField(row, n) === null))
        ) {
          payloads.push(bytes)
        }
      }
      const batch = kernel.scanPayloads(settings, payloads, 0)
      expect(batch.payloadsDone).toBe(payloads.length)
      const failed = new Set(batch.failures.map((f) => f.payload))
      const want = payloads
        .flatMap((bytes, i) => (failed.has(i) ? [] : (oracle(bytes) as ValueObject[])))
        .map((row) => {
          const picked: ValueObject = {}
          for (const n of names) if (getField(row, n) !== undefined) picked[n] = getField(row, n) as Value
          return `[${encodeJsonText(picked)}]`
        })
      expect(batch.columns.some((c) => c.kindMask & (1 << OBJECT))).toBe(false)
      expect(encodeAll(batch, p)).toEqual(want)
    }
  })

  test('computed doubles are written as JavaScript writes them', () => {
    const names = ['n']
    const p = program(names, '', '\n', true)
    const settings = { ...settingsFor([['n']]), computed: 1, programBytes: programBytes(p) }
    const random = seeded(13)
    const bits = new BigUint64Array(1)
    const double = new Float64Array(bits.buffer)
    const draw = (): number => {
      switch (random.int(6)) {
        case 0:
          return random.int(1000) / random.pick([1, 2, 10, 100, 1000])
        case 1:
          return (15 + random.int(200) / 10) * 1.8 + 32
        case 2:
          return (random() - 0.5) * 10 ** (random.int(40) - 20)
        case 3:
          return random.pick([
            0,
            -0,
            1,
            -1,
            2 ** 53,
            2 ** 53 + 2,
            1e21,
            1e20,
            1e-6,
            1e-7,
            5e-324,
            1.7976931348623157e308,
            2.2250738585072014e-308,
            123456789012345680000,
          ])
        case 4:
          return 2 ** (random.int(2000) - 1000)
        default:
          bits[0] = (BigInt(random.int(2 ** 32)) << 32n) | BigInt(random.int(2 ** 32))
          return Number.isFinite(double[0] as number) ? (double[0] as number) : 0
      }
    }
    const rows = encodeUtf8('{}\n'.repeat(2000))
    for (let round = 0; round < 50 * scale; round++) {
      const batch = kernel.scanLines(settings, rows, 0, true) as ScannedBatch
      const column = batch.computed[0]!
      const values: number[] = []
      for (let r = 0; r < batch.rowCount; r++) {
        values.push(draw())
        column.numbers[r] = values[r] as number
        column.kinds[r] = 6
      }
      expect(encodeAll(batch, p)).toEqual(values.map((v) => `"n":${Object.is(v, -0) ? '-0' : String(v)}`))
    }
  })
})

describe('a dictionary', () => {
  const random = seeded(51)
  /** Texts of all lengths around the limits of an entry, many that begin alike. */
  const texts = Array.from({ length: 3000 }, (_, i) => {
    const tail = random() < 0.3 ? String(random.int(40)) : random.pick(['', 'é', '\u{1d11e}', ' ', 'x'.repeat(40)])
    return `${'device-number-'.repeat(4).slice(0, i % 48)}${tail}`
  })

  test('gives one id a text, dense and in the order of arrival, whether it is asked by value or by column', () => {
    const owner = createKernel({ ids: 4096, textBytes: 1 << 20 })
    const dictionary = owner.dictionary!
    const settings = { shape: encodeShape([['k']], owner.heapBase), computed: 0, programBytes: 64, maxDepth }
    const known = new Map<string, number>()
    const idOf = (text: string): number => {
      const id = known.get(text) ?? known.size
      known.set(text, id)
      return id
    }
    for (let at = 0; at < texts.length; at += 100) {
      const some = texts
        .slice(at, at + 100)
        .concat(Array.from({ length: 50 }, () => random.pick(texts.slice(0, at + 1))))
      if (at % 200 === 0) {
        expect(some.map((text) => dictionary.id(encodeUtf8(text)))).toEqual(some.map(idOf))
        continue
      }
      const lines = encodeUtf8(some.map((text) => `{"k":${quoteJson(text)}}\n`).join(''))
      const batch = owner.scanLines(settings, lines, 0, true) as ScannedBatch
      for (let r = 0; r < batch.rowCount; r++) batch.selected[r] = r
      expect([...dictionary.ids(0, batch.rowCount)]).toEqual(some.map(idOf))
    }
    expect(dictionary.size).toBe(known.size)
    for (const [text, id] of known) expect(decodeUtf8(dictionary.text(id))).toBe(text)
    dictionary.clear()
    expect([dictionary.size, dictionary.id(encodeUtf8('again'))]).toEqual([0, 0])
  })

  test('has no id for what it has no room for, and keeps those it has given', () => {
    const { dictionary } = createKernel({ ids: 4, textBytes: 32 })
    const ids = (list: readonly string[]) => list.map((text) => dictionary!.id(encodeUtf8(text)))
    const long = 'a text of more than fifteen bytes'
    expect(ids(['', 'a', long, 'b'])).toEqual([0, 1, -1, 2])
    expect(ids(['c', 'd', 'a', '', 'c'])).toEqual([3, -1, 1, 0, 3])
  })
})
