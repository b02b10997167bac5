/**
 * Authentication by signed tokens (spec/rest-api.md 12): `Authorization: <jwt>`; the public keys lie in `etc/mgmt` and are
 * read on every request, so they can be added and removed without a restart. RS and PS algorithms only.
 */
import { constants, createPublicKey, verify } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '../core/errors.ts'
import type { Reply } from './http.ts'
import type { Services } from './services.ts'

const algorithms: Readonly<Record<string, { hash: string; pss: boolean }>> = {
  RS256: { hash: 'sha256', pss: false },
  RS384: { hash: 'sha384', pss: false },
  RS512: { hash: 'sha512', pss: false },
  PS256: { hash: 'sha256', pss: true },
  PS384: { hash: 'sha384', pss: true },
  PS512: { hash: 'sha512', pss: true },
}

const MAX_TOKEN = 16 * 1024

/** Undefined when the token is good; the 401 answer otherwise. */
export async function refusal(
  authorization: string | string[] | undefined,
  services: Pick<Services, 'settings' | 'now'>,
): Promise<Reply | undefined> {
  const header = (Array.isArray(authorization) ? authorization[0] : authorization) ?? ''
  if (header === '') return refused('missing_token')
  const token = header.replace(/^Bearer +/i, '')
  try {
    await check(token, services.settings.etcDir, services.now() / 1000)
    return undefined
  } catch (error) {
    const message = messageOf(error)
    return refused(error instanceof AudienceError ? message : `validate token error: ${message}`)
  }
}

class AudienceError extends Error {}

async function check(token: string, etcDir: string, now: number): Promise<void> {
  const parts = token.split('.')
  if (parts.length !== 3 || token.length > MAX_TOKEN) {
    throw new Error('token is malformed: token contains an invalid number of segments')
  }
  const [head, payload, signature] = parts as [string, string, string]
  const header = decode(head)
  const claims = decode(payload)
  const issuer = claims['iss']
  if (typeof issuer !== 'string' || issuer === '') {
    throw new Error('token is unverifiable: error while executing keyfunc: issuer field not exist in jwt payload')
  }
  const key = await publicKey(join(etcDir, 'mgmt'), issuer)
  const name = String(header['alg'])
  const algorithm = Object.hasOwn(algorithms, name) ? algorithms[name] : undefined
  if (!algorithm) throw new Error(`token signature is invalid: key is of invalid type for the algorithm ${name}`)
  const good = verify(
    algorithm.hash,
    Buffer.from(`${head}.${payload}`),
    algorithm.pss ? { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_AUTO } : key,
    Buffer.from(signature, 'base64url'),
  )
  if (!good) throw new Error('token signature is invalid: crypto/rsa: verification error')
  const time = (claim: string): number | undefined => {
    const value = claims[claim]
    if (value === undefined) return undefined
    if (typeof value !== 'number') throw new Error(`token has invalid claims: ${claim} is not a time`)
    return value
  }
  const expires = time('exp')
  if (expires !== undefined && now >= expires) throw new Error('token has invalid claims: token is expired')
  const from = time('nbf')
  if (from !== undefined && now < from) throw new Error('token has invalid claims: token is not valid yet')
  const issued = time('iat')
  if (issued !== undefined && now < issued) throw new Error('token has invalid claims: token used before issued')
  const { aud } = claims
  const audience = Array.isArray(aud) ? aud.map(String) : aud === undefined ? [] : [String(aud)]
  if (!audience.includes('eKuiper')) {
    throw new AudienceError(`audience field should contain eKuiper, but got [${audience.join(' ')}]`)
  }
}

function decode(part: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString())
    if (value !== null && typeof value === 'object' && !Array.isArray(value)) return value as Record<string, unknown>
  } catch {
    // Reported below.
  }
  throw new Error('token is malformed: could not JSON decode a segment')
}

/** The key in the file of `folder` named like the issuer, without regard to case; never a path that leaves the folder. */
async function publicKey(folder: string, issuer: string) {
  const missing = new Error(
    `token is unverifiable: error while executing keyfunc: not found target key file ${issuer} in /etc/mgmt`,
  )
  const files = await readdir(folder, { withFileTypes: true }).catch(() => [])
  const file = files.find((f) => f.isFile() && f.name.toLowerCase() === issuer.toLowerCase())
  if (!file) throw missing
  try {
    const key = createPublicKey(await readFile(join(folder, file.name)))
    if (key.asymmetricKeyType === 'rsa' || key.asymmetricKeyType === 'rsa-pss') return key
  } catch (error) {
    throw new Error(
      `token is unverifiable: error while executing keyfunc: ${file.name} is no public key: ${messageOf(error)}`,
    )
  }
  throw new Error('token signature is invalid: key is of invalid type: RSA verify expects an RSA public key')
}

function refused(message: string): Reply {
  return {
    status: 401,
    body: `${message}\n`,
    type: 'text/plain; charset=utf-8',
    headers: { 'X-Content-Type-Options': 'nosniff' },
  }
}
