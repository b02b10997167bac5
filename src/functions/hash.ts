/** Digests of the UTF-8 bytes of a value's text form (spec/functions.json category hash). */
import { md5, sha1 } from '@noble/hashes/legacy.js'
import { sha256, sha384, sha512 } from '@noble/hashes/sha2.js'
import { textOf } from '../core/go-text.ts'
import { encodeUtf8 } from '../core/utf8.ts'
import type { ScalarFunction } from './contract.ts'
import { defineScalar, text } from './helpers.ts'

function hex(bytes: Uint8Array): string {
  let out = ''
  for (const byte of bytes) out += byte.toString(16).padStart(2, '0')
  return out
}

let crcTable: Uint32Array | undefined

/** CRC-32 with the IEEE polynomial. */
function crc32(bytes: Uint8Array): number {
  crcTable ??= Uint32Array.from({ length: 256 }, (_, n) => {
    let c = n
    for (let bit = 0; bit < 8; bit++) c = c & 1 ? (c >>> 1) ^ 0xedb88320 : c >>> 1
    return c
  })
  let crc = 0xffffffff
  for (const byte of bytes) crc = (crcTable[(crc ^ byte) & 255] as number) ^ (crc >>> 8)
  return (crc ^ 0xffffffff) >>> 0
}

function digest(name: string, title: string, result: string, compute: (bytes: Uint8Array) => string): ScalarFunction {
  return defineScalar({
    name,
    family: 'hash',
    args: [text('x')],
    docs: `${title} of the UTF-8 bytes of the text form of x, in lower-case hexadecimal${name === 'crc32' ? ' without leading zeros' : ''}.`,
    examples: [{ expression: `${name}("hello")`, result }],
    returns: 'string',
    run: ([x]) => compute(encodeUtf8(textOf(x))),
  })
}

export const hashFunctions: readonly ScalarFunction[] = [
  digest('md5', 'MD5', '5d41402abc4b2a76b9719d911017c592', (b) => hex(md5(b))),
  digest('sha1', 'SHA-1', 'aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d', (b) => hex(sha1(b))),
  digest('sha256', 'SHA-256', '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824', (b) =>
    hex(sha256(b)),
  ),
  digest(
    'sha384',
    'SHA-384',
    '59e1748777448c69de6b800d7a33bbfb9ff1b463e44354c3553bcdb9c666fa90125a3c79f90397bdf5f6a13de828684f',
    (b) => hex(sha384(b)),
  ),
  digest(
    'sha512',
    'SHA-512',
    '9b71d224bd62f3785d96d46ad3ea3d73319bfbc2890caadae2dff72519673ca72323c3d99ba5c11d7c7acc6e14b8c5da0c4663475c2e5c3adef46f73bcdec043',
    (b) => hex(sha512(b)),
  ),
  digest('crc32', 'CRC-32 (IEEE)', '3610a686', (b) => crc32(b).toString(16)),
]
