/** Memory source (spec/connectors.md 9.5): rows published in this process under matching topics. */
import { IxionError } from '../../core/errors.ts'
import type { Value, ValueObject } from '../../core/values.ts'
import { untilAborted } from '../../core/waiting.ts'
import type { ConnectorContext, Source } from '../contract.ts'
import { checkTopicFilter, topicBus } from '../topic-bus.ts'

export function createMemorySource(datasource: string, _properties: ValueObject, context: ConnectorContext): Source {
  if (datasource === '') throw new IxionError('INVALID_PROPERTY', 'topic is required', { path: 'datasource' })
  checkTopicFilter(datasource)
  return {
    async connect() {},
    async read(deliver, signal) {
      const leave = topicBus(context).subscribe(datasource, (message) => {
        if (signal.aborted || message.rows.length === 0) return
        const room = deliver({
          kind: 'rows',
          rows: message.rows,
          meta: [{ topic: message.topic as Value }],
          timestamp: context.clock.now(),
        })
        // A publisher must not wait for a stream that has been stopped.
        if (room) return untilAborted(room, signal)
      })
      try {
        await untilAborted(new Promise<never>(() => {}), signal)
      } finally {
        leave()
      }
      return 'ended'
    },
    async close() {},
  }
}
