/**
 * Geohash functions (spec/functions.json, category geohash). Their names keep the capitals of the plugin they replace.
 * A whole-number hash is an unsigned 64-bit integer; on input the signed form of the same bits will do.
 */
import { RowError } from '../core/errors.ts'
import { goText } from '../core/go-text.ts'
import type { Value, ValueObject } from '../core/values.ts'
import type { FunctionExample, ScalarFunction } from './contract.ts'
import {
  type Box,
  boxOf,
  directions,
  encode,
  formatGeohash,
  type Geohash,
  isDirection,
  neighbor,
  type Point,
  parseGeohash,
  roundedPoint,
} from './geohash-code.ts'
import { defineScalar, type Parameter } from './helpers.ts'

const TEXT_BITS = 60
const FULL_BITS = 64

function floatAt(args: readonly Value[], index: number): number {
  const value = args[index]
  if (typeof value === 'number') return value
  throw new RowError(`arg[${index}] is not a float, got ${goText(value)}`)
}

function pointOf(args: readonly Value[]): Point {
  return { lat: floatAt(args, 0), lng: floatAt(args, 1) }
}

/** The cell a text names. */
function textCell([value]: readonly Value[]): Geohash {
  if (typeof value !== 'string' || value === '') throw new RowError(`arg[0] is not a string, got ${goText(value)}`)
  const cell = parseGeohash(value)
  if (typeof cell === 'string') throw new RowError(cell)
  return cell
}

/** The cell a whole number names. */
function intCell([value]: readonly Value[]): Geohash {
  if (typeof value !== 'bigint') throw new RowError(`arg[0] is not a bigint, got ${goText(value)}`)
  return { hash: BigInt.asUintN(64, value), bits: FULL_BITS }
}

function neighborOf(cell: Geohash, direction: Value | undefined): bigint {
  if (typeof direction !== 'string' || direction === '') {
    throw new RowError(`arg[1] is not a string, got ${goText(direction)}`)
  }
  if (!isDirection(direction)) throw new RowError(`arg[1] is valid, got ${direction}`)
  return neighbor(cell, direction)
}

const centre = (box: Box): ValueObject => {
  const { lat, lng } = roundedPoint(box)
  return { Longitude: lng, Latitude: lat }
}

const bounds = (box: Box): ValueObject => ({
  MinLat: box.minLat,
  MaxLat: box.maxLat,
  MinLng: box.minLng,
  MaxLng: box.maxLng,
})

const lat: Parameter = { name: 'latitude', type: 'float' }
const lng: Parameter = { name: 'longitude', type: 'float' }
const textHash: Parameter = { name: 'hash', type: 'string' }
const intHash: Parameter = { name: 'hash', type: 'bigint' }
const direction: Parameter = { name: 'direction', type: 'string', docs: directions.join(', ') }

function define(
  name: string,
  args: readonly Parameter[],
  docs: string,
  example: FunctionExample,
  run: (args: readonly Value[]) => Value,
): ScalarFunction {
  return defineScalar({
    name,
    family: 'geohash',
    args,
    docs,
    examples: [example],
    nulls: 'custom',
    validate: (given) =>
      given.length === args.length
        ? null
        : `The ${name} function supports ${args.length} parameters, but got ${given.length}`,
    run,
  })
}

export const geohashFunctions: readonly ScalarFunction[] = [
  define(
    'geohashEncode',
    [lat, lng],
    'The geohash of a point as a text of twelve characters.',
    { expression: 'geohashEncode(lat, lng)', row: { lat: 48.858, lng: 2.294 }, result: 'u09tunq6qp66' },
    (args) => formatGeohash(encode(pointOf(args), TEXT_BITS), TEXT_BITS),
  ),
  define(
    'geohashEncodeInt',
    [lat, lng],
    'The geohash of a point as an unsigned 64-bit integer.',
    { expression: 'geohashEncodeInt(lat, lng)', row: { lat: 38.11, lng: 120.55 }, result: 16660661682534817552n },
    (args) => encode(pointOf(args), FULL_BITS),
  ),
  define(
    'geohashDecode',
    [textHash],
    'A point of the cell, rounded to the fewest decimal places that stay inside.',
    { expression: 'geohashDecode(h)', row: { h: 'ezs42' }, result: { Longitude: -5.62, Latitude: 42.59 } },
    (args) => centre(boxOf(textCell(args))),
  ),
  define(
    'geohashDecodeInt',
    [intHash],
    'The point of a whole-number hash.',
    {
      expression: 'geohashDecodeInt(h)',
      row: { h: 16660661682534817552n },
      result: { Longitude: 120.54999993, Latitude: 38.10999999 },
    },
    (args) => centre(boxOf(intCell(args))),
  ),
  define(
    'geohashBoundingBox',
    [textHash],
    'The bounds of the cell.',
    {
      expression: 'geohashBoundingBox(h)',
      row: { h: 'ezs42' },
      result: { MinLat: 42.5830078125, MaxLat: 42.626953125, MinLng: -5.625, MaxLng: -5.5810546875 },
    },
    (args) => bounds(boxOf(textCell(args))),
  ),
  define(
    'geohashBoundingBoxInt',
    [intHash],
    'The bounds of the cell of a whole-number hash.',
    {
      expression: 'geohashBoundingBoxInt(h)',
      row: { h: 0n },
      result: { MinLat: -90, MaxLat: -89.99999995809048, MinLng: -180, MaxLng: -179.99999991618097 },
    },
    (args) => bounds(boxOf(intCell(args))),
  ),
  define(
    'geohashNeighbor',
    [textHash, direction],
    `The adjacent cell in a direction: ${directions.join(', ')}.`,
    { expression: 'geohashNeighbor(h, "North")', row: { h: 'wwv8z1tyfdgj' }, result: 'wwv8z1tyfdgn' },
    (args) => {
      const cell = textCell(args)
      return formatGeohash(neighborOf(cell, args[1]), cell.bits)
    },
  ),
  define(
    'geohashNeighborInt',
    [intHash, direction],
    'The adjacent cell of a whole-number hash.',
    {
      expression: 'geohashNeighborInt(h, "North")',
      row: { h: 16660661682534817552n },
      result: 16660661682534817553n,
    },
    (args) => neighborOf(intCell(args), args[1]),
  ),
  define(
    'geohashNeighbors',
    [textHash],
    `The eight adjacent cells: ${directions.join(', ')}.`,
    {
      expression: 'geohashNeighbors(h)',
      row: { h: 'ezs42' },
      result: ['ezs48', 'ezs49', 'ezs43', 'ezs41', 'ezs40', 'ezefp', 'ezefr', 'ezefx'],
    },
    (args) => {
      const cell = textCell(args)
      return directions.map((towards) => formatGeohash(neighbor(cell, towards), cell.bits))
    },
  ),
  define(
    'geohashNeighborsInt',
    [intHash],
    'The eight adjacent cells of a whole-number hash.',
    {
      expression: 'element_at(geohashNeighborsInt(h), 0)',
      row: { h: 16660661682534817552n },
      result: 16660661682534817553n,
    },
    (args) => {
      const cell = intCell(args)
      return directions.map((towards) => neighbor(cell, towards))
    },
  ),
]
