import { answer, type Command, reworded, ruleName, subject } from './command.ts'

export const restart: Command = {
  name: 'restart',
  usage: 'restart rule NAME',
  run: subject('restart', {
    async rule(context, rest) {
      const name = ruleName(rest)
      await reworded(context.client.restartRule(name), 'restart rule error: ')
      answer(context, `Rule ${name} was restarted.`)
    },
  }),
}
