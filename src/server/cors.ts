/** Cross-origin requests (spec/rest-api.md 1.4). PATCH is allowed, unlike in the reference. */
import type { Call, Reply } from './http.ts'

const methods = new Set(['POST', 'GET', 'PUT', 'DELETE', 'HEAD', 'PATCH'])
const simpleMethods = new Set(['GET', 'HEAD', 'POST'])
const requestHeaders = new Set([
  'accept',
  'accept-language',
  'content-type',
  'content-language',
  'origin',
  'authorization',
])
const simpleHeaders = new Set(['accept', 'accept-language', 'content-language', 'origin'])

export const allowOrigin = { 'Access-Control-Allow-Origin': '*' }

/** Answer to an OPTIONS request. */
export function preflight(headers: Call['headers']): Reply {
  if (headers['origin'] === undefined) return { status: 200 }
  const method = headers['access-control-request-method']
  if (typeof method !== 'string' || method === '') return { status: 400, headers: allowOrigin }
  if (!methods.has(method)) return { status: 405, headers: allowOrigin }
  const asked = String(headers['access-control-request-headers'] ?? '')
    .split(',')
    .map((h) => h.trim())
    .filter((h) => h !== '')
  if (asked.some((h) => !requestHeaders.has(h.toLowerCase()))) return { status: 403, headers: allowOrigin }
  const shown = asked.filter((h) => !simpleHeaders.has(h.toLowerCase()))
  return {
    status: 200,
    headers: {
      ...allowOrigin,
      ...(shown.length > 0 && { 'Access-Control-Allow-Headers': shown.join(',') }),
      ...(!simpleMethods.has(method) && { 'Access-Control-Allow-Methods': method }),
    },
  }
}
