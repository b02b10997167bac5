/** MQTT source (spec/connectors.md 9.1): topics in, undecoded payloads out. */
import { IxionError } from '../../core/errors.ts'
import type { ValueObject } from '../../core/values.ts'
import { untilAborted } from '../../core/waiting.ts'
import type { ConnectorContext, Source } from '../contract.ts'
import { number, text } from '../properties.ts'
import type { MqttConnection } from './connection.ts'
import { acquireMain, type Lease } from './sharing.ts'

export function createMqttSource(datasource: string, properties: ValueObject, context: ConnectorContext): Source {
  const filters = datasource.split(',').filter((filter) => filter !== '')
  if (filters.length === 0) throw new IxionError('INVALID_PROPERTY', 'topic is required', { path: 'datasource' })
  for (const filter of filters) checkFilter(filter)
  const eofText = text(properties, 'eofMessage')
  let lease: Lease<MqttConnection> | undefined

  return {
    async connect(signal) {
      lease ??= await acquireMain(properties, context)
      try {
        await lease.resource.connected(signal)
      } catch (error) {
        // The next attempt dials anew; a shared connection goes on dialling for its other users.
        await lease.release()
        lease = undefined
        throw error
      }
    },
    async read(deliver, signal) {
      if (!lease) throw new IxionError('CONNECTION', 'the source is not connected')
      let ended = (): void => {}
      const end = new Promise<true>((resolve) => {
        ended = () => resolve(true)
      })
      const leave = await lease.resource.subscribe({
        filters,
        qos: (number(properties, 'qos') ?? 1) as 0 | 1 | 2,
        deliver: (chunk) => (signal.aborted ? chunk.settled?.(new Error('stopped')) : deliver(chunk)),
        wantsMeta: context.metaUnused !== true,
        eof: eofText ? Buffer.from(eofText, 'base64') : null,
        ended,
      })
      try {
        await untilAborted(end, signal)
      } finally {
        await leave()
      }
      return 'ended'
    },
    async close() {
      const held = lease
      lease = undefined
      await held?.release()
    },
    get connection() {
      return lease?.resource.status() ?? { status: 0, message: '', since: 0 }
    },
  }
}

/** MQTT's rules for filters; the client library would only say "invalid topic". */
function checkFilter(filter: string): void {
  const levels = filter.split('/')
  const bad =
    levels.some((level, i) => level.includes('#') && (level !== '#' || i !== levels.length - 1)) ||
    levels.some((level) => level.includes('+') && level !== '+') ||
    filter.includes('\0') ||
    Buffer.byteLength(filter) > 65_535
  if (bad) {
    throw new IxionError('INVALID_PROPERTY', `invalid topic filter ${filter.slice(0, 200)}`, {
      path: 'datasource',
      hint: '`+` stands for one whole level, `#` for all that follows, at the end.',
    })
  }
}
