/** System routes (spec/rest-api.md 3.1). */
import { totalmem } from 'node:os'
import { messageOf } from '../../core/errors.ts'
import { json, type Members, members, parseJson, type Reply, text } from '../http.ts'
import type { Route } from '../router.ts'
import type { ServerSettings, Services } from '../services.ts'
import { notBuilt, WireError, wireCode } from '../wire-errors.ts'

export function systemRoutes(settings: ServerSettings): Route[] {
  const routes: Route[] = [
    ['GET', '/', (_call, services) => json(about(services))],
    ['POST', '/', (_call, services) => json(about(services))],
    ['GET', '/ping', () => ({ status: 200 })],
    ['GET', '/stop', stop],
    ['POST', '/stop', stop],
    ['PATCH', '/configs', (call, services) => configure(call.body, services)],
    ['POST', '/batch/req', async (call, services) => json(await batch(call, services))],
    ['GET', '/metrics/dump', () => notBuilt('The metrics dump')],
    ['GET', '/metrics/dump/check', () => text('disabled')],
  ]
  if (settings.metricsOnRest) {
    routes.push(['*', '/metrics', async (_call, services) => (await import('../prometheus.ts')).metricsReply(services)])
  }
  return routes
}

const goNames: Readonly<Record<string, string>> = { win32: 'windows', x64: 'amd64', ia32: '386' }

function about(services: Services): Record<string, unknown> {
  const seconds = (services.now() - services.startedAt) / 1000
  const { user, system } = process.cpuUsage()
  const cpu = seconds > 0 ? (user + system) / 10_000 / seconds : 0
  const limit = (process as { constrainedMemory?: () => number }).constrainedMemory?.() ?? 0
  const machine = totalmem()
  return {
    version: services.settings.version,
    os: goNames[process.platform] ?? process.platform,
    arch: goNames[process.arch] ?? process.arch,
    upTimeSeconds: Math.floor(seconds),
    cpuUsage: `${cpu.toFixed(2)}%`,
    memoryUsed: String(process.memoryUsage.rss()),
    memoryTotal: String(limit > 0 && limit < machine ? limit : machine),
  }
}

function stop(_call: unknown, services: Services): Reply {
  services.stop(0)
  return text('stop success')
}

/** `PATCH /configs`: settings before the failing one stay applied, as in the reference. */
async function configure(body: Buffer, services: Services): Promise<Reply> {
  let changes: Members
  try {
    changes = members(body)
  } catch (error) {
    return configurationError(`Invalid JSON: ${messageOf(error)}`)
  }
  const of = <T>(name: string, kind: 'string' | 'boolean'): T | undefined => {
    const value = changes.get(name.toLowerCase())
    if (value === undefined || value === null) return undefined
    if (typeof value === kind) return value as T
    throw new WireError(wireCode.undefined, `Invalid JSON: ${name} must be a ${kind}`)
  }
  const { runtime } = services
  try {
    const level = of<boolean>('debug', 'boolean') ? 'debug' : of<string>('logLevel', 'string')
    if (level !== undefined) runtime.setLogLevel(level)
    const zone = of<string>('timezone', 'string')
    if (zone !== undefined) {
      try {
        // As eKuiper: an empty zone is UTC.
        ;(await services.engine()).setTimezone(zone || 'UTC')
      } catch {
        return configurationError(`Invalid TZ: unknown time zone ${zone}`)
      }
    }
    const consoleLog = of<boolean>('consoleLog', 'boolean')
    if (consoleLog !== undefined) runtime.setConsoleLog(consoleLog)
    const fileLog = of<boolean>('fileLog', 'boolean')
    if (fileLog !== undefined) runtime.setFileLog(fileLog)
    const dump = changes.get('metricsdumpconfig') as { enable?: unknown } | null | undefined
    if (dump?.enable === true) return notBuilt('The metrics dump')
  } catch (error) {
    return configurationError(messageOf(error))
  }
  return { status: 204 }
}

function configurationError(message: string): Reply {
  return {
    status: 400,
    body: `${JSON.stringify({ error: wireCode.undefined, message })}\n`,
    type: 'text/plain; charset=utf-8',
  }
}

const verbs = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'])
const MAX_BATCH = 1000
const MAX_NESTING = 8

interface BatchAnswer {
  code: number
  response?: string
  error?: string
}

async function batch(
  call: { headers: Readonly<Record<string, string | string[] | undefined>>; body: Buffer },
  services: Services,
): Promise<BatchAnswer[]> {
  const requests = parseJson(call.body)
  if (!Array.isArray(requests)) {
    throw new WireError(wireCode.undefined, 'the body must be an array of {"method","path","body"}')
  }
  if (requests.length > MAX_BATCH) throw new WireError(wireCode.undefined, `at most ${MAX_BATCH} requests at once`)
  const depth = Number(call.headers['x-ixion-batch-depth'] ?? 0)
  if (depth >= MAX_NESTING) throw new WireError(wireCode.undefined, 'batch requests are nested too deeply')
  const answers: BatchAnswer[] = []
  for (const item of requests) {
    const request = item as { method?: unknown; path?: unknown; body?: unknown } | null
    const { method = 'GET', path, body = '' } = request ?? {}
    if (typeof method !== 'string' || !verbs.has(method)) {
      answers.push({ code: 0, error: `net/http: invalid method ${JSON.stringify(method)}` })
      continue
    }
    if (typeof path !== 'string' || typeof body !== 'string') {
      answers.push({ code: 0, error: 'path and body must be text' })
      continue
    }
    const [bare = '', query = ''] = path.split('?', 2)
    const reply = await services.dispatch({
      method,
      path: bare,
      query,
      headers: { ...call.headers, 'x-ixion-batch-depth': String(depth + 1) },
      body: Buffer.from(body),
    })
    const response = reply.body === undefined ? '' : Buffer.from(reply.body).toString()
    answers.push({ code: reply.status, ...(response !== '' && { response }) })
  }
  return answers
}
