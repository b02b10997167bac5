import type { Kind } from '../client/index.ts'
import { answer, type Command, type Context, reworded, ruleName, subject, UsageError } from './command.ts'

export const drop: Command = {
  name: 'drop',
  usage: 'drop stream|table NAME; drop rule NAME; drop schema TYPE NAME',
  run: subject('drop', {
    stream: (context, rest) => dropSource(context, 'stream', rest),
    table: (context, rest) => dropSource(context, 'table', rest),
    async rule(context, rest) {
      answer(
        context,
        await reworded(
          context.client.dropRule(ruleName(rest)),
          'Delete rule error: ',
          (t) => `Drop rule error : ${t}.`,
        ),
      )
    },
    async schema(context, rest) {
      const [type = '', name = ''] = rest
      if (name === '') throw new UsageError('Expect schema type and name.')
      await context.client.dropSchema(type, name)
      answer(context, `Schema ${name} is dropped`)
    },
  }),
}

/** As the reference: through the statement, which checks no references. */
async function dropSource(context: Context, kind: Kind, rest: readonly string[]): Promise<void> {
  answer(context, `${await context.client.execute(`DROP ${kind.toUpperCase()} ${rest.join(' ')}`, kind)}\n`)
}
