/** Files named in request bodies: `file://`, `http://`, `https://` (spec/rest-api.md 1.8). */
import { readFile, stat } from 'node:fs/promises'
import { resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { httpClient } from '../connectors/http-client.ts'
import type { Clock } from '../core/clock.ts'
import { IxionError, messageOf } from '../core/errors.ts'

export interface LocationRules {
  readonly clock: Clock
  readonly dataDir: string
  /** False: `file:` must stay under `data/uploads`. */
  readonly allowExternalFiles: boolean
  readonly allowPrivateNetwork: boolean
}

const MAX_BYTES = 256 * 1024 * 1024
const TIMEOUT = 300_000

export async function readLocation(location: string, rules: LocationRules): Promise<Uint8Array> {
  const scheme = /^([a-zA-Z][a-zA-Z0-9+.-]*):/.exec(location)?.[1]?.toLowerCase() ?? ''
  if (scheme === 'file') return readLocal(location, rules)
  if (scheme !== 'http' && scheme !== 'https') {
    throw new IxionError('INVALID_DOCUMENT', `unsupported url scheme ${scheme}`)
  }
  const client = httpClient({
    clock: rules.clock,
    allowPrivateNetwork: rules.allowPrivateNetwork,
    maxResponseBytes: MAX_BYTES,
    tls: { rejectUnauthorized: false, minVersion: 'TLSv1.2' },
  })
  try {
    const request = { url: location, method: 'GET', headers: {}, body: null, timeout: TIMEOUT }
    const { status, body } = await client.send(request, new AbortController().signal)
    if (status !== 200) {
      throw new IxionError('CONNECTION', `cannot download the file with status: ${status}`)
    }
    return body
  } finally {
    client.close()
  }
}

async function readLocal(location: string, rules: LocationRules): Promise<Uint8Array> {
  let path: string
  try {
    path = fileURLToPath(location)
  } catch {
    path = location.slice('file://'.length)
  }
  const root = resolve(rules.dataDir, 'uploads')
  path = resolve(path)
  if (!rules.allowExternalFiles && path !== root && !path.startsWith(root + sep)) {
    throw new IxionError('REFUSED', `file access denied: path must be under ${root}`)
  }
  try {
    if ((await stat(path)).size > MAX_BYTES) throw new Error(`it is larger than ${MAX_BYTES} bytes`)
    return await readFile(path)
  } catch (error) {
    throw new IxionError('NOT_FOUND', `cannot read ${path}: ${messageOf(error)}`)
  }
}
