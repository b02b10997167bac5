/**
 * AES encryption of payloads (spec/connectors.md 15). GCM by default, CFB-128 on request. Layouts:
 *
 * - gcm: nonce(12) + ciphertext + tag(16); with `aad`: tag (zero-padded to `tagsize`) + ciphertext, the nonce left out, so
 *   that only a constant `iv` can be decrypted.
 * - cfb: iv(16) + ciphertext, also when `iv` is constant.
 */
import { decodeBase64 } from '../core/base64.ts'
import { IxionError, messageOf, RowError } from '../core/errors.ts'
import type { OptionSpecs } from '../core/options.ts'
import { validateOptions } from '../core/validate.ts'
import { isObject, type ValueObject } from '../core/values.ts'
import { concatBytes } from './join-writer.ts'

export interface Encryptor {
  /** Throws RowError ENCODE. */
  encrypt(bytes: Uint8Array): Uint8Array
  /** Throws RowError DECODE for what was not encrypted this way, or was changed since. */
  decrypt(bytes: Uint8Array): Uint8Array
}

export interface EncryptionSettings {
  /** `basic.aesKey`: 16, 24 or 32 bytes. */
  readonly aesKey?: Uint8Array
  /** `security.encryption`, what `default` stands for: `algorithm`, `properties`, and `key` (base64; default aesKey). */
  readonly defaultEncryption?: ValueObject
}

const encryptionOptions: OptionSpecs = {
  mode: { type: 'string', default: 'gcm', docs: 'gcm or cfb.' },
  iv: {
    type: 'string',
    docs: 'Constant nonce (12 bytes, gcm) or initialisation vector (16 bytes, cfb), base64; default random.',
  },
  aad: { type: 'string', docs: 'Additional authenticated data of gcm, base64.' },
  tagsize: { type: 'int', docs: 'With aad: length the tag is padded to with zeros, when above 16.' },
}

const TAG_BYTES = 16
const MAX_TAG_BYTES = 1024

/**
 * The encryptor `name` (`aes`, `default`) stands for. `properties` are `encProps`.
 * Throws IxionError INVALID_PROPERTY with the reference's text.
 */
export async function createEncryptor(
  name: string,
  properties: ValueObject,
  settings: EncryptionSettings,
): Promise<Encryptor> {
  if (name === 'aes') {
    if (!settings.aesKey) throw invalid('AES Key is not defined')
    return aes(settings.aesKey, properties)
  }
  if (name === 'default') {
    const standard = settings.defaultEncryption
    if (!standard) throw invalid('default encryption is not configured')
    const { algorithm, properties: own = null, key = null } = standard
    if (algorithm !== 'aes') throw invalid(`encryptor '${algorithm}' is not supported`)
    const bytes = typeof key === 'string' ? base64(key, 'invalid key of the default encryption') : settings.aesKey
    if (!bytes) throw invalid('AES Key is not defined')
    return aes(bytes, isObject(own) ? own : {})
  }
  throw invalid(`encryptor '${name}' is not supported`)
}

const invalid = (message: string): IxionError => new IxionError('INVALID_PROPERTY', message, { path: 'encryption' })

/** The encrypting half of {@link createEncryptor}, as a step of a sink's chain. */
export async function encryptor(
  name: string,
  properties: ValueObject,
  settings: EncryptionSettings,
): Promise<(bytes: Uint8Array) => Uint8Array> {
  return (await createEncryptor(name, properties, settings)).encrypt
}

