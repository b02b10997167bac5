import { createDecipheriv } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { RowError } from '../core/errors.ts'
import { createEncryptor, encryptor } from './encryption.ts'

const aesKey = new TextEncoder().encode('0123456789abcdef0123456789abcdef')
const iv12 = Buffer.from('0123456789ab').toString('base64')
const iv16 = Buffer.from('0123456789abcdef').toString('base64')
const aad = Buffer.from('helloworld').toString('base64')
const text = new TextEncoder().encode('{"a":1}')

describe('aes', () => {
  test.each([
    ['gcm', {}],
    ['gcm with a constant nonce', { iv: iv12 }],
    ['gcm with additional data', { iv: iv12, aad }],
    ['gcm with a padded tag', { iv: iv12, aad, tagsize: 32 }],
    ['cfb', { mode: 'cfb' }],
    ['cfb with a constant vector', { mode: 'cfb', iv: iv16 }],
  ])('%s gives back every payload and refuses a changed or cut one', async (_, properties) => {
    for (const size of [16, 24, 32]) {
      const encryptor = await createEncryptor('aes', properties, { aesKey: aesKey.subarray(0, size) })
      fc.assert(
        fc.property(
          fc.uint8Array(),
          (bytes) => void expect(encryptor.decrypt(encryptor.encrypt(bytes))).toEqual(bytes),
        ),
        { numRuns: 20 },
      )
      const secret = encryptor.encrypt(text)
      for (let n = 0; n < secret.length; n++) {
        try {
          encryptor.decrypt(secret.subarray(0, n))
        } catch (error) {
          expect(error).toBeInstanceOf(RowError)
        }
      }
      if (!('mode' in properties)) {
        const changed = secret.slice()
        changed[secret.length - 1] = (changed[secret.length - 1] ?? 0) ^ 1
        expect(() => encryptor.decrypt(changed)).toThrow('failed to decrypt')
      }
    }
  })

  test('lays out gcm as nonce, ciphertext, tag', async () => {
    const encryptor = await createEncryptor('aes', {}, { aesKey })
    const secret = encryptor.encrypt(text)
    expect(secret.length).toBe(12 + text.length + 16)
    const decipher = createDecipheriv('aes-256-gcm', aesKey, secret.subarray(0, 12))
    decipher.setAuthTag(secret.subarray(secret.length - 16))
    expect(decipher.update(secret.subarray(12, -16)).toString()).toBe('{"a":1}')
    expect(encryptor.encrypt(text)).not.toEqual(secret)
  })

  test('lays out gcm with additional data as tag, padding, ciphertext', async () => {
    const encryptor = await createEncryptor('aes', { iv: iv12, aad, tagsize: 32 }, { aesKey })
    const secret = encryptor.encrypt(text)
    expect(secret.length).toBe(32 + text.length)
    expect([...secret.subarray(16, 32)]).toEqual(new Array(16).fill(0))
  })

  test('lays out cfb as vector, ciphertext', async () => {
    const secret = (await createEncryptor('aes', { mode: 'cfb', iv: iv16 }, { aesKey })).encrypt(text)
    expect(Buffer.from(secret.subarray(0, 16)).toString('base64')).toBe(iv16)
    expect(secret.length).toBe(16 + text.length)
  })
})

test('default stands for the configured encryption', async () => {
  const key = Buffer.from(aesKey).toString('base64')
  const defaultEncryption = { algorithm: 'aes', properties: { mode: 'cfb' }, key }
  const secret = (await encryptor('default', {}, { defaultEncryption }))(text)
  expect(secret.length).toBe(16 + text.length)
})

test('bad settings are named', async () => {
  const make = (name: string, properties = {}, settings = {}) => createEncryptor(name, properties, settings)
  await expect(make('aes')).rejects.toThrow('AES Key is not defined')
  await expect(make('default')).rejects.toThrow('default encryption is not configured')
  await expect(make('des')).rejects.toThrow("encryptor 'des' is not supported")
  await expect(make('aes', { mode: 'ecb' }, { aesKey })).rejects.toThrow('unsupported AES encryption mode: ecb')
  await expect(make('aes', { iv: '*' }, { aesKey })).rejects.toThrow('invalid IV setting')
  await expect(make('aes', { iv: iv16 }, { aesKey })).rejects.toThrow('invalid IV length')
  await expect(make('aes', { aad: '*' }, { aesKey })).rejects.toThrow('invalid Aad setting')
  await expect(make('aes', {}, { aesKey: text })).rejects.toThrow('invalid key size 7')
})
