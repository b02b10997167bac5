import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { RowError } from '../core/errors.ts'
import { compressionNames, compressor, decompressor } from './compression.ts'

const LIMIT = 100_000
const noise = Uint8Array.from({ length: 5000 }, (_, i) => (i * i * 7919) >> 3)
const text = new TextEncoder().encode('{"id":"device-1234","temp":21.5}'.repeat(50))

const failure = (run: () => unknown): RowError => {
  try {
    run()
  } catch (error) {
    if (error instanceof RowError) return error
    throw error
  }
  throw new Error('accepted')
}

describe.each([...compressionNames])('%s', (name) => {
  test('gives back every payload', async () => {
    const pack = await compressor(name)
    const unpack = await decompressor(name, LIMIT)
    for (const bytes of [new Uint8Array([7]), text, noise]) expect(unpack(pack(bytes))).toEqual(bytes)
    fc.assert(fc.property(fc.uint8Array({ minLength: 1 }), (bytes) => void expect(unpack(pack(bytes))).toEqual(bytes)))
    expect(pack(text).length).toBeLessThan(text.length / 4)
  })

  test('stops a bomb at the limit', async () => {
    const bomb = (await compressor(name))(new Uint8Array(3_000_000))
    expect(bomb.length).toBeLessThan(200_000)
    const unpack = await decompressor(name, LIMIT)
    expect(failure(() => unpack(bomb)).code).toBe('LIMIT')
  })

  test('refuses a payload cut anywhere', async () => {
    const unpack = await decompressor(name, LIMIT)
    const packed = (await compressor(name))(text)
    for (let n = 0; n < packed.length; n++) expect(failure(() => unpack(packed.subarray(0, n))).code).toBe('DECODE')
  })

  test('ends with bytes or a row error for any damage', async () => {
    const unpack = await decompressor(name, LIMIT)
    const packed = (await compressor(name))(text)
    for (let n = 0; n < packed.length; n++) {
      for (const byte of [0, 0x7f, 0xff]) {
        const damaged = packed.slice()
        damaged[n] = byte
        try {
          expect(unpack(damaged).length).toBeLessThanOrEqual(LIMIT)
        } catch (error) {
          expect(error).toBeInstanceOf(RowError)
        }
      }
    }
  })
})

test('several zstd frames, skippable ones among them, are one payload', async () => {
  const packed = (await compressor('zstd'))(text)
  const skippable = [0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 9, 9]
  const unpack = await decompressor('zstd', LIMIT)
  expect(unpack(Uint8Array.from([...packed, ...skippable, ...packed]))).toEqual(Uint8Array.from([...text, ...text]))
})

test('a zstd frame of unknown size reads, within its window and limit', async () => {
  // Magic, no flags, window 1 KiB, a last raw block of two bytes; then the same with an RLE block of 100,000.
  const unpack = await decompressor('zstd', 1000)
  expect([...unpack(Uint8Array.from([0x28, 0xb5, 0x2f, 0xfd, 0, 0, 0x11, 0, 0, 5, 6]))]).toEqual([5, 6])
  const rle = (100_000 << 3) | 3
  const bomb = Uint8Array.from([0x28, 0xb5, 0x2f, 0xfd, 0, 0, rle & 255, (rle >> 8) & 255, rle >> 16, 1])
  expect(failure(() => unpack(bomb)).code).toBe('LIMIT')
  const window = Uint8Array.from([0x28, 0xb5, 0x2f, 0xfd, 0, 0xf8, 0x11, 0, 0, 5, 6])
  expect(failure(() => unpack(window)).code).toBe('LIMIT')
})

test('reads what others wrote', async () => {
  const hello = new TextEncoder().encode('hello hello hello hello')
  // snappy: length 23, literal "hello ", copy of 17 from 6 back. lz4: the same as one block.
  expect(
    (await decompressor('snappy', 99))(Uint8Array.from([23, 0x14, 104, 101, 108, 108, 111, 32, 0x42, 6, 0])),
  ).toEqual(hello)
})

test('unknown algorithms are named', async () => {
  await expect(compressor('rar')).rejects.toThrow('get compressor rar fail with error: unsupported compressor: rar')
  await expect(decompressor('constructor', 1)).rejects.toThrow('unsupported decompressor: constructor')
})
