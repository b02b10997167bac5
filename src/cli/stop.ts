import { answer, type Command, reworded, ruleName, subject } from './command.ts'

export const stop: Command = {
  name: 'stop',
  usage: 'stop rule NAME',
  run: subject('stop', {
    async rule(context, rest) {
      const name = ruleName(rest)
      await reworded(context.client.stopRule(name), 'stop rule error: ')
      answer(context, `Rule ${name} was stopped.`)
    },
  }),
}
