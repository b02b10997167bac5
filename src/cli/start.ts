import { answer, type Command, reworded, ruleName, subject } from './command.ts'

export const start: Command = {
  name: 'start',
  usage: 'start rule NAME',
  run: subject('start', {
    async rule(context, rest) {
      const name = ruleName(rest)
      await reworded(context.client.startRule(name), 'start rule error: ')
      answer(context, `Rule ${name} was started`)
    },
  }),
}
