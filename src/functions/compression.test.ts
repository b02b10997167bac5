import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { callForTests } from '../../test/support/arbitrary-values.ts'
import { loadCodecs } from '../compile/codecs.ts'
import { decodeUtf8 } from '../core/utf8.ts'
import type { Value } from '../core/values.ts'
import { applyScalar } from './call.ts'
import { type CallContext, compressionMethods, type ScalarFunction } from './contract.ts'
import { builtinFunctions } from './index.ts'

const codecs = await loadCodecs(100_000)

const apply = (name: string, call: CallContext, ...args: Value[]): Value =>
  applyScalar(builtinFunctions(name) as ScalarFunction, args, call)

test.each([...compressionMethods])('%s gives back what it was given', (method) => {
  for (const data of ['', 'hello', 'x'.repeat(50_000)]) {
    const packed = apply('compress', { ...callForTests(), codecs }, data, method)
    const back = apply('decompress', { ...callForTests(), codecs }, packed, method)
    expect(decodeUtf8(back as Uint8Array)).toBe(data)
  }
})

test('a call keeps the method of its first row', () => {
  const call = { ...callForTests(), codecs }
  apply('compress', call, 'a', 'zlib')
  apply('compress', call, 'b', 'zlib')
  expect(() => apply('compress', call, 'c', 'gzip')).toThrow(
    'compress type must be consistent, previous zlib, now gzip',
  )
  expect(apply('compress', { ...call }, 'c', 'gzip')).toBeInstanceOf(Uint8Array)
})

test('a small payload does not become a large one', () => {
  const bomb = new Uint8Array(gzipSync(new Uint8Array(10_000_000)))
  expect(() => apply('decompress', { ...callForTests(), codecs }, bomb, 'gzip')).toThrow('more than 100000 bytes')
})

test('what cannot be read says why', () => {
  const call = (): CallContext => ({ ...callForTests(), codecs })
  expect(() => apply('decompress', call(), 'no gzip at all', 'gzip')).toThrow(
    'call func decompress error: failed to decompress: gzip: invalid header',
  )
  expect(() => apply('decompress', call(), 'abc', 'zlib')).toThrow('failed to decompress: zlib: invalid header')
  expect(() => apply('decompress', call(), 'x', 'constructor')).toThrow('unsupported decompressor: constructor')
  expect(() => apply('compress', call(), 5n, 'gzip')).toThrow('require string or bytea parameter, but got 5')
  expect(() => apply('compress', callForTests(), 'x', 'gzip')).toThrow('compression is not available here')
})
