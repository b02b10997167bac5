import { answer, type Command, ruleName, subject } from './command.ts'

export const explain: Command = {
  name: 'explain',
  usage: 'explain rule NAME [--readable]',
  run: subject('explain', {
    async rule(context, rest) {
      answer(context, await context.client.explainRule(ruleName(rest), context.options.readable))
    },
  }),
}
