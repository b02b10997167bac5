/** Log sink: every result becomes a line of the log (spec/connectors.md 10.6). */
import type { ConnectorDefinition } from '../contract.ts'
import { payloadText } from '../payload-text.ts'

export const log: ConnectorDefinition = {
  name: 'log',
  sink: {
    name: 'log',
    docs: 'Writes each result to the log at level info.',
    takes: 'bytes',
    options: {},
    create: (_properties, context) => ({
      async connect() {},
      async send(item) {
        context.log.info(`sink result for rule ${context.owner}: ${payloadText(item)}`)
      },
      async close() {},
    }),
  },
}