async function aes(key: Uint8Array, properties: ValueObject): Promise<Encryptor> {
  const { mode, iv, aad, tagsize } = validateOptions(encryptionOptions, properties, 'encProps', {
    unknown: 'drop',
  }) as {
    mode: string
    iv?: string
    aad?: string
    tagsize?: number
  }
  if (![16, 24, 32].includes(key.length)) throw invalid(`crypto/aes: invalid key size ${key.length}`)
  if (mode !== 'gcm' && mode !== 'cfb') throw invalid(`unsupported AES encryption mode: ${mode}`)
  const constant = iv ? base64(iv, 'invalid IV setting') : null
  if (constant && constant.length !== (mode === 'gcm' ? 12 : 16)) throw invalid('invalid IV length')
  const crypto = await import('node:crypto')
  if (mode === 'cfb') return guarded(cfb(crypto, key, constant))
  const padded = Math.min(Math.max(tagsize ?? TAG_BYTES, TAG_BYTES), MAX_TAG_BYTES)
  return guarded(gcm(crypto, key, constant, aad ? base64(aad, 'invalid Aad setting') : null, padded))
}

function base64(text: string, message: string): Uint8Array {
  const bytes = decodeBase64(text)
  if (typeof bytes === 'number') throw invalid(message)
  return bytes
}

type Crypto = typeof import('node:crypto')

const plain = (buffer: Buffer): Uint8Array => new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.length)

function gcm(
  crypto: Crypto,
  key: Uint8Array,
  constant: Uint8Array | null,
  aad: Uint8Array | null,
  tagSpace: number,
): Encryptor {
  const algorithm = `aes-${key.length * 8}-gcm` as 'aes-256-gcm'
  return {
    encrypt: (bytes) => {
      const nonce = constant ?? crypto.randomBytes(12)
      const cipher = crypto.createCipheriv(algorithm, key, nonce)
      if (aad) cipher.setAAD(aad)
      const body = [plain(cipher.update(bytes)), plain(cipher.final())]
      const tag = plain(cipher.getAuthTag())
      if (!aad) return concatBytes([nonce, ...body, tag])
      return concatBytes([tag, new Uint8Array(tagSpace - TAG_BYTES), ...body])
    },
    decrypt: (bytes) => {
      if (aad && !constant) throw new Error('ciphertext with aad carries no nonce: a constant iv is needed')
      const head = aad ? tagSpace : 12
      const end = aad ? bytes.length : bytes.length - TAG_BYTES
      if (end < head) throw new Error('ciphertext too short')
      // Encryption always writes the nonce, also a constant one.
      const nonce = aad ? (constant as Uint8Array) : bytes.subarray(0, 12)
      const decipher = crypto.createDecipheriv(algorithm, key, nonce)
      if (aad) decipher.setAAD(aad)
      decipher.setAuthTag(aad ? bytes.subarray(0, TAG_BYTES) : bytes.subarray(end))
      return concatBytes([plain(decipher.update(bytes.subarray(head, end))), plain(decipher.final())])
    },
  }
}

function cfb(crypto: Crypto, key: Uint8Array, constant: Uint8Array | null): Encryptor {
  const algorithm = `aes-${key.length * 8}-cfb`
  return {
    encrypt: (bytes) => {
      const iv = constant ?? crypto.randomBytes(16)
      const cipher = crypto.createCipheriv(algorithm, key, iv)
      return concatBytes([iv, plain(cipher.update(bytes)), plain(cipher.final())])
    },
    decrypt: (bytes) => {
      if (bytes.length < 16) throw new Error('ciphertext too short')
      const decipher = crypto.createDecipheriv(algorithm, key, bytes.subarray(0, 16))
      return concatBytes([plain(decipher.update(bytes.subarray(16))), plain(decipher.final())])
    },
  }
}

function guarded(inner: Encryptor): Encryptor {
  return {
    encrypt: (bytes) => {
      try {
        return inner.encrypt(bytes)
      } catch (error) {
        throw new RowError(`failed to encrypt: ${messageOf(error)}`, 'ENCODE')
      }
    },
    decrypt: (bytes) => {
      try {
        return inner.decrypt(bytes)
      } catch (error) {
        throw new RowError(`failed to decrypt: ${messageOf(error)}`, 'DECODE')
      }
    },
  }
}
