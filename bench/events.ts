/** Events as files, the same for the same arguments on every machine. */
import { createHash } from 'node:crypto'
import { closeSync, openSync, writeSync } from 'node:fs'

/** Uniform whole numbers below `limit` (mulberry32). */
export function numbers(seed: number): (limit: number) => number {
  let state = seed >>> 0
  return (limit) => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 2 ** 32) * limit)
  }
}

export interface Reading {
  readonly id: string
  readonly temp: number
  readonly hum: number
  readonly ts: number
}

export const START = 1_700_000_000_000

export interface ReadingOptions {
  readonly events: number
  readonly devices?: number
  /** Time between two events, ms; may be a fraction. */
  readonly step?: number
  readonly seed?: number
}

/** Readings of random devices in time order: temp 15.0 to 34.9, three quarters of them above 20. */
export function* readings({ events, devices = 10_000, step = 1, seed = 1 }: ReadingOptions): Generator<Reading> {
  const random = numbers(seed)
  for (let i = 0; i < events; i++) {
    yield {
      id: `dev_${random(devices)}`,
      temp: (150 + random(200)) / 10,
      hum: 40 + random(50),
      ts: START + Math.floor(i * step),
    }
  }
}

/** About 60 bytes. */
export const readingText = (r: Reading): string => `{"id":"${r.id}","temp":${r.temp},"hum":${r.hum},"ts":${r.ts}}`

/** Readings as texts. */
export function* readingTexts(options: ReadingOptions, text = readingText): Generator<string> {
  for (const reading of readings(options)) yield text(reading)
}

/** Writes texts one a line; returns their number. */
export function writeLines(file: string, texts: Iterable<string>): number {
  const handle = openSync(file, 'w')
  let lines = 0
  let part: string[] = []
  const flush = (): void => {
    if (part.length > 0) writeSync(handle, `${part.join('\n')}\n`)
    part = []
  }
  for (const text of texts) {
    part.push(text)
    lines++
    if (part.length === 20_000) flush()
  }
  flush()
  closeSync(handle)
  return lines
}

/** What an output file must hold: its number of lines, and the hash of its bytes (a last line feed does not count). */
export interface Expected {
  readonly lines: number
  readonly hash: string
}

export function expected(texts: Iterable<string>): Expected {
  const hash = createHash('sha256')
  let lines = 0
  for (const text of texts) {
    hash.update(lines === 0 ? text : `\n${text}`)
    lines++
  }
  return { lines, hash: hash.digest('hex') }
}
