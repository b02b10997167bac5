import { answer, type Command, subject } from './command.ts'
import { ruleDocument } from './create.ts'

export const validate: Command = {
  name: 'validate',
  usage: 'validate rule NAME JSON | NAME -f FILE',
  run: subject('validate', {
    async rule(context, rest) {
      const { text } = await ruleDocument(context, rest)
      const result = await context.client.validateRule(text)
      answer(context, 'The rule has been successfully validated and is confirmed to be correct.', result)
    },
  }),
}
