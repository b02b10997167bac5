import type { Kind } from '../client/index.ts'
import { answer, type Command, type Context, indented, subject, UsageError } from './command.ts'

export const show: Command = {
  name: 'show',
  usage: 'show streams|tables|rules; show schemas TYPE',
  run: subject('show', {
    streams: (context) => showSources(context, 'stream'),
    tables: (context) => showSources(context, 'table'),
    async rules(context) {
      const rules = (await context.client.rules()).map(({ id, name, status, tags, trace, version }) => ({
        id,
        name,
        status,
        tags,
        trace,
        version,
      }))
      answer(context, rules.length > 0 ? indented(rules) : 'No rule definitions are found.', rules)
    },
    async schemas(context, rest) {
      const [type] = rest
      if (type === undefined) throw new UsageError('Expect schema type.')
      const names = await context.client.schemas(type)
      answer(context, names.length > 0 ? indented(names) : 'No schema definitions are found.', names)
    },
  }),
}

async function showSources(context: Context, kind: Kind): Promise<void> {
  const names = await context.client.streams(kind)
  answer(context, names.length > 0 ? `${names.join('\n')}\n` : `No ${kind} definitions are found.\n`, names)
}
