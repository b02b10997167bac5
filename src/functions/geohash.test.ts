import fc from 'fast-check'
import { expect, test } from 'vitest'
import { boxOf, directions, encode, formatGeohash, neighbor, parseGeohash, roundedPoint } from './geohash-code.ts'

const points = fc.record({
  lat: fc.double({ min: -89.9, max: 89.9, noNaN: true }),
  lng: fc.double({ min: -179.9, max: 179.9, noNaN: true }),
})
const bits = fc.integer({ min: 1, max: 64 })

test('the box of a hash holds the point it was made of, at any precision', () => {
  fc.assert(
    fc.property(points, bits, (point, precision) => {
      const box = boxOf({ hash: encode(point, precision), bits: precision })
      const slack = 1e-9
      expect(box.minLat - slack <= point.lat && point.lat <= box.maxLat + slack).toBe(true)
      expect(box.minLng - slack <= point.lng && point.lng <= box.maxLng + slack).toBe(true)
    }),
  )
})

test('text and number are the same bits', () => {
  fc.assert(
    fc.property(points, fc.integer({ min: 1, max: 12 }), (point, characters) => {
      const hash = encode(point, 5 * characters)
      const text = formatGeohash(hash, 5 * characters)
      expect(text).toHaveLength(characters)
      expect(parseGeohash(text)).toEqual({ hash, bits: 5 * characters })
    }),
  )
})

test('the neighbour in the opposite direction of a neighbour is the cell itself', () => {
  fc.assert(
    fc.property(points, fc.integer({ min: 4, max: 60 }), fc.nat(7), (point, precision, way) => {
      const cell = { hash: encode(point, precision), bits: precision }
      const there = neighbor(cell, directions[way] as (typeof directions)[number])
      const back = neighbor({ hash: there, bits: precision }, directions[(way + 4) % 8] as (typeof directions)[number])
      // Beyond a pole there is no neighbour to come back from.
      const box = boxOf(cell)
      if (box.maxLat >= 90 || box.minLat <= -90) return
      expect(back).toBe(cell.hash)
    }),
  )
})

test('the rounded point lies in the box', () => {
  fc.assert(
    fc.property(points, fc.integer({ min: 5, max: 60 }), (point, precision) => {
      const box = boxOf({ hash: encode(point, precision), bits: precision })
      const { lat, lng } = roundedPoint(box)
      expect(box.minLat - 1e-9 <= lat && lat <= box.maxLat + 1e-9).toBe(true)
      expect(box.minLng - 1e-9 <= lng && lng <= box.maxLng + 1e-9).toBe(true)
    }),
  )
})

test('what is no geohash says why', () => {
  expect(parseGeohash('la')).toBe("invalid character 'l'")
  expect(parseGeohash('0123456789bcde')).toBe('too long')
})
