import { expect, test } from 'vitest'
import { seeded } from '../../../test/support/random-json.ts'
import { makeRow } from '../../core/row.ts'
import { decodeUtf8, encodeUtf8 } from '../../core/utf8.ts'
import { WaitingRows } from './waiting-rows.ts'

interface Waiting {
  readonly time: number
  readonly text: string
  readonly decoded: boolean
}

/** What leaves, in order; decoded rows by the text they hold. */
function release(rows: WaitingRows, time: number): string[] {
  const count = rows.until(time)
  const texts: string[] = []
  for (let at = 0; at < count; ) {
    const end = rows.endOfTexts(at, count)
    const { bytes, ranges } = rows.texts(at, end)
    expect(ranges).toEqual(ranges.slice().sort((a, b) => a - b))
    for (let i = 0; i < 2 * (end - at); i += 2) {
      texts.push(decodeUtf8(bytes.subarray(ranges[i], ranges[i + 1])))
    }
    for (at = end; at < count && rows.rowAt(at); at++) texts.push(String(rows.rowAt(at)?.message['text']))
  }
  rows.drop(count)
  return texts
}

test('rows leave in time order, those of one time as they came, whatever the order they came in', () => {
  for (let round = 0; round < 9; round++) {
    const random = seeded(round)
    const rows = new WaitingRows()
    let model: Waiting[] = []
    const disorder = random.pick([0, 3, 50])
    let number = 0
    for (let now = 0; now < 150; now++) {
      // A chunk of texts that are copied at once, with something between them that is not kept.
      const chunk = Array.from({ length: random.int(30) }, () => ({
        time: now - random.int(disorder + 1),
        text: `${number++}${'x'.repeat(random.int(random() < 0.02 ? 5000 : 30))}`,
        decoded: random() < 0.05,
      }))
      for (const { time, text, decoded } of chunk) {
        if (decoded) rows.addRow(makeRow('s', { text }, time))
        else {
          const start = rows.end
          rows.addText(start, start + encodeUtf8(text).length, time)
          rows.copy(encodeUtf8(`  ${text},`), 2, 2 + text.length + random.int(2))
        }
      }
      model = [...model, ...chunk].sort((a, b) => a.time - b.time)
      const until = now - random.int(40)
      const due = model.filter((row) => row.time <= until)
      model = model.slice(due.length)
      expect(release(rows, until)).toEqual(due.map((row) => row.text))
      const left = Array.from({ length: rows.length }, (_, i) => ({
        time: rows.timeAt(i),
        text: rows.rowAt(i)?.message['text'] ?? decodeUtf8(rows.textAt(i)),
        decoded: rows.rowAt(i) !== undefined,
      }))
      expect(left).toEqual(model)
    }
  }
})

test('rows that are gone make room, while others wait for ever', () => {
  const rows = new WaitingRows()
  const text = encodeUtf8('x'.repeat(1000))
  const add = (time: number) => {
    rows.addText(rows.end, rows.end + text.length, time)
    rows.copy(text, 0, text.length)
  }
  add(Number.MAX_SAFE_INTEGER)
  for (let time = 0; time < 2000; time++) {
    add(time + 1)
    add(time)
    expect(release(rows, time)).toHaveLength(time === 0 ? 1 : 2)
    expect(rows.end).toBeLessThan(100_000)
  }
})
