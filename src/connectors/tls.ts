/** TLS properties shared by every connector that speaks TLS (spec/connectors.md 8). */
import { createDecipheriv } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'
import type { SecureVersion } from 'node:tls'
import { IxionError, messageOf } from '../core/errors.ts'
import type { OptionSpecs } from '../core/options.ts'
import { validateOptions } from '../core/validate.ts'
import type { ValueObject } from '../core/values.ts'
import type { ConnectorContext } from './contract.ts'
import { flag, map, text } from './properties.ts'

export const tlsOptions: OptionSpecs = {
  insecureSkipVerify: {
    type: 'bool',
    default: false,
    docs: 'Accept any server certificate. Only for tests: the peer is not checked at all.',
  },
  certificationPath: { type: 'string', docs: 'Client certificate file (PEM), relative to the installation directory.' },
  privateKeyPath: { type: 'string', docs: 'Private key file (PEM) of the client certificate.' },
  rootCaPath: { type: 'string', docs: 'File with the certificate authorities (PEM) that sign the server.' },
  certificationRaw: {
    type: 'string',
    aliases: ['certficationRaw'],
    docs: 'Client certificate as base64 of its PEM text; used when certificationPath is empty.',
  },
  privateKeyRaw: {
    type: 'string',
    secret: true,
    docs: 'Private key as base64 of its PEM text; used when privateKeyPath is empty.',
  },
  rootCARaw: {
    type: 'string',
    docs: 'Certificate authorities as base64 of their PEM text; used when rootCaPath is empty.',
  },
  tlsMinVersion: {
    type: 'string',
    docs: 'Oldest TLS version to accept: tls1.0, tls1.1, tls1.2 (default) or tls1.3.',
  },
  renegotiationSupport: {
    type: 'string',
    oneOf: ['never', 'once', 'freely'],
    docs: 'Accepted for compatibility; renegotiation is always limited by the platform.',
  },
  decrypt: {
    type: 'map',
    secret: true,
    docs: 'How to decrypt an encrypted certificate and key: {algorithm: "aes", properties: {mode, iv}, key: base64}.',
  },
  tls: { type: 'string', docs: '`default` takes the TLS settings of the server configuration (security.tls).' },
}

/** What node:tls, node:https and the client libraries take. */
export interface TlsSettings {
  rejectUnauthorized: boolean
  minVersion: SecureVersion
  cert?: Buffer
  key?: Buffer
  ca?: Buffer
}

const versions: Readonly<Record<string, SecureVersion>> = {
  'tls1.0': 'TLSv1',
  'tls1.1': 'TLSv1.1',
  'tls1.2': 'TLSv1.2',
  'tls1.3': 'TLSv1.3',
}

/** The settings, or undefined when no TLS property is set. Throws INVALID_PROPERTY for unreadable files and wrong values. */
export async function readTls(properties: ValueObject, context: ConnectorContext): Promise<TlsSettings | undefined> {
  const named = text(properties, 'tls')
  if (named) {
    if (named !== 'default') throw invalid('tls', `unknown tls configuration type: ${named}`)
    if (!context.defaultTls) throw invalid('tls', 'default TLS is not configured')
    return readTls(validateOptions(tlsOptions, context.defaultTls, 'security.tls', { unknown: 'drop' }), {
      ...context,
      defaultTls: {},
    })
  }
  const decrypt = map(properties, 'decrypt')
  const opened = (bytes: Buffer | undefined): Buffer | undefined =>
    bytes && decrypt ? decryptPem(bytes, decrypt) : bytes
  const cert = opened(await readPem(properties, 'certificationPath', 'certificationRaw', context))
  const key = opened(await readPem(properties, 'privateKeyPath', 'privateKeyRaw', context))
  const ca = await readPem(properties, 'rootCaPath', 'rootCARaw', context)
  const minimum = text(properties, 'tlsMinVersion')
  if (!cert && !key && !ca && !minimum && !flag(properties, 'insecureSkipVerify')) return undefined
  if (!cert !== !key) {
    const missing = cert ? 'privateKeyPath' : 'certificationPath'
    throw invalid(missing, `a client certificate needs both certificate and key: ${missing} is missing`)
  }
  if (minimum && !Object.hasOwn(versions, minimum)) {
    context.log.warn(`unknown tlsMinVersion ${minimum}, using tls1.2`, { owner: context.owner })
  }
  return {
    rejectUnauthorized: !flag(properties, 'insecureSkipVerify'),
    minVersion: (minimum && Object.hasOwn(versions, minimum) && versions[minimum]) || 'TLSv1.2',
    ...(cert && { cert }),
    ...(key && { key }),
    ...(ca && { ca }),
  }
}

async function readPem(
  properties: ValueObject,
  pathName: string,
  rawName: string,
  context: ConnectorContext,
): Promise<Buffer | undefined> {
  const path = text(properties, pathName)
  if (path) {
    try {
      return await readFile(installationPath(path, context))
    } catch (error) {
      throw invalid(pathName, `cannot read ${pathName} ${path}: ${messageOf(error)}`)
    }
  }
  const raw = text(properties, rawName)
  return raw ? Buffer.from(raw, 'base64') : undefined
}

/** A path as people give it in properties: absolute, or relative to the installation directory (above `etc`). */
export function installationPath(path: string, context: ConnectorContext): string {
  return isAbsolute(path) ? path : join(context.etcDir, '..', path)
}

/** AES as the pipeline writes it (spec/connectors.md 15): gcm = nonce, text, tag; cfb = iv, text. */
function decryptPem(bytes: Buffer, decrypt: ValueObject): Buffer {
  if (text(decrypt, 'algorithm') !== 'aes') {
    throw invalid('decrypt.algorithm', `encryptor '${text(decrypt, 'algorithm') ?? ''}' is not supported`)
  }
  const key = Buffer.from(text(decrypt, 'key') ?? '', 'base64')
  if (![16, 24, 32].includes(key.length)) throw invalid('decrypt.key', 'the key must be base64 of 16, 24 or 32 bytes')
  const mode = text(map(decrypt, 'properties') ?? {}, 'mode') ?? 'gcm'
  try {
    if (mode === 'cfb') {
      const cipher = createDecipheriv(`aes-${key.length * 8}-cfb`, key, bytes.subarray(0, 16))
      return Buffer.concat([cipher.update(bytes.subarray(16)), cipher.final()])
    }
    if (mode !== 'gcm') throw invalid('decrypt.properties.mode', `unsupported AES encryption mode: ${mode}`)
    const bits = key.length * 8 === 128 ? 'aes-128-gcm' : key.length * 8 === 192 ? 'aes-192-gcm' : 'aes-256-gcm'
    const cipher = createDecipheriv(bits, key, bytes.subarray(0, 12))
    cipher.setAuthTag(bytes.subarray(bytes.length - 16))
    return Buffer.concat([cipher.update(bytes.subarray(12, bytes.length - 16)), cipher.final()])
  } catch (error) {
    if (error instanceof IxionError) throw error
    throw invalid('decrypt', `cannot decrypt the certificate or key: ${messageOf(error)}`)
  }
}

function invalid(path: string, message: string): IxionError {
  return new IxionError('INVALID_PROPERTY', message, { path })
}
