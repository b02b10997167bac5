/**
 * Geohashes: a point on Earth as 64 bits, longitude and latitude interleaved (longitude first), or as text of up to twelve
 * characters of five bits each, which is a prefix of the same bits.
 */

const alphabet = '0123456789bcdefghjkmnpqrstuvwxyz'
const MAX_CHARACTERS = 12

export interface Box {
  readonly minLat: number
  readonly maxLat: number
  readonly minLng: number
  readonly maxLng: number
}

export interface Point {
  readonly lat: number
  readonly lng: number
}

/** A hash with its precision in bits, 1 to 64. */
export interface Geohash {
  readonly hash: bigint
  readonly bits: number
}

/** The position of x in [-range, range) as 32 bits; what lies outside wraps around. */
function toFixed(x: number, range: number): number {
  const scaled = Math.trunc(((x + range) / (2 * range)) * 2 ** 32)
  return Number.isFinite(scaled) ? Number(BigInt.asUintN(32, BigInt(scaled))) : 0
}

const fromFixed = (fixed: number, range: number): number => 2 * range * (fixed / 2 ** 32) - range

/** Full precision, unsigned 64 bits. */
function encodePoint({ lat, lng }: Point): bigint {
  const latBits = toFixed(lat, 90)
  const lngBits = toFixed(lng, 180)
  let high = 0
  let low = 0
  for (let i = 15; i >= 0; i--) {
    high = high * 4 + ((lngBits >>> (i + 16)) & 1) * 2 + ((latBits >>> (i + 16)) & 1)
    low = low * 4 + ((lngBits >>> i) & 1) * 2 + ((latBits >>> i) & 1)
  }
  return (BigInt(high) << 32n) | BigInt(low)
}

export function encode(point: Point, bits: number): bigint {
  return encodePoint(point) >> BigInt(64 - bits)
}

export function boxOf({ hash, bits }: Geohash): Box {
  const full = BigInt.asUintN(64, hash << BigInt(64 - bits))
  let latBits = 0
  let lngBits = 0
  for (let i = 31n; i >= 0n; i--) {
    lngBits = lngBits * 2 + Number((full >> (2n * i + 1n)) & 1n)
    latBits = latBits * 2 + Number((full >> (2n * i)) & 1n)
  }
  const minLat = fromFixed(latBits, 90)
  const minLng = fromFixed(lngBits, 180)
  const precision = Math.floor(bits / 2)
  return {
    minLat,
    maxLat: minLat + 180 * 2 ** -precision,
    minLng,
    maxLng: minLng + 360 * 2 ** -(bits - precision),
  }
}

/** A point of the box with as few decimal places as its size allows. */
export function roundedPoint(box: Box): Point {
  const round = (min: number, max: number): number => {
    const unit = Number(`1e${Math.floor(Math.log10(max - min))}`)
    return Math.ceil(min / unit) * unit
  }
  return { lat: round(box.minLat, box.maxLat), lng: round(box.minLng, box.maxLng) }
}

/** Steps to the eight neighbours, latitude then longitude, clockwise from north. */
const steps = {
  North: [1, 0],
  NorthEast: [1, 1],
  East: [0, 1],
  SouthEast: [-1, 1],
  South: [-1, 0],
  SouthWest: [-1, -1],
  West: [0, -1],
  NorthWest: [1, -1],
} as const

export type Direction = keyof typeof steps
export const directions = Object.keys(steps) as Direction[]

export function isDirection(name: string): name is Direction {
  return Object.hasOwn(steps, name)
}

/** The adjacent cell of the same precision. */
export function neighbor(cell: Geohash, direction: Direction): bigint {
  const box = boxOf(cell)
  const [north, east] = steps[direction]
  const lat = (box.minLat + box.maxLat) / 2 + north * (box.maxLat - box.minLat)
  const lng = (box.minLng + box.maxLng) / 2 + east * (box.maxLng - box.minLng)
  return encode({ lat, lng }, cell.bits)
}

/** The hash, or why the text is none. */
export function parseGeohash(text: string): Geohash | string {
  if (text.length > MAX_CHARACTERS) return 'too long'
  let hash = 0n
  for (const char of text) {
    const digit = alphabet.indexOf(char)
    if (digit < 0) return `invalid character '${char}'`
    hash = (hash << 5n) | BigInt(digit)
  }
  return { hash, bits: 5 * text.length }
}

export function formatGeohash(hash: bigint, bits: number): string {
  let text = ''
  for (let rest = hash, left = bits; left > 0; left -= 5, rest >>= 5n) text = alphabet[Number(rest & 31n)] + text
  return text
}
