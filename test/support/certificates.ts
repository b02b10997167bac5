/** X.509 certificates for TLS tests, made with node:crypto alone so that the tests need no other program. */
import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'

export interface TestCertificates {
  /** PEM texts: an authority, and a server certificate for localhost and 127.0.0.1 it has signed, with its key. */
  readonly ca: string
  readonly cert: string
  readonly key: string
}

export function makeCertificates(): TestCertificates {
  const authority = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const server = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const names = der(0x30, der(0x82, Buffer.from('localhost')), der(0x87, Buffer.from([127, 0, 0, 1])))
  const isAuthority = extension('551d13', der(0x30, der(0x01, Buffer.from([0xff]))), true)
  return {
    ca: certificate('Test', authority.publicKey, 'Test', authority.privateKey, [isAuthority]),
    cert: certificate('localhost', server.publicKey, 'Test', authority.privateKey, [extension('551d11', names)]),
    key: server.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}

const SHA256_WITH_RSA = der(0x30, der(0x06, Buffer.from('2a864886f70d01010b', 'hex')), der(0x05))
const DAY = 86_400_000

function certificate(
  subject: string,
  publicKey: KeyObject,
  issuer: string,
  issuerKey: KeyObject,
  extensions: Buffer[],
): string {
  const body = der(
    0x30,
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    SHA256_WITH_RSA,
    commonName(issuer),
    der(0x30, utcTime(Date.now() - DAY), utcTime(Date.now() + DAY)),
    commonName(subject),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, der(0x30, ...extensions)),
  )
  const signature = Buffer.concat([Buffer.from([0]), sign('sha256', body, issuerKey)])
  const base64 = der(0x30, body, SHA256_WITH_RSA, der(0x03, signature)).toString('base64')
  return `-----BEGIN CERTIFICATE-----\n${base64.replace(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`
}

/** Tag, length, content. */
function der(tag: number, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  const length = content.length
  const head = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255]
  return Buffer.concat([Buffer.from([tag, ...head]), content])
}

function extension(id: string, value: Buffer, critical = false): Buffer {
  const flag = critical ? [der(0x01, Buffer.from([0xff]))] : []
  return der(0x30, der(0x06, Buffer.from(id, 'hex')), ...flag, der(0x04, value))
}

function commonName(name: string): Buffer {
  return der(0x30, der(0x31, der(0x30, der(0x06, Buffer.from('550403', 'hex')), der(0x0c, Buffer.from(name)))))
}

function utcTime(at: number): Buffer {
  const text = new Date(at).toISOString().replace(/[-:T]/g, '').slice(2, 14)
  return der(0x17, Buffer.from(`${text}Z`))
}
