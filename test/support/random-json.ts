/** Random JSON texts for the kernel's differential tests: odd spellings of valid text, and faulty text made from it. */
export interface Random {
  (): number
  int(below: number): number
  pick<T>(list: readonly T[]): T
}

/** mulberry32 */
export function seeded(seed: number): Random {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
  const int = (below: number): number => Math.floor(next() * below)
  return Object.assign(next, { int, pick: <T>(list: readonly T[]): T => list[int(list.length)] as T })
}

export const randomKeys = [
  'a',
  'b',
  'temp',
  'id',
  'c',
  '__proto__',
  'é',
  'long_key_of_more_than_thirty_two_bytes_x',
  '',
  '𝄞"',
]

function randomSpace(random: Random): string {
  return random() < 0.7 ? '' : random.pick([' ', '  ', '\t', '\r', ' \t '])
}

const pieces = [
  'x',
  'dev_1',
  '<b>',
  '&',
  'é',
  '中文字',
  '😀',
  '\u2028',
  '\u2029',
  '\u007f',
  'plain text of some length ',
  '0123456789abcdef',
]
const escapes = [
  '\\"',
  '\\\\',
  '\\/',
  '\\b',
  '\\f',
  '\\n',
  '\\r',
  '\\t',
  '\\u0041',
  '\\u00e9',
  '\\u2028',
  '\\uD834\\uDD1E',
  '\\ud800',
  '\\udc00',
  '\\u0000',
  '\\u003c',
  '\\u001f',
]

function randomString(random: Random): string {
  let text = '"'
  for (let n = random.int(5); n > 0; n--) text += random() < 0.6 ? random.pick(pieces) : random.pick(escapes)
  return `${text}"`
}

/** The literal of `key` with some characters escaped. */
function keyLiteral(random: Random, key: string): string {
  const plain = JSON.stringify(key)
  if (random() < 0.8) return plain
  let text = '"'
  for (let i = 0; i < key.length; i++) {
    text +=
      random() < 0.5 ? `\\u${key.charCodeAt(i).toString(16).padStart(4, '0')}` : JSON.stringify(key[i]).slice(1, -1)
  }
  return `${text}"`
}

export function randomNumber(random: Random): string {
  const digits = (n: number): string => {
    let text = ''
    for (let i = 0; i < n; i++) text += random.int(10)
    return text
  }
  const sign = random() < 0.3 ? '-' : ''
  const whole = random() < 0.3 ? '0' : `${1 + random.int(9)}${digits(random.int(random() < 0.2 ? 22 : 6))}`
  const fraction = random() < 0.5 ? '' : `.${digits(1 + random.int(random() < 0.2 ? 20 : 5))}`
  const exponent =
    random() < 0.85
      ? ''
      : `${random.pick(['e', 'E'])}${random.pick(['', '+', '-'])}${random.int(random() < 0.1 ? 400 : 30)}`
  return sign + whole + fraction + exponent
}

function randomValue(random: Random, depth: number): string {
  const kind = random.int(depth > 0 ? 10 : 8)
  if (kind < 3) return randomNumber(random)
  if (kind < 5) return randomString(random)
  if (kind < 8) return random.pick(['true', 'false', 'null'])
  if (kind === 8) return randomObject(random, depth - 1)
  const items: string[] = []
  for (let n = random.int(4); n > 0; n--)
    items.push(randomSpace(random) + randomValue(random, depth - 1) + randomSpace(random))
  return `[${items.join(',') || randomSpace(random)}]`
}

function randomObject(random: Random, depth: number): string {
  const members: string[] = []
  for (let n = random.int(6); n > 0; n--) {
    const key = keyLiteral(random, random.pick(randomKeys))
    members.push(
      `${randomSpace(random)}${key}${randomSpace(random)}:${randomSpace(random)}${randomValue(random, depth)}${randomSpace(random)}`,
    )
  }
  return `{${members.join(',') || randomSpace(random)}}`
}

/** An object or a list of objects. */
export function randomPayload(random: Random): string {
  if (random() < 0.8) return randomSpace(random) + randomObject(random, 3) + randomSpace(random)
  const items: string[] = []
  for (let n = random.int(4); n > 0; n--) items.push(randomSpace(random) + randomObject(random, 2))
  return `[${items.join(`${randomSpace(random)},`) || randomSpace(random)}${randomSpace(random)}]`
}

const noise = [
  0, 1, 9, 10, 13, 31, 32, 34, 44, 45, 46, 48, 57, 58, 91, 92, 93, 101, 110, 123, 125, 127, 128, 0xbf, 0xc0, 0xc2, 0xe2,
  0xed, 0xf0, 0xf4, 0xff,
]

/** Cut, flipped, doubled or stuffed somewhere. */
export function damaged(random: Random, bytes: Uint8Array): Uint8Array {
  const at = random.int(bytes.length + 1)
  switch (random.int(4)) {
    case 0:
      return bytes.slice(0, at)
    case 1: {
      const copy = bytes.slice()
      if (at < copy.length) copy[at] = random.pick(noise)
      return copy
    }
    case 2:
      return Uint8Array.from([...bytes.subarray(0, at), random.pick(noise), ...bytes.subarray(at)])
    default:
      return Uint8Array.from([...bytes.subarray(0, at), ...bytes.subarray(at + 1 + random.int(3))])
  }
}
