/** Nop sink: takes everything, for tests and benchmarks (spec/connectors.md 10.6). */
import type { ConnectorDefinition } from '../contract.ts'
import { payloadText } from '../payload-text.ts'
import { flag } from '../properties.ts'

export const nop: ConnectorDefinition = {
  name: 'nop',
  sink: {
    name: 'nop',
    docs: 'Throws results away. For tests and benchmarks.',
    takes: 'bytes',
    acceptsLines: () => true,
    options: { log: { type: 'bool', default: false, docs: 'Also write each result to the log.' } },
    create(properties, context) {
      const write = flag(properties, 'log')
      return {
        async connect() {},
        async send(item) {
          if (write) context.log.info(`sink result for rule ${context.owner}: ${payloadText(item)}`)
        },
        async sendMany(items) {
          if (write)
            for (const item of items) context.log.info(`sink result for rule ${context.owner}: ${payloadText(item)}`)
        },
        async close() {},
      }
    },
  },
}
