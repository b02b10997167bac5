/** HTTP push: devices send bodies to a path of the data server (spec/connectors.md 9.3). */
import { IxionError } from '../../core/errors.ts'
import type { ValueObject } from '../../core/values.ts'
import { aborted } from '../../core/waiting.ts'
import type { ConnectorContext, ConnectorDefinition, Source } from '../contract.ts'
import { acquireDataServer } from '../data-server.ts'
import { text } from '../properties.ts'
import { acquireEndpoint, type PushEndpoint } from './endpoint.ts'

const options = {
  method: { type: 'string', default: 'POST', docs: 'HTTP method to accept: POST or PUT.' },
} as const

function methodOf(properties: ValueObject): string {
  const method = (text(properties, 'method') || 'POST').toUpperCase()
  if (method === 'POST' || method === 'PUT') return method
  throw new IxionError('INVALID_PROPERTY', `method ${method} is not supported, must be POST or PUT`, { path: 'method' })
}

function createHttpPushSource(datasource: string, properties: ValueObject, context: ConnectorContext): Source {
  if (!datasource.startsWith('/')) {
    throw new IxionError('INVALID_PROPERTY', 'property `endpoint` must start with /', { path: 'datasource' })
  }
  const method = methodOf(properties)
  let held: { readonly endpoint: PushEndpoint; release(): Promise<void> } | undefined
  let since = 0
  return {
    async connect() {
      held ??= await acquireEndpoint(method, datasource, context)
      since = context.clock.now()
    },
    async read(deliver, signal) {
      if (!held) throw new IxionError('CONNECTION', 'http server is not running')
      const leave = held.endpoint.attach((chunk) => {
        if (!signal.aborted) return deliver(chunk)
        chunk.settled?.(new Error('the stream was stopped'))
      })
      await aborted(signal)
      leave()
      return 'ended'
    },
    async close() {
      const endpoint = held
      held = undefined
      await endpoint?.release()
    },
    get connection() {
      return { status: held ? (1 as const) : (0 as const), message: '', since }
    },
  }
}

export const httppush: ConnectorDefinition = {
  name: 'httppush',
  connection: {
    options,
    /** Keeps the data server listening. */
    async acquire(_id, properties, context) {
      methodOf(properties)
      const { release } = await acquireDataServer(context)
      return { status: { status: 1, message: '', since: context.clock.now() }, release }
    },
  },
  source: {
    name: 'httppush',
    docs: 'Takes request bodies sent to a path of the data server. DATASOURCE is the path, starting with /. The answer is 200 when the data was accepted, 503 when it was not: then send again.',
    emits: 'bytes',
    pausable: true,
    bounded: false,
    options: {
      ...options,
      connectionSelector: { type: 'string', docs: 'Name of a stored httppush connection.' },
    },
    create: createHttpPushSource,
  },
}
